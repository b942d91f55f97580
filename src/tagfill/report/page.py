"""Write the page: collect its content, render the template, write the file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagfill.files import unlinked, write_text
from tagfill.recover.choose import DEFAULT_PRECISION
from tagfill.recover.recovery import Recovery, recover
from tagfill.report import card, classes, compare, gallery, headline, learned
from tagfill.report.content import RunContent, read_run
from tagfill.train.events import Sink
from tagfill.train.trained import TrainedRun

if TYPE_CHECKING:
    from jinja2 import Environment

FILE, COMPARISON = "report.html", "comparison.html"
IMAGES = 2000
"""Most training images to search for missing tags; the time grows with their number."""


@dataclass(frozen=True)
class Written:
    """A page on disk, and notes on what is missing from it."""

    path: Path
    gaps: tuple[str, ...]


def write_report(
    run: str | Path | TrainedRun,
    out: str | Path | None = None,
    *,
    images: int = IMAGES,
    recovery: Recovery | None = None,
    precision: float = DEFAULT_PRECISION,
    sinks: Sequence[Sink] = (),
) -> Written:
    """Write the report of a finished run.

    Args:
        out: the file; ``report.html`` in the run folder by default.
        images: search this many training images for missing tags, evenly spread; 0 for none.
        recovery: an earlier result of ``recover``.
        precision: share of the suggested tags that should be right.

    Raises:
        TagfillError: it is no run folder, or the run is not finished.
    """
    content = read_run(run, sinks)
    gaps = list(content.gaps)
    if recovery is None and images and content.data is not None:
        try:
            recovery = recover(content.run, images=images, sinks=sinks)
        except Exception as error:  # omits this section, not the page
            gaps.append(f"the search for missing tags failed: {error}")
    target = Path(out) if out is not None else unlinked(content.run.path / FILE)
    return _write("run.html.j2", run_metadata(content, recovery, gaps, precision), target, gaps)


def write_comparison(
    runs: Sequence[str | Path | TrainedRun],
    out: str | Path | None = None,
    *,
    sinks: Sequence[Sink] = (),
) -> Written:
    """Write a page that compares finished runs with the first one.

    Args:
        out: the file; ``comparison.html`` in the first folder by default.
    """
    contents = [read_run(run, sinks) for run in runs]
    gaps = [f"{content.run.name}: {gap}" for content in contents for gap in content.gaps]
    metadata = {"comparison": compare.compare(contents), "contents": contents, "gaps": gaps}
    target = Path(out) if out is not None else unlinked(contents[0].run.path / COMPARISON)
    return _write("compare.html.j2", metadata, target, gaps)


def run_metadata(
    content: RunContent,
    recovery: Recovery | None,
    gaps: Sequence[str],
    precision: float = DEFAULT_PRECISION,
) -> dict[str, Any]:
    """All that the page of one run shows, by section."""
    rows = classes.class_rows(content)
    recovered = None if recovery is None else gallery.recovered(content, recovery, precision)
    mistakes = gallery.errors(content, recovery)
    groups = list(mistakes["groups"].values()) if mistakes else []
    groups += [recovered["cards"]] if recovered else []
    gallery.illustrate(content, [card for group in groups for card in group])
    return {
        "content": content,
        "gaps": gaps,
        "headline": headline.headline(content),
        "learned": learned.learned(content),
        "curves": learned.curves(content),
        "rows": rows,
        "shown_rows": rows[: classes.SHOWN],
        "shares": classes.shares(rows),
        "calibration": headline.calibration(content.evaluated),
        "together": classes.together(content),
        "recovered": recovered,
        "errors": mistakes,
        "card": card.model_card(content, rows),
    }


def _write(template: str, metadata: dict[str, Any], target: Path, gaps: Sequence[str]) -> Written:
    text = _environment().get_template(template).render(version=version("tagfill"), **metadata)
    write_text(target, text)
    return Written(target, tuple(gaps))


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("tagfill.report"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    environment.filters |= {
        "count": lambda number: f"{number:,}",
        "percent": _percent,
        "chance": _chance,
        "when": lambda text: str(text).replace("T", " ")[:16],
        "duration": _duration,
        "basename": lambda path: Path(path).name,
    }
    return environment


def _percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f} %"


def _chance(probability: float) -> str:
    """A probability in percent, never 0 or 100."""
    if probability > 0.99:
        return "over 99 %"
    return "under 1 %" if probability < 0.01 else _percent(probability)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s" if seconds >= 1 else "less than a second"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
