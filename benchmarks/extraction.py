"""Images a second from files to features, beside what a user would write and the bare engine.

    python benchmarks/extraction.py [--images 256] [--size 224] [--side 500] [--rounds 3]

All ways are measured in turns within one process; the table has medians and, as the physical limit,
ONNX Runtime on tensors that lie in memory.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from PIL import Image

from tagfill.models.factory import build_backbone
from tagfill.models.graphs import _torch_run, feature_engine
from tagfill.models.preprocess import eval_transform
from tagfill.scenes import generate
from tagfill.train.extract import Extractor

CPU = torch.device("cpu")
BATCH = 16


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


def measure(images: int, size: int, side: int, rounds: int, folder: Path) -> dict[str, float]:
    """Images a second of every way."""
    paths = []
    for scene in generate(images, side, 0):
        paths.append(folder / f"{scene.index}.jpg")
        scene.image.save(paths[-1], quality=85)
    backbone = build_backbone("efficientnet_lite0", size=size).eval()
    view = eval_transform(backbone.spec)
    runtime = feature_engine(backbone, "pooled", CPU).run
    torch_run = _torch_run(backbone, "pooled", CPU)
    batch = np.random.default_rng(0).normal(size=(BATCH, 3, size, size)).astype(np.float32)

    def in_memory(run: Callable[[np.ndarray], np.ndarray]) -> None:
        for _ in range(images // BATCH):
            run(batch)

    def plain_loop() -> None:
        for inputs in torch.utils.data.DataLoader(Photos(paths, view), BATCH, num_workers=2):
            torch_run(inputs.numpy())

    def ours(number: int) -> None:
        root = folder / f"cache-{number}"
        Extractor(backbone, view, "plain", "pooled", CPU, root=root).extract(paths)

    seconds: dict[str, list[float]] = {}
    for number in range(rounds):
        ways: dict[str, Callable[[], None]] = {
            "torch, tensors in memory": lambda: in_memory(torch_run),
            "torch, DataLoader and PIL": plain_loop,
            "tagfill, from files": lambda number=number: ours(number),  # type: ignore[misc]
            "ONNX Runtime, tensors in memory (the limit)": lambda: in_memory(runtime),
        }
        for name, way in ways.items():
            started = time.perf_counter()
            way()
            seconds.setdefault(name, []).append(time.perf_counter() - started)
    return {name: images / statistics.median(times) for name, times in seconds.items()}


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
    limit = rates["ONNX Runtime, tensors in memory (the limit)"]
    load = os.getloadavg()[0]
    print(
        f"{options.images} JPEGs of {options.side} px at {options.size} px, {os.cpu_count()} cores,"
    )
    print(f"load {load:.1f}; EfficientNet-Lite0, pooled features, median of {options.rounds}\n")
    print("| way | images/s | of the limit |\n|---|---|---|")
    for name, rate in rates.items():
        print(f"| {name} | {rate:.1f} | {rate / limit:.0%} |")


if __name__ == "__main__":
    main()
