"""What a user waits for: `tagfill --help`, the demo, and everything after the features of a set.

    python benchmarks/story.py help|demo|after [--images 600]

Prints a line of JSON: seconds on the clock and processor seconds of each command.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def run(words: list[str], folder: Path) -> tuple[float, float]:
    """Seconds and processor seconds of a command with a cache of its own."""
    around = {**os.environ, "TAGFILL_CACHE": str(folder / "cache")}
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "tagfill.cli.main", *words]
    subprocess.run(command, cwd=folder, env=around, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return round(time.perf_counter() - start, 2), round(processor, 2)


def help_(folder: Path, images: int) -> dict[str, object]:
    """The median of seven."""
    pairs = [run(["--help"], folder) for _ in range(7)]
    seconds, processor = (statistics.median(numbers) for numbers in zip(*pairs, strict=True))
    return {"seconds": seconds, "cpu_seconds": processor}


def demo(folder: Path, images: int) -> dict[str, object]:
    """With an empty cache."""
    seconds, processor = run(["demo"], folder)
    return {"seconds": seconds, "cpu_seconds": processor}


def after(folder: Path, images: int) -> dict[str, object]:
    """Train, recover and report when the features are there."""
    run(["scenes", "drawn", "--count", str(images)], folder)
    run(["train", "drawn", "--out", "first", "--mode", "linear"], folder)
    commands = {
        "train": ["train", "drawn", "--out", "run", "--mode", "linear"],
        "recover": ["recover", "run", "--out", "suggestions.csv"],
        "report": ["report", "run"],
    }
    taken = {name: run(words, folder) for name, words in commands.items()}
    seconds, processor = (round(sum(numbers), 1) for numbers in zip(*taken.values(), strict=True))
    return {"seconds": seconds, "cpu_seconds": processor, **taken}


PARTS = {"help": help_, "demo": demo, "after": after}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--images", type=int, default=600)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        print(json.dumps({"part": options.part, **PARTS[options.part](Path(name), options.images)}))


if __name__ == "__main__":
    main()
