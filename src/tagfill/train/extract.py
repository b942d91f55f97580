"""Run a frozen backbone over image files once, and cache its features."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import numpy as np
import torch

from tagfill.arrays import Numbers
from tagfill.console import Progress
from tagfill.errors import TagfillError
from tagfill.images import open_image, open_photo, read_ahead
from tagfill.models.backbones import Backbone
from tagfill.models.graphs import FeatureKind, feature_engine, fingerprint
from tagfill.models.network import Network
from tagfill.models.preprocess import Preprocess, eval_transform
from tagfill.train.cache import FeatureRows, FeatureStore, content_hash, content_hashes
from tagfill.train.inputs import seeded
from tagfill.train.views import View

SHARD = 512
"""Images per shard."""
_BATCH_PIXELS = 16 * 224 * 224
"""Pixels per batch: small, so that an interruption takes effect quickly."""
_ATTEMPTS = 3
_random_view = threading.Lock()


@dataclass(frozen=True)
class Extractor:
    """A frozen backbone, and how it sees images.

    Args:
        backbone: its weights are part of what identifies the features.
        view: how an image becomes an input. Random views draw from torch's generator, seeded by the
            image's bytes and the view's name, so that the same image gives the same features.
        view_name: part of what identifies the features.
        kind: pooled [D], grid [D, 3, 3] or maps [D, H, W]. Pooled features come with a grid: they
            are small, and other methods read them.
        device: where torch runs the backbone, if it is torch.
        on_damage: called with a message about damaged files.
    """

    backbone: Backbone
    view: View
    view_name: str
    kind: FeatureKind
    device: torch.device
    workers: int = 2
    root: Path | None = None
    on_damage: Callable[[str], None] | None = None

    def extract(self, paths: Sequence[Path], progress: Progress | None = None) -> FeatureRows:
        """Features of image files, from the cache where they are known."""
        for _ in range(_ATTEMPTS):
            store = self.store()
            for error in self._fill(store, paths, progress):
                raise error
            with suppress(KeyError):  # the cache was pruned, or an image changed meanwhile
                return store.rows(content_hashes(paths))
        raise TagfillError(
            "images changed, or features disappeared, during extraction",
            file=store.folder,
            remedy="wait until nothing writes to the images or prunes the cache",
        )

    def fill(self, paths: Sequence[Path], progress: Progress | None = None) -> None:
        """Compute missing features; unreadable images are skipped."""
        self._fill(self.store(), paths, progress)

    def store(self, kind: FeatureKind | None = None) -> FeatureStore:
        """Of its own kind by default."""
        spec = self.backbone.spec
        about = {
            "backbone": spec.name,
            "weights": spec.weights,
            "fingerprint": fingerprint(self.backbone),
            "input_size": spec.size,
            "kind": kind or self.kind,
            "view": self.view_name,
        }
        return FeatureStore(about, self.root)

    def _fill(
        self, store: FeatureStore, paths: Sequence[Path], progress: Progress | None
    ) -> list[TagfillError]:
        path_of = dict(zip(content_hashes(paths), paths, strict=True))
        missing = store.missing(list(path_of))
        if self.on_damage is not None:
            for file in store.damaged:
                self.on_damage(f"features are damaged and computed again: {file}")
        if not missing:
            return []
        beside = self.kind == "grid" and bool(self.store("pooled").missing(missing))
        others: tuple[FeatureKind, ...] = ("pooled",) if beside else ()
        engine = feature_engine(self.backbone, self.kind, self.device, beside=others)
        batch = max(1, _BATCH_PIXELS // self.backbone.spec.size**2)
        inputs = read_ahead(
            lambda name: self._input(name, path_of[name]),
            missing,
            workers=max(1, self.workers),
            ahead=3 * batch,
        )
        errors: list[TagfillError] = []
        done, shards = 0, [_Shard(self.store(kind)) for kind in engine.kinds]
        try:
            while chunk := list(islice(inputs, batch)):
                errors += [item for item in chunk if isinstance(item, TagfillError)]
                readable = [item for item in chunk if isinstance(item, tuple)]
                if readable:
                    several = engine.several(np.stack([pixels for _, pixels in readable]))
                    for shard, features in zip(shards, several, strict=True):
                        shard.add([name for name, _ in readable], features)
                done += len(chunk)
                if progress is not None:
                    progress(done, len(missing))
        finally:  # an interruption loses at most a batch
            inputs.close()
            for shard in shards:
                shard.flush()
        return errors

    def _input(self, name: str, path: Path) -> tuple[str, Numbers] | TagfillError | None:
        """The hash and the image, or the error; None if the file has changed since."""
        try:
            with open_photo(path) as file:
                content = file.read()
            if content_hash(content) != name:
                return None
            image = open_image(content, self.backbone.spec.size)
        except (TagfillError, OSError) as error:
            return TagfillError(getattr(error, "message", str(error)), file=path)
        if isinstance(self.view, Preprocess):
            return name, self.view(image).numpy()
        salt = int.from_bytes(hashlib.blake2b(self.view_name.encode(), digest_size=6).digest())
        with _random_view, seeded(salt, int(name[:12], 16)):
            return name, self.view(image).numpy()


class _Shard:
    def __init__(self, store: FeatureStore) -> None:
        self.store = store
        self.names: list[str] = []
        self.features: list[Numbers] = []

    def add(self, names: Sequence[str], features: Numbers) -> None:
        self.names += names
        self.features.append(features)
        if len(self.names) >= SHARD:
            self.flush()

    def flush(self) -> None:
        if self.names:
            self.store.add(self.names, np.concatenate(self.features).astype(np.float16))
        self.names, self.features = [], []


def plain_extractor(network: Network, device: torch.device, workers: int = 2) -> Extractor:
    """Input of a network's head, for images as in evaluation."""
    view = eval_transform(network.backbone.spec)
    return Extractor(network.backbone, view, "plain", network.head.reads, device, workers)
