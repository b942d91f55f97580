"""Which of the unknown entries to suggest, and in which order to look at them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tagfill.arrays import Floats, Mask
from tagfill.errors import TagfillError
from tagfill.labels import Rows


@dataclass(frozen=True, eq=False)
class Entries:
    """Entries of a label table, the most useful to review first ([M] each).

    Args:
        rows: of the images.
        columns: of the classes.
        probability: that the tag is there.
        gain: expected gain from reviewing them.
    """

    rows: Rows
    columns: Rows
    probability: Floats
    gain: Floats

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def expected_precision(self) -> float | None:
        """Expected precision; None without suggestions."""
        return float(self.probability.mean()) if len(self) else None


@dataclass(frozen=True)
class Amount:
    """How much to suggest: at most one of three.

    Args:
        precision: As many tags as possible with this expected precision; 0.9 by default.
        top: Instead: this many of the most likely tags of every image.
        budget: Instead: this many tags in total, the most useful to review.
    """

    precision: float | None = None
    top: int | None = None
    budget: int | None = None

    def __post_init__(self) -> None:
        given = [amount for amount in (self.precision, self.top, self.budget) if amount is not None]
        if len(given) > 1:
            raise TagfillError("choose one of precision, top and budget")
        if self.precision is not None and not 0 < self.precision <= 1:
            raise TagfillError(f"a precision of {self.precision:g} is not between 0 and 1")
        if any(count is not None and count < 1 for count in (self.top, self.budget)):
            raise TagfillError("top and budget count tags: give 1 or more")


DEFAULT_PRECISION = 0.9


def choose(
    probability: Floats, unknown: Mask, amount: Amount, gain: Floats | None = None
) -> Entries:
    """The entries to suggest, in review order.

    Args:
        probability: [N, K] that the tag is there.
        unknown: [N, K] the entries nobody labeled.
        amount: how many.
        gain: [N, K] expected gain from a review; by default ``expected_gain``.
    """
    worth = expected_gain(probability, unknown) if gain is None else gain
    if amount.top is not None:
        chosen = _top(probability, unknown, amount.top)
    elif amount.budget is not None:
        chosen = _largest(worth, unknown, amount.budget)
    else:
        precision = DEFAULT_PRECISION if amount.precision is None else amount.precision
        chosen = at_precision(probability, unknown, precision)
    rows, columns = np.nonzero(chosen)
    order = np.lexsort((-probability[rows, columns], -worth[rows, columns]))
    rows, columns = rows[order], columns[order]
    return Entries(rows, columns, probability[rows, columns], worth[rows, columns])


def at_precision(probability: Floats, unknown: Mask, precision: float) -> Mask:
    """[N, K] the most entries whose mean probability still reaches the precision."""
    return _largest(probability, unknown, _number_at(precision, probability[unknown]))


def _number_at(precision: float, likely: Floats) -> int:
    """How many of the entries, the likeliest first, have a mean that reaches the precision."""
    most = min(len(likely), int(likely.sum() / precision) + 1)  # the mean of more is below it
    likely.partition(max(0, len(likely) - most))
    falling = np.sort(likely[len(likely) - most :])[::-1]
    mean = np.cumsum(falling) / np.arange(1, most + 1)
    return int((mean >= precision).sum())


def expected_gain(probability: Floats, unknown: Mask) -> Floats:
    """[N, K] label errors that an answer is expected to remove, in shares of the class.

    Without a review, an entry gets the more likely label and is wrong with min(p, 1 - p). A wrong
    label weighs more where the class has few positives, as in every mean over classes. The mean
    over unknown entries is 1.
    """
    gain: Floats = 1 - probability
    np.minimum(gain, probability, out=gain)
    gain /= np.maximum(probability.sum(axis=0), 1.0)
    gain *= unknown
    gain /= (gain[unknown].mean() if unknown.any() else 1.0) or 1.0
    return gain


def _top(probability: Floats, unknown: Mask, count: int) -> Mask:
    ranked = np.argsort(np.where(unknown, -probability, np.inf), axis=1, kind="stable")[:, :count]
    chosen = np.zeros(unknown.shape, dtype=bool)
    np.put_along_axis(chosen, ranked, True, axis=1)
    return chosen & unknown


def _largest(values: Floats, unknown: Mask, count: int) -> Mask:
    among = values[unknown]
    if count >= len(among):
        return unknown.copy()
    chosen = np.zeros(unknown.size, dtype=bool)
    if count > 0:
        among.partition(len(among) - count)
        places = np.flatnonzero(unknown & (values >= among[len(among) - count]))
        order = np.argsort(-values.ravel()[places], kind="stable")[:count]
        chosen[places[order]] = True
    return chosen.reshape(unknown.shape)
