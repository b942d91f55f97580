"""Ridge in closed form against its definition."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tagfill.linear.problem import LinearProblem
from tagfill.linear.ridge import Ridge, Sums, ridge
from tagfill.methods.ridge import Config, build


@pytest.fixture
def rows() -> tuple[torch.Tensor, torch.Tensor]:
    draw = np.random.default_rng(0)
    features = draw.normal(size=(30, 6)) + 3
    targets = (features @ draw.normal(size=(6, 2)) + draw.normal(size=(30, 2)) > 0).astype(float)
    return torch.from_numpy(features), torch.from_numpy(targets)


def test_leave_one_out_is_what_leaving_out_gives(rows: tuple[torch.Tensor, torch.Tensor]) -> None:
    features, targets = rows
    sums = Sums(6, 2)
    sums.add(features, targets)
    family = Ridge.of(sums)
    penalty = 0.3 * family.typical
    errors = []
    for left in range(len(features)):
        keep = [row for row in range(len(features)) if row != left]
        x, y = features[keep], targets[keep]
        center, mean = x.mean(0), y.mean(0)
        moment = (x - center).T @ (x - center) + penalty * torch.eye(6).double()
        weight = torch.linalg.solve(moment, (x - center).T @ (y - mean))
        errors.append(((targets[left] - mean - (features[left] - center) @ weight) ** 2).mean())
    by_formula = family.leave_one_out([(features, targets)], [0.3])[0] / targets.numel()
    assert by_formula == pytest.approx(float(torch.stack(errors).mean()), rel=1e-9)


def test_sums_of_two_processes_are_those_of_one(rows: tuple[torch.Tensor, torch.Tensor]) -> None:
    features, targets = rows
    whole, first, second = Sums(6, 2), Sums(6, 2), Sums(6, 2)
    whole.add(features, targets)
    first.add(features[:11], targets[:11])
    second.add(features[11:], targets[11:])
    first.merge(second)
    one, two = Ridge.of(whole).head(0.1), Ridge.of(first).head(0.1)
    torch.testing.assert_close(one[0], two[0])
    torch.testing.assert_close(one[1], two[1])


def blocks_of(rows: tuple[torch.Tensor, torch.Tensor], size: int):
    return lambda: zip(*(part.split(size) for part in rows), strict=True)


def test_blocks_do_not_matter_and_the_strength_is_the_best(
    rows: tuple[torch.Tensor, torch.Tensor],
) -> None:
    (whole, strength), (pieces, same) = ridge(blocks_of(rows, 30)), ridge(blocks_of(rows, 7))
    assert strength == same
    for one, other in zip(whole.head(strength), pieces.head(strength), strict=True):
        torch.testing.assert_close(one, other)
    errors = whole.leave_one_out([rows], [strength, strength * 10, strength / 10])
    assert errors.argmin() == 0


def test_the_loss_is_that_of_the_head(rows: tuple[torch.Tensor, torch.Tensor]) -> None:
    family, strength = ridge(blocks_of(rows, 7), 0.2)
    weight, bias = family.head(strength)
    expected = (rows[0] @ weight.T + bias - rows[1]).square().mean()
    assert family.loss(strength) == pytest.approx(float(expected), rel=1e-9)


class Watched:
    """Features that are made when they are asked for, and how many rows were asked for at once."""

    def __init__(self, *shape: int) -> None:
        self.shape, self.most, self.asked = shape, 0, 0

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: slice) -> np.ndarray:
        count = len(range(*rows.indices(len(self))))
        self.most, self.asked = max(self.most, count), self.asked + count
        draw = np.random.default_rng(rows.start)
        return draw.normal(size=(count, *self.shape[1:])).astype(np.float16)


@pytest.mark.parametrize("cells", [(), (3, 3)])
@pytest.mark.parametrize(("strength", "passes"), [(0.1, 1), ("auto", 2)])
def test_the_method_reads_blocks_and_holds_none(
    cells: tuple[int, ...], strength: float | str, passes: int
) -> None:
    """No more rows at once with three times as many images."""
    method, most = build(Config(strength)), []
    for images in (20_000, 60_000):
        features = Watched(images, 14 if cells else 128, *cells)
        labels = torch.from_numpy(np.random.default_rng(0).integers(-1, 2, (images, 2)))
        problem = LinearProblem(features, labels.to(torch.int8), transforms=("plain",))
        method.solve(problem)
        assert features.asked == passes * images
        most.append(features.most)
    assert most[0] == most[1] < 20_000
