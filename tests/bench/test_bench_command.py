from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from tests.bench.small_recipe import TEXT

from tagfill.bench.recipe import load_recipe, recipe_names
from tagfill.bench.run import Order, run
from tagfill.cli.main import main

pytestmark = pytest.mark.usefixtures("quick_choices")


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "own.toml"
    path.write_text(TEXT)
    return path


def test_without_a_recipe_all_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["recipes"]
    assert [entry["name"] for entry in listed] == recipe_names()
    assert all(entry["expected"] for entry in listed)
    assert main(["bench", "--list"]) == 0
    assert "003_table1" in capsys.readouterr().out


def test_dry_run_trains_nothing(
    own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert main(["bench", str(own), "--out", str(out), "--dry-run", "--json"]) == 0
    cells = json.loads(capsys.readouterr().out)["cells"]
    assert len(cells) == 8
    assert cells[0]["settings"] == {"mode": "linear", "epochs": 1}
    assert not out.exists()


def test_a_table_in_all_forms(
    own: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, pages = tmp_path / "out", tmp_path / "pages"
    words = ["bench", str(own), "--out", str(out), "--seeds", "1"]
    assert main([*words, "--only", "an", "--json", "--write", str(pages)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [cell["status"] for cell in told["cells"]] == [
        *("done", "done", "not run", "not run", "quoted", "quoted")
    ]
    page = (pages / "own.md").read_text()
    assert page == (out / "own-smoke.md").read_text()
    assert "`tagfill bench own.toml --size smoke --seeds 1`" in page
    assert str(tmp_path) not in page
    with (out / "own-smoke.csv").open() as file:
        records = list(csv.DictReader(file))
    assert float(records[0]["test_mAP"]) == told["cells"][0]["test_mAP"]

    assert main([*words, "--only", "em", "--columns", "one,known", "--json"]) == 0
    later = json.loads(capsys.readouterr().out)
    assert [cell["status"] for cell in later["cells"]][:4] == ["done"] * 4  # an was kept


def test_users_mistakes_are_one_message(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "004_table9"]) == 2
    assert "there is no recipe '004_table9' — did you mean 004_table" in capsys.readouterr().err
    assert main(["bench", str(own), "--only", "emm", "--dry-run"]) == 2
    assert "did you mean em? use one of an, em, lost" in capsys.readouterr().err
    assert main(["bench", str(own), "--size", "paper", "--dry-run"]) == 2
    assert "its sizes: smoke, voc" in capsys.readouterr().err
    assert main(["bench", str(own), "--size", "voc", "--data", "nowhere"]) == 2
    assert "--data" in capsys.readouterr().err


@pytest.mark.slow
def test_every_recipe_runs_at_size_smoke(tmp_path_factory: pytest.TempPathFactory) -> None:
    """All in one folder, as users have it: half a minute of one core for everything."""
    out = tmp_path_factory.mktemp("smoke")
    for name in recipe_names():
        report = run(Order(load_recipe(name), "smoke", Path("none"), out), lambda line: None)
        assert not report.failures, (name, report.failures)
        done = [record for record in report.records if record.get("status", "done") == "done"]
        assert done, name
        assert report.sheets
