"""Very many images: streamed, and solved and chosen with some of them first."""

from __future__ import annotations

import numpy as np
import pytest
from tests.linear.drawn import data, one_each, ranked

from tagfill.errors import TagfillError
from tagfill.linear import Choice, fit_head, out_of_fold
from tagfill.linear.basis import Basis
from tagfill.linear.choose import fold_of
from tagfill.linear.scaled import Scaled


@pytest.mark.parametrize("transform", ["plain", "roots", "standard"])
def test_very_many_images_are_streamed_and_give_the_same_head(monkeypatch, transform) -> None:
    features, truth = data(images=900)
    observed, choice = one_each(truth), Choice(strength=0.01, transform=transform)
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
    features, truth = data(images=400)
    observed, choice = one_each(truth), Choice(strength=0.01)
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
    features, truth = data(images=1600)
    observed, choice = one_each(truth), Choice(strength=0.01)
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


@pytest.mark.slow
def test_choices_of_very_many_images_are_made_with_some(monkeypatch) -> None:
    features, truth = data(images=1200)
    observed = one_each(truth)
    unseen, wanted = data(seed=1, images=1000)
    whole = fit_head(features, observed)
    monkeypatch.setattr("tagfill.linear.choose.MOST", 300)
    head = fit_head(features, observed)
    tried = {trial.choice.strength for trial in head.trials}
    assert min(tried) / 4.1 <= head.choice.strength <= max(tried) / 3.9
    assert ranked(wanted, head.logits(unseen)) > ranked(wanted, whole.logits(unseen)) - 0.02


def test_very_many_features_that_are_no_numbers_are_refused(monkeypatch) -> None:
    features, truth = data()
    monkeypatch.setattr("tagfill.linear.basis._LARGE", 0)
    features[7, 2] = np.nan
    with pytest.raises(TagfillError, match="not finite"):
        fit_head(features, one_each(truth), choice=Choice())
