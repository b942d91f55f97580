"""Run a frozen backbone over image files once, and keep what it says."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader

from tagfill.images import open_image
from tagfill.models.backbones import Backbone
from tagfill.train.cache import FeatureRows, FeatureStore, content_hashes
from tagfill.train.inputs import View, seeded

Kind = Literal["pooled", "maps"]
Progress = Callable[[int, int], None]

SHARD = 512
"""Images a shard holds, and at most what an interruption costs."""
BATCH = 32


def extract(
    backbone: Backbone,
    paths: Sequence[Path],
    *,
    view: View,
    view_name: str,
    kind: Kind,
    size: int,
    device: torch.device,
    workers: int = 2,
    progress: Progress | None = None,
    root: Path | None = None,
) -> FeatureRows:
    """Features of image files, from the cache where they are known.

    Args:
        backbone: frozen; its weights are part of what identifies the features.
        paths: N files.
        view: how an image becomes an input. Random views draw from torch's generator, seeded by the
            image's bytes and the view's name, so that the same image gives the same features.
        view_name: part of what identifies the features.
        kind: pooled [D] or maps [D, H, W].
        size: side of the input.
        device: where the backbone runs.
        workers: processes that decode images.
        progress: told how many images are done, and of how many.
        root: the cache folder.
    """
    about = {
        "backbone": backbone.spec.name,
        "weights": backbone.spec.weights,
        "fingerprint": fingerprint(backbone),
        "input_size": size,
        "kind": kind,
        "view": view_name,
    }
    store = FeatureStore(about, root)
    hashes = content_hashes(paths)
    path_of = dict(zip(hashes, paths, strict=True))
    missing = store.missing(hashes)
    backbone = backbone.to(device, memory_format=torch.channels_last).eval()  # type: ignore[call-overload]
    for start in range(0, len(missing), SHARD):
        names = missing[start : start + SHARD]
        files = _Views([path_of[name] for name in names], names, view, view_name, size)
        store.add(names, _run(backbone, files, kind, device, workers))
        if progress is not None:
            progress(start + len(names), len(missing))
    return store.rows(hashes)


@torch.no_grad()
def _run(
    backbone: Backbone, files: _Views, kind: Kind, device: torch.device, workers: int
) -> np.ndarray[tuple[int, ...], np.dtype[np.float16]]:
    run: nn.Module | Callable[[torch.Tensor], torch.Tensor]
    run = backbone.pooled if kind == "pooled" else backbone
    found = []
    for images in DataLoader(files, batch_size=BATCH, num_workers=min(workers, len(files))):
        inputs = images.to(device).contiguous(memory_format=torch.channels_last)
        found.append(run(inputs).to(torch.float16).cpu().numpy())
    return np.concatenate(found)


class _Views(torch.utils.data.Dataset[torch.Tensor]):
    def __init__(
        self,
        paths: Sequence[Path],
        hashes: Sequence[str],
        view: View,
        view_name: str,
        size: int,
    ) -> None:
        self.paths, self.hashes, self.view, self.size = paths, hashes, view, size
        self.salt = int.from_bytes(hashlib.blake2b(view_name.encode(), digest_size=6).digest())

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, row: int) -> torch.Tensor:
        with seeded(self.salt, int(self.hashes[row][:12], 16)):
            return self.view(open_image(self.paths[row], self.size))


def fingerprint(network: nn.Module) -> str:
    """A hash of all weights and buffers."""
    digest = hashlib.blake2b(digest_size=16)
    for name, tensor in sorted(network.state_dict().items()):
        digest.update(name.encode())
        digest.update(
            tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes()
        )
    return digest.hexdigest()
