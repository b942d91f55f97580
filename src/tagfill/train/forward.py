"""From a batch of inputs to a method's step: all views, of all processes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from tagfill.methods.base import Method, Mixed, Step
from tagfill.models.network import Network
from tagfill.models.output import Output
from tagfill.models.plain_heads import Head
from tagfill.train.inputs import InputBatch, Inputs, derived_seed
from tagfill.train.processes import Placement

MIXUP_ALPHA = 0.3
"""Of the Beta distribution of mixing weights; PU-MLC's value."""
Validate = Callable[[Tensor], float]
"""From [N, K] logits of the validation images to a score, higher is better."""


@dataclass(frozen=True)
class StageData:
    """What a stage learns from and is evaluated with.

    ``hidden`` labels are for the log only; ``reviewed`` entries were answered in a review.
    """

    inputs: Inputs
    observed: Tensor
    truth: Tensor | None = None
    val_inputs: Inputs | None = None
    validate: Validate | None = None
    criterion: str = "last"
    hidden: Tensor | None = None
    reviewed: Tensor | None = None


class Forward:
    """Runs the network on a batch and gathers the outputs of all processes.

    All random draws depend on (seed, epoch, batch) alone, so that training can continue from any
    batch as if it had never stopped.
    """

    def __init__(self, placement: Placement, method: Method, data: StageData, seed: int) -> None:
        self.network, self.method, self.data, self.seed = placement.called, method, data, seed
        self.accelerator, self.world = placement.accelerator, placement.world
        self.device, self.whole = placement.device, placement.whole
        trained = placement.trained
        head: Any = trained.head if isinstance(trained, Network) else trained
        is_head = isinstance(head, Head)
        self.weights = head.classifier_weights() if is_head else tuple(head.parameters())
        self.classify = head.classify if method.needs.label_features else None

    def __call__(self, rows: Tensor, batch: InputBatch, epoch: int, number: int, step: int) -> Step:
        """Compute the loss of the training images ``rows``; ``batch`` has this process's share."""
        position = (self.seed, epoch, number)
        self._seed(derived_seed(*position, 2, self.world.rank))
        views = {"weak": batch.weak.to(self.device, non_blocking=True)}
        if batch.strong is not None:
            views["strong"] = batch.strong.to(self.device, non_blocking=True)
        mix = self._mix(len(rows), position) if self.method.needs.mixup else None
        if mix is not None:
            first, second, weight = mix
            whole, own = self.world.gather(views["weak"].detach(), len(rows)), self.world.share
            views["mixed"] = weight * whole[own(first)] + (1 - weight) * whole[own(second)]
        outputs = self._outputs(views, len(rows))
        return Step(
            output=outputs["weak"],
            observed=self.data.observed.index_select(0, rows).to(self.device),
            index=rows.to(self.device),
            epoch=epoch,
            step=step,
            strong=outputs.get("strong"),
            mixed=None if mix is None else Mixed(outputs["mixed"], *mix),
            weights=tuple(map(self.whole, self.weights)),
            generator=torch.Generator().manual_seed(derived_seed(*position, 3)),
            truth=None if self.data.truth is None else self.data.truth[rows].to(self.device),
            classify=self.classify,
        )

    def _seed(self, seed: int) -> None:
        """Seed the generator of dropout; ``torch.manual_seed`` would seed all devices."""
        torch.default_generator.manual_seed(seed)
        if self.device.type == "cuda":
            torch.cuda.manual_seed(seed)

    def _outputs(self, views: dict[str, Tensor], images: int) -> dict[str, Output]:
        """One pass for all views: faster, and DDP requires that each parameter is used once."""
        output = self._run(torch.cat(list(views.values())) if len(views) > 1 else views["weak"])
        shares = _split(output, [len(view) for view in views.values()])
        counts = {"mixed": images // 2}
        return {
            name: self.world.gather_output(share, counts.get(name, images))
            for name, share in zip(views, shares, strict=True)
        }

    def _run(self, view: Tensor) -> Output:
        if self.accelerator.mixed_precision == "no":
            output: Output = self.network(view)
            return output
        with self.accelerator.autocast():
            mixed: Output = self.network(view)
        whole = {name: value.float() for name, value in vars(mixed).items() if value is not None}
        return replace(mixed, **whole)

    def _mix(self, count: int, position: tuple[int, ...]) -> tuple[Tensor, Tensor, float] | None:
        """Pairs of the batch's halves, the first half shuffled, and one weight for the step."""
        half = count // 2
        if half == 0:
            return None
        draw = np.random.default_rng(derived_seed(*position, 4))
        return (
            torch.from_numpy(draw.permutation(half)).to(self.device),
            torch.arange(half, 2 * half, device=self.device),
            float(draw.beta(MIXUP_ALPHA, MIXUP_ALPHA)),
        )


def _split(output: Output, sizes: list[int]) -> list[Output]:
    if len(sizes) == 1:
        return [output]
    given = {name: tensor for name, tensor in vars(output).items() if tensor is not None}
    parts = zip(*(tensor.split(sizes) for tensor in given.values()), strict=True)
    return [Output(**dict(zip(given, part, strict=True))) for part in parts]
