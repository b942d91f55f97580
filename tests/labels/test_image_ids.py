"""Names of images in label files, and the files that are found by them."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image
from tests.labels.reading import known, read

from tagfill.image_files import find_image, find_images
from tagfill.images import check_images
from tagfill.labels.edit import save_changes
from tagfill.labels.formats import ReadOptions
from tagfill.labels.io import load_labels


@pytest.mark.parametrize(
    "ids",
    [
        ("A.JPG", "SUB/b.JPG", "000"),
        ("a.jpeg", "b.jpg", "00000"),
        ("8f3ab2c1-a.jpg", "photos/sub/b.jpg", "0.0"),
        ("//nas/share/a.jpg", "//nas/share/sub/b.jpg", "//nas/share/0.jpg"),
        ("C:\\pics\\a.jpg", "D:\\x\\sub\\b.jpg", "0"),
        ("file:///home/me/my%20pics/a.jpg", "file:///home/me/my%20pics/sub/b.jpg", "0.png"),
        ("a.CR2", "Bä/../sub/b.jpg", "0"),
    ],
)
def test_images_are_found_in_other_spellings(ids: tuple[str, ...], tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.jpg", "sub/b.jpg", "0.jpg")]
    files[1].parent.mkdir()
    for file in files:
        Image.new("RGB", (4, 4)).save(file)
    rows = zip(ids, ("cat", "dog", "cat;dog"), strict=True)
    text = "image,tags\n" + "".join(f"{image},{tags}\n" for image, tags in rows)
    dataset = read(tmp_path, text)
    assert dataset.image_root == tmp_path
    assert find_images(tmp_path, dataset.table.images) == files


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


def test_no_image_is_taken_for_another(tmp_path: Path) -> None:
    for name in ("x/a.jpg", "y/a.jpg", "b.jpg", "Bä.jpg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.new("RGB", (4, 4)).save(tmp_path / name)
    ids = ["a.jpg", "z/a.jpg", "B.jpg", "b.jpg", "Ba\u0308.jpg", "Ba.jpg"]
    found = find_images(tmp_path, ids)
    assert found == [None, None, None, tmp_path / "b.jpg", tmp_path / "Bä.jpg", None]
    (problem, *_) = check_images(ids, tmp_path).problems
    assert "1 image was found under another spelling" in problem.message


def test_percent_signs_in_ids(tmp_path: Path) -> None:
    image = tmp_path / "my pics" / "a.jpg"
    image.parent.mkdir()
    Image.new("RGB", (4, 4)).save(image)
    assert find_images(tmp_path, ["my%20pics/a.jpg"]) == [image]


@pytest.mark.parametrize("location", ["here", "elsewhere"])
def test_absolute_ids_become_relative_to_the_folder_they_share(
    tmp_path: Path, location: str
) -> None:
    photos = tmp_path / ("photos" if location == "elsewhere" else "far")
    (photos / "sub").mkdir(parents=True)
    for name in ("a.jpg", "sub/b.jpg"):
        (photos / name).write_bytes(b"")
    base = "C:\\Users\\me\\Pictures\\" if location == "elsewhere" else f"{photos}/"
    separator = "\\" if location == "elsewhere" else "/"
    rows = "".join(f"{base}{name},cat\n" for name in ("a.jpg", f"sub{separator}b.jpg"))
    dataset = read(tmp_path, "SourceFile,Keywords\n" + rows)
    assert dataset.table.images == ("a.jpg", "sub/b.jpg")
    assert dataset.image_root == photos
    assert any("absolute" in problem.message for problem in dataset.problems)


def test_files_of_one_name_in_several_folders(tmp_path: Path) -> None:
    rows = [f"day {n // 3};{n % 3}.jpg;{'cat' if n % 2 else 'dog, cat'}" for n in range(9)]
    dataset = read(tmp_path, ["Folder;File;Keywords", *rows])
    assert len(dataset.table) == 9
    assert known(dataset)["day 1/0.jpg"] == {"cat": 1}
    values = dataset.table.values.copy()
    values[3, dataset.table.classes.index("dog")] = 1
    save_changes(dataset, dataset.table.with_values(values), tmp_path / "o.csv", ReadOptions())
    assert (tmp_path / "o.csv").read_text().splitlines()[4] == "day 1;0.jpg;cat, dog"


def test_addresses_with_a_query_are_images(tmp_path: Path) -> None:
    rows = [f"shirt-{n},Shirt {n},summer,https://x.org/{n}.jpg?v=12,1" for n in range(6)]
    dataset = read(tmp_path, ["Handle,Title,Tags,Image Src,Image Position", *rows])
    assert dataset.table.images[0] == "https://x.org/0.jpg?v=12"


def test_uploads_of_label_studio_in_a_table(tmp_path: Path) -> None:
    rows = [f"/data/upload/1/8f3ab2c{n}-{n}.jpg,cat" for n in range(3)]
    assert read(tmp_path, ["image,choice", *rows]).table.images == ("0.jpg", "1.jpg", "2.jpg")


def test_attachments_of_airtable(tmp_path: Path) -> None:
    rows = [f"Photo {n},{n}.jpg (https://x.com/v3/{n}),cat" for n in range(3)]
    dataset = read(tmp_path, ["Name,Attachment,Tags", *rows])
    assert dataset.table.images == ("0.jpg", "1.jpg", "2.jpg")


@pytest.mark.parametrize("form", ['"=""{}"""', "'{}"])
def test_ids_that_spreadsheets_keep_as_text(form: str, tmp_path: Path) -> None:
    rows = [f"{form.format(f'{n}.jpg')},cat" for n in range(3)]
    assert read(tmp_path, ["image,tags", *rows]).table.images == ("0.jpg", "1.jpg", "2.jpg")
