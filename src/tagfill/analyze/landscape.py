"""The loss around the minimum a run has found: Zhou et al. 2022, Fig. 5.

Weights move along two random directions in which every filter (a row of a weight matrix) is as long
as the one it is added to (Li et al. 2018); biases and normalization stay. The loss is the run's own
on its training images, with the label estimates of the best epoch, minus the loss at the center.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn

from tagfill.analyze.drawing import Drawing, color, new_figure
from tagfill.analyze.kinds import CannotDrawError
from tagfill.analyze.subject import RunView, Subject
from tagfill.arrays import Floats
from tagfill.methods.base import Method, Step
from tagfill.models.output import Output
from tagfill.models.plain_heads import LinearHead
from tagfill.train.events import Events
from tagfill.train.method import Positives, begin
from tagfill.train.save import load_checkpoint

SPAN, SEED = 1.0, 0
IMAGES = 48
"""Training images that networks and attention heads are evaluated on; linear heads on all."""
Directions = dict[str, Tensor]
Move = Callable[[float, float], None]
"""Moves the weights this far along the first and the second direction."""


def draw(subject: Subject) -> Drawing:
    """Contours of every run on one scale, and the mean rise with the distance."""
    runs = subject.some()
    quick = all(isinstance(run.module, LinearHead) for run in runs)
    points = subject.points or (21 if quick else 11)
    steps = np.linspace(-SPAN, SPAN, points)
    rises = [scan(run, steps) for run in runs]
    figure, axes = new_figure(1, len(runs) + 1, size=(3.3, 3.1))
    levels = np.linspace(0, np.sqrt(max(rise.max() for rise in rises)), 15) ** 2
    for axis, run, rise in zip(axes[0][:-1], runs, rises, strict=True):
        picture = axis.contourf(steps, steps, rise.clip(0), levels=levels, cmap="cividis")
        axis.contour(steps, steps, rise.clip(0), levels=levels, colors="white", linewidths=0.4)
        axis.plot(0, 0, "+", color="white", markersize=9)
        axis.set(title=run.name, xlabel="direction 1", aspect="equal")
        axis.set(xticks=(-1, 0, 1), yticks=(-1, 0, 1))
        axis.grid(visible=False)
    axes[0][0].set_ylabel("direction 2")
    bar = figure.colorbar(picture, ax=axes[0][:-1].tolist(), label="loss above the minimum")
    ticks = levels[::3].tolist()
    bar.set_ticks(ticks, labels=[f"{level:.2g}" for level in ticks])
    radii = np.hypot(*np.meshgrid(steps, steps))
    rings = np.linspace(0, SPAN, points // 2 + 1)
    profile = axes[0][-1]
    findings = {}
    for number, (run, rise) in enumerate(zip(runs, rises, strict=True)):
        means = [float(rise[np.abs(radii - ring) <= rings[1] / 2].mean()) for ring in rings]
        profile.plot(rings, means, color=color(number), label=run.name)
        findings[run.name] = {"rise_at_half": means[len(means) // 2], "rise_at_one": means[-1]}
    profile.set(xlabel="distance, in weight lengths", ylabel="mean loss above the minimum")
    profile.legend()
    rows = [
        (run.name, float(x), float(y), float(rise[j, i]))
        for run, rise in zip(runs, rises, strict=True)
        for j, y in enumerate(steps)
        for i, x in enumerate(steps)
    ]
    return Drawing(figure, ("run", "direction 1", "direction 2", "rise"), rows, findings)


def scan(run: RunView, steps: Floats) -> Floats:
    """[points, points] loss above that of the center; rows go along the second direction."""
    ways = tuple(directions(run.module, SEED + index) for index in range(2))
    loss = training_loss(run)
    with torch.no_grad(), movable(run.module, ways) as move:
        outputs_at = _outputs(run, move)
        center = loss(outputs_at(0, 0))
        losses = [[loss(outputs_at(x, y)) - center for x in steps] for y in steps]
    return np.array(losses)


def directions(module: nn.Module, seed: int) -> Directions:
    """A random step for every weight, row by row as long as the weights; none for biases."""
    generator = torch.Generator().manual_seed(seed)
    steps = {}
    for name, weight in module.named_parameters():
        step = torch.randn(weight.shape, generator=generator).to(weight)
        if weight.ndim < 2:
            steps[name] = torch.zeros_like(weight)
            continue
        rows, own = step.flatten(1), weight.detach().flatten(1)
        length = own.norm(dim=1, keepdim=True) / rows.norm(dim=1, keepdim=True).clamp(min=1e-12)
        steps[name] = (rows * length).view_as(weight)
    return steps


def _outputs(run: RunView, move: Move) -> Callable[[float, float], list[Output]]:
    """The network's outputs for the training images when its weights have moved.

    Those of a linear head are linear in the directions: three points determine them.
    """
    inputs = run.assembly.inputs(run.data.train, run.stage)
    network = run.module.eval()
    images = len(inputs) if isinstance(network, LinearHead) else min(IMAGES, len(inputs))
    batches = [batch.to(run.device) for batch in inputs.plain(range(images))]

    def outputs_at(x: float, y: float) -> list[Output]:
        move(x, y)
        return [network(batch) for batch in batches]

    if not isinstance(network, LinearHead):
        return outputs_at
    center, first, second = (
        [output.logits for output in outputs_at(*point)] for point in ((0, 0), (1, 0), (0, 1))
    )

    def linear(x: float, y: float) -> list[Output]:
        move(x, y)
        return [
            Output(at + x * (right - at) + y * (up - at))
            for at, right, up in zip(center, first, second, strict=True)
        ]

    return linear


def training_loss(run: RunView) -> Callable[[list[Output]], float]:
    """The run's training loss as a function of its network's outputs."""
    method = _restored(run)
    observed = torch.from_numpy(np.array(run.data.train.table.values))
    truth = run.data.train.truth if method.needs.truth else None
    full = None if truth is None else torch.from_numpy(np.array(truth))

    def loss(outputs: list[Output]) -> float:
        total, done = 0.0, 0
        for output in outputs:
            rows = torch.arange(done, done + len(output.logits))
            step = Step(
                output=output,
                observed=observed[rows].to(run.device),
                index=rows.to(run.device),
                epoch=run.stage.epochs,
                step=0,
                weights=run.assembly.network.head.classifier_weights(),
                generator=torch.Generator().manual_seed(SEED),
                truth=None if full is None else full[rows].to(run.device),
            )
            total += len(rows) * float(sum(method.loss(step).values()))
            done += len(rows)
        return total / done

    return loss


def _restored(run: RunView) -> Method:
    """The run's method as it was at the best epoch."""
    method = run.new_method()
    needs = method.needs
    if needs.two_views or needs.mixup:
        name = run.stage.method.name
        raise CannotDrawError(f"{name} of {run.name} needs several views of every image")
    data = run.assembly.stage_data(run.stage, needs)
    positives = Positives(data.observed, run.assembly.pooled_features, Events())
    begin(method, run.stage, data, positives, seed=run.config.seed, device=run.device)
    if run.folder.checkpoint.is_file():
        groups, _ = load_checkpoint(run.folder.checkpoint)
        if "best_method" in groups:
            method.load_state(groups["best_method"])
    return method


@contextmanager
def movable(module: nn.Module, ways: tuple[Directions, ...]) -> Iterator[Move]:
    """Moves the weights along the directions, and restores them afterwards."""
    weights = {name: weight.detach().clone() for name, weight in module.named_parameters()}

    def move(x: float, y: float) -> None:
        for name, parameter in module.named_parameters():
            parameter.data.copy_(weights[name] + x * ways[0][name] + y * ways[1][name])

    try:
        yield move
    finally:
        move(0, 0)
