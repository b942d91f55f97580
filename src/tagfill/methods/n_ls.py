"""Label smoothing of negatives only: another name for ``an_ls_asymmetric`` with eps_p = 0.

Zhou et al. 2022 (EM + APL) compare with it under this name in their Table 1, without giving its
strength.
"""

from __future__ import annotations

from tagfill.methods.an_ls_asymmetric import Config, build
from tagfill.methods.base import Info

INFO = Info(
    title="Label smoothing of negatives (N-LS)",
    source="Zhou et al. 2022 (EM + APL), Table 1; Cole et al. 2021 (MLSPL), supplement A",
    alias_of="an_ls_asymmetric",
)

__all__ = ["INFO", "Config", "build"]
