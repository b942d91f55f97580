"""`tagfill fill`: from photos or a label file to the missing tags, in one command."""

from __future__ import annotations

from pathlib import Path

from tagfill.cli.options import Json, Quiet, given
from tagfill.cli.output import log, print_json, say
from tagfill.cli.train import DataOptions, make_request
from tagfill.train.events import Terminal


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

    request = make_request(data, given(data_options), {})
    sinks = [] if quiet else [Terminal(log)]
    filled = fill_labels(request, out, precision=precision, sinks=sinks)
    run, command = filled.run.path, f"tagfill serve {filled.run.path}"
    if json:
        print_json({**vars(filled), "run": run, "next": command})
        return
    say(f"{filled.headline}.", f"review them: {command}")
    say(f"suggestions: {filled.suggestions}", f"report: {filled.report}")
