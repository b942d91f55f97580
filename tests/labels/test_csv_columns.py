"""Which columns hold images, classes, tags or splits, and which are left out and named."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest
from tests.labels.reading import LISTED, TICKED, WIDE, known, read, written

from tagfill.errors import LabelError, TagfillError
from tagfill.labels.formats import ReadOptions
from tagfill.labels.formats._ticks import column_kind
from tagfill.labels.io import load_labels


def test_index_and_label_text_beside_ticks(tmp_path: Path) -> None:
    text = (
        ",file,label,cat,dog,set\n0,a.jpg,cat,1,0,train\n1,b.jpg,cat,1,,val\n2,c.jpg,dog,,1,test\n"
    )
    dataset = read(tmp_path, text)
    assert known(dataset) == TICKED
    assert set(dataset.splits) == {"train", "val", "test"}


def test_ratings_dates_and_sizes_are_left_out_with_examples(tmp_path: Path) -> None:
    rows = "".join(
        f"{n}.jpg,{n % 6},2020-01-{n % 28 + 1:02},{n} KB,{n % 2},640x480\n" for n in range(633)
    )
    dataset = read(tmp_path, "image,Rating,Date,Size,cat,Format\n" + rows)
    assert dataset.table.classes == ("cat",)
    (note,) = [note for note in dataset.notes if "left out" in note]
    for words in ("'Rating': 421 values such as '2'", "'Date': 633", "'Size'", "'Format'"):
        assert words in note
    assert not [problem for problem in dataset.problems if problem.severity == "error"]


def test_bad_entries_are_one_problem_a_column(tmp_path: Path) -> None:
    rows = "".join(f"{n}.jpg,{'l' if n % 5 == 0 else 1},{n % 2}\n" for n in range(100))
    with pytest.raises(LabelError) as caught:
        read(tmp_path, "image,cat,dog\n" + rows)
    (problem,) = caught.value.problems
    assert problem.row == 2
    assert "20 entries in column 'cat' are not 1, 0 or empty" in problem.message
    assert "--ignore-columns 'cat'" in str(problem.remedy)


def test_columns_can_be_named(tmp_path: Path) -> None:
    text = "one;two;three\na.jpg;x/y.png;cat+dog\nb.jpg;z.png;dog\nc.jpg;w.png;\n"
    path = written(tmp_path, text)
    options = ReadOptions(image_column="one", tags_columns=("three",), separator="+")
    assert known(load_labels(path, options=options)) == LISTED
    with pytest.raises(TagfillError, match="there is no column 'four'") as caught:
        load_labels(path, options=ReadOptions(tags_columns=("four",)))
    assert "one, two, three" in str(caught.value.remedy)
    wide = written(tmp_path, "image,cat,dog,Stars\na.jpg,1,0,1\nb.jpg,1,,0\nc.jpg,,1,1\n")
    assert known(load_labels(wide, options=ReadOptions(ignore_columns=("stars",)))) == TICKED


def test_a_table_without_header_gets_its_class_names_from_a_list(tmp_path: Path) -> None:
    path = written(tmp_path, "a.jpg,1,0\nb.jpg,1,\nc.jpg,,1\n")
    with pytest.raises(TagfillError, match="2 classes have no name") as caught:
        load_labels(path)
    assert "--classes" in str(caught.value.remedy)
    assert known(load_labels(path, options=ReadOptions(classes=("cat", "dog")))) == TICKED


def test_sentences_are_not_taken_for_tags(tmp_path: Path) -> None:
    rows = "".join(f"{n}.jpg,A man rides horse number {n} along the beach\n" for n in range(30))
    with pytest.raises(TagfillError, match="no column holds known label values"):
        read(tmp_path, "image,text\n" + rows)


def test_findings_of_chest_x_rays(tmp_path: Path) -> None:
    header = (
        "Image Index,Finding Labels,Follow-up #,Patient ID,Patient Age,Patient Gender,"
        "View Position,OriginalImage[Width,Height],OriginalImagePixelSpacing[x,y],"
    )
    found = ["Mass|Nodule", "No Finding", "Effusion", "Mass", "No Finding", "Effusion|Mass"]
    rows = [
        f"{n:08}_000.png,{found[n % 6]},{n % 3},{n},{20 + n},{'FFM'[n % 3]},PA,2682,2749,0.1,0.1,"
        for n in range(24)
    ]
    dataset = read(tmp_path, [header, *rows])
    assert set(dataset.table.classes) == {"Mass", "Nodule", "Effusion", "No Finding"}
    assert known(dataset)["00000005_000.png"] == {"Effusion": 1, "Mass": 1, "No Finding": 0}


def test_the_column_of_lists_among_other_texts(tmp_path: Path) -> None:
    found = ["Effusion; Edema", "No finding", "Edema"]
    rows = [f"P{n // 2},2021-01-01,p{n}.png,{found[n % 3]}" for n in range(12)]
    dataset = read(tmp_path, ["PatientID,StudyDate,ImagePath,Findings", *rows])
    assert known(dataset)["p3.png"] == {"Effusion": 1, "Edema": 1, "No finding": 0}


def test_ones_and_zeros_called_label_are_remarked_on(tmp_path: Path) -> None:
    dataset = read(tmp_path, ["image,label", *(f"{n}.jpg,{n % 2}" for n in range(9))])
    assert dataset.table.classes == ("0", "1")
    assert any("if they are yes and no to a tag" in note for note in dataset.notes)


def test_a_catalog_names_the_columns_to_choose(tmp_path: Path) -> None:
    rows = [f"{n}.jpg,{['red', 'blue'][n % 2]},wool,{n}.99" for n in range(12)]
    with pytest.raises(TagfillError, match="--tags-column 'color,material'"):
        read(tmp_path, ["image,color,material,price", *rows])
    options = ReadOptions(tags_columns=("color,material",))
    chosen = load_labels(tmp_path / "l.csv", options=options)
    assert known(chosen)["1.jpg"] == {"blue": 1, "wool": 1}


def test_a_remark_on_labels_is_no_list_of_tags(tmp_path: Path) -> None:
    text = 'image,cat,dog,label source\na.jpg,1,0,"ann, bob"\nb.jpg,0,1,ann\n'
    (tmp_path / "l.csv").write_text(text)
    dataset = load_labels(tmp_path / "l.csv", options=ReadOptions(ignore_columns=("label source",)))
    assert known(dataset) == WIDE
    with pytest.raises(TagfillError, match="'label source'"):
        load_labels(tmp_path / "l.csv")


def test_split_names_in_any_case(tmp_path: Path) -> None:
    text = "image,cat,split\na.jpg,1,Train\nb.jpg,0,TEST\nc.jpg,1,Validation\n"
    assert set(read(tmp_path, text).splits) == {"train", "test", "val"}


def test_the_file_is_named_where_columns_have_one_name(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_text("image,cat,cat\na.jpg,1,0\n")
    with pytest.raises(TagfillError, match=r"l\.csv, row 1: columns 2 and 3 are both called 'cat'"):
        load_labels(path)


def test_equally_frequent_kinds_do_not_depend_on_the_process() -> None:
    """Sets of texts have another order in every process: no tie may be broken by it."""
    texts = {"date": "2020-01-31", "image": "a.jpg", "number": "-7", "size": "3 MB", "text": "cat"}
    for first, second in combinations(sorted(texts), 2):
        assert column_kind([texts[first], "1", texts[second]]) == second
