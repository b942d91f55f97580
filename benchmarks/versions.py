"""Constraints for `make lowest` and `make newest`.

python benchmarks/versions.py lowest    # every direct dependency at its lower bound
python benchmarks/versions.py newest    # no constraint but those of pyproject.toml
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

FREE = ("dev", "site")
PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"


def lower_bounds(text: str) -> list[str]:
    """`name==version` of every requirement with a lower bound; tools of developers are free."""
    project = tomllib.loads(text)["project"]
    extras = project["optional-dependencies"]
    groups = [project["dependencies"], *(extras[name] for name in extras if name not in FREE)]
    listed = [requirement for group in groups for requirement in group]
    matches = (
        re.match(r"([\w.-]+)(?:\[[\w,]+\])?>=([\w.]+)", requirement) for requirement in listed
    )
    return sorted({f"{match[1]}=={match[2]}" for match in matches if match})


def main() -> None:
    """Print the constraints."""
    if sys.argv[1:] == ["lowest"]:
        print("\n".join(lower_bounds(PROJECT.read_text(encoding="utf-8"))))
    elif sys.argv[1:] != ["newest"]:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
