"""Which way of labeling, and which strength, is chosen: what is tried, and what each costs."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.linear.drawn import data, one_each

from tagfill.linear import Choice, fit_head
from tagfill.linear.choice import candidates
from tagfill.linear.costs import held_out_cost, labeling_cost
from tagfill.linear.given_number import choice_costs, given_number, number_chances
from tagfill.linear.solve import Likelihood
from tagfill.losses.likelihood import each_written, some_written


def test_only_possible_writers_are_tried() -> None:
    positives = torch.tensor([[1, -1], [-1, 1]], dtype=torch.int8)
    assert all(
        candidate.writer == "some" or candidate.share > 0
        for candidate in candidates(positives, Choice())
    )
    mixed = torch.tensor([[1, -1], [0, 1]], dtype=torch.int8)
    assert any(
        candidate.writer == "each" and candidate.share == 0
        for candidate in candidates(mixed, Choice())
    )
    full = torch.tensor([[1, 0], [0, 1]], dtype=torch.int8)
    assert len(candidates(full, Choice())) == 1


def test_labeling_cost_is_that_of_the_entries_states() -> None:
    """With logits that are right, the cost of a state is minus its log chance."""
    observed = torch.tensor([[1, -1, -1, 0], [1, 1, -1, -1]], dtype=torch.int8)
    flat = torch.zeros(2, 4)
    at_random = labeling_cost(Choice(writer="each", share=0.0), observed, flat)
    known = 4 / 8
    assert at_random == pytest.approx(-8 * np.log(known) / 2, abs=1e-6)
    everything = replace(Choice(), writer="each", share=1.0)
    only_positives = torch.where(observed == 0, -1, observed)
    assert labeling_cost(everything, only_positives, flat) == pytest.approx(0.0)
    half = replace(everything, share=0.5)
    assert labeling_cost(half, only_positives, flat) == pytest.approx(1.5 * np.log(2))
    some = labeling_cost(Choice(), only_positives, flat)
    assert some == pytest.approx(np.log(2))  # one image with one tag, one with two


def test_after_a_review_images_have_as_many_written_tags_as_most() -> None:
    observed = torch.tensor([[1, -1, -1], [-1, 1, -1], [1, 1, 0]], dtype=torch.int8)
    reviewed = candidates(observed, Choice())[0]
    assert reviewed.max_written == 1
    told = some_written(observed, torch.tensor([1, 1, 1]))
    for guessed, known in zip(reviewed.written_by(observed), told, strict=True):
        torch.testing.assert_close(guessed, known)
    untouched = candidates(torch.where(observed == 0, -1, observed), Choice())[0]
    assert untouched.max_written == 0


def test_a_review_of_likely_entries_costs_less_than_one_at_random() -> None:
    draw = np.random.default_rng(0)
    observed, logits = torch.full((50, 20), -1, dtype=torch.int8), torch.randn(50, 20)
    observed[:, 0] = 1
    unwritten = np.flatnonzero(observed.numpy() < 0)
    at_random = draw.choice(unwritten, 100, replace=False)
    likely = unwritten[np.argsort(-logits.flatten().numpy()[unwritten])[:100]]
    costs = []
    for answers in (likely, at_random):
        reviewed = observed.flatten().clone()
        reviewed[torch.from_numpy(answers)] = torch.arange(100, dtype=torch.int8) % 2
        costs.append(labeling_cost(Choice(max_written=1), reviewed.view(50, 20), logits))
    uniform = -(100 * np.log(100 / 950) + 850 * np.log(850 / 950)) / 50
    assert costs[0] < 0.5 * uniform
    assert costs[1] == pytest.approx(uniform, rel=0.05)


def test_correct_answers_do_not_change_the_writer() -> None:
    features, truth = data(images=1500)
    features, truth = features[truth.any(1)], truth[truth.any(1)]
    observed = one_each(truth)
    likely = np.where(observed < 0, fit_head(features, observed).logits(features), -np.inf)
    order = np.argsort(-likely, axis=None)
    for answers in (150, 250):
        answered = observed.copy()
        answered.ravel()[order[:answers]] = truth.ravel()[order[:answers]]
        assert (answered == 0).any()
        assert fit_head(features, answered).choice.writer == "some"


def test_all_tags_and_a_few_known_to_be_absent() -> None:
    features, truth = data(images=1500)
    absent = np.flatnonzero(truth == 0)
    observed = np.where(truth == 1, truth, -1).astype(np.int8)
    observed.ravel()[np.random.default_rng(0).choice(absent, 60, replace=False)] = 0
    choice = fit_head(features, observed).choice
    assert (choice.writer, choice.share) == ("each", 1.0)


def test_a_better_scale_of_the_scores_costs_a_third() -> None:
    features, truth = data(images=400)
    labels = torch.from_numpy(truth)
    objective = Likelihood(labels, each_written(labels, 1.0))
    logits = torch.from_numpy(fit_head(features, truth).logits(features))
    shrunk = held_out_cost(objective, 0.2 * logits)
    plain = float(objective(0.2 * logits, slice(None))[0].mean())
    assert held_out_cost(objective, logits) < shrunk < plain


def test_strengths_far_from_the_first_need_evidence() -> None:
    assert Choice(strength=0.1).surprise == 0
    assert Choice(strength=0.001).surprise == pytest.approx(2.0)


@pytest.mark.slow
def test_a_class_between_two_others_is_not_taken_for_one_that_is_always_there() -> None:
    """No line tells it apart, so that "always there, and not written" explains one tag best."""
    draw = np.random.default_rng(0)
    kinds = np.arange(90) % 3
    features = np.stack([kinds - 1.0, draw.normal(size=90)], 1) + draw.normal(size=(90, 2)) / 4
    observed = np.where(kinds[:, None] == np.arange(3), 1, -1).astype(np.int8)
    head = fit_head(features, observed)
    assert (head.choice.writer, head.choice.share) == ("each", 1.0)
    scores = fit_head(features, observed, candidates=[Choice()])
    assert scores.choice.writer == "some"
    assert scores.bias[1] > head.bias[1] + 1


def test_chances_of_a_number_are_those_of_all_sets() -> None:
    chances = torch.rand(3, 5, generator=torch.Generator().manual_seed(0)).double()
    expected = torch.zeros(3, 6).double()
    for kind in itertools.product((0, 1), repeat=5):
        there = torch.tensor(kind, dtype=torch.bool)
        expected[:, sum(kind)] += torch.where(there, chances, 1 - chances).prod(1)
    torch.testing.assert_close(number_chances(chances, 5), expected)
    torch.testing.assert_close(number_chances(chances, 2), expected[:, :3])
    torch.testing.assert_close(number_chances(chances, 7)[:, 6:], torch.zeros(3, 2).double())


@pytest.mark.parametrize("choice", [Choice(), Choice(writer="each", share=0.7)])
def test_choices_of_two_tags_have_chances_that_sum_to_one(choice: Choice) -> None:
    pairs = torch.full((6, 4), -1, dtype=torch.int8)
    for row, pair in enumerate(itertools.combinations(range(4), 2)):
        pairs[row, list(pair)] = 1
    logits = torch.tensor([0.5, -1.0, 2.0, -0.3]).expand(6, 4).double()
    costs = given_number(logits, pairs, choice.written_by(pairs))
    assert float(torch.exp(-costs).sum()) == pytest.approx(1.0)


def test_writers_are_compared_inside_of_no_grad_too() -> None:
    logits, writer = torch.randn(20, 4), Choice().written_by
    observed = torch.where(torch.arange(4) == torch.arange(20)[:, None] % 4, 1, -1).to(torch.int8)
    with torch.no_grad():
        inside = choice_costs(logits, observed, writer(observed))
    torch.testing.assert_close(inside, choice_costs(logits, observed, writer(observed)).detach())
