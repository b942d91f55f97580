"""Views of images, distortions of cached maps, and averages of weights, as the papers have them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image
from tests.train.toy import toy_stage

from tagfill.models.preprocess import Preprocess
from tagfill.train.inputs import FeatureInputs, TrainingViews
from tagfill.train.views import (
    CUT,
    CUTOUT_SIDE,
    DROPPED,
    _transforms,
    crop_view,
    cut_out,
    distorted,
    strong_view,
)

TO = Preprocess(32, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
PAPER = Preprocess(448, (0.0, 0.0, 0.0), (1.0, 1.0, 1.0))


def half_white(width: int = 64) -> Image.Image:
    pixels = np.zeros((64, width, 3), np.uint8)
    pixels[:, width // 2 :] = 255
    return Image.fromarray(pixels)


def test_cutout_has_its_center_anywhere_and_is_clipped_at_the_border() -> None:
    torch.manual_seed(0)
    image = torch.zeros(3, 32, 32, dtype=torch.uint8)
    touched = torch.zeros(32, 32)
    areas = []
    for _ in range(300):
        painted = (cut_out(image) > 0).any(dim=0)
        areas.append(int(painted.sum()))
        touched += painted
    full = int((32 * CUTOUT_SIDE) ** 2)
    assert max(areas) == full
    assert min(areas) < full / 2, "at the border only a part of the square is left"
    assert (touched > 0).all()


def test_query2labels_view_is_never_flipped(monkeypatch: pytest.MonkeyPatch) -> None:
    v2 = _transforms()
    monkeypatch.setattr(v2.RandAugment, "forward", lambda self, image: image)
    monkeypatch.setattr("tagfill.train.views.CUTOUT_SIDE", 0.0)
    torch.manual_seed(0)

    def right_is_white(view: object) -> set[bool]:
        return {bool(view(half_white())[:, :, -1].mean() > 0.5) for _ in range(20)}  # type: ignore[operator]

    assert right_is_white(strong_view(TO)) == {True, False}
    assert right_is_white(strong_view(TO, flip=False)) == {True}


def test_jitter_turns_some_views_gray() -> None:
    torch.manual_seed(0)
    red = Image.fromarray(np.tile(np.array([[[200, 30, 90]]], np.uint8), (40, 40, 1)))

    def gray(jitter: bool) -> int:
        views = [strong_view(TO, jitter)(red) for _ in range(60)]
        return sum(bool((view.amax(0) - view.amin(0)).max() < 1e-6) for view in views)

    assert gray(jitter=True) > gray(jitter=False)


def test_crops_are_resized_bicubically(monkeypatch: pytest.MonkeyPatch) -> None:
    v2 = _transforms()
    made = []
    plain = v2.Resize

    class Spy(plain):  # type: ignore[misc, valid-type]
        def __init__(self, *given: object, **named: object) -> None:
            made.append(named.get("interpolation"))
            super().__init__(*given, **named)

    monkeypatch.setattr(v2, "Resize", Spy)
    crop_view(TO)
    assert made == [v2.InterpolationMode.BICUBIC] * 2


def test_constants_of_the_views_are_those_of_the_papers() -> None:
    steps = {type(step).__name__: step for step in strong_view(PAPER, jitter=True).transforms}  # type: ignore[attr-defined]
    augment = steps["RandAugment"]
    assert (augment.num_ops, augment.magnitude) == (2, 9)  # 001: Sec. 4; 000: n = 2, m = 9
    (jitter,) = steps["RandomApply"].transforms  # 001, published code
    assert steps["RandomApply"].p == 0.8
    assert jitter.brightness == jitter.contrast == jitter.saturation == (0.6, 1.4)
    assert jitter.hue == (-0.1, 0.1)
    assert steps["RandomGrayscale"].p == 0.2
    painted = torch.zeros(3, 448, 448, dtype=torch.uint8)
    areas = [int((cut_out(painted) > 0).any(dim=0).sum()) for _ in range(100)]
    assert max(areas) == 224 * 224  # 001: Cutout factor 0.5

    resize, choice, last, _ = crop_view(PAPER).transforms[:4]  # type: ignore[attr-defined]
    assert list(resize.size) == [512, 512]  # 002, published code
    assert [crop.size[0] for crop in choice.transforms] == [512, 448, 384, 320, 256]
    assert list(last.size) == [448, 448]


def test_distortion_depends_on_seed_and_row_alone() -> None:
    maps = torch.rand(6, 10, 4, 4) + 1
    rows = torch.tensor([3, 1, 40, 7, 0, 2])
    once = distorted(maps, rows, seed=5)
    assert torch.equal(distorted(maps[2:4], rows[2:4], seed=5), once[2:4])
    assert not torch.equal(distorted(maps, rows, seed=6), once)


def test_distortion_flips_cuts_and_drops() -> None:
    maps = (torch.arange(8.0) + 1).expand(400, 50, 8, 8)
    seen = distorted(maps, torch.arange(400), seed=1)
    gone = (seen == 0).all(dim=(2, 3))
    assert float(gone.float().mean()) == pytest.approx(DROPPED, abs=0.01)
    covered = (seen == 0).all(dim=1).float().mean(dim=(1, 2))
    assert 0 < covered.min() < covered.max() <= CUT**2
    first_row = seen.amax(dim=(1, 2))
    flipped = first_row[:, 0] > first_row[:, -1]
    assert 0.4 < flipped.float().mean() < 0.6
    pooled = distorted(torch.ones(400, 50), torch.arange(400), seed=1)
    assert float((pooled == 0).float().mean()) == pytest.approx(DROPPED, abs=0.01)


def test_strong_views_of_cached_maps_are_fresh_in_every_epoch() -> None:
    maps = torch.rand(5, 3, 4, 4)
    fresh = FeatureInputs(maps, [maps], fresh=True)
    still = FeatureInputs(maps, [maps])

    def strong(inputs: FeatureInputs, epoch: int) -> torch.Tensor:
        (batch,) = inputs.batches([torch.arange(5)], epoch)
        assert torch.equal(batch.weak, maps)
        assert batch.strong is not None
        return batch.strong

    assert not torch.equal(strong(fresh, 1), strong(fresh, 2))
    assert torch.equal(strong(fresh, 1), strong(fresh, 1))
    assert torch.equal(strong(still, 1), strong(still, 2))


def test_training_views_are_what_batches_give() -> None:
    epochs = []

    class Noted(FeatureInputs):
        def batches(self, order, epoch):  # type: ignore[no-untyped-def]
            epochs.append(epoch)
            return super().batches(order, epoch)

    inputs = Noted(torch.rand(70, 3))
    shown = torch.cat(list(TrainingViews(inputs, 4).plain(range(10, 70))))
    assert torch.equal(shown, inputs.features[10:70])
    assert epochs == [-4], "drawn apart from those an epoch trains on"


def test_average_of_weights_with_and_without_warm_up() -> None:
    constant = toy_stage("an", ema=0.9997, ema_warmup=False, epochs=1)
    warmed = toy_stage("an", ema=0.9997, epochs=1)
    start = {name: value.clone() for name, value in constant.trained.state_dict().items()}
    for stage in (constant, warmed):
        stage.run()

    def moved(stage: object) -> float:
        after = stage.ema.module.state_dict()  # type: ignore[attr-defined]
        return max(float((after[name] - start[name]).abs().max()) for name in start)

    assert moved(constant) < 1e-3 < moved(warmed)


def test_a_schedule_may_be_planned_for_more_epochs_than_are_trained() -> None:
    whole = toy_stage("an", schedule="one_cycle", epochs=4)
    part = toy_stage("an", schedule="one_cycle", epochs=2, schedule_epochs=4)
    for stage in (whole, part):
        stage.run()
    rates = [[record["learning_rate"] for record in stage.history] for stage in (whole, part)]
    assert rates[1] == rates[0][:2]
    assert rates[1][-1] > rates[0][-1]
