"""SST, SARB and expected negatives: when labels are transferred, what is blended, what is kept."""

from __future__ import annotations

import pytest
import torch
from tests.methods.harness import BATCH, IMAGES, Rehearsal, known_proportion, make_truth

from tagfill import methods
from tagfill.errors import TagfillError
from tagfill.methods._state import Averages
from tagfill.methods.base import Setup, Step
from tagfill.methods.transfer import centers
from tagfill.models.output import Output

ROWS = torch.arange(IMAGES)[:BATCH]


def rehearse(name, **settings):
    return Rehearsal(name, known_proportion(make_truth()), settings=settings)


def test_sst_transfers_labels_from_the_epoch_after_its_start_on():
    rehearsal = rehearse("sst", start_epoch=1)
    assert set(rehearsal.losses(ROWS)) == {"known", "contrast", "pairs"}
    rehearsal.epoch()
    assert set(rehearsal.losses(ROWS)) == {"known", "contrast", "pairs", "within", "across"}


def test_sst_without_sure_pseudo_labels_repeats_the_known_loss():
    rehearsal = rehearse("sst", start_epoch=0, margin=1.0)
    terms = rehearsal.losses(ROWS)
    assert terms["within"] == pytest.approx(terms["known"])
    assert terms["across"] == pytest.approx(terms["known"])


def test_sst_margin_falls_to_three_quarters():
    method = methods.make("sst")
    assert [method.margin_at(epoch) for epoch in (6, 7, 14, 30)] == pytest.approx(
        [0.95, 0.925, 0.75, 0.75]
    )


def test_sst_within_an_image_is_the_mean_over_its_positives():
    method = rehearse("sst").method
    pairs = torch.logit(torch.tensor([[0.9, 0.2, 0.1, 0.1, 0.4, 0.1, 0.1, 0.1, 0.1, 0.1]]))
    observed = torch.tensor([[1, -1, 1, -1, -1]])
    within = method.within(pairs, observed)
    assert within[0, 1].item() == pytest.approx((0.9 + 0.4) / 2)
    assert within[0, 0].item() == pytest.approx((1 + 0.2) / 2)


def test_similar_features_of_known_positives_make_a_pseudo_label():
    rehearsal = rehearse("sst", start_epoch=0, margin=0.5)
    for _ in range(2):
        rehearsal.epoch()
    step = rehearsal.view(ROWS)
    similar = rehearsal.method.seen.similarity(step.output.features.detach())
    truth = make_truth()[ROWS]
    assert similar[truth == 1].mean() > similar[truth == 0].mean() + 0.5


def test_sarb_blends_from_the_epoch_after_its_start_on_and_learns_how_much():
    rehearsal = rehearse("sarb", start_epoch=1, prototypes=2)
    assert set(rehearsal.losses(ROWS)) == {"known", "contrast"}
    rehearsal.epoch()
    assert set(rehearsal.losses(ROWS)) == {"known", "contrast", "instance", "prototype"}
    before = rehearsal.method.alpha.item()
    rehearsal.epoch()
    assert rehearsal.method.alpha.item() != before
    assert 0 <= rehearsal.method.alpha.item() <= 1


def test_sarb_lends_features_of_positives_to_unknown_entries_only():
    features = torch.arange(12.0).view(2, 3, 2)
    asked = []
    method = methods.make("sarb", {"start_epoch": 0, "contrast_weight": 0.0})
    observed = torch.tensor([[1, -1, 0], [-1, -1, 1]], dtype=torch.int8)
    method.start(Setup(observed=observed, epochs=3, steps_per_epoch=1))

    def classify(blended):
        asked.append(blended.detach())
        return blended.sum(2)

    method.loss(
        Step(
            Output(features.sum(2), features=features),
            observed,
            torch.arange(2),
            epoch=1,
            step=0,
            classify=classify,
        )
    )
    (blended,) = asked
    expected = features.clone()
    expected[1, 0] = (features[1, 0] + features[0, 0]) / 2
    torch.testing.assert_close(blended, expected)


def test_centers_of_two_groups():
    points = torch.cat([torch.randn(20, 3) * 0.01, 5 + torch.randn(20, 3) * 0.01])
    means = centers(points, 2)
    torch.testing.assert_close(means, torch.tensor([[0.0] * 3, [5.0] * 3]), atol=0.02, rtol=0)
    assert centers(points[:1], 3).shape == (3, 3)


@pytest.mark.parametrize("name", ["sst", "sarb"])
def test_a_head_without_label_wise_features_is_explained(name):
    rehearsal = rehearse(name)
    bare = Step(Output(torch.zeros(2, 5)), rehearsal.observed[:2], ROWS[:2], epoch=1, step=0)
    with pytest.raises(TagfillError, match="label-wise features"):
        rehearsal.method.loss(bare)


def test_expected_negatives_are_the_lowest_of_the_running_averages():
    method = methods.make("en_cl", {"k": 1.0, "weight": 0.0})
    observed = torch.tensor([[1, -1, -1]], dtype=torch.int8)
    method.start(Setup(observed=observed, epochs=3, steps_per_epoch=1))
    method.negatives = 1
    rows = torch.tensor([0])

    def step(logits):
        return Step(Output(torch.tensor([logits])), observed, rows, epoch=1, step=0)

    method.after_step(step([0.0, -3.0, 3.0]))
    softplus = torch.nn.functional.softplus
    now = step([0.0, 4.0, -4.0])
    expected = (softplus(torch.tensor(0.0)) + softplus(torch.tensor(4.0))) / 3
    assert method.loss(now)["en"].item() == pytest.approx(expected.item())


def test_averages_move_by_momentum():
    averages = Averages(3, torch.device("cpu"), 0.8)
    rows = torch.tensor([2])
    averages.update(rows, torch.tensor([[1.0]]))
    averages.update(rows, torch.tensor([[0.0]]))
    assert averages.of(rows, torch.tensor([[9.0]])).item() == pytest.approx(0.8)
    assert averages.of(torch.tensor([0]), torch.tensor([[9.0]])).item() == 9.0


def test_spatial_consistency_does_not_see_a_flip():
    rehearsal = Rehearsal("en_scl", known_proportion(make_truth()))
    rehearsal.epoch()
    plain = rehearsal.losses(ROWS)["consistency"]
    rehearsal.features = rehearsal.features.flip(3)
    assert rehearsal.losses(ROWS)["consistency"] == pytest.approx(plain, rel=1e-5)


def test_consistency_holds_predictions_near_their_past():
    rehearsal = Rehearsal("en_cl", known_proportion(make_truth()), settings={"momentum": 1.0})
    rehearsal.epoch()
    near = rehearsal.losses(ROWS)["consistency"]
    with torch.no_grad():
        rehearsal.network.bias += 3
    assert rehearsal.losses(ROWS)["consistency"] > near
