"""The frozen backbone on ONNX Runtime: its graph is exported once and kept in the cache.

On the CPU the runtime is two to four times as fast as torch, with the same features to float32's
precision. Torch remains the engine of GPUs and of architectures that cannot be exported.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import uuid
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor, nn

from tagfill.arrays import Numbers
from tagfill.compat import cache_root
from tagfill.errors import TagfillError
from tagfill.models.backbones import Backbone
from tagfill.models.plain_heads import grid_of

FeatureKind = Literal["maps", "pooled", "grid"]
KINDS: tuple[FeatureKind, ...] = get_args(FeatureKind)
"""Outputs of a graph."""

TOLERANCE = 1e-3
"""Largest difference from torch that is accepted, relative to the largest feature."""
WORTH_EXPORTING = 100
"""An export takes as long as torch needs for about this many images."""
_PART_PIXELS = 2 * 224 * 224
"""Pixels that a thread runs at once."""
ENGINE_VARIABLE = "TAGFILL_ENGINE"
_UNFIT = "unfit"
_ATTEMPTS = 3


@dataclass(frozen=True, eq=False)
class FeatureEngine:
    """What computes features: [N, 3, H, W] normalized to [N, D] or [N, D, H', W'].

    Args:
        kinds: the kind that was asked for, and others that cost nothing more.
        several: features of all kinds.
    """

    name: Literal["onnxruntime", "torch"]
    kinds: tuple[FeatureKind, ...]
    several: Callable[[Numbers], list[Numbers]]

    def run(self, images: Numbers) -> Numbers:
        """Features of the kind that was asked for."""
        return self.several(images)[0]


def feature_engine(
    backbone: Backbone,
    kind: FeatureKind,
    device: torch.device,
    *,
    images: int = WORTH_EXPORTING,
    beside: tuple[FeatureKind, ...] = (),
) -> FeatureEngine:
    """ONNX Runtime on the CPU; torch elsewhere, and if the graph differs.

    Args:
        backbone: its weights do not change any more.
        images: expected number of images; an export takes longer than a few of them.
        beside: other kinds, if they come from the same pass.
    """
    if device.type == "cpu" and os.environ.get(ENGINE_VARIABLE) != "torch":
        path = find_graph(backbone, export=images >= WORTH_EXPORTING)
        if path is not None:
            kinds = (kind, *beside)
            run = _runtime_run(backbone, path, kinds, torch.get_num_threads())
            return FeatureEngine("onnxruntime", kinds, run)
    compute = _torch_run(backbone, kind, device)
    return FeatureEngine("torch", (kind,), lambda images: [compute(images)])


def find_graph(backbone: Backbone, *, export: bool = True) -> Path | None:
    """The backbone's graph, exported and compared with torch if the cache has none yet.

    A file's name ends in the hash of its content; a damaged one is made again.

    Returns:
        None if there is no graph, or the architecture cannot be exported faithfully.
    """
    folder = cache_root() / "graphs"
    key = f"{fingerprint(backbone)}-{backbone.spec.size}-{'-'.join(KINDS)}"
    for path in folder.glob(f"{key}-*.onnx"):
        digest = path.stem.rpartition("-")[2]
        if digest == _UNFIT:
            return None
        if _is_whole(path, digest):
            with suppress(OSError):
                os.utime(path)  # in use: not to be pruned
            return path
        with suppress(OSError):
            path.unlink()
    return _exported(backbone, folder, key) if export else None


def _is_whole(path: Path, digest: str) -> bool:
    try:
        return _digest(path.read_bytes()) == digest
    except OSError:  # another process empties the cache
        return False


def fingerprint(network: nn.Module) -> str:
    """A hash of all weights and buffers."""
    digest = hashlib.blake2b(digest_size=16)
    for name, tensor in sorted(network.state_dict().items()):
        digest.update(name.encode())
        digest.update(
            tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
        )
    return digest.hexdigest()


def _exported(backbone: Backbone, folder: Path, key: str) -> Path | None:
    module = _Features(backbone.build())
    generator = torch.Generator().manual_seed(0)
    size = backbone.spec.size
    example = torch.randn(3, 3, size, size, generator=generator)
    draft = folder / f".{uuid.uuid4().hex}.onnx"
    was_training = backbone.training
    try:
        folder.mkdir(parents=True, exist_ok=True)
        backbone.eval()
        with torch.no_grad():
            expected = module(example)
            _export(module, example[:2], draft)
        computed = _session(draft, 1).run(list(KINDS), {"images": example.numpy()})
        fits = all(map(_agrees, computed, expected))
    except Exception:  # anything the exporter or the runtime does not support
        fits = False
    backbone.train(was_training)
    try:
        if not fits:
            draft.unlink(missing_ok=True)
            (folder / f"{key}-{_UNFIT}.onnx").touch()
            return None
        path = folder / f"{key}-{_digest(draft.read_bytes())}.onnx"
        draft.replace(path)
    except OSError:  # the cache cannot be written
        return None
    return path


def _agrees(computed: Numbers, expected: Tensor) -> bool:
    reference: Numbers = expected.float().numpy()
    return bool(np.abs(computed - reference).max() <= TOLERANCE * np.abs(reference).max())


class _Features(nn.Module):
    def __init__(self, backbone: Backbone) -> None:
        super().__init__()
        self.backbone = backbone

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        maps: Tensor = self.backbone(images)
        return maps, maps.mean(dim=(2, 3)), grid_of(maps)


def _export(module: nn.Module, example: Tensor, path: Path) -> None:
    """Export by tracing: a third of the time of the newer exporter, and the same graph."""
    with quiet():
        torch.onnx.export(
            module,
            (example,),
            str(path),
            dynamo=False,
            input_names=["images"],
            output_names=list(KINDS),
            dynamic_axes={name: {0: "batch"} for name in ("images", *KINDS)},
        )


def _runtime_run(
    backbone: Backbone, path: Path, kinds: tuple[FeatureKind, ...], threads: int
) -> Callable[[Numbers], list[Numbers]]:
    def run(images: Numbers) -> list[Numbers]:
        together = len(images) < threads  # the threads share an image, for a quick answer
        session = _opened(backbone, path, threads if together else 1)

        def part(images: Numbers) -> list[Numbers]:
            features: list[Numbers] = session.run(list(kinds), {"images": images})
            return features

        return part(images) if together else in_parts(part, images, threads)

    return run


def _opened(backbone: Backbone, path: Path, threads: int) -> Any:
    """A session with the graph, exported again if the cache was emptied since it was found."""
    for _ in range(_ATTEMPTS):
        try:
            return _session(path, threads)
        except Exception:  # the runtime's own classes
            if path.is_file():
                raise
            path = find_graph(backbone) or path
    raise TagfillError("the cache is emptied again and again", file=path.parent)


def in_parts(
    run: Callable[[Numbers], list[Numbers]], images: Numbers, threads: int
) -> list[Numbers]:
    """Run a batch as a few images at a time, by threads that do not wait for each other.

    A third less work than the batch as a whole, whose activations do not fit the processor's cache,
    and no pause after every layer.
    """
    most = max(1, _PART_PIXELS // (images.shape[-2] * images.shape[-1]))
    size = min(most, -(-len(images) // threads))
    parts = [images[start : start + size] for start in range(0, len(images), size)]
    if threads == 1 or len(parts) == 1:
        results = [run(part) for part in parts]
    else:
        with ThreadPoolExecutor(threads) as pool:
            results = list(pool.map(run, parts))
    return [np.concatenate(kind) for kind in zip(*results, strict=True)]


@lru_cache(maxsize=4)
def _session(path: Path, threads: int) -> Any:
    import onnxruntime

    return onnxruntime.InferenceSession(
        str(path), session_options(threads), providers=["CPUExecutionProvider"]
    )


def session_options(threads: int) -> Any:
    """Options of a session whose threads sleep while they wait, to spare other processes."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = threads
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return options


def _torch_run(
    backbone: Backbone, kind: FeatureKind, device: torch.device
) -> Callable[[Numbers], Numbers]:
    module = backbone.to(device, memory_format=torch.channels_last).eval()  # type: ignore[call-overload]
    compute = {"maps": module, "pooled": module.pooled, "grid": lambda x: grid_of(module(x))}[kind]

    @torch.no_grad()
    def run(images: Numbers) -> Numbers:
        batch = torch.from_numpy(images).to(device).contiguous(memory_format=torch.channels_last)
        features: Numbers = compute(batch).float().cpu().numpy()
        return features

    return run


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Silence exporters, which write to the root logger and to stdout."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), contextlib.redirect_stdout(None):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()
