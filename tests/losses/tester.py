"""What every loss must satisfy, as one call.

    from tests.losses.tester import check_loss

    def plain(logits, observed):          # the formula as the paper prints it, float64
        p = logits.sigmoid()
        return torch.where(observed == 1, -p.log(), -(1 - p).log())

    def test_assume_negative():
        check_loss(assume_negative, plain, bce_when_full=True)

A loss with further arguments is wrapped first: ``partial(weak_negative, gamma=0.5)``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor

Loss = Callable[[Tensor, Tensor], Tensor]
"""(logits [N, K], observed [N, K] of 1, 0, -1) -> [N, K], [N], [K] or scalar."""

OBSERVED = torch.tensor(
    [[1, -1, -1, 0], [-1, -1, 1, -1], [1, 1, 0, 0], [-1, 0, -1, -1], [-1, -1, -1, 1]],
    dtype=torch.int8,
)
"""Every mixture of label states a batch can hold, with different numbers of rows and columns."""

FULL = torch.tensor([[1, 0, 0, 0], [0, 1, 1, 0], [1, 1, 0, 1]], dtype=torch.int8)
"""Labels without an unknown entry."""


def random_logits(shape: torch.Size | tuple[int, ...], seed: int = 0, scale: float = 2.0) -> Tensor:
    """Float64 logits without ties."""
    generator = torch.Generator().manual_seed(seed)
    return scale * torch.randn(shape, generator=generator, dtype=torch.float64)


def check_loss(
    loss: Loss,
    plain: Loss,
    *,
    observed: Tensor = OBSERVED,
    bce_when_full: bool = False,
    gradcheck: bool = True,
    permute_classes: bool = True,
    extreme: float = 100.0,
) -> None:
    """All checks below.

    Args:
        loss: the function under test.
        plain: the same by the book, in any slow or unstable way.
        observed: [N, K] labels to check on.
        bce_when_full: the loss is plain cross-entropy when nothing is unknown.
        gradcheck: compare the gradient with finite differences; switch off for losses with a
            deliberate stop-gradient, whose derivative is not that of their value.
        permute_classes: classes are interchangeable.
        extreme: the largest logit that must give finite values and gradients in float32.
    """
    check_value(loss, plain, observed)
    check_gradient(loss, plain, observed)
    check_permutation(loss, observed, classes=permute_classes)
    check_finite(loss, observed, extreme)
    check_bfloat16(loss, observed)
    check_float16(loss, observed)
    check_inputs_untouched(loss, observed)
    if gradcheck:
        check_gradcheck(loss, observed)
    if bce_when_full:
        check_bce_when_full(loss)


def check_value(loss: Loss, plain: Loss, observed: Tensor = OBSERVED) -> None:
    """The value is the plain formula's."""
    for seed in range(3):
        logits = random_logits(observed.shape, seed)
        torch.testing.assert_close(loss(logits, observed), plain(logits, observed))


def check_gradient(loss: Loss, plain: Loss, observed: Tensor = OBSERVED) -> None:
    """The gradient is autograd's of the plain formula."""
    for seed in range(3):
        logits = random_logits(observed.shape, seed)
        torch.testing.assert_close(
            gradient(loss, logits, observed), gradient(plain, logits, observed)
        )


def check_gradcheck(loss: Loss, observed: Tensor = OBSERVED) -> None:
    """The gradient is that of finite differences."""
    logits = random_logits(observed.shape).requires_grad_()
    assert torch.autograd.gradcheck(lambda scores: loss(scores, observed), (logits,))


def check_permutation(loss: Loss, observed: Tensor = OBSERVED, *, classes: bool = True) -> None:
    """Reordering images (and classes) reorders the terms and changes nothing else."""
    logits = random_logits(observed.shape)
    rows, columns = torch.arange(observed.shape[0]).flip(0), torch.arange(observed.shape[1])
    if classes:
        columns = columns.roll(1)
    straight = loss(logits, observed)
    moved = loss(logits[rows][:, columns], observed[rows][:, columns])
    torch.testing.assert_close(moved, _reorder(straight, observed, rows, columns))


def check_finite(loss: Loss, observed: Tensor = OBSERVED, extreme: float = 100.0) -> None:
    """Values and gradients stay finite for large logits of either sign, in float32."""
    signs = torch.sign(random_logits(observed.shape)).float()
    for logits in (extreme * signs, -extreme * signs, torch.zeros(observed.shape), 30 * signs):
        assert torch.isfinite(loss(logits, observed)).all(), f"loss at {logits.abs().max()}"
        assert torch.isfinite(gradient(loss, logits, observed)).all(), (
            f"gradient at {logits.abs().max()}"
        )


def check_bfloat16(loss: Loss, observed: Tensor = OBSERVED) -> None:
    """In bfloat16, as mixed precision gives it, values and gradients are those of float32, rounded.

    Logits are multiples of 1/8 below 8, which bfloat16 holds exactly.
    """
    logits = (random_logits(observed.shape) * 8).round().clamp(-63, 63) / 8
    logits += torch.arange(logits.numel()).view_as(logits) % 2 / 8  # no ties in a row
    half, single = logits.bfloat16(), logits.float()
    for value in (loss, partial(gradient, loss)):
        close = {"rtol": 0.05, "atol": 0.02, "check_dtype": False}
        torch.testing.assert_close(value(half, observed), value(single, observed), **close)


def check_float16(loss: Loss, observed: Tensor = OBSERVED, extreme: float = 1000.0) -> None:
    """In float16 a large batch overflows nothing: values are those of float32, gradients finite."""
    unreduced = loss(torch.zeros(observed.shape), observed).ndim == 2
    copies = 1 if unreduced else 2_000
    labels = observed.repeat(copies, 1)
    signs = torch.sign(random_logits(observed.shape)).repeat(copies, 1)
    for scale in (extreme, 30.0, 8.0, 0.0):
        half = (scale * signs).half()
        assert torch.isfinite(gradient(loss, half, labels)).all(), f"gradient at {scale}"
        torch.testing.assert_close(
            loss(half, labels), loss(half.float(), labels), rtol=2e-3, atol=2e-3, check_dtype=False
        )


def check_bce_when_full(loss: Loss, labels: Tensor = FULL) -> None:
    """Without unknown entries the loss is binary cross-entropy (its mean, if it is a scalar)."""
    logits = random_logits(labels.shape)
    value = loss(logits, labels)
    reduction = "mean" if value.ndim == 0 else "none"
    torch.testing.assert_close(
        value, F.binary_cross_entropy_with_logits(logits, labels.double(), reduction=reduction)
    )


def check_inputs_untouched(loss: Loss, observed: Tensor = OBSERVED) -> None:
    """Neither logits nor labels are written to."""
    logits = random_logits(observed.shape)
    kept_logits, kept_observed = logits.clone(), observed.clone()
    loss(logits, observed)
    assert torch.equal(logits, kept_logits)
    assert torch.equal(observed, kept_observed)


def gradient(loss: Loss, logits: Tensor, observed: Tensor) -> Tensor:
    """d sum(loss) / d logits."""
    leaf = logits.detach().clone().requires_grad_()
    (result,) = torch.autograd.grad(loss(leaf, observed).sum(), leaf)
    return result


def _reorder(value: Tensor, observed: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
    if value.shape == observed.shape:
        return value[rows][:, columns]
    if value.ndim == 1:
        return value[rows] if len(value) == len(rows) else value[columns]
    return value
