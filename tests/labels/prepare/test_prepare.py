"""Official downloads become tables in the published order with the published split."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.labels.prepare.layouts import (
    write_coco,
    write_cub,
    write_nuswide,
    write_published,
    write_voc,
)

from tagfill.errors import TagfillError, enumerated
from tagfill.labels.prepare import Options, Prepared, prepare
from tagfill.labels.split import published_split

TRAIN = {f"2008_{n:06d}": (1, -1) if n % 2 else (0, 1) for n in (9, 3, 5, 1, 7)}
TEST = {"2008_000002": (-1, 1), "2008_000004": (1, 1)}


def images_of(prepared: Prepared, split: str) -> list[str]:
    table = prepared.dataset.table
    return [table.images[row] for row in prepared.dataset.splits[split]]


@pytest.mark.parametrize("place", [".", "VOC2012", "VOCdevkit/VOC2012", "tar/VOCdevkit/VOC2012"])
def test_voc2012_with_or_without_outer_folder(tmp_path: Path, place: str) -> None:
    write_voc(tmp_path / place, {"train": TRAIN, "val": TEST})
    prepared = prepare("voc2012", tmp_path)
    ordered = [f"{stem}.jpg" for stem in sorted(TRAIN)]
    train, val = published_split(5)
    assert images_of(prepared, "train") == [ordered[row] for row in train]
    assert images_of(prepared, "val") == [ordered[row] for row in val]
    assert images_of(prepared, "test") == ["2008_000002.jpg", "2008_000004.jpg"]
    assert prepared.dataset.table.images[:5] == tuple(ordered)
    assert prepared.dataset.table.values[-2:].tolist() == [[0, 1], [1, 1]]
    assert prepared.split == "differs"
    assert not prepared.as_published


def test_voc2012_ignores_other_years_beside_it(tmp_path: Path) -> None:
    write_voc(tmp_path / "VOC2012", {"train": TRAIN, "val": TEST})
    write_voc(tmp_path / "VOC2007", {"trainval": {"000001": (1, 1)}, "test": {"000002": (1, 1)}})
    assert len(prepare("voc2012", tmp_path).dataset.table) == 7
    with pytest.raises(TagfillError, match=r"VOC2012/ImageSets/Main is missing"):
        prepare("voc2012", tmp_path / "VOC2007")


def test_voc2012_difficult(tmp_path: Path) -> None:
    write_voc(tmp_path, {"train": {"a": (0, 1)}, "val": TEST})
    assert prepare("voc2012", tmp_path).dataset.table.values[0].tolist() == [0, 1]
    lenient = prepare("voc2012", tmp_path, Options(difficult="positive"))
    assert lenient.dataset.table.values[0].tolist() == [1, 1]


def test_voc2007_takes_trainval_and_test(tmp_path: Path) -> None:
    halves = list(TRAIN.items())
    lists = {"train": dict(halves[:2]), "val": dict(halves[2:]), "trainval": TRAIN, "test": TEST}
    write_voc(tmp_path / "VOCdevkit" / "VOC2007", lists)
    whole = prepare("voc2007", tmp_path, Options(val=False))
    assert whole.sizes == {"train": 5, "test": 2}
    assert whole.rule == "published"
    divided = prepare("voc2007", tmp_path)
    assert divided.sizes == {"train": 4, "val": 1, "test": 2}
    assert divided.split == "ours"


def test_voc2007_without_the_test_download(tmp_path: Path) -> None:
    write_voc(tmp_path / "VOC2007", {"trainval": TRAIN})
    with pytest.raises(TagfillError, match=r"test\.txt is missing.*VOCtest_06-Nov-2007"):
        prepare("voc2007", tmp_path)


COCO_TRAIN = {100: [3], 9: [7, 3], 25: [], 3: [7], 1000: [3], 77: [7]}
COCO_VAL = {8: [3], 41: []}


@pytest.mark.parametrize("outer", [".", "coco"])
def test_coco_orders_numbers_as_text(tmp_path: Path, outer: str) -> None:
    home = tmp_path / outer
    write_coco(home, "train2014", COCO_TRAIN)
    write_coco(home, "val2014", COCO_VAL)
    (home / "images" / "train2014").mkdir(parents=True)
    prepared = prepare("coco2014", tmp_path)
    table = prepared.dataset.table
    numbers = [int(image[-16:-4]) for image in table.images]
    assert numbers == [100, 1000, 3, 77, 9, 8]
    assert table.images[0] == "train2014/COCO_train2014_000000000100.jpg"
    assert table.images[-1] == "val2014/COCO_val2014_000000000008.jpg"
    assert table.values.tolist() == [[1, 0], [1, 0], [0, 1], [0, 1], [1, 1], [1, 0]]
    assert prepared.sizes == {"train": 4, "val": 1, "test": 1}
    assert prepared.dataset.image_root == home / "images"
    boxes = prepared.dataset.boxes
    assert boxes is not None
    assert sorted(boxes.image.tolist()) == [0, 1, 2, 3, 4, 4, 5]


def test_coco_keeps_empty_images_on_request(tmp_path: Path) -> None:
    write_coco(tmp_path, "train2014", COCO_TRAIN)
    write_coco(tmp_path, "val2014", COCO_VAL)
    prepared = prepare("coco2014", tmp_path, Options(keep_empty=True, val=False))
    assert prepared.sizes == {"train": 6, "test": 2}
    assert prepared.expected == {"train": 82783, "test": 40504}
    assert prepared.rule == "published"
    assert prepare("coco2014", tmp_path, Options(keep_empty=True)).split == "ours"


def test_coco_names_every_missing_file_and_its_home(tmp_path: Path) -> None:
    with pytest.raises(TagfillError) as caught:
        prepare("coco2014", tmp_path)
    for split in ("instances_train2014.json", "instances_val2014.json", "COCO project page"):
        assert split in str(caught.value)
    assert "are missing — get them from" in str(caught.value)


def test_coco_cut_short(tmp_path: Path) -> None:
    for split in ("train2014", "val2014"):
        write_coco(tmp_path, split, COCO_TRAIN)
    file = tmp_path / "annotations" / "instances_val2014.json"
    file.write_text(file.read_text()[:-20])
    with pytest.raises(TagfillError, match="not readable as JSON") as caught:
        prepare("coco2014", tmp_path)
    assert caught.value.file == file
    assert caught.value.row == 1
    assert caught.value.remedy == "download or unpack it again"


@pytest.mark.parametrize("outer", [".", "CUB_200_2011"])
def test_cub_keeps_the_order_of_its_list(tmp_path: Path, outer: str) -> None:
    home = tmp_path / outer / "CUB_200_2011"
    home.parent.mkdir(exist_ok=True)
    write_cub(home, images=7, attributes=4, training={1, 2, 4, 6, 7})
    prepared = prepare("cub", tmp_path)
    table = prepared.dataset.table
    numbers = [int(image.rpartition("_")[2][:-4]) for image in table.images]
    assert numbers == [1, 2, 4, 6, 7, 3, 5]
    assert prepared.sizes == {"train": 4, "val": 1, "test": 2}
    assert table.values[0].tolist() == [1, 0, 1, 0]
    assert prepared.dataset.image_root == home / "images"


def test_cub_without_attribute_names(tmp_path: Path) -> None:
    home = write_cub(tmp_path / "CUB_200_2011", images=3, attributes=2, training={1, 2})
    (tmp_path / "attributes.txt").unlink()
    with pytest.raises(TagfillError, match=r"attributes\.txt is missing — get it .*CUB-200-2011"):
        prepare("cub", home)
    (home / "images.txt").unlink()
    with pytest.raises(TagfillError, match=r"images\.txt and attributes\.txt are missing"):
        prepare("cub", home)


def test_cub_needs_images_of_both_parts(tmp_path: Path) -> None:
    home = write_cub(tmp_path / "CUB_200_2011", images=1, attributes=2, training={1})
    with pytest.raises(TagfillError) as caught:
        prepare("cub", tmp_path)
    assert caught.value.file == home / "train_test_split.txt"
    assert "training images (1): 1, test images (0): 0" in caught.value.message
    assert "expected are 5,994 and 5,794" in caught.value.message


NUS_TRAIN = [[1, 0], [0, 0], [1, 1], [0, 1], [1, 0]]
NUS_TEST = [[0, 1], [0, 0]]


def test_nuswide_split_without_files_is_ours(tmp_path: Path) -> None:
    write_nuswide(tmp_path / "NUS-WIDE", NUS_TRAIN, NUS_TEST)
    prepared = prepare("nuswide", tmp_path)
    assert prepared.split == "ours"
    assert not prepared.as_published
    assert prepared.sizes == {"train": 4, "val": 1, "test": 2}
    assert prepared.dataset.table.images[0] == "sky/Train_0.jpg"
    assert any("our own" in note for note in prepared.notes)
    assert any("2 images show none" in note for note in prepared.notes)


@pytest.mark.parametrize("inside", [True, False])
def test_nuswide_takes_the_published_files(tmp_path: Path, inside: bool) -> None:
    root = write_nuswide(tmp_path / "nus", NUS_TRAIN, NUS_TEST)
    (root / "Flickr").mkdir()
    folder = write_published(tmp_path / "arrays", NUS_TRAIN[::-1], NUS_TEST)
    if inside:
        for file in folder.iterdir():
            file.rename(root / file.name)
    prepared = prepare("nuswide", root, Options(published_split=None if inside else folder))
    assert prepared.rule == "published"
    assert prepared.dataset.table.values[:5].tolist() == NUS_TRAIN[::-1]
    train, val = published_split(5)
    np.testing.assert_array_equal(prepared.dataset.splits["train"], train)
    np.testing.assert_array_equal(prepared.dataset.splits["val"], val)
    assert prepared.dataset.image_root == root / "Flickr"


def test_nuswide_names_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(TagfillError) as caught:
        prepare("nuswide", tmp_path)
    lists = ("Concepts81.txt", "TrainImagelist.txt", "TestImagelist.txt")
    for split in (*lists, "162 of 162 class files", "NUS-WIDE project page"):
        assert split in str(caught.value)
    with pytest.raises(TagfillError, match=r"formatted_val_labels\.npy"):
        prepare("nuswide", tmp_path, Options(published_split=tmp_path))


@pytest.mark.parametrize("outer", [".", "NUS-WIDE"])
def test_nuswide_names_every_missing_part_at_once(tmp_path: Path, outer: str) -> None:
    home = write_nuswide(tmp_path / "nus" / outer, NUS_TRAIN, NUS_TEST)
    labels = home / "Groundtruth" / "TrainTestLabels"
    (labels / "Labels_sky_Test.txt").unlink()
    sky = r"1 of 4 class files in Groundtruth/TrainTestLabels \(Labels_sky_Test\.txt\)"
    with pytest.raises(TagfillError, match=rf"nus.*: {sky} is missing — get it from the NUS-WIDE"):
        prepare("nuswide", tmp_path / "nus")
    (home / "ImageList" / "TrainImagelist.txt").unlink()
    both = rf"ImageList/TrainImagelist\.txt and {sky} are missing — get them from the NUS-WIDE"
    with pytest.raises(TagfillError, match=both):
        prepare("nuswide", tmp_path / "nus")


def test_nuswide_names_only_the_first_class_files(tmp_path: Path) -> None:
    home = write_nuswide(tmp_path / "nus", NUS_TRAIN, NUS_TEST)
    for file in (home / "Groundtruth" / "TrainTestLabels").iterdir():
        file.unlink()
    listed = r"4 of 4 class files .*\(Labels_sky_Train\.txt, \S+, Labels_water_Train\.txt, \.\.\.\)"
    with pytest.raises(TagfillError, match=listed):
        prepare("nuswide", home)
    (home / "ConceptsList" / "Concepts81.txt").unlink()
    with pytest.raises(TagfillError, match=r"Concepts81\.txt and 162 of 162 class files"):
        prepare("nuswide", home)


def test_nuswide_with_some_of_the_published_files(tmp_path: Path) -> None:
    folder = write_published(tmp_path / "arrays", NUS_TRAIN, NUS_TEST)
    (folder / "formatted_train_images.npy").unlink()
    with pytest.raises(
        TagfillError, match=r"formatted_train_images\.npy is missing.*the authors of"
    ):
        prepare("nuswide", folder)


def test_unknown_names_and_folders(tmp_path: Path) -> None:
    with pytest.raises(TagfillError, match="unknown data set 'imagenet'"):
        prepare("imagenet", tmp_path)
    with pytest.raises(TagfillError, match="no such folder"):
        prepare("cub", tmp_path / "nowhere")
    with pytest.raises(TagfillError, match="voc2012 has no option --keep-empty"):
        prepare("voc2012", tmp_path, Options(keep_empty=True))
    with pytest.raises(TagfillError, match="cub has no option --difficult"):
        prepare("cub", tmp_path, Options(difficult="positive"))


def test_missing_things_are_enumerated() -> None:
    assert enumerated(["a"]) == "a"
    assert enumerated(["a", "b"]) == "a and b"
    assert enumerated(["a", "b", "c"]) == "a, b and c"


def test_a_split_is_published_only_with_the_published_counts(tmp_path: Path) -> None:
    write_voc(tmp_path, {"train": TRAIN, "val": TEST})
    prepared = prepare("voc2012", tmp_path)
    assert (prepared.split, prepared.as_published) == ("differs", False)
    whole = replace(prepared, expected={"train": 4, "val": 1, "test": 2})
    assert (whole.split, whole.as_published) == ("published", True)
    other = replace(whole, rule="ours")
    assert (other.split, other.as_published) == ("ours", False)


@pytest.mark.parametrize(
    ("official", "train", "val"),
    [
        (5717, 4574, 1143),
        (82081, 65665, 16416),
        (150000, 120000, 30000),
        (5994, 4795, 1199),
    ],
)
def test_the_split_has_the_published_sizes(official: int, train: int, val: int) -> None:
    assert tuple(map(len, published_split(official))) == (train, val)
