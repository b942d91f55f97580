"""Readers of CVAT, WebDataset, Hugging Face and FiftyOne data sets, and of JSON by image."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path

import pyarrow as pa
import pytest

from tagfill.errors import TagfillError
from tagfill.labels import Dataset
from tagfill.labels.io import load_labels


def content(dataset: Dataset) -> dict[str, set[str]]:
    table = dataset.table
    assert table.negatives == 0
    return {
        image: {name for name, value in zip(table.classes, row, strict=True) if value == 1}
        for image, row in zip(table.images, table.values, strict=True)
    }


EXPECTED = {"a.jpg": {"cat", "dog"}, "b.jpg": {"dog"}, "c.jpg": set()}

CVAT = """<?xml version="1.0" encoding="utf-8"?>
<annotations><version>1.1</version><meta><task><labels>
<label><name>cat</name></label><label><name>dog</name></label><label><name>eel</name></label>
</labels></task></meta>
<image id="0" name="a.jpg" subset="Train" width="100" height="50">
<tag label="cat" source="manual"/><box label="dog" xtl="10" ytl="5" xbr="60" ybr="30"/></image>
<image id="1" name="b.jpg" width="100" height="50"><polygon label="dog" points="1,1;2,2"/></image>
<image id="2" name="c.jpg" width="100" height="50"/></annotations>"""


def test_cvat(tmp_path: Path) -> None:
    (tmp_path / "annotations.xml").write_text(CVAT)
    for place in (tmp_path, tmp_path / "annotations.xml"):
        dataset = load_labels(place)
        assert dataset.format == "cvat"
        assert content(dataset) == EXPECTED
        assert dataset.table.classes == ("cat", "dog", "eel")
        assert dataset.splits["train"].tolist() == [0]
        assert dataset.boxes is not None
        assert dataset.boxes.xywh.tolist() == [[0.1, 0.1, 0.5, 0.5]]
    (tmp_path / "annotations.xml").write_text(CVAT[:-20])
    with pytest.raises(TagfillError, match="not readable as CVAT"):
        load_labels(tmp_path)


def shard(path: Path, files: dict[str, bytes]) -> Path:
    with tarfile.open(path, "w") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    return path


def test_shards_that_would_unpack_to_anything_are_refused(tmp_path: Path) -> None:
    sparse = tarfile.TarInfo("big.jpg")
    sparse.size = 512
    sparse.pax_headers = {f"GNU.sparse.{key}": "0" for key in ("minor", "name")}
    sparse.pax_headers |= {"GNU.sparse.major": "1", "GNU.sparse.realsize": str(1 << 40)}
    with tarfile.open(tmp_path / "sparse.tar", "w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(sparse, io.BytesIO(b"1\n0\n0\n".ljust(512, b"\0")))
    with tarfile.open(tmp_path / "packed.tar", "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("a.jpg"))
    for name in ("sparse", "packed"):
        with pytest.raises(TagfillError, match=f"{name}.tar: not readable as a tar file"):
            load_labels(tmp_path / f"{name}.tar", format="webdataset")


def test_webdataset_tags_beside_json_that_states_none(tmp_path: Path) -> None:
    size = b'{"width": 640, "height": 480, "status": "success"}'
    first = {"a.jpg": b"x", "a.json": size, "a.cls": b"dog", "b.jpg": b"x", "b.json": size}
    shard(tmp_path / "0.tar", first)
    shard(tmp_path / "1.tar", {"c.jpg": b"x", "c.json": b'{"tags": "cat"}', "c.txt": b"a caption"})
    assert content(load_labels(tmp_path)) == {"a.jpg": {"dog"}, "b.jpg": set(), "c.jpg": {"cat"}}


def test_webdataset(tmp_path: Path) -> None:
    shard(tmp_path / "0.tar", {"a.jpg": b"x", "a.json": b'{"tags": ["cat", "dog"], "n": 3}'})
    shard(tmp_path / "1.tar", {"b.jpg": b"x", "b.cls": b"dog", "c.txt": b"", "c.jpg": b"x"})
    dataset = load_labels(tmp_path)
    assert dataset.format == "webdataset"
    assert content(dataset) == EXPECTED
    assert content(load_labels(tmp_path / "0.tar")) == {"a.jpg": {"cat", "dog"}}
    assert any("unpacks" in note for note in dataset.notes)
    (tmp_path / "1.tar").write_bytes((tmp_path / "1.tar").read_bytes()[:700])
    with pytest.raises(TagfillError):
        load_labels(tmp_path / "1.tar")


def saved(folder: Path, columns: dict[str, object], features: dict[str, object]) -> None:
    """A data set as datasets' save_to_disk leaves it."""
    folder.mkdir(parents=True)
    table = pa.table(columns)
    with (
        pa.OSFile(str(folder / "data-00000-of-00001.arrow"), "wb") as sink,
        pa.ipc.new_stream(sink, table.schema) as writer,
    ):
        writer.write_table(table)
    (folder / "dataset_info.json").write_text(json.dumps({"features": features}))
    (folder / "state.json").write_text("{}")


IMAGE = {"_type": "Image"}
NAMES = {"names": ["cat", "dog"], "_type": "ClassLabel"}


@pytest.mark.parametrize("kind", ["Sequence", "List", "list"])
def test_hugging_face_lists_of_classes(tmp_path: Path, kind: str) -> None:
    images = [{"bytes": b"x", "path": f"{name}.jpg"} for name in "abc"]
    feature = [NAMES] if kind == "list" else {"feature": NAMES, "_type": kind}
    columns = {"image": images, "labels": pa.array([[0, 1], [1], []], pa.list_(pa.int64()))}
    saved(tmp_path / "set", columns, {"image": IMAGE, "labels": feature})
    dataset = load_labels(tmp_path / "set")
    assert dataset.format == "hf_disk"
    assert content(dataset) == EXPECTED


def test_hugging_face_single_classes_and_splits(tmp_path: Path) -> None:
    features = {"image": IMAGE, "label": NAMES}
    nameless = [{"bytes": b"x", "path": None}] * 2
    for split, labels in (("train", [0, 1]), ("test", [1, 1])):
        saved(tmp_path / split, {"image": nameless, "label": labels}, features)
    (tmp_path / "dataset_dict.json").write_text('{"splits": ["train", "test"]}')
    dataset = load_labels(tmp_path)
    assert content(dataset) == {
        "train-000000.png": {"cat"},
        "train-000001.png": {"dog"},
        "test-000000.png": {"dog"},
        "test-000001.png": {"dog"},
    }
    assert {name: len(rows) for name, rows in dataset.splits.items()} == {"train": 2, "test": 2}
    (tmp_path / "train" / "data-00000-of-00001.arrow").write_bytes(b"nothing")
    with pytest.raises(TagfillError, match="not readable as Arrow"):
        load_labels(tmp_path)


def test_fiftyone(tmp_path: Path) -> None:
    several = {"classifications": [{"label": "cat"}, {"label": "dog"}]}
    samples = [
        {"filepath": "data/a.jpg", "tags": ["train"], "ground_truth": several},
        {"filepath": "data/b.jpg", "tags": ["validation", "odd"], "ground_truth": {"label": "dog"}},
        {"filepath": "data/c.jpg", "tags": [], "ground_truth": None},
    ]
    (tmp_path / "samples.json").write_text(json.dumps({"samples": samples}))
    (tmp_path / "metadata.json").write_text("{}")
    dataset = load_labels(tmp_path)
    assert dataset.format == "fiftyone"
    assert content(dataset) == {f"data/{image}": tags for image, tags in EXPECTED.items()}
    assert dataset.splits["val"].tolist() == [1]


@pytest.mark.parametrize(
    "document",
    [
        {"a.jpg": ["cat", "dog"], "b.jpg": "dog", "c.jpg": []},
        {"a.jpg": {"tags": ["cat", "dog"]}, "b.jpg": {"keywords": "dog"}, "c.jpg": {"tags": []}},
    ],
)
def test_json_by_image(tmp_path: Path, document: dict[str, object]) -> None:
    (tmp_path / "tags.json").write_text(json.dumps(document, indent=1))
    assert content(load_labels(tmp_path / "tags.json")) == EXPECTED
