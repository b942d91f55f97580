"""Kinds of arrays that have one name everywhere."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Numbers = npt.NDArray[np.float32]
"""Inputs and outputs of models."""
Matrix = npt.NDArray[np.floating]
"""[N, D] of any precision."""
Mask = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]
