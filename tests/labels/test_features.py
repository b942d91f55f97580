"""Feature files given with the labels."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tagfill.errors import TagfillError
from tagfill.labels.dataset import load_features


def test_the_file_and_row_of_a_number_that_is_not_finite_are_named(tmp_path: Path) -> None:
    files = [tmp_path / "train.npy", tmp_path / "val.npy"]
    images = [f"{number}.jpg" for number in range(5)]
    np.save(files[0], np.zeros((3, 2)))
    np.save(files[1], [[0, 0], [0, np.inf]])
    with pytest.raises(TagfillError, match=r"first: '4\.jpg'") as refused:
        load_features(files, images)
    assert (refused.value.file, refused.value.row) == (files[1], 1)
