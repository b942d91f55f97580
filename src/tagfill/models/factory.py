"""Backbones by name: an offline name, a preset, any timm name, or ``hf:NAME``.

Importing timm and building an architecture take seconds, and a run whose features or graphs are in
the cache does not use it. So a record is kept of what was built on this machine: that an
architecture was built, and that weights of these names and shapes fit it. With other versions of
the libraries it is built, and checked, again.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tagfill.compat import cache_root
from tagfill.errors import TagfillError
from tagfill.files import write_text
from tagfill.models import hub
from tagfill.models.backbones import Backbone
from tagfill.models.bodies import Body, load_timm, make_body, map_shape
from tagfill.models.lgconv import wrap_convolutions
from tagfill.models.presets import OFFLINE, PRESETS
from tagfill.models.sources import find_source, package_state
from tagfill.models.spec import BackboneSpec
from tagfill.models.weights import StateDict, fit_state, read_state


def build_backbone(
    name: str,
    *,
    size: int | None = None,
    pretrained: bool = True,
    weights: str | Path | None = None,
    lgconv: bool = False,
) -> Backbone:
    """A backbone with its weights.

    Args:
        name: an offline name, a preset, any timm name, or ``hf:NAME``.
        size: input side; None takes the weights' own.
        pretrained: False leaves the weights random.
        weights: a file with weights of this architecture, instead of the usual ones.
        lgconv: give every 3x3 convolution a global branch.

    Raises:
        TagfillError: unknown name, a size the architecture cannot take, weights out of reach.
    """
    source = find_source(name, size, pretrained=pretrained and weights is None)
    state, spec = None, source.draft
    if weights is not None:
        state = read_state(weights)
        spec = replace(spec, weights=f"file:{Path(weights).name}", license="unknown")
    elif pretrained:
        state = source.read()
        spec = replace(spec, weights=source.weights, license=source.license)
    spec, unused = _complete(spec)
    body = make_body(spec)
    if state is not None:
        fit_state(body, body.adapt(state), file=weights)
    backbone = _finish(body, replace(spec, lgconv=lgconv), unused)
    if name in OFFLINE and state is not None and weights is None and not lgconv:
        remember_backbone(name, size, backbone, list(state))
    return backbone


def rebuild_backbone(spec: BackboneSpec, most: float = math.inf) -> Backbone:
    """The same architecture with random weights; needs no network.

    Args:
        most: parameters it may have; a larger one is refused before it takes memory.
    """
    if spec.library == "features":
        return given_features(spec.channels)
    failure = f"the installed {spec.library} cannot build the backbone {spec.architecture!r}"
    if spec.library == "timm" and not load_timm().is_model(spec.architecture):
        raise TagfillError(failure, remedy="install the version it was made with")
    shape = map_shape(spec)
    if shape.channels != spec.channels or shape.parameters > most:
        raise TagfillError(
            f"the description does not fit the backbone {spec.architecture!r}, which has"
            f" {shape.channels} channels and {shape.parameters:,} parameters"
        )
    try:
        return _finish(make_body(spec), spec, shape.unused)
    except (RuntimeError, ValueError, TypeError, KeyError, AssertionError) as error:
        raise TagfillError(f"{failure}: {error}") from error


def given_features(channels: int) -> Backbone:
    """Replaces the backbone if features are given instead of images."""
    spec = BackboneSpec(
        name="given features",
        library="features",
        architecture="none",
        size=0,
        channels=channels,
        stride=1,
        weights="none",
    )
    return Backbone(make_body(spec), spec)


def describe(name: str, size: int | None = None) -> dict[str, Any]:
    """Description of a backbone, without loading weights."""
    source = find_source(name, size, pretrained=False)
    spec, _ = _complete(source.draft)
    return {
        **spec.to_json(),
        "weights": source.weights,
        "license": source.license,
        "weights_here": OFFLINE[name].is_installed
        if name in OFFLINE
        else source.repository is not None and hub.is_cached(source.repository),
        "used_by": PRESETS[name].used_by if name in PRESETS else None,
    }


def _complete(draft: BackboneSpec) -> tuple[BackboneSpec, Sequence[str]]:
    shape = map_shape(draft)
    spec = replace(draft, channels=shape.channels, stride=shape.stride, parameters=shape.parameters)
    return spec, shape.unused


def _finish(body: Body, spec: BackboneSpec, unused: Sequence[str]) -> Backbone:
    if spec.lgconv and wrap_convolutions(body) == 0:
        raise TagfillError(
            f"{spec.name} has no 3x3 convolutions a global branch could join",
            remedy="use lgconv with a convolutional backbone",
        )
    return Backbone(body, spec, unused)


def known_backbone(name: str, size: int | None) -> Backbone | None:
    """An offline backbone with its pretrained weights, where it was built before."""
    if name not in OFFLINE or not OFFLINE[name].is_installed:
        return None
    record = _recall(_named(name, size))
    if record is None:
        return None
    tensors = package_state(OFFLINE[name]).values()
    names = zip(record["names"], tensors, strict=True)
    state = {name: tensor for name, tensor in names if name is not None}
    return Backbone.stored(BackboneSpec.from_json(record["spec"]), state)


def remember_backbone(name: str, size: int | None, backbone: Backbone, names: list[str]) -> None:
    """Record what was built from a package's tensors, and the names they have in it."""
    state, own = backbone.state_dict(), [f"body.net.{tensor}" for tensor in names]
    if state.keys() <= set(own):
        kept = [tensor if tensor in state else None for tensor in own]
        _remember(_named(name, size), {"spec": backbone.spec.to_json(), "names": kept})


def fits(spec: BackboneSpec, state: StateDict) -> bool:
    """Whether an architecture was built before, and weights like these fitted it."""
    return _recall(_shapes(spec, state)) is not None


def remember_fit(spec: BackboneSpec, state: StateDict) -> None:
    """Record that an architecture was built, and that these weights fit it."""
    _remember(_shapes(spec, state), {})


def _named(name: str, size: int | None) -> dict[str, Any]:
    return {"name": name, "size": size, "weights": OFFLINE[name].source, "library": "timm"}


def _shapes(spec: BackboneSpec, state: StateDict) -> dict[str, Any]:
    shapes = {name: [str(tensor.dtype), *tensor.shape] for name, tensor in state.items()}
    return {"spec": spec.to_json(), "shapes": shapes, "library": spec.library}


def _file(about: Mapping[str, Any]) -> Path:
    packages = ("tagfill", "torch", about["library"])
    versions = {package: version(package) for package in packages if package != "features"}
    return cache_root() / "backbones" / f"{_digest({**about, 'versions': versions})}.json"


def _recall(about: Mapping[str, Any]) -> Any:
    """The content of a record; None if there is none, or a damaged one."""
    try:
        stored = json.loads(_file(about).read_text(encoding="utf-8"))
        return stored["content"] if stored["digest"] == _digest(stored["content"]) else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _remember(about: Mapping[str, Any], content: Any) -> None:
    text = json.dumps({"content": content, "digest": _digest(content)})
    with suppress(TagfillError):  # the cache may be read-only
        write_text(_file(about), text)


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
