"""`tagfill demo`: from drawn pictures to trained taggers, recovered tags and a report, offline."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tagfill.demo import Suggested
    from tagfill.labels import Dataset


def demo(
    *,
    out: Path = Path("tagfill-demo"),
    count: int = 2000,
    seeds: int = 3,
    workers: int = 2,
    json: bool = False,
) -> None:
    """Draw scenes, hide all tags but one per image, train three methods and recover the tags.

    Run it again to continue where it stopped; finished steps are not repeated.

    Args:
        out: Folder for pictures, labels and runs.
        count: Pictures to draw; a quarter of them are test images.
        seeds: Runs of each method.
        workers: Processes that draw and read pictures.
        json: One JSON object on stdout.
    """
    from tagfill import demo as story
    from tagfill.cli.output import console, log, print_json, table
    from tagfill.labels.stats import Statistics

    log.print(f"drawing {count} picture-book scenes into {out / 'scenes'}")
    data, masked = story.draw_and_mask(out, count, workers)
    train = Statistics.of(masked.split("train"))
    log.print(
        f"{train.images} training images keep one tag each ({data.masked}):"
        f" {train.positives} of {_positives(masked)} tags are left, the rest is unknown"
    )
    log.print(f"training {len(story.METHODS)} methods with {seeds} seeds each")
    rows = story.compare(data, seeds, lambda text: log.print(f"  {text}"))
    closed = story.gap_closed(rows)
    log.print("looking for the hidden tags, and writing the report (a minute or two)")
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
    console.print(table("test mAP, one tag per training image", ["learned from", "mAP"], cells))
    console.print("Epochs are chosen on validation images with all their tags, as in the papers.")
    console.print(
        f"The recommended method closes {closed:.0%} of the gap between assuming negatives and"
        " knowing everything."
    )
    console.print(_recovered(suggested))
    paths = {
        "run folder": data.run("auto"),
        "recovered tags": suggested.file,
        "report": report,
        "comparison": comparison,
    }
    for name, path in paths.items():
        console.print(f"{name}: {path}", soft_wrap=True)
    console.print(f"review them in a browser: tagfill serve {data.run('auto')}", soft_wrap=True)


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


def _positives(masked: Dataset) -> int:
    assert masked.truth is not None
    return masked.truth.take(masked.splits["train"]).positives
