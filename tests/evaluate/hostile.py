"""Score and label matrices as hostile as users' own: ties everywhere, holes, empty classes."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

shapes = st.tuples(st.integers(1, 30), st.integers(1, 6))


@st.composite
def matrices(draw, *, unknown: bool = True, levels: int = 5):
    """(scores [N, K] with few distinct values, labels [N, K])."""
    shape = draw(shapes)
    tied = hnp.arrays(np.float64, shape, elements=st.integers(0, levels).map(lambda v: v / levels))
    fine = hnp.arrays(np.float64, shape, elements=st.floats(-50, 50, width=32))
    scores = draw(st.one_of(tied, fine))
    codes = (-1, 0, 1) if unknown else (0, 1)
    labels = draw(hnp.arrays(np.int8, shape, elements=st.sampled_from(codes)))
    return scores, labels
