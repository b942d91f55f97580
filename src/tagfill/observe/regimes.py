"""The regimes by name: each a frozen dataclass of its settings that knows how to observe.

To add a regime, write its function and a class here, and name it in ``REGIMES``.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tagfill.errors import TagfillError
from tagfill.labels import Boxes, Labels
from tagfill.observe.biased import biased_by_frequency, biased_by_place, biased_by_size
from tagfill.observe.partial import (
    false_negatives,
    fixed_per_class,
    known_proportion,
    positive_proportion,
)
from tagfill.observe.published import Count, k_positives_m_negatives, single_positive


class Masking(Protocol):
    """A way in which labels become incomplete."""

    def observe(self, truth: Labels, seed: int, boxes: Boxes | None = None) -> Labels:
        """What of the full labels [N, K] is observed; ``boxes`` refer to the rows of ``truth``."""


@dataclass(frozen=True)
class SinglePositive:
    """One positive of each image, as the papers drew it."""

    def observe(self, truth: Labels, seed: int, boxes: Boxes | None = None) -> Labels:
        """See ``single_positive``."""
        return single_positive(truth, seed)


@dataclass(frozen=True)
class PositivesAndNegatives:
    """Some positives and some negatives of each image; each a number or "all"."""

    positives: Count = 1
    negatives: Count = 1

    def observe(self, truth: Labels, seed: int, boxes: Boxes | None = None) -> Labels:
        """See ``k_positives_m_negatives``."""
        return k_positives_m_negatives(
            truth, seed, positives=self.positives, negatives=self.negatives
        )


@dataclass(frozen=True)
class KnownProportion:
    """A share of all labels, positive and negative alike."""

    proportion: float = 0.5
    per_image: bool = False
    published: bool = False

    def observe(self, truth: Labels, seed: int, boxes: Boxes | None = None) -> Labels:
        """See ``known_proportion``."""
        return known_proportion(
            truth,
            seed,
            proportion=self.proportion,
            per_image=self.per_image,
            published=self.published,
        )


@dataclass(frozen=True)
class PositiveProportion:
    """A share of the positives and no negatives."""

    proportion: float = 0.5

    def observe(self, truth: Labels, seed: int, boxes: Boxes | None = None) -> Labels:
        """See ``positive_proportion``."""
        return positive_proportion(truth, seed, proportion=self.proportion)


@dataclass(frozen=True)
class FixedPerClass:
    """The same number of positives and of negatives for each class."""

    count: int = 100

    def observe(self, truth: Labels, seed: int, boxes: Boxes | None = None) -> Labels:
        """See ``fixed_per_class``."""
        return fixed_per_class(truth, seed, count=self.count)


@dataclass(frozen=True)
class FalseNegatives:
    """A share of the positives wrongly stated as negative."""

    proportion: float = 0.2

    def observe(self, truth: Labels, seed: int, boxes: Boxes | None = None) -> Labels:
        """See ``false_negatives``."""
        return false_negatives(truth, seed, proportion=self.proportion)


@dataclass(frozen=True)
class BiasedBySize:
    """One positive of each image, the larger the likelier."""

    def observe(self, truth: Labels, seed: int, boxes: Boxes | None = None) -> Labels:
        """See ``biased_by_size``."""
        return biased_by_size(truth, seed, _required(boxes))


@dataclass(frozen=True)
class BiasedByPlace:
    """One positive of each image, the nearer to the center the likelier."""

    def observe(self, truth: Labels, seed: int, boxes: Boxes | None = None) -> Labels:
        """See ``biased_by_place``."""
        return biased_by_place(truth, seed, _required(boxes))


@dataclass(frozen=True)
class BiasedByFrequency:
    """One positive of each image, the more frequent its class the likelier."""

    power: float = 1.0

    def observe(self, truth: Labels, seed: int, boxes: Boxes | None = None) -> Labels:
        """See ``biased_by_frequency``."""
        return biased_by_frequency(truth, seed, power=self.power)


REGIMES: Mapping[str, type[Masking]] = {
    "single_positive": SinglePositive,
    "k_positives_m_negatives": PositivesAndNegatives,
    "known_proportion": KnownProportion,
    "positive_proportion": PositiveProportion,
    "fixed_per_class": FixedPerClass,
    "false_negatives": FalseNegatives,
    "biased_by_size": BiasedBySize,
    "biased_by_place": BiasedByPlace,
    "biased_by_frequency": BiasedByFrequency,
}


def make(name: str, settings: Mapping[str, Any] | None = None) -> Masking:
    """A regime by its name; settings it does not have are errors."""
    if name not in REGIMES:
        raise TagfillError(f"unknown regime {name!r}", remedy=f"use one of {', '.join(REGIMES)}")
    known = defaults(name)
    for setting in settings or {}:
        if setting not in known:
            remedy = f"its settings: {', '.join(known) or 'none'}"
            raise TagfillError(f"{name} has no setting {setting!r}", remedy=remedy)
    return REGIMES[name](**(settings or {}))


def defaults(name: str) -> dict[str, Any]:
    """The settings of a regime with their defaults."""
    regime: Any = REGIMES[name]
    return {setting.name: setting.default for setting in dataclasses.fields(regime)}


def _required(boxes: Boxes | None) -> Boxes:
    if boxes is None:
        raise TagfillError(
            "this regime needs object boxes and there are none",
            remedy="read a format with boxes, such as COCO json or a VOC devkit",
        )
    return boxes
