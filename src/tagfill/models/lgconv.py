"""Local-global convolution: a 3x3 convolution that also sees the whole image (PU-MLC)."""

from __future__ import annotations

from math import gcd
from typing import cast

import torch
from torch import Tensor, nn

GLOBAL_BRANCH = "global_branch"
_HEADS = 8
_SCALE = 1e-4
_GROUPED_SCALE = 1e-5


class GlobalBranch(nn.Module):
    """What a convolution adds from the whole image.

    r = ReLU(conv(x)); h = [r, mean r]; A = softmax over positions of conv(h); S = sigmoid conv(h);
    with values v = conv(x) in heads, out = S * sum over positions of A v; y = BN(conv(x + out)).
    All convolutions are 1x1; the last one has the stride of the convolution it accompanies. The
    scale of the BatchNorm starts near zero (1e-4), so that pretrained features survive. (PU-MLC,
    Sec. III-D; sizes and initialization as published.)

    Beside a grouped or depthwise convolution, two of the 1x1 convolutions, for the values and for
    the output, take its groups (see ``wrap_convolutions``), and the scale starts ten times smaller:
    trained depthwise kernels often sum to nothing, their outputs are small and are blown up by the
    next BatchNorm, and the branch with them.
    """

    def __init__(self, local: nn.Conv2d) -> None:
        super().__init__()
        channels, groups = local.in_channels, local.groups
        self.heads = gcd(_HEADS, channels)
        reduced = max(channels // 4, 1)
        self.reduce = nn.Conv2d(channels, reduced, 1)
        self.attend = nn.Conv2d(2 * reduced, self.heads, 1)
        self.spread = nn.Conv2d(2 * reduced, self.heads, 1)
        self.value = nn.Conv2d(channels, channels, 1, groups=groups)
        self.project = nn.Conv2d(
            channels,
            local.out_channels,
            1,
            stride=cast(tuple[int, int], local.stride),
            groups=groups,
        )
        self.norm = nn.BatchNorm2d(local.out_channels)
        nn.init.normal_(self.norm.weight, std=_SCALE if groups == 1 else _GROUPED_SCALE)

    def forward(self, x: Tensor) -> Tensor:
        reduced = self.reduce(x).relu()
        mean = reduced.mean(dim=(2, 3), keepdim=True).expand_as(reduced)
        context = torch.cat((reduced, mean), dim=1)
        attention = self.attend(context).flatten(2).softmax(dim=2)
        values = self.value(x).unflatten(1, (self.heads, -1)).flatten(3)
        pooled = torch.einsum("nhp,nhcp->nhc", attention, values)
        spread = self.spread(context).sigmoid()
        out = torch.einsum("nhc,nhyx->nhcyx", pooled, spread).flatten(1, 2)
        added: Tensor = self.norm(self.project(x + out))
        return added


class LgConv(nn.Module):
    """conv(x) + global branch(x)."""

    def __init__(self, local: nn.Conv2d) -> None:
        super().__init__()
        self.local = local
        self.global_branch = GlobalBranch(local)

    def forward(self, x: Tensor) -> Tensor:
        both: Tensor = self.local(x) + self.global_branch(x)
        return both


def wrap_convolutions(module: nn.Module) -> int:
    """Give every 3x3 convolution inside a module a global branch.

    Left alone are convolutions on the image itself (their three channels carry nothing global) and
    those that change the grid by more than their stride (no padding).

    Depthwise and grouped convolutions get a branch too, else networks such as EfficientNet, whose
    only 3x3 convolutions are depthwise, would gain nothing. But a full C x C branch beside a
    depthwise convolution of 9 C weights would be the bigger network and mix channels the
    architecture keeps apart, so the branch's two C x C convolutions take the same groups: for a
    depthwise one a scale per channel. The attention still sees all channels.

    Returns:
        How many convolutions were wrapped.
    """
    wrapped = 0
    for name, child in module.named_children():
        if isinstance(child, nn.Conv2d) and _suits(child):
            setattr(module, name, LgConv(child))
            wrapped += 1
        else:
            wrapped += wrap_convolutions(child)
    return wrapped


def _suits(conv: nn.Conv2d) -> bool:
    same_by_itself = type(conv).__name__ == "Conv2dSame"
    same = same_by_itself or conv.padding in ("same", conv.dilation)
    return conv.kernel_size == (3, 3) and conv.in_channels > 3 and same
