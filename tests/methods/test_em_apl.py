"""Asymmetric pseudo-labels: which entries, how many, when, and that they stay."""

from __future__ import annotations

import pytest
import torch

from tagfill import methods
from tagfill.errors import TagfillError
from tagfill.losses.entropy import entropy_maximization
from tagfill.methods.base import Setup, Step
from tagfill.models.output import Output

IMAGES, CLASSES, EPOCHS = 60, 4, 6


def labels() -> torch.Tensor:
    """Single positives, some negatives, and one class of which little is unknown."""
    observed = torch.full((IMAGES, CLASSES), -1, dtype=torch.int8)
    observed[torch.arange(IMAGES), torch.arange(IMAGES) % 3] = 1
    observed[::5, 1] = 0
    observed[:50, 3] = 0
    return observed


def started(observed: torch.Tensor | None = None, epochs: int = EPOCHS, **settings):
    method = methods.make("em_apl", settings)
    method.start(Setup(labels() if observed is None else observed, epochs, steps_per_epoch=1))
    return method


def scores(epoch: int) -> torch.Tensor:
    return torch.rand(IMAGES, CLASSES, generator=torch.Generator().manual_seed(epoch))


def run(method, until: int = EPOCHS) -> None:
    for epoch in range(1, until + 1):
        method.after_epoch(epoch, scores(epoch))


def test_counts_of_every_round_and_class():
    method = started(warmup=3, theta=0.9)
    unknown = (labels() == -1).sum(0)
    assert unknown.tolist() == [40, 32, 40, 10]
    per_round = torch.tensor([12, 9, 12, 3])  # int(0.9 U / 3)
    for epoch, rounds in ((1, 0), (2, 0), (3, 1), (4, 2), (5, 3), (6, 3)):
        method.after_epoch(epoch, scores(epoch))
        assert torch.equal((method.pseudo >= 0).sum(0), rounds * per_round)
    assert ((method.pseudo >= 0).sum(0) <= 0.9 * unknown).all()


def test_each_round_takes_the_lowest_entries_still_unknown():
    method = started(warmup=3)
    run(method, 3)
    for epoch in (4, 5):
        open_entries = (labels() == -1) & (method.pseudo < 0)
        before = method.pseudo.clone()
        method.after_epoch(epoch, scores(epoch))
        new = (method.pseudo >= 0) & (before < 0)
        for k in range(CLASSES):
            column = scores(epoch)[:, k]
            rest = open_entries[:, k] & ~new[:, k]
            assert column[new[:, k]].max() <= column[rest].min()


def test_a_label_is_the_probability_of_its_round_and_never_refreshed():
    method = started(warmup=3)
    run(method, 3)
    first = method.pseudo.clone()
    assert torch.equal(first[first >= 0], scores(3)[first >= 0])
    run(method)
    assert torch.equal(method.pseudo[first >= 0], first[first >= 0])


def test_observed_entries_are_never_touched():
    method = started(warmup=1, theta=0.8, positive_theta=0.2)
    low = torch.where(labels() == -1, 0.9, 0.0)
    for epoch in range(1, EPOCHS + 1):
        method.after_epoch(epoch, low)
    assert (method.pseudo[labels() != -1] == -1).all()
    assert (method.pseudo[labels() == -1] >= 0).sum() > 0


def test_hard_labels_are_negative():
    method = started(warmup=3, soft=False)
    run(method)
    assert set(method.pseudo.unique().tolist()) == {-1.0, 0.0}


def test_positive_pseudo_labels_are_the_highest_entries():
    method = started(warmup=5, theta=0.5, positive_theta=0.1, soft=False)
    run(method)
    for k in range(CLASSES):
        unknown = labels()[:, k] == -1
        positive = method.pseudo[:, k] == 1
        assert positive.sum() == int(0.1 * unknown.sum())
        others = unknown & ~positive
        assert scores(5)[positive, k].min() >= scores(5)[others, k].max()


def test_low_proportion_of_table_3():
    method = started(warmup=5, theta=0.1)
    run(method)
    assert (method.pseudo >= 0).sum(0).tolist() == [4, 3, 4, 1]


def step_of(rows: torch.Tensor, logits: torch.Tensor) -> Step:
    return Step(Output(logits), labels()[rows], rows, epoch=5, step=0)


@pytest.mark.parametrize("base", ["em", "an"])
def test_loss_is_equation_8_on_the_rows_of_the_batch(base):
    method = started(warmup=3, alpha=0.3, beta=0.6, base=base)
    run(method, 4)
    rows = torch.tensor([3, 41, 17, 55])
    logits = torch.randn(4, CLASSES, generator=torch.Generator().manual_seed(9))
    p, s = logits.sigmoid(), method.pseudo[rows]
    entropy = -p * p.log() - (1 - p) * (1 - p).log()
    unknown = -(1 - p).log() if base == "an" else -0.3 * entropy
    soft = 0.6 * (-s * p.log() - (1 - s) * (1 - p).log())
    z = labels()[rows]
    expected = torch.where(s >= 0, soft, unknown)
    expected = torch.where(z == 1, -p.log(), torch.where(z == 0, -(1 - p).log(), expected))
    assert (s >= 0).any()
    torch.testing.assert_close(method.loss(step_of(rows, logits))["em_apl"], expected.mean())


def test_warm_up_is_plain_em():
    method = started(warmup=3, alpha=0.3)
    run(method, 2)
    rows, logits = torch.arange(8), torch.randn(8, CLASSES)
    plain = entropy_maximization(logits, labels()[rows], alpha=0.3).mean()
    torch.testing.assert_close(method.loss(step_of(rows, logits))["em_apl"], plain)


def test_resumed_in_the_middle_it_labels_the_same_entries():
    whole, first, second = (started(warmup=2) for _ in range(3))
    run(whole)
    run(first, 3)
    second.load_state({name: value.clone() for name, value in first.state().items()})
    for epoch in range(4, EPOCHS + 1):
        second.after_epoch(epoch, scores(epoch))
    assert torch.equal(second.pseudo, whole.pseudo)
    assert torch.equal(second.estimates(), whole.estimates())


def test_estimates_are_pseudo_labels_and_elsewhere_the_last_scores():
    method = started(warmup=3)
    unknown = labels() == -1
    assert (method.estimates()[unknown] == 0.5).all()
    run(method, 4)
    estimates, decided = method.estimates(), method.pseudo >= 0
    assert torch.equal(estimates[decided], method.pseudo[decided])
    assert torch.equal(estimates[unknown & ~decided], scores(4)[unknown & ~decided])
    assert torch.equal(estimates[~unknown], labels()[~unknown].float())


@pytest.mark.parametrize(
    ("warmup", "epochs", "expected"),
    [(0.5, 10, 5), (0.4, 10, 4), (0.3, 10, 3), (0.1, 4, 1), (7, 8, 7)],
)
def test_warm_up_as_share_or_number(warmup, epochs, expected):
    assert started(epochs=epochs, warmup=warmup).warmup == expected


@pytest.mark.parametrize(("warmup", "epochs"), [(6, 6), (9, 6), (0.5, 1), (0.99, 6)])
def test_warm_up_that_leaves_no_epoch_is_refused(warmup, epochs):
    with pytest.raises(TagfillError, match=r"em_apl cannot start: .* none is left"):
        started(epochs=epochs, warmup=warmup)


@pytest.mark.parametrize(
    "settings",
    [
        {"warmup": 2.5},
        {"theta": 1.1},
        {"theta": 0.9, "positive_theta": 0.2},
        {"base": "bce"},
        {"beta": -1.0},
    ],
)
def test_senseless_settings_are_refused(settings):
    with pytest.raises(TagfillError):
        methods.make("em_apl", settings)


def test_published_constants():
    presets = methods.find("em_apl").PRESETS
    table = {
        name: (preset.alpha, preset.beta, preset.theta, preset.warmup)
        for name, preset in presets.items()
    }
    assert table["voc"] == (0.2, 0.02, 0.9, 0.5)
    assert table["coco"] == (0.1, 0.9, 0.9, 0.5)
    assert table["nus"] == (0.1, 0.2, 0.9, 0.4)
    assert table["cub"] == (0.01, 0.4, 0.9, 0.3)
    assert all(preset.eps == 1e-5 for preset in presets.values())
