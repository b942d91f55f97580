"""Damaged label files of every format: labels, or one clear refusal; never a traceback."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import numpy as np
import pytest
from tests.labels.mutations import SOURCES, Source, damaged

from tagfill.cli.inspect import inspected
from tagfill.errors import Problems, TagfillError
from tagfill.labels.io import load_labels, save_labels

COUNT = int(os.environ.get("TAGFILL_MUTATIONS", "1000"))
"""Files in all; `make torture` sets more."""
SEED = int(os.environ.get("TAGFILL_SEED", "1200"))
NAMED = {"tags latin-1": "tag_list", "json list": "jsonl", "json-min": "label_studio"}
NAMED |= {
    "json by image": "jsonl",
    "parquet lists": "parquet",
    "xlsx": "spreadsheet",
    "ods": "spreadsheet",
}


def written(source: Source, folder: Path) -> Path:
    for name, content in source.items():
        file = folder / name if name else folder / "labels"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
    return folder if "" not in source else folder / "labels"


def survives(path: Path, out: Path, format: str | None) -> bool:
    """Whether labels were read; then they can be counted, shown and written, too."""
    try:
        dataset = load_labels(path, format=format, problems=Problems())
    except TagfillError:
        return False
    shown = inspected(dataset, None, 1)
    json.dumps(shown, ensure_ascii=False, default=str).encode()
    to = ("csv_wide", "tag_list", "jsonl")[len(dataset.table) % 3]
    save_labels(dataset, out / to, format=to)
    return True


@pytest.mark.parametrize("name", SOURCES)
def test_sound_sources_are_read(tmp_path: Path, name: str) -> None:
    path = written(SOURCES[name], tmp_path / "in")
    assert load_labels(path).table.images
    assert survives(path, tmp_path, None)


@pytest.mark.parametrize("name", SOURCES)
def test_damaged_sources_never_end_in_a_traceback(tmp_path: Path, name: str) -> None:
    files = max(1, COUNT // len(SOURCES))
    read = 0
    for number in range(files):
        draw = random.Random(f"{SEED} {name} {number}")
        source = damaged(SOURCES[name], draw)
        format = draw.choice([None, NAMED.get(name, name)])
        path = written(source, tmp_path / str(number))
        try:
            read += survives(path, tmp_path / "out", format)
        except Exception as error:
            raise AssertionError(f"{name}, number {number}, seed {SEED}: {source!r}") from error
    assert read or files < 10, "damage that no file survives tests nothing"


def test_names_beyond_unicode_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "formatted_train_labels.npy", np.eye(2))
    names = np.array(["a.jpg", "b.jpg"])
    names.view(np.uint32)[0] = 0xFFFFFFFF
    np.save(tmp_path / "formatted_train_images.npy", names)
    with pytest.raises(TagfillError, match="names are not text"):
        load_labels(tmp_path)


def test_an_image_that_is_the_root_folder_is_no_file(tmp_path: Path) -> None:
    labels = tmp_path / "labels.csv"
    labels.write_text("image;tags\na.jpg;cat,dog\n/;dog\n")
    assert load_labels(labels, problems=Problems()).table.classes == ("cat", "dog")


def test_a_list_in_thousands_of_lists_is_of_no_known_kind(tmp_path: Path) -> None:
    labels = tmp_path / "labels.json"
    labels.write_text('{"photos": [{"file": ' + "[" * 20_000 + "]" * 20_000 + ', "tags": []}]}')
    with pytest.raises(TagfillError):
        load_labels(labels)
