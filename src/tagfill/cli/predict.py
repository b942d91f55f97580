"""`tagfill predict`: tags for new images."""

from __future__ import annotations

import io
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TextIO

from cyclopts import Parameter

from tagfill.cli.features import image_progress, run_job_of
from tagfill.cli.options import Force, Json, Quiet
from tagfill.cli.output import log
from tagfill.errors import TagfillError
from tagfill.files import refuse_existing
from tagfill.predict.sources import STANDARD_INPUT, Unreadable, find_files

if TYPE_CHECKING:
    from tagfill.predict.writers import OutputFormat


def predict(
    run: Path,
    /,
    *paths: Annotated[str, Parameter(allow_leading_hyphen=True)],
    out: Path | None = None,
    format: Literal["table", "json", "jsonl", "csv", "parquet"] | None = None,
    top: int | None = None,
    threshold: float | None = None,
    batch_size: int = 32,
    workers: int = 2,
    device: str | None = None,
    engine: Literal["local", "ray"] = "local",
    force: Force = False,
    quiet: Quiet = False,
    json: Json = False,
) -> int:
    """Tag new images.

    Results are written as they come. Images that cannot be read are named on stderr and skipped;
    the exit code is then 1.

    Args:
        run: A run folder, a model folder, or an exported .onnx or .pt2 file.
        paths: Image files, folders, patterns in quotes ("photos/**/*.jpg"), or - for names on
            standard input. For a run on given features: .npy files.
        out: Write here instead of to the terminal; the suffix determines the format.
        format: table (readable); json, jsonl (tags), csv, parquet (tags and all probabilities).
        top: Give this many tags per image, the most probable ones.
        threshold: Give tags with at least this probability, instead of the model's thresholds.
            With --top, at most that many.
        batch_size: Images per batch.
        workers: Threads that decode images.
        device: Where torch runs: cpu, cuda, cuda:1 ...
        engine: ray: on the workers of a Ray cluster (that of $RAY_ADDRESS, else one on this
            machine); OUT is then a folder of parquet files with a manifest, and the same command
            continues where it was interrupted.
        quiet: No progress and no closing line on stderr.
        json: The same as --format json.
    """
    from tagfill.jobs.work import PredictWork
    from tagfill.models.engines import open_engine
    from tagfill.models.graphs import WORTH_EXPORTING
    from tagfill.models.tagging import TagRule
    from tagfill.predict.stream import FEATURES, predict_stream
    from tagfill.predict.writers import open_writer

    _refuse_options(paths)
    if engine == "ray":
        work = PredictWork(str(run.resolve()), top, threshold, workers)
        return run_job_of(work, paths, out, "ray", force=force, quiet=quiet, json=json)
    target, kind = _target(out, "json" if json else format, force)
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="surrogateescape")  # file names need not be UTF-8
    total = None if STANDARD_INPUT in paths else sum(1 for _ in find_files(paths, ()))
    opened = open_engine(run, device, images=WORTH_EXPORTING if total is None else total)
    rule = TagRule.of(opened.metadata, top=top, threshold=threshold)
    suffix = FEATURES if opened.metadata.reads == "features" else None
    files = find_files(paths, sys.stdin, suffix=suffix)
    unreadable: list[Unreadable] = []
    images, started = 0, time.monotonic()
    stream = predict_stream(opened, files, rule, batch_size=batch_size, workers=workers)
    shows = total and suffix is None and not quiet and (out is not None or not sys.stdout.isatty())
    with (
        image_progress("predict", quiet=not shows) as progress,
        open_writer(target, kind, opened.metadata.classes, str(run)) as writer,
    ):
        for number, item in enumerate(stream, 1):
            if isinstance(item, Unreadable):
                unreadable.append(item)
                log.print(f"skipped: {item.image}: {item.reason}")
            else:
                writer.write(item)
                images += 1
            if total and progress is not None:
                progress(number, total)
        writer.close(unreadable)
    if unreadable and not images:
        raise TagfillError("none of the images can be read", remedy="see the messages above")
    if not quiet:
        seconds = max(time.monotonic() - started, 1e-9)
        skipped = f", {len(unreadable):,} skipped" if unreadable else ""
        log.print(f"{images:,} images{skipped}, {images / seconds:.1f} a second ({opened.name})")
    return 1 if unreadable else 0


def _refuse_options(paths: tuple[str, ...]) -> None:
    if not paths:
        raise TagfillError("give image files, folders or patterns, or - for names on stdin")
    for path in paths:
        if path.startswith("-") and path != STANDARD_INPUT:
            raise TagfillError(f"unknown option {path}", remedy="see `tagfill predict --help`")


def _target(
    out: Path | None, format: OutputFormat | None, force: bool
) -> tuple[Path | TextIO, OutputFormat]:
    from tagfill.predict.writers import BY_SUFFIX

    if out is None:
        return sys.stdout, format or "table"
    refuse_existing(out, force=force)
    kind = format or BY_SUFFIX.get(out.suffix.lower())
    if kind is None:
        raise TagfillError(
            "the suffix does not determine the format",
            file=out,
            remedy="add --format jsonl or another",
        )
    return out, kind
