"""The story of `tagfill demo`, on few pictures."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tagfill.cli.main import main


@pytest.mark.slow
@pytest.mark.usefixtures("quick_choices")
def test_the_demo_compares_recovers_and_reports_and_trains_nothing_twice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = ["demo", "--out", str(tmp_path), "--count", "48", "--seeds", "1", "--workers", "1"]
    assert main([*options, "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert set(first["methods"]) == {"an", "auto", "oracle"}
    assert (Path(first["run"]) / "model" / "model.safetensors").is_file()
    recovered = first["recovered"]
    with Path(recovered["file"]).open(encoding="utf-8") as file:
        assert len(list(csv.DictReader(file))) == recovered["suggestions"]
    assert recovered["missing"] > 0
    assert "auto-seed0" in Path(first["report"]).read_text(encoding="utf-8")
    comparison = Path(first["comparison"]).read_text(encoding="utf-8")
    assert all(f"{name}-seed0" in comparison for name in first["methods"])
    monkeypatch.setattr("tagfill.train.run.fit", lambda *_: pytest.fail("trained again"))
    assert main([*options, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == first


def test_debug_shows_the_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from tagfill.errors import TagfillError

    assert main(["inspect", "nowhere.csv"]) == 2
    assert "Traceback" not in capsys.readouterr().err
    with pytest.raises(TagfillError):
        main(["inspect", "nowhere.csv", "--debug"])


def test_help_and_import_do_not_load_torch() -> None:
    import subprocess
    import sys

    code = (
        "import sys, tagfill; from tagfill.cli.main import main; main(['--help']);"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0
