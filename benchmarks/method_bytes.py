"""One small linear run per method: hashes of weights and of metrics, to compare two revisions.

    python benchmarks/method_bytes.py                    # hashes of the working tree
    python benchmarks/method_bytes.py --compare HEAD~20  # and what differs from a revision

A change that is meant to keep behavior keeps every hash. The images are drawn at random, the labels
lack half of the entries; every method trains for two epochs on one thread. Times and paths
are no part of a hash. A revision is checked out in a temporary git worktree.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

IMAGES, CLASSES, SIDE, EPOCHS = 48, 4, 32, 2
Hashes = dict[str, list[str]]
ROOT = Path(__file__).resolve().parents[1]


def write_data(folder: Path) -> None:
    """Images whose colors follow their tags; full labels, and labels of which half are missing."""
    draw = np.random.default_rng(0)
    truth = (draw.random((IMAGES, CLASSES)) < 0.4).astype(np.int8)
    truth[np.arange(IMAGES), np.arange(IMAGES) % CLASSES] = 1
    colors = draw.integers(40, 215, size=(CLASSES, 3))
    (folder / "images").mkdir(parents=True)
    for number, row in enumerate(truth):
        pixels = draw.integers(0, 60, size=(SIDE, SIDE, 3))
        for k in np.flatnonzero(row):
            pixels[k * 8 : k * 8 + 8] += colors[k]
        Image.fromarray(pixels.clip(0, 255).astype(np.uint8)).save(
            folder / "images" / f"{number:02}.png"
        )
    known = draw.random(truth.shape) < 0.5
    known[np.arange(IMAGES), np.arange(IMAGES) % CLASSES] = True
    write_labels(folder / "truth.csv", truth)
    write_labels(folder / "labels.csv", np.where(known, truth, -1))


def write_labels(file: Path, labels: np.ndarray) -> None:
    """A table of 1, 0 and nothing for unknown; every fourth image is for validation."""
    lines = [",".join(["image", *(f"tag{k}" for k in range(CLASSES)), "split"])]
    for number, row in enumerate(labels):
        entries = ["" if value < 0 else str(value) for value in row]
        lines.append(",".join([f"{number:02}.png", *entries, "train" if number % 4 else "val"]))
    file.write_text("\n".join(lines) + "\n")


def runs(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Name and hashes of each method, trained by whatever tagfill is imported."""
    import tagfill
    from tagfill.methods import names

    write_data(folder)
    for name in names():
        run = tagfill.fit(
            folder / "labels.csv",
            images=folder / "images",
            truth=folder / "truth.csv",
            method=name,
            mode="linear",
            out=folder / "runs" / name,
            progress=False,
            input_size=SIDE,
            epochs=EPOCHS,
            threads=1,
            workers=0,
        )
        yield name, [weights_hash(run), metrics_hash(run)]


def weights_hash(run: Any) -> str:
    """Hash of all tensors of the saved model, by name."""
    digest = hashlib.sha256()
    for name, tensor in sorted(run.model.network.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]


def metrics_hash(run: Any) -> str:
    """Hash of the metrics as they were written, without the time."""
    metrics = json.loads((run.path / "metrics.json").read_text())
    del metrics["seconds_per_epoch"]
    return hashlib.sha256(json.dumps(metrics, sort_keys=True).encode()).hexdigest()[:16]


def hashes_of(source: Path) -> Hashes:
    """The hashes of a source tree, computed in a process that imports tagfill from there."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.pathsep.join([str(source / "src"), os.environ.get("PYTHONPATH", "")])
        places = {"PYTHONPATH": path, "TAGFILL_CACHE": f"{folder}/cache"}
        done = subprocess.run(
            [sys.executable, __file__, "--in", folder + "/data"],
            env={**os.environ, **places},
            stdout=subprocess.PIPE,
            check=True,
            text=True,
        )
    return json.loads(done.stdout.splitlines()[-1])


def hashes_at(revision: str) -> Hashes:
    """The hashes of a revision."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--quiet", "--detach", tree, revision], check=True)
        try:
            return hashes_of(tree)
        finally:
            subprocess.run([*git, "remove", "--force", tree], check=True)


def main() -> None:
    """Print hashes, and with ``--compare`` what differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compare", metavar="REVISION")
    parser.add_argument("--in", dest="folder", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.folder:
        print(json.dumps(dict(runs(options.folder))))
        return
    now = hashes_of(ROOT)
    for name, (weights, metrics) in now.items():
        print(f"{name:18} weights {weights}  metrics {metrics}")
    if options.compare:
        before = hashes_at(options.compare)
        differing = [name for name in sorted({*before, *now}) if before.get(name) != now.get(name)]
        for name in differing:
            print(f"differs: {name}: {before.get(name)} at {options.compare}, {now.get(name)} now")
        print(f"{len(now)} methods, {len(differing)} differ from {options.compare}")
        sys.exit(bool(differing))


if __name__ == "__main__":
    main()
