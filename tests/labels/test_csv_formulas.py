"""A field of a CSV that a spreadsheet would run is guarded, and comes back as it was."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.labels.reading import read

from tagfill.files import guarded, without_guard
from tagfill.labels.io import load_labels, save_labels

FORMULAS = ["=cmd|' /C calc'!A0", "@SUM(1)", "+1+cmd|x", "-2+3|a", "'=x", "\tx"]


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_are_guarded_and_come_back(text: str) -> None:
    (field,) = guarded([text])
    assert field == f"'{text}"
    assert without_guard(str(field)) == text


@pytest.mark.parametrize("text", ["a.jpg", "-1", "+1", "--x", "it's", "'quoted'", "-foo/bar.jpg"])
def test_plain_texts_are_not_touched(text: str) -> None:
    assert guarded([text]) == [text]
    assert without_guard(text) == text


@given(st.text())
def test_guarding_loses_nothing(text: str) -> None:
    assert [without_guard(str(field)) for field in guarded([text])] == [text]


@pytest.mark.parametrize("name", ["csv_wide", "csv_long", "tag_list"])
def test_no_formula_reaches_a_written_csv(tmp_path: Path, name: str) -> None:
    text = "image,label\n'=cmd|calc!A0,'@tag\nb.jpg,cat\n"
    dataset = read(tmp_path, text)
    assert dataset.table.images[0] == "=cmd|calc!A0"
    save_labels(dataset, tmp_path / "out.csv", format=name)
    fields = (tmp_path / "out.csv").read_text().replace("\n", ",").split(",")
    assert not any(field.startswith(("=", "@")) for field in fields)
    again = load_labels(tmp_path / "out.csv")
    assert again.table.images == dataset.table.images
    assert again.table.classes == dataset.table.classes
