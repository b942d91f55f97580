"""What spinning threads cost beside one busy neighbor: images a second of torch and ONNX Runtime.

    python benchmarks/waiting.py [--seconds 6]

Each way runs in a process of its own while another process keeps one core busy: torch with OpenMP's
own waiting policy, torch as tagfill sets it, and the feature engine of tagfill.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile

SCRIPT = """
import json, sys, time
if sys.argv[1] == "spinning":
    import torch  # before tagfill, which would set the waiting policy
import numpy as np, torch
from tagfill.models.factory import build_backbone
from tagfill.models.graphs import _torch_run, feature_engine
backbone = build_backbone("efficientnet_lite0").eval()
cpu = torch.device("cpu")
engine = feature_engine(backbone, "pooled", cpu).run
run = engine if sys.argv[1] == "engine" else _torch_run(backbone, "pooled", cpu)
batch = np.zeros((8, 3, 224, 224), dtype=np.float32)
run(batch)
start, images = time.monotonic(), 0
while time.monotonic() - start < float(sys.argv[2]):
    run(batch)
    images += 8
print(json.dumps(images / (time.monotonic() - start)))
"""


def burn() -> None:
    """Keep a core busy."""
    while True:
        pass


def rate(way: str, seconds: float, cache: str) -> float:
    """Images a second."""
    environment = {**os.environ, "TAGFILL_CACHE": cache}
    for name in ("OMP_WAIT_POLICY", "OMP_NUM_THREADS"):
        environment.pop(name, None)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, way, str(seconds)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return float(json.loads(done.stdout))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=6.0)
    options = parser.parse_args()
    neighbor = multiprocessing.get_context("spawn").Process(target=burn, daemon=True)
    neighbor.start()
    names = {
        "spinning": "torch, OpenMP's default",
        "passive": "torch, threads sleep",
        "engine": "tagfill's engine",
    }
    print("| beside one busy process | images/s |\n|---|---|")
    with tempfile.TemporaryDirectory() as cache:
        for way, name in names.items():
            print(f"| {name} | {rate(way, options.seconds, cache):.1f} |", flush=True)
    neighbor.kill()


if __name__ == "__main__":
    main()
