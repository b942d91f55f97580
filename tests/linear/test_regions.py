"""Heads that see an image as a whole and in regions."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tagfill.evaluate import mean_average_precision
from tagfill.linear import Choice, fit_head, out_of_fold
from tagfill.linear import regions as module
from tagfill.linear.basis import Basis, Transform, rooted
from tagfill.linear.choose import Chooser
from tagfill.linear.regional_cost import RegionalCost
from tagfill.linear.regions import RegionFeatures, Regions, refined, scores, whole
from tagfill.linear.solve import solve
from tagfill.models.plain_heads import LinearConfig, LinearHead

IMAGES, WIDTH, CLASSES = 240, 10, 4


def _data(seed: int, images: int = IMAGES) -> tuple[np.ndarray, np.ndarray]:
    """Every tag that is there changes the features of one of nine regions."""
    draw = np.random.default_rng(seed)
    looks = np.random.default_rng(99).normal(size=(CLASSES, WIDTH)) * 3
    truth = (draw.random((images, CLASSES)) < 0.3).astype(np.int8)
    truth[truth.sum(1) == 0, 0] = 1
    grid = np.abs(draw.normal(size=(images, 9, WIDTH)))
    for row, tag in np.argwhere(truth == 1):
        grid[row, draw.integers(9)] += np.abs(looks[tag])
    return grid.transpose(0, 2, 1).reshape(images, WIDTH, 3, 3).astype(np.float32), truth


def _one_each(truth: np.ndarray) -> np.ndarray:
    draw, observed = np.random.default_rng(5), np.full_like(truth, -1)
    for row, tags in enumerate(truth):
        observed[row, draw.choice(np.flatnonzero(tags))] = 1
    return observed


def _mean_ap(logits: np.ndarray, truth: np.ndarray) -> float:
    return float(mean_average_precision(logits, truth).mAP)


@pytest.mark.parametrize("images", [5, 40], ids=["few axes", "many axes"])
@pytest.mark.parametrize("transform", ["plain", "roots", "standard"])
def test_slopes_are_those_of_automatic_differentiation(transform: Transform, images: int) -> None:
    grids, truth = _data(0, images)
    basis = Basis.of(whole(grids), transform)
    objective = Choice().objective(torch.from_numpy(_one_each(truth)))
    problem = module._WithRegions(basis, Regions(basis, grids), objective, 0.1)
    inner = torch.randn(len(basis.sums) + 1, CLASSES, generator=torch.manual_seed(0))
    _, slopes = problem(inner)

    leaf = inner.double().requires_grad_()
    weight, bias = problem.scale.double() * leaf[:-1], problem.lift * leaf[-1]
    cells = torch.from_numpy(grids).double().flatten(2).mT
    images = cells.mean(1)
    if transform == "roots":
        images, cells = rooted(images), rooted(cells.flatten(0, 1)).view(cells.shape)
    turn = basis.scale[:, None] * basis.axes
    logits = [(part - basis.center) @ turn @ weight + bias for part in (images, cells)]
    value = (logits[0] + logits[1].amax(1)) / 2
    _, outer = objective(value.detach().float(), slice(None))
    penalty = 0.5 * (problem.pull.double() * leaf[:-1].square()).sum()
    total = ((value * outer.double()).sum() + penalty) / len(grids)
    (expected,) = torch.autograd.grad(total, leaf)
    np.testing.assert_allclose(slopes.numpy(), expected.numpy(), atol=2e-4, rtol=2e-3)


def test_regions_find_what_fills_a_part_of_the_picture() -> None:
    grids, truth = _data(1)
    unseen, wanted = _data(2, 600)
    observed = _one_each(truth)
    regional, plain = fit_head(grids, observed), fit_head(whole(grids), observed)
    assert regional.choice.writer == plain.choice.writer
    assert regional.choice.transform == plain.choice.transform
    gain = _mean_ap(regional.logits(unseen), wanted) - _mean_ap(plain.logits(whole(unseen)), wanted)
    assert gain > 0.03


def test_refining_is_better_than_only_looking_at_regions() -> None:
    grids, truth = _data(3)
    unseen, wanted = _data(4, 600)
    labels = torch.from_numpy(_one_each(truth))
    choice = Choice(strength=0.1, transform="roots")
    basis, objective = Basis.of(whole(grids), "roots"), choice.objective(labels)
    start = solve(basis, objective, choice.strength)
    better = refined(basis, Regions(basis, grids), objective, choice.strength, start)
    others = RegionFeatures(unseen, "roots")
    maps = []
    for solution in (start, better):
        weight, bias = (part.float() for part in basis.head(solution.weight, solution.bias))
        by_whole = rooted(torch.from_numpy(whole(unseen))) @ weight.T + bias
        logits = (by_whole + others.best(weight.T, bias)) / 2
        maps.append(_mean_ap(logits.numpy(), wanted))
    assert maps[1] > maps[0]


def test_the_head_of_the_network_gives_the_same_logits() -> None:
    grids, truth = _data(5)
    fitted = fit_head(grids, truth, choice=Choice("each", 1.0, transform="roots"))
    head = LinearHead(WIDTH, CLASSES, LinearConfig(power=0.5, unit=True, regions=True)).eval()
    with torch.no_grad():
        head.classifier.weight.copy_(torch.from_numpy(fitted.weight))
        head.classifier.bias.copy_(torch.from_numpy(fitted.bias))
        logits = head(torch.from_numpy(grids)).logits.numpy()
    np.testing.assert_allclose(fitted.logits(grids), logits, atol=0.02)


def test_the_strength_is_chosen_by_regions() -> None:
    grids, truth = _data(12)
    observed = _one_each(truth)
    chosen = fit_head(grids, observed).choice
    of_whole = fit_head(whole(grids), observed).choice
    chooser = Chooser(whole(grids), torch.from_numpy(observed))
    cost = RegionalCost(chooser, grids, of_whole.transform)
    assert chosen.strength > of_whole.strength
    assert cost(chosen) < cost(of_whole)


@pytest.mark.parametrize("close", [0.0, np.inf])
def test_regions_decide_between_transforms_that_are_close(
    close: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    class StandardIsBest:
        def __init__(self, chooser: Chooser, features: np.ndarray, transform: Transform) -> None:
            self.transform = transform

        def __call__(self, choice: Choice) -> float:
            assert choice.transform == self.transform
            return float(choice.transform != "standard")

    grids, truth = _data(12)
    of_whole = fit_head(whole(grids), _one_each(truth)).choice
    monkeypatch.setattr("tagfill.linear.choose.CLOSE", close)
    monkeypatch.setattr("tagfill.linear.fit.RegionalCost", StandardIsBest)
    chosen = fit_head(grids, _one_each(truth)).choice
    assert of_whole.transform != "standard"
    assert chosen.transform == ("standard" if close else of_whole.transform)


def test_many_images_are_transformed_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    grids, truth = _data(6)
    kept = fit_head(grids, truth)
    monkeypatch.setattr(module, "_KEPT", 0)
    streamed = fit_head(grids, truth)
    assert streamed.choice.transform == kept.choice.transform
    both = np.corrcoef(streamed.logits(grids).ravel(), kept.logits(grids).ravel())
    assert both[0, 1] > 0.999  # half precision moves which region is the best one


def test_no_image_is_scored_by_a_head_that_has_seen_it() -> None:
    grids, truth = _data(7, 60)
    choice = Choice("each", 1.0, strength=1e-4, transform="plain")
    before = out_of_fold(grids, truth, choice, folds=3)
    changed = truth.copy()
    changed[0] = 1 - changed[0]
    after = out_of_fold(grids, changed, choice, folds=3)
    np.testing.assert_array_equal(before[0], after[0])
    assert not np.array_equal(before, after)


def test_scores_without_regions_are_those_of_the_whole() -> None:
    grids, truth = _data(8, 50)
    basis = Basis.of(whole(grids), "plain")
    solution = solve(basis, Choice("each", 1.0).objective(torch.from_numpy(truth)), 0.1)
    rows = torch.arange(7)
    torch.testing.assert_close(scores(basis, solution, None, rows), solution.scores(basis, rows))


def test_half_precision_and_rows_on_disk_will_do() -> None:
    class OnDisk:
        """Rows that are no array."""

        def __init__(self, rows: np.ndarray) -> None:
            self.rows, self.shape = rows, rows.shape

        def __len__(self) -> int:
            return len(self.rows)

        def __getitem__(self, rows: object) -> np.ndarray:
            return self.rows[rows]

    grids, truth = _data(9, 80)
    half = grids.astype(np.float16)
    disk = fit_head(OnDisk(half), truth)
    np.testing.assert_array_equal(disk.weight, fit_head(half, truth).weight)


@pytest.mark.parametrize(
    ("images", "classes", "value"),
    [(1, 1, None), (2, 3, None), (3, 1, None), (20, 300, None), (30, 4, 1.0), (30, 4, 0.0)],
)
def test_few_images_many_classes_and_features_that_say_nothing(
    images: int, classes: int, value: float | None
) -> None:
    draw = np.random.default_rng(0)
    grids = np.abs(draw.normal(size=(images, 16, 3, 3))).astype(np.float32)
    if value is not None:
        grids[:] = value
    labels = np.where(draw.random((images, classes)) < 0.3, 1, -1).astype(np.int8)
    labels[0, 0] = 1
    head = fit_head(grids, labels)
    assert np.isfinite(head.logits(grids)).all()
    if images > 1:
        assert np.isfinite(out_of_fold(grids, labels, head.choice, folds=2)).all()
