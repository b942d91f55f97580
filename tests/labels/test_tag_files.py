"""A file of tags beside each image: text, JSON, and what Google Takeout writes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.labels.reading import TAGS, known, make_images, write_files

from tagfill.errors import TagfillError
from tagfill.labels.io import load_labels


@pytest.mark.parametrize(
    "files",
    [
        {"a_txt": "cat, dog", "b_txt": "dog"},
        {"a_caption": "cat\ndog\n", "b_caption": "dog"},
        {"a_jpg_txt": "cat;dog", "b_jpg_txt": "dog", "README_txt": "my photos"},
        {"a_json": '{"tags": ["cat", "dog"], "id": 3}', "b_json": '{"tags": ["dog"]}'},
        {
            "a_json": '{"flags": {"cat": true}, "shapes": [{"label": "dog"}], "imagePath": ""}',
            "b_json": '{"flags": {}, "shapes": [{"label": "dog"}], "imagePath": ""}',
        },
        {
            "a_jpg_json": '{"photoTakenTime": {}, "people": [{"name": "cat"}, {"name": "dog"}]}',
            "b_jpg_json": '{"photoTakenTime": {}, "people": [{"name": "dog"}]}',
        },
    ],
    ids=["txt", "caption", "full names", "json", "labelme", "takeout"],
)
def test_files_of_tags_beside_images(files: dict[str, str], tmp_path: Path) -> None:
    make_images(tmp_path, "a.jpg", "b.jpg")
    write_files(tmp_path, **files)
    dataset = load_labels(tmp_path)
    assert dataset.format == "tag_files"
    assert known(dataset) == TAGS
    assert dataset.image_root == tmp_path


def test_files_of_tags_come_before_the_names_of_folders(tmp_path: Path) -> None:
    make_images(tmp_path, "10_cat/a.jpg", "10_cat/b.jpg")
    for name, tags in (("a", "cat, grass"), ("b", "cat")):
        (tmp_path / "10_cat" / f"{name}.txt").write_text(tags)
    assert load_labels(tmp_path).table.classes == ("cat", "grass")


def test_sentences_beside_images_are_no_tags(tmp_path: Path) -> None:
    make_images(tmp_path, "a.jpg", "b.jpg")
    write_files(tmp_path, a_txt="A cat sits on the mat.", b_txt="Two dogs run over a green field.")
    with pytest.raises(TagfillError, match="no tags are in files beside them"):
        load_labels(tmp_path)


def test_people_in_google_takeout(tmp_path: Path) -> None:
    long = "a_photo_with_a_very_long_name_2021.jpg"
    for name in ("a.jpg", long):
        make_images(tmp_path, f"Photos from 2021/{name}")
        text = json.dumps({"photoTakenTime": {"timestamp": "1"}, "people": [{"name": "Ann"}]})
        file = f"{name}.supplemental-metadata"[:46] + ".json"
        (tmp_path / "Photos from 2021" / file).write_text(text)
    dataset = load_labels(tmp_path)
    assert dataset.table.classes == ("Ann",)
    assert dataset.table.positives == 2
