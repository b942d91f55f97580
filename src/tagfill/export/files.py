"""Write a model as ONNX or as a torch.export archive, with all its metadata inside."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from tagfill.arrays import Numbers
from tagfill.compat import optional
from tagfill.errors import TagfillError
from tagfill.models.bundle import Bundle
from tagfill.models.deploy import METADATA, Deployable
from tagfill.models.engines import ARCHIVE_METADATA, first_line
from tagfill.models.graphs import quiet
from tagfill.models.seal import remember, seal

OUTPUTS = ["probabilities", "logits"]
_BATCH = 16


def write_onnx(bundle: Bundle, path: Path) -> None:
    """ONNX: pixels in 0..1 (or features) in, probabilities and logits out, any batch size."""
    onnx = optional("onnx", "onnx")
    optional("onnxscript", "onnx")
    entrance = "pixels" if bundle.metadata.reads == "images" else "features"
    names: dict[str, Any] = {"input_names": [entrance], "output_names": OUTPUTS, "verbose": False}
    with quiet():
        try:
            program = torch.onnx.export(_traced(bundle), dynamo=True, **names)
            model = program.model_proto  # type: ignore[union-attr]
        except Exception:  # an older torch, or one that the installed onnxscript does not fit
            _export_by_tracing(bundle, path, names)
            model = onnx.load_model(str(path))
    del model.graph.value_info[:]  # shapes of constants that quantization transposes
    entry = model.metadata_props.add()
    entry.key, entry.value = METADATA, bundle.metadata.to_json()
    onnx.save_model(model, str(path))
    seal(path)


def write_archive(bundle: Bundle, path: Path) -> None:
    """A torch.export archive (``.pt2``): runs without the code of tagfill or timm."""
    files = {ARCHIVE_METADATA: bundle.metadata.to_json()}
    with quiet():
        torch.export.save(_traced(bundle), path, extra_files=files)
    remember(path)


def quantize(source: Path, path: Path, photos: Numbers | None = None) -> None:
    """Weights of matrix products and convolutions as 8-bit integers.

    With photos, activations of convolutions are 8-bit as well, in ranges that were seen on the
    photos, weights have a scale for every channel, and the head stays in float. Without, ranges
    are computed for every input, which takes time. Depthwise convolutions and those that read
    pixels stay in float: they hold few weights and suffer most.

    Args:
        photos: [N, 3, H, W] pixels in 0..1.
    """
    onnx = optional("onnx", "onnx")
    quantization = optional("onnxruntime.quantization", "onnx")
    model = onnx.load_model(str(source))
    with quiet():
        if photos is None:
            quantization.quantize_dynamic(
                str(source),
                str(path),
                weight_type=quantization.QuantType.QUInt8,
                nodes_to_exclude=_delicate(model),
            )
        else:
            quantization.quantize_static(
                str(source),
                str(path),
                _Batches(model.graph.input[0].name, photos),
                quant_format=quantization.QuantFormat.QDQ,
                activation_type=quantization.QuantType.QUInt8,
                weight_type=quantization.QuantType.QInt8,
                op_types_to_quantize=["Conv"],
                per_channel=True,
                nodes_to_exclude=_delicate(model),
            )
    small = onnx.load_model(str(path))
    del small.metadata_props[:]
    small.metadata_props.extend(entry for entry in model.metadata_props if entry.key == METADATA)
    onnx.save_model(small, str(path))
    seal(path)


class _Batches:
    def __init__(self, entrance: str, photos: Numbers) -> None:
        starts = range(0, len(photos), _BATCH)
        self._rest = iter([{entrance: photos[start : start + _BATCH]} for start in starts])

    def get_next(self) -> dict[str, Numbers] | None:
        return next(self._rest, None)


def _module(bundle: Bundle) -> Deployable:
    bundle.network.backbone.build()
    return Deployable(bundle.network.cpu(), bundle.calibration).eval()


def _export_by_tracing(bundle: Bundle, path: Path, names: Mapping[str, Any]) -> None:
    """Torch's older exporter, which does without onnxscript."""
    axes = {name: {0: "batch"} for name in (*names["input_names"], *OUTPUTS)}
    example = (bundle.metadata.example,)
    try:
        torch.onnx.export(
            _module(bundle), example, str(path), dynamo=False, dynamic_axes=axes, **names
        )
    except Exception as error:
        raise TagfillError(
            f"{bundle.network.backbone.spec.name} cannot be written as ONNX: {first_line(error)}",
            remedy="update torch and onnxscript, or use --to torch",
        ) from error


def _traced(bundle: Bundle) -> torch.export.ExportedProgram:
    module, example = _module(bundle), bundle.metadata.example
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            batch = {0: torch.export.Dim("batch", min=1, max=2**31 - 1)}
            return torch.export.export(module, (example,), dynamic_shapes=(batch,), strict=False)
    except Exception as error:  # anything an architecture does that cannot be traced
        name = bundle.network.backbone.spec.name
        raise TagfillError(
            f"{name} cannot be traced for any batch size: {first_line(error)}",
            remedy="use another backbone, or the model folder itself with `tagfill predict`",
        ) from error


def _delicate(model: object) -> list[str]:
    graph = model.graph  # type: ignore[attr-defined]
    inputs = {weight.name: list(weight.dims) for weight in graph.initializer}
    delicate = []
    for node in graph.node:
        if node.op_type != "Conv":
            continue
        groups = next((entry.i for entry in node.attribute if entry.name == "group"), 1)
        if groups > 1 or inputs.get(node.input[1], [0, 0])[1] == 3:
            delicate.append(node.name)
    return delicate
