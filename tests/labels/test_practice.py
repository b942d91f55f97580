"""Label files as programs and people of several trades write them, in their own columns."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.labels.reading import TAGS, WIDE, known, read

from tagfill.errors import TagfillError
from tagfill.labels.edit import save_changes
from tagfill.labels.formats import ReadOptions
from tagfill.labels.io import load_labels


@pytest.mark.parametrize(
    "text",
    [
        "# labels of the harbor, 2023\n# by Ann, Tom\nimage,cat,dog\na.jpg,1,0\nb.jpg,0,1\n",
        "# exported 2023-01-01, v2\n#image;cat;dog\na.jpg;1;0\nb.jpg;0;1\n",
        "#id,cat,dog\na.jpg,1,0\nb.jpg,0,1\n",
        "#,file,cat,dog\n1,a.jpg,1,0\n2,b.jpg,0,1\n",
        "image,cat,dog\na.jpg,1,0\n# second batch\nb.jpg,0,1\n",
        "image,cat,dog\na.jpg,1,0\n# second batch,,\nb.jpg,0,1\n",
        "Image,cat,dog\na.jpg,1,0\nimage,cat,dog\nb.jpg,0,1\n",
    ],
    ids=["above", "header", "header of ids", "number", "between", "with commas", "header again"],
)
def test_comments_are_no_images(text: str, tmp_path: Path) -> None:
    assert known(read(tmp_path, text)) == WIDE


def test_a_comment_above_typed_lines(tmp_path: Path) -> None:
    assert known(read(tmp_path, "# my cats\na.jpg: cat, dog\nb.jpg: dog\n", "l.txt")) == TAGS


CAPTIONS = ["Bella at the pier, again #cat #dog", "Long walk home tonight #dog", "all quiet today"]


def test_hashtags_in_captions_are_the_tags(tmp_path: Path) -> None:
    rows = [f'{name}.jpg,"{text}",37' for name, text in zip("abc", CAPTIONS, strict=True)]
    dataset = read(tmp_path, "\n".join(["image,caption,likes", *rows]) + "\n")
    assert known(dataset) == {**TAGS, "c.jpg": {}}
    assert any("tags are the words behind #" in note for note in dataset.notes)
    values = dataset.table.values.copy()
    values[0, 0], values[2, 1] = 0, 1
    save_changes(dataset, dataset.table.with_values(values), tmp_path / "o.csv", ReadOptions())
    text = (tmp_path / "o.csv").read_text()
    assert "pier, again  #dog" in text
    assert "all quiet today #dog" in text


def test_hashtags_in_files_of_captions(tmp_path: Path) -> None:
    for name, text in zip("abc", CAPTIONS, strict=True):
        (tmp_path / f"{name}.jpg").touch()
        (tmp_path / f"{name}.txt").write_text(text)
    assert known(load_labels(tmp_path)) == {**TAGS, "c.jpg": {}}


def test_boxes_are_no_tags(tmp_path: Path) -> None:
    rows = [f'b{n},"[8{n}.5, 22.0, 5{n}.0, 36.0]"' for n in range(6)]
    with pytest.raises(TagfillError, match="no column holds known label values"):
        read(tmp_path, "\n".join(["image_id,bbox", *rows]) + "\n")


def test_few_tags_beside_species(tmp_path: Path) -> None:
    header = "id,image_url,tag_list,description,scientific_name,common_name"
    names = ["Red Fox", "Robin", "Red Fox", "Mallard"]
    rows = [
        f"9{n},https://x.org/{n}.jpg,{'night' if n == 1 else ''},seen at the river,V v,{name}"
        for n, name in enumerate(names)
    ]
    dataset = read(tmp_path, "\n".join([header, *rows]) + "\n")
    assert [list(tags) for tags in known(dataset).values()] == [[name] for name in names]


def test_arrows_make_paths_beside_plain_tags(tmp_path: Path) -> None:
    text = (
        "SKU,Categories,Tags,Images\n"
        's1,Clothing > Hoodies,"warm, logo","https://x.org/1.jpg, https://x.org/1b.jpg"\n'
        's2,"Clothing, Clothing > Shirts",logo,https://x.org/2.jpg\ns3,Decor,gift,https://x.org/3.jpg\n'
    )
    labels = known(read(tmp_path, text))
    assert labels["https://x.org/1b.jpg"] == dict.fromkeys(
        ["warm", "logo", "Clothing", "Hoodies"], 1
    )
    assert labels["https://x.org/2.jpg"] == dict.fromkeys(["logo", "Clothing", "Shirts"], 1)


def test_numbers_of_studies_tell_rows_apart(tmp_path: Path) -> None:
    rows = ["10,501,1.0,", "10,502,0.0,1.0", "11,503,,1.0", "11,504,1.0,", "12,505,0.0,0.0"]
    dataset = read(tmp_path, "\n".join(["subject_id,study_id,Edema,Mass", *rows]) + "\n")
    assert known(dataset)["502"] == {"Edema": 0, "Mass": 1}
    assert dataset.table.classes == ("Edema", "Mass")


@pytest.mark.parametrize("name", ["rad_id", "annotator", "WorkerId"])
def test_what_raters_dispute_is_unknown(name: str, tmp_path: Path) -> None:
    rows = ["a,1,1,0", "a,2,0,0", "a,3,1,0", "b,1,0,1", "b,2,0,1", "b,3,0,1"]
    dataset = read(tmp_path, "\n".join([f"image_id,{name},cat,dog", *rows]) + "\n")
    assert known(dataset) == {"a": {"dog": 0}, "b": {"cat": 0, "dog": 1}}
    assert any("1 label is disputed" in problem.message for problem in dataset.problems)


def test_reviews_settle_what_raters_dispute(tmp_path: Path) -> None:
    rows = ["a.jpg,ann,cat,1", "a.jpg,tom,cat,0", "b.jpg,ann,cat,0", "b.jpg,tom,cat,0"]
    dataset = read(tmp_path, "\n".join(["image,annotator,label,present", *rows]) + "\n")
    assert known(dataset) == {"a.jpg": {}, "b.jpg": {"cat": 0}}
    values = dataset.table.values.copy()
    values[0, 0] = 1
    save_changes(dataset, dataset.table.with_values(values), tmp_path / "o.csv", ReadOptions())
    assert known(load_labels(tmp_path / "o.csv"))["a.jpg"] == {"cat": 1}


def test_a_class_is_no_rater(tmp_path: Path) -> None:
    with pytest.raises(TagfillError, match="contradicts row 2 on 'person'"):
        read(tmp_path, "image,person,dog\na.jpg,1,0\na.jpg,0,0\nb.jpg,0,1\n")


@pytest.mark.parametrize(
    "header", ["image,label,score,probability", "image,label,note,my_confidence"]
)
def test_scores_of_labels_are_refused(header: str, tmp_path: Path) -> None:
    with pytest.raises(TagfillError, match="3 values are not 1, 0 or empty"):
        read(tmp_path, f"{header}\na.jpg,cat,0.9,0.8\na.jpg,dog,0.1,0.2\nb.jpg,dog,0.7,0.7\n")


@pytest.mark.parametrize(
    "text",
    [
        "Image_Label,EncodedPixels\na.jpg_Fish,264918 937\na.jpg_Sugar,\nb.jpg_Fish,26 937\n",
        "gbifID,identifier,type\n" + "".join(f"7{n},{n}.jpg,StillImage\n" for n in range(8)),
    ],
    ids=["pixels", "one word for all"],
)
def test_what_says_nothing_of_images_is_no_tag(text: str, tmp_path: Path) -> None:
    with pytest.raises(TagfillError, match=r"no column holds known|are not 1, 0 or empty"):
        read(tmp_path, text)


@pytest.mark.parametrize("first", [0, 1])
def test_a_class_list_names_numbered_columns(first: int, tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_text(f"image,{first},{first + 1}\na.jpg,1,0\nb.jpg,0,1\n")
    assert known(load_labels(path, options=ReadOptions(classes=("cat", "dog")))) == WIDE


def test_other_columns_of_images_are_remarked_on(tmp_path: Path) -> None:
    dataset = read(tmp_path, "left,right,cat\na.jpg,b.jpg,1\nc.jpg,d.jpg,0\n")
    note = "the images are those of 'left'; 'right': other images (--image-column)"
    assert note in dataset.notes


@pytest.mark.parametrize("folder", [True, False])
@pytest.mark.parametrize("listed", [True, False])
def test_objects_of_hugging_face(folder: bool, listed: bool, tmp_path: Path) -> None:
    lines = []
    for name, tags in (("a.jpg", ["cat", "dog"]), ("b.jpg", ["dog"])):
        (tmp_path / name).touch()
        boxes = [[1, 2, 3, 4]] * len(tags)
        things = [{"bbox": box, "category": tag} for box, tag in zip(boxes, tags, strict=True)]
        objects = things if listed else {"bbox": boxes, "categories": tags}
        lines.append(json.dumps({"file_name": name, "objects": objects}))
    path = tmp_path / "metadata.jsonl"
    path.write_text("\n".join(lines) + "\n")
    assert known(load_labels(tmp_path if folder else path)) == TAGS


def test_tags_beside_objects_are_kept(tmp_path: Path) -> None:
    lines = [
        {"image": "a.jpg", "tags": ["cat"], "objects": [{"label": "dog"}]},
        {"image": "b.jpg", "tags": ["dog"], "objects": []},
    ]
    assert known(read(tmp_path, json.dumps(lines), "l.json")) == TAGS
