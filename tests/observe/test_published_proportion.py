from __future__ import annotations

import numpy as np
import pytest

from tagfill.errors import TagfillError
from tagfill.observe import make
from tagfill.observe.partial import known_proportion


def test_published_draw_is_that_of_numpys_old_generator() -> None:
    truth = np.random.default_rng(3).integers(0, 2, (40, 7)).astype(np.int8)
    np.random.seed(0)
    kept = np.random.random(truth.shape) < 0.3
    observed = known_proportion(truth, 0, proportion=0.3, published=True)
    assert np.array_equal(observed, np.where(kept, truth, -1))
    assert not np.array_equal(observed, known_proportion(truth, 0, proportion=0.3))
    regime = make("known_proportion", {"proportion": 0.3, "published": True})
    assert np.array_equal(regime.observe(truth, 0), observed)


def test_published_draw_is_not_made_image_by_image() -> None:
    with pytest.raises(TagfillError, match="not made per image"):
        known_proportion(
            np.ones((2, 2), np.int8), 0, proportion=0.5, per_image=True, published=True
        )
