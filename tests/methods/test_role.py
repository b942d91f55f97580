from __future__ import annotations

import math

import pytest
import torch
from tests.methods.harness import (
    BATCH,
    CLASSES,
    IMAGES,
    LEARNING_RATE,
    Rehearsal,
    make_truth,
    single_positive,
    some_of_each,
)

from tagfill import methods
from tagfill.errors import TagfillError
from tagfill.methods._estimators import StoredRows
from tagfill.methods.base import Setup

ESTIMATORS = [
    {"estimator": "dense"},
    {"estimator": "dense", "updates": "sparse"},
    {"estimator": "memory_mapped"},
    {"estimator": "low_rank", "rank": 3},
    {"estimator": "low_rank", "rank": 3, "updates": "sparse"},
    {"estimator": "network", "hidden": 8},
]
TABLES = ESTIMATORS[:3]
ALL = torch.arange(IMAGES)


def logit(probability: float) -> float:
    return math.log(probability / (1 - probability))


def rehearse(settings: dict[str, object], observed: torch.Tensor | None = None) -> Rehearsal:
    labels = some_of_each(make_truth()) if observed is None else observed
    return Rehearsal("role", labels, settings=settings)


@pytest.mark.parametrize("settings", TABLES, ids=str)
def test_initial_values(settings):
    rehearsal = rehearse(settings)
    start, observed = rehearsal.method.estimator.all_logits(), rehearsal.observed
    assert torch.allclose(start[observed == 1], torch.tensor(logit(0.995)))
    assert torch.allclose(start[observed == 0], torch.tensor(logit(0.005)))
    unknown = start[observed == -1]
    assert unknown.abs().max() <= logit(0.6)
    assert unknown.min() < -0.3 < 0.3 < unknown.max()
    assert abs(float(unknown.mean())) < 0.15


@pytest.mark.parametrize("settings", ESTIMATORS[3:], ids=str)
def test_small_estimators_start_near_the_table(settings):
    rehearsal = rehearse(settings)
    start = rehearsal.method.estimator.logits(rehearsal.view(ALL)).detach()
    observed = rehearsal.observed
    assert (start[observed == 1].sigmoid() > 0.99).all()
    assert (start[observed == 0].sigmoid() < 0.01).all()
    assert start[observed == -1].abs().max() <= logit(0.6) + 0.05


def test_start_is_reproducible_and_the_same_for_all_tables():
    starts = [rehearse(settings).method.estimator.all_logits() for settings in TABLES]
    assert torch.equal(starts[0], starts[1])
    assert torch.equal(starts[0], starts[2])


def test_estimates_learn_ten_times_as_fast():
    (group,) = rehearse({"estimator": "dense"}).method.parameter_groups()
    assert group.learning_rate == pytest.approx(10 * LEARNING_RATE)
    assert [tuple(parameter.shape) for parameter in group.parameters] == [(IMAGES, CLASSES)]
    (slower,) = rehearse({"rate": 2}).method.parameter_groups()
    assert slower.learning_rate == pytest.approx(2 * LEARNING_RATE)


@pytest.mark.parametrize("settings", TABLES[1:], ids=str)
def test_sparse_updates_follow_the_path_of_dense_ones(settings):
    dense, sparse = rehearse({"estimator": "dense"}), rehearse(settings)
    for _ in range(4):
        torch.testing.assert_close(
            torch.tensor(dense.epoch()), torch.tensor(sparse.epoch()), rtol=1e-4, atol=1e-5
        )
    torch.testing.assert_close(
        dense.method.estimates(), sparse.method.estimates(), rtol=1e-3, atol=1e-4
    )


def test_sparse_updates_touch_only_the_rows_of_the_batch():
    rehearsal = rehearse({"updates": "sparse"})
    before = rehearsal.method.state()["estimator.rows.table"].clone()
    rehearsal.train_step(ALL[:BATCH])
    after = rehearsal.method.state()["estimator.rows.table"]
    assert torch.equal(before[BATCH:], after[BATCH:])
    assert not torch.equal(before[:BATCH], after[:BATCH])


def test_dense_updates_keep_moving_absent_rows():
    rehearsal = rehearse({"estimator": "dense"})
    rehearsal.train_step(ALL[:BATCH])
    before = rehearsal.method.estimates()
    rehearsal.train_step(ALL[BATCH:])
    assert not torch.equal(before[:BATCH], rehearsal.method.estimates()[:BATCH])


def test_rows_are_adam_also_with_an_image_twice_in_the_batch():
    torch.manual_seed(0)
    start = torch.randn(6, 3)
    parameter = torch.nn.Parameter(start.clone())
    adam = torch.optim.Adam([parameter], lr=0.02)
    rows = StoredRows((6, 3), 0.02, device=torch.device("cpu"))
    rows.fill(start, 0)
    for step in range(30):
        index = torch.tensor([step % 3, step % 3, 3 + step // 10])
        gradient = torch.randn(3, 3)
        adam.zero_grad()
        parameter.grad = torch.zeros(6, 3).index_add_(0, index, gradient)
        adam.step()
        rows.update(index, gradient)
    torch.testing.assert_close(rows.read(torch.arange(6)), parameter.detach())


def test_rows_forget_momentum_beyond_the_horizon():
    rows = StoredRows((2, 1), 0.1, device=torch.device("cpu"))
    parameter = torch.nn.Parameter(torch.zeros(2, 1))
    adam = torch.optim.Adam([parameter], lr=0.1)
    for step in range(400):
        index, gradient = torch.tensor([min(step, 1)]), torch.ones(1, 1)
        parameter.grad = torch.zeros(2, 1).index_add_(0, index, gradient)
        adam.step()
        rows.update(index, gradient)
    torch.testing.assert_close(rows.read(torch.arange(2)), parameter.detach(), rtol=1e-4, atol=1e-4)


def test_mapped_rows_whose_pages_are_released_are_those_in_memory(monkeypatch):
    monkeypatch.setattr("tagfill.methods._estimators.RESIDENT", 1_000)
    generator = torch.Generator().manual_seed(0)
    start = torch.randn(50, 7, generator=generator)
    tables = [
        StoredRows((50, 7), 0.1, device=torch.device("cpu"), mapped=mapped)
        for mapped in (False, True)
    ]
    for rows in tables:
        rows.fill(start, 0)
    for _ in range(40):
        index = torch.randint(50, (8,), generator=generator).unique()
        gradient = torch.randn(len(index), 7, generator=generator)
        for rows in tables:
            rows.update(index, gradient)
    assert torch.equal(*(rows.read(torch.arange(50)) for rows in tables))


def test_memory_mapped_table_lies_in_the_directory_until_the_method_goes(tmp_path):
    rehearsal = rehearse({"estimator": "memory_mapped", "directory": str(tmp_path / "new")})
    (file,) = tmp_path.rglob("*.f32")
    assert file.stat().st_size == IMAGES * CLASSES * 3 * 4
    rehearsal.epoch()
    on_disk = torch.frombuffer(bytearray(file.read_bytes()), dtype=torch.float32)
    assert torch.equal(
        on_disk.view(IMAGES, 3, CLASSES), rehearsal.method.state()["estimator.rows.table"]
    )
    del rehearsal
    assert not list(tmp_path.rglob("*.f32"))


@pytest.mark.parametrize("settings", ESTIMATORS, ids=str)
def test_every_estimator_recovers_hidden_tags(settings):
    truth = make_truth()
    rehearsal = rehearse(settings, single_positive(truth))
    for _ in range(40):
        rehearsal.epoch()
    estimates, hidden = rehearsal.method.estimates(), rehearsal.observed < 0
    missing, absent = estimates[hidden & (truth == 1)], estimates[hidden & (truth == 0)]
    better = (missing[:, None] > absent[None]).float().mean()
    assert better > 0.75


@pytest.mark.parametrize("settings", ESTIMATORS, ids=str)
def test_every_estimator_resumes(settings):
    first = rehearse(settings)
    first.epoch()
    second = first.resumed()
    assert torch.equal(first.method.estimates(), second.method.estimates())
    assert first.epoch() == second.epoch()


def test_gradients_stop_at_the_other_side():
    rehearsal = rehearse({"estimator": "dense"})
    step = rehearsal.view(ALL)
    terms = rehearsal.method.loss(step)
    (table,) = rehearsal.method.parameter_groups()[0].parameters
    weight = rehearsal.network.weight
    assert torch.autograd.grad(terms["classifier"], table, allow_unused=True) == (None,)
    assert torch.autograd.grad(terms["estimates"], weight, allow_unused=True) == (None,)


def test_loss_is_the_published_one_with_the_preset():
    rehearsal = Rehearsal("role", some_of_each(make_truth()), preset="published")
    step, value = rehearsal.view(ALL), sum(rehearsal.losses(ALL).values())
    p = step.output.logits.detach().double().sigmoid()
    q = rehearsal.method.estimator.all_logits().double().sigmoid()
    z, k = step.observed, float(make_truth().sum(1).float().mean())
    evidence, entropy, count = 0.0, 0.0, 0.0
    for guess, other in ((p, q), (q, p)):
        evidence += float(-guess[z == 1].log().sum() - (1 - guess[z == 0]).log().sum()) / z.numel()
        entropy += float((-other * guess.log() - (1 - other) * (1 - guess).log()).mean())
        count += ((float(guess.sum()) / len(z) - k) / z.shape[1]) ** 2
    assert value == pytest.approx((evidence + entropy + count) / 2, rel=1e-5)


def test_k_is_given_or_estimated_or_asked_for():
    setup = Setup(observed=single_positive(make_truth()), epochs=1, steps_per_epoch=1)
    given = methods.make("role", {"k": 2.5})
    given.start(setup)
    assert given.k == 2.5
    assert not given.needs.expected_positives
    asking = methods.make("role")
    assert asking.needs.expected_positives
    with pytest.raises(TagfillError, match="role needs k") as refusal:
        asking.start(setup)
    assert "--method.k" in refusal.value.remedy
    with pytest.raises(TagfillError, match="does not fit 5 classes"):
        methods.make("role", {"k": 50}).start(setup)


def test_impossible_combinations_are_refused():
    with pytest.raises(TagfillError, match="no dense updates"):
        methods.make("role", {"estimator": "memory_mapped", "updates": "dense"})
    with pytest.raises(TagfillError, match="no sparse updates"):
        methods.make("role", {"estimator": "network", "updates": "sparse"})


def test_small_network_asks_for_scores_and_not_for_state():
    needs = methods.make("role", {"estimator": "network"}).needs
    assert needs.epoch_scores
    assert not needs.state
