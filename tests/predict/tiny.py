"""Tiny models and pictures for tests of prediction and export."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from tagfill.models.bundle import Bundle
from tagfill.models.factory import given_features
from tagfill.models.heads import build_head, configure_head
from tagfill.models.network import Network, build_network
from tagfill.scenes import generate

CLASSES = ("cat", "dog", "red bus")
PLATT = {"kind": "platt", "slope": [2.0, 0.5, 1.0], "bias": [0.1, -0.2, 0.3]}
STEPS = {
    "kind": "isotonic",
    "knots": [[-1.0, 0.0, 1.0], [0.0], [-0.5, 0.5]],
    "values": [[0.05, 0.4, 0.9], [0.3], [0.2, 0.6]],
}


def image_bundle(head: str = "linear", calibration=PLATT, seed: int = 3) -> Bundle:
    """A random network for 64 px images whose scores differ between images."""
    torch.manual_seed(seed)
    network = build_network("test_resnet", head, classes=3, size=64, pretrained=False).eval()
    if head == "linear":
        torch.nn.init.normal_(network.head.classifier.weight, std=3.0)
    return Bundle(network, CLASSES, thresholds=(0.5, 0.4, 0.6), calibration=calibration)


def feature_bundle(channels: int = 5) -> Bundle:
    """A linear head on given features."""
    torch.manual_seed(4)
    head = configure_head("linear")
    network = Network(given_features(channels), build_head(head, channels, 3), head, 3).eval()
    return Bundle(network, CLASSES, thresholds=(0.5, 0.4, 0.6), calibration=PLATT)


def pictures(folder: Path, count: int = 5) -> list[Path]:
    """Scenes as files, one of them in a subfolder and one with an odd suffix."""
    (folder / "sub").mkdir(parents=True, exist_ok=True)
    names = ["a.jpg", "b.PNG", "c.jpg", "d.jpg", "sub/e.webp"][:count]
    for name, scene in zip(names, generate(count, 96, 0), strict=True):
        scene.image.save(folder / name)
    return [folder / name for name in names]


def by_hand(bundle: Bundle, paths: list[Path]) -> np.ndarray:
    """Probabilities computed step by step: transform, network, calibration in numpy."""
    from tagfill.evaluate.calibration import apply_calibration
    from tagfill.images import open_image

    inputs = torch.stack([bundle.transform(open_image(path, 64)) for path in paths])
    with torch.no_grad():
        logits = bundle.network(inputs).logits.numpy()
    return apply_calibration(logits, bundle.calibration)
