"""LAC and PLC: reductions, stages, the queue in the loss, ablations."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from tests.methods.harness import BATCH, IMAGES, Rehearsal, make_truth, single_positive

from tagfill import methods
from tagfill.errors import TagfillError
from tagfill.methods.base import Setup, Step
from tagfill.models.output import Output

B, K, E = 4, 3, 6
TAU = 0.5
LOGITS = torch.tensor([[4.0, -4.0, 0.0], [-4.0, 4.0, 3.5], [0.3, -0.2, 0.1], [5.0, -5.0, -5.0]])
OBSERVED = torch.tensor([[1, -1, -1], [-1, 1, -1], [-1, -1, 1], [-1, -1, 0]], dtype=torch.int8)
SURE = [(0, 0), (1, 1), (1, 2), (2, 2), (3, 0)]
"""Entries observed positive or with p >= 0.9."""


def embeddings(seed, rows=B):
    generator = torch.Generator().manual_seed(seed)
    return F.normalize(torch.randn(rows, K, E, generator=generator), dim=-1)


def make_step(logits=LOGITS, observed=OBSERVED, epoch=1, seed=0):
    rows = len(logits)
    return Step(
        output=Output(logits, embeddings(seed, rows)),
        observed=observed,
        index=torch.arange(rows),
        epoch=epoch,
        step=0,
        strong=Output(logits * 0.5, embeddings(seed + 100, rows)),
    )


def started(name="lac", epochs=4, **settings):
    method = methods.make(name, settings)
    method.start(Setup(observed=OBSERVED, epochs=epochs, steps_per_epoch=1))
    return method


def slow_lac(step, entries, past=()):
    """Eq. 5-7 over all b q embeddings and the queue; ``past`` is a list of (embedding, class)."""
    weak, strong = step.output.embeddings, step.strong.embeddings
    keys = [(weak[i, j], j, (i, j)) for i, j in entries] + [(z, j, None) for z, j in past]
    total = 0.0
    for i, j in entries:
        others = sum(math.exp(weak[i, j] @ z / TAU) for z, label, _ in keys if label != j)
        for z, label, place in keys:
            if label == j and others:
                twin = strong[i, j] if place == (i, j) else z
                total -= math.log(math.exp(weak[i, j] @ twin / TAU) / others)
    return total / (step.observed.shape[0] * step.observed.shape[1])


def slow_supcon(entries):
    """Over (embedding, class) of all views; positives in the denominator, mean over anchors."""
    terms = []
    for i, (z, label) in enumerate(entries):
        others = [e for a, e in enumerate(entries) if a != i]
        below = sum(math.exp(z @ other / TAU) for other, _ in others)
        same = [other for other, kind in others if kind == label]
        terms.append(-sum(math.log(math.exp(z @ p / TAU) / below) for p in same) / len(same))
    return sum(terms) / len(terms)


def test_plc_sums_over_classes_and_means_over_images():
    terms = started("plc", threshold=0.9, include_observed=False).loss(make_step())
    an = F.binary_cross_entropy_with_logits(LOGITS, (OBSERVED == 1).float(), reduction="none")
    assert terms["an"].item() == pytest.approx(an.sum().item() / B)
    strong = (LOGITS * 0.5).sigmoid()
    positive, negative = [(1, 2), (3, 0)], [(0, 1), (1, 0), (3, 1)]
    expected = -sum(strong[c].log() for c in positive) - sum(
        (1 - strong[c]).log() for c in negative
    )
    assert terms["plc"].item() == pytest.approx(expected.item() / B)


def test_plc_as_published_means_over_the_cells_in_play_with_observed_ones():
    method = methods.make("plc", {"threshold": 0.9}, "published")
    terms = method.loss(make_step())
    an = F.binary_cross_entropy_with_logits(LOGITS, (OBSERVED == 1).float())
    assert terms["an"].item() == pytest.approx(an.item())
    strong = (LOGITS * 0.5).sigmoid()
    positive = [(1, 2), (3, 0), (0, 0), (1, 1), (2, 2)]
    negative = [(0, 1), (1, 0), (3, 1), (3, 2)]
    total = -sum(strong[c].log() for c in positive) - sum((1 - strong[c]).log() for c in negative)
    assert terms["plc"].item() == pytest.approx(total.item() / 9)


@pytest.mark.parametrize("preset", [None, "published"])
def test_plc_without_a_sure_cell_costs_nothing(preset):
    method = methods.make("plc", None, preset)
    step = make_step(logits=torch.zeros(B, K), observed=torch.full((B, K), -1))
    assert method.loss(step)["plc"].item() == 0


def test_lac_term_against_a_slow_loop_without_and_with_the_queue():
    method = started(stage_one=0.0)
    first, second = make_step(seed=1), make_step(seed=2)
    assert method.loss(first)["lac"].item() == pytest.approx(slow_lac(first, SURE), rel=1e-5)
    method.after_step(first)
    past = [(first.output.embeddings[i, j], j) for i, j in SURE]
    with_past = method.loss(second)["lac"].item()
    assert with_past == pytest.approx(slow_lac(second, SURE, past), rel=1e-5)
    assert with_past != pytest.approx(slow_lac(second, SURE), rel=1e-3)


def test_queue_keeps_the_newest_in_the_loss():
    method = started(stage_one=0.0, queue=7)
    for seed in (1, 2):
        method.after_step(make_step(seed=seed))
    old, new = make_step(seed=1), make_step(seed=2)
    past = [(old.output.embeddings[i, j], j) for i, j in SURE[-2:]]
    past += [(new.output.embeddings[i, j], j) for i, j in SURE]
    step = make_step(seed=3)
    assert method.loss(step)["lac"].item() == pytest.approx(slow_lac(step, SURE, past), rel=1e-5)


@pytest.mark.parametrize("queue", [0, 3, 512])
def test_published_form_against_a_slow_loop(queue):
    method = started(stage_one=0.0, queue=queue, form="supcon")
    first, second = make_step(seed=1), make_step(seed=2)
    method.after_step(first)

    def views(step, places):
        return [
            (side.embeddings[i, j], j) for i, j in places for side in (step.output, step.strong)
        ]

    if queue == 512:
        entries = views(second, SURE) + views(first, SURE)
    else:
        entries = views(second, SURE[-queue:] if queue else SURE)
    assert method.loss(second)["lac"].item() == pytest.approx(slow_supcon(entries), rel=1e-5)


def test_lac_gradient_reaches_both_views():
    method = started(stage_one=0.0)
    step = make_step()
    step.output.embeddings.requires_grad_()
    step.strong.embeddings.requires_grad_()
    method.loss(step)["lac"].backward()
    assert step.output.embeddings.grad[0, 0].abs().sum() > 0
    assert step.strong.embeddings.grad[0, 0].abs().sum() > 0
    assert step.output.embeddings.grad[0, 1].abs().sum() == 0, "not sure, not an anchor"


def test_two_stages():
    method = started(epochs=5, stage_one=0.4)
    early, late = make_step(epoch=2), make_step(epoch=3)
    assert method.loss(early)["lac"].item() == 0
    method.after_step(early)
    assert len(method.memory) == 0
    assert method.loss(late)["lac"].item() != 0
    method.after_step(late)
    assert len(method.memory) == len(SURE)


@pytest.mark.parametrize("stage_one", [0.0, 1 / 2])
def test_embeddings_always_have_a_gradient(stage_one):
    """Several processes would wait for parameters that take no part in a step."""
    method = started(stage_one=stage_one)
    step = make_step(logits=torch.zeros(B, K), observed=torch.full((B, K), -1))
    step.output.embeddings.requires_grad_()
    method.loss(step)["lac"].backward()
    assert torch.equal(step.output.embeddings.grad, torch.zeros(B, K, E))


def test_each_stage_has_its_threshold():
    method = started(stage_one=0.5, threshold=0.5, threshold_two=0.999, include_observed=False)
    everything = method.loss(make_step(epoch=1))["plc"].item()
    nothing = method.loss(make_step(epoch=4))["plc"].item()
    assert everything > 0
    assert nothing == 0


def test_batch_without_positives_and_with_one():
    method = started(stage_one=0.0)
    none = make_step(logits=torch.zeros(B, K), observed=torch.full((B, K), -1))
    assert method.loss(none)["lac"].item() == 0
    method.after_step(none)
    assert len(method.memory) == 0
    observed = torch.full((B, K), -1)
    observed[2, 1] = 1
    one = make_step(logits=torch.zeros(B, K), observed=observed)
    assert method.loss(one)["lac"].item() == 0
    method.after_step(one)
    assert method.memory.held()[1].tolist() == [1]


def test_all_positives_of_one_class():
    method = started(stage_one=0.0)
    observed = torch.full((B, K), -1)
    observed[:, 1] = 1
    step = make_step(logits=torch.zeros(B, K), observed=observed)
    step.output.embeddings.requires_grad_()
    term = method.loss(step)["lac"]
    assert term.item() == 0
    term.backward()
    assert torch.isfinite(step.output.embeddings.grad).all()


def test_known_negatives_are_never_anchors():
    method = started(stage_one=0.0)
    step = make_step(logits=torch.full((B, K), 9.0), observed=torch.zeros(B, K, dtype=torch.int8))
    assert method.loss(step)["lac"].item() == 0
    assert len(method.memory) == 0


def test_ablation_rows():
    step = make_step(epoch=9)
    expected = {
        "ablation_an": ({"an"}, False, 0),
        "ablation_plc": ({"an", "plc"}, False, 0),
        "ablation_end_to_end": ({"an", "plc", "lac"}, True, 0),
        "ablation_two_stage": ({"an", "plc", "lac"}, True, 0),
    }
    for preset, (names, needs_embeddings, slots) in expected.items():
        method = methods.make("lac", None, preset)
        method.start(Setup(observed=OBSERVED, epochs=10, steps_per_epoch=1))
        assert set(method.loss(step)) == names
        assert method.needs.embeddings is needs_embeddings
        assert method.memory.slots == slots
    assert not methods.make("lac", None, "ablation_an").needs.two_views


def test_missing_views_and_embeddings_are_explained():
    step = make_step()
    plain = Step(step.output, step.observed, step.index, epoch=1, step=0)
    with pytest.raises(TagfillError, match="strongly augmented view"):
        started("plc").loss(plain)
    bare = Step(Output(LOGITS), OBSERVED, step.index, epoch=1, step=0, strong=Output(LOGITS))
    with pytest.raises(TagfillError, match="`lem` head"):
        started(stage_one=0.0).loss(bare)


def test_resume_in_the_middle_of_stage_two():
    first = Rehearsal("lac", single_positive(make_truth()), settings={"queue": 11})
    for _ in range(3):
        first.epoch()
    second = first.resumed()
    assert len(first.method.memory) == 11
    assert first.epoch() == second.epoch()
    rows = torch.arange(IMAGES)[:BATCH]
    assert first.losses(rows) == second.losses(rows)


@pytest.mark.parametrize("name", ["plc", "lac"])
def test_pseudo_labels_are_those_of_the_last_visit(name):
    threshold = {"plc": {"threshold": 0.9}, "lac": {"threshold": 0.9, "stage_one": 1.0}}[name]
    method = started(name, **threshold)
    assert (method.pseudo_labels() == -1).all()
    method.after_step(make_step())
    expected = torch.tensor([[-1, 0, -1], [0, -1, 1], [-1, -1, -1], [1, 0, -1]])
    assert torch.equal(method.pseudo_labels(), expected.to(torch.int8))
    other = started(name, **threshold)
    other.load_state(method.state())
    assert torch.equal(other.pseudo_labels(), method.pseudo_labels())
    method.after_step(make_step(logits=torch.zeros(B, K)))
    assert (method.pseudo_labels() == -1).all()


def test_without_consistency_there_are_no_pseudo_labels():
    assert started("plc", weight=0.0).pseudo_labels() is None
    assert started(plc_weight=0.0, lac_weight=0.0).pseudo_labels() is None


def test_mean_over_pairs_does_not_grow_with_the_queue():
    step = make_step(seed=3)
    terms = {}
    for pairs in ("sum", "mean"):
        method = started(stage_one=0.0, pairs=pairs)
        for _ in range(20):
            method.after_step(make_step(seed=1))
        terms[pairs] = method.loss(step)["lac"].item()
    assert terms["sum"] > 15 * terms["mean"] > 0


def test_control_trains_both_views_on_assumed_negatives():
    method, step = started("plc", strong_labels="assumed"), make_step()
    terms = method.loss(step)
    assert set(terms) == {"an", "strong_an"}
    targets = (OBSERVED == 1).float()
    strong = F.binary_cross_entropy_with_logits(LOGITS * 0.5, targets, reduction="none")
    assert terms["strong_an"].item() == pytest.approx(strong.sum().item() / B)
    method.after_step(step)
    assert method.pseudo_labels() is None
