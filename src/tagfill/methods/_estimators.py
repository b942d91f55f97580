"""ROLE's label estimates: a table, a factorized table, a table in a file, or a small network.

Cole et al. 2021 use a table of N x K logits; their Sec. 7 names its size as a limitation, and
proposes a factorized table or a small network.
"""

from __future__ import annotations

import math
import mmap
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from tagfill.methods._state import Stateful
from tagfill.methods.base import Setup, Step

START_UNKNOWN = math.log(0.6 / 0.4)
"""Unknown entries start uniformly between the logits of 0.4 and 0.6."""
START_KNOWN = math.log(0.995 / 0.005)
"""Positives start at the logit of 0.995, negatives at that of 0.005."""
BETA_1, BETA_2, EPS = 0.9, 0.999, 1e-8
HORIZON = 200
"""Steps after which momentum is negligible: (BETA_1 / sqrt(BETA_2))^200 < 1e-9."""
CHUNK = 4096
"""Rows per chunk where all rows are processed."""
RESIDENT = 512_000_000
"""Bytes of a mapped table that stay in memory; of more, the system reads them from disk again."""

VALUE, MOMENTUM, SQUARE = 0, 1, 2


class StoredRows(Stateful):
    """A table [N, D] with Adam's two moments, in memory or in a mapped file.

    Adam over the whole table updates every row at every step, also those with zero gradient, by
    their remaining momentum. Here a row is updated only when it is read, by all steps since its
    last update. The result is that of Adam over the whole table (up to rounding and Adam's
    ``eps``), while the time of a step does not depend on the number of rows.

    Args:
        shape: N, D.
        learning_rate: of Adam.
        device: where rows are used; a mapped table is on disk.
        mapped: store the table in a file instead of memory.
        directory: of that temporary file; None for the system's.
    """

    kept = ("table", "last", "steps")

    def __init__(
        self,
        shape: tuple[int, int],
        learning_rate: float,
        *,
        device: torch.device,
        mapped: bool = False,
        directory: str | None = None,
    ) -> None:
        self.device, self.learning_rate = device, learning_rate
        count, width = shape
        self._pages: mmap.mmap | None = None
        self._touched = 0
        if mapped and count * width:
            self._folder = _temporary_folder(directory)
            file = Path(self._folder.name) / "rows.f32"
            self._pages = _mapped(file, count * 3 * width * torch.float32.itemsize)
            self.table = torch.frombuffer(self._pages, dtype=torch.float32).view(count, 3, width)
        else:
            self.table = torch.zeros(count, 3, width, device=device)
        self.last = torch.zeros(count, dtype=torch.int64, device=self.table.device)
        self.steps = 0

    def __len__(self) -> int:
        return len(self.table)

    def fill(self, rows: Tensor, start: int) -> None:
        """Set the values of the rows from ``start`` on."""
        self._release(len(rows))
        self.table[start : start + len(rows), VALUE] = rows.to(self.table)

    def read(self, index: Tensor) -> Tensor:
        """[B, D] values as they are now."""
        value, momentum, square, last = self._gather(index.to(self.table.device))
        return (value - self._drift(momentum, square, last)).to(self.device)

    def update(self, index: Tensor, gradient: Tensor) -> None:
        """One step of Adam with this gradient at these rows and zero at all others."""
        rows, inverse = torch.unique(index.to(self.table.device), return_inverse=True)
        summed = self.table.new_zeros(len(rows), gradient.shape[1])
        summed.index_add_(0, inverse, gradient.to(summed))
        value, momentum, square, last = self._gather(rows)
        value = value - self._drift(momentum, square, last)
        missed = (self.steps - last)[:, None].double()
        momentum = (momentum * BETA_1**missed).to(summed).lerp(summed, 1 - BETA_1)
        square = (square * BETA_2**missed).to(summed).lerp(summed**2, 1 - BETA_2)
        self.steps += 1
        unbias = math.sqrt(1 - BETA_2**self.steps)
        pace = self.learning_rate * unbias / (1 - BETA_1**self.steps)
        value = value - pace * momentum / (square.sqrt() + EPS * unbias)
        self.table[rows] = torch.stack([value, momentum, square], 1)
        self.last[rows] = self.steps

    def inherit(self, previous: StoredRows) -> None:
        """Start from the current values of another table, without its momentum."""
        for index in torch.arange(len(previous)).split(CHUNK):
            self.fill(previous.read(index), int(index[0]))

    def _release(self, rows: int) -> None:
        """Leave the pages of a mapped table to the system when many rows have been used."""
        self._touched += rows * self.table[0].nbytes if rows else 0
        if self._pages is not None and self._touched > RESIDENT and hasattr(mmap, "MADV_DONTNEED"):
            self._pages.madvise(mmap.MADV_DONTNEED)
            self._touched = 0

    def _gather(self, rows: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        self._release(len(rows))
        table = self.table[rows]
        return table[:, VALUE], table[:, MOMENTUM], table[:, SQUARE], self.last[rows]

    def _drift(self, momentum: Tensor, square: Tensor, last: Tensor) -> Tensor:
        """How far momentum alone moves each row between step ``last`` and now."""
        missed = self.steps - last
        longest = min(max(int(missed.max()), 1), HORIZON)
        ahead = torch.arange(1, longest + 1, device=last.device)
        time = (last[:, None] + ahead).double()
        spent = (BETA_1 / math.sqrt(BETA_2)) ** ahead.double()
        unbias = (1 - BETA_2**time).sqrt()
        share = spent * unbias / (1 - BETA_1**time) * (ahead <= missed[:, None])
        distance = self.learning_rate * share.sum(1, keepdim=True).to(momentum)
        return distance * momentum / (square.sqrt() + EPS * unbias[:, :1].to(momentum))


def _temporary_folder(parent: str | None) -> tempfile.TemporaryDirectory[str]:
    if parent is not None:
        Path(parent).mkdir(parents=True, exist_ok=True)
    return tempfile.TemporaryDirectory(prefix="tagfill-rows-", dir=parent)


def _mapped(file: Path, size: int) -> mmap.mmap:
    """A new file of zeros as memory; what is written stays in the file when pages are released."""
    with file.open("w+b") as stream:
        stream.truncate(size)
        pages = mmap.mmap(stream.fileno(), size)
    if hasattr(mmap, "MADV_RANDOM"):
        pages.madvise(mmap.MADV_RANDOM)  # neighbors of a row are not read from disk with it
    return pages


class Estimator(Stateful):
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
        raise NotImplementedError

    def all_logits(self) -> Tensor | None:
        """[N, K] logits, where they are known without the images."""
        raise NotImplementedError

    def inherit(self, previous: Estimator) -> None:
        """Start from the estimates of another of the same kind, without its momentum."""
        self.load_state(previous.state())


class Table(Estimator):
    """A row of numbers for every image: its logits.

    Args:
        rows: a parameter, all of which the loop's optimizer updates at every step, as published; or
            rows of which a step touches only those of its batch.
    """

    kept: tuple[str, ...] = ("rows",)

    def __init__(self, setup: Setup, rows: nn.Parameter | StoredRows) -> None:
        self.observed, self.rows = setup.observed, rows

    def logits(self, step: Step) -> Tensor:
        rows = self.rows
        values = rows.read(step.index) if isinstance(rows, StoredRows) else rows[step.index]
        return self._logits(values, step.observed)

    @torch.enable_grad()
    def learn(self, step: Step, objective: Callable[[Tensor], Tensor]) -> None:
        if isinstance(self.rows, StoredRows):
            values = self.rows.read(step.index).requires_grad_()
            loss = objective(self._logits(values, step.observed))
            (gradient,) = torch.autograd.grad(loss, values)
            self.rows.update(step.index, gradient)

    def parameters(self) -> list[nn.Parameter]:
        return [] if isinstance(self.rows, StoredRows) else [self.rows]

    @torch.no_grad()
    def all_logits(self) -> Tensor:
        observed = self.observed.to(self.rows.device)
        if not isinstance(self.rows, StoredRows):
            return self._logits(self.rows.detach(), observed)
        chunks = torch.arange(len(self.rows)).split(CHUNK)
        values = [self._logits(self.rows.read(index), observed[index]) for index in chunks]
        return torch.cat(values)

    @torch.no_grad()
    def inherit(self, previous: Estimator) -> None:
        assert isinstance(previous, Table)
        if isinstance(self.rows, StoredRows) and isinstance(previous.rows, StoredRows):
            self.rows.inherit(previous.rows)
        else:
            super().inherit(previous)

    def _logits(self, values: Tensor, observed: Tensor) -> Tensor:
        return values


class Factors(Table):
    """A table of low rank: image factors [N, R] times class factors [K, R], plus evidence.

    Args:
        learning_rate: of sparse updates of the image factors; None for dense ones.
    """

    kept = ("rows", "classes")

    def __init__(self, setup: Setup, rank: int, learning_rate: float | None) -> None:
        generator = torch.Generator().manual_seed(setup.seed)
        bound = math.sqrt(START_UNKNOWN / rank)
        images = _uniform((setup.images, rank), bound, generator)
        classes = _uniform((setup.classes, rank), bound, generator)
        self.classes = nn.Parameter(classes.to(setup.device))
        if learning_rate is None:
            super().__init__(setup, nn.Parameter(images.to(setup.device)))
        else:
            rows = StoredRows((setup.images, rank), learning_rate, device=setup.device)
            rows.fill(images, 0)
            super().__init__(setup, rows)

    def parameters(self) -> list[nn.Parameter]:
        return [*super().parameters(), self.classes]

    @torch.no_grad()
    def inherit(self, previous: Estimator) -> None:
        assert isinstance(previous, Factors)
        super().inherit(previous)
        self.classes.copy_(previous.classes)

    def _logits(self, values: Tensor, observed: Tensor) -> Tensor:
        return values @ self.classes.T + _evidence(observed)


class SmallNetwork(Estimator):
    """A hidden layer from predictions and observed labels of an image to its estimates.

    Its size does not depend on the number of images. It sees the classifier's probabilities,
    without sending gradients back, and the observed labels, and adds to the evidence of the latter.
    """

    kept = ("layers", "scores")

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
        self.layers = nn.ParameterDict(start).to(setup.device)

    def logits(self, step: Step) -> Tensor:
        return self._logits(torch.sigmoid(step.output.logits.detach()), step.observed)

    def parameters(self) -> list[nn.Parameter]:
        return list(self.layers.values())

    @torch.no_grad()
    def all_logits(self) -> Tensor | None:
        if not len(self.scores):
            return None
        return self._logits(self.scores, self.observed.to(self.scores.device))

    def _logits(self, probabilities: Tensor, observed: Tensor) -> Tensor:
        known = torch.cat([observed == 1, observed == 0], 1).to(probabilities)
        seen, layers = torch.cat([probabilities, known], 1), self.layers
        hidden = torch.relu(linear(seen, layers["weight_in"], layers["bias_in"]))
        return linear(hidden, layers["weight_out"], layers["bias_out"]) + _evidence(observed)


def start_values(setup: Setup) -> Iterator[tuple[int, Tensor]]:
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
