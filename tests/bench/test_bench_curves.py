from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
from tests.bench.small_recipe import TEXT, recipe

from tagfill.analyze.drawing import new_figure, styled
from tagfill.bench.table import Report
from tagfill.bench.write import draw_curves, widen
from tagfill.cli.main import main
from tagfill.errors import TagfillError
from tagfill.train.folder import RunFolder

CURVE = """
[curves.share]
axis = "known"
points = { one = 5.0, known = 30.0 }
times = { em = 2.0 }
"""


EPOCHS = """
[curves.epochs]
axis = "epoch"
epochs = "one"
first = 2
"""


def _report(*values: tuple[str, str, float]) -> Report:
    records = [{"row": row, "column": column, "test_mAP": value} for row, column, value in values]
    return Report((), tuple(records))


def _with(text: str) -> Any:
    return recipe(("\n[sizes.smoke]", text + "\n[sizes.smoke]"))


def test_points_are_means_over_seeds_at_their_place(tmp_path: Path) -> None:
    report = _report(
        ("an", "one", 60.0), ("an", "one", 62.0), ("an", "known", 70.0),
        ("em", "one", 63.0), ("em", "known", 71.0),
    )  # fmt: skip
    files = draw_curves(_with(CURVE), "smoke", report, tmp_path)
    assert [file.name for file in files["share"]] == [
        f"mine-smoke-share.{kind}" for kind in ("png", "svg", "csv")
    ]
    with (tmp_path / "mine-smoke-share.csv").open() as file:
        lines = list(csv.reader(file))
    assert lines == [
        ["row", "known", "mean", "standard deviation"],
        ["AN", "5.0", "61.0", "1.41421"],
        ["AN", "30.0", "70.0", "0.0"],
        ["EM", "10.0", "63.0", "0.0"],
        ["EM", "60.0", "71.0", "0.0"],
    ]
    drawn = (tmp_path / "mine-smoke-share.svg").read_text()
    assert ">AN<" in drawn
    assert "Lost" not in drawn


def test_a_curve_may_show_some_rows_only(tmp_path: Path) -> None:
    report = _report(*[(row, column, 60.0) for row in ("an", "em") for column in ("one", "known")])
    some = CURVE.replace("times = { em = 2.0 }", 'rows = ["em"]')
    drawn = draw_curves(_with(some), "smoke", report, tmp_path)["share"][1].read_text()
    assert ">EM<" in drawn
    assert ">AN<" not in drawn


def test_a_level_column_is_a_line_of_its_own(tmp_path: Path) -> None:
    values = [
        ("an", "one", 60.0),
        ("em", "known", 70.0),
        ("em", "one", 65.0),
        ("em", "third", 66.0),
    ]
    level = CURVE.replace("times = { em = 2.0 }", 'level = "known"\nlog = true')
    files = draw_curves(
        _with(
            level.replace(", known = 30.0", ", third = 9.0") + '[columns.third]\ntitle = "third"\n'
        ),
        "smoke",
        _report(*values),
        tmp_path,
    )
    drawn = files["share"][1].read_text()
    assert ">EM, 30 % known<" in drawn


def test_epochs_are_means_over_seeds_of_what_validation_said(tmp_path: Path) -> None:
    own, out = tmp_path / "own.toml", tmp_path / "out"
    own.write_text(
        TEXT.replace("\n[sizes.smoke]", EPOCHS + "\n[sizes.smoke]").replace(
            "epochs = 1 ", "epochs = 3 "
        )
    )
    words = ["bench", str(own), "--out", str(out), "--only", "an", "--columns", "one"]
    assert main([*words, "--json"]) == 0
    runs = [RunFolder(path.parent) for path in out.glob("cells/*/events.jsonl")]
    seen = [event for run in runs for event in run.read_events()]
    second = [event["score"] for event in seen if event.get("epoch") == 2]
    with (out / "own-smoke-epochs.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert [line["epoch"] for line in lines] == ["2", "3"]
    assert float(lines[0]["mean"]) == pytest.approx(sum(second) / 2, abs=1e-3)
    assert "validation mAP, percent" in (out / "own-smoke-epochs.svg").read_text()


@pytest.mark.parametrize(
    ("before", "after"), [((74.5, 74.9), (73.7, 75.7)), ((60.0, 70.0), (60.0, 70.0))]
)
def test_flat_curves_look_flat(before: tuple[float, float], after: tuple[float, float]) -> None:
    with styled():
        axis = new_figure()[1][0][0]
        axis.set_ylim(*before)
        widen(axis)
    assert axis.get_ylim() == pytest.approx(after)


def test_one_point_is_no_curve(tmp_path: Path) -> None:
    assert draw_curves(_with(CURVE), "smoke", _report(("an", "one", 60.0)), tmp_path) == {}
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("known = 30.0", "lots = 30.0", "no column 'lots'"),
        ("em = 2.0", "en = 2.0", "no row 'en'"),
        ("times = { em = 2.0 }", 'rows = ["en"]', "no row 'en'"),
        ("times = { em = 2.0 }", 'level = "none"', "no column 'none'"),
        ("times = { em = 2.0 }", 'epochs = "one"', "either points or epochs"),
        ("points = { one = 5.0, known = 30.0 }", "", "either points or epochs"),
        ("points = { one = 5.0, known = 30.0 }", 'epochs = "none"', "no column 'none'"),
    ],
)
def test_a_curve_of_nothing_is_refused(old: str, new: str, said: str) -> None:
    with pytest.raises(TagfillError, match=said):
        _with(CURVE.replace(old, new))


def test_the_page_shows_the_curve(tmp_path: Path) -> None:
    own, pages = tmp_path / "own.toml", tmp_path / "pages"
    own.write_text(TEXT.replace("\n[sizes.smoke]", CURVE + "\n[sizes.smoke]"))
    words = ["bench", str(own), "--out", str(tmp_path / "out"), "--seeds", "1", "--only", "an"]
    assert main([*words, "--write", str(pages)]) == 0
    assert "![A table: known](own-smoke-share.png)" in (pages / "own.md").read_text()
    assert sorted(file.name for file in pages.iterdir()) == ["own-smoke-share.png", "own.md"]
