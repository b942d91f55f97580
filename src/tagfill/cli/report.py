"""`tagfill report`: a run, or several side by side, as one HTML file."""

from __future__ import annotations

from pathlib import Path


def report(
    *runs: Path,
    out: Path | None = None,
    images: int = 2000,
    quiet: bool = False,
    json: bool = False,
) -> None:
    """Write one HTML file about a run, or one that compares several with the first.

    The file needs no network and no other file: pass it around as it is.

    Parameters
    ----------
    runs
        Folders of finished runs.
    out
        The file; by default report.html, or comparison.html, in the first folder.
    images
        Look for missing tags in at most so many training images, evenly spread; 0 for none. For one
        run only.
    quiet
        No progress.
    json
        One JSON object on stdout.
    """
    from tagfill.cli.output import console, log, print_json
    from tagfill.errors import TagfillError
    from tagfill.report.page import write_comparison, write_report
    from tagfill.train.events import Sink, Terminal

    if not runs:
        raise TagfillError("give the folder of a run, or several to compare them")
    if images < 0:
        raise TagfillError(f"the number of images cannot be {images}")
    if out is not None and out.is_dir():
        raise TagfillError("is a folder", file=out, remedy="name a file, such as report.html")
    sinks: list[Sink] = [] if quiet else [Terminal(log)]
    if len(runs) == 1:
        written = write_report(runs[0], out, images=images, sinks=sinks)
    else:
        written = write_comparison(runs, out, sinks=sinks)
    for gap in written.gaps:
        log.print(f"not on the page: {gap}", markup=False)
    if json:
        size = written.path.stat().st_size
        print_json({"report": written.path, "bytes": size, "gaps": list(written.gaps)})
    else:
        console.print(f"report: {written.path}", markup=False, soft_wrap=True)
