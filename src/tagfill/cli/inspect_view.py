"""Tables of `tagfill inspect`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tagfill.cli.output import log, say, show_table
from tagfill.errors import Problem, grouped

MOST_CLASSES = 40
MOST_BINS = 10
MOST_PAIRS = 8
MOST_PROBLEMS = 20
BAR = 20
USUAL_SPLITS = ("train", "val", "test")

Metadata = Mapping[str, Any]


def show(result: Metadata) -> None:
    """Print a report."""
    say(*_summary(result))
    if result["splits"]:
        _splits(result["splits"])
    _classes(result)
    say(_labels_per_image(result["labels_per_image"].tolist()), _pairs(result["co_occurrence"]))
    if result["image_files"] is not None:
        say(_image_files(result["image_files"], result["image_root"]))
    say(*(f"note: {note}" for note in result["notes"]))
    _problems(result["problems"])


def show_errors(source: Path, errors: Sequence[Problem]) -> None:
    """Print all reasons why labels cannot be used on stderr."""
    number = f"{len(errors):,} errors" if len(errors) > 1 else "1 error"
    kinds = grouped(errors)
    lines = [f"tagfill: {source} cannot be used: {number}"]
    lines += [f"  {error}" for error in kinds[:MOST_PROBLEMS]]
    if len(kinds) > MOST_PROBLEMS:
        lines.append(f"  ... and {len(kinds) - MOST_PROBLEMS:,} more; --json lists them all")
    lines.append("  fix these first; images and the rest are checked after that")
    log.print("\n".join(lines))


def _summary(result: Metadata) -> Iterator[str]:
    entries = result["images"] * result["classes"]
    yield f"{result['source']} ({result['format']})"
    yield (
        f"{result['images']:,} images x {result['classes']:,} classes, regime:"
        f" {result['regime'].replace('_', ' ')}"
    )
    yield ", ".join(
        f"{result[state]:,} {state} ({_percent(result[state], entries)})"
        for state in ("positives", "negatives", "unknowns")
    )
    yield (
        f"images confirmed to have none of the classes: {result['confirmed_none']:,},"
        f" with no known label: {result['no_known_label']:,}"
    )
    if result["truth"] is not None:
        yield f"full labels behind them: {result['truth']['positives']:,} positives"


def _splits(splits: Mapping[str, Metadata]) -> None:
    keys = ["images", "positives", "negatives", "unknowns", "regime"]
    usual = [name for name in USUAL_SPLITS if name in splits]
    names = dict.fromkeys([*usual, *splits])
    rows = [[name, *(splits[name][key] for key in keys)] for name in names]
    show_table("", ["split", *keys], rows)


def _classes(result: Metadata) -> None:
    ranked = sorted(result["per_class"], key=lambda row: -row["positives"])
    most = max(row["positives"] for row in ranked)
    keys = ["positives", "negatives", "unknowns"]
    show_table(
        "",
        ["class", *keys, ""],
        [
            [row["class"], *(row[key] for key in keys), _bar(row["positives"], most)]
            for row in ranked[:MOST_CLASSES]
        ],
    )
    if len(ranked) > MOST_CLASSES:
        say(f"... and {len(ranked) - MOST_CLASSES:,} rarer classes; --json lists them all")


def _labels_per_image(histogram: Sequence[int]) -> str:
    bins = [f"{labels} in {images:,}" for labels, images in enumerate(histogram) if images]
    if len(bins) > MOST_BINS:
        bins = [*bins[:MOST_BINS], f"... up to {len(histogram) - 1}"]
    return f"positives in an image: {', '.join(bins)} images"


def _pairs(pairs: Sequence[Metadata]) -> str:
    shown = [f"{' + '.join(pair['classes'])} {pair['images']:,}" for pair in pairs[:MOST_PAIRS]]
    return f"often together: {', '.join(shown) or 'none'}"


def _image_files(files: Metadata, root: object) -> str:
    counts = [
        f"{files['checked']:,} image files checked in {root}",
        f"{len(files['missing']):,} missing",
    ]
    if files["opened"]:
        counts.append(f"{len(files['unreadable']):,} unreadable")
        counts.append(f"{len(files['duplicates']):,} groups of identical files")
    if files["smallest"]:
        sizes = ["{} x {}".format(*files[which]) for which in ("smallest", "largest")]
        counts.append(f"sizes {' to '.join(sizes)}")
    return ", ".join(counts)


def _problems(problems: Sequence[Metadata]) -> None:
    kinds = grouped([Problem(**problem) for problem in problems])
    lines = [f"{problem.severity}: {problem}" for problem in kinds[:MOST_PROBLEMS]]
    if len(kinds) > MOST_PROBLEMS:
        lines.append(f"... and {len(kinds) - MOST_PROBLEMS:,} more; --json lists them all")
    say(*lines or ["no problems found"])


def _bar(part: int, most: int) -> str:
    return "▇" * -(-BAR * part // most) if most else ""


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"
