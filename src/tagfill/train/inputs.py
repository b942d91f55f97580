"""Network inputs: feature rows in memory, or images read and augmented on the fly."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader
from torch.utils.data import Dataset as TorchDataset

from tagfill.errors import TagfillError
from tagfill.images import open_image
from tagfill.linear.regions import Features
from tagfill.train.cache import FeatureRows
from tagfill.train.views import View, distorted

_IMAGES = 32  # per evaluation batch
_EVALUATION_NUMBERS = 8_000_000  # feature values per evaluation batch


@dataclass(frozen=True)
class InputBatch:
    """Inputs of one batch: the (weak) view, and the strong one where a method needs it."""

    weak: Tensor
    strong: Tensor | None = None


class Inputs(Protocol):
    """A fixed set of images, as features or files."""

    def __len__(self) -> int: ...

    def batches(self, order: Sequence[Tensor], epoch: int) -> Iterator[InputBatch]:
        """The inputs of each batch of row numbers, augmented as (seed, epoch, row) determine."""

    def plain(self, rows: range) -> Iterator[Tensor]:
        """The inputs of consecutive rows without augmentation, in batches that fit memory."""


def derived_seed(*parts: int) -> int:
    """A well mixed 63-bit seed from a few integers."""
    digest = hashlib.blake2b(repr(parts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def epoch_order(images: int, batch_size: int, seed: int, epoch: int) -> list[Tensor]:
    """The rows of each batch of an epoch, every image once; the last batch may be short."""
    generator = torch.Generator().manual_seed(derived_seed(seed, epoch, 1))
    return list(torch.randperm(images, generator=generator).split(batch_size))


@dataclass(frozen=True, eq=False)
class FeatureInputs:
    """Features computed once: rows of a matrix in memory, or of cached maps on disk.

    Args:
        features: [N, ...] pooled features or maps of the plain view.
        strong: the same of V strongly augmented views, of which each visit draws one.
        seed: for that draw.
        fresh: distort the drawn view again at every visit.
    """

    features: Tensor | FeatureRows
    strong: Sequence[Tensor | FeatureRows] | None = None
    seed: int = 0
    fresh: bool = False

    def __len__(self) -> int:
        return len(self.features)

    def batches(self, order: Sequence[Tensor], epoch: int) -> Iterator[InputBatch]:
        """Rows of the matrix; which strong view is seen is drawn again for each epoch."""
        if self.strong is None:
            for rows in order:
                yield InputBatch(_rows(self.features, rows))
            return
        generator = torch.Generator().manual_seed(derived_seed(self.seed, epoch, 11))
        drawn = torch.randint(len(self.strong), (len(self),), generator=generator)
        for rows in order:
            strong = _drawn(self.strong, drawn[rows], rows)
            if self.fresh:
                strong = distorted(strong, rows, derived_seed(self.seed, epoch, 12))
            yield InputBatch(_rows(self.features, rows), strong)

    def plain(self, rows: range) -> Iterator[Tensor]:
        size = max(1, _EVALUATION_NUMBERS // max(1, int(np.prod(self.features.shape[1:]))))
        for start in range(rows.start, rows.stop, size):
            stop = min(start + size, rows.stop)
            if isinstance(self.features, Tensor):
                yield self.features[start:stop]
            else:
                yield _rows(self.features, torch.arange(start, stop))


@dataclass(frozen=True, eq=False)
class TrainingViews:
    """Inputs for evaluation with the augmented (weak) views of an epoch of training.

    Args:
        epoch: views are drawn again for each.
    """

    inputs: Inputs
    epoch: int

    def __len__(self) -> int:
        return len(self.inputs)

    def batches(self, order: Sequence[Tensor], epoch: int) -> Iterator[InputBatch]:
        return self.inputs.batches(order, epoch)

    def plain(self, rows: range) -> Iterator[Tensor]:
        """The weak view of every row in order."""
        order = list(torch.arange(rows.start, rows.stop).split(_IMAGES))
        for batch in self.inputs.batches(order, -self.epoch):
            yield batch.weak


@dataclass(frozen=True, eq=False)
class ImageInputs:
    """Image files, decoded and augmented by worker processes.

    Args:
        plain_view: what evaluation sees.
        weak_view, strong_view: what training sees; strong only for methods that need two views.
        seed: augmentation depends on (seed, epoch, row) alone, however many workers there are.
        size: side of the input; large photos need not be decoded in full.
        workers: processes that read ahead.
    """

    paths: Sequence[Path]
    size: int
    plain_view: View
    weak_view: View
    strong_view: View | None = None
    seed: int = 0
    workers: int = 0

    def __len__(self) -> int:
        return len(self.paths)

    def batches(self, order: Sequence[Tensor], epoch: int) -> Iterator[InputBatch]:
        """Augmented views, read ahead by the workers."""
        views = [self.weak_view] if self.strong_view is None else [self.weak_view, self.strong_view]
        files = _Files(self.paths, views, self.size, (self.seed, epoch))
        yield from self._loaded(files, [rows.tolist() for rows in order])

    def plain(self, rows: range) -> Iterator[Tensor]:
        """Every image in order, as evaluation sees it."""
        files = _Files(self.paths, [self.plain_view], self.size, (self.seed, 0))
        order = [list(rows[start : start + _IMAGES]) for start in range(0, len(rows), _IMAGES)]
        for batch in self._loaded(files, order):
            yield batch.weak

    def _loaded(self, files: _Files, order: list[list[int]]) -> Iterator[InputBatch]:
        loader = DataLoader(
            files,
            batch_sampler=order,
            num_workers=self.workers,
            collate_fn=_stacked,
            pin_memory=torch.cuda.is_available(),
        )
        for batch in loader:
            if isinstance(batch, TagfillError):
                raise batch
            yield batch


@dataclass(frozen=True, eq=False)
class _Files(TorchDataset[list[Tensor] | TagfillError]):
    """Views of images; errors are returned, since torch would add a worker's traceback to them."""

    paths: Sequence[Path]
    views: Sequence[View]
    size: int
    seeds: tuple[int, ...]

    def __getitem__(self, row: int) -> list[Tensor] | TagfillError:
        try:
            image = open_image(self.paths[row], self.size)
        except TagfillError as error:
            return error
        with seeded(*self.seeds, row):
            return [view(image) for view in self.views]


def _stacked(samples: list[list[Tensor] | TagfillError]) -> InputBatch | TagfillError:
    views = [sample for sample in samples if not isinstance(sample, TagfillError)]
    if len(views) < len(samples):
        return next(sample for sample in samples if isinstance(sample, TagfillError))
    return InputBatch(*(torch.stack(view) for view in zip(*views, strict=True)))


@contextmanager
def seeded(*parts: int) -> Iterator[None]:
    """Seed torch's CPU generator with the parts, and restore it afterwards."""
    before = torch.get_rng_state()
    torch.default_generator.manual_seed(derived_seed(*parts))
    try:
        yield
    finally:
        torch.set_rng_state(before)


def as_rows(features: Tensor | FeatureRows) -> Features:
    """Features as linear heads take them, not copied; cached ones are read in parts."""
    return features.numpy() if isinstance(features, Tensor) else features


def _rows(features: Tensor | FeatureRows, rows: Tensor) -> Tensor:
    if isinstance(features, Tensor):
        return features.index_select(0, rows)
    return torch.from_numpy(features[rows.numpy()]).float()


def _drawn(views: Sequence[Tensor | FeatureRows], drawn: Tensor, rows: Tensor) -> Tensor:
    gathered = torch.empty((len(rows), *views[0].shape[1:]))
    for number in drawn.unique().tolist():
        here = drawn == number
        gathered[here] = _rows(views[number], rows[here])
    return gathered
