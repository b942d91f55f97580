"""Tables as people really keep them: read as meant, or refused with a remedy that harms nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image

from tagfill.cli.main import main
from tagfill.errors import TagfillError
from tagfill.images import find_image
from tagfill.labels import Dataset
from tagfill.labels.io import load_labels

KNOWN = {"a.jpg": {"cat": 1, "dog": 1}, "b.jpg": {"dog": 1}, "c.jpg": {}}


def read(path: Path, text: str, encoding: str = "utf-8") -> Dataset:
    path.write_bytes(text.encode(encoding))
    return load_labels(path)


def known(dataset: Dataset) -> dict[str, dict[str, int]]:
    table = dataset.table
    return {
        image: {n: int(v) for n, v in zip(table.classes, row, strict=True) if v != -1}
        for image, row in zip(table.images, table.values, strict=True)
    }


@pytest.mark.parametrize(
    "text",
    [
        "photo,tags\na.jpg,#cat #dog\nb.jpg,#dog\nc.jpg,\n",
        'photo,tags\na.jpg,"#cat, #dog"\nb.jpg,#dog\nc.jpg,\n',
        "photo,tags\na.jpg,cat;dog\nphoto,tags\nb.jpg,dog\nc.jpg,none\n",
        'SourceFile,Subject,Keywords\na.jpg,"cat, dog",cat\nb.jpg,dog,-\nc.jpg,-,-\n',
        "My photos\n\nDatei;Stichworte\na.jpg;cat, dog\nb.jpg;dog\nc.jpg;keine\n",
        '{"images": [{"file": "a.jpg", "tags": ["cat", "dog"]}, {"file": "b.jpg", "tags": ["dog"]},'
        ' {"file": "c.jpg", "tags": []}]}',
    ],
    ids=["hashtags", "hashtags with commas", "headers", "exiftool", "title", "wrapped JSON"],
)
def test_shapes_people_use(text: str, tmp_path: Path) -> None:
    suffix = ".json" if text.startswith("{") else ".csv"
    assert known(read(tmp_path / f"labels{suffix}", text)) == KNOWN


@pytest.mark.parametrize(
    ("header", "yes", "no"),
    [("Bild;Schlagwort;Wert", "ja", "nein"), ("image;keyword;present", "x", "0")],
)
def test_a_no_in_a_row_of_its_own_is_never_a_yes(
    header: str, yes: str, no: str, tmp_path: Path
) -> None:
    lines = [f"a.jpg;cat;{yes}", f"a.jpg;dog;{no}", f"b.jpg;cat;{no}", f"b.jpg;dog;{yes}"]
    dataset = read(tmp_path / "l.csv", "\n".join([header, *lines]) + "\n", "cp1252")
    assert known(dataset) == {"a.jpg": {"cat": 1, "dog": 0}, "b.jpg": {"cat": 0, "dog": 1}}


def test_yes_and_no_under_a_strange_name_are_remarked_on(tmp_path: Path) -> None:
    dataset = read(tmp_path / "l.csv", "image,label,seen by Ben\na.jpg,cat,yes\na.jpg,dog,no\n")
    assert any("'seen by Ben': yes and no" in note for note in dataset.notes)


def test_words_for_nothing_are_tags_where_a_class_list_has_them(tmp_path: Path) -> None:
    dataset = read(tmp_path / "l.csv", "image,tags\n,cat;none\na.jpg,none\nb.jpg,cat\n")
    assert known(dataset) == {"a.jpg": {"none": 1}, "b.jpg": {"cat": 1}}


@pytest.mark.parametrize("mark", [" ", "/"])
def test_tags_that_look_like_several_are_remarked_on(mark: str, tmp_path: Path) -> None:
    pairs = [
        "cat dog",
        "dog sea",
        "sea cat",
        "cat tree",
        "tree dog",
        "tree sea",
        "sea dog",
        "dog cat",
    ]
    lines = [f"{n}.jpg,{pair.replace(' ', mark)}" for n, pair in enumerate(pairs)]
    dataset = read(tmp_path / "l.csv", "\n".join(["image,tags", *lines]) + "\n")
    assert any(f"--separator {mark!r} would make 4 tags of 8" in note for note in dataset.notes)


def test_a_no_written_as_a_tag_is_remarked_on_and_never_taken_for_a_typo(tmp_path: Path) -> None:
    lines = [f"{n}.jpg,horses" for n in range(20)] + ["x.jpg,-horses", "y.jpg,cats"]
    dataset = read(tmp_path / "l.csv", "\n".join(["image,tags", *lines]) + "\n")
    assert any("look like a negation" in note for note in dataset.notes)
    assert not any("look like others" in note for note in dataset.notes)


def test_a_line_of_sums_is_named_with_a_remedy_that_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_text("image,cat,dog\na.jpg,1,0\nb.jpg,0,1\nc.jpg,1,1\nSumme,2,2\n")
    with pytest.raises(TagfillError, match=r"row 5: 2 entries.*delete the row if it holds sums"):
        load_labels(path)


def test_images_are_found_without_their_suffix(tmp_path: Path) -> None:
    for name in ("a.JPG", "b.v2.png"):
        Image.new("RGB", (4, 4)).save(tmp_path / name)
    path = tmp_path / "l.csv"
    path.write_text("image,tags\na,cat\nb.v2,dog\n")
    dataset = load_labels(path)
    assert dataset.image_root == tmp_path
    assert find_image(tmp_path, "a") == tmp_path / "a.JPG"
    assert find_image(tmp_path, "b.v2") == tmp_path / "b.v2.png"
    assert find_image(tmp_path, "c") is None


@pytest.mark.parametrize(
    ("before", "after"),
    [("#cat", "#cat #dog"), ("none", "dog"), ("#cat #sea", "#cat #sea #dog"), ("cat", "cat;dog")],
)
def test_confirmed_tags_fit_the_entry(before: str, after: str, tmp_path: Path) -> None:
    labels, answers, out = (tmp_path / name for name in ("l.csv", "s.csv", "o.csv"))
    labels.write_text(f"image,tags\na.jpg,{before}\nb.jpg,dog;sea\n")
    answers.write_text("image,tag,decision\na.jpg,dog,yes\n")
    assert main(["apply", str(answers), str(labels), str(out), "--json"]) == 0
    assert out.read_text().splitlines()[1] == f"a.jpg,{after}"
    expected = known(load_labels(labels))
    expected["a.jpg"]["dog"] = 1
    assert known(load_labels(out)) == expected


def test_inspect_lists_what_was_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "l.csv"
    path.write_text("image,tags\na.jpg,cat\nimage,tags\nb.jpg,-\n")
    assert main(["inspect", str(path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert "the header stands here again" in json.dumps(told["problems"])
    assert "1 entries say '-'" in " ".join(told["notes"])


def test_the_file_is_named_where_columns_have_one_name(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_text("image,cat,cat\na.jpg,1,0\n")
    with pytest.raises(TagfillError, match=r"l\.csv, row 1: columns 2 and 3 are both called 'cat'"):
        load_labels(path)


@pytest.mark.parametrize("header", ["image;rejected tag\r\n", ""])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "cp1252", "utf-16"])
def test_rejections_that_a_spreadsheet_saved_are_kept(
    header: str, encoding: str, tmp_path: Path
) -> None:
    path = tmp_path / "l.csv"
    path.write_text("image,tags\na.jpg,cat\nb.jpg,Bär\nc.jpg,cat;Bär\n", encoding="utf-8")
    rejected = tmp_path / "l.csv.rejected.csv"
    rejected.write_bytes(f"{header}a.jpg;Bär\r\nb.jpg;cat\r\n;\r\n".encode(encoding))
    assert known(load_labels(path))["a.jpg"] == {"cat": 1, "Bär": 0}
    assert known(load_labels(path))["b.jpg"] == {"cat": 0, "Bär": 1}
