"""Tables with a column per class: their shapes, and what counts as yes, no and unknown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.labels.reading import TICKED, WIDE, known, read, written

from tagfill.errors import LabelError, TagfillError
from tagfill.labels.edit import save_changes
from tagfill.labels.formats import Absent, ReadOptions
from tagfill.labels.io import load_labels


@pytest.mark.parametrize(
    "text",
    [
        "image cat dog\na.jpg 1 0\nb.jpg 0 1\n",
        "image     cat  dog\na.jpg     1    0  \nb.jpg     0    1\n",
        "2\ncat dog \na.jpg 1 0\nb.jpg 0 1\n",
        '"cat" "dog"\n"a.jpg" 1 0\n"b.jpg" 0 1\n',
        "| image | cat | dog |\n|---|:-:|---|\n| a.jpg | 1 | 0 |\n| b.jpg | 0 | 1 |\n",
        "'image','cat','dog'\n'a.jpg','1','0'\n'b.jpg','0','1'\n",
        "Unnamed: 0,image,cat,dog\n1,a.jpg,1,0\n2,b.jpg,0,1\n",
        "id,image,cat,dog\n1,a.jpg,1,0\n2,b.jpg,0,1\n",
        "image,cat,dog\na.jpg,1,<NA>\nb.jpg,n.a.,1\na.jpg,,0\nb.jpg,0,\n",
    ],
    ids=[
        "blanks",
        "columns of one width",
        "CelebA",
        "R",
        "Markdown",
        "single quotes",
        "pandas index",
        "row numbers",
        "missing values",
    ],
)
def test_tables_of_other_programs(text: str, tmp_path: Path) -> None:
    assert known(read(tmp_path, text)) == WIDE


@pytest.mark.parametrize(
    "text",
    [
        ",animals,\nimage,cat,dog\na.jpg,1,0\nb.jpg,0,1\n",
        "image,animals,\n,cat,dog\na.jpg,1,0\nb.jpg,0,1\n",
        "image,cat,dog\na.jpg,present,absent\nb.jpg,absent,present\n",
        "image,cat,dog\na.jpg,✔️,✗\nb.jpg,✘,✔\n",
    ],
    ids=["groups", "two lines", "words", "emoji"],
)
def test_wide_tables_people_use(text: str, tmp_path: Path) -> None:
    dataset = read(tmp_path, text)
    assert known(dataset) == {"a.jpg": {"cat": 1, "dog": 0}, "b.jpg": {"cat": 0, "dog": 1}}
    values = dataset.table.values.copy()
    values[0, 1] = 1
    save_changes(dataset, dataset.table.with_values(values), tmp_path / "o.csv", ReadOptions())
    assert known(load_labels(tmp_path / "o.csv"))["a.jpg"] == {"cat": 1, "dog": 1}
    heads = [(tmp_path / name).read_text().split("\na.jpg")[0] for name in ("l.csv", "o.csv")]
    assert heads[0] == heads[1]


def test_a_second_line_names_columns_that_share_a_name(tmp_path: Path) -> None:
    lines = [",file,labels,labels", ",,cat,dog", "0,a.jpg,1,0", "1,b.jpg,0,1"]
    assert known(read(tmp_path, lines))["b.jpg"] == {"cat": 0, "dog": 1}


TICKS = [("1", "0"), ("x", "no"), ("X", "nein"), ("yes", "no"), ("TRUE", "FALSE"), ("ja", "0")]
TICKS += [("✓", "✗"), ("1.0", "0.0"), ("wahr", "falsch"), (" Yes ", "N")]


@pytest.mark.parametrize(("yes", "no"), TICKS)
@pytest.mark.parametrize("blank", ["", "?", "n/a", " "])
def test_ticks(tmp_path: Path, yes: str, no: str, blank: str) -> None:
    rows = f"a.jpg,{yes},{no}\nb.jpg,{yes},{blank}\nc.jpg,{blank},{yes}\n"
    dataset = read(tmp_path, "image,cat,dog\n" + rows)
    assert dataset.format == "csv_wide"
    assert known(dataset) == TICKED


@pytest.mark.parametrize(
    ("yes", "no"),
    [
        ("oui", "non"),
        ("VRAI", "FAUX"),
        ("sí", "no"),
        ("VERDADERO", "FALSO"),
        ("vero", "falso"),
        ("sim", "não"),
        ("ja", "nee"),
        ("да", "нет"),
        ("是", "否"),
        ("はい", "いいえ"),
        ("t", "f"),
        ("T", "F"),
    ],
)
def test_yes_and_no_in_many_languages(yes: str, no: str, tmp_path: Path) -> None:
    text = f"image,cat,dog\na.jpg,{yes},{no}\nb.jpg,{no},{yes}\n"
    assert known(read(tmp_path, text)) == WIDE


@pytest.mark.parametrize(
    ("yes", "no"),
    [("on", "off"), ("[x]", "[ ]"), ("☑", "☐"), ("👍", "👎"), ("pos", "neg"), ("100%", "0%")],
)
def test_more_ticks(yes: str, no: str, tmp_path: Path) -> None:
    rows = [f"{n}.jpg,{yes},{no}," for n in range(4)]
    assert known(read(tmp_path, ["image,cat,dog,sea", *rows]))["2.jpg"] == {"cat": 1, "dog": 0}


def test_the_name_of_the_class_is_a_tick(tmp_path: Path) -> None:
    rows = [f"{n}.jpg,{'cat' if n % 2 else ''},{'Dog' if n % 3 else ''}" for n in range(12)]
    dataset = read(tmp_path, ["image,cat,dog", *rows])
    assert known(dataset)["1.jpg"] == {"cat": 1, "dog": 1}
    assert known(dataset)["3.jpg"] == {"cat": 1}


def test_decimals_are_ticks(tmp_path: Path) -> None:
    dataset = read(tmp_path, ["Bild;Hund;Katze", "a.jpg;1,00;0,000", "b.jpg;0.00;1.0"])
    assert known(dataset)["a.jpg"] == {"Hund": 1, "Katze": 0}
    assert known(dataset)["b.jpg"] == {"Hund": 0, "Katze": 1}


def test_nearly_one_is_not_one(tmp_path: Path) -> None:
    for text in ("0.99999999", "1e-50"):
        with pytest.raises(LabelError, match="is not 1, 0 or empty"):
            read(tmp_path, f"image,cat,dog\na.jpg,1,1\nb.jpg,{text},0\n")


def test_a_code_nobody_knows_is_refused_not_dropped(tmp_path: Path) -> None:
    rows = "".join(f"{n}.jpg,{'P' if n % 2 else 'A'},{'A' if n % 3 else 'P'}\n" for n in range(9))
    with pytest.raises(TagfillError, match="no column holds known label values") as caught:
        load_labels(written(tmp_path, "image,cat,dog\n" + rows), format="csv_wide")
    assert "'cat': 9 values such as 'A' (row 2)" in str(caught.value)


def test_many_columns_of_scores_are_one_message(tmp_path: Path) -> None:
    names = [f"class {n}" for n in range(40)]
    rows = [",".join([f"{n}.jpg", *["0.25", "0.5"] * 20]) for n in range(9)]
    with pytest.raises(TagfillError, match=r"and 35 more columns\) — if these are prob") as caught:
        read(tmp_path, [",".join(["image", *names]), *rows])
    assert len(str(caught.value)) < 700


def test_dashes_mean_what_the_user_says(tmp_path: Path) -> None:
    rows = [f"{n}.jpg,{'x' if n % 4 else '-'},{'-' if n % 3 else 'x'}" for n in range(12)]
    with pytest.raises(TagfillError, match="--absent negative or --absent unknown"):
        read(tmp_path, ["image,cat,dog", *rows])
    told = load_labels(tmp_path / "l.csv", options=ReadOptions(absent="negative"))
    assert known(told)["1.jpg"] == {"cat": 1, "dog": 0}


@pytest.mark.parametrize(
    ("absent", "expected"), [("negative", {"cat": 1, "dog": 0}), ("unknown", {"cat": 1})]
)
def test_minus_one_means_what_the_user_says(
    absent: Absent, expected: dict[str, int], tmp_path: Path
) -> None:
    rows = "".join(f"{n}.jpg,-1,1\n" for n in range(8))
    dataset = read(tmp_path, f"image,cat,dog\na.jpg,1,-1\n{rows}", absent=absent)
    assert known(dataset)["a.jpg"] == expected
    lines = [{"image": "a.jpg", "cat": 1, "dog": -1}, {"image": "b.jpg", "cat": -1, "dog": 1}]
    assert known(read(tmp_path, json.dumps(lines), "l.json", absent))["a.jpg"] == expected


def test_minus_one_beside_zero_is_never_taken_for_absent(tmp_path: Path) -> None:
    with pytest.raises(TagfillError, match="-1 and 0 cannot both mean absent"):
        read(tmp_path, "image,cat\na.jpg,1\nb.jpg,-1\nc.jpg,0\n", absent="negative")


def test_minus_one_is_refused_as_it_has_two_meanings(tmp_path: Path) -> None:
    with pytest.raises(TagfillError, match="-1 and 0 cannot both mean absent"):
        read(tmp_path, "image,cat\na.jpg,1\nb.jpg,-1\nc.jpg,0\n")


def test_minus_one_beside_all_other_values_is_doubt(tmp_path: Path) -> None:
    rows = [f"p{n}.jpg,Male,{20 + n},{['1.0', '', '0.0', '-1.0'][n % 4]},1.0" for n in range(20)]
    dataset = read(tmp_path, ["Path,Sex,Age,Edema,Fracture", *rows])
    assert dataset.table.classes == ("Edema", "Fracture")
    assert known(dataset)["p2.jpg"] == {"Edema": 0, "Fracture": 1}
    assert known(dataset)["p3.jpg"] == {"Fracture": 1}
    assert any("-1.0 beside 1, 0 and empty" in note for note in dataset.notes)
