"""Files that people keep by hand, print or put together: read as meant, or refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.labels.reading import TAGS, WIDE, known, read

from tagfill.errors import TagfillError
from tagfill.labels.edit import save_changes
from tagfill.labels.formats import ReadOptions
from tagfill.labels.io import load_labels

ONE = {"a.jpg": {"cat": 1}, "b.jpg": {"dog": 1}}
YES = {"a.jpg": {"cat": 1, "dog": 0}, "b.jpg": {"dog": 1}}


@pytest.mark.parametrize(
    ("yes", "no", "open"),
    [
        ("evet", "hayır", ""),  # noqa: RUF001
        ("igen", "nem", "nem tudom"),
        ("ano", "ne", "nevím"),
        ("ναι", "όχι", ""),  # noqa: RUF001
        ("так", "ні", ""),
        ("是", "不是", "不确定"),
        ("예", "아니오", ""),
        ("نعم", "لا", ""),
        ("כן", "לא", ""),
        ("ya", "tidak", ""),
        ("oui", "non", "ne sait pas"),
        ("vorhanden", "nicht vorhanden", "unklar"),
        ("detected", "not detected", "inconclusive"),
        ("present", "not present", "indeterminate"),
        ("\N{FULLWIDTH DIGIT ONE}", "\N{FULLWIDTH DIGIT ZERO}", ""),
        ("\N{ARABIC-INDIC DIGIT ONE}", "\N{ARABIC-INDIC DIGIT ZERO}", ""),
    ],
)
def test_more_words_for_yes_and_no(yes: str, no: str, open: str, tmp_path: Path) -> None:
    wide = f"image,cat,dog\na.jpg,{yes},{no}\nb.jpg,{open},{yes}\n"
    assert known(read(tmp_path, wide)) == YES
    rows = (("a", "cat", yes), ("a", "dog", no), ("b", "cat", open), ("b", "dog", yes))
    lines = [f"{image}.jpg,{name},{value}" for image, name, value in rows]
    assert known(read(tmp_path, "\n".join(["image,label,value", *lines, ""]))) == YES


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("image,cat,dog\na.jpg,1,0\nNote: dogs incl. puppies,,\nb.jpg,0,1\n", WIDE),
        ("image,tags\na.jpg,cat;dog\nb.jpg,dog\nLabeled by Ann,\n", TAGS),
        ("image,cat,dog,Total\na.jpg,1,0,1\nb.jpg,0,1,1\n", WIDE),
        ("Bild;cat;dog;Anzahl\na.jpg;1;0;1\nb.jpg;0;1;1\n", WIDE),
        ("image,cat,dog,Total\na.jpg,1,0,1\nb.jpg,0,1,1\nTotal,1,1,2\n", WIDE),
        ("image,tags\nb'a.jpg',cat;dog\nb'b.jpg',dog\n", TAGS),
        ("image,cat,dog\na.jpg,1,\\N\nb.jpg,(blank),1\n", ONE),
        ("image,cat_true,cat_pred\na.jpg,1,0\nb.jpg,0,1\n", None),
        ("| image | tags |\n|---|---|\n| ![a](a.jpg) | cat, dog |\n| ![b](b.jpg) | dog |\n", TAGS),
        ('image,tags\n"<img src=""a.jpg"">","cat,dog"\n"<img src=""b.jpg"">",dog\n', TAGS),
        ('image,tags\n"=HYPERLINK(""a.jpg"")","cat,dog"\n"=HYPERLINK(""b.jpg"")",dog\n', TAGS),
        ('image,tags\na.jpg,"c(""cat"", ""dog"")"\nb.jpg,dog\n', TAGS),
        ("image,tags\na.jpg,\"array(['cat', 'dog'], dtype=object)\"\nb.jpg,array(['dog'])\n", TAGS),
        ("image,tags\na.jpg,cat;not_dog\nb.jpg,not_cat;dog\n", WIDE),
        ("image,tags\na.jpg,cat;dog\nb.jpg,dog;#NAME?\n", TAGS),
        ("image,tags\na.jpg,cat;d\u00adog\nb.jpg,dog\n", TAGS),
    ],
    ids=[
        *(
            "note",
            "signature",
            "sums",
            "German sums",
            "both sums",
            "bytes",
            "nulls",
            "guesses",
            "Markdown",
            "HTML",
        ),
        *("links", "R", "numpy", "not_", "error", "soft hyphen"),
    ],
)
def test_what_people_and_programs_write(
    text: str, expected: dict[str, dict[str, int]] | None, tmp_path: Path
) -> None:
    told = {"a.jpg": {"cat_true": 1}, "b.jpg": {"cat_true": 0}}
    assert known(read(tmp_path, text)) == (expected or told)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("image,tags\na.jpg,cat=yes;dog=no\nb.jpg,cat=no;dog=yes\n", "row 2: .*'cat=no'"),
        ('image,tags\na.jpg,"cat: yes, dog: no"\nb.jpg,"cat: no, dog: yes"\n', "by yes or no"),
        ("image,tags\na.jpg,cat(+);dog(-)\nb.jpg,cat(-);dog(+)\n", "by yes or no"),
        ("image,tags\na.jpg,cat+;dog-\nb.jpg,cat-;dog+\n", "by yes or no"),
        ("image,tags\na.jpg,cat present;dog absent\nb.jpg,cat absent;dog present\n", "'cat absent"),
        ("image,tags\na.jpg,cat:2;dog:1\nb.jpg,dog:3\n", "followed by values, such as 'cat:2'"),
        ('image,labels\na.jpg,"[0.9, 0.1]"\nb.jpg,"[0.2, 0.8]"\n', "tags are values"),
        ("image,labels\na.jpg,[1. 0. 1.]\nb.jpg,[0. 1. 1.]\n", "lists of 1 and 0"),
        ('image,labels\na.jpg,"tensor([1, 0, 1])"\nb.jpg,"tensor([0, 1, 1])"\n', "of 1 and 0"),
        ("image,tags\na.jpg,\"['cat', 'dog', ...\"\nb.jpg,['dog']\n", "row 2: .*of a longer list"),
        ("image,labels\na.jpg,[1 0 ... 0 1]\nb.jpg,[0 1 ... 0 0]\n", "of a longer list"),
        ("image,tags\na.jpg,cat;dog\nb.jpg,dog\ndog,c.jpg\n", "row 4: tag 'c.jpg' is the name"),
        ("image,label\na.jpg,cat\nb.jpg,dog\ncat,c.jpg\n", "row 4: tag 'c.jpg' is the name"),
        ("image,tags\na.jpg,cat\nb.jpg,dog\ntags,image\ncow,c.jpg\n", "row 5: tag 'c.jpg'"),
        ('id,cat\n"1,234",1\n"1,235",0\n', "row 2: image id '1,234' is what a spreadsheet"),
        ("image,tags\n#REF!,cat\nb.jpg,dog\n", "row 2: image id '#REF!'"),
        ("image,cat,cat.1,dog\na.jpg,1,0,0\nb.jpg,0,1,1\n", "2 and 3 were both called 'cat'"),
        ("# 0 = present, 1 = absent\nimage,cat,dog\na.jpg,0,1\nb.jpg,1,0\n", "0 is 'present'"),
        ("# 1 = present, 0 = not labeled\nimage,cat\na.jpg,1\nb.jpg,0\n", "0 is 'not labeled'"),
        ("image,tags\na.jpg,“cat, dog”\nb.jpg,“dog”\n", "row 2: .*typographic quotes"),
        (
            "image,cat_yes,cat_no,dog_yes,dog_no\na.jpg,1,0,0,1\nb.jpg,0,1,1,0\n",
            "no where others say yes",
        ),
        ("image,cat_r1,cat_r2,dog_r1,dog_r2\na.jpg,1,1,0,1\nb.jpg,0,1,0,1\n", "several people say"),
        (
            "image,top1,top1_score,top2,top2_score\na.jpg,cat,0.9,dog,0.05\nb.jpg,dog,0.5,cat,0.4\n"
            "c.jpg,dog,0.5,cat,0.4\n",
            "column 'top1_score' says how sure",
        ),
    ],
)
def test_what_does_not_say_which_tags_there_are(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(TagfillError, match=message):
        read(tmp_path, text)


@pytest.mark.parametrize(
    "tags",
    [
        ("A+", "A-", "B+", "B-"),
        ("light on", "light off", "door open", "door closed"),
        ("grade 0", "grade 1", "stage 0", "stage 1"),
        ("gram positive", "gram negative"),
        ("16:9", "4:3", "3:2"),
        ("wow!", "ha!", "logo.v2"),
    ],
)
def test_tags_that_only_look_like_answers(tags: tuple[str, ...], tmp_path: Path) -> None:
    rows = [f"{number}.jpg,{tag}" for number, tag in enumerate(tags)]
    assert set(read(tmp_path, "\n".join(["image,tags", *rows, ""])).table.classes) == set(tags)


@pytest.mark.parametrize(
    "text",
    [
        "image,tags\na.jpg,cat yes;dog no\nb.jpg,cat no;dog yes\n",
        "image,cat yes,cat no,dog yes,dog no\na.jpg,1,,,1\nb.jpg,,1,1,\n",
    ],
)
def test_a_class_list_keeps_answers_as_tags(text: str, tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text(text)
    names = ("cat yes", "cat no", "dog yes", "dog no")
    dataset = load_labels(tmp_path / "l.csv", options=ReadOptions(classes=names))
    assert known(dataset)["a.jpg"] == {"cat yes": 1, "dog no": 1}


def test_zeros_that_a_legend_calls_unknown(tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text("# 0 = unknown\nimage,cat,dog\na.jpg,1,0\nb.jpg,0,1\n")
    with pytest.raises(TagfillError, match="--zeros unknown"):
        load_labels(tmp_path / "l.csv")
    dataset = load_labels(tmp_path / "l.csv", options=ReadOptions(zeros="unknown"))
    assert known(dataset) == {"a.jpg": {"cat": 1}, "b.jpg": {"dog": 1}}


def test_ids_and_tags_with_typos_are_named(tmp_path: Path) -> None:
    rows = [f"{number}.jpg,cat" for number in range(19)]
    dataset = read(tmp_path, "\n".join(["image,tags", *rows, "19jpg,cat", ""]))
    assert "row 21: 1 image id has no file ending" in str(dataset.problems[0])
    dataset = read(tmp_path, "image,tags\na.jpg,K\ufffdfer\nb.jpg,B\\u00e4r\n")
    assert any("2 tags look like text in a wrong encoding" in note for note in dataset.notes)


@pytest.mark.parametrize(
    "text",
    [
        "image,tags\na.jpg,cat;no dog\nb.jpg,no cat;dog\n",
        'image,tags\na.jpg,"c(""cat"", ""cow"")"\nb.jpg,dog\n',
        "image,tags\na.jpg,\"array(['cat', 'cow'], dtype=object)\"\nb.jpg,dog\n",
        'image,tags\na.jpg,"{cat,cow}"\nb.jpg,{dog}\n',
        "image,tags\na.jpg,cat\nLabeled by Ann,\nb.jpg,dog\n",
        "image,cat,dog,Total\na.jpg,1,0,1\nb.jpg,0,1,1\nc.jpg,1,1,2\n",
        json.dumps({"classes": ["cat", "dog"], "data": [{"image": "a.jpg", "labels": [0]}]}),
    ],
)
def test_a_confirmed_tag_is_written_as_the_file_is(text: str, tmp_path: Path) -> None:
    dataset = read(tmp_path, text, "l.json" if text[0] == "{" else "l.csv")
    values = dataset.table.values.copy()
    values[0] = 1
    out = tmp_path / f"o{dataset.source.suffix}"
    save_changes(dataset, dataset.table.with_values(values), out, ReadOptions())
    assert known(load_labels(out))["a.jpg"] == dict.fromkeys(dataset.table.classes, 1)


def test_letters_of_another_alphabet_are_named(tmp_path: Path) -> None:
    rows = [f"{number}.jpg,cat" for number in range(9)]
    alike = "\N{CYRILLIC SMALL LETTER ES}at"
    dataset = read(tmp_path, "\n".join(["image,tags", *rows, f"x.jpg,{alike}", ""]))
    assert any(f"{alike!r} (1) like 'cat' (9)" in note for note in dataset.notes)


def test_an_unusual_column_of_images_is_named(tmp_path: Path) -> None:
    text = "gbifID\tscientificName\n9001\tjay\n9002\tfox\n9003\tjay\n"
    notes = read(tmp_path, text, "occurrence.txt").notes
    assert "images are named by 'gbifID', judging by content (--image-column)" in notes


def line(image: str, *tags: object, **more: object) -> dict[str, Any]:
    return {"image": image, "tags": list(tags), **more}


BOTH = [line("a.jpg", "cat", "dog"), line("b.jpg", "dog")]
NUMBERS = [{"image": "a.jpg", "labels": [0, 1]}, {"image": "b.jpg", "labels": [1]}]
HOT = [{"image": "a.jpg", "labels": [1, 1]}, {"image": "b.jpg", "labels": [0, 1]}]


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        ({"train": BOTH[:1], "test": BOTH[1:]}, TAGS),
        ({"classes": ["cat", "dog"], "data": NUMBERS}, TAGS),
        ({"id2label": {"0": "cat", "1": "dog"}, "data": NUMBERS}, TAGS),
        ({"classes": ["cat", "dog"], "data": HOT}, {**TAGS, "b.jpg": {"cat": 0, "dog": 1}}),
        ([line("a.jpg", "cat", absent_tags=["dog"]), line("b.jpg", "dog")], YES),
    ],
    ids=["splits", "names", "id2label", "multi-hot", "absent"],
)
def test_json_with_names_splits_and_negatives(
    document: object, expected: dict[str, dict[str, int]], tmp_path: Path
) -> None:
    dataset = read(tmp_path, json.dumps(document), "l.json")
    assert known(dataset) == expected
    assert set(dataset.splits) == ({"train", "test"} if "train" in str(document) else set())


COCO: dict[str, Any] = {
    "images": [{"id": 1, "file_name": "a.jpg"}],
    "categories": [{"id": 1, "name": "cat"}],
}
FOUND = {"image_id": 1, "category_id": 1}
MACHINE = {"class-name": "cat", "confidence": 0.6, "human-annotated": "no"}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([line("a.jpg", "cat=yes", "dog=no"), line("b.jpg", "cat=no", "dog=yes")], "by yes or no"),
        ([line("a.jpg", "cat:0.9", "dog:0.1"), line("b.jpg", "cat:0.2")], "followed by values"),
        ({"new": BOTH[:1], "old": BOTH[1:]}, "listed under 'new' and 'old'"),
        ({"a.jpg": [0.9, 0.1], "b.jpg": [0.2, 0.8]}, "not a list of class names"),
        ({"a.jpg": [1, 0], "b.jpg": [0, 1]}, "lists of 1 and 0 without names"),
        ({"classes": ["cat"], "data": [{"image": "a.jpg", "labels": [0, 7]}]}, "'number': 7"),
        ({**COCO, "annotations": []}, "nothing is known of its images"),
        ({**COCO, "annotations": [{**FOUND, "score": 0.4}]}, "has the score 0.4"),
        ({"source-ref": "s3://x/a.jpg", "job": 0, "job-metadata": MACHINE}, "'score': 0.6"),
    ],
)
def test_json_that_is_no_label(document: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(TagfillError, match=message):
        read(tmp_path, json.dumps(document), "l.json")


def test_json_that_names_an_image_twice(tmp_path: Path) -> None:
    with pytest.raises(TagfillError, match=r"the key 'a\.jpg' is repeated"):
        read(tmp_path, '{"a.jpg": ["cat"], "a.jpg": ["dog"]}', "l.json")


def test_keys_of_several_lists_are_named(tmp_path: Path) -> None:
    lines = [{"filename": "a.jpg", "keywords": ["cat"], "labels": ["Mammal"]}]
    dataset = read(tmp_path, json.dumps(lines), "l.json")
    assert "tags are read from 'keywords', 'labels'" in dataset.notes
