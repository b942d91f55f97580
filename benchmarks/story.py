"""What a user waits for: `tagfill --help`, the demo, and everything after the features of a set.

    python benchmarks/story.py help|demo|after|interrupt [--images 600]

Prints a line of JSON: seconds on the clock and processor seconds of each command.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import signal
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


def interrupt(folder: Path, images: int) -> dict[str, object]:
    """Ctrl-C a second after extraction has begun, three times: seconds to the end, the longest."""
    run(["scenes", "drawn", "--count", str(images)], folder)
    run(["train", "drawn", "--out", "first", "--mode", "linear"], folder)  # exports the graphs
    return {"seconds": max(_interrupted(folder, f"run{number}") for number in range(3))}


def _interrupted(folder: Path, out: str) -> float:
    cache = folder / "cache"
    shutil.rmtree(cache / "features")
    words = ["train", "drawn", "--out", out, "--mode", "linear"]
    command = [sys.executable, "-m", "tagfill.cli.main", *words]
    around = {**os.environ, "TAGFILL_CACHE": str(cache)}
    process = subprocess.Popen(command, cwd=folder, env=around, stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not list(cache.glob("features/*/about.json")):
        time.sleep(0.05)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    start = time.perf_counter()
    message = process.communicate()[1]
    if process.returncode != 130:
        raise SystemExit(f"train was not interrupted ({process.returncode}): {message}")
    return round(time.perf_counter() - start, 2)


PARTS = {"help": help_, "demo": demo, "after": after, "interrupt": interrupt}


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
