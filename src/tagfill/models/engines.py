"""What runs a trained model: torch on a bundle, ONNX Runtime or torch on an exported file."""

from __future__ import annotations

import io
import threading
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch

from tagfill.arrays import Numbers
from tagfill.errors import TagfillError
from tagfill.models.deploy import METADATA, Deployable, Metadata
from tagfill.models.graphs import (
    WORTH_EXPORTING,
    FeatureEngine,
    feature_engine,
    session_options,
)
from tagfill.models.seal import known_bytes, sealed_bytes
from tagfill.models.tagging import Pictures, Prediction, TagRule, as_list, checked_features, pixels

if TYPE_CHECKING:
    from tagfill.models.bundle import Bundle

ARCHIVE_METADATA = f"{METADATA}.json"
Run = Callable[[Numbers], tuple[Numbers, Numbers]]
"""From inputs [N, ...] to probabilities and logits [N, K]."""
LONGEST_BATCH = 600.0
"""Seconds a batch may take: a malicious file can hold an endless loop."""
ROUNDING = 1e-4
_ANEW = "export it again"


@dataclass(frozen=True, eq=False)
class Engine:
    """A model with its metadata.

    Args:
        metadata: classes, thresholds, what it reads.
        run: from inputs [N, ...] to probabilities and logits [N, K].
    """

    metadata: Metadata
    run: Run
    name: str

    def probabilities(self, inputs: Numbers) -> Numbers:
        """[N, K] of pixels [N, 3, H, W] in 0..1, or of features."""
        return self.run(inputs)[0]

    def predict(
        self,
        images: Pictures,
        *,
        top: int | None = None,
        threshold: float | None = None,
        batch_size: int = 32,
    ) -> list[Prediction]:
        """Tags of images.

        Args:
            images: one or many of: path, PIL image, array [H, W, 3]; or features [N, D] where the
                model was trained on given features.
            top: give this many tags, the most probable ones.
            threshold: use this instead of the model's own thresholds.
            batch_size: images at once.
        """
        rule = TagRule.of(self.metadata, top=top, threshold=threshold)
        items = self._features(images) if self.metadata.reads == "features" else as_list(images)
        predictions: list[Prediction] = []
        for start in range(0, len(items), batch_size):
            batch = items[start : start + batch_size]
            names = [
                str(item) if isinstance(item, str | Path) else str(start + row)
                for row, item in enumerate(batch)
            ]
            if not isinstance(batch, np.ndarray):
                batch = np.stack([pixels(picture, self.metadata.size) for picture in batch])
            predictions += rule.predictions(names, self.probabilities(batch))
        return predictions

    def _features(self, features: Pictures) -> Numbers:
        if not isinstance(features, np.ndarray):
            raise TagfillError(
                "the model was trained on given features and cannot read images",
                remedy=f"give an array of features [N, {self.metadata.channels}]",
            )
        checked = checked_features(features, self.metadata)
        if not np.isfinite(checked).all():
            raise TagfillError("some features are NaN, infinite or too large")
        return checked


def open_engine(
    path: str | Path, device: str | None = None, *, images: int = WORTH_EXPORTING
) -> Engine:
    """The engine of a run folder, a model folder, an ``.onnx`` or a ``.pt2`` file.

    Args:
        device: for torch: cpu, cuda ...; by default a GPU if there is one.
        images: expected number of images.
    """
    source = Path(path)
    if source.suffix.lower() == ".onnx":
        return onnx_engine(source)
    if source.suffix.lower() == ".pt2":
        return archive_engine(source)
    from tagfill.models.bundle import load

    return bundle_engine(load(source), device, images=images)


def bundle_engine(
    bundle: Bundle, device: str | None = None, *, images: int = WORTH_EXPORTING
) -> Engine:
    """The backbone on ONNX Runtime and the head on torch; all on torch on a GPU."""
    target = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    metadata = bundle.metadata
    if metadata.reads == "images":
        network = bundle.network.eval()
        features = feature_engine(network.backbone, network.head.reads, target, images=images)
        if features.name == "onnxruntime":
            return Engine(metadata, _two_part_run(features, bundle), "onnxruntime")
    return torch_engine(bundle, target)


def torch_engine(bundle: Bundle, device: torch.device) -> Engine:
    bundle.network.backbone.build()
    module = Deployable(bundle.network, bundle.calibration).eval()
    module.to(device, memory_format=torch.channels_last)  # type: ignore[call-overload]
    return Engine(bundle.metadata, _torch_run(module, device), "torch")


def archive_engine(path: Path) -> Engine:
    """Torch on an exported program."""
    files = {ARCHIVE_METADATA: ""}
    content = io.BytesIO(known_bytes(path))
    try:
        damaged = zipfile.ZipFile(content).testzip()  # torch does not look at the checksums
        if damaged is not None:
            raise ValueError(f"{damaged} is damaged")
        content.seek(0)
        program = torch.export.load(content, extra_files=files)
        module = program.module()
    except Exception as error:  # reading a damaged archive can raise anything
        raise TagfillError(
            f"is not an exported torch program ({first_line(error)})", file=path, remedy=_ANEW
        ) from error
    metadata = _metadata(files[ARCHIVE_METADATA], path)
    run = _checked(_torch_run(module, torch.device("cpu")), metadata, path)
    return Engine(metadata, run, "torch.export")


def onnx_engine(path: Path, threads: int | None = None) -> Engine:
    """ONNX Runtime on an exported file."""
    import onnxruntime

    options = session_options(threads or torch.get_num_threads())
    options.log_severity_level = 4
    content = sealed_bytes(path)
    try:
        session = onnxruntime.InferenceSession(
            content, options, providers=onnxruntime.get_available_providers()
        )
        entrance = session.get_inputs()[0].name
        text = session.get_modelmeta().custom_metadata_map.get(METADATA)
    except Exception as error:  # the runtime has a class for every kind of failure
        raise TagfillError(
            f"ONNX Runtime cannot load it ({first_line(error)})", file=path, remedy=_ANEW
        ) from error
    metadata = _metadata(text, path)

    def run(inputs: Numbers) -> tuple[Numbers, Numbers]:
        limits = onnxruntime.RunOptions()
        limits.log_severity_level = 4
        timer = threading.Timer(LONGEST_BATCH, setattr, (limits, "terminate", True))
        timer.daemon = True
        timer.start()
        try:
            outputs = session.run(["probabilities", "logits"], {entrance: inputs}, limits)
        finally:
            timer.cancel()
        return outputs[0], outputs[1]

    return Engine(metadata, _checked(run, metadata, path), "onnxruntime")


def _checked(run: Run, metadata: Metadata, path: Path) -> Run:
    """Outputs of an untrusted file, checked to be numbers of the right shape."""

    def checked(inputs: Numbers) -> tuple[Numbers, Numbers]:
        try:
            outputs = run(inputs)
        except Exception as error:  # the runtimes have many classes of errors
            raise TagfillError(f"cannot be run ({first_line(error)})", file=path) from error
        expected = (len(inputs), len(metadata.classes))
        if any(np.shape(output) != expected for output in outputs):
            raise TagfillError(
                f"does not give one number for each of its classes {expected}", file=path
            )
        within = (outputs[0] >= -ROUNDING) & (outputs[0] <= 1 + ROUNDING)
        if not within.all():
            raise TagfillError(
                "gives probabilities that are not numbers from 0 to 1", file=path, remedy=_ANEW
            )
        return outputs

    return checked


def _two_part_run(features: FeatureEngine, bundle: Bundle) -> Run:
    module = Deployable(bundle.network, bundle.calibration).eval()
    mean, std = module.mean.cpu().numpy(), module.std.cpu().numpy()

    @torch.no_grad()
    def run(inputs: Numbers) -> tuple[Numbers, Numbers]:
        normalized = inputs - mean
        normalized /= std
        logits = bundle.network.head(torch.from_numpy(features.run(normalized))).logits
        return module.probabilities(logits).numpy(), logits.numpy()

    return run


def _torch_run(
    module: Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]], device: torch.device
) -> Run:
    @torch.no_grad()
    def run(inputs: Numbers) -> tuple[Numbers, Numbers]:
        batch = torch.from_numpy(inputs).to(device)
        if batch.ndim == 4:
            batch = batch.contiguous(memory_format=torch.channels_last)
        probabilities, logits = module(batch)
        return probabilities.float().cpu().numpy(), logits.float().cpu().numpy()

    return run


def _metadata(text: str | bytes | None, path: Path) -> Metadata:
    try:
        return Metadata.from_json(text.decode() if isinstance(text, bytes) else text)
    except TagfillError as error:
        raise TagfillError(error.message, file=path) from error


def first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0]
