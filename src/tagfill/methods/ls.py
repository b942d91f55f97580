"""Label smoothing on assume negative: another name for ``an_ls``.

Zhou et al. 2022 (EM + APL) compare with it under this name in their Table 1, without giving its
strength.
"""

from __future__ import annotations

from tagfill.methods.an_ls import PRESETS, Config, build
from tagfill.methods.base import Info

INFO = Info(
    title="Label smoothing (LS)",
    source="Zhou et al. 2022 (EM + APL), Table 1; Cole et al. 2021 (MLSPL), Eq. 9",
    alias_of="an_ls",
)

__all__ = ["INFO", "PRESETS", "Config", "build"]
