"""`tagfill analyze`: figures of runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from tagfill.analyze.kinds import KINDS

if TYPE_CHECKING:
    from tagfill.analyze.make import Analyses


def analyze(
    *runs: Path,
    kind: Annotated[
        list[str] | None,
        Parameter(consume_multiple=True, negative="", help=f"Figures to make: {', '.join(KINDS)}."),
    ] = None,
    methods: Annotated[list[str] | None, Parameter(consume_multiple=True, negative="")] = None,
    classes: Annotated[list[str] | None, Parameter(consume_multiple=True, negative="")] = None,
    images: int = 4,
    points: int | None = None,
    out: Annotated[Path, Parameter(alias="-o")] = Path("analyses"),
    json: bool = False,
) -> None:
    """Draw figures of runs as PNG and SVG, with the data as CSV.

    Draws every figure the runs allow and reports why others are left out. With --kind, a figure
    that cannot be drawn is an error. Other runs are compared with the first.

    Args:
        runs: Folders of finished runs.
        methods: Losses of the figure `gradients`, such as `em` or `em:alpha=1`; by default those of
            the runs.
        classes: Classes of the figure `densities`; by default the most frequent ones.
        images: Number of images in the figures `attention` and `bars`.
        points: Points along each side of `landscape`; by default 21 for linear heads, else 11.
            The time grows with their square.
        out: Folder for the files.
        json: One JSON object on stdout.
    """
    from tagfill.analyze.make import analyze as draw_all
    from tagfill.analyze.subject import Subject, open_runs
    from tagfill.cli.output import print_json
    from tagfill.errors import TagfillError
    from tagfill.trust import trust

    if images < 1 or (points is not None and points < 3):
        raise TagfillError("there must be an image, and three points to a side")
    for named in methods or ():
        trust(named.partition(":")[0])
    subject = Subject(open_runs(runs), tuple(methods or ()), tuple(classes or ()), images, points)
    analyses = draw_all(subject, out, kind or ())
    if json:
        print_json(_metadata(analyses))
    else:
        _show(analyses)


def _metadata(analyses: Analyses) -> dict[str, Any]:
    figures = [
        {
            "kind": made.kind,
            "title": KINDS[made.kind],
            "files": {suffix: str(path) for suffix, path in made.files.items()},
            "findings": made.findings,
            "notes": list(made.notes),
        }
        for made in analyses.made
    ]
    return {"figures": figures, "skipped": analyses.skipped, "notes": list(analyses.notes)}


def _show(analyses: Analyses) -> None:
    from tagfill.cli.output import console, log

    for made in analyses.made:
        console.print(f"{made.files['png']}: {KINDS[made.kind]}", soft_wrap=True)
        for note in made.notes:
            console.print(f"  {note}", soft_wrap=True)
    for note in analyses.notes:
        console.print(f"note: {note}", soft_wrap=True)
    for kind, reason in analyses.skipped.items():
        log.print(f"skipped {kind}: {reason}")
