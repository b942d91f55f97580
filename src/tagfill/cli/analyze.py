"""`tagfill analyze`: figures of runs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from tagfill.analyze.kinds import KINDS
from tagfill.cli.options import Json, Names
from tagfill.cli.output import emit, log, say
from tagfill.errors import TagfillError
from tagfill.trust import trust


def analyze(
    *runs: Path,
    kind: Annotated[Names, Parameter(help=f"Figures to make: {', '.join(KINDS)}.")] = None,
    methods: Names = None,
    classes: Names = None,
    images: int = 4,
    points: int | None = None,
    out: Annotated[Path, Parameter(alias="-o")] = Path("analyses"),
    json: Json = False,
) -> None:
    """Draw figures of runs: hidden labels, losses, gains by class, attention.

    Figures are PNG and SVG, their data CSV. All figures that are possible are drawn; for the
    others the reason is printed, or is an error with --kind. Runs are compared with the first.

    Args:
        runs: Folders of finished runs.
        methods: Losses of the figure `gradients`, such as `em` or `em:alpha=1`; by default those of
            the runs.
        classes: Classes of the figure `densities`; by default the most frequent ones.
        images: Number of images in the figures `attention` and `bars`.
        points: Points along each side of `landscape`; by default 21 for linear heads, else 11.
            The time grows with their square.
        out: Folder for the files.
    """
    from tagfill.analyze.make import analyze as draw_all
    from tagfill.analyze.subject import Subject, open_runs

    if images < 1 or (points is not None and points < 3):
        raise TagfillError("--images must be at least 1, and --points at least 3")
    for named in methods or ():
        trust(named.partition(":")[0])
    subject = Subject(open_runs(runs), tuple(methods or ()), tuple(classes or ()), images, points)
    emit(draw_all(subject, out, kind or ()), _show, json=json)


def _show(result: Mapping[str, Any]) -> None:
    for figure in result["figures"]:
        say(f"{figure['files']['png']}: {figure['title']}")
        say(*(f"  {note}" for note in figure["notes"]))
    say(*(f"note: {note}" for note in result["notes"]))
    for kind, reason in result["skipped"].items():
        log.print(f"skipped {kind}: {reason}")
