"""`tagfill analyze`: files, reasons, and mistakes."""

from __future__ import annotations

import csv
import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.analyze.runs import train_runs
from tests.explain.font import installed, write_font

from tagfill.analyze import attention
from tagfill.analyze.drawing import styled
from tagfill.analyze.kinds import KINDS
from tagfill.cli.main import main
from tagfill.labels.io import save_labels
from tagfill.observe import make, observe_dataset
from tagfill.scenes import write_scenes

pytestmark = pytest.mark.usefixtures("quick_choices")


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    assert main(["analyze", *map(str, arguments), "--json"]) == 0
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


def test_makes_what_the_runs_allow_and_says_why_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    train_runs(tmp_path, "an", "em")
    out = tmp_path / "figures"
    result = run(capsys, tmp_path / "an", tmp_path / "em", "--points", 3, "--out", out)
    made = {figure["kind"]: figure for figure in result["figures"]}
    assert set(made) | set(result["skipped"]) == set(KINDS)
    assert set(result["skipped"]) == {"pseudo_labels", "attention"}
    assert "features" in result["skipped"]["attention"]
    for kind in made:
        with Image.open(out / f"{kind}.png") as picture:
            assert min(picture.size) > 200
        assert "<svg" in (out / f"{kind}.svg").read_text()[:1000]
        rows = list(csv.reader((out / f"{kind}.csv").read_text().splitlines()))
        assert len(rows) > 2
        assert len({len(row) for row in rows}) == 1
    assert main(["analyze", str(tmp_path / "an"), "--kind", "class_gain", "--out", str(out)]) == 2
    assert "class_gain cannot be drawn: it needs two runs" in capsys.readouterr().err


def test_without_runs_only_gradients_are_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = run(capsys, "--out", tmp_path)
    assert [figure["kind"] for figure in result["figures"]] == ["gradients"]
    assert result["skipped"]["landscape"] == "it needs a run"


def test_mistakes_end_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments, message in (
        (["--kind", "pies"], "unknown figure 'pies'"),
        ([str(tmp_path)], "not a run folder"),
        (["--kind", "gradients", "--methods", "nonsense"], "nonsense"),
        (["--points", "1"], "--points at least 3"),
    ):
        assert main(["analyze", *arguments, "--out", str(tmp_path / "x")]) == 2
        assert message in capsys.readouterr().err


def test_class_names_in_other_scripts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("猫", "犬", "кошка", "cat", "σκύλος", "été")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "classes.txt").write_text("\n".join(names), encoding="utf-8")
    train_runs(tmp_path, "an", "em")
    capsys.readouterr()
    words = ["analyze", tmp_path / "an", tmp_path / "em", "--kind", "class_gain", "distances"]
    words = [*map(str, words), "--out", str(tmp_path / "figures")]
    with warnings.catch_warnings(record=True) as warned, installed():
        assert main(words) == 0
    shown = capsys.readouterr()
    assert shown.out.count("note:") == 1
    assert "note: no installed font has 犬 猫: drawn as boxes" in shown.out
    assert (shown.err, [warning for warning in warned if "Glyph" in str(warning.message)]) == (
        "",
        [],
    )
    boxes = (tmp_path / "figures" / "class_gain.png").read_bytes()
    font = write_font(tmp_path / "cjk.ttf", "Noto Sans CJK SC", "猫犬")
    with warnings.catch_warnings(record=True) as warned, installed(font):
        assert run(capsys, *words[1:])["notes"] == []
    assert [warning for warning in warned if "Glyph" in str(warning.message)] == []
    assert (tmp_path / "figures" / "class_gain.png").read_bytes() != boxes


def test_other_warnings_are_passed_on() -> None:
    with warnings.catch_warnings(record=True) as warned, styled() as letters:
        warnings.warn("something else", stacklevel=1)
        warnings.warn("Glyph 29483 (CJK) missing from font(s) DejaVu Sans.", stacklevel=1)
    assert [str(warning.message) for warning in warned] == ["something else"]
    assert letters == {"猫"}


def test_attention_takes_images_with_one_recovered_tag_after_those_with_two() -> None:
    tags = {7: [(0, 0.99)], 3: [(0, 0.9), (1, 0.6)], 5: [(2, 0.8), (1, 0.7)], 1: [(4, 0.5)]}
    assert attention.surest(tags) == [5, 3, 7, 1]


@pytest.mark.slow
def test_attention_and_bars_with_pictures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attention, "PRECISION", 0.05)
    truth = write_scenes(tmp_path / "scenes", 24, 64, 2, workers=1)
    masked = observe_dataset(truth, make("single_positive"), 1200)
    labels, single = tmp_path / "scenes" / "labels.csv", tmp_path / "scenes" / "single.csv"
    save_labels(masked, single, format="csv_wide")
    for method in ("an", "em"):
        words = ["train", single, "--truth", labels, "--mode", "linear", "--method", method]
        words += ["--backbone", "test_resnet", "--no-pretrained", "--input-size", 64]
        words += ["--epochs", 2, "--workers", 0, "--quiet", "--out", tmp_path / method]
        assert main([*map(str, words)]) == 0
    capsys.readouterr()
    kinds = ["--kind", "attention", "bars", "landscape", "--images", 2, "--points", 3]
    result = run(capsys, tmp_path / "an", tmp_path / "em", *kinds, "--out", tmp_path / "figures")
    figures = {figure["kind"]: figure for figure in result["figures"]}
    table = Path(figures["attention"]["files"]["csv"]).read_text()
    rows = list(csv.DictReader(table.splitlines()))
    assert len(rows) == 3 * figures["attention"]["findings"]["images"]
    assert {row["label"] for row in rows} >= {"observed"}
    assert all(0 <= float(row["peak x"]) <= 1 for row in rows)
