"""requirements.lock: every package `tagfill serve` needs, its version, and hashes of its files.

python benchmarks/lock.py > requirements.lock     # in the environment that make install has made

`make locked` installs from it; pip then refuses a file that is not one of these. Versions with a
local part (torch's CPU builds) are not on the index: their wheels are looked for in --folder.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
import tomllib
import urllib.request
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import Version

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
INDEX = "https://pypi.org/simple"
EXTRAS = ("serve", "postgres")
_LINK = re.compile(r'href="[^"#]*/([^"/#]+)#sha256=([0-9a-f]{64})"')
HEAD = """\
# Written by benchmarks/lock.py: what `tagfill serve` needs on Linux (x86-64) and Python 3.11, with
# hashes of all files of each version. make locked installs from it (pip --require-hashes).
# torch is the CPU build: name an index or folder that has it (PIP_EXTRA_INDEX_URL, PIP_FIND_LINKS).
"""


def asked_for() -> list[str]:
    """What pyproject.toml asks for."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    return [*project["dependencies"], *(text for extra in EXTRAS for text in extras[extra])]


def needed(texts: list[str]) -> set[str]:
    """Names of all packages that requirements lead to, as installed here."""
    reached: set[str] = set()
    waiting = [(text, frozenset({""})) for text in texts]
    while waiting:
        text, extras = waiting.pop()
        requirement = Requirement(text)
        marker, name = requirement.marker, canonicalize_name(requirement.name)
        fits = marker is None or any(marker.evaluate({"extra": extra}) for extra in extras)
        if fits and name not in reached:
            reached.add(name)
            inner = frozenset({"", *requirement.extras})
            waiting += [(text, inner) for text in metadata.requires(name) or ()]
    return reached


def version_of(file: str) -> Version | None:
    """The version in the name of a wheel or source archive."""
    try:
        return (parse_wheel_filename if file.endswith(".whl") else parse_sdist_filename)(file)[1]
    except (InvalidSdistFilename, InvalidWheelFilename):
        return None


def published(name: str, version: Version) -> Iterator[str]:
    """Hashes of a version's files on the index."""
    with urllib.request.urlopen(f"{INDEX}/{name}/") as page:
        text = page.read().decode()
    for file, digest in _LINK.findall(text):
        if version_of(file) == version:
            yield digest


def main() -> None:
    """Print the lock."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, action="append", default=[])
    own = [path for folder in parser.parse_args().folder for path in folder.glob("*.whl")]
    print(HEAD, end="")
    for name in sorted(needed(asked_for())):
        version = Version(metadata.version(name))
        digests = set() if version.local else set(published(name, version))
        digests |= {
            hashlib.sha256(path.read_bytes()).hexdigest()
            for path in own
            if parse_wheel_filename(path.name)[:2] == (name, version)
        }
        if not digests:
            sys.exit(f"{name} {version}: no file of this version on the index or in the folders")
        lines = [f"    --hash=sha256:{digest}" for digest in sorted(digests)]
        print(" \\\n".join([f"{name}=={version}", *lines]))


if __name__ == "__main__":
    main()
