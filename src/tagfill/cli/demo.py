"""`tagfill demo`: from drawn pictures to a comparison of methods, offline."""

from __future__ import annotations

from pathlib import Path


def demo(
    *,
    out: Path = Path("tagfill-demo"),
    count: int = 2000,
    seeds: int = 3,
    workers: int = 2,
    json: bool = False,
) -> None:
    """Draw scenes, hide all tags but one per image, train three ways and compare.

    Run it again to go on where it stopped; what is done already is not repeated.

    Parameters
    ----------
    out
        Folder for pictures, labels and runs.
    count
        Pictures to draw; a quarter of them are test images.
    seeds
        Runs of each method.
    workers
        Processes that draw and read pictures.
    json
        One JSON object on stdout.
    """
    from tagfill import demo as story
    from tagfill.cli.output import console, log, print_json, table
    from tagfill.labels.stats import Statistics

    log.print(f"drawing {count} picture-book scenes into {out / 'scenes'}")
    data, masked = story.draw_and_mask(out, count, workers)
    train = Statistics.of(masked.part("train"))
    log.print(
        f"{train.images} training images keep one tag each ({data.masked}):"
        f" {train.positives} of {_positives(masked)} tags are left, the rest is unknown"
    )
    log.print(f"training {len(story.METHODS)} methods with {seeds} seeds each")
    rows = story.compare(data, seeds, lambda text: log.print(f"  {text}"))
    closed = story.gap_closed(rows)
    if json:
        print_json(
            {
                "methods": {row.name: {"mAP": row.mean, "std": row.spread} for row in rows},
                "gap_closed": closed,
                "run": str(out / "runs" / "auto-seed0"),
            }
        )
        return
    cells = [[row.meaning, f"{row.mean:.1f} ± {row.spread:.1f}"] for row in rows]
    console.print(table("test mAP, one tag per training image", ["learned from", "mAP"], cells))
    console.print("Epochs are chosen on validation images with all their tags, as in the papers.")
    console.print(
        f"The recommended method closes {closed:.0%} of the gap between assuming negatives and"
        f" knowing everything.\nrun folder: {out / 'runs' / 'auto-seed0'}"
    )


def _positives(masked: object) -> int:
    from tagfill.labels import Dataset

    assert isinstance(masked, Dataset)
    assert masked.truth is not None
    return masked.truth.take(masked.splits["train"]).positives
