"""Hugging Face datasets saved to disk: an image column beside classes or lists of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from tagfill.array_files import bounded_table
from tagfill.errors import TagfillError
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._json_values import (
    listed,
    load_json,
    mapped,
    texts,
)
from tagfill.labels.formats._names import SPLIT
from tagfill.labels.formats.base import Format, Source
from tagfill.labels.formats.parquet import read_arrow

_INFO, _SPLITS = "dataset_info.json", "dataset_dict.json"


def _detect(path: Path) -> bool:
    return (path / _SPLITS).is_file() or (
        (path / _INFO).is_file() and any(path.glob("data-*.arrow"))
    )


def _read(source: Source) -> Dataset:
    path = source.path
    if not path.is_dir():
        raise source.refusal("expected a folder that datasets wrote with save_to_disk")
    folders = {"": path}
    if (path / _SPLITS).is_file():
        names = texts(mapped(load_json(path / _SPLITS)).get("splits"))
        folders = {name: path / name for name in names if "/" not in name and name != ".."}
    tables = [_table(folder, name) for name, folder in folders.items()]
    if not tables:
        raise source.refusal("it has no splits")
    try:
        table = pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise source.refusal(f"its splits do not match each other ({error})") from None
    dataset = read_arrow(source, table)
    note = "images are inside the data set; to train, write them to files with these names"
    return replace(dataset, notes=(*dataset.notes, note))


def _table(folder: Path, split: str) -> pa.Table:
    features = mapped(mapped(load_json(folder / _INFO)).get("features"))
    parts = []
    for file in sorted(folder.glob("data-*.arrow")):
        try:
            with pa.memory_map(str(file)) as source:
                stream = pa.ipc.open_stream(source)
                part = bounded_table(stream, stream.schema, file)
                part.validate(full=True)
                parts.append(part)
        except (pa.ArrowException, OSError, ValueError) as error:
            raise TagfillError(f"not readable as Arrow data ({error})", file=file) from None
    if not parts:
        raise TagfillError("it has no data-*.arrow", file=folder)
    table = pa.concat_tables(parts)
    for number, name in enumerate(table.column_names):
        classes = _classes(features.get(name))
        if classes:
            values = table.column(number).to_pylist()
            lists = ([value] if isinstance(value, int) else listed(value) for value in values)
            column = [
                [classes[n] for n in numbers if isinstance(n, int) and 0 <= n < len(classes)]
                for numbers in lists
            ]
            table = table.set_column(number, name, pa.array(column, pa.list_(pa.string())))
        elif mapped(features.get(name)).get("_type") == "Image":
            paths = [mapped(value).get("path") for value in table.column(number).to_pylist()]
            if len({path for path in paths if path and isinstance(path, str)}) < len(paths):
                paths = [f"{split or 'image'}-{row:06}.png" for row in range(len(paths))]
            table = table.set_column(number, name, pa.array(paths, pa.string()))
    return table.append_column(SPLIT, pa.array([split] * len(table))) if split else table


def _classes(feature: Any) -> list[str]:
    """The class names of a feature, or of the lists it holds."""
    if isinstance(feature, list) and feature:
        return _classes(feature[0])
    inner: Mapping[str, Any] = mapped(feature)
    return texts(inner.get("names")) or (_classes(inner["feature"]) if "feature" in inner else [])


FORMAT = Format("hf_disk", "Hugging Face datasets folder (save_to_disk)", _detect, _read)
