"""The learner with fewer choices, for tests of what is around it.

The default head tries writers, transforms and strengths in five folds: more than a hundred fits,
seconds even for a dozen images. Here it keeps the first strength and has two folds. Modules ask for
it with ``pytestmark = pytest.mark.usefixtures("quick_choices")``; tests of the learner do not.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def quick_choices() -> Iterator[None]:
    """Within the block, the default head has one strength and two folds."""
    from tagfill.linear import choice, choose

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(choose, "STRENGTHS", (choice.FIRST, choice.FIRST))
        patch.setattr(choose, "FOLDS", (2, 2))
        yield
