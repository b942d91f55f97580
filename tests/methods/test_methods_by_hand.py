"""Methods of the five papers, with their presets, on the batch of tests/losses/test_by_hand.py.

Two images, three classes; what is reduced and weighted is that of the equation or, with a preset,
of the published code.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tagfill import methods
from tagfill.methods.base import Setup, Step
from tagfill.models.output import Output

P = torch.tensor([[0.8, 0.5, 0.2], [0.4, 0.9, 0.6]], dtype=torch.float64)
Z = torch.tensor([[1, -1, -1], [-1, 1, -1]])
Y = torch.tensor([[1, 0, 1], [0, 1, 0]])
PARTLY = torch.tensor([[1, 0, -1], [-1, 1, 0]])

POSITIVES = 0.22314 + 0.10536
"""-log p of the two observed positives."""
ASSUMED = 0.69315 + 0.22314 + 0.51083 + 0.91629
"""-log(1 - p) of the four unknown entries."""
REVERSED = 0.69315 + 1.60944 + 0.91629 + 0.51083
"""-log p of the four unknown entries."""
POSITIVES_REVERSED = 1.60944 + 2.30259
"""-log(1 - p) of the two observed positives."""
TRUE = POSITIVES + 1.60944 + 0.69315 + 0.51083 + 0.91629
"""Cross-entropy with the full labels: the hidden positive has p = 0.2."""
TRUE_REVERSED = POSITIVES_REVERSED + 0.22314 + 0.69315 + 0.91629 + 0.51083
ENTROPIES = 0.69315 + 0.50040 + 0.67301 + 0.67301
"""H(p) of the four unknown entries."""


def smoothed(terms: float, opposite: float, share: float) -> float:
    return (1 - share) * terms + share * opposite


AN_REVERSED = POSITIVES_REVERSED + REVERSED
BY_HAND: list[tuple[str, str | None, dict[str, Any], float]] = [
    ("bce", None, {}, TRUE / 6),
    ("bce_ls", None, {}, smoothed(TRUE, TRUE_REVERSED, 0.05) / 6),
    ("bce_ls", "published", {}, smoothed(TRUE, TRUE_REVERSED, 0.1) / 6),
    ("iun", None, {}, (TRUE - 1.60944) / 6),
    ("an", None, {}, (POSITIVES + ASSUMED) / 6),
    ("an_ls", None, {}, smoothed(POSITIVES + ASSUMED, AN_REVERSED, 0.05) / 6),
    ("an_ls", "published", {}, smoothed(POSITIVES + ASSUMED, AN_REVERSED, 0.1) / 6),
    ("ls", None, {}, smoothed(POSITIVES + ASSUMED, AN_REVERSED, 0.05) / 6),
    ("n_ls", None, {}, (POSITIVES + smoothed(ASSUMED, REVERSED, 0.05)) / 6),
    ("wan", None, {}, (POSITIVES + ASSUMED / 2) / 6),
    ("dw", None, {"w": 0.1}, (POSITIVES + 0.1 * ASSUMED) / 6),
    ("pr", None, {}, (0.7 + 0.4 + 0.5 + 0.7) / 2),
    ("pr", "published", {}, (0.7 + 0.4 + 0.5 + 0.7) / 6),
    # counts 1.5 and 1.9, k = 1.1: ((1.7 - 1.1) / 3)^2 = .04
    ("epr", None, {"k": 1.1}, POSITIVES / 2 + 3 * 0.04),
    ("epr", "published", {"k": 1.1}, POSITIVES / 6 + 0.04),
    ("em", None, {"alpha": 0.2}, (POSITIVES - 0.2 * ENTROPIES) / 6),
    ("em_apl", None, {"alpha": 0.2, "warmup": 1}, (POSITIVES - 0.2 * ENTROPIES) / 6),
    ("entmin", None, {"weight": 0.2}, (POSITIVES + 0.2 * ENTROPIES) / 6),
    (
        "entmin",
        None,
        {"weight": 0.2, "base": "an"},
        (POSITIVES + ASSUMED + 0.2 * ENTROPIES) / 6,
    ),
    # the strong view has the same scores; delta .6 takes p = .2 and .4 as 0, .6 as 1, .5 not
    ("plc", None, {"include_observed": False}, (POSITIVES + ASSUMED + 1.2448) / 2),
    ("plc", None, {}, (POSITIVES + ASSUMED + 1.2448 + POSITIVES) / 2),
    ("plc", "published", {}, (POSITIVES + ASSUMED) / 6 + (1.2448 + POSITIVES) / 5),
    ("plc", None, {"strong_labels": "assumed"}, POSITIVES + ASSUMED),
    # p_c^.5 log p_c - mean of log p over positives; p_c = .6, .7, .4, the last without positives
    (
        "pu_mlc",
        None,
        {"gamma": 0.5, "temperature": 1.0, "mixup": 0.0},
        -0.39569 - 0.29842 - 0.57951 + POSITIVES,
    ),
    # U without positives: log .4 + log .5 + log .4; all of U: log .6 + log .7 + log .4
    ("vpu", None, {"mixup": 0.0}, -0.91629 - 0.69315 - 0.91629 + POSITIVES),
    (
        "vpu",
        None,
        {"mixup": 0.0, "positives_in_unlabeled": True},
        -0.51083 - 0.35667 - 0.91629 + POSITIVES,
    ),
]


def loss(name: str, preset: str | None, settings: dict[str, Any], observed: torch.Tensor) -> float:
    method = methods.make(name, settings, preset)
    method.start(Setup(observed=observed, epochs=2, steps_per_epoch=1, truth=Y))
    output = Output(torch.logit(P))
    step = Step(output, observed, torch.arange(2), epoch=1, step=0, strong=output, truth=Y)
    return float(sum(method.loss(step).values()))


@pytest.mark.parametrize(("name", "preset", "settings", "expected"), BY_HAND)
def test_single_positives(
    name: str, preset: str | None, settings: dict[str, Any], expected: float
) -> None:
    assert loss(name, preset, settings, Z) == pytest.approx(expected, abs=3e-5)


def test_partly_known_labels() -> None:
    """IU: .22314 + .69315 + .10536 + .91629; two thirds of an image's labels weigh 2.48333."""
    known = 1.93794 / 6
    assert loss("iu", None, {}, PARTLY) == pytest.approx(known, abs=3e-5)
    weighted = loss("partial_bce", None, {"weighting": "durand"}, PARTLY)
    assert weighted == pytest.approx((5.45 - 4.45 * 2 / 3) * known, abs=3e-5)


def test_risks_of_positive_and_unlabeled_data() -> None:
    """First class, pi .3: .3 (.22314 - 1.60944) + 1.060135; with .9 the excess is negative."""
    prior = torch.tensor([0.3, 0.0, 0.0], dtype=torch.float64)
    others = (0.69315 + 2.30259) / 2 + (0.22314 + 0.91629) / 2
    for name in ("upu", "nnpu"):
        risk = _risk(name, prior)
        assert risk == pytest.approx(0.3 * (0.22314 - 1.60944) + 1.060135 + others, abs=3e-5)
    assert _risk("nnpu", 3 * prior) == pytest.approx(0.9 * 0.22314 + others, abs=3e-5)


def _risk(name: str, prior: torch.Tensor) -> float:
    method = methods.make(name)
    method.start(Setup(observed=Z, epochs=1, steps_per_epoch=1, class_prior=prior))
    step = Step(Output(torch.logit(P)), Z, torch.arange(2), epoch=1, step=0)
    return float(sum(method.loss(step).values()))
