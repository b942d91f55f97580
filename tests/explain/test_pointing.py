"""The pointing game: boxes, chance, center and metrics."""

from __future__ import annotations

import numpy as np
import pytest

from tagfill.explain.draw import peak
from tagfill.explain.pointing import cases_of, covered, inside, play
from tagfill.labels import Boxes


def test_a_point_is_inside_any_of_the_boxes() -> None:
    boxes = np.array([[0.1, 0.1, 0.2, 0.2], [0.5, 0.5, 0.5, 0.1]])
    assert inside((0.2, 0.3), boxes)
    assert inside((0.9, 0.55), boxes)
    assert not inside((0.2, 0.55), boxes)


def test_the_edge_of_a_box_belongs_to_it() -> None:
    boxes = np.array([[0.25, 0.5, 0.25, 0.25]])
    assert all(inside((x, y), boxes) for x in (0.25, 0.5) for y in (0.5, 0.75))
    assert covered(np.array([[0.0, 0.0, 1.0, 1.0]])) == 1


def test_overlapping_boxes_are_covered_once() -> None:
    left_half = [0.0, 0.0, 0.5, 1.0]
    assert covered(np.array([left_half])) == pytest.approx(0.5)
    assert covered(np.array([left_half, left_half])) == pytest.approx(0.5)
    assert covered(np.array([left_half, [0.25, 0.0, 0.5, 1.0]])) == pytest.approx(0.75)


def test_the_peak_is_at_the_hottest_cell() -> None:
    heat = np.zeros((7, 5), dtype=np.float32)
    heat[1, 3] = 1.0
    x, y = peak(heat)
    assert (x, y) == pytest.approx((3.5 / 5, 1.5 / 7), abs=0.02)


def test_cases_are_the_classes_with_boxes() -> None:
    boxes = Boxes(np.array([0, 0, 1, 0]), np.array([2, 1, 1, 2]), np.arange(16.0).reshape(4, 4))
    boxes_by_class = {label: len(places) for label, places in cases_of(boxes, 0)}
    assert boxes_by_class == {1: 1, 2: 2}


def test_metrics_are_means_over_cases_and_over_classes() -> None:
    middle, corner = np.array([[0.4, 0.4, 0.2, 0.2]]), np.array([[0.0, 0.0, 0.5, 0.5]])
    cases = [
        (0, (0.5, 0.5), middle),
        (0, (0.1, 0.1), middle),
        (0, (0.9, 0.9), corner),
        (0, (0.9, 0.9), corner),
        (1, (0.1, 0.1), corner),
    ]
    result = play(cases, ("cat", "dog"))
    assert result is not None
    assert (result.classes["cat"].accuracy, result.classes["cat"].cases) == (0.25, 4)
    assert result.classes["dog"].accuracy == 1
    assert result.mean.accuracy == pytest.approx(0.625)
    assert result.overall.accuracy == pytest.approx(0.4)
    assert result.classes["dog"].chance == pytest.approx(0.25)
    assert result.classes["cat"].center == pytest.approx(1.0)
