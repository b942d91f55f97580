"""What the Dockerfile copies is enough to install, and what it runs exists; no image is built."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tagfill.cli.main import main
from tagfill.demo import METHODS, DemoData

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "Dockerfile").read_text(encoding="utf-8")


def test_what_is_copied_is_enough_for_the_wheel(tmp_path: Path) -> None:
    copied = [line.split()[1:-1] for line in TEXT.splitlines() if re.match(r"COPY [^-]", line)]
    for name in (name for names in copied for name in names):
        place = ROOT / name
        (shutil.copytree if place.is_dir() else shutil.copy2)(place, tmp_path / name)
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", "dist"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    assert "tagfill/serve/static/css/base.css" in zipfile.ZipFile(wheel).namelist()
    assert (tmp_path / "constraints.txt").is_file()


def test_it_serves_a_run_of_the_demo(capsys: pytest.CaptureFixture[str]) -> None:
    (listed,) = re.findall(r"^CMD (\[.*\])$", TEXT, re.MULTILINE)
    program, command, run, *options = json.loads(listed)
    (folder,) = re.findall(r"tagfill demo --out (\S+)", TEXT)
    demo = DemoData(Path(folder), Path(), Path())
    assert Path(run) in [demo.run(method) for method in METHODS]
    assert program.endswith("/tagfill")
    assert main([command, "--help"]) == 0
    said = capsys.readouterr().out
    assert all(option in said for option in options if option.startswith("--"))
    assert f"EXPOSE {options[options.index('--port') + 1]}\n" in TEXT
