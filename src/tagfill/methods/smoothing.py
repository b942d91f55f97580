"""Label smoothing: no target is quite 0 or 1.

loss = mean over images and classes of -t log p - (1 - t) log(1 - p),
t = 1 - eps_p / 2 for a positive, else eps_n / 2
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from tagfill.losses.assume import assume_negative_smoothed
from tagfill.methods._settings import Settings, setting
from tagfill.methods.base import Info, NamedMethod, elementwise


@dataclass(frozen=True)
class Config(Settings):
    eps: float = setting(0.1, "smoothing; the targets are 1 - eps / 2 and eps / 2", 0, 1)


@dataclass(frozen=True)
class AsymmetricConfig(Settings):
    eps_p: float = setting(0.0, "smoothing of positives; their target is 1 - eps_p / 2", 0, 1)
    eps_n: float = setting(0.1, "smoothing of negatives; their target is eps_n / 2", 0, 1)


PUBLISHED = {"published": Config(eps=0.2)}


def _smoothed(logits: Tensor, observed: Tensor, *, eps: float) -> Tensor:
    return assume_negative_smoothed(logits, observed, eps_p=eps, eps_n=eps)


_an_ls = elementwise("an_ls", _smoothed)
_an_ls_asymmetric = elementwise("an_ls_asymmetric", assume_negative_smoothed)

METHODS = {
    "an_ls": NamedMethod(
        Info(
            title="Assume negative with label smoothing (AN-LS)",
            source="Cole et al. 2021 (MLSPL), Eq. 9",
        ),
        Config,
        _an_ls,
        PUBLISHED,
        """Assume negative with label smoothing: no target is quite 0 or 1.

    loss = mean over images and classes of -t log p - (1 - t) log(1 - p),
    t = 1 - eps / 2 where z=1, else eps / 2

Cole et al. 2021 (MLSPL), Eq. 9, with eps = 0.1. Known negatives are smoothed like assumed ones.

Published code: smooths by 0.1 where the equation has eps / 2 = 0.05, twice as much; the preset
``published`` has eps = 0.2, which is the same.""",
    ),
    "an_ls_asymmetric": NamedMethod(
        Info(
            title="Assume negative with asymmetric label smoothing",
            source="Cole et al. 2021 (MLSPL), supplement A, AN-LS(eps_p, eps_n)",
        ),
        AsymmetricConfig,
        _an_ls_asymmetric,
        text="""Assume negative with label smoothing of its own for positives and for negatives.

    loss = mean over images and classes of -t log p - (1 - t) log(1 - p),
    t = 1 - eps_p / 2 where z=1, else eps_n / 2

Cole et al. 2021 (MLSPL), supplement A, whose experiments use (0, 0.1): written positives are
trusted, assumed negatives are not. Known negatives are smoothed like assumed ones. The published
code has no such loss.""",
    ),
    "ls": NamedMethod(
        Info(
            title="Label smoothing (LS)",
            source="Zhou et al. 2022 (EM + APL), Table 1; Cole et al. 2021 (MLSPL), Eq. 9",
            alias_of="an_ls",
        ),
        Config,
        _an_ls,
        PUBLISHED,
        """Label smoothing on assume negative: another name for ``an_ls``.

Zhou et al. 2022 (EM + APL) compare with it under this name in their Table 1, without giving its
strength.""",
    ),
    "n_ls": NamedMethod(
        Info(
            title="Label smoothing of negatives (N-LS)",
            source="Zhou et al. 2022 (EM + APL), Table 1; Cole et al. 2021 (MLSPL), supplement A",
            alias_of="an_ls_asymmetric",
        ),
        AsymmetricConfig,
        _an_ls_asymmetric,
        text="""Label smoothing of negatives: another name for ``an_ls_asymmetric`` with eps_p = 0.

Zhou et al. 2022 (EM + APL) compare with it under this name in their Table 1, without giving its
strength.""",
    ),
}
