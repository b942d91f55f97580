"""`tagfill features`: features of images as parquet files."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from tagfill.cli.options import Force, Json, Quiet
from tagfill.cli.output import log, print_json
from tagfill.errors import TagfillError
from tagfill.predict.sources import Unreadable, find_files
from tagfill.remote import RemoteFile
from tagfill.train.events import Pace, Terminal
from tagfill.train.folder import RunFolder

if TYPE_CHECKING:
    from tagfill.jobs.work import Work


def features(
    *paths: str,
    out: Path,
    backbone: str = "efficientnet_lite0",
    run: Path | None = None,
    input_size: int | None = None,
    engine: Literal["local", "ray"] = "local",
    actors: int | None = None,
    block: int = 512,
    workers: int = 2,
    force: Force = False,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Extract features of images to parquet files.

    Writes one file per block, and a manifest. Run the same command again to continue an
    interrupted job. Images that cannot be read have a reason instead of features; the exit code
    is then 1.

    Args:
        paths: Image files, folders, patterns in quotes, or URLs.
        out: The folder of the results.
        backbone: See `tagfill backbones`.
        run: Use the backbone of a run instead.
        input_size: Side of the square input in pixels.
        engine: This process, or the workers of a Ray cluster ($RAY_ADDRESS, else one on this
            machine).
        actors: Workers of a cluster; by default one per processor or GPU.
        block: Images per file.
        workers: Threads that decode images in every worker.
        force: Replace the results of another job.
        quiet: No progress and no closing line on stderr.
    """
    from tagfill.jobs.work import FeatureWork

    for name, value in (("workers", workers), ("actors", 1 if actors is None else actors)):
        if not 1 <= value <= 1_024:
            raise TagfillError(f"--{name} must be from 1 to 1,024, got {value:,}")
    source = backbone if run is None else str(RunFolder.open(run)[0].model.resolve())
    work = FeatureWork(source, size=input_size, threads=workers)
    return run_job_of(
        work, paths, out, engine, actors=actors, block=block, force=force, quiet=quiet, json=json
    )


def run_job_of(
    work: Work,
    paths: Sequence[str],
    out: Path | None,
    engine: Literal["local", "ray"],
    *,
    actors: int | None = None,
    block: int = 512,
    force: bool = False,
    quiet: bool = False,
    json: bool = False,
) -> int:
    """Find the files, run the job and print the result; returns the exit code."""

    from tagfill.jobs.folder import run_job

    if out is None:
        raise TagfillError("a job needs a folder for its results", remedy="name it with --out")
    sources = list(find_files(paths, ()))
    nothing = [item for item in sources if isinstance(item, Unreadable)]
    for item in nothing:
        log.print(f"skipped: {item.image}: {item.reason}")
    files = [
        str(file) if isinstance(file, RemoteFile) else str(file.absolute())
        for file in sources
        if not isinstance(file, Unreadable)
    ]
    started = time.monotonic()
    with image_progress(f"{engine} engine", quiet=quiet) as progress:
        done = run_job(
            work,
            files,
            out,
            engine=engine,
            block=block,
            actors=actors,
            force=force,
            progress=progress,
        )
    seconds = max(time.monotonic() - started, 1e-9)
    if json:
        print_json({**vars(done), "seconds": seconds})
    elif not quiet:
        rate = (done.images - done.reused) / seconds
        before = f", {done.reused:,} done before" if done.reused else ""
        bad = f", {done.failed:,} cannot be read" if done.failed else ""
        log.print(f"{out}: {done.images:,} images{before}{bad}, {rate:.1f} a second ({engine})")
    return 1 if done.failed or nothing else 0


@contextmanager
def image_progress(label: str, *, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """Shows images per second and the time left on stderr."""
    if quiet:
        yield None
        return
    terminal, pace = Terminal(log), Pace()

    def progress(done: int, total: int) -> None:
        rate = pace.at(done, total).per_second
        terminal.progress(done, total, f"{label}, {rate:.0f} images/s")

    try:
        yield progress
    finally:
        terminal.close()
