"""uPU, nnPU, vPU and PU-MLC as methods: reductions, priors, switches."""

from __future__ import annotations

import pytest
import torch
from tests.methods.harness import BATCH, CLASSES, Rehearsal, make_truth, positives_only

from tagfill import methods
from tagfill.errors import TagfillError
from tagfill.losses.pu import (
    adaptive_temperature,
    mixup_consistency,
    non_negative_risk,
    unbiased_risk,
    variational_risk,
)
from tagfill.methods.base import Mixed, Setup, Step
from tagfill.models.output import Output

GENERATOR = torch.Generator().manual_seed(0)
LOGITS = 2 * torch.randn(6, 3, generator=GENERATOR)
OBSERVED = torch.tensor(
    [[1, -1, 0], [1, 1, -1], [-1, -1, -1], [0, 0, -1], [-1, 1, -1], [1, -1, -1]],
    dtype=torch.int8,
)
PRIOR = torch.tensor([0.5, 0.3, 0.1])
MIXED = Mixed(
    Output(torch.randn(3, 3, generator=GENERATOR)),
    torch.tensor([2, 0, 1]),
    torch.tensor([3, 4, 5]),
    0.25,
)
STEP = Step(Output(LOGITS), OBSERVED, torch.arange(6), epoch=1, step=0, mixed=MIXED)


def started(name, preset=None, class_prior=PRIOR, **settings):
    method = methods.make(name, settings, preset)
    setup = Setup(observed=OBSERVED, epochs=2, steps_per_epoch=1, class_prior=class_prior)
    method.start(setup)
    return method


def total(name, preset=None, **settings):
    return started(name, preset, **settings).loss(STEP)


def mixture(eps=0.0):
    entries = mixup_consistency(
        MIXED.output.logits, LOGITS, OBSERVED, MIXED.first, MIXED.second, 0.25, eps=eps
    )
    return entries.mean(0).sum()


def test_upu_and_nnpu_sum_over_classes_with_the_prior_of_the_loop():
    assert torch.equal(total("upu")["upu"], unbiased_risk(LOGITS, OBSERVED, PRIOR).sum())
    assert torch.equal(total("nnpu")["nnpu"], non_negative_risk(LOGITS, OBSERVED, PRIOR).sum())
    published = non_negative_risk(
        LOGITS, OBSERVED, PRIOR, surrogate="sigmoid", positives_in_unlabeled=False
    )
    assert torch.equal(total("nnpu", "published")["nnpu"], published.sum())


@pytest.mark.parametrize("name", ["upu", "nnpu"])
def test_prior_as_number_vector_text_or_estimate(name):
    one = total(name, prior=0.2)[name]
    assert torch.equal(one, total(name, prior="0.2,0.2,0.2")[name])
    assert torch.equal(one, total(name, prior=(0.2, 0.2, 0.2))[name])
    assert torch.equal(one, total(name, class_prior=torch.full((3,), 0.2))[name])
    assert methods.make(name).needs.class_prior
    assert not methods.make(name, {"prior": 0.2}).needs.class_prior


@pytest.mark.parametrize(
    ("prior", "complaint"),
    [("0.1,0.2", "do not fit"), ("1.5", "out of range"), ("many", "cannot be")],
)
def test_bad_priors_are_explained(prior, complaint):
    with pytest.raises(TagfillError, match=complaint):
        started("nnpu", prior=prior)


def test_missing_prior_is_explained():
    with pytest.raises(TagfillError, match="share of positives of every class"):
        started("upu", class_prior=None)


def test_vpu_is_its_risk_and_the_mixture():
    terms = total("vpu")
    risk = variational_risk(LOGITS, OBSERVED, positives_in_unlabeled=False)
    assert torch.equal(terms["vpu"], risk.sum())
    torch.testing.assert_close(terms["mixup"], 0.03 * mixture())


def test_pu_mlc_is_equations_8_to_11():
    terms = total("pu_mlc")
    tau = adaptive_temperature(LOGITS, 1.0)
    risk = variational_risk(LOGITS, OBSERVED, temperature=tau, gamma=0.55)
    assert torch.equal(terms["pu_mlc"], risk.sum())
    torch.testing.assert_close(terms["mixup"], mixture())


def test_pu_mlc_presets_are_the_published_commands():
    for preset, gamma, alpha in (("published", 0.55, 1.0), ("voc07", 0.85, 2.0)):
        terms = total("pu_mlc", preset)
        risk = variational_risk(
            LOGITS,
            OBSERVED,
            temperature=adaptive_temperature(LOGITS, alpha),
            gamma=gamma,
            tempered_factor=True,
            eps=1e-10,
        )
        assert torch.equal(terms["pu_mlc"], risk.sum())
        torch.testing.assert_close(terms["mixup"], mixture(eps=1e-10))


def test_every_addition_of_pu_mlc_can_be_switched_off():
    bare = total("pu_mlc", gamma=0.0, temperature=1.0, mixup=0.0, positives_in_unlabeled=False)
    assert set(bare) == {"pu_mlc"}
    assert torch.equal(bare["pu_mlc"], total("vpu")["vpu"])
    assert not methods.make("pu_mlc", {"mixup": 0.0}).needs.mixup
    fixed = total("pu_mlc", temperature=0.5)["pu_mlc"]
    risk = variational_risk(LOGITS, OBSERVED, temperature=0.5, gamma=0.55)
    assert torch.equal(fixed, risk.sum())


@pytest.mark.parametrize("name", ["upu", "nnpu", "vpu", "pu_mlc"])
def test_known_negatives_are_unlabeled_unless_asked_for(name):
    blind = Step(
        Output(LOGITS),
        torch.where(OBSERVED == 0, -1, OBSERVED),
        torch.arange(6),
        epoch=1,
        step=0,
        mixed=MIXED,
    )
    plain, using = started(name), started(name, use_negatives=True)
    for term, value in plain.loss(STEP).items():
        assert torch.equal(value, plain.loss(blind)[term])
    assert using.loss(STEP)["negatives"] > 0
    assert using.loss(blind)["negatives"] == 0


@pytest.mark.parametrize("name", ["vpu", "pu_mlc"])
def test_batch_of_one_has_no_mixture(name):
    rehearsal = Rehearsal(name, positives_only(make_truth()))
    assert set(rehearsal.losses(torch.arange(1))) == {name}
    assert set(rehearsal.losses(torch.arange(BATCH))) == {name, "mixup"}


@pytest.mark.parametrize("name", ["nnpu", "pu_mlc"])
def test_unobserved_positives_are_found(name):
    """Trained on half of the positives, the others rank above the negatives."""
    truth = make_truth()
    observed = positives_only(truth)
    rehearsal = Rehearsal(name, observed)
    for _ in range(15):
        rehearsal.epoch()
    with torch.no_grad():
        logits = rehearsal.network(rehearsal.features).logits
    for c in range(CLASSES):
        hidden = logits[(truth[:, c] == 1) & (observed[:, c] == -1), c]
        absent = logits[truth[:, c] == 0, c]
        assert hidden.mean() > absent.mean()
