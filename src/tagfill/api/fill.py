"""One call from labels to missing tags: train, recover, report; continues where it stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tagfill.api.run import Run
from tagfill.errors import TagfillError
from tagfill.labels import NEGATIVE, POSITIVE, LabelTable
from tagfill.recover.choose import DEFAULT_PRECISION, Amount
from tagfill.recover.decisions import read_decisions
from tagfill.recover.files import write_suggestions
from tagfill.report.page import write_report
from tagfill.train import run as runs
from tagfill.train.events import Sink
from tagfill.train.folder import RUNS, RunFolder, free_path
from tagfill.train.resolve import Request

SUGGESTIONS = "suggestions.csv"


@dataclass(frozen=True)
class Filled:
    """The result of ``fill``.

    Args:
        suggestions: file of the missing tags, to confirm or reject.
        found: number of missing tags suggested.
        expected_precision: share of them expected to be right; none if nothing was found.
        expected_missing: how many tags are probably missing in all.
        headline: the result in one sentence.
    """

    run: Run
    suggestions: Path
    report: Path
    found: int
    expected_precision: float | None
    expected_missing: float
    images: int
    headline: str


def fill(
    request: Request,
    out: Path | None = None,
    *,
    precision: float = DEFAULT_PRECISION,
    sinks: Sequence[Sink] = (),
) -> Filled:
    """Train, find the missing tags and write the report; finished steps are not repeated.

    Args:
        out: the run folder; by default one named after the labels, under ``tagfill-runs``.
        precision: share of the suggested tags that should be right.
    """
    amount = Amount(precision)
    run = _trained(request, out, sinks)
    run.sinks = tuple(sinks)
    recovery = run.recovery
    chosen, suggestions = recovery.suggest(amount), run.path / SUGGESTIONS
    decided = _decided(suggestions, recovery.table)
    write_suggestions(chosen, recovery.table, recovery.evidence.kind, suggestions, decided)
    report = write_report(run, recovery=recovery, precision=precision, sinks=sinks)
    return Filled(
        run=run,
        suggestions=suggestions,
        report=report.path,
        found=len(chosen),
        expected_precision=chosen.expected_precision,
        expected_missing=recovery.expected_missing,
        images=len(recovery.table),
        headline=recovery.summary(chosen),
    )


def _decided(file: Path, table: LabelTable) -> dict[tuple[str, str], str]:
    """Decisions a person has entered in the suggestions of an earlier call."""
    if not file.is_file():
        return {}
    try:
        decisions = read_decisions(file, table)
    except TagfillError as error:
        raise TagfillError(
            f"cannot be read, and may hold decisions: {error.message}",
            file=file,
            row=error.row,
            remedy="fix or move the file, then run this command again",
        ) from error
    words = {POSITIVE: "yes", NEGATIVE: "no"}
    return {(d.image, d.tag): words[d.value] for d in decisions if d.value in words}


def _trained(request: Request, out: Path | None, sinks: Sequence[Sink]) -> Run:
    """The run of an earlier call with the same labels, continued to its end; else a new one."""
    name = Path(request.data.labels).resolve().stem or "photos"
    folder = out or RUNS / name
    if RunFolder(folder).config.is_file():
        run = Run.adopt(runs.resume(folder, sinks)) if out else _same_labels(folder, request, sinks)
        if run is not None:
            return run
        folder = free_path(name)
    return Run.adopt(runs.fit(request, folder, sinks))


def _same_labels(folder: Path, request: Request, sinks: Sequence[Sink]) -> Run | None:
    """The run of a folder, unless it has other labels or they have changed since."""
    data = request.data.absolute()
    earlier = Run.open(folder, sinks).config.data
    same_images = not earlier.images or not data.images or earlier.images == data.images
    if earlier.labels != data.labels or not same_images:
        return None
    try:
        run = Run.adopt(runs.resume(folder, sinks))
        return run if run.data else None
    except TagfillError:
        return None
