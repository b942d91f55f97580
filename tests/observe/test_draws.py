"""That the draws follow their probabilities."""

from __future__ import annotations

import numpy as np
import pytest

from tagfill.errors import TagfillError
from tagfill.labels import Boxes
from tagfill.observe import (
    biased_by_frequency,
    biased_by_place,
    biased_by_size,
    defaults,
    fixed_per_class,
    known_proportion,
    make,
    positive_proportion,
    weighted_single_positive,
)

MANY = 20_000


def share_of_first(observed: np.ndarray) -> float:
    return float((observed[:, 0] == 1).mean())


def two_boxes(first: list[float], second: list[float]) -> Boxes:
    """Classes 0 and 1 in every image, with the same two boxes each time."""
    image = np.repeat(np.arange(MANY), 2)
    return Boxes(image, np.tile([0, 1], MANY), np.tile([first, second], (MANY, 1)))


BOTH = np.ones((MANY, 2), dtype=np.int8)


def test_large_things_are_named_in_proportion_to_their_area():
    boxes = two_boxes([0, 0, 0.6, 0.5], [0, 0, 0.5, 0.2])
    assert share_of_first(biased_by_size(BOTH, 0, boxes)) == pytest.approx(0.75, abs=0.015)


def test_areas_of_several_instances_add_up():
    once = two_boxes([0, 0, 0.2, 0.5], [0, 0, 0.2, 0.5])
    image = np.append(once.image, np.arange(MANY))
    label = np.append(once.label, np.zeros(MANY, dtype=np.intp))
    xywh = np.vstack([once.xywh, np.tile([0, 0, 0.2, 0.5], (MANY, 1))])
    observed = biased_by_size(BOTH, 0, Boxes(image, label, xywh))
    assert share_of_first(observed) == pytest.approx(2 / 3, abs=0.015)


def test_central_things_are_named_in_inverse_proportion_to_their_distance():
    boxes = two_boxes([0.6, 0.5, 0, 0], [0.5, 0.8, 0, 0])
    assert share_of_first(biased_by_place(BOTH, 0, boxes)) == pytest.approx(0.75, abs=0.015)


def test_a_thing_right_in_the_center_is_all_but_certain():
    boxes = two_boxes([0.25, 0.25, 0.5, 0.5], [0, 0, 0.1, 0.1])
    assert share_of_first(biased_by_place(BOTH, 0, boxes)) > 0.99


@pytest.mark.parametrize(("power", "expected"), [(1, 0.8), (0, 0.5), (-1, 0.2)])
def test_usual_classes_are_named_in_proportion_to_their_frequency(power, expected):
    truth = np.vstack([BOTH, np.tile([1, 0], (3 * MANY, 1))]).astype(np.int8)
    observed = biased_by_frequency(truth, 0, power=power)[:MANY]
    assert share_of_first(observed) == pytest.approx(expected, abs=0.015)


def test_without_any_weight_the_draw_is_uniform():
    nothing = Boxes(np.array([], dtype=np.intp), np.array([], dtype=np.intp), np.zeros((0, 4)))
    assert share_of_first(biased_by_size(BOTH, 0, nothing)) == pytest.approx(0.5, abs=0.015)


def test_weights_of_absent_classes_do_not_count():
    truth = np.tile(np.array([1, 0, 1], dtype=np.int8), (MANY, 1))
    observed = weighted_single_positive(truth, 0, np.array([1.0, 100.0, 3.0]))
    assert not (observed[:, 1] == 1).any()
    assert share_of_first(observed) == pytest.approx(0.25, abs=0.015)


def test_huge_weights_do_not_overflow():
    observed = weighted_single_positive(BOTH, 0, np.array([1e308, 1e308]))
    assert share_of_first(observed) == pytest.approx(0.5, abs=0.015)


@pytest.mark.parametrize("weight", [-1.0, np.nan, np.inf])
def test_weights_are_checked(weight):
    with pytest.raises(TagfillError, match="weights"):
        weighted_single_positive(BOTH, 0, np.array([1.0, weight]))


def test_shares_are_kept_on_average():
    truth = np.tile(np.array([1, 0, -1], dtype=np.int8), (MANY, 1))
    observed = known_proportion(truth, 0, proportion=0.3)
    assert (observed != -1).mean(axis=0) == pytest.approx([0.3, 0.3, 0], abs=0.015)
    observed = positive_proportion(truth, 0, proportion=0.3)
    assert (observed != -1).mean(axis=0) == pytest.approx([0.3, 0, 0], abs=0.015)


def test_every_image_has_the_same_chance_in_fixed_per_class():
    truth = np.tile(np.array([1, 0], dtype=np.int8), (10, 50_000)).reshape(10, -1)
    observed = fixed_per_class(truth, 0, count=3)
    assert (observed != -1).mean(axis=1) == pytest.approx(np.full(10, 0.3), abs=0.015)


@pytest.mark.parametrize("name", ["known_proportion", "positive_proportion", "false_negatives"])
@pytest.mark.parametrize("proportion", [-0.1, 1.1, float("nan")])
def test_proportions_are_checked(name, proportion):
    with pytest.raises(TagfillError, match="between 0 and 1"):
        make(name, {"proportion": proportion}).observe(BOTH, 0)


def test_fixed_per_class_needs_a_count():
    with pytest.raises(TagfillError, match="at least 1"):
        make("fixed_per_class", {"count": 0}).observe(BOTH, 0)


def test_unknown_regimes_and_settings_are_named():
    with pytest.raises(TagfillError, match="single_positive"):
        make("double_positive")
    with pytest.raises(TagfillError, match="no setting 'proportion' — its settings: count"):
        make("fixed_per_class", {"proportion": 0.5})
    assert defaults("known_proportion") == {
        "proportion": 0.5,
        "per_image": False,
        "published": False,
    }


@pytest.mark.parametrize("name", ["biased_by_size", "biased_by_place"])
def test_biased_regimes_ask_for_boxes(name):
    with pytest.raises(TagfillError, match="needs object boxes"):
        make(name).observe(BOTH, 0)
