"""Count the labels of a table and recognize its regime: how its labels came to be known."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np

from tagfill.arrays import Integers, Mask
from tagfill.labels.table import NEGATIVE, POSITIVE, LabelTable

_BLOCK = 8_192  # rows that fit the cache; float32 counts them exactly


class Regime(StrEnum):
    """What the known labels of a table look like."""

    FULL = "full"
    """Every label is known."""
    PARTIAL = "partial"
    """Positives and negatives are known, at random."""
    UNEVEN = "uneven"
    """Positives and negatives are known at different rates."""
    REVIEWED = "reviewed"
    """Some positives, and answers to suggestions."""
    SINGLE_POSITIVE = "single_positive"
    """One positive per image."""
    POSITIVE_ONLY = "positive_only"
    """Some positives and nothing else."""
    UNLABELED = "unlabeled"
    """No label is known."""


@dataclass(frozen=True, eq=False)
class Statistics:
    """Statistics of one label table.

    Args:
        images: N.
        classes: K class names.
        class_positives: [K] positives of each class.
        class_negatives: [K] negatives of each class.
        labels_per_image: [L + 1] how many images have 0, 1, ... L known positives.
        positive: [N, K] where labels are positive.
        confirmed_none: images with every class negative.
        no_known_label: images with every class unknown.
    """

    images: int
    classes: tuple[str, ...]
    class_positives: Integers
    class_negatives: Integers
    labels_per_image: Integers
    positive: Mask
    confirmed_none: int
    no_known_label: int

    @classmethod
    def of(cls, table: LabelTable) -> Statistics:
        """Count a table."""
        positive, negative = table.values == POSITIVE, table.values == NEGATIVE
        known = positive | negative
        return cls(
            images=len(table),
            classes=table.classes,
            class_positives=positive.sum(axis=0, dtype=np.int64),
            class_negatives=negative.sum(axis=0, dtype=np.int64),
            labels_per_image=np.bincount(positive.sum(axis=1), minlength=1),
            positive=positive,
            confirmed_none=int(negative.all(axis=1).sum()),
            no_known_label=len(table) - int(known.any(axis=1).sum()),
        )

    @property
    def positives(self) -> int:
        return int(self.class_positives.sum())

    @property
    def negatives(self) -> int:
        return int(self.class_negatives.sum())

    @property
    def unknowns(self) -> int:
        return self.images * len(self.classes) - self.positives - self.negatives

    @cached_property
    def class_unknowns(self) -> Integers:
        """[K] unknown labels of each class."""
        return self.images - self.class_positives - self.class_negatives

    @cached_property
    def without_positive(self) -> tuple[str, ...]:
        """Classes no image is known to have: they cannot be learned."""
        return self._named(self.class_positives == 0)

    @cached_property
    def without_negative(self) -> tuple[str, ...]:
        """Classes no image is known to lack."""
        return self._named(self.class_negatives == 0)

    @property
    def regime(self) -> Regime:
        """The regime; the first that matches.

        - ``full``: there are images and no label is unknown.
        - ``unlabeled``: no label is known.
        - ``single_positive``: no negatives, and one positive in every image with a known label.
        - ``positive_only``: no negatives.
        - ``partial``: negatives too, and some labels unknown.
        """
        if self.images and not self.unknowns:
            return Regime.FULL
        if not self.positives and not self.negatives:
            return Regime.UNLABELED
        if self.negatives:
            return Regime.PARTIAL
        single = len(self.labels_per_image) == 2
        return Regime.SINGLE_POSITIVE if single else Regime.POSITIVE_ONLY

    @cached_property
    def co_occurrence(self) -> Integers:
        """[K, K] how many images are positive for both classes; the diagonal is the class alone."""
        total = np.zeros((len(self.classes),) * 2, dtype=np.int64)
        for start in range(0, len(self.positive), _BLOCK):
            block = self.positive[start : start + _BLOCK].astype(np.float32)
            total += (block.T @ block).astype(np.int64)
        return total

    def top_pairs(self, count: int) -> list[tuple[str, str, int]]:
        """The pairs of classes most often positive together, most frequent first."""
        from scipy import sparse

        positive = sparse.csr_array(self.positive, dtype=np.int64)
        pairs = sparse.triu(positive.T @ positive, k=1).tocoo()
        best = np.lexsort((pairs.col, pairs.row, -pairs.data))[:count]
        return [
            (self.classes[pairs.row[pair]], self.classes[pairs.col[pair]], int(pairs.data[pair]))
            for pair in best
        ]

    def _named(self, chosen: Mask) -> tuple[str, ...]:
        return tuple(self.classes[column] for column in np.flatnonzero(chosen))
