"""Backbones that were built on this machine before, so that loading one again needs no library.

Importing timm and building an architecture take seconds, and a run whose features or graphs are in
the cache does not use it. A record says that an architecture was built, and that weights of these
names and shapes fit it; with other versions of the libraries it is built, and checked, again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tagfill.compat import cache_root
from tagfill.errors import TagfillError
from tagfill.files import write_text
from tagfill.models.backbones import Backbone
from tagfill.models.presets import OFFLINE
from tagfill.models.sources import package_state
from tagfill.models.spec import BackboneSpec
from tagfill.models.weights import State


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


def fits(spec: BackboneSpec, state: State) -> bool:
    """Whether an architecture was built before, and weights like these fitted it."""
    return _recall(_shapes(spec, state)) is not None


def remember_fit(spec: BackboneSpec, state: State) -> None:
    """Record that an architecture was built, and that these weights fit it."""
    _remember(_shapes(spec, state), {})


def _named(name: str, size: int | None) -> dict[str, Any]:
    return {"name": name, "size": size, "weights": OFFLINE[name].source, "library": "timm"}


def _shapes(spec: BackboneSpec, state: State) -> dict[str, Any]:
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
