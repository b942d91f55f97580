"""A job's folder: one parquet file a block and a manifest. What is there is not done again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from tagfill.console import Progress
from tagfill.errors import TagfillError
from tagfill.files import atomic_path, write_json
from tagfill.jobs.engines import EngineName, in_blocks, run_blocks
from tagfill.jobs.work import ERROR, Work

BLOCK = 512
"""Images per part."""
MANIFEST = "manifest.json"


@dataclass(frozen=True)
class Done:
    """What a finished job wrote.

    Args:
        images: rows of all parts.
        reused: images that an earlier start had done.
    """

    folder: Path
    images: int
    failed: int
    reused: int


def run_job(
    work: Work,
    files: Sequence[str],
    folder: Path,
    *,
    engine: EngineName = "local",
    block: int = BLOCK,
    actors: int | None = None,
    force: bool = False,
    progress: Progress | None = None,
) -> Done:
    """Do the work on all files and write the parts; an interrupted job continues where it stopped.

    Args:
        force: replace the results of another job.
    """
    if not files:
        raise TagfillError("there are no images to process")
    if block < 1:
        raise TagfillError(f"a block needs at least 1 image, got {block}")
    about = {
        **work.about(),
        "images": len(files),
        "block": block,
        "files": hashlib.blake2b("\n".join(files).encode("utf-8", "surrogateescape")).hexdigest(),
    }
    blocks = in_blocks(files, block)
    _start(folder, about, force=force)
    todo = {number: part for number, part in blocks.items() if not _part(folder, number).is_file()}
    reused = done = len(files) - sum(map(len, todo.values()))
    for number, table in run_blocks(engine, work, todo, actors=actors):
        with atomic_path(_part(folder, number)) as draft:
            parquet.write_table(table, draft)
        done += len(table)
        if progress is not None:
            progress(done, len(files))
    failed = _finish(folder, about, blocks)
    return Done(folder, len(files), failed, reused)


def parts(folder: Path) -> list[Path]:
    """The parts of a finished job, in order."""
    manifest = _manifest(folder)
    if not manifest.get("parts"):
        raise TagfillError("has no finished job", file=folder, remedy="run its command again")
    return [folder / part["file"] for part in manifest["parts"]]


def _start(folder: Path, about: Mapping[str, Any], *, force: bool) -> None:
    before = _manifest(folder)
    if before and before.get("job") != about:
        if not force:
            raise TagfillError(
                "has the results of another job",
                file=folder,
                remedy="choose another folder, or add --force to replace them",
            )
        for part in folder.glob("part-*.parquet"):
            part.unlink()
    elif not before and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise TagfillError("is not empty", file=folder, remedy="choose another folder")
    if before.get("job") != about:
        write_json(folder / MANIFEST, {"job": about})


def _finish(folder: Path, about: Mapping[str, Any], blocks: Mapping[int, Sequence[str]]) -> int:
    listed, failed = [], 0
    for number in blocks:
        path = _part(folder, number)
        table: pa.Table = parquet.read_table(path, columns=[ERROR])
        failed += len(table) - table.column(ERROR).null_count
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        listed.append({"file": path.name, "rows": len(table), "sha256": digest})
    write_json(folder / MANIFEST, {"job": about, "parts": listed, "failed": failed})
    return failed


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        content = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise TagfillError(f"cannot be read ({error})", file=folder / MANIFEST) from error
    return content if isinstance(content, dict) else {}


def _part(folder: Path, number: int) -> Path:
    return folder / f"part-{number:06}.parquet"
