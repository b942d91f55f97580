"""Small sources of every format, and the ways in which files get damaged."""

from __future__ import annotations

import io
import json
import random
import re
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from PIL import Image
from tests.labels.photo_files import iptc, packet
from tests.labels.test_formats_exchange import CVAT, IMAGE, NAMES, saved, shard
from tests.labels.workbooks import ods, xlsx

Source = dict[str, bytes]
"""Files by their place; a source of one file has it under ''."""


def _npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, np.array(array))
    return buffer.getvalue()


def _parquet(columns: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    pa.parquet.write_table(pa.table(columns), buffer)
    return buffer.getvalue()


def _photo(xmp: bytes) -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8)).save(buffer, "JPEG", xmp=xmp)
    content = buffer.getvalue()
    return content[:2] + iptc(b"cat", "Löwe".encode(), character_set=b"\x1b%G") + content[2:]


def _tar(files: dict[str, bytes]) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        return shard(Path(folder) / "x.tar", files).read_bytes()


def _hf_disk() -> Source:
    with tempfile.TemporaryDirectory() as folder:
        columns = {"image": [{"bytes": b"x", "path": "a.jpg"}], "label": [1]}
        saved(Path(folder) / "set", columns, {"image": IMAGE, "label": NAMES})
        return {file.name: file.read_bytes() for file in (Path(folder) / "set").iterdir()}


TASKS = [
    {
        "id": 5,
        "data": {"image": "/data/upload/1/8f3ab2c1-a.jpg", "classes": ["cat", "dog"]},
        "annotations": [
            {
                "was_cancelled": False,
                "result": [{"from_name": "tags", "value": {"choices": ["cat", "dog"]}}],
            }
        ],
        "predictions": [
            {"score": 0.5, "result": [{"from_name": "tags", "value": {"choices": ["dog"]}}]}
        ],
    }
]
COCO = {
    "images": [{"id": 1, "file_name": "a.jpg", "width": 640, "height": 480}],
    "annotations": [{"image_id": 1, "category_id": 18, "bbox": [10, 20, 100, 50]}],
    "categories": [{"id": 18, "name": "dog"}],
}
VOC_XML = (
    '<?xml version="1.0" encoding="utf-8"?><annotation><size><width>64</width><height>48</height>'
    "</size><object><name>dog</name><difficult>0</difficult><bndbox><xmin>1</xmin><ymin>2</ymin>"
    "<xmax>30</xmax><ymax>40</ymax></bndbox></object></annotation>"
)
MINIMAL = [{"image": "/data/upload/1/8f3ab2c1-a.jpg", "tags": {"choices": ["cat"]}, "annotator": 1}]
TABLE = [["Datei", "cat", "dog"], ["a.jpg", 1, None], ["b.jpg", None, "x"]]

SOURCES: dict[str, Source] = {
    "csv_wide": {"": b"image,cat,dog,Rating,split\na.jpg,1,0,5,train\nb.jpg,,x,3,test\n"},
    "csv_long": {"": "image,label,value\na.jpg,cat,1\nb.jpg,Löwe,0\n".encode()},
    "tag_list": {"": 'Datei;Tags\na.jpg;cat,dog\n"b c.jpg";"dog|eel"\n'.encode("utf-16")},
    "tags latin-1": {"": 'Datei;Tags\na.jpg;Löwe\nb.jpg;["dog"]\n'.encode("latin-1")},
    "open_images": {
        "": b"ImageID,Source,LabelName,Confidence\n00a,v,/m/01,1\n00a,m,/m/02,0.5\n00b,v,/m/01,0\n"
    },
    "jsonl": {
        "": b'{"file_name": "a.jpg", "positives": ["cat"], "negatives": ["dog"], "split": "x"}\n'
        b'{"file_name": "b.jpg", "tags": ["cat"], "width": 3}\n{"path": "c", "cat": 1, "x": null}\n'
    },
    "json list": {"": json.dumps([{"image": "a.jpg", "tags": ["cat", "dog"], "n": 1}]).encode()},
    "label_studio": {"": json.dumps(TASKS).encode()},
    "json-min": {"": json.dumps(MINIMAL).encode()},
    "coco": {"": json.dumps(COCO).encode()},
    "parquet": {
        "": _parquet({"image": ["a", "b"], "cat": [1, None], "id": [2**62, 9], "dog": ["x", "no"]})
    },
    "parquet lists": {"": _parquet({"image": ["a", "b"], "tags": [["cat", "dog"], []]})},
    "xlsx": {"": xlsx(TABLE)},
    "ods": {"": ods(TABLE)},
    "voc": {
        "ImageSets/Main/train.txt": b"2008_1\n",
        "ImageSets/Main/dog_train.txt": b"2008_1  1\n",
        "Annotations/2008_1.xml": VOC_XML.encode(),
        "JPEGImages/2008_1.jpg": b"",
    },
    "cub": {
        "images.txt": b"1 001.Gull/a.jpg\n2 002.Tern/b.jpg\n",
        "train_test_split.txt": b"1 1\n2 0\n",
        "attributes.txt": b"1 bill\n2 wing\n",
        "attributes/image_attribute_labels.txt": b"1 1 1 4 1.0\n1 2 0 1 2\n2 1 0 3 3\n2 2 1 2 1\n",
    },
    "nuswide": {
        "Concepts81.txt": b"bear\nsky\n",
        "ImageList/TrainImagelist.txt": b"actor\\1.jpg\nactor\\2.jpg\n",
        "ImageList/TestImagelist.txt": b"zoo\\3.jpg\n",
        "TrainTestLabels/Labels_bear_Train.txt": b"1\n0\n",
        "TrainTestLabels/Labels_sky_Train.txt": b"0\n0\n",
        "TrainTestLabels/Labels_bear_Test.txt": b"0\n",
        "TrainTestLabels/Labels_sky_Test.txt": b"1\n",
    },
    "mlspl": {
        "formatted_train_labels.npy": _npy(np.eye(5, 2)),
        "formatted_train_labels_obs.npy": _npy(np.eye(5, 2)),
        "formatted_train_images.npy": _npy([f"{n}.jpg" for n in range(5)]),
        "split_train_index.npy": _npy([0, 1, 2, 3]),
        "split_val_index.npy": _npy([4]),
        "classes.txt": b"cat\ndog\n",
    },
    "xmp": {
        "a.jpg": _photo(packet("cat", paths=("animal|bird",))),
        "a.xmp": packet("cat", "dog"),
        "sub/b.jpg": _photo(packet("eel")),
    },
    "cvat": {"annotations.xml": CVAT.encode()},
    "webdataset": {"0.tar": _tar({"a.jpg": b"x", "a.json": b'{"tags": ["cat"]}', "b.cls": b"1"})},
    "hf_disk": _hf_disk(),
    "fiftyone": {
        "samples.json": b'{"samples": [{"filepath": "a.jpg", "tags": ["val"],'
        b' "truth": {"label": "x"}}]}',
        "metadata.json": b"{}",
    },
    "json by image": {"": b'{"a.jpg": ["cat", "dog"], "b.jpg": {"tags": "dog"}}'},
    "image_folder": {"cat/a.jpg": b"", "dog/b.jpg": b"", "notes.txt": b"1"},
}

ODD_TEXTS = [
    *(b"", b"\0", b"\xff", b"\xed\xa0\x80", b"\xc3\x28", b"\\ud800", b"\\udc80\\ud800", b"null"),
    *(b"true", b"[]", b"{}", b"-1", b"0", b"1e999", b"NaN", b"-Infinity", b"9" * 40, b"7" * 10_000),
    *(b"18446744073709551616", b'""', b'"', b"'", b",", b";", b"\n", b"\r", b"\r\n", b"\t"),
    *(b"[" * 3_000, b'{"a":' * 3_000, b"=cmd|' /C calc'!A0", b"../../x", b"C:\\x", b"/", b"."),
    *("\u2028", "é", "🦊", "\ufeff", "\u202e"),
    *(b"encoding='x-none'", b"utf-7", b"shift_jis", b"&lol;", b"<!DOCTYPE a>", b"<![CDATA["),
]
ODD_VALUES: list[Any] = [
    *(None, True, 0, -1, 2**70, 1.5, float("nan"), float("inf"), "", "x", "\ud800", [], {}),
    *([[]], [None], {"a": None}, ["\ud800"], [1, "a"], {"choices": 3}, "a" * 70_000),
]
_TOKEN = re.compile(rb'[A-Za-z]+|-?\d+(?:\.\d+)?|"[^"]*"')


def damaged(source: Source, draw: random.Random) -> Source:
    """The same source with one file damaged in one to three ways."""
    name = draw.choice(sorted(source))
    content = source[name]
    if content.startswith(b"PK") and draw.random() < 0.7:
        return {**source, name: _inside_archive(content, draw)}
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        content = draw.choice(WAYS)(content, draw)
    return {**source, name: content}


def _inside_archive(content: bytes, draw: random.Random) -> bytes:
    """A sound archive with one of its files damaged."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    name = draw.choice(sorted(files))
    files[name] = draw.choice(WAYS)(files[name], draw)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for member, text in files.items():
            archive.writestr(member, text)
    return buffer.getvalue()


def _flip(content: bytes, draw: random.Random) -> bytes:
    changed = bytearray(content or b"a")
    for _ in range(draw.choice([1, 1, 2, 8])):
        changed[draw.randrange(len(changed))] ^= 1 << draw.randrange(8)
    return bytes(changed)


def _cut(content: bytes, draw: random.Random) -> bytes:
    start, end = sorted(draw.randrange(len(content) + 1) for _ in range(2))
    return content[:start] + content[end:]


def _end(content: bytes, draw: random.Random) -> bytes:
    return content[: draw.randrange(len(content) + 1)]


def _repeat(content: bytes, draw: random.Random) -> bytes:
    start, end = sorted(draw.randrange(len(content) + 1) for _ in range(2))
    return content[:end] + content[start:end] * draw.choice([1, 2, 50]) + content[end:]


def _insert(content: bytes, draw: random.Random) -> bytes:
    odd = draw.choice(ODD_TEXTS)
    place = draw.randrange(len(content) + 1)
    return content[:place] + (odd.encode() if isinstance(odd, str) else odd) + content[place:]


def _replace_token(content: bytes, draw: random.Random) -> bytes:
    tokens = list(_TOKEN.finditer(content))
    if not tokens:
        return _insert(content, draw)
    token, odd = draw.choice(tokens), draw.choice(ODD_TEXTS)
    text = odd.encode() if isinstance(odd, str) else odd
    if token.group().startswith(b'"') and draw.random() < 0.5:
        text = b'"' + text + b'"'
    return content[: token.start()] + text + content[token.end() :]


def _replace_value(content: bytes, draw: random.Random) -> bytes:
    """For JSON: another type somewhere in the tree."""
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return _replace_token(content, draw)
    places: list[tuple[Any, Any]] = []

    def visit(node: Any) -> None:
        pairs = node.items() if isinstance(node, dict) else enumerate(node)
        for key, value in pairs:
            places.append((node, key))
            if isinstance(value, dict | list):
                visit(value)

    if not isinstance(document, dict | list) or not document:
        return _replace_token(content, draw)
    visit(document)
    node, key = draw.choice(places)
    if isinstance(node, dict) and draw.random() < 0.2:
        node[draw.choice(["", "\ud800", "image", "x" * 100])] = node.pop(key)
    else:
        node[key] = draw.choice(ODD_VALUES)
    return json.dumps(document).encode()


WAYS: list[Callable[[bytes, random.Random], bytes]] = [
    *(_flip, _cut, _end, _repeat, _insert, _replace_token, _replace_token),
    *(_replace_value, _replace_value),
]
