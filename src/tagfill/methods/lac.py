"""Label-aware global consistency: embeddings of one tag together, those of different tags apart.

    loss = L_AN + lambda_PLC L_PLC + lambda_LAC L_LAC
    L_LAC = -1/(b q) sum over anchors k, sum over k' of k's class of
            log(exp(z_k z_k' / tau) / sum over t of other classes of exp(z_k z_t / tau))

Xie et al. 2022 (LAC), Eq. 3 and 5-7; the first two losses are those of ``plc``. b images times q
classes give b q label-wise embeddings. The anchors are those of observed positives and of confident
positives, p_w >= delta; they are compared with each other and with the newest ``queue`` past ones.
z is the embedding of the weak view; an anchor is compared with itself in the strong view. Training
has two stages: without L_LAC for the first ``stage_one`` of the epochs, then with it; until then
the projection head has no gradient. For two separate runs, set it to 1 in the first and to 0 in the
second.

Where the paper leaves a choice to validation, the value is the published code's: delta 0.6 and then
0.9, tau 0.5, a queue of 512. The paper's Eq. 7 is undefined for an anchor without an embedding of
another class to compare with; its loss is 0 here. Its sum over k' grows with the queue, so that a
longer queue also means a larger lambda_LAC; ``pairs`` "mean" takes the mean over k' instead. L_PLC
includes observed labels, as in ``plc``, which says why. The pseudo-labels of each image's last
visit are stored for the log.

Switches of the paper's Table 3: ``plc_weight`` 0, ``lac_weight`` 0, ``stage_one`` 0 (end to end),
``queue`` 0; its rows are the presets ``ablation_an``, ``ablation_plc``, ``ablation_end_to_end`` and
``ablation_two_stage``.

The published code differs: means over entries (``normalize`` "entries") as in ``plc``, and for
L_LAC a supervised contrastive loss (``form`` "supcon") over the whole queue, both views, old
entries as anchors too, with all other entries in the denominator and a mean over positives and
anchors. The preset ``published`` is that. Its queue leaves stale entries where a batch does not fit
at the end; this one is a ring.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from tagfill.errors import TagfillError
from tagfill.losses.consistency import (
    confident_labels,
    label_aware_consistency,
    supervised_contrast,
)
from tagfill.methods._settings import Settings, setting
from tagfill.methods._state import Queue
from tagfill.methods.base import Info, LossTerms, Needs, Setup, StagePlan, Step
from tagfill.methods.plc import Normalize, TwoViews

INFO = Info(
    title="Label-aware global consistency (LAC)",
    source="Xie et al. 2022 (LAC), Eq. 2-7",
    needs=Needs(two_views=True, state=True, embeddings=True),
)


@dataclass(frozen=True)
class Config(Settings):
    stage_one: float = setting(
        0.5, "share of the epochs before L_LAC joins; 0 for end-to-end training, 1 for never", 0, 1
    )
    threshold: float = setting(
        0.6, "delta of the first stage, least probability of a pseudo-label", 0.5, 1
    )
    threshold_two: float = setting(0.9, "delta of the second stage", 0.5, 1)
    plc_weight: float = setting(1.0, "lambda of the pseudo-label consistency; 0 switches it off", 0)
    lac_weight: float = setting(1.0, "lambda of the label-aware consistency; 0 switches it off", 0)
    temperature: float = setting(0.5, "tau", 1e-3)
    queue: int = setting(512, "K, past embeddings to compare with; 0 for none", 0)
    form: Literal["equation", "supcon"] = setting(
        "equation", '"equation" for Eq. 7, "supcon" for the published code\'s loss'
    )
    pairs: Literal["sum", "mean"] = setting(
        "sum", '"sum" over the keys of an anchor\'s class as in Eq. 7, or their "mean"'
    )
    normalize: Normalize = setting(
        "images",
        '"images" for sums over classes and means over images, "entries" for means over entries',
    )
    include_observed: bool = setting(
        True, "the strong view learns observed labels too; Eq. 4 is without"
    )


PRESETS = {
    "published": Config(form="supcon", normalize="entries"),
    "ablation_an": Config(plc_weight=0.0, lac_weight=0.0),
    "ablation_plc": Config(lac_weight=0.0),
    "ablation_end_to_end": Config(stage_one=0.0, queue=0),
    "ablation_two_stage": Config(queue=0),
}


class LabelAwareConsistency(TwoViews):
    """Pseudo-label consistency, and a contrast with the newest embeddings of positives."""

    name = "lac"
    kept = ("labels", "memory")
    config: Config

    def __init__(self, config: Config) -> None:
        self.config = config
        self.contrasts = config.lac_weight > 0 and config.stage_one < 1
        two_views = config.plc_weight > 0 or self.contrasts
        self.needs = Needs(two_views=two_views, state=two_views, embeddings=self.contrasts)

    def start(self, setup: Setup) -> None:
        super().start(setup)
        self.first_epochs = round(self.config.stage_one * setup.epochs)
        self.memory = Queue(self.config.queue if self.contrasts else 0, setup.device)

    def loss(self, step: Step) -> LossTerms:
        """Three terms; the third is 0 in the first stage."""
        config, terms = self.config, {"an": self.assumed(step.output, step)}
        if config.plc_weight:
            terms["plc"] = config.plc_weight * self.consistency(step, self._threshold(step))
        if self.contrasts:
            terms["lac"] = config.lac_weight * self._contrast(step)
        return terms

    def after_step(self, step: Step) -> None:
        """Remember the batch's positive embeddings and pseudo-labels."""
        if self.needs.two_views:
            self.remember(step, self._threshold(step))
        if self._in_stage_two(step):
            self.memory.push(*self._positive_embeddings(step))

    def pseudo_labels(self) -> Tensor | None:
        """Confident predictions at the last visit of each image."""
        return self.labels if self.needs.two_views else None

    def _in_stage_two(self, step: Step) -> bool:
        return self.contrasts and step.epoch > self.first_epochs

    def _threshold(self, step: Step) -> float:
        stage_two = self._in_stage_two(step)
        return self.config.threshold_two if stage_two else self.config.threshold

    def _positive_embeddings(self, step: Step) -> tuple[Tensor, Tensor]:
        """[n, 2, E] weak and strong embeddings of positive entries, and their classes [n]."""
        weak, strong = step.output.embeddings, self.strong(step).embeddings
        if weak is None or strong is None:
            raise TagfillError(
                "lac needs label-wise embeddings, which this head does not give",
                remedy="use the `lem` head",
            )
        sure = confident_labels(step.output.logits, step.observed, threshold=self._threshold(step))
        image, label = torch.nonzero((sure == 1) | (step.observed == 1), as_tuple=True)
        return torch.stack([weak[image, label], strong[image, label]], dim=1), label

    def _contrast(self, step: Step) -> Tensor:
        """L_LAC; without anything to contrast, a 0 that depends on the embeddings.

        Parameters without any gradient in a step would keep several processes waiting.
        """
        entries, classes = self._positive_embeddings(step)
        if not len(entries) or not self._in_stage_two(step):
            assert step.output.embeddings is not None
            return step.output.embeddings.sum() * 0
        if self.config.form == "equation":
            terms = self._by_equation(entries, classes)
            return terms.sum() / step.observed.numel()
        return self._by_published_code(entries, classes).mean()

    def _by_equation(self, entries: Tensor, classes: Tensor) -> Tensor:
        """[n] terms of the batch's embeddings against each other and the queue."""
        weak, strong = entries.unbind(dim=1)
        itself = torch.eye(len(weak), dtype=torch.bool, device=weak.device)
        products = torch.where(itself, (weak * strong).sum(dim=1, keepdim=True), weak @ weak.T)
        past, past_classes = self.memory.held()
        if len(past):
            products = torch.cat([products, weak @ past[:, 0].to(weak).T], dim=1)
        return label_aware_consistency(
            products / self.config.temperature,
            classes,
            torch.cat([classes, past_classes]),
            mean=self.config.pairs == "mean",
        )

    def _by_published_code(self, entries: Tensor, classes: Tensor) -> Tensor:
        """Terms of all that the queue holds once the batch is in it, two per entry."""
        if self.config.queue:
            entries, classes = entries[-self.config.queue :], classes[-self.config.queue :]
        past, past_classes = self.memory.held(incoming=len(entries))
        if len(past):
            entries = torch.cat([entries, past.to(entries)])
        classes = torch.cat([classes, past_classes]).repeat_interleave(2)
        flat = entries.flatten(0, 1)
        return supervised_contrast(flat @ flat.T / self.config.temperature, classes)


def stages(config: Config) -> tuple[StagePlan, StagePlan]:
    """The paper's schedule: ``plc`` first, then all three losses from the first epoch on."""
    first = {
        "threshold": config.threshold,
        "weight": config.plc_weight,
        "normalize": config.normalize,
        "include_observed": config.include_observed,
    }
    return StagePlan("plc", first), StagePlan("lac", {"stage_one": 0.0})


build = LabelAwareConsistency
