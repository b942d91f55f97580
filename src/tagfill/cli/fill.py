"""`tagfill fill`: from photos or a label file to the missing tags, in one command."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from tagfill.cli.train import DataOptions

if TYPE_CHECKING:
    from tagfill.api.fill import Filled


def fill(
    data: str,
    /,
    *,
    precision: float = 0.9,
    out: Path | None = None,
    data_options: Annotated[DataOptions | None, Parameter(name="*", group="Data")] = None,
    quiet: bool = False,
    json: bool = False,
) -> None:
    """Read labels, train, find the missing tags and write a report.

    Run it again to continue after an interruption, or for another precision: finished steps are
    not repeated.

    Args:
        data: A folder of photos with keywords inside, or a label file; see `tagfill inspect`.
        precision: Share of the suggested tags that should be right.
        out: The run folder; by default one named after DATA, under `tagfill-runs`.
        quiet: No progress.
        json: One JSON object on stdout.
    """
    from tagfill.api.fill import fill as fill_labels
    from tagfill.cli.options import given
    from tagfill.cli.output import log, print_json
    from tagfill.cli.train import make_request
    from tagfill.train.events import Terminal

    request = make_request(data, given(data_options), {})
    sinks = [] if quiet else [Terminal(log)]
    filled = fill_labels(request, out, precision=precision, sinks=sinks)
    if json:
        print_json(_summary(filled))
    else:
        _show(filled)


def _summary(filled: Filled) -> dict[str, Any]:
    return {
        "run": str(filled.run.path),
        "headline": filled.headline,
        "found": filled.found,
        "expected_precision": filled.expected_precision,
        "expected_missing": filled.expected_missing,
        "images": filled.images,
        "suggestions": str(filled.suggestions),
        "report": str(filled.report),
        "next": _next_step(filled),
    }


def _next_step(filled: Filled) -> str:
    return f"tagfill serve {filled.run.path}"


def _show(filled: Filled) -> None:
    from tagfill.cli.output import console

    lines = [
        f"{filled.headline}.",
        f"review them: {_next_step(filled)}",
        f"suggestions: {filled.suggestions}",
        f"report: {filled.report}",
    ]
    for line in lines:
        console.print(line, soft_wrap=True)
