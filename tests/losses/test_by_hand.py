"""Losses of the five papers on one small batch, against numbers worked out by hand.

Two images, three classes, probabilities chosen so that a pocket calculator suffices:

    p = 0.8 0.5 0.2     z = 1 ? ?      y = 1 0 1
        0.4 0.9 0.6         ? 1 ?          0 1 0

-log: 0.2 1.60944, 0.4 0.91629, 0.5 0.69315, 0.6 0.51083, 0.8 0.22314, 0.9 0.10536, 0.1 2.30259.
Every expected value below is the sum the published equation asks for, term by term in the comment.
"""

from __future__ import annotations

import pytest
import torch

from tagfill import losses, methods
from tagfill.methods.base import Mixed, Setup, Step
from tagfill.models.output import Output

P = torch.tensor([[0.8, 0.5, 0.2], [0.4, 0.9, 0.6]], dtype=torch.float64)
X = torch.logit(P)
Z = torch.tensor([[1, -1, -1], [-1, 1, -1]])
Y = torch.tensor([[1, 0, 1], [0, 1, 0]])
PARTLY = torch.tensor([[1, 0, -1], [-1, 1, 0]])


def close(value: float) -> object:
    return pytest.approx(value, abs=2e-5)


def mean(terms: torch.Tensor) -> float:
    return float(terms.mean())


def test_bce_of_full_labels() -> None:
    """MLSPL Eq. 5: (.22314 + .69315 + 1.60944 + .51083 + .10536 + .91629) / 6."""
    assert mean(losses.ignore_unknown(X, Y)) == close(4.05821 / 6)


def test_iu_and_iun() -> None:
    """MLSPL Eq. 6: (.22314 + .69315 + .10536 + .91629) / 6.

    Eq. 7 leaves the hidden positive of the first image out: 4.05821 - 1.60944.
    """
    assert mean(losses.ignore_unknown(X, PARTLY)) == close(1.93794 / 6)
    assert mean(losses.ignore_unobserved_negatives(X, Z, Y)) == close(2.44877 / 6)


def test_assume_negative() -> None:
    """MLSPL Eq. 8, LAC Eq. 2: .22314 + .69315 + .22314 and .51083 + .10536 + .91629."""
    assert mean(losses.assume_negative(X, Z)) == close((1.13943 + 1.53248) / 6)


def test_assume_negative_smoothed() -> None:
    """MLSPL Eq. 9, eps = .1: each term .95 of itself and .05 of its opposite.

    Opposites: 1.60944 + .69315 + 1.60944 and .91629 + 2.30259 + .51083.
    """
    expected = 0.95 * 2.67191 + 0.05 * (3.91203 + 3.72971)
    assert mean(losses.assume_negative_smoothed(X, Z)) == close(expected / 6)


def test_weak_assume_negative() -> None:
    """MLSPL Sec. 5.1, gamma = 1 / 2: .3285 + (.69315 + .22314 + .51083 + .91629) / 2."""
    assert mean(losses.weak_negative(X, Z)) == close((0.3285 + 2.34341 / 2) / 6)


def test_pairwise_ranking() -> None:
    """MLSPL supplement A: 1 - .8 + .5, 1 - .8 + .2 and 1 - .9 + .4, 1 - .9 + .6."""
    assert float(losses.pairwise_ranking(X, Z).sum()) == close(0.7 + 0.4 + 0.5 + 0.7)


def test_expected_positives() -> None:
    """MLSPL Eq. 10: counts 1.5 and 1.9, mean 1.7; k = 1.1: (.6 / 3)^2 = .04, times K = 3."""
    terms = losses.expected_positives(X, Z, k=1.1)
    assert float(terms.evidence) == close(0.3285 / 2)
    assert float(terms.deviation) == close(0.12)


def test_learning_from_estimates() -> None:
    """MLSPL Eq. 11, one side, all estimates q = .5: cross-entropy .5 (-log p - log(1 - p)).

    Sums over the batch: .5 (1.83258 + 1.38629 + 1.83258 + 1.42712 + 2.40795 + 1.42712) = 5.15682.
    """
    got = losses.learn_from(X, torch.zeros_like(X), Z, k=1.7, weight=1.0)
    assert float(got.total) == close(5.15682 / 6 + 0.3285 / 2)


def test_both_sides_of_role_and_the_published_terms() -> None:
    """MLSPL Eq. 11, q = .5, k = 1.7: the estimates' side has -log .5 everywhere, count 1.5.

    The published code divides the evidence, .69315 and .16425, by K = 3.
    """
    estimates = torch.zeros_like(X)
    got = losses.learn_from(estimates, X, Z, k=1.7, weight=1.0)
    assert float(got.total) == close(0.69315 + 0.69315 + (0.2 / 3) ** 2)
    published = losses.learn_from(estimates, X, Z, k=1.7, weight=1.0, per_class=True)
    assert float(published.total) == close(0.69315 + 0.69315 / 3 + (0.2 / 3) ** 2)


def test_entropy_maximization() -> None:
    """EM Eq. 3-4, alpha = .2: H(.5) .69315, H(.2) .50040, H(.4) = H(.6) .67301."""
    expected = 0.3285 - 0.2 * (0.69315 + 0.50040 + 2 * 0.67301)
    assert mean(losses.entropy_maximization(X, Z, alpha=0.2)) == close(expected / 6)


def test_entropy_with_pseudo_labels() -> None:
    """EM + APL Eq. 8, beta = .5, soft label .2 on the entry with p = .2: its cost is .5 H(.2)."""
    pseudo = torch.full_like(X, -1.0)
    pseudo[0, 2] = 0.2
    got = losses.entropy_with_pseudo_labels(X, Z, pseudo, alpha=0.2, beta=0.5)
    expected = 0.3285 - 0.2 * (0.69315 + 2 * 0.67301) + 0.5 * 0.50040
    assert mean(got) == close(expected / 6)


def test_entropy_minimization_with_and_without_assumed_negatives() -> None:
    """EM Table 1, weight .2: the entropies added; with base AN the assumed negatives too."""
    entropies = 0.2 * (0.69315 + 0.50040 + 2 * 0.67301)
    assert mean(losses.entropy_minimization(X, Z, weight=0.2)) == close((0.3285 + entropies) / 6)
    both = losses.entropy_minimization(X, Z, weight=0.2, assume_negative=True)
    assert mean(both) == close((2.67191 + entropies) / 6)


def test_focal_and_asymmetric() -> None:
    """Focal, gamma 2: .2^2 x .22314 + .5^2 x .69315 + .2^2 x .22314 and .4^2 x .51083 + ...

    ASL (0, 4, margin .05): .22314 + .45^4 x .59784 + .15^4 x .16252, the second image
    .35^4 x .43078 + .10536 + .55^4 x .79851. Q2L (0, 1): p x -log(1 - p).
    """
    focal = 0.04 * 0.22314 + 0.25 * 0.69315 + 0.04 * 0.22314
    focal += 0.16 * 0.51083 + 0.01 * 0.10536 + 0.36 * 0.91629
    assert float(losses.focal(X, Z).sum()) == close(focal)
    asl = 0.22314 + 0.45**4 * 0.59784 + 0.15**4 * 0.16252
    asl += 0.35**4 * 0.43078 + 0.10536 + 0.55**4 * 0.79851
    assert float(losses.asymmetric(X, Z, margin=0.05).sum()) == close(asl)
    q2l = 0.22314 + 0.5 * 0.69315 + 0.2 * 0.22314 + 0.4 * 0.51083 + 0.10536 + 0.6 * 0.91629
    assert float(losses.asymmetric(X, Z, gamma_negative=1.0).sum()) == close(q2l)


def test_pseudo_label_consistency() -> None:
    """LAC Eq. 4, delta = .6: unknown p = .2 and .4 become 0, p = .6 becomes 1, p = .5 nothing.

    With the strong view equal to the weak one: .22314 + .51083 + .51083.
    """
    terms, chosen = losses.pseudo_label_consistency(X, X, Z, threshold=0.6)
    assert float(terms.sum()) == close(1.2448)
    assert int(chosen.sum()) == 3


def test_label_aware_consistency() -> None:
    """LAC Eq. 7 with tau folded in: s = [[1, 0], [0, 1]], classes 0 and 1.

    Each anchor: -(log e^1 - log e^0) = -1.
    """
    terms = losses.label_aware_consistency(torch.eye(2), torch.tensor([0, 1]), torch.tensor([0, 1]))
    assert terms.tolist() == close([-1.0, -1.0])


def test_contrast_of_the_published_code() -> None:
    """LAC's code: two embeddings of class 0 with s = 1, one of class 1 with s = 0 to both.

    -log(e / (e + 1)) = .31326 for the two; the third is alone.
    """
    similarity = torch.tensor([[9.0, 1.0, 0.0], [1.0, 9.0, 0.0], [0.0, 0.0, 9.0]])
    terms = losses.supervised_contrast(similarity, torch.tensor([0, 0, 1]))
    assert terms.tolist() == close([0.31326, 0.31326, 0.0])


def test_knowledge_transfer() -> None:
    """SST, SARB: known entries .22314 + .69315 + .10536 + .91629 over 4.

    Blended entries with label .5 join them: .5 (.22314 + 1.60944) for p = .2.
    Contrast of class 0: both positive and orthogonal, 1 - 0; no other pair is known.
    """
    assert float(losses.known_mean(X, PARTLY)) == close(1.93794 / 4)
    blended = torch.tensor([[False, False, True], [False, False, False]])
    got = losses.blended_mean(X, PARTLY, torch.tensor(0.5, dtype=X.dtype), blended)
    assert float(got) == close((1.93794 + 0.91629) / 5)
    features = torch.tensor([[[1.0, 0.0], [1.0, 0.0]], [[0.0, 1.0], [1.0, 0.0]]])
    seen = torch.tensor([[1, -1], [1, 1]])
    assert float(losses.label_contrast(features, seen)) == close(1.0)


def test_pairs_that_occur_together() -> None:
    """SST: (0, 1) together in image 1: .2 x .22314. The others, p - .05: p^2 (-log(1 - p))."""
    seen = torch.tensor([[1, 1, -1], [-1, 1, -1]])
    expected = 0.2 * 0.22314 + 0.45**2 * 0.59784 + 0.15**2 * 0.16252
    expected += 0.35**2 * 0.43078 + 0.85**2 * 1.89712 + 0.55**2 * 0.79851
    assert float(losses.co_occurrence(X, seen).sum()) == close(expected)


def test_unbiased_pu() -> None:
    """PU-MLC Eq. 5, pi = .3, first class: .3 (.22314 - 1.60944) + (1.60944 + .51083) / 2."""
    risk = losses.unbiased_risk(X, Z, torch.full((3,), 0.3, dtype=torch.float64))
    assert float(risk[0]) == close(0.3 * (0.22314 - 1.60944) + 1.060135)
    assert float(risk[2]) == close((0.22314 + 0.91629) / 2)


def test_variational_pu_with_rebalance_and_temperature() -> None:
    """PU-MLC Eq. 9-11, first class, tau 1: p_c = .6, .6^.5 log .6 + .22314 = -.39569 + .22314.

    Eq. 10: logits of the first class 1.38629 and -.40547, deviation .89588, alpha 1.
    """
    risk = losses.variational_risk(X, Z, gamma=0.5)
    assert float(risk[0]) == close(-0.17255)
    assert float(losses.adaptive_temperature(X, 1.0)[0]) == close(0.89588)
    assert float(losses.adaptive_temperature(X, 2.0)[0]) == 1.0


def test_mixup_consistency() -> None:
    """PU-MLC Eq. 8, w = .5, second class: t = .5 x .5 + .5 x 1 = .75, p mixed .6: (log 1.25)^2."""
    mixed = torch.logit(torch.tensor([[0.9, 0.6, 0.4]], dtype=torch.float64))
    one, other = torch.tensor([0]), torch.tensor([1])
    terms = losses.mixup_consistency(mixed, X, Z, one, other, 0.5)
    assert float(terms[0, 1]) == close(0.22314**2)


def test_pu_mlc_sums_over_classes() -> None:
    """The method: the sum of the three risks, one share or the mean of two."""
    step = Step(Output(X), Z, torch.arange(2), epoch=1, step=0)
    plain = {"gamma": 0.5, "temperature": 1.0, "mixup": 0.0}
    whole, halves = (methods.make("pu_mlc", {**plain, "shares": count}) for count in (1, 2))
    for method in (whole, halves):
        method.start(Setup(observed=Z, epochs=1, steps_per_epoch=1))
    expected = float(losses.variational_risk(X, Z, gamma=0.5).sum())
    assert float(whole.loss(step)["pu_mlc"]) == close(expected)
    # one image alone: p_c is its own p; p^.5 log p for every class, and -log p of its positive
    roots = sum(float(p**0.5 * p.log()) for p in P.flatten())
    assert float(halves.loss(step)["pu_mlc"]) == close((roots + 0.3285) / 2)


def test_mixed_is_part_of_the_step() -> None:
    mixed = Mixed(Output(X[:1]), torch.tensor([0]), torch.tensor([1]), 0.5)
    step = Step(Output(X), Z, torch.arange(2), epoch=1, step=0, mixed=mixed)
    method = methods.make("pu_mlc")
    method.start(Setup(observed=Z, epochs=1, steps_per_epoch=1))
    assert set(method.loss(step)) == {"pu_mlc", "mixup"}
