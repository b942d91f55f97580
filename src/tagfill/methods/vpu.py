"""Variational PU learning: no class prior needed.

    loss = sum over classes of log(E_U[p]) - E_P[log p] + lambda L_mix
    L_mix = mean over mixed images of (log t - log p(mixed image))^2,
            t = w t_1 + (1 - w) t_2, a parent's t being 1 if observed positive and p otherwise

Chen et al. 2020 (vPU); PU-MLC (arXiv 2306.16016), Eq. 6-8, starts from it. E are means over the
batch; U are the cells without an observed positive, known negatives among them, unless
``use_negatives`` adds E_N[-log(1 - p)] for them (ours). A class without positives in the batch has
only its term over U. Chen et al. mix an unlabeled with a positive image; here, as in PU-MLC, the
two halves of the batch are mixed, one weight w ~ Beta(0.3, 0.3) for a step. lambda is 0.03 as in
their code; gradients flow through t, as in both published codes.
"""

from __future__ import annotations

from dataclasses import dataclass

from tagfill.methods._settings import require_range
from tagfill.methods._variational import Variational
from tagfill.methods.base import Info, Method, Needs

INFO = Info(
    title="Variational PU learning (vPU)",
    source="Chen et al. 2020; PU-MLC (arXiv 2306.16016), Eq. 6-8",
    needs=Needs(mixup=True),
)


@dataclass(frozen=True)
class Config:
    """Hyper-parameters.

    Args:
        mixup: lambda, weight of the consistency of mixed images; 0 switches it off.
        detach_targets: no gradient flows through the targets of mixed images.
        positives_in_unlabeled: observed positives are part of U.
        use_negatives: known negatives add E_N[-log(1 - p)].
    """

    mixup: float = 0.03
    detach_targets: bool = False
    positives_in_unlabeled: bool = False
    use_negatives: bool = False

    def __post_init__(self) -> None:
        require_range("mixup", self.mixup, 0)


def build(config: Config) -> Method:
    """Make the method."""
    return Variational(
        "vpu",
        mixup=config.mixup,
        detach_targets=config.detach_targets,
        positives_in_unlabeled=config.positives_in_unlabeled,
        use_negatives=config.use_negatives,
    )
