"""What 0, empty entries, doubts and rows are taken to mean, and that a note says so."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.labels.reading import known, read

from tagfill.errors import TagfillError
from tagfill.labels.edit import save_changes
from tagfill.labels.formats import ReadOptions
from tagfill.labels.io import load_labels

UNKNOWN_ZEROS = ReadOptions(zeros="unknown")


def wide(rows: Sequence[Sequence[object]]) -> str:
    lines = [",".join(map(str, (f"{n}.jpg", *row))) for n, row in enumerate(rows)]
    return "\n".join(["image,cat,dog,cow", *lines]) + "\n"


@pytest.mark.parametrize(
    ("rows", "note"),
    [
        ([(1, 1, 0), (0, 1, 1)], "0 counts as absent (--zeros unknown changes this)"),
        ([(1, "", 0), (0, 1, 1)], "0 counts as absent, empty entries as unknown"),
        ([(1, "", ""), ("", 1, 1)], "tags that are not mentioned count as unknown"),
        ([(1, 0, 0), (0, 1, 0), (0, 0, 1)], "every image has one tag, and 0 counts as absent"),
    ],
)
def test_a_note_says_what_zeros_mean(
    rows: list[tuple[object, ...]], note: str, tmp_path: Path
) -> None:
    notes = read(tmp_path, wide(rows)).notes
    assert sum(text.startswith(note) for text in notes) == 1, notes


def test_zeros_are_unknown_on_request(tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text(wide([(1, 0, 0), ("no", "yes", "")]))
    dataset = load_labels(tmp_path / "l.csv", options=UNKNOWN_ZEROS)
    assert known(dataset) == {"0.jpg": {"cat": 1}, "1.jpg": {"dog": 1}}
    assert "0 and empty entries count as unknown (--zeros unknown)" in dataset.notes


def test_zeros_are_unknown_in_a_class_called_split(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("image,cat,dog,split\na.jpg,1,0,0\nb.jpg,0,1,1\n")
    table = load_labels(path, options=UNKNOWN_ZEROS).table
    assert table.values.tolist() == [[1, -1, -1], [-1, 1, 1]]


def test_minus_one_beside_zeros_is_what_the_user_says(tmp_path: Path) -> None:
    text = wide([(1, 0, -1), (-1, 1, 0), (0, -1, 1)])
    with pytest.raises(TagfillError, match="--zeros unknown reads 0 as unknown and -1 as absent"):
        read(tmp_path, text)
    dataset = load_labels(tmp_path / "l.csv", options=UNKNOWN_ZEROS)
    assert known(dataset)["0.jpg"] == {"cat": 1, "cow": 0}
    dataset = load_labels(tmp_path / "l.csv", options=ReadOptions(absent="unknown"))
    assert known(dataset)["0.jpg"] == {"cat": 1, "dog": 0}


def test_a_no_is_kept_where_zeros_are_unknown(tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text(wide([(1, 0, 0), (0, 1, 0)]))
    before = load_labels(tmp_path / "l.csv", options=UNKNOWN_ZEROS)
    values = before.table.values.copy()
    values[0, 1], values[1, 2] = 0, 1
    after = before.table.with_values(values)
    save_changes(before, after, tmp_path / "new.csv", UNKNOWN_ZEROS)
    dataset = load_labels(tmp_path / "new.csv", options=UNKNOWN_ZEROS)
    assert known(dataset) == {"0.jpg": {"cat": 1, "dog": 0}, "1.jpg": {"dog": 1, "cow": 1}}


@pytest.mark.parametrize("word", ["uncertain", "Not mentioned", "yes?", "1?", "x ?", "vielleicht"])
def test_doubts_in_columns_are_unknown(word: str, tmp_path: Path) -> None:
    assert known(read(tmp_path, wide([(1, word, 0), (0, 1, 1)])))["0.jpg"] == {"cat": 1, "cow": 0}


@pytest.mark.parametrize(
    ("column", "yes", "no"),
    [("is_valid", "val", "train"), ("is_train", "train", "test"), ("isTest", "test", "train")],
)
@pytest.mark.parametrize("tags", ["tags", "cat"])
def test_splits_by_yes_and_no(column: str, yes: str, no: str, tags: str, tmp_path: Path) -> None:
    held_out = [n % 4 == 0 for n in range(8)]
    flags = [not held if yes == "train" else held for held in held_out]
    entry = "cat" if tags == "tags" else "1"
    rows = [f"{n}.jpg,{entry},{flag}" for n, flag in enumerate(flags)]
    dataset = read(tmp_path, "\n".join([f"image,{tags},{column}", *rows]) + "\n")
    assert dataset.table.classes == ("cat",)
    assert {name: len(part) for name, part in dataset.splits.items()} == {
        yes: sum(flags),
        no: 8 - sum(flags),
    }
    assert any(note.startswith(f"'{column}' was read as the split") for note in dataset.notes)


def test_a_column_called_valid_for_all_is_no_split(tmp_path: Path) -> None:
    rows = [f"{n}.jpg,cat,True" for n in range(8)]
    dataset = read(tmp_path, "\n".join(["image,tags,is_valid", *rows]) + "\n")
    assert not dataset.splits


def test_records_of_absence_in_biology(tmp_path: Path) -> None:
    text = "identifier,scientificName,occurrenceStatus\na.jpg,Vulpes vulpes,PRESENT\n"
    dataset = read(tmp_path, text + "b.jpg,Vulpes vulpes,ABSENT\n")
    assert known(dataset) == {"a.jpg": {"Vulpes vulpes": 1}, "b.jpg": {"Vulpes vulpes": 0}}


def test_rows_of_all_pairs_are_refused(tmp_path: Path) -> None:
    rows = [f"{n}.jpg,{tag},{n},{3 - n}" for n in range(4) for tag in ("cat", "dog", "cow")]
    with pytest.raises(TagfillError, match="not read: 'seen', 'clicked'"):
        read(tmp_path, "\n".join(["image,label,seen,clicked", *rows]) + "\n")


def test_lvis(tmp_path: Path) -> None:
    address = "http://images.cocodataset.org/train2017/{}.jpg"
    document = {
        "images": [
            {"id": 1, "coco_url": address.format(1), "neg_category_ids": [2]},
            {"id": 2, "coco_url": address.format(2), "neg_category_ids": []},
        ],
        "annotations": [{"image_id": 1, "category_id": 1, "bbox": [1, 2, 3, 4]}],
        "categories": [{"id": n, "name": name} for n, name in enumerate(("cat", "dog", "cow"), 1)],
    }
    path = tmp_path / "lvis.json"
    path.write_text(json.dumps(document))
    labels = {"train2017/1.jpg": {"cat": 1, "dog": 0}, "train2017/2.jpg": {}}
    assert known(load_labels(path)) == labels
    closed = load_labels(path, options=ReadOptions(absent="negative"))
    assert known(closed)["train2017/1.jpg"] == {"cat": 1, "dog": 0, "cow": 0}


def test_detections_of_a_model_are_no_labels(tmp_path: Path) -> None:
    found = {"category": "1", "conf": 0.93, "bbox": [0.1, 0.1, 0.2, 0.2]}
    document = {
        "images": [{"file": "a.jpg", "detections": [found]}],
        "detection_categories": {"1": "animal"},
    }
    (tmp_path / "md.json").write_text(json.dumps(document))
    with pytest.raises(TagfillError, match="scores of a model"):
        load_labels(tmp_path / "md.json")


@pytest.mark.parametrize("folders", [["images"], [f"scene_{n}" for n in range(12)]])
def test_folders_that_are_no_classes(folders: list[str], tmp_path: Path) -> None:
    for folder in folders:
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "a.jpg").touch()
    with pytest.raises(TagfillError, match="in no class folders"):
        load_labels(tmp_path)
    assert load_labels(tmp_path, format="image_folder").table.classes == tuple(sorted(folders))


def test_a_habit_of_denying_tags_makes_negatives(tmp_path: Path) -> None:
    dataset = read(tmp_path, 'image,tags\na.jpg,"cat, no dog"\nb.jpg,"dog, no cat"\nc.jpg,cat\n')
    assert known(dataset) == {
        "a.jpg": {"cat": 1, "dog": 0},
        "b.jpg": {"cat": 0, "dog": 1},
        "c.jpg": {"cat": 1},
    }
    assert any("2 tags say that another is absent" in note for note in dataset.notes)


def test_an_image_with_a_tag_and_its_denial_says_nothing(tmp_path: Path) -> None:
    dataset = read(tmp_path, 'image,tags\na.jpg,"cat, no cat"\nb.jpg,"dog, no cat"\nc.jpg,no dog\n')
    assert known(dataset) == {"a.jpg": {}, "b.jpg": {"dog": 1, "cat": 0}, "c.jpg": {"dog": 0}}
    assert any("1 image has both" in note for note in dataset.notes)


@pytest.mark.parametrize(
    "text",
    [
        " file  | tag \n-------+-----\n a.jpg | cat\n a.jpg | dog\n b.jpg | dog\n(3 rows)\n",
        "+-------+-----+\n| file  | tag |\n+-------+-----+\n| a.jpg | cat |\n| a.jpg | dog |\n"
        "| b.jpg | dog |\n+-------+-----+\n3 rows in set (0.00 sec)\n",
    ],
    ids=["PostgreSQL", "MySQL"],
)
def test_tables_that_databases_print(text: str, tmp_path: Path) -> None:
    assert known(read(tmp_path, text, "q.txt")) == {
        "a.jpg": {"cat": 1, "dog": 1},
        "b.jpg": {"dog": 1},
    }


def test_a_line_of_units_is_no_image(tmp_path: Path) -> None:
    dataset = read(tmp_path, "image,cat,dog\n,(0/1),(0/1)\na.jpg,1,0\nb.jpg,0,1\n")
    assert known(dataset) == {"a.jpg": {"cat": 1, "dog": 0}, "b.jpg": {"cat": 0, "dog": 1}}


def test_numbered_columns_that_share_words_hold_tags(tmp_path: Path) -> None:
    text = "file,Motif 1,Motif 2,By\na.jpg,cat,dog,Ann\nb.jpg,dog,,Ann\nc.jpg,cow,cat,Tom\n"
    dataset = read(tmp_path, text)
    assert known(dataset)["a.jpg"] == {"cat": 1, "dog": 1}
    assert dataset.table.classes == ("cat", "dog", "cow")


def test_words_between_tags_make_no_sentence(tmp_path: Path) -> None:
    pairs = ["dog und cat", "cat und cow und dog", "cow und dog", "dog", "cat und dog und cow"]
    rows = [f"{n}.jpg;{text}" for n, text in enumerate(pairs)]
    dataset = read(tmp_path, "\n".join(["Bild;Was ist drauf?", *rows]) + "\n")
    assert known(dataset)["1.jpg"] == {"cat": 1, "cow": 1, "dog": 1}


def test_the_column_whose_files_are_there_names_the_images(tmp_path: Path) -> None:
    (tmp_path / "a.jpg").touch()
    (tmp_path / "b.jpg").touch()
    text = "filename,original_filename,tags\nX1.jpeg,a.jpg,cat\nX2.jpeg,b.jpg,dog\n"
    assert known(read(tmp_path, text)) == {"a.jpg": {"cat": 1}, "b.jpg": {"dog": 1}}


def test_paths_below_many_roots(tmp_path: Path) -> None:
    tags = ["animal/dog", "animal/cat", "place/sea", "place/hill", "plant/tree", "people/child"]
    rows = [f"{n}.jpg,{tag}" for n, tag in enumerate(tags)]
    dataset = read(tmp_path, "\n".join(["image,tags", *rows]) + "\n")
    assert known(dataset)["0.jpg"] == {"animal": 1, "dog": 1}


def test_follow_up_numbers_are_not_called_yes_and_no(tmp_path: Path) -> None:
    rows = [f"{n}.jpg,cat|dog,{min(n, 3)}" for n in (0, 0, 0, 1, 1, 2, 3)]
    text = "\n".join(["image,tags,Follow-up #", *(f"{n}{row}" for n, row in enumerate(rows))])
    assert not any("yes and no" in note for note in read(tmp_path, text + "\n").notes)
