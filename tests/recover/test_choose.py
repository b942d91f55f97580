"""Which entries are suggested and in which order; expected and real figures."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from tagfill.errors import TagfillError
from tagfill.recover.choose import Amount, choose, expected_gain
from tagfill.recover.evaluate import cuts

PROBABILITY = np.array([[0.9, 0.4, 1.0], [0.8, 0.7, 0.1], [0.2, 0.6, 0.3]])
UNKNOWN = np.array([[True, True, False], [True, True, True], [True, True, True]])


def entries(amount: Amount) -> set[tuple[int, int]]:
    chosen = choose(PROBABILITY, UNKNOWN, amount)
    return set(zip(chosen.rows.tolist(), chosen.columns.tolist(), strict=True))


def test_precision_takes_as_many_as_their_mean_allows() -> None:
    assert entries(Amount(precision=0.8)) == {(0, 0), (1, 0), (1, 1)}
    chosen = choose(PROBABILITY, UNKNOWN, Amount(precision=0.8))
    assert chosen.expected_precision == pytest.approx(0.8)
    assert len(choose(PROBABILITY, UNKNOWN, Amount(precision=0.95))) == 0


def test_nine_in_ten_is_the_default() -> None:
    assert entries(Amount()) == entries(Amount(precision=0.9)) == {(0, 0)}


def test_top_takes_the_likeliest_of_every_image_and_no_known_entry() -> None:
    assert entries(Amount(top=1)) == {(0, 0), (1, 0), (2, 1)}
    assert (0, 2) not in entries(Amount(top=3))


def test_budget_takes_what_answers_bring_most_for() -> None:
    gain = expected_gain(PROBABILITY, UNKNOWN)
    chosen = choose(PROBABILITY, UNKNOWN, Amount(budget=3))
    assert len(chosen) == 3
    assert chosen.gain.min() >= np.sort(gain[UNKNOWN])[-3]
    assert (np.diff(chosen.gain) <= 0).all()


def test_gain_is_highest_for_doubt_and_for_rare_classes() -> None:
    probability = np.tile([[0.5, 0.5, 0.95]], (10, 1))
    probability[1:, 1] = 0.01
    gain = expected_gain(probability, np.ones(probability.shape, dtype=bool))
    assert gain[0, 1] > gain[0, 0] > gain[0, 2]
    assert gain.mean() == pytest.approx(1)


@pytest.mark.parametrize(
    ("amount", "message"),
    [
        ({"precision": 0.9, "top": 2}, "choose one"),
        ({"precision": 90.0}, "not between 0 and 1"),
        ({"budget": 0}, "1 or more"),
    ],
)
def test_impossible_wishes_are_refused(amount: dict[str, float], message: str) -> None:
    with pytest.raises(TagfillError, match=message):
        Amount(**amount)


def test_cuts_tell_expected_and_real_figures() -> None:
    truth = np.array([[1, 0, 1], [1, 0, 0], [0, 1, -1]], dtype=np.int8)
    by_cut = {cut.expected_precision: cut for cut in cuts(PROBABILITY, UNKNOWN, truth)}
    middle = by_cut[0.8]
    assert (middle.suggestions, middle.precision, middle.recall) == (3, 2 / 3, 2 / 3)
    assert middle.expected_recall == pytest.approx(2.4 / PROBABILITY[UNKNOWN].sum())
    assert by_cut[0.95].suggestions == 0
    assert by_cut[0.95].precision is None


def test_cuts_without_truth_and_without_unknown_entries() -> None:
    assert all(cut.precision is None for cut in cuts(PROBABILITY, UNKNOWN, None))
    nothing = cuts(PROBABILITY, np.zeros_like(UNKNOWN), None)
    assert all(cut.suggestions == 0 for cut in nothing)


def test_cuts_are_those_of_all_entries_in_order_and_need_little_memory() -> None:
    draw = np.random.default_rng(0)
    probability = draw.random((1000, 200)).round(3) ** 8
    unknown = draw.random(probability.shape) < 0.9
    truth = (draw.random(probability.shape) < probability).astype(np.int8)
    likely = probability[unknown]
    order = np.argsort(-likely, kind="stable")
    expected = np.cumsum(likely[order]) / np.arange(1, len(order) + 1)
    tracemalloc.start()
    found = cuts(probability, unknown, truth)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 3 * probability.nbytes
    for cut in found:
        count = int((expected >= cut.expected_precision).sum())
        chosen = truth[unknown][order[:count]]
        assert cut.suggestions == count > 0
        assert (cut.precision, cut.recall) == (
            chosen.mean(),
            chosen.sum() / truth[unknown].sum(),
        )
        assert cut.expected_recall == pytest.approx(likely[order[:count]].sum() / likely.sum())
