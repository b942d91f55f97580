"""Rows that are no images: sums, headers that stand there again, legends, blank rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.labels.reading import known, read

from tagfill.cli.main import main
from tagfill.errors import TagfillError
from tagfill.labels.edit import save_changes
from tagfill.labels.formats import ReadOptions
from tagfill.labels.io import load_labels


@pytest.mark.parametrize(
    "name", ["Summe: 8 Fotos", "Total: 8", "Anzahl Bilder 8", "8 photos total"]
)
def test_rows_of_sums(name: str, tmp_path: Path) -> None:
    rows = [f"{n}.jpg,1,0" for n in range(8)]
    dataset = read(tmp_path, ["image,cat,dog", *rows, f"{name},8,0"])
    assert len(dataset.table) == 8
    assert any("is taken for a sum" in str(problem) for problem in dataset.problems)
    tagged = read(tmp_path, ["image,tags", *(f"{n}.jpg,cat" for n in range(8)), f"{name},"])
    assert len(tagged.table) == 8


@pytest.mark.parametrize(
    "text",
    [
        "image,cat,dog\na.jpg,1,0\nb.jpg,0,1\nTotal,1,1\n",
        "image,cat,dog\na.jpg,1,0\nb.jpg,0,1\nSumme:,17,3\n",
        "image,cat,dog\na.jpg,1,0\nimage,cat,dog\nb.jpg,0,1\n",
        "image;label;value\na.jpg;cat;1\na.jpg;dog;0\nb.jpg;cat;0\nb.jpg;dog;1\nGesamt;4;2\n",
    ],
)
def test_sums_and_repeated_headers_are_no_images(text: str, tmp_path: Path) -> None:
    dataset = read(tmp_path, text)
    assert known(dataset) == {"a.jpg": {"cat": 1, "dog": 0}, "b.jpg": {"cat": 0, "dog": 1}}
    assert "passed over" in str(dataset.problems[0])


def test_confirmed_tags_of_absolute_ids_are_written_beside_a_sum(tmp_path: Path) -> None:
    text = "image,tags\nC:\\x\\a.jpg,cat\nC:\\x\\b.jpg,dog\nimage,tags\nTotal,2\n"
    dataset = read(tmp_path, text)
    values = dataset.table.values.copy()
    values[0, 1] = 1
    save_changes(dataset, dataset.table.with_values(values), tmp_path / "o.csv", ReadOptions())
    assert (tmp_path / "o.csv").read_text() == text.replace("a.jpg,cat", "a.jpg,cat;dog")


def test_a_sum_stays_in_the_file_that_apply_writes(tmp_path: Path) -> None:
    dataset = read(tmp_path, "image,tags\na.jpg,cat\nb.jpg,dog\nTotal,2\n")
    values = dataset.table.values.copy()
    values[0, 1] = 1
    save_changes(dataset, dataset.table.with_values(values), tmp_path / "o.csv", ReadOptions())
    assert (tmp_path / "o.csv").read_text() == "image,tags\na.jpg,cat;dog\nb.jpg,dog\nTotal,2\n"


def test_inspect_lists_what_was_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "l.csv"
    path.write_text("image,tags\na.jpg,cat\nimage,tags\nb.jpg,-\n")
    assert main(["inspect", str(path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert "the header stands here again" in json.dumps(told["problems"])
    assert "1 entry says '-'" in " ".join(told["notes"])


def test_a_legend_below_the_table_is_no_image(tmp_path: Path) -> None:
    rows = [f"{n}.jpg,cat;dog" for n in range(6)]
    dataset = read(tmp_path, ["Photo,Tags", *rows, "", "Legend,Meaning", "cat,any cat"])
    assert dataset.table.images == tuple(f"{n}.jpg" for n in range(6))
    assert dataset.table.classes == ("cat", "dog")
    assert "'Legend' stands below the table" in str(dataset.problems[0])


def test_blank_rows_between_images_lose_none(tmp_path: Path) -> None:
    dataset = read(tmp_path, ["Photo,cat,dog", "a.jpg,1,0", "", "", "b.jpg,0,1", "", "c.jpg,1,1"])
    assert dataset.table.images == ("a.jpg", "b.jpg", "c.jpg")


def test_a_line_of_odd_values_is_named_with_a_remedy_that_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_text("image,cat,dog\na.jpg,1,0\nb.jpg,0,1\nc.jpg,1,1\nd.jpg,2,2\n")
    with pytest.raises(TagfillError, match=r"row 5: 2 entries.*delete the row if it holds sums"):
        load_labels(path)


@pytest.mark.parametrize("text", ['a.jpg,"cat\nb.jpg,dog\n', 'a.jpg,"cat\nb.jpg,dog"\nc.jpg,cat\n'])
def test_a_quote_that_is_never_closed_swallows_no_rows(text: str, tmp_path: Path) -> None:
    with pytest.raises(TagfillError, match=r"row 2: .*is a quote opened there"):
        read(tmp_path, "image,tags\n" + text)
