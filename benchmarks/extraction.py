"""Images a second from files to features, beside what a user would write and the bare engine.

    python benchmarks/extraction.py [--images 256] [--size 224] [--side 500] [--rounds 3]

All ways are measured in turns within one process; the table has medians of images a second and, for
machines that are busy with other work, of processor milliseconds an image. The physical limit is
ONNX Runtime on tensors that lie in memory: as it is usually called, both cores on one batch, and as
tagfill calls it, each core with a few images. The engine uses all cores, so that decoding cannot
hide behind it: of the latter no way from files can reach more than its milliseconds beside the sum
of those, of bare decoding (Pillow's JPEG decoder at a fraction of the size) and of bare resizing.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from tagfill.images import open_image
from tagfill.models.factory import build_backbone
from tagfill.models.graphs import _session, _torch_run, feature_engine, find_graph
from tagfill.models.preprocess import eval_transform
from tagfill.scenes import generate
from tagfill.train.extract import Extractor

CPU = torch.device("cpu")
BATCH = 16
SLOW = 4
"""The ways with torch have so many times fewer images."""
IN_TORCH = "torch, tensors in memory"
LOADER = "torch, DataLoader and PIL"
OURS = "tagfill, from files"
USUAL = "ONNX Runtime, tensors in memory, both cores on one batch"
LIMIT = "ONNX Runtime, tensors in memory, as tagfill calls it"
DECODER, RESIZE = "bare JPEG decoder, one thread", "bare resize, one thread"


class Photos(torch.utils.data.Dataset[torch.Tensor]):
    """What a user would write: open, resize, normalize."""

    def __init__(self, paths: list[Path], view: Callable[[Image.Image], torch.Tensor]) -> None:
        self.paths, self.view = paths, view

    def __len__(self) -> int:
        """How many."""
        return len(self.paths)

    def __getitem__(self, row: int) -> torch.Tensor:
        """One image."""
        return self.view(Image.open(self.paths[row]).convert("RGB"))


Times = tuple[float, float]
"""Seconds on the clock, and of a processor."""


@dataclass(frozen=True)
class Rate:
    """Images a second, and processor milliseconds an image."""

    images: float
    milliseconds: float

    @classmethod
    def of(cls, times: list[Times], images: int) -> Rate:
        """The medians of the seconds that so many images took."""
        clock, processor = (statistics.median(column) for column in zip(*times, strict=True))
        return cls(images / clock, processor / images * 1000)


def photos(images: int, side: int, folder: Path) -> list[Path]:
    """JPEGs of drawn scenes."""
    paths = []
    for scene in generate(images, side, 0):
        paths.append(folder / f"{scene.index}.jpg")
        scene.image.save(paths[-1], quality=85)
    return paths


def bare_ways(paths: list[Path], size: int) -> dict[str, Callable[[], None]]:
    """What nothing from files can do without: Pillow's decoder, and its resize."""
    pictures = [open_image(path, size) for path in paths]

    def decode() -> None:
        for path in paths:
            with Image.open(path) as picture:
                picture.draft(None, (size, size))
                picture.load()

    def resize() -> None:
        for picture in pictures:
            picture.resize((size, size), Image.Resampling.BILINEAR)

    return {DECODER: decode, RESIZE: resize}


def measure(images: int, size: int, side: int, rounds: int, folder: Path) -> dict[str, Rate]:
    """The medians of every way."""
    paths = photos(images, side, folder)
    backbone = build_backbone("efficientnet_lite0", size=size).eval()
    view = eval_transform(backbone.spec)
    session = _session(find_graph(backbone), torch.get_num_threads())
    runtime = feature_engine(backbone, "pooled", CPU).run
    torch_run = _torch_run(backbone, "pooled", CPU)
    batch = np.random.default_rng(0).normal(size=(BATCH, 3, size, size)).astype(np.float32)

    few = max(BATCH, images // SLOW // BATCH * BATCH)

    def in_memory(run: Callable[[np.ndarray], np.ndarray], count: int = images) -> None:
        for _ in range(count // BATCH):
            run(batch)

    def plain_loop() -> None:
        loader = torch.utils.data.DataLoader(Photos(paths[:few], view), BATCH, num_workers=2)
        for inputs in loader:
            torch_run(inputs.numpy())

    def decode() -> None:
        for path in paths:
            view(open_image(path, size))

    def ours() -> None:
        with tempfile.TemporaryDirectory() as root:
            Extractor(backbone, view, "plain", "pooled", CPU, root=Path(root)).extract(paths)

    ways: dict[str, Callable[[], None]] = {
        IN_TORCH: lambda: in_memory(torch_run, few),
        LOADER: plain_loop,
        **bare_ways(paths, size),
        "decoding, checks, resizing and normalization, one thread": decode,
        OURS: ours,
        USUAL: lambda: in_memory(lambda x: session.run(["pooled"], {"images": x})[0]),
        LIMIT: lambda: in_memory(runtime),
    }
    counts = dict.fromkeys(ways, images) | {IN_TORCH: few, LOADER: few}
    return {name: Rate.of(times, counts[name]) for name, times in in_turns(ways, rounds).items()}


def in_turns(ways: dict[str, Callable[[], None]], rounds: int) -> dict[str, list[Times]]:
    """Seconds of all ways, which take turns."""
    taken: dict[str, list[Times]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            started, used = time.perf_counter(), _processor_seconds()
            way()
            taken[name].append((time.perf_counter() - started, _processor_seconds() - used))
    return taken


def _processor_seconds() -> float:
    """Of this process and of the loader processes that have ended."""
    return sum(os.times()[:4])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=256)
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--side", type=int, default=500, help="of the photos")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rates = measure(options.images, options.size, options.side, options.rounds, Path(folder))
    load = os.getloadavg()[0]
    print(
        f"{options.images} JPEGs of {options.side} px at {options.size} px, {os.cpu_count()} cores,"
    )
    print(f"load {load:.1f}; EfficientNet-Lite0, pooled features, median of {options.rounds}\n")
    print("| way | images/s | processor ms/image |\n|---|---|---|")
    for name, rate in rates.items():
        print(f"| {name} | {rate.images:.1f} | {rate.milliseconds:.2f} |")
    print()
    for name in (LOADER, USUAL, LIMIT):
        share, work = rates[OURS].images / rates[name].images, rates[name].milliseconds
        print(f"From files, of {name}: {share:.0%}, by work {work / rates[OURS].milliseconds:.0%}")
    least = sum(rates[name].milliseconds for name in (LIMIT, DECODER, RESIZE))
    print(
        f"Engine in parts, decoder and resize: {least:.2f} ms an image, so that by work at most"
        f" {rates[LIMIT].milliseconds / least:.0%} of the engine is possible from files;"
        f" tagfill {least / rates[OURS].milliseconds:.0%} of it"
    )


if __name__ == "__main__":
    main()
