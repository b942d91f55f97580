"""The regimes by name: their functions, and the defaults of their settings.

To add a regime, write its function and name it in ``REGIMES``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tagfill.errors import TagfillError
from tagfill.labels import Boxes, Labels
from tagfill.observe.biased import biased_by_frequency, biased_by_place, biased_by_size
from tagfill.observe.partial import (
    false_negatives,
    fixed_per_class,
    known_proportion,
    positive_proportion,
)
from tagfill.observe.published import k_positives_m_negatives, single_positive


@dataclass(frozen=True)
class Masking:
    """A regime with its settings.

    Args:
        draw: from full labels and a seed to observed labels.
        boxes: whether ``draw`` takes object boxes.
    """

    draw: Callable[..., Labels]
    settings: Mapping[str, Any] = field(default_factory=dict)
    boxes: bool = False

    def observe(self, truth: Labels, seed: int, boxes: Boxes | None = None) -> Labels:
        """What of the full labels [N, K] is observed; ``boxes`` refer to the rows of ``truth``."""
        if not self.boxes:
            return self.draw(truth, seed, **self.settings)
        if boxes is None:
            raise TagfillError(
                "this regime needs object boxes, and the labels have none",
                remedy="read a format with boxes, such as COCO json or a VOC devkit",
            )
        return self.draw(truth, seed, boxes, **self.settings)


REGIMES: Mapping[str, Masking] = {
    "single_positive": Masking(single_positive),
    "k_positives_m_negatives": Masking(k_positives_m_negatives, {"positives": 1, "negatives": 1}),
    "known_proportion": Masking(
        known_proportion, {"proportion": 0.5, "per_image": False, "published": False}
    ),
    "positive_proportion": Masking(positive_proportion, {"proportion": 0.5}),
    "fixed_per_class": Masking(fixed_per_class, {"count": 100}),
    "false_negatives": Masking(false_negatives, {"proportion": 0.2}),
    "biased_by_size": Masking(biased_by_size, boxes=True),
    "biased_by_place": Masking(biased_by_place, boxes=True),
    "biased_by_frequency": Masking(biased_by_frequency, {"power": 1.0}),
}


def make(name: str, settings: Mapping[str, Any] | None = None) -> Masking:
    """A regime by its name; settings it does not have are errors."""
    if name not in REGIMES:
        raise TagfillError(f"unknown regime {name!r}", remedy=f"use one of {', '.join(REGIMES)}")
    known = REGIMES[name].settings
    for setting in settings or {}:
        if setting not in known:
            remedy = f"its settings: {', '.join(known) or 'none'}"
            raise TagfillError(f"{name} has no setting {setting!r}", remedy=remedy)
    return replace(REGIMES[name], settings={**known, **(settings or {})})


def defaults(name: str) -> dict[str, Any]:
    """The settings of a regime with their defaults."""
    return dict(REGIMES[name].settings)
