"""The likelihood of written tags against enumeration of all label sets."""

from __future__ import annotations

from itertools import combinations, product

import pytest
import torch
from tests.losses.tester import OBSERVED, check_loss, random_logits
from torch import Tensor

from tagfill.losses.likelihood import (
    Writer,
    each_written,
    posterior,
    some_written,
    spread_penalty,
    value_and_gradient,
    written_tags_nll,
)

ROWS = torch.tensor(
    [
        [1, -1, -1, -1, -1, -1, -1, -1],
        [1, 1, -1, 0, -1, -1, 0, -1],
        [1, 1, 1, -1, -1, 0, -1, -1],
        [-1, -1, -1, -1, 0, -1, -1, -1],
        [1, 0, 0, 0, 1, 0, 0, 1],
        [1, 1, 1, 1, 1, -1, -1, -1],
    ],
    dtype=torch.int8,
)
WRITTEN = torch.tensor([1, 1, 2, 0, 3, 5])


def by_enumeration(logits: Tensor, labels: Tensor, chance: object) -> tuple[Tensor, Tensor]:
    """P(labels) and P(labels and y_j = 1) of one image, summed over all sets of tags."""
    p, total, with_tag = logits.sigmoid(), torch.zeros(()).double(), torch.zeros(8).double()
    for bits in product((0, 1), repeat=len(labels)):
        y = torch.tensor(bits)
        if ((labels >= 0) & (y != labels)).any():
            continue
        weight = torch.where(y == 1, p, 1 - p).prod() * chance(y, labels)  # type: ignore[operator]
        total, with_tag = total + weight, with_tag + weight * y
    return total, with_tag


def any_of(written: int):
    """Chance that exactly these tags were written when any ``written`` are equally likely."""

    def chance(y: Tensor, labels: Tensor) -> float:
        there = [place for place in range(len(y)) if y[place] == 1]
        return 1 / max(len(list(combinations(there, written))), 1)

    return chance


def each_with(share: float):
    """Chance of the unknown entries not being written when each tag is by itself."""

    def chance(y: Tensor, labels: Tensor) -> float:
        return (1 - share) ** int(((labels < 0) & (y == 1)).sum())

    return chance


@pytest.mark.parametrize("row", range(len(ROWS)))
def test_any_n_of_the_tags_against_all_label_sets(row: int) -> None:
    labels, written = ROWS[row : row + 1], WRITTEN[row : row + 1]
    logits = random_logits(labels.shape, seed=row)
    writer = some_written(labels, written)
    total, with_tag = by_enumeration(logits[0], labels[0], any_of(int(written)))
    torch.testing.assert_close(written_tags_nll(logits, labels, writer)[0], -total.log())
    torch.testing.assert_close(posterior(logits, labels, writer)[0], with_tag / total)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_each_with_a_chance_against_all_label_sets(share: float) -> None:
    logits = random_logits(ROWS.shape)
    writer = each_written(ROWS, share)
    for row, (scores, labels) in enumerate(zip(logits, ROWS, strict=True)):
        total, with_tag = by_enumeration(scores, labels, each_with(share))
        torch.testing.assert_close(written_tags_nll(logits, ROWS, writer)[row], -total.log())
        torch.testing.assert_close(posterior(logits, ROWS, writer)[row], with_tag / total)


def test_all_ones_count_as_written_unless_told_otherwise() -> None:
    ones = (ROWS == 1).sum(1)
    for default, told in zip(some_written(ROWS), some_written(ROWS, ones), strict=True):
        torch.testing.assert_close(default, told)


def test_many_classes_stay_close_to_the_exact_count() -> None:
    """80 classes, three written: the chance of the others against their exact distribution."""
    labels = torch.full((1, 80), -1, dtype=torch.int8)
    labels[0, :3] = 1
    logits = random_logits(labels.shape, seed=5) - 3
    count = torch.ones(1).double()  # distribution of the number of further tags
    for p in logits[0, 3:].sigmoid():
        count = torch.cat([count * (1 - p), torch.zeros(1)]) + torch.cat(
            [torch.zeros(1), count * p]
        )
    more = torch.arange(len(count)).double()
    choices = torch.exp(torch.lgamma(more + 4) - torch.lgamma(more + 1)) / 6
    exact = logits[0, :3].sigmoid().prod() * (count / choices).sum()
    nll = written_tags_nll(logits, labels, some_written(labels))[0]
    torch.testing.assert_close(nll, -exact.log(), atol=1e-6, rtol=1e-6)


def plain_some(logits: Tensor, observed: Tensor) -> Tensor:
    """Numerical integration by brute force, 4,000 points."""
    t = ((torch.arange(4000) + 0.5) / 4000).double()
    p, n = logits.sigmoid(), (observed == 1).sum(1)
    known = torch.where(observed == 1, p, torch.where(observed == 0, 1 - p, 1.0)).log().sum(1)
    unwritten = torch.where(
        observed[..., None] < 0, (1 - p[..., None]) + p[..., None] * t, 1.0
    ).prod(1)
    weight = torch.where(n[:, None] > 0, n[:, None] * (1 - t) ** (n[:, None] - 1.0), 1.0)
    whole = torch.where(n > 0, (unwritten * weight).mean(1), 1.0)
    return -(known + whole.log())


def test_losses_pass_what_every_loss_must() -> None:
    check_loss(
        lambda logits, observed: written_tags_nll(logits, observed, some_written(observed)),
        lambda logits, observed: _close(logits, observed),
    )
    check_loss(
        lambda logits, observed: written_tags_nll(logits, observed, each_written(observed, 0.4)),
        lambda logits, observed: torch.where(
            observed == 1,
            -logits.sigmoid().log(),
            torch.where(
                observed == 0, -(-logits).sigmoid().log(), -(1 - 0.4 * logits.sigmoid()).log()
            ),
        ).sum(1),
    )


def _close(logits: Tensor, observed: Tensor) -> Tensor:
    """By enumeration, differentiable."""
    rows = []
    for scores, labels in zip(logits, observed, strict=True):
        total = torch.zeros(()).to(logits)
        for bits in product((0, 1), repeat=observed.shape[1]):
            y = torch.tensor(bits)
            if ((labels >= 0) & (y != labels)).any():
                continue
            p = scores.sigmoid()
            chance = any_of(int((labels == 1).sum()))(y, labels)
            total = total + torch.where(y == 1, p, 1 - p).prod() * chance
        rows.append(-total.log())
    return torch.stack(rows)


def test_integral_agrees_with_brute_force() -> None:
    logits = random_logits(OBSERVED.shape, seed=3)
    nll = written_tags_nll(logits, OBSERVED, some_written(OBSERVED))
    torch.testing.assert_close(nll, plain_some(logits, OBSERVED), atol=1e-5, rtol=1e-5)


def test_the_gradient_is_the_derivative() -> None:
    logits = random_logits(ROWS.shape).requires_grad_()
    writer = some_written(ROWS, WRITTEN)
    torch.autograd.gradcheck(lambda g: written_tags_nll(g, ROWS, writer), (logits,))
    (by_autograd,) = torch.autograd.grad(written_tags_nll(logits, ROWS, writer).sum(), logits)
    torch.testing.assert_close(value_and_gradient(logits, ROWS, writer)[1], by_autograd)


def test_full_labels_are_plain_cross_entropy_under_every_writer() -> None:
    full = torch.tensor([[1, 0, 0, 1], [0, 0, 0, 0]], dtype=torch.int8)
    logits = random_logits(full.shape)
    plain = torch.nn.functional.binary_cross_entropy_with_logits(
        logits, full.double(), reduction="none"
    ).sum(1)
    for writer in (some_written(full), each_written(full, 0.7), each_written(full, 0.0)):
        torch.testing.assert_close(written_tags_nll(logits, full, writer), plain)


def test_one_class_and_an_image_without_tags() -> None:
    single = torch.tensor([[1], [-1], [0]], dtype=torch.int8)
    logits = random_logits(single.shape)
    value = written_tags_nll(logits, single, some_written(single))
    torch.testing.assert_close(value[1], torch.zeros(()).double())
    torch.testing.assert_close(value[0], -logits[0, 0].sigmoid().log())
    torch.testing.assert_close(
        posterior(logits, single, some_written(single))[1], logits[1].sigmoid()
    )


def test_rows_of_a_writer_belong_to_their_images() -> None:
    some = torch.tensor([4, 1])
    whole = some_written(ROWS, WRITTEN).rows(some)
    own: Writer = some_written(ROWS[some], WRITTEN[some])
    torch.testing.assert_close(whole.unwritten, own.unwritten)
    torch.testing.assert_close(whole.log_weight, own.log_weight)


def test_the_spread_penalty_is_least_at_zero() -> None:
    grid = torch.linspace(-3, 3, 61)
    assert int(spread_penalty(grid).argmin()) == 30
    torch.testing.assert_close(spread_penalty(torch.zeros(1)), torch.log(torch.tensor([4.0])))
