"""How fast, and in how much memory, a wide CSV of a million images is read.

Usage: python benchmarks/csv_loading.py [--images 1000000] [--classes 100]

Writes a synthetic file (one cell in ten known), reads it in a fresh process that reports seconds
and its peak memory, and reads a slice of the same file with Python's csv module for comparison.
Ratios are of processor time, which other work on the machine disturbs less.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

SLICE = 20_000

LOAD = """
import json, resource, sys, time
from tagfill import load_labels
start, cpu = time.perf_counter(), time.process_time()
table = load_labels(sys.argv[1]).table
seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"seconds": seconds, "cpu_seconds": cpu, "peak_mb": peak,
                  "images": len(table), "classes": len(table.classes)}))
"""


def write_file(path: Path, images: int, classes: int) -> None:
    """A wide CSV in which one cell in ten is known, half of those positive."""
    rng = np.random.default_rng(0)
    texts = np.array(["", "0", "1"])
    with path.open("w") as file:
        file.write(",".join(["image", *(f"class {number}" for number in range(classes))]) + "\n")
        for start in range(0, images, SLICE):
            count = min(SLICE, images - start)
            codes = rng.choice(3, size=(count, classes), p=[0.9, 0.05, 0.05])
            for row, cells in enumerate(texts[codes].tolist(), start):
                file.write(f"images/{row:08d}.jpg,{','.join(cells)}\n")


def python_csv_cpu_seconds(path: Path, images: int) -> float:
    """Processor seconds for the first images with the csv module and a plain loop."""
    codes = {"": -1, "0": 0, "1": 1}
    start = time.process_time()
    with path.open(newline="") as file:
        rows = itertools.islice(csv.reader(file), 1, images + 1)
        ids, values = [], []
        for image, *cells in rows:
            ids.append(image)
            values.append([codes[cell] for cell in cells])
    np.array(values, dtype=np.int8)
    return time.process_time() - start


def main() -> None:
    """Write, read both ways, print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--images", type=int, default=1_000_000)
    parser.add_argument("--classes", type=int, default=100)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "labels.csv"
        write_file(path, arguments.images, arguments.classes)
        run = subprocess.run(
            [sys.executable, "-c", LOAD, str(path)], check=True, capture_output=True, text=True
        )
        result = json.loads(run.stdout)
        sliced = min(SLICE, arguments.images)
        plain = python_csv_cpu_seconds(path, sliced) * arguments.images / sliced
        result["file_mb"] = path.stat().st_size / 2**20
    result["python_csv_cpu_seconds_extrapolated"] = plain
    result["times_less_cpu"] = plain / result["cpu_seconds"]
    json.dump(result, sys.stdout, indent=2)
    sys.stdout.write("\n")


if __name__ == "__main__":
    main()
