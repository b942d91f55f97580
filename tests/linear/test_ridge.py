"""Ridge in closed form against its definition."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tagfill.linear.ridge import Ridge, Sums, ridge


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
    by_formula = family.leave_one_out([(features, targets)], [0.3])[0]
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


def test_blocks_do_not_matter_and_the_strength_is_the_best(
    rows: tuple[torch.Tensor, torch.Tensor],
) -> None:
    whole, pieces = ridge(*rows), ridge(*rows, block=7)
    torch.testing.assert_close(whole[0], pieces[0])
    assert whole[2] == pieces[2]
    sums = Sums(6, 2)
    sums.add(*rows)
    errors = Ridge.of(sums).leave_one_out([rows], [whole[2], whole[2] * 10, whole[2] / 10])
    assert errors.argmin() == 0
