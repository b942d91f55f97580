"""`tagfill fill`: from photos or a label file to the missing tags, in one command."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tagfill.cli.options import Json, Quiet, given
from tagfill.cli.output import emit, log, say
from tagfill.cli.train import DataOptions


def fill(
    data: str,
    /,
    *,
    precision: float = 0.9,
    out: Path | None = None,
    data_options: DataOptions = None,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Find the missing tags of photos or of a label file.

    Reads the labels, trains a model, finds the missing tags and writes a report. Run the same
    command again to continue after an interruption; finished steps are not repeated.

    Args:
        data: A folder of photos with keywords inside, or a label file; see `tagfill inspect`.
        precision: Share of the suggested tags that should be right.
        out: The run folder; by default one named after DATA, under `tagfill-runs`.
    """
    from tagfill.api.fill import fill as fill_labels
    from tagfill.cli.train import make_request
    from tagfill.train.events import Terminal

    request = make_request(data, given(data_options), {})
    sinks = [] if quiet else [Terminal(log)]
    filled = fill_labels(request, out, precision=precision, sinks=sinks)
    result = {**vars(filled), "run": filled.run.path, "next": f"tagfill serve {filled.run.path}"}
    emit(result, _show, json=json)


def _show(result: Mapping[str, Any]) -> None:
    say(f"{result['headline']}.", f"review them: {result['next']}")
    say(*(f"{name}: {result[name]}" for name in ("suggestions", "report")))
