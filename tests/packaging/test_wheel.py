"""The wheel holds everything the package needs at run time, and nothing that does not belong."""

import re
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import requires
from pathlib import Path

import pytest

import tagfill

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "tagfill"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return next(out.glob("*.whl"))


def test_every_file_of_the_package_is_in_the_wheel(wheel):
    listed = subprocess.run(
        ["git", "ls-files", "src/tagfill"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    expected = {Path(name).relative_to("src").as_posix() for name in listed.stdout.split()}
    present = {name for name in expected if (ROOT / "src" / name).exists()}
    assert present <= set(zipfile.ZipFile(wheel).namelist())


def test_the_version_comes_from_one_place(wheel):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "version" in project["dynamic"]
    assert wheel.name.startswith(f"tagfill-{tagfill.__version__}-")


def test_every_extra_named_in_a_hint_exists():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = set(project["optional-dependencies"])
    hints = {
        extra
        for file in (*SOURCE.rglob("*.py"), ROOT / "README.md", *(ROOT / "docs").glob("*.md"))
        for names in re.findall(r"(?:tagfill|\.)\[([a-z,]+)\]['\"`]", file.read_text())
        for extra in names.split(",")
    }
    assert hints
    assert hints <= extras


def test_every_dependency_is_pinned():
    pins = {line.partition("==")[0] for line in (ROOT / "constraints.txt").read_text().splitlines()}
    direct = {re.split(r"[\[<>=!; ]", text)[0].lower() for text in requires("tagfill") or ()}
    assert direct - {"tagfill"} <= {pin.lower() for pin in pins}
