"""`tagfill report`: a run, or several side by side, as one HTML file."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagfill.cli.options import Json, Quiet
from tagfill.cli.output import log, print_json, say
from tagfill.errors import TagfillError
from tagfill.train.events import Terminal

if TYPE_CHECKING:
    from tagfill.train.trained import TrainedRun

_TOGETHER = {"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"}
"""Variables that torchrun sets in every process."""


class Bar(Terminal):
    """Progress only; decisions are on the page."""

    def event(self, kind: str, metadata: Mapping[str, Any]) -> None: ...


def report(
    *runs: Path,
    out: Path | None = None,
    images: int = 2000,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Write a report of a run, or a comparison of several, as one HTML file.

    Several runs are compared with the first. The file needs no network and no other file.

    Args:
        runs: Folders of finished runs.
        out: The file; by default report.html, or comparison.html, in the first folder.
        images: With one run: search at most this many training images for missing tags, evenly
            spread; 0 for none.
    """
    from tagfill.report.page import write_comparison, write_report

    if not runs:
        raise TagfillError("give the folder of a run, or several to compare them")
    if images < 0:
        raise TagfillError(f"the number of images cannot be {images}")
    if out is not None and out.is_dir():
        raise TagfillError("is a folder", file=out, remedy="name a file, such as report.html")
    sinks = [] if quiet else [Bar(log)]
    if len(runs) == 1:
        written = write_report(runs[0], out, images=images, sinks=sinks)
    else:
        written = write_comparison(runs, out, sinks=sinks)
    for gap in written.gaps:
        log.print(f"not on the page: {gap}")
    if json:
        size = written.path.stat().st_size
        print_json({"report": written.path, "bytes": size, "gaps": list(written.gaps)})
    else:
        say(f"report: {written.path}")


def after_training(run: TrainedRun, *, quiet: bool) -> Path | None:
    """Write a run's report; an error loses the page, not the run."""

    if not quiet:
        log.print("writing the report")
    try:
        if int(os.environ.get("WORLD_SIZE", "1")) > 1:
            return _page_of_another_process(run.path)
        from tagfill.report.page import write_report

        return write_report(run, sinks=[] if quiet else [Bar(log)]).path
    except Exception as error:
        log.print(
            f"no report was written ({type(error).__name__}: {error}); the run itself is complete."
            f" Try `tagfill report {run.path} --debug`",
            markup=False,
        )
        return None


def _page_of_another_process(run: Path) -> Path:
    """Write the page in a separate process: training processes would wait for each other."""
    ours = {name: value for name, value in os.environ.items() if name not in _TOGETHER}
    command = [sys.executable, "-m", "tagfill.cli.main", "report", str(run), "--quiet"]
    done = subprocess.run(command, env=ours, capture_output=True, text=True)  # noqa: S603
    if done.returncode:
        raise RuntimeError(done.stderr.strip() or "the process that writes it failed")
    return run / "report.html"
