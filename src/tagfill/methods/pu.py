"""PU learning: from positives and unlabeled entries, with a class prior or without one."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import partial
from typing import Literal

import torch
from torch import Tensor

from tagfill.losses.pu import (
    Surrogate,
    adaptive_temperature,
    known_negative_risk,
    mixup_consistency,
    non_negative_risk,
    unbiased_risk,
    variational_risk,
)
from tagfill.methods._settings import Settings, resolve_prior, setting
from tagfill.methods.base import LossTerms, Method, Mixed, NamedMethod, Needs, Setup, Step

RISK = """\
PU learning with a class prior: the risk over negatives, from positives and unlabeled entries.

    upu:  loss = sum over classes of pi E_P[l+] + r
    nnpu: loss = sum over classes of pi E_P[l+] + max(-beta, r)
    r = E_U[l-] - pi E_P[l-]

Du Plessis et al. 2015 (uPU), which PU-MLC (arXiv 2306.16016) sets beside its own loss in Eq. 5, and
Kiryo et al. 2017 (nnPU), Eq. 6 and Algorithm 1. pi is the share of positives of the class, E are
means over the batch, l+ = -log p and l- = -log(1 - p). As in PU-MLC, U is the whole batch, observed
positives included, and known negatives are only unlabeled entries, unless ``use_negatives`` adds
(1 - pi) E_N[l-] for them (ours). A class without positives in the batch has only its term over U.

r estimates a risk and cannot truly be negative, but a deep network overfits until its estimate is.
``nnpu`` is the remedy: where r falls below -beta, the gradient is that of -gamma r alone, which
raises it again; here every class is treated by itself. Its published code takes l+ = 1 - p and
l- = p, and a U without the positives; the preset ``published`` does.
"""


@dataclass(frozen=True)
class UnbiasedConfig(Settings):
    prior: Literal["auto"] | float | tuple[float, ...] = setting(
        "auto",
        'pi, one number for all classes or one per class separated by commas; "auto" estimates it '
        "from the observed labels",
    )
    surrogate: Surrogate = setting(
        "logistic", '"logistic" for cross-entropy, "sigmoid" for l+ = 1 - p and l- = p'
    )
    positives_in_unlabeled: bool = setting(True, "observed positives are part of U")
    use_negatives: bool = setting(False, "known negatives add (1 - pi) E_N[l-], with cross-entropy")


@dataclass(frozen=True)
class NonNegativeConfig(UnbiasedConfig):
    beta: float = setting(0.0, "how far r may fall below zero", 0)
    gamma: float = setting(1.0, "how strongly to step back in that case; 0 for not at all", 0, 1)


class PuRisk(Method):
    """Risk of positive and unlabeled entries, with a class prior."""

    def __init__(self, name: str, config: UnbiasedConfig) -> None:
        self.name, self.config = name, config
        self.needs = Needs(class_prior=config.prior == "auto")
        bounded = isinstance(config, NonNegativeConfig)
        self.risk = config.given_to(non_negative_risk if bounded else unbiased_risk)

    def start(self, setup: Setup) -> None:
        super().start(setup)
        self.prior = resolve_prior(self.config.prior, setup, self.name)

    def loss(self, step: Step) -> LossTerms:
        """The sum over classes, and that of known negatives."""
        logits, observed = step.output.logits, step.observed
        terms = {self.name: self.risk(logits, observed, prior=self.prior).sum()}
        if self.config.use_negatives:
            known = known_negative_risk(logits, observed)
            terms["negatives"] = ((1 - self.prior) * known).sum()
        return terms


@dataclass(frozen=True)
class VpuConfig(Settings):
    mixup: float = setting(
        0.03, "lambda, weight of the consistency of mixed images; 0 switches it off", 0
    )
    detach_targets: bool = setting(False, "no gradient flows through the targets of mixed images")
    positives_in_unlabeled: bool = setting(False, "observed positives are part of U")
    use_negatives: bool = setting(False, "known negatives add E_N[-log(1 - p)]")


@dataclass(frozen=True)
class PuMlcConfig(Settings):
    gamma: float = setting(0.55, "exponent of the re-balance factor; 0 switches it off", 0)
    temperature: Literal["adaptive"] | float = setting(
        "adaptive", 'tau, the same for all classes, or "adaptive"', 1e-3
    )
    alpha: float = setting(1.0, "of the adaptive temperature", 1e-3)
    mixup: float = setting(
        1.0, "lambda, weight of the consistency of mixed images; 0 switches it off", 0
    )
    detach_targets: bool = setting(False, "no gradient flows through the targets of mixed images")
    positives_in_unlabeled: bool = setting(True, "observed positives are part of U")
    use_negatives: bool = setting(False, "known negatives have a term of their own")
    tempered_factor: bool = setting(False, "p_c is computed from sigma(s / tau_c)")
    eps: float = setting(0.0, "added inside the logarithms", 0, 1)
    shares: int = setting(
        1,
        "into how many equal shares the batch is divided, each with expectations and temperatures "
        "of its own; the published code has one share a GPU, on two",
        1,
    )


class Variational(Method):
    """Sums over classes of the variational risk and of the consistency of mixed images."""

    def __init__(self, name: str, config: PuMlcConfig) -> None:
        self.name, self.config = name, config
        self.needs = Needs(mixup=config.mixup > 0)
        self.risk = config.given_to(variational_risk)

    def loss(self, step: Step) -> LossTerms:
        """The risk, and the optional terms."""
        logits, observed = step.output.logits, step.observed
        shares = self.config.shares
        risks = [
            self._risks(*part)
            for part in zip(logits.chunk(shares), observed.chunk(shares), strict=True)
        ]
        terms = {name: torch.stack([risk[name] for risk in risks]).mean() for name in risks[0]}
        if self.config.mixup and step.mixed is not None:
            terms["mixup"] = self.config.mixup * self._consistency(step.mixed, logits, observed)
        return terms

    def _risks(self, logits: Tensor, observed: Tensor) -> LossTerms:
        """The risk, and that of known negatives, of images that share their expectations."""
        temperature = self._temperature(logits)
        terms = {self.name: self.risk(logits, observed, temperature=temperature).sum()}
        if self.config.use_negatives:
            terms["negatives"] = known_negative_risk(logits / temperature, observed).sum()
        return terms

    def _temperature(self, logits: Tensor) -> Tensor | float:
        if self.config.temperature == "adaptive":
            return adaptive_temperature(logits, self.config.alpha)
        return float(self.config.temperature)

    def _consistency(self, mixed: Mixed, logits: Tensor, observed: Tensor) -> Tensor:
        terms = mixup_consistency(
            mixed.output.logits,
            logits,
            observed,
            mixed.first,
            mixed.second,
            mixed.weight,
            detach=self.config.detach_targets,
            eps=self.config.eps,
        )
        return terms.mean(dim=0).sum()


def _vpu(config: VpuConfig) -> Method:
    return Variational("vpu", PuMlcConfig(gamma=0.0, temperature=1.0, **asdict(config)))


METHODS = {
    "upu": NamedMethod(
        "Unbiased PU learning (uPU)",
        "Du Plessis et al. 2015; PU-MLC (arXiv 2306.16016), Eq. 5",
        UnbiasedConfig,
        partial(PuRisk, "upu"),
        needs=Needs(class_prior=True),
        text=RISK,
    ),
    "nnpu": NamedMethod(
        "Non-negative PU learning (nnPU)",
        "Kiryo et al. 2017, Eq. 6, Algorithm 1",
        NonNegativeConfig,
        partial(PuRisk, "nnpu"),
        needs=Needs(class_prior=True),
        presets={"published": NonNegativeConfig(surrogate="sigmoid", positives_in_unlabeled=False)},
        text=RISK,
    ),
    "vpu": NamedMethod(
        "Variational PU learning (vPU)",
        "Chen et al. 2020; PU-MLC (arXiv 2306.16016), Eq. 6-8",
        VpuConfig,
        _vpu,
        needs=Needs(mixup=True),
        text="""Variational PU learning: no class prior needed.

    loss = sum over classes of log(E_U[p]) - E_P[log p] + lambda L_mix
    L_mix = mean over mixed images of (log t - log p(mixed image))^2,
            t = w t_1 + (1 - w) t_2, a parent's t being 1 if observed positive and p otherwise

Chen et al. 2020 (vPU); PU-MLC (arXiv 2306.16016), Eq. 6-8, starts from it. E are means over the
batch; U are the entries without an observed positive, known negatives among them, unless
``use_negatives`` adds E_N[-log(1 - p)] for them (ours). A class without positives in the batch has
only its term over U. Chen et al. mix an unlabeled with a positive image; here, as in PU-MLC, the
two halves of the batch are mixed, one weight w ~ Beta(0.3, 0.3) for a step. lambda is 0.03 as in
their code; gradients flow through t, as in both published codes.""",
    ),
    "pu_mlc": NamedMethod(
        "Positive and unlabeled multi-label classification (PU-MLC)",
        "PU-MLC (arXiv 2306.16016), Eq. 8-11",
        PuMlcConfig,
        partial(Variational, "pu_mlc"),
        needs=Needs(mixup=True),
        presets={
            "published": PuMlcConfig(gamma=0.55, alpha=1.0, tempered_factor=True, eps=1e-10),
            "voc07": PuMlcConfig(gamma=0.85, alpha=2.0, tempered_factor=True, eps=1e-10),
        },
        text="""PU-MLC: variational PU learning for many unbalanced classes.

    loss = sum over classes of L_var + lambda L_mix
    L_var = p_c^gamma log(E_U[sigma(s / tau_c)]) - E_P[log sigma(s / tau_c)]
    p_c = E_U[sigma(s)],  tau_c = min(alpha Std(s_c), 1)

PU-MLC (arXiv 2306.16016), Eq. 8-11; L_mix is that of ``vpu``. U is the whole batch, observed
positives included. Known negatives are discarded, that is, unlabeled: the paper's point;
``use_negatives`` adds E_N[-log(1 - sigma(s / tau_c))] for them (ours). The re-balance factor p_c
and the temperature tau_c carry no gradient. A class without positives in the batch has only its
first term. Where the logits of a class do not vary, as in a batch of one image, tau_c is 1; the
paper would divide by zero.

The paper gives neither alpha nor gamma, only that smaller shares of known labels need a larger
gamma; alpha 1 and gamma 0.55 are the published code's for COCO with 10 % of the labels known, the
preset ``published``; ``voc07`` is that for VOC 2007 with 10 %. On linear heads of VOC 2012 gamma
0.85 was best with 10 and 20 % of the labels known, 0.55 with 30 and 40 %, 0.25 with more. Both
presets have what else the code does differently: p_c uses tempered probabilities
(``tempered_factor``; Sec. III-C, which feeds s / tau_c into the whole loss, can be read so), and
logarithms have a floor of 1e-10 (``eps``).

Switches of the paper's ablations: ``gamma`` 0 (no re-balance), ``temperature`` 1 or any fixed value
(no adaptive temperature), ``mixup`` 0, ``positives_in_unlabeled`` off.""",
    ),
}
