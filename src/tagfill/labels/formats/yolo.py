"""YOLO labels: a text file per image with a class number and a box, or an outline, on each line.

The files are beside the images, or in ``labels`` where these are in ``images``. Class names are
in ``data.yaml``, ``classes.txt``, ``obj.names`` or the like. An image with a file shows no other
classes; of one without, nothing is known.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._builder import LabelBuilder
from tagfill.labels.formats._folders import labeled_images, sample, split_of
from tagfill.labels.formats._text import head, text_lines
from tagfill.labels.formats.base import Format, Source
from tagfill.labels.table import POSITIVE

_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_LINE = re.compile(rf"\d+(?:\s+{_NUMBER}){{4,}}")
_LISTS = ("classes.txt", "obj.names", "_darknet.labels", "labels.txt", "names.txt")
_NAMES = re.compile(
    r"^names\s*:\s*(?:#.*)?(\[[^\]]*\]|\{[^}]*\}|(?:\s*\n[ \t]*(?:-|\d+\s*:).*)+)", re.M
)
_NAME = re.compile(r"""\s*(?:(\d+)\s*:|-\s)?\s*(?:'([^']*)'|"([^"]*)"|([^,\n'"\[\]{}]+))""")
_COMMENT = re.compile(r"\s#.*")


def is_yolo(text: str) -> bool:
    """Whether all lines of a text are class numbers and coordinates."""
    lines = text.split("\n")
    return all(_LINE.fullmatch(line.strip()) for line in lines if line.strip())


def _folder(path: Path) -> Path:
    return path if path.is_dir() else path.parent


def _detect(path: Path) -> bool:
    if path.is_file() and (path.suffix.lower() not in (".yaml", ".yml") or not _names_in(path)):
        return False
    files = sample(_folder(path), [".txt"])
    return bool(files) and all(is_yolo(head(file)) for file in files if file.name not in _LISTS)


def _read(source: Source) -> Dataset:
    folder = _folder(source.path)
    builder = LabelBuilder(source)
    names = _class_names(builder)
    for name in names:
        builder.label(name)
    unlabeled: list[int] = []
    for image, file in labeled_images(folder, [".txt"]):
        record = builder.record(str(image))
        builder.split(record, split_of(image))
        if file is None:
            unlabeled.append(record)
        else:
            _state(record, file, names, builder)
    if len(unlabeled) == len(builder):
        raise source.refusal("no image has a file of labels beside it or in 'labels'")
    builder.close_world(except_for=unlabeled)
    return builder.dataset(folder)


def _state(record: int, file: Path, names: Sequence[str], builder: LabelBuilder) -> None:
    shown: set[int | None] = set()
    problems = builder.source.problems
    for row, line in text_lines(file):
        if not _LINE.fullmatch(line.strip()):
            problems.error("expected a class number and coordinates", file=file, row=row)
            continue
        number, *values = line.split()
        if names and int(number) >= len(names):
            unlisted = f"class {number} is not in the list of {len(names)} names"
            problems.error(unlisted, file=file, row=row)
            continue
        label = builder.label(names[int(number)] if names else number, row)
        shown.add(label)
        builder.boxes.add(record, label, _corners([float(value) for value in values]), (1, 1))
    for label in shown:
        builder.mark(record, label, POSITIVE)


def _corners(values: Sequence[float]) -> tuple[float, ...]:
    """Left, top, right, bottom of a box by center and size, or of an outline."""
    if len(values) < 6:
        x, y, width, height = values[:4]
        return x - width / 2, y - height / 2, x + width / 2, y + height / 2
    across, down = values[0 : len(values) // 2 * 2 : 2], values[1::2]
    return min(across), min(down), max(across), max(down)


def _class_names(builder: LabelBuilder) -> list[str]:
    """The names of the classes by number; empty if there is no list of them."""
    path, listed = builder.source.path, builder.source.options.classes
    if listed is not None:
        return list(listed)
    folder = _folder(path)
    for place in (folder, folder / "labels", folder.parent):
        files = [path] if path.is_file() else sorted([*place.glob("*.yaml"), *place.glob("*.yml")])
        for file in [*files, *(place / name for name in _LISTS)]:
            names = _names_in(file) if file.is_file() else []
            if names:
                builder.notes.append(f"class names are from {file.name}")
                return names
    builder.notes.append("there is no list of class names: classes are called by their numbers")
    return []


def _names_in(file: Path) -> list[str]:
    """The names that a list, one per line, or the key ``names`` of a YAML file holds, in order."""
    text = head(file)
    if file.suffix.lower() not in (".yaml", ".yml"):
        return [line.strip() for line in text.splitlines() if line.strip()]
    block = _NAMES.search(_COMMENT.sub("", text))
    if block is None:
        return []
    names: dict[int, str] = {}
    for match in _NAME.finditer(block[1]):
        name = next((part for part in match.groups()[1:] if part is not None), "").strip()
        if name:
            names[int(match[1]) if match[1] else len(names)] = name
    return [names.get(number, str(number)) for number in range(max(names, default=-1) + 1)]


FORMAT = Format(
    "yolo",
    "YOLO labels: a text file of classes and boxes per image",
    _detect,
    _read,
    default_absent="negative",
)
