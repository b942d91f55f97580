"""Atomic writes: a file is complete or absent. All outputs go through here.

What is written goes to a temporary file beside the target, is flushed to the disk, and takes the
target's place in one step. A crash, a full disk or an error leaves the old file intact.
"""

from __future__ import annotations

import csv
import glob
import io
import json
import os
import platform
import re
import shutil
import stat
import time
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO

from tagfill.errors import TagfillError

JsonObject = Mapping[str, Any]

ABANDONED_SECONDS = 3_600.0
"""A temporary file untouched for this long was left by a process that died."""
MOST_TEXT = 256_000_000
"""Bytes of the largest text file of a run or model that is read; of settings a part of that."""
_NAME = 40  # characters of the target's name that a temporary name repeats
_FORMULA_STARTS = frozenset("=@\t\r+-'")
_FORMULA = re.compile(r"'*(?:[=@\t\r]|[+-](?![\w./ -]*\Z))", re.DOTALL)
_HERE = f"{zlib.crc32(platform.node().encode()):08x}"
_DRAFT = re.compile(r"\..*\.(?:([0-9a-f]{8})([0-9a-f]{8}))?[0-9a-f]{12}\.part(\..*)?", re.DOTALL)


@contextmanager
def atomic_path(path: str | Path, *, sync: bool = True, own_folder: bool = False) -> Iterator[Path]:
    """A temporary path to write to; it takes the place of ``path`` when the block ends well.

    Args:
        path: the target; its folder is made. A link is followed, a pipe or device is written to.
        sync: wait for the disk. Only for many small files that can be made again is it False.
        own_folder: for libraries that write temporary files of their own beside the file.

    Raises:
        TagfillError: the file cannot be written; the old one is intact.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        with _named_errors(target, target):
            yield target
        return
    temporary = _draft_name(target)
    draft = temporary / target.name if own_folder else temporary
    try:
        with _named_errors(target, draft):
            draft.parent.mkdir(parents=True, exist_ok=True)
            if sync:
                _remove_abandoned(
                    target.parent.glob(f".{glob.escape(target.stem[:_NAME])}.*.part*")
                )
            yield draft
            if target.is_file():
                shutil.copymode(target, draft)
            if sync:
                _sync(draft)
            draft.replace(target)
            if sync:
                _sync(target.parent)
    finally:
        with suppress(OSError):  # nothing can be removed where nothing could be written
            shutil.rmtree(temporary) if temporary.is_dir() else temporary.unlink()


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


def open_regular(path: str | Path, most: int) -> BinaryIO:
    """Open a file to read, and nothing else: a pipe or a device could block or never end.

    Raises:
        TagfillError: there is no such file, it cannot be read, is something else, or has more than
            ``most`` bytes.
    """
    try:
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError as error:
        raise TagfillError("no such file", file=path) from error
    except (OSError, ValueError) as error:  # a name may hold a null character
        reason = getattr(error, "strerror", None) or error
        raise TagfillError(f"cannot be read ({reason})", file=path) from error
    state = os.fstat(handle)
    if not stat.S_ISREG(state.st_mode):
        os.close(handle)
        raise TagfillError("is not a regular file", file=path)
    if state.st_size > most:
        os.close(handle)
        raise TagfillError(f"has {state.st_size:,} bytes, too many for such a file", file=path)
    return os.fdopen(handle, "rb")


def read_text(path: Path, *, errors: str = "strict", most: int = MOST_TEXT) -> str:
    """A text file in UTF-8: settings, metrics, a description.

    Raises:
        TagfillError: it cannot be read, is no text, or is far larger than any of those.
    """
    with open_regular(path, most) as file:
        try:
            return io.TextIOWrapper(file, encoding="utf-8-sig", errors=errors).read()
        except UnicodeDecodeError as error:
            raise TagfillError(f"is not text in UTF-8 ({error})", file=path) from error


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
        for row in chain((header,), rows):
            if any(isinstance(field, str) and "\r" in field for field in row):
                # left without quotes by Python before 3.13, and then read as the end of a line
                raise TagfillError("a name with a carriage return cannot be written", file=path)
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

    A link in its place is removed: what it leads to would be overwritten otherwise. So is a pipe,
    which would be waited for.
    """
    if path.is_symlink() or (path.exists() and not path.is_file() and not path.is_dir()):
        path.unlink()
    return path


@contextmanager
def atomic_folder(path: str | Path) -> Iterator[Path]:
    """A temporary folder to fill; it replaces ``path`` and all files in it."""
    target = Path(path)
    with _named_errors(target, target):
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = _draft_name(target)
        draft.mkdir()
    try:
        with _named_errors(target, draft):
            yield draft
            for file in draft.rglob("*"):
                _sync(file)
            _swap(draft, target)
            _sync(target.parent)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def remove_leftovers(folder: Path, older_than: float = ABANDONED_SECONDS) -> int:
    """Delete temporary files and folders of processes that died; returns how many there were.

    Args:
        older_than: seconds since the last write, for those of processes on other machines. 0 where
            nobody else can be writing.
    """
    return _remove_abandoned(folder.rglob(".*.part*"), older_than)


def _remove_abandoned(files: Iterable[Path], older_than: float = ABANDONED_SECONDS) -> int:
    limit, removed = time.time() - older_than, 0
    for file in list(files):
        with suppress(OSError):
            if _is_abandoned(file, limit):
                shutil.rmtree(file) if file.is_dir() else file.unlink()
                removed += 1
    return removed


def _is_abandoned(file: Path, limit: float) -> bool:
    """Whether nobody writes to a draft any more: its process is gone, or elsewhere and silent."""
    match = _DRAFT.fullmatch(file.name)
    if match is None:
        return False
    if match[1] == _HERE and os.name == "posix":
        return not _is_running(int(match[2], 16))
    return file.stat().st_mtime <= limit


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # somebody else's
    return True


def _draft_name(target: Path) -> Path:
    """A hidden name with its maker and the target's suffix, from which libraries infer formats."""
    made = f"{_HERE}{os.getpid():08x}{uuid.uuid4().hex[:12]}"
    return target.with_name(f".{target.stem[:_NAME]}.{made}.part{target.suffix}")


def _swap(draft: Path, target: Path) -> None:
    """Replace a folder by a finished one; the old one is deleted last."""
    old = None
    if target.exists():
        old = _draft_name(target)
        old.mkdir()
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
        ours = {str(target), str(draft), str(draft.parent), str(target.parent)}
        foreign = error.filename is not None and str(error.filename) not in ours
        if foreign or isinstance(error, BrokenPipeError):
            raise
        raise TagfillError(
            f"cannot be written ({error.strerror or error})",
            file=target,
            remedy="the old file is unchanged" if target.exists() else None,
        ) from error
