"""Decisions on a few images, written back by `tagfill apply`, and the labels before and after."""

from __future__ import annotations

import contextlib
import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from tagfill.cli.main import main
from tagfill.labels.io import load_labels

DECISIONS = "image,tag,probability,decision\na.jpg,dog,0.9,yes\nb.jpg,cat,0.8,no\nc.jpg,dog,0.7,\n"
BEFORE = {("a.jpg", "cat"): 1, ("b.jpg", "dog"): 1, ("c.jpg", "cat"): 1}
AFTER = {**BEFORE, ("a.jpg", "dog"): 1, ("b.jpg", "cat"): 0}


def apply(folder: Path, data: Path, *more: object, decisions: str = DECISIONS) -> dict[str, Any]:
    (folder / "suggestions.csv").write_text(decisions)
    arguments = ["apply", str(folder / "suggestions.csv"), str(data), *map(str, more), "--json"]
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        assert main(arguments) == 0
    result: dict[str, Any] = json.loads(stream.getvalue())
    return result


def labels(path: Path) -> dict[tuple[str, str], int]:
    table = load_labels(path).table
    return {
        (image, name): int(value)
        for image, row in zip(table.images, table.values, strict=True)
        for name, value in zip(table.classes, row, strict=True)
        if value != -1
    }


def reviewed(path: Path) -> set[tuple[str, str]]:
    table = load_labels(path).table
    assert table.reviewed is not None
    return {(table.images[r], table.classes[c]) for r, c in np.argwhere(table.reviewed).tolist()}
