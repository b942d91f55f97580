"""Label smoothing: no target is quite 0 or 1.

loss = mean over images and classes of -t log p - (1 - t) log(1 - p),
t = 1 - eps_p / 2 for a positive, else eps_n / 2
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from tagfill.losses.assume import assume_negative_smoothed, ignore_unknown_smoothed
from tagfill.methods._settings import require_range
from tagfill.methods.base import ElementwiseMethod, Info, Method, NamedMethod, Needs
from tagfill.methods.bce import Oracle


@dataclass(frozen=True)
class Config:
    """Hyper-parameters.

    Args:
        eps: smoothing; the targets are 1 - eps / 2 and eps / 2.
    """

    eps: float = 0.1

    def __post_init__(self) -> None:
        require_range("eps", self.eps, 0, 1)


@dataclass(frozen=True)
class AsymmetricConfig:
    """Hyper-parameters.

    Args:
        eps_p: smoothing of positives; their target is 1 - eps_p / 2.
        eps_n: smoothing of negatives; their target is eps_n / 2.
    """

    eps_p: float = 0.0
    eps_n: float = 0.1

    def __post_init__(self) -> None:
        require_range("eps_p", self.eps_p, 0, 1)
        require_range("eps_n", self.eps_n, 0, 1)


PUBLISHED = {"published": Config(eps=0.2)}


def _assuming(eps_p: float, eps_n: float, name: str) -> Method:
    return ElementwiseMethod(name, partial(assume_negative_smoothed, eps_p=eps_p, eps_n=eps_n))


def _an_ls(config: Config) -> Method:
    return _assuming(config.eps, config.eps, "an_ls")


def _an_ls_asymmetric(config: AsymmetricConfig) -> Method:
    return _assuming(config.eps_p, config.eps_n, "an_ls_asymmetric")


def _bce_ls(config: Config) -> Method:
    return Oracle("bce_ls", partial(ignore_unknown_smoothed, eps=config.eps))


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
    "bce_ls": NamedMethod(
        Info(
            title="Binary cross-entropy with label smoothing (oracle where labels are masked)",
            source="Cole et al. 2021 (MLSPL), Table 1",
            needs=Needs(truth=True, negatives=True),
        ),
        Config,
        _bce_ls,
        PUBLISHED,
        """Binary cross-entropy with label smoothing on the full labels.

    loss = mean over images and classes of -t log p - (1 - t) log(1 - p),
    t = 1 - eps / 2 where y=1, eps / 2 where y=0

Cole et al. 2021 (MLSPL), Table 1 ("BCE-LS"), with eps = 0.1 as in their Eq. 9. An oracle where
labels were masked; otherwise as ``bce`` says.

Published code: smooths by 0.1 where the equation has eps / 2 = 0.05; the preset ``published`` has
eps = 0.2, which is the same.""",
    ),
}
