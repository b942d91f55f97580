"""Large loss in training: how many entries, when, and what stays; BoostLU on top."""

from __future__ import annotations

import pytest
import torch

from tagfill import methods
from tagfill.errors import TagfillError
from tagfill.losses.assume import assume_negative
from tagfill.losses.selection import large_loss_correction, large_loss_rejection, largest_unknown
from tagfill.methods.base import Setup, Step
from tagfill.models.output import Output
from tagfill.models.plain_heads import CamConfig, CamHead, boosted_logits

IMAGES, CLASSES = 20, 5
ROWS = torch.tensor([2, 7, 11, 19])


def labels() -> torch.Tensor:
    observed = torch.full((IMAGES, CLASSES), -1, dtype=torch.int8)
    observed[torch.arange(IMAGES), torch.arange(IMAGES) % CLASSES] = 1
    observed[torch.arange(IMAGES), (torch.arange(IMAGES) + 1) % CLASSES] = 0
    return observed


def started(name: str, **settings):
    method = methods.make(name, settings)
    method.start(Setup(labels(), epochs=10, steps_per_epoch=5))
    return method


def step(epoch: int, seed: int = 0, rows: torch.Tensor = ROWS) -> Step:
    generator = torch.Generator().manual_seed(seed)
    maps = torch.randn(len(rows), CLASSES, 3, 3, generator=generator)
    return Step(Output(maps.mean((2, 3)), maps=maps), labels()[rows], rows, epoch, step=0)


def test_first_epoch_is_assume_negative():
    for name in ("ll_r", "ll_ct", "ll_cp"):
        view = step(epoch=1)
        expected = assume_negative(view.output.logits, view.observed).mean()
        torch.testing.assert_close(started(name, delta=0.3).loss(view)[name], expected)


@pytest.mark.parametrize(
    ("name", "loss"), [("ll_r", large_loss_rejection), ("ll_ct", large_loss_correction)]
)
@pytest.mark.parametrize(("epoch", "count"), [(2, 2), (3, 4), (4, 6), (10, 18)])
def test_modified_entries_grow_with_the_epochs(name, loss, epoch, count):
    view = step(epoch)
    expected = loss(view.output.logits, view.observed, count=count).mean()
    torch.testing.assert_close(started(name, delta=0.1).loss(view)[name], expected)


def test_permanent_corrections_stay_and_free_their_place():
    method = started("ll_cp", delta=0.1)
    for epoch in (2, 2, 3):
        view = step(epoch)
        known = torch.where(method.corrected[ROWS], 1, view.observed)
        loss = large_loss_correction(view.output.logits, known, count=2).mean()
        torch.testing.assert_close(method.loss(view)["ll_cp"], loss)
        fresh = largest_unknown(view.output.logits, known, 2)
        before = method.corrected.clone()
        method.after_step(view)
        assert torch.equal(method.corrected[ROWS], before[ROWS] | fresh)
    assert method.corrected.sum() == 6
    others = torch.ones(IMAGES, dtype=torch.bool)
    others[ROWS] = False
    assert not method.corrected[others].any()


def test_permanent_corrections_never_touch_observed_entries():
    method = started("ll_cp", delta=1.0)
    method.after_step(step(epoch=2))
    assert torch.equal(method.corrected[ROWS], labels()[ROWS] == -1)
    estimates = method.estimates()
    assert (estimates[labels() == 0] == 0).all()
    assert (estimates[labels() == 1] == 1).all()
    assert (estimates[ROWS][labels()[ROWS] == -1] == 1).all()


def test_nothing_is_corrected_in_the_first_epoch():
    method = started("ll_cp", delta=1.0)
    method.after_step(step(epoch=1))
    assert not method.corrected.any()


def test_permanent_corrections_survive_a_restart():
    first, second = started("ll_cp", delta=0.1), started("ll_cp", delta=0.1)
    first.after_step(step(epoch=2))
    second.load_state(first.state())
    view = step(epoch=3, seed=1)
    assert first.loss(view) == second.loss(view)


def test_published_rates():
    def rates(name):
        return [methods.find(name).PRESETS[key].delta for key in ("voc", "coco", "nus", "cub")]

    assert rates("ll_r") == [0.002, 0.004, 0.004, 0.004]
    assert rates("ll_ct") == [0.002, 0.002, 0.002, 0.004]
    assert rates("ll_cp") == [0.001, 0.002, 0.002, 0.002]


@pytest.mark.parametrize("base", ["an", "ll_r", "ll_ct", "ll_cp"])
def test_boosted_maps_are_the_base_on_boosted_logits(base):
    settings = {} if base == "an" else {"delta": 0.1}
    view = step(epoch=3)
    boosted = Step(
        Output(boosted_logits(view.output.maps, alpha=5)), view.observed, ROWS, epoch=3, step=0
    )
    assert started("boostlu", base=base, **settings).loss(view) == started(base, **settings).loss(
        boosted
    )


def test_boost_of_one_changes_nothing():
    view = step(epoch=3)
    plain = started("ll_r", delta=0.005).loss(view)["ll_r"]
    torch.testing.assert_close(started("boostlu", alpha=1.0).loss(view)["ll_r"], plain)


def test_boosted_maps_keep_the_state_of_their_base():
    first, second = (started("boostlu", base="ll_cp", delta=0.1) for _ in range(2))
    first.after_step(step(epoch=2))
    chosen = largest_unknown(boosted_logits(step(epoch=2).output.maps, alpha=5), labels()[ROWS], 2)
    assert torch.equal(first.state()["base.corrected"][ROWS], chosen)
    second.load_state(first.state())
    assert torch.equal(first.estimates(), second.estimates())
    assert first.needs.state
    assert not started("boostlu").needs.state


def test_the_head_predicts_what_the_method_trains():
    head = CamHead(channels=3, classes=CLASSES, config=CamConfig(boost=5.0))
    output = head(torch.randn(2, 3, 4, 4))
    torch.testing.assert_close(output.logits, boosted_logits(output.maps, alpha=5))


def test_boosted_maps_need_maps():
    view = step(epoch=2)
    without = Step(Output(view.output.logits), view.observed, ROWS, epoch=2, step=0)
    with pytest.raises(TagfillError, match="class-activation maps"):
        started("boostlu").loss(without)


@pytest.mark.parametrize(
    ("name", "settings"),
    [("ll_r", {"delta": 2.0}), ("ll_cp", {"delta": -0.1}), ("boostlu", {"base": "em"})],
)
def test_senseless_settings_are_refused(name, settings):
    with pytest.raises(TagfillError):
        methods.make(name, settings)
