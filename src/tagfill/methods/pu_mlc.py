"""PU-MLC: variational PU learning for many unbalanced classes.

    loss = sum over classes of L_var + lambda L_mix
    L_var = p_c^gamma log(E_U[sigma(s / tau_c)]) - E_P[log sigma(s / tau_c)]
    p_c = E_U[sigma(s)],  tau_c = min(alpha Std(s_c), 1)

PU-MLC (arXiv 2306.16016), Eq. 8-11; L_mix is that of ``vpu``. U is the whole batch, observed
positives included. Known negatives are discarded, that is, unlabeled: the paper's point;
``use_negatives`` adds E_N[-log(1 - sigma(s / tau_c))] for them (ours). The re-balance factor p_c
and the temperature tau_c carry no gradient. A class without positives in the batch has only its
first term. Where the logits of a class do not vary, as in a batch of one image, tau_c is 1; the
paper would divide by zero.

The paper gives neither alpha nor gamma, only that smaller shares of known labels want a larger
gamma; alpha 1 and gamma 0.55 are the published code's for COCO with 10 % of the labels known, the
preset ``published``; ``voc07`` is that for VOC 2007 with 10 %. Both presets have what else the code
does differently: p_c is made of tempered probabilities (``tempered_factor``), and logarithms have a
floor of 1e-10 (``eps``).

Switches of the paper's ablations: ``gamma`` 0 (no re-balance), ``temperature`` 1 or any fixed value
(no adaptive temperature), ``mixup`` 0, ``positives_in_unlabeled`` off.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tagfill.methods._settings import require_range
from tagfill.methods._variational import Variational
from tagfill.methods.base import Info, Method, Needs

INFO = Info(
    title="Positive and unlabeled multi-label classification (PU-MLC)",
    source="PU-MLC (arXiv 2306.16016), Eq. 8-11",
    needs=Needs(mixup=True),
)


@dataclass(frozen=True)
class Config:
    """Hyper-parameters.

    Args:
        gamma: exponent of the re-balance factor; 0 switches it off.
        temperature: tau, the same for all classes, or "adaptive".
        alpha: of the adaptive temperature.
        mixup: lambda, weight of the consistency of mixed images; 0 switches it off.
        detach_targets: no gradient flows through the targets of mixed images.
        positives_in_unlabeled: observed positives are part of U.
        use_negatives: known negatives have a term of their own.
        tempered_factor: p_c is made of sigma(s / tau_c).
        eps: added inside the logarithms.
    """

    gamma: float = 0.55
    temperature: Literal["adaptive"] | float = "adaptive"
    alpha: float = 1.0
    mixup: float = 1.0
    detach_targets: bool = False
    positives_in_unlabeled: bool = True
    use_negatives: bool = False
    tempered_factor: bool = False
    eps: float = 0.0

    def __post_init__(self) -> None:
        require_range("gamma", self.gamma, 0)
        require_range("alpha", self.alpha, 1e-3)
        require_range("mixup", self.mixup, 0)
        require_range("eps", self.eps, 0, 1)
        if self.temperature != "adaptive":
            require_range("temperature", self.temperature, 1e-3)


PRESETS = {
    "published": Config(gamma=0.55, alpha=1.0, tempered_factor=True, eps=1e-10),
    "voc07": Config(gamma=0.85, alpha=2.0, tempered_factor=True, eps=1e-10),
}


def build(config: Config) -> Method:
    """Make the method."""
    return Variational(
        "pu_mlc",
        mixup=config.mixup,
        temperature=config.temperature,
        alpha=config.alpha,
        gamma=config.gamma,
        tempered_factor=config.tempered_factor,
        detach_targets=config.detach_targets,
        positives_in_unlabeled=config.positives_in_unlabeled,
        use_negatives=config.use_negatives,
        eps=config.eps,
    )
