"""`tagfill demo`: from drawn pictures to trained taggers, recovered tags and a report, offline."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from tagfill.cli.options import Json
from tagfill.cli.output import log, print_json, say, show_table
from tagfill.labels.stats import Statistics

if TYPE_CHECKING:
    from tagfill.demo import Suggested


def demo(
    *,
    out: Path = Path("tagfill-demo"),
    count: int = 2000,
    seeds: int = 3,
    workers: int = 2,
    json: Json = False,
) -> None:
    """Run a complete example on built-in data, offline.

    Draws scenes, hides all tags but one per image, trains three methods and finds the hidden tags.
    Run the same command again to continue; finished steps are not repeated.

    Args:
        out: Folder for pictures, labels and runs.
        count: Pictures to draw; a quarter of them are test images.
        seeds: Runs of each method.
        workers: Processes that draw and read pictures.
    """
    from tagfill import demo as story

    log.print(f"drawing {count} picture-book scenes into {out / 'scenes'}")
    data, masked = story.draw_and_mask(out, count, workers)
    train = Statistics.of(masked.split("train"))
    assert masked.truth is not None
    tags = masked.truth.take(masked.splits["train"]).positives
    log.print(
        f"{train.images} training images keep one tag each ({data.masked}):"
        f" {train.positives} of {tags} tags are left, all others are unknown"
    )
    log.print(f"training {len(story.METHODS)} methods with {seeds} seeds each")
    rows = story.compare(data, seeds, lambda text: log.print(f"  {text}"))
    closed = story.gap_closed(rows)
    log.print("looking for the hidden tags, and writing the report")
    recovery, suggested = story.recover_tags(data)
    report, comparison = story.write_pages(data, recovery)
    if json:
        print_json(
            {
                "methods": {row.name: {"mAP": row.mean, "std": row.spread} for row in rows},
                "gap_closed": closed,
                "run": data.run("auto"),
                "recovered": {
                    "file": suggested.file,
                    "missing": suggested.missing,
                    "expected_missing": suggested.expected_missing,
                    **asdict(suggested.cut),
                },
                "report": report,
                "comparison": comparison,
            }
        )
        return
    cells = [[row.meaning, f"{row.mean:.1f} ± {row.spread:.1f}"] for row in rows]
    show_table("test mAP, one tag per training image", ["learned from", "mAP"], cells)
    say(
        "Epochs are chosen on validation images with all their tags, as in the papers.",
        f"The recommended method closes {closed:.0%} of the gap between assuming negatives and"
        " knowing everything.",
        _recovered(suggested),
        f"run folder: {data.run('auto')}",
        f"recovered tags: {suggested.file}",
        f"report: {report}",
        f"comparison: {comparison}",
        f"review the tags in a browser: tagfill serve {data.run('auto')}",
    )


def _recovered(suggested: Suggested) -> str:
    cut = suggested.cut
    goal = f"an expected precision of {cut.expected_precision:.0%}"
    if not cut.suggestions:
        return f"No hidden tag can be recovered at {goal}."
    return (
        f"{suggested.missing:,} tags of the training images are hidden (a fifth is held out)."
        f" {cut.suggestions:,} are recovered at {goal}:"
        f" {cut.precision or 0:.0%} of them are right, which is {cut.recall or 0:.0%} of all"
        " hidden tags."
    )
