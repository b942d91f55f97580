"""ROLE's label estimates: a table, a factorized table, a table in a file, or a small network.

Cole et al. 2021 use a table of N x K logits; their Sec. 7 names its size as a limitation, and
proposes a factorized table or a small network.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping

import torch
from torch import Tensor, nn

from tagfill.methods._rows import CHUNK, Rows
from tagfill.methods.base import Setup, Step

START_UNKNOWN = math.log(0.6 / 0.4)
"""Unknown entries start uniformly between the logits of 0.4 and 0.6."""
START_KNOWN = math.log(0.995 / 0.005)
"""Positives start at the logit of 0.995, negatives at that of 0.005."""


class Estimator:
    """Logits of every entry being positive."""

    def logits(self, step: Step) -> Tensor:
        """[B, K] for the images of a step."""
        raise NotImplementedError

    def learn(self, step: Step, objective: Callable[[Tensor], Tensor]) -> None:
        """Take an own step, if the optimizer of the training loop does not.

        Args:
            step: whose optimizer step is done.
            objective: from this estimator's [B, K] logits to the scalar they should minimize.
        """

    def parameters(self) -> list[nn.Parameter]:
        """Parameters for the training loop's optimizer."""
        return []

    def all_logits(self) -> Tensor | None:
        """[N, K] logits, where they are known without the images."""
        raise NotImplementedError

    def state(self) -> dict[str, Tensor]:
        """Everything ``load_state`` needs."""
        raise NotImplementedError

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Continue from ``state``."""
        raise NotImplementedError

    def inherit(self, previous: Estimator) -> None:
        """Start from the estimates of another of the same kind, without its momentum."""
        self.load_state(previous.state())


class _Learned(Estimator):
    """An estimator whose parameters the optimizer of the loop learns."""

    parts: dict[str, nn.Parameter]

    def parameters(self) -> list[nn.Parameter]:
        return list(self.parts.values())

    def state(self) -> dict[str, Tensor]:
        return {name: part.detach() for name, part in self.parts.items()}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        with torch.no_grad():
            for name, part in self.parts.items():
                part.copy_(state[name])


class DenseTable(_Learned):
    """One parameter per entry, as published: the optimizer updates all of them at every step."""

    def __init__(self, setup: Setup) -> None:
        start = torch.cat([rows for _, rows in _start_values(setup)])
        self.parts = {"table": nn.Parameter(start.to(setup.device))}

    def logits(self, step: Step) -> Tensor:
        return self.parts["table"][step.index]

    def all_logits(self) -> Tensor:
        return self.parts["table"].detach()


class RowTable(Estimator):
    """One number per entry, of which a step touches only the rows of its batch."""

    def __init__(
        self, setup: Setup, learning_rate: float, *, mapped: bool, directory: str | None
    ) -> None:
        self.rows = Rows(
            (setup.images, setup.classes),
            learning_rate,
            device=setup.device,
            mapped=mapped,
            directory=directory,
        )
        for start, values in _start_values(setup):
            self.rows.fill(values, start)

    def logits(self, step: Step) -> Tensor:
        return self.rows.read(step.index)

    @torch.enable_grad()
    def learn(self, step: Step, objective: Callable[[Tensor], Tensor]) -> None:
        values = self.rows.read(step.index).requires_grad_()
        (gradient,) = torch.autograd.grad(objective(values), values)
        self.rows.update(step.index, gradient)

    def all_logits(self) -> Tensor:
        return torch.cat([self.rows.read(index) for index in _chunks(len(self.rows))])

    def state(self) -> dict[str, Tensor]:
        return self.rows.state()

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        self.rows.load_state(state)

    def inherit(self, previous: Estimator) -> None:
        assert isinstance(previous, RowTable)
        self.rows.inherit(previous.rows)


class Factors(_Learned):
    """A table of low rank: image factors [N, R] times class factors [K, R], plus evidence."""

    def __init__(self, setup: Setup, rank: int) -> None:
        self.evidence = setup.observed
        generator = torch.Generator().manual_seed(setup.seed)
        bound = math.sqrt(START_UNKNOWN / rank)
        self.parts = {
            name: nn.Parameter(_uniform((count, rank), bound, generator).to(setup.device))
            for name, count in (("images", setup.images), ("classes", setup.classes))
        }

    def logits(self, step: Step) -> Tensor:
        guess = self.parts["images"][step.index] @ self.parts["classes"].T
        return guess + _evidence(step.observed)

    def all_logits(self) -> Tensor:
        guess = self.parts["images"].detach() @ self.parts["classes"].detach().T
        return guess + _evidence(self.evidence).to(guess)


class RowFactors(_Learned):
    """Factors of which a step touches only the image rows of its batch."""

    def __init__(self, setup: Setup, rank: int, learning_rate: float) -> None:
        whole = Factors(setup, rank)
        self.evidence = setup.observed
        self.rows = Rows((setup.images, rank), learning_rate, device=setup.device)
        self.rows.fill(whole.parts["images"].detach(), 0)
        self.parts = {"classes": whole.parts["classes"]}

    def logits(self, step: Step) -> Tensor:
        return self._guess(self.rows.read(step.index), step.observed)

    @torch.enable_grad()
    def learn(self, step: Step, objective: Callable[[Tensor], Tensor]) -> None:
        images = self.rows.read(step.index).requires_grad_()
        guess = self._guess(images, step.observed)
        (gradient,) = torch.autograd.grad(objective(guess), images)
        self.rows.update(step.index, gradient)

    def all_logits(self) -> Tensor:
        with torch.no_grad():
            return torch.cat(
                [
                    self._guess(self.rows.read(index), self.evidence[index].to(self.rows.device))
                    for index in _chunks(len(self.evidence))
                ]
            )

    def state(self) -> dict[str, Tensor]:
        return super().state() | self.rows.state()

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        super().load_state(state)
        self.rows.load_state(state)

    def inherit(self, previous: Estimator) -> None:
        assert isinstance(previous, RowFactors)
        super().load_state(previous.state())
        self.rows.inherit(previous.rows)

    def _guess(self, images: Tensor, observed: Tensor) -> Tensor:
        return images @ self.parts["classes"].T + _evidence(observed)


class SmallNetwork(_Learned):
    """A hidden layer from predictions and observed labels of an image to its estimates.

    Its size does not depend on the number of images. It sees the classifier's probabilities,
    without sending gradients back, and the observed labels, and adds to the evidence of the latter.
    """

    def __init__(self, setup: Setup, hidden: int) -> None:
        self.observed, self.scores = setup.observed, torch.zeros(0)
        generator = torch.Generator().manual_seed(setup.seed)
        inputs, classes = 3 * setup.classes, setup.classes
        start = {
            "weight_in": _uniform((hidden, inputs), inputs**-0.5, generator),
            "bias_in": torch.zeros(hidden),
            "weight_out": _uniform((classes, hidden), 0.01 * hidden**-0.5, generator),
            "bias_out": _uniform((classes,), START_UNKNOWN, generator),
        }
        self.parts = {name: nn.Parameter(part.to(setup.device)) for name, part in start.items()}

    def logits(self, step: Step) -> Tensor:
        return self._guess(torch.sigmoid(step.output.logits.detach()), step.observed)

    def all_logits(self) -> Tensor | None:
        if not len(self.scores):
            return None
        with torch.no_grad():
            return self._guess(self.scores, self.observed.to(self.scores.device))

    def state(self) -> dict[str, Tensor]:
        return super().state() | {"scores": self.scores}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        super().load_state(state)
        self.scores = state["scores"].clone()

    def _guess(self, probabilities: Tensor, observed: Tensor) -> Tensor:
        known = torch.cat([observed == 1, observed == 0], 1).to(probabilities)
        seen = torch.cat([probabilities, known], 1)
        hidden = torch.relu(
            nn.functional.linear(seen, self.parts["weight_in"], self.parts["bias_in"])
        )
        guess = nn.functional.linear(hidden, self.parts["weight_out"], self.parts["bias_out"])
        return guess + _evidence(observed)


def _start_values(setup: Setup) -> Iterator[tuple[int, Tensor]]:
    """Chunks of the initial table, with the row each begins at."""
    generator = torch.Generator().manual_seed(setup.seed)
    for start in range(0, setup.images, CHUNK):
        observed = setup.observed[start : start + CHUNK].cpu()
        guess = _uniform(tuple(observed.shape), START_UNKNOWN, generator)
        yield start, torch.where(observed < 0, guess, _evidence(observed))


def _evidence(observed: Tensor) -> Tensor:
    """Logits of what is known, 0 where nothing is."""
    return START_KNOWN * ((observed == 1).float() - (observed == 0).float())


def _uniform(shape: tuple[int, ...], bound: float, generator: torch.Generator) -> Tensor:
    return (2 * torch.rand(shape, generator=generator) - 1) * bound


def _chunks(count: int) -> list[Tensor]:
    return list(torch.arange(count).split(CHUNK))
