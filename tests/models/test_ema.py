from __future__ import annotations

import pytest
import torch
from torch import nn

from tagfill.models.ema import Ema


def network() -> nn.Sequential:
    return nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))


def test_weights_follow_the_formula() -> None:
    net = network()
    ema = Ema(net, decay=0.9, warmup=False)
    expected = net[0].weight.detach().clone()
    for step in range(1, 4):
        nn.init.constant_(net[0].weight, float(step))
        ema.update(net)
        expected = 0.9 * expected + 0.1 * step
    torch.testing.assert_close(ema.module[0].weight, nn.Parameter(expected))
    assert not ema.module[0].weight.requires_grad


def test_warm_up_starts_small_and_ends_at_the_decay() -> None:
    net = nn.Linear(1, 1, bias=False)
    nn.init.zeros_(net.weight)
    ema = Ema(net, decay=0.9997)
    nn.init.ones_(net.weight)
    ema.update(net)
    assert ema.module.weight.item() == pytest.approx(1 - 2 / 11)
    ema.steps = 10**6
    ema.module.weight.zero_()
    ema.update(net)
    assert ema.module.weight.item() == pytest.approx(1 - 0.9997, rel=1e-3)


def test_statistics_are_averaged_and_counters_copied() -> None:
    net = network().train()
    ema = Ema(net, decay=0.5, warmup=False)
    net(torch.randn(8, 2) + 4)
    ema.update(net)
    torch.testing.assert_close(ema.module[1].running_mean, net[1].running_mean / 2)
    assert ema.module[1].num_batches_tracked == 1
    assert not ema.module.training


def test_state_goes_on_as_if_never_interrupted() -> None:
    torch.manual_seed(0)
    steps = [network() for _ in range(4)]
    whole, first = Ema(network(), decay=0.99), None
    first = Ema(whole.module, decay=0.99)
    for net in steps:
        whole.update(net)
    for net in steps[:2]:
        first.update(net)
    resumed = Ema(network(), decay=0.99)
    resumed.load_state_dict(first.state_dict())
    for net in steps[2:]:
        resumed.update(net)
    for name, tensor in whole.state_dict().items():
        torch.testing.assert_close(resumed.state_dict()[name], tensor)
