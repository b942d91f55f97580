"""The stateless methods of Cole et al. 2021: what they refuse, reduce and read."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from tests.methods.harness import (
    CLASSES,
    IMAGES,
    Rehearsal,
    known_proportion,
    make_truth,
    positives_only,
    single_positive,
    some_of_each,
)

from tagfill import methods
from tagfill.errors import TagfillError
from tagfill.methods.base import Setup

ALL = torch.arange(IMAGES)


def value(rehearsal: Rehearsal) -> float:
    return sum(rehearsal.losses(ALL).values())


def logits(rehearsal: Rehearsal) -> torch.Tensor:
    return rehearsal.network(rehearsal.features).logits.detach()


def bce(scores: torch.Tensor, labels: torch.Tensor) -> float:
    return float(F.binary_cross_entropy_with_logits(scores, labels.float()))


@pytest.mark.parametrize("name", ["an", "bce", "iu", "iun", "partial_bce", "wan", "dw"])
def test_plain_cross_entropy_on_full_labels(name):
    rehearsal = Rehearsal(name, make_truth())
    assert value(rehearsal) == pytest.approx(bce(logits(rehearsal), make_truth()), rel=1e-5)


@pytest.mark.parametrize("name", ["an_ls", "bce_ls"])
def test_published_smoothing_is_twice_the_equations(name):
    targets = {None: 0.05, "published": 0.1}
    for preset, low in targets.items():
        rehearsal = Rehearsal(name, make_truth(), preset=preset)
        soft = make_truth().float() * (1 - 2 * low) + low
        assert value(rehearsal) == pytest.approx(bce(logits(rehearsal), soft), rel=1e-5)


@pytest.mark.parametrize("name", ["bce", "bce_ls"])
def test_oracles_train_on_the_truth_behind_masked_labels(name):
    masked = Rehearsal(name, single_positive(make_truth()))
    full = Rehearsal(name, make_truth())
    assert value(masked) == pytest.approx(value(full))


def test_bce_without_a_truth_is_the_mean_over_known_entries():
    observed = known_proportion(make_truth())
    rehearsal = Rehearsal("bce", observed)
    rehearsal.show_truth = False
    known = observed >= 0
    expected = bce(logits(rehearsal)[known], observed[known])
    assert value(rehearsal) == pytest.approx(expected, rel=1e-5)


def test_iun_reads_observed_positives_and_true_negatives():
    observed = single_positive(make_truth())
    rehearsal = Rehearsal("iun", observed)
    terms = F.binary_cross_entropy_with_logits(
        logits(rehearsal), make_truth().float(), reduction="none"
    )
    counted = (observed == 1) | (make_truth() == 0)
    assert value(rehearsal) == pytest.approx(float((terms * counted).mean()), rel=1e-5)
    assert not counted.all(), "unobserved positives are left out"


def setup(observed: torch.Tensor) -> Setup:
    return Setup(observed=observed, epochs=1, steps_per_epoch=1)


@pytest.mark.parametrize("name", ["iu", "partial_bce", "bce", "bce_ls"])
def test_positive_only_labels_are_refused_where_negatives_are_needed(name):
    with pytest.raises(TagfillError, match=f"{name} cannot start: it needs observed negatives"):
        methods.make(name).start(setup(positives_only(make_truth())))


@pytest.mark.parametrize("name", ["an", "iu", "wan", "pr", "epr", "role", "pseudo_negative"])
def test_labels_without_positives_are_refused(name):
    negatives = torch.where(make_truth() == 0, 0, -1)
    with pytest.raises(TagfillError, match=f"{name} cannot start: no observed label is positive"):
        methods.make(name).start(setup(negatives))


def test_iun_without_truth_is_refused():
    with pytest.raises(TagfillError, match="iun cannot start: it needs the full labels"):
        methods.make("iun").start(setup(single_positive(make_truth())))


def test_pseudo_negatives_are_drawn_by_the_steps_generator():
    rehearsal = Rehearsal("pseudo_negative", single_positive(make_truth()))
    draws = [rehearsal.losses(ALL, seed) for seed in (1, 1, 2)]
    assert draws[0] == draws[1] != draws[2]


def test_pseudo_negatives_are_wan_on_average():
    observed = single_positive(make_truth())
    sampling, wan = Rehearsal("pseudo_negative", observed), Rehearsal("wan", observed)
    draws = [sampling.losses(ALL, seed)["pseudo_negative"] for seed in range(100)]
    assert sum(draws) / len(draws) == pytest.approx(value(wan), rel=0.02)


@pytest.mark.parametrize("name", ["pr", "epr"])
def test_published_loss_is_ours_divided_by_the_number_of_classes(name):
    observed = some_of_each(make_truth())
    ours, published = Rehearsal(name, observed), Rehearsal(name, observed, preset="published")
    assert value(published) == pytest.approx(value(ours) / CLASSES, rel=1e-5)


def test_known_negatives_keep_their_full_weight():
    observed = some_of_each(make_truth())
    light = Rehearsal("dw", observed, settings={"w": 0})
    known = observed >= 0
    terms = F.binary_cross_entropy_with_logits(
        logits(light), make_truth().float(), reduction="none"
    )
    assert value(light) == pytest.approx(float((terms * known).mean()), rel=1e-5)


def test_partial_bce_weightings_differ_on_partial_labels():
    observed = known_proportion(make_truth())
    count = Rehearsal("partial_bce", observed)
    durand = Rehearsal("partial_bce", observed, settings={"weighting": "durand"})
    assert value(durand) > value(count)


@pytest.mark.parametrize(
    ("name", "settings"),
    [("wan", {"gamma": 2}), ("dw", {"w": -1}), ("an_ls", {"eps": 1.5}), ("bce_ls", {"eps": -0.1})],
)
def test_hyper_parameters_out_of_range_are_refused(name, settings):
    with pytest.raises(TagfillError, match="out of range"):
        methods.make(name, settings)
