"""Requests per second of /api/predict with several clients, beside the bare forward pass.

python benchmarks/serve_load.py tagfill-demo/runs/auto-seed0 [--engine model.onnx] [--write]

Prints the rows, or writes the table of docs/results/serve.md.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import numpy as np

from pages import show_rows
from serving import PAGE, circumstances, percentiles, serving
from tagfill.api.run import Run
from tagfill.models.engines import bundle_engine, open_engine

CLIENTS = (1, 8, 32)


def forward(run: Run, engine: Path | None, seconds: float) -> dict[int, float]:
    """Images per second of the model alone, by batch size."""
    running = open_engine(engine) if engine else bundle_engine(run.model)
    size, rates = running.metadata.size, {}
    for batch in (1, 16):
        inputs = np.random.default_rng(0).random((batch, 3, size, size), dtype=np.float32)
        running.probabilities(inputs)
        began, images = time.perf_counter(), 0
        while time.perf_counter() - began < seconds:
            running.probabilities(inputs)
            images += batch
        rates[batch] = images / (time.perf_counter() - began)
    return rates


async def load(url: str, photos: list[bytes], clients: int, seconds: float) -> list[float]:
    """Seconds of every request."""
    until, taken = time.perf_counter() + seconds, []

    async def one(number: int, client: httpx.AsyncClient) -> None:
        while time.perf_counter() < until:
            number = (number + 1) % len(photos)
            files = {"images": ("photo.jpg", photos[number], "image/jpeg")}
            began = time.perf_counter()
            answer = await client.post(f"{url}/api/predict", files=files)
            if answer.status_code == 200:
                taken.append(time.perf_counter() - began)
            else:
                await asyncio.sleep(float(answer.headers.get("retry-after", 1)))

    limits = httpx.Limits(max_connections=clients)
    async with httpx.AsyncClient(timeout=60, limits=limits) as client:
        await asyncio.gather(*(one(number, client) for number in range(clients)))
    return taken


def rows(run: Path, engine: Path | None, seconds: float) -> Iterator[tuple[str, ...]]:
    """Rate and times: of the model alone, then of the server by number of clients."""
    opened = Run.open(run)
    photos = [path.read_bytes() for path in (opened.split("train").paths or ())[:64]]
    yield (*circumstances(), "")
    for batch, rate in forward(opened, engine, seconds).items():
        yield f"bare forward pass, {batch} at once", f"{rate:.1f} images/s", ""
    extra = ["--engine", str(engine)] if engine else []
    with (
        tempfile.TemporaryDirectory(prefix="tagfill-load-") as folder,
        serving(run, Path(folder, "review.db"), *extra) as url,
    ):
        asyncio.run(load(url, photos, 1, 1))
        for clients in CLIENTS:
            taken = asyncio.run(load(url, photos, clients, seconds))
            middle, slow = percentiles(taken)
            rate = f"{len(taken) / seconds:.1f} requests/s"
            yield f"`/api/predict`, {clients} clients", rate, f"p50 {middle:.0f}, p95 {slow:.0f} ms"


def main() -> None:
    """Print the rows, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--seconds", type=float, default=8)
    parser.add_argument("--engine", type=Path, help="an export of the model, .onnx or .pt2")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    found = rows(given.run, given.engine, given.seconds)
    show_rows(("load", "rate", "time"), found, PAGE if given.write else None, "load")


if __name__ == "__main__":
    main()
