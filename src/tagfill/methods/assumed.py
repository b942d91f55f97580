"""Variants of assume negative: less weight on assumptions, smoothed targets, small weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from torch import Tensor

from tagfill.losses.assume import assume_negative, assume_negative_smoothed, weak_negative
from tagfill.methods._settings import Settings, setting
from tagfill.methods.base import (
    ElementwiseMethod,
    LossTerms,
    Method,
    NamedMethod,
    Step,
    elementwise,
)


@dataclass(frozen=True)
class WanConfig(Settings):
    gamma: float | Literal["auto"] = setting(
        "auto", 'weight of an assumed negative; "auto" is 1 / (K - 1)', 0, 1
    )


@dataclass(frozen=True)
class DwConfig(Settings):
    w: float = setting(0.1, "weight of an assumed negative", 0, 1)


def _weak(name: str, weight: float | str) -> Method:
    gamma = None if isinstance(weight, str) else weight
    return ElementwiseMethod(name, partial(weak_negative, gamma=gamma))


PENALIZED = """\
Assume negative with a penalty on the weights of the classification head.

    loss = mean over images and classes of (-[z=1] log p - [z!=1] log(1 - p)) + weight x penalty,
    penalty = sum of |w| (``l1r``) or of w^2 (``l2r``)

Compared in Zhou et al. 2022 (EM + APL), Table 1 ("L1R", "L2R"), whose code for it is not published.
Which weights are penalized and how much is not said there: the head's, and 1e-5 and 1e-4, are ours.
"""


@dataclass(frozen=True)
class L1Config(Settings):
    weight: float = setting(1e-5, "of the penalty; ours", 0)


@dataclass(frozen=True)
class L2Config(L1Config):
    weight: float = setting(1e-4, "of the penalty; ours")


class Penalized(Method):
    """Assume negative, and small weights."""

    def __init__(self, name: str, norm: Callable[[Tensor], Tensor], weight: float) -> None:
        self.name, self.norm, self.weight = name, norm, weight

    def loss(self, step: Step) -> LossTerms:
        """The mean over all entries, and the penalty."""
        terms = assume_negative(step.output.logits, step.observed)
        penalty = sum((self.norm(matrix) for matrix in step.weights), start=terms.new_zeros(()))
        return {"an": terms.mean(), "penalty": self.weight * penalty}


def _l1(config: L1Config) -> Method:
    return Penalized("l1r", lambda matrix: matrix.abs().sum(), config.weight)


def _l2(config: L2Config) -> Method:
    return Penalized("l2r", lambda matrix: matrix.square().sum(), config.weight)


@dataclass(frozen=True)
class SmoothingConfig(Settings):
    eps: float = setting(0.1, "smoothing; the targets are 1 - eps / 2 and eps / 2", 0, 1)


@dataclass(frozen=True)
class AsymmetricConfig(Settings):
    eps_p: float = setting(0.0, "smoothing of positives; their target is 1 - eps_p / 2", 0, 1)
    eps_n: float = setting(0.1, "smoothing of negatives; their target is eps_n / 2", 0, 1)


PUBLISHED = {"published": SmoothingConfig(eps=0.2)}


def _smoothed(logits: Tensor, observed: Tensor, *, eps: float) -> Tensor:
    return assume_negative_smoothed(logits, observed, eps_p=eps, eps_n=eps)


_an_ls = elementwise("an_ls", _smoothed)
_an_ls_asymmetric = elementwise("an_ls_asymmetric", assume_negative_smoothed)


METHODS = {
    "wan": NamedMethod(
        "Weak assume negative (WAN)",
        "Cole et al. 2021 (MLSPL), Sec. 5.1",
        WanConfig,
        lambda config: _weak("wan", config.gamma),
        text="""Weak assume negative: unknown tags are negatives of little weight.

    loss = mean over images and classes of
           -[z=1] log p - [z=0] log(1 - p) - gamma [z unknown] log(1 - p)

Cole et al. 2021 (MLSPL), Sec. 5.1, with gamma = 1 / (K - 1): all assumed negatives of an image
weigh together as much as its single positive. The published code computes the same. The paper has
no known negatives; here they keep their full weight, since only assumptions deserve doubt.""",
    ),
    "dw": NamedMethod(
        "Down-weighted negatives (DW)",
        "Zhou et al. 2022 (EM + APL), Table 1",
        DwConfig,
        lambda config: _weak("dw", config.w),
        text="""Down-weighting: assume negative with a fixed smaller weight on what is only assumed.

    loss = mean over images and classes of
           -[z=1] log p - [z=0] log(1 - p) - w [z unknown] log(1 - p)

Zhou et al. 2022 (EM + APL), Table 1 ("DW"): the negative term of their Eq. 1 down-weighted. Neither
the paper nor its code gives w. Ours is the best of 0.05, 0.1, 0.2 and 0.5 on the validation part of
VOC 2012 with single positives and a linear classifier: 84.4, 84.6, 84.5, 84.1 mAP, one run each.
Known negatives keep their full weight. ``wan`` is the same with w = 1 / (K - 1).""",
    ),
    "an_ls": NamedMethod(
        "Assume negative with label smoothing (AN-LS)",
        "Cole et al. 2021 (MLSPL), Eq. 9",
        SmoothingConfig,
        _an_ls,
        presets=PUBLISHED,
        text="""Assume negative with label smoothing: no target is quite 0 or 1.

    loss = mean over images and classes of -t log p - (1 - t) log(1 - p),
    t = 1 - eps / 2 where z=1, else eps / 2

Cole et al. 2021 (MLSPL), Eq. 9, with eps = 0.1. Known negatives are smoothed like assumed ones.

Published code: smooths by 0.1 where the equation has eps / 2 = 0.05, twice as much; the preset
``published`` has eps = 0.2, which is the same.""",
    ),
    "an_ls_asymmetric": NamedMethod(
        "Assume negative with asymmetric label smoothing",
        "Cole et al. 2021 (MLSPL), supplement A, AN-LS(eps_p, eps_n)",
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
        "Label smoothing (LS)",
        "Zhou et al. 2022 (EM + APL), Table 1; Cole et al. 2021 (MLSPL), Eq. 9",
        SmoothingConfig,
        _an_ls,
        alias_of="an_ls",
        presets=PUBLISHED,
        text="""Label smoothing on assume negative: another name for ``an_ls``.

Zhou et al. 2022 (EM + APL) compare with it under this name in their Table 1, without giving its
strength.""",
    ),
    "n_ls": NamedMethod(
        "Label smoothing of negatives (N-LS)",
        "Zhou et al. 2022 (EM + APL), Table 1; Cole et al. 2021 (MLSPL), supplement A",
        AsymmetricConfig,
        _an_ls_asymmetric,
        alias_of="an_ls_asymmetric",
        text="""Label smoothing of negatives: another name for ``an_ls_asymmetric`` with eps_p = 0.

Zhou et al. 2022 (EM + APL) compare with it under this name in their Table 1, without giving its
strength.""",
    ),
    "l1r": NamedMethod(
        "Assume negative with l1 regularization",
        "Zhou et al. 2022 (EM + APL), Table 1",
        L1Config,
        _l1,
        text=PENALIZED,
    ),
    "l2r": NamedMethod(
        "Assume negative with l2 regularization",
        "Zhou et al. 2022 (EM + APL), Table 1",
        L2Config,
        _l2,
        text=PENALIZED,
    ),
}
