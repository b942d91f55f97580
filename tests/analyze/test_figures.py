"""Figures say what the runs say."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.stats import wasserstein_distance
from tests.analyze.runs import train_runs

from tagfill import methods
from tagfill.analyze import (
    bars,
    class_gain,
    densities,
    distances,
    gradients,
    landscape,
    positive_loss,
    probabilities,
    pseudo_labels,
    shares,
)
from tagfill.analyze.kinds import CannotDrawError
from tagfill.analyze.subject import RunView, Subject
from tagfill.errors import TagfillError
from tagfill.methods.base import ElementwiseMethod


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[RunView]:
    return train_runs(tmp_path_factory.mktemp("runs"), "an", "em", "role")


def test_every_epoch_of_probabilities_sums_to_one(runs: list[RunView]) -> None:
    drawing = probabilities.draw(Subject(runs))
    total: dict[tuple[object, object], float] = {}
    for run, epoch, _, _, share in drawing.rows:
        total[run, epoch] = total.get((run, epoch), 0.0) + float(share)  # type: ignore[arg-type]
    assert len(total) == 3 * 4
    assert all(value == pytest.approx(1) for value in total.values())
    likely = {name: finding["likely_in_last_epoch"] for name, finding in drawing.findings.items()}
    assert likely["em"] > likely["an"]


def test_positive_loss_is_the_logged_one(runs: list[RunView]) -> None:
    drawing = positive_loss.draw(Subject(runs))
    rows = {tuple(row[:3]): row[3] for row in drawing.rows}
    assert rows["em", "observed positives", 4] == runs[1].epochs[3]["positive_loss"]
    assert rows["an", "untagged positives", 1] == runs[0].epochs[0]["unobserved_positive_loss"]


def test_pseudo_labels_of_the_methods_that_have_them(runs: list[RunView]) -> None:
    drawing = pseudo_labels.draw(Subject(runs))
    assert {row[0] for row in drawing.rows} == {"role"}
    assert drawing.notes == ("without pseudo-labels: an, em",)
    with pytest.raises(CannotDrawError):
        pseudo_labels.draw(Subject(runs[:2]))


def test_class_gain_is_the_difference_of_the_metrics(runs: list[RunView]) -> None:
    drawing = class_gain.draw(Subject(runs))
    gains = {(row[0], row[1]): row[4] for row in drawing.rows}
    for run in runs[1:]:
        before, after = (subject.metrics["test"] for subject in (runs[0], run))
        for one, other in zip(before["per_class"], after["per_class"], strict=True):
            expected = 100 * (other["average_precision"] - one["average_precision"])
            assert gains[run.name, one["name"]] == pytest.approx(expected)
        expected = after["mAP"] - before["mAP"]
        assert drawing.findings[run.name]["mean_gain"] == pytest.approx(expected)


def test_distances_are_those_of_the_unobserved_entries(runs: list[RunView]) -> None:
    drawing = distances.draw(Subject(runs[:2]))
    by_class = {(row[0], row[1]): row[2] for row in drawing.rows}
    run = runs[1]
    split = run.data.train
    assert split.truth is not None
    unknown = split.table.values[:, 2] == -1
    chances = run.raw_probabilities("train")[:, 2]
    hidden, absent = (chances[unknown & (split.truth[:, 2] == code)] for code in (1, 0))
    expected = wasserstein_distance(hidden, absent)
    assert by_class["em", split.table.classes[2]] == pytest.approx(expected)
    assert len(distances.draw(Subject(runs[:1])).rows) == 6


def test_densities_show_the_wanted_classes(runs: list[RunView]) -> None:
    name = runs[0].data.classes[4]
    drawing = densities.draw(Subject(runs[:2], classes=(name,)))
    assert {row[1] for row in drawing.rows} == {name}
    share = [float(row[5]) for row in drawing.rows if row[0] == "an" and row[2] == "without"]  # type: ignore[arg-type]
    assert sum(share) == pytest.approx(100)
    with pytest.raises(TagfillError, match="no class 'zebra'"):
        densities.draw(Subject(runs, classes=("zebra",)))


def test_gradients_have_their_closed_forms() -> None:
    logits = torch.linspace(-6, 6, 25, dtype=torch.float64)
    chance = logits.sigmoid()
    an, em = methods.make("an"), methods.make("em", {"alpha": 0.3})
    assert isinstance(an, ElementwiseMethod)
    assert isinstance(em, ElementwiseMethod)
    torch.testing.assert_close(gradients.gradient(an, logits, 1, 5), chance - 1)
    torch.testing.assert_close(gradients.gradient(an, logits, -1, 5), chance)
    pull = 0.3 * chance * (1 - chance) * logits
    torch.testing.assert_close(gradients.gradient(em, logits, -1, 5), pull)


def test_gradients_need_no_run(runs: list[RunView]) -> None:
    drawing = gradients.draw(Subject(methods=("an", "em:alpha=1", "role")))
    assert {row[0] for row in drawing.rows} == {"an", "em:alpha=1"}
    assert "role" in drawing.notes[0]
    assert {row[0] for row in gradients.draw(Subject(runs)).rows} == {"an", "em"}
    with pytest.raises(CannotDrawError, match="not a sum over entries"):
        gradients.draw(Subject(methods=("role",)))
    with pytest.raises(TagfillError, match="not a setting"):
        gradients.draw(Subject(methods=("em:alpha",)))


def test_shares_count_the_hidden_positives(runs: list[RunView]) -> None:
    drawing = shares.draw(Subject(runs))
    split = runs[0].data.train
    assert split.truth is not None
    unknown = split.table.values == -1
    expected = {
        name: (int(unknown[:, k].sum()), int((split.truth[unknown[:, k], k] == 1).sum()))
        for k, name in enumerate(split.table.classes)
    }
    assert {row[0]: tuple(row[1:3]) for row in drawing.rows} == expected


def test_landscape_directions_are_as_long_as_the_weights(runs: list[RunView]) -> None:
    module = runs[0].module
    ways = landscape.directions(module, 3)
    weight = dict(module.named_parameters())["classifier.weight"]
    torch.testing.assert_close(ways["classifier.weight"].norm(dim=1), weight.detach().norm(dim=1))
    assert not ways["classifier.bias"].any()


@pytest.mark.parametrize("number", [0, 1, 2])
def test_landscape_is_the_training_loss(runs: list[RunView], number: int) -> None:
    run = runs[number]
    before = {name: tensor.clone() for name, tensor in run.module.state_dict().items()}
    steps = np.array([-1.0, 0.0, 0.5])
    shortcut = landscape.scan(run, steps)
    assert shortcut[1, 1] == pytest.approx(0, abs=1e-7)
    for name, tensor in run.module.state_dict().items():
        assert torch.equal(tensor, before[name])
    ways = [landscape.directions(run.module, landscape.SEED + offset) for offset in range(2)]
    loss = landscape.training_loss(run)
    inputs = run.assembly.inputs(run.data.train, run.stage)
    (features,) = inputs.plain(range(len(inputs)))
    with torch.no_grad(), landscape.movable(run.module, tuple(ways)) as move:
        center = loss([run.module(features)])
        move(0.5, -1.0)
        moved = loss([run.module(features)])
    assert shortcut[0, 2] == pytest.approx(moved - center, abs=1e-5)


def test_bars_show_all_tags_of_an_image(runs: list[RunView]) -> None:
    drawing = bars.draw(Subject(runs, images=4))
    images = {(row[0], row[1]) for row in drawing.rows}
    assert [split for split, _ in images].count("train") == 2
    split, image = sorted(images)[0]
    whole = runs[0].split(str(split))
    truth = whole.eval_labels[whole.table.row_of[str(image)]]
    present = {whole.table.classes[k] for k in np.flatnonzero(truth == 1)}
    shown = {row[2] for row in drawing.rows if row[1] == image and row[3] != "absent"}
    assert shown == present
    with pytest.raises(CannotDrawError, match="two runs"):
        bars.draw(Subject(runs[:1]))
