"""Atomic writes: a file is complete or absent. All outputs go through here.

What is written goes to a temporary file beside the target, is flushed to the disk, and takes the
target's place in one step. A crash, a full disk or an error leaves the old file intact.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from tagfill.errors import TagfillError

ABANDONED_SECONDS = 3_600.0
"""A temporary file untouched for this long was left by a process that died."""
_NAME = 40  # characters of the target's name that a temporary name repeats
_FORMULA_STARTS = frozenset("=@\t\r+-'")
_FORMULA = re.compile(r"'*(?:[=@\t\r]|[+-](?![\w./ -]*\Z))", re.DOTALL)
_DRAFT = re.compile(r"\..*\.[0-9a-f]{12}\.part(\..*)?")


@contextmanager
def atomic_path(path: str | Path, *, sync: bool = True) -> Iterator[Path]:
    """A temporary path to write to; it takes the place of ``path`` when the block ends well.

    Args:
        path: the target; its folder is made. A link is followed, a pipe or device is written to.
        sync: wait for the disk. Only for many small files that can be made again is it False.

    Raises:
        TagfillError: the file cannot be written; the old one is intact.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        with _named_errors(target, target):
            yield target
        return
    draft = _draft_name(target)
    try:
        with _named_errors(target, draft):
            target.parent.mkdir(parents=True, exist_ok=True)
            yield draft
            if target.is_file():
                shutil.copymode(target, draft)
            if sync:
                _sync(draft)
            draft.replace(target)
            if sync:
                _sync(target.parent)
    finally:
        draft.unlink(missing_ok=True)


@contextmanager
def atomic_open(
    path: str | Path, mode: str = "w", *, newline: str | None = None, sync: bool = True
) -> Iterator[Any]:
    """An open file, text in UTF-8 or binary ("wb"), that becomes ``path`` when the block ends well.

    Raises:
        TagfillError: the file cannot be written; the old one is intact.
    """
    encoding = None if "b" in mode else "utf-8"
    with (
        atomic_path(path, sync=sync) as draft,
        draft.open(mode, encoding=encoding, newline=newline) as file,
    ):
        yield file


def write_bytes(path: str | Path, content: bytes) -> None:
    """Write a whole file."""
    with atomic_open(path, "wb") as file:
        file.write(content)


def write_text(path: str | Path, text: str) -> None:
    """Write a whole text file, in UTF-8 with the line ends it has."""
    with atomic_open(path, newline="") as file:
        file.write(text)


def refuse_existing(path: Path, *, force: bool) -> None:
    """Refuse to overwrite a file unless ``force`` is set."""
    if path.exists() and not force:
        raise TagfillError("exists already", file=path, remedy="choose another, or add --force")


def json_value(value: Any) -> Any:
    """``default`` of ``json.dumps``: arrays as lists, paths and other objects as text."""
    return value.tolist() if hasattr(value, "tolist") else str(value)


def write_json(
    path: str | Path, content: Any, *, default: Callable[[Any], Any] | None = None
) -> None:
    """Write a JSON file for people and programs."""
    write_text(path, json.dumps(content, indent=2, default=default) + "\n")


def write_csv(path: str | Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table with a header line; texts that a spreadsheet would run are guarded."""
    with atomic_open(path, newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(guarded(header))
        for row in rows:
            writer.writerow(guarded(row))


def guarded(fields: Iterable[object]) -> list[object]:
    """Fields of a CSV with an apostrophe before what a spreadsheet would run as a formula."""
    return [
        f"'{field}"
        if isinstance(field, str) and field[:1] in _FORMULA_STARTS and _FORMULA.match(field)
        else field
        for field in fields
    ]


def without_guard(text: str) -> str:
    """A field as it was before ``guarded``."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def unlinked(path: Path) -> Path:
    """The path of a file in a folder that may come from anyone.

    A link in its place is removed: what it leads to would be overwritten otherwise.
    """
    if path.is_symlink():
        path.unlink()
    return path


@contextmanager
def atomic_folder(path: str | Path) -> Iterator[Path]:
    """A temporary folder to fill; it replaces ``path`` and all files in it."""
    target = Path(path)
    with _named_errors(target, target):
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{target.name[:_NAME]}-", dir=target.parent))
    try:
        with _named_errors(target, draft):
            yield draft
            draft.chmod(target.parent.stat().st_mode)  # a temporary folder is its owner's alone
            for file in draft.rglob("*"):
                _sync(file)
            _swap(draft, target)
            _sync(target.parent)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def remove_leftovers(folder: Path, older_than: float = ABANDONED_SECONDS) -> int:
    """Delete temporary files of processes that died; returns how many there were.

    Args:
        folder: searched with all its subfolders.
        older_than: seconds since the last write. 0 where nobody else can be writing.
    """
    limit, removed = time.time() - older_than, 0
    for file in folder.rglob(".*.part*"):
        with suppress(OSError):
            abandoned = _DRAFT.fullmatch(file.name) and file.stat().st_mtime <= limit
            if abandoned and file.is_file():
                file.unlink()
                removed += 1
    return removed


def _draft_name(target: Path) -> Path:
    """A hidden name with the target's suffix, from which libraries infer the format."""
    return target.with_name(f".{target.stem[:_NAME]}.{uuid.uuid4().hex[:12]}.part{target.suffix}")


def _swap(draft: Path, target: Path) -> None:
    """Replace a folder by a finished one; the old one is deleted last."""
    old = None
    if target.exists():
        old = Path(tempfile.mkdtemp(prefix=f".{target.name[:_NAME]}-old-", dir=target.parent))
        os.replace(target, old / target.name)
    os.replace(draft, target)
    if old is not None:
        shutil.rmtree(old)


def _sync(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        with suppress(OSError) if path.is_dir() else nullcontext():  # some systems sync files only
            os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _named_errors(target: Path, draft: Path) -> Iterator[None]:
    """Name the file that cannot be written; errors about other files pass through."""
    try:
        yield
    except TagfillError as error:
        if error.file is None or str(error.file) != str(draft):
            raise
        raise TagfillError(error.message, file=target, remedy=error.remedy) from error
    except OSError as error:
        ours = {str(target), str(draft), str(target.parent)}
        foreign = error.filename is not None and str(error.filename) not in ours
        if foreign or isinstance(error, BrokenPipeError):
            raise
        raise TagfillError(
            f"cannot be written ({error.strerror or error})",
            file=target,
            remedy="the old file is unchanged" if target.exists() else None,
        ) from error
