from __future__ import annotations

import pytest

from tagfill.models.network import build_network
from tagfill.train.config import MethodConfig, StageConfig
from tagfill.train.optim import make_optimizer, make_schedule


def stage(optimizer: str = "adam", **settings: object) -> StageConfig:
    return StageConfig(MethodConfig("an"), optimizer=optimizer, learning_rate=1e-3, **settings)


@pytest.mark.parametrize("name", ["adam", "adamw", "sgd", "adafactor"])
def test_what_learns_is_in_one_group_with_its_rate(name) -> None:
    network = build_network("test_resnet", "q2l", classes=3, size=64, pretrained=False, freeze=1)
    optimizer = make_optimizer(stage(name, head_multiplier=10, weight_decay=0.1), network, ())
    grouped = [id(one) for group in optimizer.param_groups for one in group["params"]]
    learning = [id(one) for one in network.parameters() if one.requires_grad]
    assert sorted(grouped) == sorted(learning)
    rates = {id(one): group["lr"] for group in optimizer.param_groups for one in group["params"]}
    assert rates[id(network.head.classifier.weight)] == pytest.approx(1e-2)
    assert rates[id(network.backbone.body.net.layer4[0].conv1.weight)] == pytest.approx(1e-3)
    assert {group["weight_decay"] for group in optimizer.param_groups} == {0.1}


def test_a_head_alone_has_the_learning_rate_itself() -> None:
    head = build_network("test_resnet", classes=3, size=64, pretrained=False).head
    optimizer = make_optimizer(stage("adam", head_multiplier=10), head, ())
    assert [group["lr"] for group in optimizer.param_groups] == [1e-3]


def test_a_frozen_backbone_has_no_group() -> None:
    network = build_network("test_resnet", classes=3, size=64, pretrained=False, freeze=None)
    optimizer = make_optimizer(stage("sgd", head_multiplier=10), network, ())
    assert [group["lr"] for group in optimizer.param_groups] == [pytest.approx(1e-2)]


def test_step_takes_a_tenth_of_the_rate_from_half_of_the_steps_on() -> None:
    head = build_network("test_resnet", classes=3, size=64, pretrained=False).head
    optimizer = make_optimizer(stage("sgd"), head, ())
    schedule = make_schedule(stage(schedule="step"), optimizer, 6)
    assert schedule is not None
    rates = []
    for _ in range(6):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    assert rates == pytest.approx([1e-3] * 3 + [1e-4] * 3)
