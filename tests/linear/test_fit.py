"""Linear heads by likelihood: what they learn, and give back every time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from tests.linear.drawn import CLASSES, WIDTH, data, one_each, ranked

from tagfill.errors import TagfillError
from tagfill.linear import Choice, fit_head, out_of_fold
from tagfill.linear.basis import Basis, rooted
from tagfill.linear.choose import Chooser
from tagfill.linear.solve import Likelihood, solve
from tagfill.losses.likelihood import each_written, some_written


@pytest.mark.slow
def test_one_tag_per_image_teaches_nearly_as_much_as_all() -> None:
    features, truth = data(images=1000)
    unseen, wanted = data(seed=1, images=2000)
    one = fit_head(features, one_each(truth))
    everything = fit_head(features, truth)
    assert one.choice.writer == "some"
    assert ranked(wanted, everything.logits(unseen)) > 0.85
    assert ranked(wanted, one.logits(unseen)) > ranked(wanted, everything.logits(unseen)) - 0.07


def test_entries_known_at_random_leave_their_neighbors_alone() -> None:
    features, truth = data(images=600)
    known = np.random.default_rng(1).random(truth.shape) < 0.3
    head = fit_head(features, np.where(known, truth, -1).astype(np.int8))
    assert (head.choice.writer, head.choice.share) == ("each", 0.0)
    rate = 1 / (1 + np.exp(-head.logits(features)))
    assert abs(rate.mean() - truth.mean()) < 0.05


@pytest.mark.slow
def test_the_same_bytes_every_time_from_memory_file_or_half_precision(tmp_path) -> None:
    features, truth = data()
    observed = one_each(truth)
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
    features, truth = data(images=images)
    observed = torch.from_numpy(one_each(truth))
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
    features, truth = data()
    choice = Choice(transform=transform)
    observed = torch.from_numpy(one_each(truth))
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
    assert ranked(truth, seen) > 0.99
    assert ranked(truth, out_of_fold(features, truth, choice)) < 0.7


def test_heads_of_wide_features_do_not_remember_other_folds() -> None:
    draw = np.random.default_rng(0)
    features = draw.normal(size=(80, 300)).astype(np.float32)
    observed = one_each(np.eye(CLASSES, dtype=np.int8)[draw.integers(0, CLASSES, 80)])
    written = observed.argmax(1)

    weak = Choice(writer="some", strength=1e-5, smoothing=0.05)
    scores = out_of_fold(features, observed, weak)
    assert (scores.argmax(1) == written).mean() < 0.45, "labels are drawn without the features"

    chooser = Chooser(features, torch.from_numpy(observed))
    strong = replace(weak, strength=10.0)
    assert chooser.score(strong) < chooser.score(weak), "nothing can be learned here"


@pytest.mark.slow
def test_odd_labels_have_a_defined_end() -> None:
    features, truth = data()
    observed = one_each(truth)
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
    features, truth = data()
    observed = one_each(truth)
    whole = fit_head(features, observed, choice=Choice())
    monkeypatch.setattr("tagfill.linear.basis.ENTRIES", 7 * CLASSES)
    pieces = fit_head(features, observed, choice=Choice())
    np.testing.assert_allclose(pieces.logits(features), whole.logits(features), atol=0.02)


def test_start_is_the_frequency_among_entries_that_tell() -> None:
    observed = torch.tensor([[1], [0], [-1], [-1]], dtype=torch.int8)
    at_random = Likelihood(observed, each_written(observed, 0.0)).start()
    absent = Likelihood(observed, each_written(observed, 1.0)).start()
    assert float(at_random.sigmoid()) == pytest.approx(1.5 / 3)
    assert float(absent.sigmoid()) == pytest.approx(1.5 / 5)


def test_a_feature_seen_once_does_not_become_a_long_one() -> None:
    features = np.random.default_rng(3).normal(size=(900, 3))
    features[:, 2] = 0.0
    features[0, 2] = 1.0
    scale = Basis.of(features, "standard").scale.numpy()
    np.testing.assert_allclose(scale[:2] * features[:, :2].std(axis=0), 1.0, atol=0.1)
    assert scale[2] < 10 < 1 / features[:, 2].std()
