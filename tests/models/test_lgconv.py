from __future__ import annotations

import pytest
import torch
from torch import nn

from tagfill.errors import TagfillError
from tagfill.models.factory import build_backbone
from tagfill.models.lgconv import GlobalBranch, LgConv, wrap_convolutions


def branch_by_hand(branch: GlobalBranch, x: torch.Tensor) -> torch.Tensor:
    """The published definition, one image, head and position at a time."""
    _, channels, height, width = x.shape
    places = [(row, column) for row in range(height) for column in range(width)]
    width_of_head = channels // branch.heads
    image = x[0]

    def conv(layer: nn.Conv2d, vector: torch.Tensor) -> torch.Tensor:
        return layer(vector[None, :, None, None])[0, :, 0, 0]

    reduced = {p: conv(branch.reduce, image[:, p[0], p[1]]).clamp(min=0) for p in places}
    mean = sum(reduced.values()) / len(places)
    context = {p: torch.cat((reduced[p], mean)) for p in places}
    logits = torch.stack([conv(branch.attend, context[p]) for p in places])
    attention = torch.softmax(logits, dim=0)
    values = torch.stack([conv(branch.value, image[:, p[0], p[1]]) for p in places])
    changed = image.clone()
    for head in range(branch.heads):
        split = slice(head * width_of_head, (head + 1) * width_of_head)
        pooled = (attention[:, head, None] * values[:, split]).sum(0)
        for p in places:
            spread = torch.sigmoid(conv(branch.spread, context[p])[head])
            changed[split, p[0], p[1]] += pooled * spread
    return branch.norm(branch.project(changed[None]))


@pytest.mark.parametrize(
    ("channels", "out", "stride", "groups"), [(16, 8, 1, 1), (16, 16, 2, 16), (12, 8, 2, 1)]
)
def test_branch_is_the_published_one(channels: int, out: int, stride: int, groups: int) -> None:
    torch.manual_seed(0)
    conv = nn.Conv2d(channels, out, 3, stride=stride, padding=1, groups=groups)
    branch = GlobalBranch(conv).eval()
    nn.init.normal_(branch.norm.weight)
    x = torch.randn(1, channels, 3, 5)
    with torch.no_grad():
        torch.testing.assert_close(branch(x), branch_by_hand(branch, x), atol=1e-5, rtol=1e-5)


def test_wrapped_convolution_adds_the_branch() -> None:
    conv = nn.Conv2d(8, 16, 3, stride=2, padding=1)
    wrapped = LgConv(conv).eval()
    nn.init.ones_(wrapped.global_branch.norm.weight)
    x = torch.randn(2, 8, 7, 9)
    torch.testing.assert_close(wrapped(x), conv(x) + wrapped.global_branch(x))


def test_first_scale_is_the_published_one() -> None:
    torch.manual_seed(0)
    scale = GlobalBranch(nn.Conv2d(64, 4096, 3, padding=1)).norm.weight
    assert scale.std().item() == pytest.approx(1e-4, rel=0.1)
    assert scale.mean().abs().item() < 1e-5


def test_which_convolutions_are_wrapped() -> None:
    net = nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),  # on the image itself
        nn.Conv2d(8, 8, 3, padding=1),
        nn.Conv2d(8, 8, 1),
        nn.Conv2d(8, 8, 7, padding=3),
        nn.Conv2d(8, 8, 3),  # shrinks the grid
        nn.Conv2d(8, 8, 3, padding=2, dilation=2),
        nn.Sequential(nn.Conv2d(8, 8, 3, padding=1, groups=8)),
    )
    x = torch.randn(1, 3, 9, 9)
    shape = net(x).shape
    assert wrap_convolutions(net) == 3
    assert [isinstance(layer, LgConv) for layer in net[:6]] == [
        False,
        True,
        False,
        False,
        False,
        True,
    ]
    assert isinstance(net[6][0], LgConv)
    assert net(x).shape == shape


def test_every_3x3_convolution_of_resnet101_is_wrapped() -> None:
    with torch.device("meta"):
        import timm

        assert wrap_convolutions(timm.create_model("resnet101")) == 33


def test_pretrained_features_survive() -> None:
    plain = build_backbone("efficientnet_lite0", size=96).eval()
    torch.manual_seed(0)
    wrapped = build_backbone("efficientnet_lite0", size=96, lgconv=True).eval()
    branches = sum(isinstance(module, LgConv) for module in wrapped.modules())
    assert branches == 7
    assert wrapped.spec.lgconv
    x = torch.randn(2, 3, 96, 96)
    with torch.no_grad():
        before, after = plain(x), wrapped(x)
    change = ((after - before).norm() / before.norm()).item()
    assert 0 < change < 1e-3


def test_a_backbone_without_such_convolutions_says_so() -> None:
    with pytest.raises(TagfillError, match="no 3x3 convolutions"):
        build_backbone("test_vit", size=32, pretrained=False, lgconv=True)
