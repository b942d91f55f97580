"""A fixed BatchNorm is part of its convolution while that learns, with the same result."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from tagfill.models.backbones import Backbone
from tagfill.models.factory import build_backbone
from tagfill.models.folding import find_pairs


def fixed(name: str, **settings: bool) -> Backbone:
    """A backbone whose fixed BatchNorm layers scale and shift."""
    torch.manual_seed(0)
    backbone = build_backbone(name, size=64, pretrained=False, **settings).double()
    for norm in (module for module in backbone.modules() if isinstance(module, _BatchNorm)):
        for part in (norm.weight, norm.bias, norm.running_mean, norm.running_var):
            nn.init.uniform_(part, 0.5, 1.5)
    backbone.freeze_batch_norm()
    return backbone.train()


def unfolded(backbone: Backbone) -> Backbone:
    plain = copy.deepcopy(backbone)
    plain._pairs = []
    return plain


def gradients(backbone: Backbone, images: Tensor) -> dict[str, Tensor]:
    backbone(images).square().mean().backward()
    return {name: one.grad for name, one in backbone.named_parameters() if one.grad is not None}


@pytest.mark.parametrize(
    ("name", "lgconv"),
    [("test_resnet", False), ("test_efficientnet", False), ("test_resnet", True)],
)
def test_gradients_are_the_same(name: str, lgconv: bool) -> None:
    backbone, images = fixed(name, lgconv=lgconv), torch.randn(3, 3, 64, 64).double()
    plain = unfolded(backbone)
    one, other = gradients(backbone, images), gradients(plain, images)
    assert backbone._pairs
    torch.testing.assert_close(one, other)
    torch.testing.assert_close(backbone(images), plain(images))


def test_every_batch_norm_after_a_convolution_is_folded() -> None:
    backbone = fixed("test_efficientnet")
    gradients(backbone, torch.randn(2, 3, 64, 64).double())
    norms = [module for module in backbone.modules() if isinstance(module, _BatchNorm)]
    assert len(norms) == len(backbone._pairs or [])


def test_weights_are_the_backbones_own_again_after_a_pass() -> None:
    backbone, images = fixed("test_resnet"), torch.randn(2, 3, 64, 64).double()
    before = {name: value.clone() for name, value in backbone.state_dict().items()}
    backbone(images)
    torch.testing.assert_close(dict(backbone.state_dict()), before, rtol=0, atol=0)
    assert all(isinstance(one, nn.Parameter) for one in backbone.parameters())
    backbone.eval()
    assert torch.equal(backbone(images), unfolded(backbone).eval()(images))


def test_a_copy_folds_its_own_weights() -> None:
    backbone, images = fixed("test_resnet"), torch.randn(2, 3, 64, 64).double()
    backbone(images)
    other = copy.deepcopy(backbone)
    with torch.no_grad():
        for parameter in other.parameters():
            parameter.mul_(0.5)
    torch.testing.assert_close(other(images), unfolded(other)(images))
    assert all(one.grad is None for one in backbone.parameters())


def test_mixed_precision_folds_the_same_layers() -> None:
    backbone, images = fixed("test_resnet").float(), torch.randn(2, 3, 64, 64)
    with torch.autocast("cpu", torch.bfloat16):
        backbone(images)
    assert backbone._pairs


class Twice(nn.Module):
    """A convolution whose output is read beside its BatchNorm, too."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)
        nn.init.constant_(self.norm.bias, 2.0)

    def forward(self, images: Tensor) -> Tensor:
        maps = self.conv(images)
        normalized: Tensor = self.norm(maps)
        return normalized + maps


def test_an_output_that_others_read_is_not_folded() -> None:
    body = Twice().eval().requires_grad_(False)
    assert find_pairs(body, torch.randn(2, 3, 8, 8)) == []


def test_activations_that_are_computed_again_are_not_folded() -> None:
    backbone, images = fixed("test_resnet"), torch.randn(2, 3, 64, 64).double()
    plain = unfolded(backbone)
    backbone.body.net.set_grad_checkpointing()
    torch.testing.assert_close(gradients(backbone, images), gradients(plain, images))
    assert backbone._pairs == []


def test_in_place_activations_do_not_copy_their_input_in_training() -> None:
    backbone = fixed("test_efficientnet")
    backbone.body.net.relu6 = nn.Sequential(nn.ReLU6(inplace=True), nn.ReLU6())
    backbone._take(backbone.body, ())
    first, second = backbone.body.net.relu6
    assert (first.inplace, second.inplace) == (False, False)
    backbone.eval()
    assert (first.inplace, second.inplace) == (True, False)
