"""The commands of docs/index.md for Windows, run as they are written there, without make."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"```powershell\n(.*?)```", re.DOTALL)
PYTHON = r".venv\Scripts\python"
OFFLINE = ["--no-deps", "--no-index", "--no-build-isolation", "--quiet"]


def commands() -> list[list[str]]:
    (block,) = BLOCK.findall((ROOT / "docs" / "index.md").read_text(encoding="utf-8"))
    return [line.replace('"', "").split() for line in map(str.strip, block.splitlines()) if line]


def test_the_commands_for_windows(tmp_path: Path) -> None:
    make, install, *uses, activate = commands()
    assert make == ["py", "-m", "venv", ".venv"]
    assert activate == [PYTHON.replace("python", "Activate.ps1")]
    assert uses[0][1:] == ["-m", "tagfill", "--version"]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}

    def run(*command: str) -> str:
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run(sys.executable, *make[1:])
    scripts = tmp_path / ".venv" / ("Scripts" if os.name == "nt" else "bin")
    place = run(
        str(scripts / "python"), "-c", "import sysconfig as s; print(s.get_path('purelib'))"
    )
    (Path(place.strip()) / "tested.pth").write_text(sysconfig.get_path("purelib"))
    assert install[:4] == [PYTHON, "-m", "pip", "install"]
    assert install[4:6] == ["-c", "constraints.txt"]
    package = install[6].replace(".", str(ROOT), 1)
    pinned = ["-c", str(ROOT / "constraints.txt")]
    run(str(scripts / "python"), "-m", "pip", "install", *OFFLINE, *pinned, package)
    for command in uses:
        assert command[0] == PYTHON
        said = run(str(scripts / "python"), *command[1:])
    assert "20 images" in said
    where = run(str(scripts / "python"), "-c", "import tagfill; print(tagfill.__file__)")
    assert Path(where.strip()).is_relative_to(tmp_path / ".venv")


@pytest.mark.parametrize("file", ["README.md", "docs/index.md"])
def test_the_commands_that_install_name_the_constraints(file: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")
    installs = re.findall(r"^\s*(?:\S+ -m )?pipx? install .*$", text, re.MULTILINE)
    assert installs
    assert all("-c constraints.txt" in line for line in installs)
