"""Released Query2Label checkpoints as bundles.

Everything but the number of attention heads is read from names and shapes of the tensors: the
backbone, the input size (from the stored position code), the transformer's sizes, whether an input
projection and the decoder's self-attention were kept.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from tagfill.errors import TagfillError
from tagfill.models.bundle import Bundle
from tagfill.models.factory import build_backbone
from tagfill.models.heads import build_head
from tagfill.models.network import Network
from tagfill.models.query_heads import Q2LConfig, sine_position
from tagfill.models.weights import StateDict, below, fit_state, read_state

HEADS = 4

_POSITION = "backbone.1.pe"
_HEAD_NAMES = (
    (r"^query_embed\.weight$", "decoder.queries"),
    (r"^input_proj\.", "decoder.projection."),
    (r"^fc\.W$", "classifier.weight"),
    (r"^fc\.b$", "classifier.bias"),
    (r"^transformer\.decoder\.norm\.", "decoder.norm."),
    (r"^transformer\.(encoder|decoder)\.layers\.(\d+)\.", r"decoder.\1.\2."),
    (r"(decoder\.encoder\.\d+)\.self_attn\.", r"\1.attention."),
    (r"(decoder\.encoder\.\d+)\.norm1\.", r"\1.norm_attention."),
    (r"(decoder\.encoder\.\d+)\.norm2\.", r"\1.norm_feed."),
    (r"(decoder\.decoder\.\d+)\.self_attn\.", r"\1.mutual."),
    (r"(decoder\.decoder\.\d+)\.multihead_attn\.", r"\1.attention."),
    (r"(decoder\.decoder\.\d+)\.norm1\.", r"\1.norm_mutual."),
    (r"(decoder\.decoder\.\d+)\.norm2\.", r"\1.norm_attention."),
    (r"(decoder\.decoder\.\d+)\.norm3\.", r"\1.norm_feed."),
    (r"\.linear1\.", ".feed.0."),
    (r"\.linear2\.", ".feed.3."),
)
_CVT_NAMES = (
    (r"^stage(\d+)\.", r"encoder.stages.\1."),
    (r"\.patch_embed\.proj\.", ".embedding.convolution_embeddings.projection."),
    (r"\.patch_embed\.norm\.", ".embedding.convolution_embeddings.normalization."),
    (r"\.blocks\.(\d+)\.", r".layers.\1."),
    (r"\.attn\.proj\.", ".attention.output.dense."),
    (r"\.attn\.", ".attention.attention."),
    (r"\.conv_proj_([qkv])\.conv\.", r".conv_proj_\1.convolution."),
    (r"\.conv_proj_([qkv])\.bn\.", r".conv_proj_\1.normalization."),
    (r"\.conv_proj_([qkv])\.", r".convolution_projection_\1.convolution_projection."),
    (r"projection_q\.", "projection_query."),
    (r"projection_k\.", "projection_key."),
    (r"projection_v\.", "projection_value."),
    (r"\.proj_q\.", ".projection_query."),
    (r"\.proj_k\.", ".projection_key."),
    (r"\.proj_v\.", ".projection_value."),
    (r"\.mlp\.fc1\.", ".intermediate.dense."),
    (r"\.mlp\.fc2\.", ".output.dense."),
    (r"\.norm1\.", ".layernorm_before."),
    (r"\.norm2\.", ".layernorm_after."),
    (r"^norm\.", "layernorm."),
)


@dataclass(frozen=True)
class _Origin:
    """A backbone of the released code: its preset, the prefix of its tensors, their new names."""

    preset: str
    prefix: str
    new_names: Sequence[tuple[str, str]] = ()


def import_q2l(
    checkpoint: str | Path, classes: Sequence[str] | None = None, *, heads: int = HEADS
) -> Bundle:
    """Turn a released Query2Label checkpoint into a bundle.

    Args:
        checkpoint: the file; read as tensors only.
        classes: names in the checkpoint's order; None takes COCO's where there are 80.
        heads: number of attention heads, which no tensor reveals; 4 in all released models.
    """
    state = read_state(checkpoint)
    for needed in ("query_embed.weight", "fc.W", _POSITION):
        if needed not in state:
            raise TagfillError(
                f"is not a Query2Label checkpoint (no tensor {needed!r})", file=checkpoint
            )
    count = len(state["query_embed.weight"])
    names = _class_names(count, classes, checkpoint)
    origin = find_origin(state, checkpoint)
    stored_position = state[_POSITION]
    _, channels, height, width = stored_position.shape
    stride = 16 if origin.preset == "cvt_w24_22k" else 32
    backbone = build_backbone(origin.preset, size=width * stride, pretrained=False)
    stored = _renamed(below(state, origin.prefix), origin.new_names)
    fit_state(backbone.body, backbone.body.adapt(stored), file=checkpoint)
    backbone.spec = replace(
        backbone.spec, weights=f"query2label:{Path(checkpoint).name}", license="mit"
    )
    position = sine_position(height, width, channels)
    if not torch.allclose(stored_position[0].float(), position, atol=1e-3):
        raise TagfillError("has another position encoding", file=checkpoint)

    config = _head_config(state, heads)
    head = build_head(config, backbone.spec.channels, count)
    weights = _renamed(state, _HEAD_NAMES)
    for name in ("classifier.weight", "classifier.bias"):
        weights[name] = weights[name].squeeze(0)
    fit_state(head, weights, file=checkpoint)
    network = Network(backbone, head, config, count).eval()
    return Bundle(network, names, details={"imported_from": Path(checkpoint).name})


def find_origin(state: StateDict, checkpoint: str | Path) -> _Origin:
    """The released network of a checkpoint, recognized by its names."""
    if "backbone.0.body.conv1.weight" in state:
        deep = "backbone.0.body.layer3.22.conv1.weight" in state
        bottleneck = "backbone.0.body.layer1.0.conv3.weight" in state
        preset = "resnet101" if deep else "resnet50" if bottleneck else "resnet34"
        return _Origin(preset, "backbone.0.body.")
    if "backbone.0.body.body.conv1.0.weight" in state:
        second = "backbone.0.body.body.layer1.0.conv3.0.weight" in state
        return _Origin("tresnet_l_22k" if second else "tresnet_l", "backbone.0.body.")
    if "backbone.0.patch_embed.proj.weight" in state:
        return _Origin("swin_l_22k", "backbone.0.")
    if "backbone.0.stage0.patch_embed.proj.weight" in state:
        return _Origin("cvt_w24_22k", "backbone.0.", _CVT_NAMES)
    raise TagfillError("is not one of the released Query2Label backbones", file=checkpoint)


def _head_config(state: StateDict, heads: int) -> Q2LConfig:
    hidden = state["query_embed.weight"].shape[1]
    return Q2LConfig(
        hidden=hidden if "input_proj.weight" in state else None,
        feedforward=state["transformer.decoder.layers.0.linear1.weight"].shape[0],
        heads=heads,
        encoder_layers=_count(state, "encoder"),
        decoder_layers=_count(state, "decoder"),
        decoder_self_attention="transformer.decoder.layers.0.self_attn.in_proj_weight" in state,
    )


def _count(state: StateDict, part: str) -> int:
    pattern = re.compile(rf"^transformer\.{part}\.layers\.(\d+)\.")
    return len({match[1] for name in state if (match := pattern.match(name))})


def _renamed(state: StateDict, rules: Sequence[tuple[str, str]]) -> StateDict:
    def rename(name: str) -> str:
        for pattern, replacement in rules:
            name = re.sub(pattern, replacement, name)
        return name

    return {rename(name): tensor for name, tensor in state.items()}


def _class_names(
    count: int, classes: Sequence[str] | None, checkpoint: str | Path
) -> tuple[str, ...]:
    names = COCO_CLASSES if classes is None and count == len(COCO_CLASSES) else classes
    if names is None or len(names) != count:
        given = "none were given" if names is None else f"{len(names)} names were given"
        raise TagfillError(
            f"has {count} classes; {given}",
            file=checkpoint,
            remedy="give one name per line with --classes FILE",
        )
    return tuple(names)


COCO_CLASSES = tuple(
    """
    person|bicycle|car|motorcycle|airplane|bus|train|truck|boat|traffic light|fire hydrant
    |stop sign|parking meter|bench|bird|cat|dog|horse|sheep|cow|elephant|bear|zebra|giraffe
    |backpack|umbrella|handbag|tie|suitcase|frisbee|skis|snowboard|sports ball|kite|baseball bat
    |baseball glove|skateboard|surfboard|tennis racket|bottle|wine glass|cup|fork|knife|spoon|bowl
    |banana|apple|sandwich|orange|broccoli|carrot|hot dog|pizza|donut|cake|chair|couch|potted plant
    |bed|dining table|toilet|tv|laptop|mouse|remote|keyboard|cell phone|microwave|oven|toaster|sink
    |refrigerator|book|clock|vase|scissors|teddy bear|hair drier|toothbrush
    """.replace("\n    ", "")
    .strip()
    .split("|")
)
"""In the order of COCO's category numbers, which is that of the checkpoints."""
