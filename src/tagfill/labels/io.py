"""The one way in and out: read labels of any format, write them in any that can be written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from tagfill.errors import Problems, TagfillError
from tagfill.files import atomic_path
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats import Format, ReadOptions, find, formats


def load_labels(
    path: str | Path,
    *,
    format: str | None = None,
    options: ReadOptions | None = None,
    problems: Problems | None = None,
) -> Dataset:
    """Read labels from a file or folder.

    Args:
        path: the label source.
        format: name of its format; detected when not given.
        options: what absence means, the class list and the like.
        problems: collects the flaws. When given, errors in single rows do not raise: those cells
            stay unknown and the caller decides (this is how ``tagfill inspect`` works).

    Raises:
        TagfillError: the source is missing, of no known format, or flawed beyond use.
    """
    source = Path(path)
    if not source.exists():
        raise TagfillError("no such file or folder", file=source)
    if source.is_file() and not source.stat().st_size:
        raise TagfillError("the file is empty", file=source)
    collected = Problems() if problems is None else problems
    try:
        label_format = find(format) if format else detect(source)
        dataset = label_format.read(source, options or ReadOptions(), collected)
    except OSError as error:
        raise TagfillError(f"cannot be read ({error.strerror})", file=source) from error
    if problems is None:
        collected.raise_errors()
    return replace(dataset, problems=tuple(collected))


def save_labels(dataset: Dataset, path: str | Path, *, format: str) -> list[str]:
    """Write labels; returns sentences on what the format could not hold."""
    label_format = find(format)
    target = Path(path)
    if label_format.write is None:
        writable = ", ".join(name for name, each in formats().items() if each.write)
        raise TagfillError(f"{format} can only be read", remedy=f"write one of {writable}")
    if not len(dataset.table):
        raise TagfillError("there is no image to write", file=target)
    with atomic_path(target) as draft:
        return label_format.write(dataset, draft)


def detect(path: Path) -> Format:
    """The format a source looks like."""
    fitting = [label_format for label_format in formats().values() if label_format.detect(path)]
    hits = [label_format for label_format in fitting if not label_format.last_resort] or fitting
    if len(hits) == 1:
        return hits[0]
    names = ", ".join(label_format.name for label_format in hits or formats().values())
    reason = "could be several formats" if hits else "has no label format I know"
    raise TagfillError(reason, file=path, remedy=f"name it with --format: {names}")
