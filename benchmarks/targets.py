"""Targets of time and memory on made-up features and labels, each in a process of its own.

    python benchmarks/targets.py PART [--images N] [--classes K]

Prints one line of JSON: seconds, processor seconds (which other work on the machine disturbs less),
the peak memory with libraries and mapped files, and that of the process's own pages (``own_mb``,
without mapped files). Features and labels are made by another process.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path

import numpy as np

import tagfill  # noqa: F401 - before torch, whose threads then sleep while they wait

WIDTH = 1280
ROWS = 8192


def peak() -> float:
    """Megabytes this process has had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def own_memory() -> float:
    """Megabytes of pages that belong to this process alone now; 0 where the system does not say."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.is_file() else []
    sizes = dict(line.split(":", 1) for line in lines)
    return round(int(sizes.get("RssAnon", "0").split()[0]) / 1024, 1)


class OwnMemory:
    """Watches the pages that belong to this process alone; ``most`` in megabytes."""

    def __init__(self) -> None:
        self.most, self._ended = 0.0, threading.Event()
        self._watch = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> OwnMemory:
        self._watch.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._ended.set()
        self._watch.join()

    def _look(self) -> None:
        while not self._ended.wait(0.05):
            self.most = max(self.most, own_memory())


def made_data(folder: Path, images: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Mapped features and labels, made by a process whose memory does not count."""
    process = multiprocessing.get_context("spawn").Process(
        target=_make_data, args=(folder, images, classes)
    )
    process.start()
    process.join()
    return np.load(folder / "features.npy", mmap_mode="r"), np.load(folder / "labels.npy")


def _make_data(folder: Path, images: int, classes: int) -> None:
    _, hidden = made_features(folder, images)
    np.save(folder / "labels.npy", single_positives(hidden, classes))


def made_features(folder: Path, images: int, width: int = WIDTH) -> tuple[np.ndarray, np.ndarray]:
    """Half-precision features in a mapped file, and directions that tags depend on."""
    rng = np.random.default_rng(0)
    path = folder / "features.npy"
    matrix = np.lib.format.open_memmap(path, "w+", np.float16, (images, width))
    mixing = rng.normal(size=(64, width)).astype(np.float32) / 8
    hidden = np.empty((images, 64), np.float32)
    for start in range(0, images, ROWS):
        stop = min(start + ROWS, images)
        hidden[start:stop] = rng.normal(size=(stop - start, 64))
        noise = rng.normal(size=(stop - start, width)).astype(np.float32)
        matrix[start:stop] = np.maximum(hidden[start:stop] @ mixing + 0.7 * noise + 0.5, 0)
    matrix.flush()
    del matrix
    return np.load(path, mmap_mode="r"), hidden


def single_positives(hidden: np.ndarray, classes: int) -> np.ndarray:
    """One tag of those that are there, the rest unknown."""
    rng = np.random.default_rng(1)
    directions = rng.normal(size=(hidden.shape[1], classes)).astype(np.float32)
    labels = np.full((len(hidden), classes), -1, np.int8)
    for start in range(0, len(hidden), ROWS):
        scores = hidden[start : start + ROWS] @ directions
        there = scores > np.quantile(scores, 0.95)
        keys = np.where(there, rng.random(scores.shape), -1.0)
        rows = np.flatnonzero(there.any(1))
        labels[start + rows, keys[rows].argmax(1)] = 1
    return labels


def linear(folder: Path, images: int, classes: int) -> Callable[[], object]:
    """The learner: all choices and the fit."""
    from tagfill.linear.fit import fit_head

    features, labels = made_data(folder, images, classes)
    return lambda: fit_head(features, labels).steps


def gram(folder: Path, images: int, classes: int) -> Callable[[], object]:
    """Closed form: one pass for the sums, then the head."""
    import torch

    from tagfill.linear.ridge import Ridge, Sums

    features, _ = made_data(folder, images, classes)
    labels = np.load(folder / "labels.npy", mmap_mode="r")

    def work() -> int:
        sums = Sums(features.shape[1], classes)
        for start in range(0, images, ROWS):
            block = torch.from_numpy(np.asarray(features[start : start + ROWS]))
            sums.add(block, torch.from_numpy(labels[start : start + ROWS] == 1))
        return len(Ridge.of(sums).head(1e-2)[1])

    return work


def recover(folder: Path, images: int, classes: int) -> Callable[[], object]:
    """Probabilities of all missing tags, for labels whose choice training has made."""
    from tagfill.priors.written import likely_choice
    from tagfill.recover.posterior import posterior

    features, labels = made_data(folder, images, classes)
    choice = likely_choice(features, labels)
    return lambda: float(posterior(features, labels, trained=choice).unknown.mean())


def mean_ap(folder: Path, images: int, classes: int) -> Callable[[], object]:
    """Exact mAP of scores in a mapped file, class by class."""
    from tagfill.evaluate import average_precision

    rng = np.random.default_rng(0)
    path = folder / "scores.npy"
    scores = np.lib.format.open_memmap(path, "w+", np.float16, (classes, images))
    labels = np.lib.format.open_memmap(folder / "labels.npy", "w+", np.int8, (classes, images))
    for number in range(classes):
        labels[number] = rng.random(images, np.float32) < 0.03
        scores[number] = rng.standard_normal(images, np.float32) + 1.5 * labels[number]
    scores.flush()

    def work() -> float:
        values = [
            average_precision(np.asarray(scores[some].T, np.float32), np.asarray(labels[some].T))
            for some in np.array_split(np.arange(classes), max(1, classes // 8))
        ]
        return float(np.concatenate(values).mean())

    return work


def stream(folder: Path, images: int, classes: int) -> Callable[[], object]:
    """Predictions of image files: megabytes after a tenth of them, and how many more at the end.

    A few small JPEGs again and again; in place of the backbone, means of the pixels.
    """
    from PIL import Image

    from tagfill.models.deploy import Metadata
    from tagfill.models.engines import Engine
    from tagfill.models.tagging import TagRule
    from tagfill.predict.stream import predict_stream

    rng = np.random.default_rng(0)
    paths = [folder / f"{number}.jpg" for number in range(100)]
    for path in paths:
        Image.fromarray(rng.integers(0, 255, (96, 96, 3), np.uint8)).save(path)
    metadata = Metadata(tuple(f"tag {k}" for k in range(classes)), None, "images", 64, 3)

    def probabilities(inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        means = np.repeat(inputs.mean(axis=(1, 2, 3))[:, None], classes, axis=1)
        return means, means

    engine = Engine(metadata, probabilities, "means")

    def work() -> dict[str, float]:
        files = (paths[number % len(paths)] for number in range(images))
        results = predict_stream(engine, files, TagRule.of(metadata))
        count = sum(1 for _ in islice(results, images // 10))
        before = own_memory()
        count += sum(1 for _ in results)
        if count != images:
            raise AssertionError(count)
        return {"own_mb_after_a_tenth": before, "grown_mb": round(own_memory() - before, 1)}

    return work


def steps(folder: Path, images: int, classes: int) -> Callable[[], object]:
    """Steps of ROLE's label state with a hundredth, a tenth and all of the images."""
    sizes = (images // 100, images // 10, images)
    tables = {size: role(folder, size, classes) for size in sizes}

    def work() -> object:
        times = {size: float(table()) for size, table in tables.items()}
        return {
            "microseconds": times,
            "slowest_of_fastest": max(times.values()) / min(times.values()),
        }

    return work


def role(folder: Path, images: int, classes: int) -> Callable[[], float]:
    """A step of ROLE's label state in a mapped file, in microseconds: the median of 300."""
    import torch

    from tagfill.methods._estimators import StoredRows

    rows = StoredRows(
        (images, classes), 1e-2, device=torch.device("cpu"), mapped=True, directory=str(folder)
    )
    for start in range(0, images, ROWS):
        rows.fill(torch.zeros(min(ROWS, images - start), classes), start)

    def work() -> float:
        generator, times = torch.Generator().manual_seed(0), []
        for _ in range(300):
            index = torch.randint(images, (16,), generator=generator).unique()
            start = time.process_time()
            rows.update(index, rows.read(index).sigmoid())
            times.append(time.process_time() - start)
        return round(1e6 * float(np.median(times)))

    return work


def csv(folder: Path, images: int, classes: int, fault: str = "") -> Callable[[], object]:
    """Reading a wide CSV, with one fault in the middle: an entry that is no label, a short row."""
    sys.path.insert(0, str(Path(__file__).parent))
    from csv_loading import write_file
    from tagfill.errors import Problems
    from tagfill.labels.io import load_labels

    path = folder / "labels.csv"
    write_file(path, images, classes)
    if fault:
        with path.open("r+b") as file:
            file.seek(path.stat().st_size // 2)
            start = file.tell() + len(file.readline())
            row = file.readline()
            bad, place = (
                (b"z", row.rindex(b",1") + 1) if fault == "bad" else (b"0", row.rindex(b","))
            )
            file.seek(start + place)
            file.write(bad)
    problems = Problems()

    def work() -> object:
        table = load_labels(path, problems=problems).table
        return {"images": len(table), "problems": len(list(problems))}

    return work


def bad_csv(folder: Path, images: int, classes: int) -> Callable[[], object]:
    """The same with one entry that is no label."""
    return csv(folder, images, classes, "bad")


def short_csv(folder: Path, images: int, classes: int) -> Callable[[], object]:
    """The same with one row that is too short."""
    return csv(folder, images, classes, "short")


PARTS = {
    "linear": linear,
    "gram": gram,
    "recover": recover,
    "map": mean_ap,
    "role": role,
    "steps": steps,
    "stream": stream,
    "csv": csv,
    "bad_csv": bad_csv,
    "short_csv": short_csv,
}


def main() -> None:
    """Prepare, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--images", type=int, default=200_000)
    parser.add_argument("--classes", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        work = PARTS[options.part](Path(name), options.images, options.classes)
        before, wall, processor = peak(), time.perf_counter(), time.process_time()
        with OwnMemory() as own:
            result = work()
        row = {
            "part": options.part,
            "images": options.images,
            "classes": options.classes,
            "seconds": round(time.perf_counter() - wall, 1),
            "cpu_seconds": round(time.process_time() - processor, 1),
            "peak_mb": round(peak()),
            "own_mb": round(own.most),
            "peak_before_mb": round(before),
            "result": result,
        }
    print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
