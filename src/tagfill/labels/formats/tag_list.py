r"""Tag list: a CSV ``image,tags[,split]`` with the positives of an image in one field.

Tags are separated by ``;``, ``|`` or ``,``; a backslash before one of these (or before a backslash)
makes it part of the tag. Rows with tags and no image, above all others, list the classes.
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

from tagfill.errors import Problems
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats._fields import named_records
from tagfill.labels.formats._gather import Gather
from tagfill.labels.formats._text import SPLIT, TAGS_NAMES, csv_kind
from tagfill.labels.formats._write import known_labels, not_held, positives_only, split_of_rows
from tagfill.labels.formats.base import Format, ReadOptions
from tagfill.labels.table import POSITIVE

SEPARATORS = ";|,"
_ESCAPE = re.compile(r"([\\;|,])")
_UNESCAPE = re.compile(r"\\([\\;|,])")
_PARTS = {mark: re.compile(rf"((?:\\[\\;|,]|[^{re.escape(mark)}])*)") for mark in SEPARATORS}


def _detect(path: Path) -> bool:
    return csv_kind(path) == FORMAT.name


def _read(path: Path, options: ReadOptions, problems: Problems) -> Dataset:
    gather = Gather(path, options, problems, FORMAT.default_absent)
    records = list(named_records(path, TAGS_NAMES, problems))
    used = _separators([fields[TAGS_NAMES[0]] for _, _, fields in records])
    separator = used[0] if used else SEPARATORS[0]
    for row, image, fields in records:
        tags = split_tags(fields[TAGS_NAMES[0]], separator)
        labels = [gather.label(tag, row) for tag in tags]
        if not image and not len(gather) and labels:
            continue
        record = gather.record(image, row)
        gather.split(record, fields.get(SPLIT, ""), row)
        for label in labels:
            gather.mark(record, label, POSITIVE, row)
    if len(used) > 1:
        others = " and ".join(repr(mark) for mark in used[1:])
        problems.warn(
            f"tags were separated at {separator!r}; {others} became part of tags", file=path
        )
    gather.notes.append(f"tags are separated by {separator!r}")
    return gather.dataset(FORMAT.name)


def split_tags(text: str, separator: str) -> list[str]:
    r"""The tags of one field, outer blanks removed.

    >>> split_tags(r"cat; polar bear;a\;b", ";")
    ['cat', 'polar bear', 'a;b']
    """
    parts = (match.strip() for match in _PARTS[separator].findall(text))
    return [_UNESCAPE.sub(r"\1", part) for part in parts if part]


def join_tags(tags: list[str]) -> str:
    """One field of tags, separated by semicolons."""
    return ";".join(_ESCAPE.sub(r"\\\1", tag) for tag in tags)


def _separators(texts: list[str]) -> list[str]:
    bare = [_UNESCAPE.sub("", text) for text in texts]
    return [mark for mark in SEPARATORS if any(mark in text for text in bare)]


def _write(dataset: Dataset, path: Path) -> list[str]:
    table = dataset.table
    names, lost = split_of_rows(dataset)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["image", "tags"] + ([SPLIT] if dataset.splits else []))
        writer.writerow(["", join_tags(list(table.classes))] + [""] * bool(dataset.splits))
        for row, image in enumerate(table.images):
            split = [names[row]] if dataset.splits else []
            writer.writerow([image, join_tags(known_labels(table, row, POSITIVE)), *split])
    return lost + positives_only(table) + not_held(dataset)


FORMAT = Format(
    name="tag_list",
    title='CSV of tag lists: image,"a;b;c"',
    detect=_detect,
    read=_read,
    write=_write,
    default_absent="unknown",
)
