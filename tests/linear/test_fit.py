"""Linear heads by likelihood: what they learn, choose, and give back every time."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch

from tagfill.errors import TagfillError
from tagfill.linear import Choice, fit_head, out_of_fold
from tagfill.linear.basis import Basis, rooted
from tagfill.linear.choice import candidates
from tagfill.linear.choose import Chooser, fold_of
from tagfill.linear.costs import held_out_cost, labeling_cost
from tagfill.linear.given_number import choice_costs, given_number, number_chances
from tagfill.linear.scaled import Scaled
from tagfill.linear.solve import Likelihood, solve
from tagfill.losses.likelihood import each_written, some_written

IMAGES, WIDTH, CLASSES = 300, 12, 5


def _data(seed: int = 0, images: int = IMAGES) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    features = draw.normal(size=(images, WIDTH)).astype(np.float32)
    weights = np.random.default_rng(7).normal(size=(WIDTH, CLASSES))
    logits = features @ weights * 1.5 - 1
    return features, (logits + draw.logistic(size=logits.shape) > 0).astype(np.int8)


def _one_each(truth: np.ndarray, seed: int = 0) -> np.ndarray:
    draw, observed = np.random.default_rng(seed), np.full_like(truth, -1)
    for row, tags in enumerate(truth):
        if tags.any():
            observed[row, draw.choice(np.flatnonzero(tags))] = 1
    return observed


def _ranked(truth: np.ndarray, scores: np.ndarray) -> float:
    """Share of pairs in the right order, mean over classes."""
    shares = []
    for y, s in zip(truth.T, scores.T, strict=True):
        shares.append((s[y == 1][:, None] > s[y == 0][None]).mean())
    return float(np.mean(shares))


@pytest.mark.slow
def test_one_tag_per_image_teaches_nearly_as_much_as_all() -> None:
    features, truth = _data(images=1000)
    unseen, wanted = _data(seed=1, images=2000)
    one = fit_head(features, _one_each(truth))
    everything = fit_head(features, truth)
    assert one.choice.writer == "some"
    assert _ranked(wanted, everything.logits(unseen)) > 0.85
    assert _ranked(wanted, one.logits(unseen)) > _ranked(wanted, everything.logits(unseen)) - 0.07


def test_entries_known_at_random_leave_their_neighbors_alone() -> None:
    features, truth = _data(images=600)
    known = np.random.default_rng(1).random(truth.shape) < 0.3
    head = fit_head(features, np.where(known, truth, -1).astype(np.int8))
    assert (head.choice.writer, head.choice.share) == ("each", 0.0)
    rate = 1 / (1 + np.exp(-head.logits(features)))
    assert abs(rate.mean() - truth.mean()) < 0.05


@pytest.mark.slow
def test_the_same_bytes_every_time_from_memory_file_or_half_precision(tmp_path) -> None:
    features, truth = _data()
    observed = _one_each(truth)
    np.save(tmp_path / "half.npy", features.astype(np.float16))
    mapped = np.load(tmp_path / "half.npy", mmap_mode="r")
    first, again = fit_head(features, observed), fit_head(features, observed)
    assert first.weight.tobytes() == again.weight.tobytes()
    assert first.bias.tobytes() == again.bias.tobytes()
    from_file = fit_head(mapped, observed, choice=first.choice)
    from_memory = fit_head(features.astype(np.float16), observed, choice=first.choice)
    assert from_file.weight.tobytes() == from_memory.weight.tobytes()
    np.testing.assert_allclose(from_file.logits(mapped), first.logits(features), atol=0.05)


@pytest.mark.parametrize("images", [40, 8])
def test_solution_is_a_minimum_for_tall_and_wide_features(images: int) -> None:
    features, truth = _data(images=images)
    observed = torch.from_numpy(_one_each(truth))
    basis = Basis.of(features, "standard")
    objective = Likelihood(observed, some_written(observed), 0.05)
    solution = solve(basis, objective, 0.1, tolerance=1e-12)

    def cost(weight: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
        logits = (basis.rotated @ weight.float() + bias.float()).double()
        penalty = 0.5 * 0.1 * basis.typical * weight.square().sum()
        return objective(logits, slice(None))[0].sum() + penalty

    least = cost(solution.weight, solution.bias)
    for seed in range(5):
        noise = 0.03 * torch.randn(solution.weight.shape, generator=torch.manual_seed(seed))
        assert cost(solution.weight + noise, solution.bias) > least
        assert cost(solution.weight, solution.bias + 0.05 * (seed - 2.2)) > least


@pytest.mark.parametrize("transform", ["plain", "roots", "standard"])
def test_a_head_gives_on_features_what_the_solver_found(transform) -> None:
    features, truth = _data()
    choice = Choice(transform=transform)
    observed = torch.from_numpy(_one_each(truth))
    basis = Basis.of(features, transform)
    solution = solve(basis, choice.objective(observed), choice.strength)
    head = fit_head(features, observed.numpy(), choice=choice)
    np.testing.assert_allclose(
        head.logits(features), solution.scores(basis, slice(None)).numpy(), atol=1e-4
    )
    seen = rooted(torch.from_numpy(features)) if head.power == 0.5 else torch.from_numpy(features)
    by_hand = seen @ torch.from_numpy(head.weight).T + torch.from_numpy(head.bias)
    np.testing.assert_allclose(head.logits(features), by_hand, atol=1e-4)


def test_out_of_fold_scores_do_not_know_their_own_labels() -> None:
    draw = np.random.default_rng(0)
    features = draw.normal(size=(60, 200)).astype(np.float32)  # any labels can be learned by heart
    truth = (draw.random((60, 3)) < 0.4).astype(np.int8)
    choice = Choice(writer="each", share=0.0, strength=1e-3, transform="plain")
    seen = fit_head(features, truth, choice=choice).logits(features)
    assert _ranked(truth, seen) > 0.99
    assert _ranked(truth, out_of_fold(features, truth, choice)) < 0.7


def test_heads_of_wide_features_do_not_remember_other_folds() -> None:
    draw = np.random.default_rng(0)
    features = draw.normal(size=(80, 300)).astype(np.float32)
    observed = _one_each(np.eye(CLASSES, dtype=np.int8)[draw.integers(0, CLASSES, 80)])
    written = observed.argmax(1)

    weak = Choice(writer="some", strength=1e-5, smoothing=0.05)
    scores = out_of_fold(features, observed, weak)
    assert (scores.argmax(1) == written).mean() < 0.45, "labels are drawn without the features"

    chooser = Chooser(features, torch.from_numpy(observed))
    strong = replace(weak, strength=10.0)
    assert chooser.score(strong) < chooser.score(weak), "nothing can be learned here"


@pytest.mark.slow
def test_odd_labels_have_a_defined_end() -> None:
    features, truth = _data()
    observed = _one_each(truth)
    observed[:, 0] = np.where(observed[:, 0] == 1, -1, observed[:, 0])  # never written
    observed[0] = -1  # nothing known
    observed[1] = 1  # all written
    observed[1, 0] = -1
    head = fit_head(features, observed)
    logits = head.logits(features)
    assert np.isfinite(logits).all()
    assert logits[:, 0].max() < 0
    single = fit_head(features, truth[:, :1])
    assert single.weight.shape == (1, WIDTH)
    flat = fit_head(np.zeros_like(features), observed)
    assert np.isfinite(flat.logits(features)).all()
    with pytest.raises(TagfillError, match="no observed label is positive"):
        fit_head(features, np.full_like(observed, -1))


def test_many_classes_are_solved_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    features, truth = _data()
    observed = _one_each(truth)
    whole = fit_head(features, observed, choice=Choice())
    monkeypatch.setattr("tagfill.linear.basis.ENTRIES", 7 * CLASSES)
    pieces = fit_head(features, observed, choice=Choice())
    np.testing.assert_allclose(pieces.logits(features), whole.logits(features), atol=0.02)


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
    features, truth = _data(images=1500)
    features, truth = features[truth.any(1)], truth[truth.any(1)]
    observed = _one_each(truth)
    likely = np.where(observed < 0, fit_head(features, observed).logits(features), -np.inf)
    order = np.argsort(-likely, axis=None)
    for answers in (150, 250):
        answered = observed.copy()
        answered.ravel()[order[:answers]] = truth.ravel()[order[:answers]]
        assert (answered == 0).any()
        assert fit_head(features, answered).choice.writer == "some"


def test_all_tags_and_a_few_known_to_be_absent() -> None:
    features, truth = _data(images=1500)
    absent = np.flatnonzero(truth == 0)
    observed = np.where(truth == 1, truth, -1).astype(np.int8)
    observed.ravel()[np.random.default_rng(0).choice(absent, 60, replace=False)] = 0
    choice = fit_head(features, observed).choice
    assert (choice.writer, choice.share) == ("each", 1.0)


def test_a_better_scale_of_the_scores_costs_a_third() -> None:
    features, truth = _data(images=400)
    labels = torch.from_numpy(truth)
    objective = Likelihood(labels, each_written(labels, 1.0))
    logits = torch.from_numpy(fit_head(features, truth).logits(features))
    shrunk = held_out_cost(objective, 0.2 * logits)
    plain = float(objective(0.2 * logits, slice(None))[0].mean())
    assert held_out_cost(objective, logits) < shrunk < plain


def test_start_is_the_frequency_among_entries_that_tell() -> None:
    observed = torch.tensor([[1], [0], [-1], [-1]], dtype=torch.int8)
    at_random = Likelihood(observed, each_written(observed, 0.0)).start()
    absent = Likelihood(observed, each_written(observed, 1.0)).start()
    assert float(at_random.sigmoid()) == pytest.approx(1.5 / 3)
    assert float(absent.sigmoid()) == pytest.approx(1.5 / 5)


@pytest.mark.parametrize("transform", ["plain", "roots", "standard"])
def test_very_many_images_are_streamed_and_give_the_same_head(monkeypatch, transform) -> None:
    features, truth = _data(images=900)
    observed, choice = _one_each(truth), Choice(strength=0.01, transform=transform)
    exact = fit_head(features, observed, choice=choice).logits(features)
    folded = out_of_fold(features, observed, choice, folds=3)
    monkeypatch.setattr("tagfill.linear.basis._LARGE", 0)
    monkeypatch.setattr("tagfill.linear.basis._SAMPLE", 300)
    monkeypatch.setattr("tagfill.linear.large.COARSE", 50)
    monkeypatch.setattr("tagfill.linear.large.GAIN", 1e-7)
    assert Basis.of(features).streams
    head = fit_head(features, observed, choice=choice)
    scatter = exact.std()
    np.testing.assert_allclose(head.logits(features), exact, atol=0.02 * scatter)
    again = out_of_fold(features, observed, choice, folds=3)
    np.testing.assert_allclose(again, folded, atol=0.02 * scatter)
    from_half = fit_head(features.astype(np.float16), observed, choice=choice)
    np.testing.assert_allclose(from_half.logits(features), exact, atol=0.02 * scatter)


def test_very_many_images_start_with_a_head_of_some_of_their_own(monkeypatch) -> None:
    """A fold's head depends on no label outside of it, not even by where the solver starts."""
    features, truth = _data(images=400)
    observed, choice = _one_each(truth), Choice(strength=0.01)
    monkeypatch.setattr("tagfill.linear.basis._LARGE", 0)
    monkeypatch.setattr("tagfill.linear.large.COARSE", 20)
    before = out_of_fold(features, observed, choice, folds=2, seed=3)
    own = fold_of(len(observed), 2, 3).numpy() == 0
    changed = observed.copy()
    changed[own] = np.roll(changed[own], 1, axis=1)
    after = out_of_fold(features, changed, choice, folds=2, seed=3)
    assert np.array_equal(before[own], after[own])
    assert not np.allclose(before[~own], after[~own], atol=0.1)


def test_many_evaluations_are_of_few_images(monkeypatch) -> None:
    features, truth = _data(images=1600)
    observed, choice = _one_each(truth), Choice(strength=0.01)
    monkeypatch.setattr("tagfill.linear.basis._LARGE", 0)
    monkeypatch.setattr("tagfill.linear.large.COARSE", 50)
    sizes: list[int] = []
    total = Scaled.__call__

    def counted(self, inner):
        sizes.append(self.images)
        return total(self, inner)

    monkeypatch.setattr(Scaled, "__call__", counted)
    fit_head(features, observed, choice=choice)
    assert sizes == sorted(sizes)
    assert set(sizes) == {100, 400, 1600}
    assert sizes.count(1600) < sizes.count(100)


def test_very_many_features_that_are_no_numbers_are_refused(monkeypatch) -> None:
    features, truth = _data()
    monkeypatch.setattr("tagfill.linear.basis._LARGE", 0)
    features[7, 2] = np.nan
    with pytest.raises(TagfillError, match="not finite"):
        fit_head(features, _one_each(truth), choice=Choice())


@pytest.mark.slow
def test_choices_of_very_many_images_are_made_with_some(monkeypatch) -> None:
    features, truth = _data(images=1200)
    observed = _one_each(truth)
    unseen, wanted = _data(seed=1, images=1000)
    whole = fit_head(features, observed)
    monkeypatch.setattr("tagfill.linear.choose.MOST", 300)
    head = fit_head(features, observed)
    tried = {trial.choice.strength for trial in head.trials}
    assert min(tried) / 4.1 <= head.choice.strength <= max(tried) / 3.9
    assert _ranked(wanted, head.logits(unseen)) > _ranked(wanted, whole.logits(unseen)) - 0.02


def test_a_feature_seen_once_does_not_become_a_long_one() -> None:
    features = np.random.default_rng(3).normal(size=(900, 3))
    features[:, 2] = 0.0
    features[0, 2] = 1.0
    scale = Basis.of(features, "standard").scale.numpy()
    np.testing.assert_allclose(scale[:2] * features[:, :2].std(axis=0), 1.0, atol=0.1)
    assert scale[2] < 10 < 1 / features[:, 2].std()


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
