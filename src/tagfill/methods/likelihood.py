"""Likelihood of written tags: how the labels came to be, and what is most likely given that.

    P(labels | x) = prod_{yes} p * prod_{no} (1 - p) * E_t[ prod_{unknown} (1 - p + p t) ]
    loss = -log P(labels | x) + smoothing (softplus(g) + softplus(-g)), mean over images and classes

t is the probability that a present tag stays unwritten. If any n of the present tags were written,
all choices equally likely, t has the density n (1 - t)^(n - 1) (writer "some"); if each was written
with chance c, t = 1 - c (writer "each"); share 0 means that entries are known at random, share 1
that unknown tags are absent. An unknown entry is smoothed in proportion to its information.

A linear head on fixed features is solved directly: full-batch L-BFGS with an L2 penalty. Writer,
strength of the penalty, and whether features are taken as they are, as signed square roots or
standardized are those with the best cross-validated likelihood of the observed labels, so that no
truth, no epochs and no learning rate are needed. Photos are scored as a whole and in 3 x 3 regions,
g = (g_whole + max g_region) / 2, and the head is refined for that. In the training loop
(fine-tuning, other heads) the writer is the most likely one given how often each tag was written.
This project's own; docs/learner.md derives it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np
import torch
from torch import Tensor

from tagfill.linear.basis import Transform
from tagfill.linear.choice import SMOOTHING, Choice, candidates
from tagfill.linear.choose import Chooser
from tagfill.linear.fit import fit_head
from tagfill.linear.problem import LinearProblem, LinearWeights
from tagfill.linear.regions import has_regions
from tagfill.linear.solve import information
from tagfill.losses.likelihood import spread_penalty, written_tags_nll
from tagfill.methods._search import Range
from tagfill.methods._settings import require_range
from tagfill.methods.base import Info, LossTerms, Method, Needs, Setup, Step

INFO = Info(
    title="Likelihood of written tags",
    source="this project, docs/learner.md",
    needs=Needs(solver=True),
)


@dataclass(frozen=True)
class Config:
    """Hyper-parameters.

    Args:
        writer: "some": any n of the present tags were written; "each": each tag with the
            same chance; "auto" takes the more likely one.
        share: chance of being written for "each"; "auto" takes the most likely of a few.
        strength: of the L2 penalty of a linear head, relative to the features' mean sum of squares;
            "auto" chooses it by cross-validated likelihood.
        smoothing: keeps scores from running away; likelihood cannot choose it.
        transform: of the features of a linear head: "plain", "roots" or "standard"; "auto" chooses.
        at_once: solve linear heads on fixed features directly; otherwise train them in epochs.
    """

    writer: Literal["auto", "some", "each"] = "auto"
    share: float | Literal["auto"] = "auto"
    strength: float | Literal["auto"] = "auto"
    smoothing: float = SMOOTHING
    transform: Literal["auto", "plain", "roots", "standard"] = "auto"
    at_once: bool = True

    def __post_init__(self) -> None:
        require_range("smoothing", self.smoothing, 0)
        for name, high in (("share", 1.0), ("strength", None)):
            value = getattr(self, name)
            if not isinstance(value, str):
                require_range(name, value, 0, high)


SEARCH = {"strength": Range(1e-3, 1.0), "smoothing": Range(0.01, 0.3)}


class WrittenTags(Method):
    """The likelihood as a loss of batches, and as a problem that is solved directly."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.choice = Choice(smoothing=config.smoothing)

    def start(self, setup: Setup) -> None:
        """Find the most likely writer of the labels."""
        super().start(setup)
        self.choice = self._writer(setup.observed.cpu())

    def loss(self, step: Step) -> LossTerms:
        logits, observed = step.output.logits, step.observed
        writer = self.choice.written_by(observed)
        terms = {"likelihood": written_tags_nll(logits, observed, writer).sum() / logits.numel()}
        if self.config.smoothing:
            share = self.config.smoothing * information(observed, writer).to(logits)
            terms["smoothing"] = (share * spread_penalty(logits)).mean()
        return terms

    def solve(self, problem: LinearProblem) -> LinearWeights | None:
        """By L-BFGS, all that is open chosen by cross-validated likelihood."""
        if not self.config.at_once:
            return None
        head = fit_head(
            problem.features,
            problem.observed.numpy(),
            reviewed=None if problem.reviewed is None else problem.reviewed.numpy(),
            candidates=self._candidates(problem.observed),
            strength=self._strength(problem),
            transforms=self._transforms(problem),
            seed=problem.seed,
        )
        self.choice = head.choice
        looked = "; the whole image and its best region" if has_regions(problem.features) else ""
        return LinearWeights(
            torch.from_numpy(head.weight),
            torch.from_numpy(head.bias),
            roots=head.power == 0.5,
            details={**head.choice.as_dict(), "steps": head.steps, "loss": head.loss},
            note=f"likelihood chose: {head.choice.describe()}{looked}",
        )

    def inherit(self, previous: Method) -> None:
        """The writer that an earlier stage found by features is the better one."""
        self.choice = cast(WrittenTags, previous).choice

    def state(self) -> dict[str, Tensor]:
        choice = self.choice
        share = choice.share if choice.writer == "each" else -1.0
        return {"writer": torch.tensor([share, choice.max_written], dtype=torch.float64)}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Continue with the same writer."""
        if "writer" not in state:
            return
        share, max_written = state["writer"].tolist()
        kind = {"writer": "some"} if share < 0 else {"writer": "each", "share": share}
        self.choice = replace(self.choice, max_written=int(max_written), **kind)

    def _writer(self, observed: Tensor) -> Choice:
        """The writer under a head that knows only how often each tag was written."""
        writers = self._candidates(observed)
        if len(writers) == 1:
            return writers[0]
        nothing = np.zeros((len(observed), 1), dtype=np.float32)
        return Chooser(nothing, observed).best(writers)

    def _candidates(self, observed: Tensor) -> list[Choice]:
        config, start = self.config, Choice(smoothing=self.config.smoothing)
        if config.writer == "each" and not isinstance(config.share, str):
            return [replace(start, writer="each", share=config.share)]
        if config.writer == "some":
            return [start]
        possible = candidates(observed, start)
        return [model for model in possible if config.writer in ("auto", model.writer)]

    def _strength(self, problem: LinearProblem) -> float | None:
        wanted = self.config.strength if problem.l2 is None else problem.l2
        return None if isinstance(wanted, str) else wanted

    def _transforms(self, problem: LinearProblem) -> tuple[Transform, ...]:
        if self.config.transform == "auto":
            return problem.transforms
        return (self.config.transform,)


def fixed_by_head(head_settings: Mapping[str, Any]) -> dict[str, Any]:
    """A user who sets the power of the features does not want another to be chosen."""
    return {"transform": "plain"} if head_settings.get("power") == 1 else {}


def head_settings(config: Config) -> dict[str, Any]:
    """A linear head also looks at regions: docs/results/features.md."""
    return {"regions": True}


def build(config: Config) -> Method:
    return WrittenTags(config)
