"""Assume negative: every unknown tag counts as absent.

    loss = mean over images and classes of -[z=1] log p - [z!=1] log(1 - p)

Cole et al. 2021 (MLSPL), Eq. 8. The baseline every other method is measured against. The published
code computes the same. Known negatives are negatives like the assumed ones.
"""

from __future__ import annotations

from tagfill.losses.assume import assume_negative
from tagfill.methods._settings import Settings
from tagfill.methods.base import Info, elementwise

INFO = Info(title="Assume negative (AN)", source="Cole et al. 2021 (MLSPL), Eq. 8")
Config = Settings
build = elementwise("an", assume_negative)
