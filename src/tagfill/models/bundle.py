"""A model as a folder: ``model.safetensors`` and ``model.json``; nothing in it is executed.

The folder contains nothing else: saving replaces it.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import torch
from safetensors.torch import save_file

from tagfill.errors import TagfillError
from tagfill.evaluate.calibration import check_calibration
from tagfill.files import atomic_folder, read_text, write_json
from tagfill.labels.hierarchy import as_hierarchy
from tagfill.labels.table import Hierarchy
from tagfill.models.checks import check_finite, class_names, numbers
from tagfill.models.deploy import Metadata
from tagfill.models.engines import bundle_engine
from tagfill.models.hub import offline
from tagfill.models.network import Network, rebuild_network
from tagfill.models.preprocess import Preprocess, eval_transform
from tagfill.models.spec import BackboneSpec
from tagfill.models.tagging import Pictures, Prediction, as_list
from tagfill.models.weights import StateDict, read_state
from tagfill.settings import misfit

FORMAT = "tagfill-model"
VERSION = 1
TENSORS = "model.safetensors"
DESCRIPTION = "model.json"
_KEYS = {
    *("format", "version", "classes", "network", "input", "weights", "thresholds", "calibration"),
    *("sha256", "versions", "details"),
}


class _Source(TypedDict):
    source: str
    license: str


class _Input(TypedDict):
    size: int


class _Head(TypedDict):
    name: str
    settings: dict[str, Any]


class _Network(TypedDict):
    backbone: dict[str, Any]
    head: _Head
    classes: int


class _Described(TypedDict):
    """What every reader of a description relies on."""

    details: dict[str, Any]
    weights: _Source
    input: _Input
    network: _Network


@dataclass(frozen=True, eq=False)
class Bundle:
    """A trained model and what is needed to use it.

    Args:
        network: the network, in evaluation mode once loaded.
        thresholds: [K] probability from which a class counts as present, where fitted.
        calibration: what turns logits into probabilities, where fitted; plain JSON values.
        details: other metadata (data, method, metrics) as plain JSON values.
    """

    network: Network
    classes: tuple[str, ...]
    thresholds: tuple[float, ...] | None = None
    calibration: Mapping[str, Any] | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def hierarchy(self) -> Hierarchy:
        """The classes each class implies, from the labels."""
        return as_hierarchy(self.details.get("hierarchy"))

    @property
    def metadata(self) -> Metadata:
        """What an exported file says about itself."""
        return Metadata.of(self.network, self.classes, self.thresholds, self.hierarchy)

    @property
    def transform(self) -> Preprocess:
        """Pictures as the network needs them."""
        return eval_transform(self.network.backbone.spec)

    def predict(
        self,
        images: Pictures,
        *,
        top: int | None = None,
        threshold: float | None = None,
        batch_size: int = 32,
    ) -> list[Prediction]:
        """Tags of images: paths, PIL images, arrays [H, W, 3]; see ``Engine.predict``."""
        pictures = images if isinstance(images, np.ndarray) else as_list(images)
        engine = bundle_engine(self, images=len(pictures))
        return engine.predict(pictures, top=top, threshold=threshold, batch_size=batch_size)

    def save(self, folder: str | Path) -> Path:
        """Write the bundle; the folder appears, or is replaced, only when all of it is on disk."""
        self._check()
        target = Path(folder)
        with atomic_folder(target) as draft:
            tensors = {
                name: tensor.detach().cpu().contiguous().clone()
                for name, tensor in self.network.state_dict().items()
            }
            save_file(tensors, draft / TENSORS)
            described = self._describe(_sha256(draft / TENSORS))
            write_json(draft / DESCRIPTION, described)
            shutil.copymode(draft / DESCRIPTION, draft / TENSORS)  # safetensors: only the owner
        return target

    def _check(self) -> None:
        count = self.network.classes
        class_names(self.classes, count)
        if self.thresholds is not None:
            numbers("thresholds", self.thresholds, count, low=0, high=1)
        if self.calibration is not None:
            check_calibration(self.calibration, count)

    def _describe(self, sha256: str) -> dict[str, Any]:
        spec = self.network.backbone.spec
        return {
            "format": FORMAT,
            "version": VERSION,
            "classes": list(self.classes),
            "input": {"size": spec.size, "mean": spec.mean, "std": spec.std, "resize": "squash"},
            "weights": {"source": spec.weights, "license": spec.license},
            "thresholds": None if self.thresholds is None else list(self.thresholds),
            "calibration": self.calibration,
            "sha256": sha256,
            "versions": {name: version(name) for name in ("tagfill", "torch", "timm")},
            "details": dict(self.details),
            "network": self.network.to_json(),
        }


def load(path: str | Path) -> Bundle:
    """Read a model folder, or the one inside a run folder, without any network access.

    Raises:
        TagfillError: not a bundle, one of a newer version, or one that was changed or damaged.
    """
    folder = model_folder(path)
    described = _read_description(folder / DESCRIPTION)
    tensors = folder / TENSORS
    if not tensors.is_file():
        raise TagfillError("the model's tensors are missing", file=tensors)
    try:
        bundle = _rebuilt(described, tensors)
        bundle._check()
    except TagfillError as error:
        file = error.file or folder / DESCRIPTION
        remedy = error.remedy or "save or copy the model again"
        raise TagfillError(error.message, file=file, remedy=remedy) from error
    expected = json.loads(json.dumps(bundle._describe("")))
    for key in ("input", "weights"):
        if described[key] != expected[key]:
            raise TagfillError(
                f"has a {key!r} that contradicts its 'network': the file was changed",
                file=folder / DESCRIPTION,
            )
    return bundle


def _rebuilt(described: Mapping[str, Any], tensors: Path) -> Bundle:
    """The described model with its weights.

    Oversized descriptions are refused before building, oversized files before reading.
    """
    state = read_state(tensors)  # mapped into memory, not read yet
    with torch.random.fork_rng(devices=[]), offline():
        network = rebuild_network(described["network"], tensors.stat().st_size, state).eval()
    _check_fitting(network, state, tensors)
    if _sha256(tensors) != described["sha256"]:
        raise TagfillError(
            f"is not the file {DESCRIPTION} was written for (its SHA-256 differs)", file=tensors
        )
    check_finite(state, tensors)
    network.load_state_dict(state)
    network.remember_fit()
    return Bundle(
        network=network,
        classes=described["classes"],
        thresholds=described["thresholds"],
        calibration=described["calibration"],
        details=described["details"],
    )


def description(path: str | Path) -> dict[str, Any]:
    """The description in a model folder, without the weights."""
    return _read_description(model_folder(path) / DESCRIPTION)


def model_folder(path: str | Path) -> Path:
    """The model folder of a run folder; any other folder as it is."""
    folder = Path(path)
    inside = folder / "model"
    is_run = not (folder / DESCRIPTION).is_file() and (inside / DESCRIPTION).is_file()
    return inside if is_run else folder


def _read_description(file: Path) -> dict[str, Any]:
    if not file.parent.exists():
        raise TagfillError("no such file or folder", file=file.parent)
    if not file.is_file():
        raise TagfillError(f"this folder has no model ({DESCRIPTION} is missing)", file=file.parent)
    try:
        described = json.loads(read_text(file))
    except (ValueError, RecursionError) as error:
        raise TagfillError(f"is not JSON ({error})", file=file) from error
    if not isinstance(described, dict) or described.get("format") != FORMAT:
        raise TagfillError("does not describe a tagfill model", file=file)
    if described.get("version") != VERSION:
        raise TagfillError(
            f"is of version {described.get('version')}, this program reads version {VERSION}",
            file=file,
            remedy="update tagfill",
        )
    if set(described) != _KEYS:
        raise TagfillError(
            f"has unknown or missing keys: {sorted(set(described) ^ _KEYS)}", file=file
        )
    try:
        _check_tables(described)
        count = described["network"]["classes"]
        described["classes"] = class_names(described["classes"], count)
        if described["thresholds"] is not None:
            described["thresholds"] = numbers(
                "thresholds", described["thresholds"], count, low=0, high=1
            )
        if described["calibration"] is not None:
            check_calibration(described["calibration"], count)
    except TagfillError as error:
        raise TagfillError(error.message, file=file, remedy=error.remedy) from error
    return described


def _check_tables(described: Mapping[str, Any]) -> None:
    fault = misfit(_Described, described)
    if fault:
        raise TagfillError(f"the description is damaged: {fault!r} is missing or of another kind")
    BackboneSpec.from_json(described["network"]["backbone"])


def _check_fitting(network: Network, state: StateDict, file: Path) -> None:
    expected = network.state_dict()
    odd = sorted(state.keys() ^ expected.keys()) or sorted(
        name
        for name, tensor in expected.items()
        if (state[name].shape, state[name].dtype) != (tensor.shape, tensor.dtype)
    )
    if odd:
        raise TagfillError(
            f"the tensors do not fit the network described (for example {odd[0]!r})", file=file
        )


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
