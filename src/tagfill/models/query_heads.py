"""Heads in which each label queries the feature map: Query2Label, and the embeddings of LAC."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tagfill.errors import TagfillError
from tagfill.models.output import Output
from tagfill.models.plain_heads import Head, require_maps


@dataclass(frozen=True)
class DecoderConfig:
    """Sizes of the transformer between feature map and labels.

    Args:
        hidden: d; a projection leads there from the backbone's channels. None takes the channels
            as they are, without projection.
        feedforward: inner width of the feed-forward parts; None means 4 d.
        decoder_self_attention: labels attend to each other before they look at the image.
    """

    hidden: int | None = 256
    feedforward: int | None = None
    heads: int = 4
    encoder_layers: int = 1
    decoder_layers: int = 2
    dropout: float = 0.1
    decoder_self_attention: bool = True


@dataclass(frozen=True)
class Q2LConfig(DecoderConfig):
    """Query2Label (Liu et al. 2021): decoder self-attention as in the paper's equation."""


Q2L_PRESETS = {
    "published": Q2LConfig(hidden=None, feedforward=8192, decoder_self_attention=False),
}
"""``published``: what the released code builds, which removes the decoder's self-attention."""


@dataclass(frozen=True)
class LemConfig(DecoderConfig):
    """One self-attention block on the image and one cross-attention block (Xie et al. 2022).

    Args:
        embedding: width of the label-wise embeddings.
    """

    decoder_layers: int = 1
    decoder_self_attention: bool = False
    embedding: int = 128


LEM_PRESETS = {
    "published": LemConfig(hidden=None, feedforward=8192, decoder_layers=2),
}
"""``published``: the released code has two cross-attention layers where the paper says one."""


def sine_position(
    height: int, width: int, channels: int, device: torch.device | None = None
) -> Tensor:
    """2-D sine code of any grid: half of the channels encode the row, the other half the column.

    With u = 2 pi (row + 1) / height and C = channels / 2, channels 2i and 2i + 1 of the first half
    are sin and cos of u / 10000^(2i / C). Carion et al. 2020, as used by Query2Label.

    Args:
        channels: a multiple of 4.

    Returns:
        [channels, height, width]
    """
    half = channels // 2
    power = torch.arange(0, half, 2, device=device, dtype=torch.float32) / half
    frequency = 10000.0**-power

    def code(cells: int) -> Tensor:
        steps = torch.arange(1, cells + 1, device=device, dtype=torch.float32)
        angle = (2 * math.pi / cells) * steps * frequency[:, None]
        return torch.stack((angle.sin(), angle.cos()), dim=1).flatten(0, 1)

    rows = code(height)[:, :, None].expand(half, height, width)
    columns = code(width)[:, None, :].expand(half, height, width)
    return torch.cat((rows, columns))


class AttentionLayer(nn.Module):
    """Queries attend to each other (optionally), then to the image: post-norm, ReLU, as in DETR."""

    def __init__(
        self, hidden: int, heads: int, inner: int, dropout: float, *, self_attention: bool = False
    ) -> None:
        super().__init__()
        self.mutual = (
            nn.MultiheadAttention(hidden, heads, dropout, batch_first=True)
            if self_attention
            else None
        )
        self.norm_mutual = nn.LayerNorm(hidden) if self_attention else None
        self.attention = nn.MultiheadAttention(hidden, heads, dropout, batch_first=True)
        self.feed = nn.Sequential(
            nn.Linear(hidden, inner), nn.ReLU(), nn.Dropout(dropout), nn.Linear(inner, hidden)
        )
        self.norm_attention = nn.LayerNorm(hidden)
        self.norm_feed = nn.LayerNorm(hidden)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, state: Tensor, queries: Tensor, memory: Tensor, position: Tensor, *, maps: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Update the state of each query; keys and queries have positions, values do not.

        Args:
            state: [N, K, d] what earlier layers found.
            queries: [K, d] label embeddings, or the positions of image tokens.
            memory: [N, T, d] image tokens; ``state`` itself where they attend to each other.
            position: [T, d]
            maps: compute the attention itself, which fused attention never does.

        Returns:
            [N, K, d], and [N, K, T] attention averaged over heads if asked for.
        """
        if self.mutual is not None and self.norm_mutual is not None:
            mutual = state + queries
            context, _ = self.mutual(mutual, mutual, state, need_weights=False)
            state = self.norm_mutual(state + self.dropout(context))
        asked = state + queries
        keys = asked if memory is state else memory + position
        context, attention = self.attention(asked, keys, memory, need_weights=maps)
        state = self.norm_attention(state + self.dropout(context))
        state = self.norm_feed(state + self.dropout(self.feed(state)))
        return state, attention


class GroupWiseLinear(nn.Module):
    """One weight vector per label: logit_k = w_k . x_k + b_k."""

    def __init__(self, classes: int, hidden: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(hidden)
        self.weight = nn.Parameter(torch.empty(classes, hidden).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(classes).uniform_(-bound, bound))

    def forward(self, embeddings: Tensor) -> Tensor:
        return torch.einsum("nkd,kd->nk", embeddings, self.weight) + self.bias


class LabelDecoder(nn.Module):
    """Feature map in, one embedding per label out.

    Labels are learnable queries, added to a state that starts at zero; image tokens carry a 2-D
    sine position encoding of the actual grid, so any input size works.
    """

    def __init__(self, channels: int, classes: int, config: DecoderConfig) -> None:
        super().__init__()
        hidden = channels if config.hidden is None else config.hidden
        inner = 4 * hidden if config.feedforward is None else config.feedforward
        if hidden % 4 or hidden % config.heads:
            raise TagfillError(
                f"a hidden size of {hidden} does not work with {config.heads} heads",
                remedy="choose a multiple of 4 and of the number of heads",
            )
        self.hidden = hidden
        self.projection = (
            nn.Identity() if config.hidden is None else nn.Conv2d(channels, hidden, kernel_size=1)
        )
        self.queries = nn.Parameter(torch.randn(classes, hidden))
        self.encoder = nn.ModuleList(
            AttentionLayer(hidden, config.heads, inner, config.dropout)
            for _ in range(config.encoder_layers)
        )
        self.decoder = nn.ModuleList(
            AttentionLayer(
                hidden,
                config.heads,
                inner,
                config.dropout,
                self_attention=config.decoder_self_attention,
            )
            for _ in range(config.decoder_layers)
        )
        self.norm = nn.LayerNorm(hidden)
        for parameter in (*self.encoder.parameters(), *self.decoder.parameters()):
            if parameter.ndim > 1:
                nn.init.xavier_uniform_(parameter)

    def forward(self, features: Tensor, maps: bool = False) -> tuple[Tensor, Tensor | None]:
        """Decode a feature map.

        Args:
            features: [N, D, H, W]
            maps: also return the last layer's cross-attention, averaged over heads.

        Returns:
            [N, K, d], and [N, K, H, W] if asked for.
        """
        height, width = features.shape[2:]
        memory = self.projection(features).flatten(2).transpose(1, 2)
        code = sine_position(height, width, self.hidden, device=features.device)
        position = code.flatten(1).transpose(0, 1).to(memory.dtype)
        for encoder in self.encoder:
            memory, _ = encoder(memory, position, memory, position, maps=False)
        state = torch.zeros_like(self.queries).expand(memory.shape[0], -1, -1)
        attention = None
        for number, decoder in enumerate(self.decoder, start=1):
            wanted = maps and number == len(self.decoder)
            state, attention = decoder(state, self.queries, memory, position, maps=wanted)
        seen = None if attention is None else attention.unflatten(2, (height, width))
        return self.norm(state), seen


class Q2LHead(Head):
    """Label decoder and group-wise linear output."""

    def __init__(self, channels: int, classes: int, config: Q2LConfig) -> None:
        super().__init__()
        self.decoder = LabelDecoder(channels, classes, config)
        self.classifier = GroupWiseLinear(classes, self.decoder.hidden)

    def forward(self, features: Tensor, maps: bool = False) -> Output:
        """Score maps; with ``maps``, also where each label looked: [N, K, H, W] summing to 1."""
        require_maps(features, "q2l")
        embeddings, attention = self.decoder(features, maps)
        return Output(self.classifier(embeddings), maps=attention)


class LemHead(Head):
    """Logits h(f_k(x)) and unit-length embeddings g(f_k(x)) / |g(f_k(x))| of every label.

    h is group-wise linear; g is linear - ReLU - linear.
    """

    def __init__(self, channels: int, classes: int, config: LemConfig) -> None:
        super().__init__()
        self.decoder = LabelDecoder(channels, classes, config)
        hidden = self.decoder.hidden
        self.classifier = GroupWiseLinear(classes, hidden)
        self.projection = nn.Sequential(
            nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, config.embedding)
        )

    def train_embeddings(self, enabled: bool) -> None:
        """Unfreeze the projection head (second training stage) or freeze it (first stage)."""
        self.projection.requires_grad_(enabled)

    def forward(self, features: Tensor, maps: bool = False) -> Output:
        """Score maps; embeddings are always returned, attention maps on request."""
        require_maps(features, "lem")
        decoded, attention = self.decoder(features, maps)
        embeddings = F.normalize(self.projection(decoded), dim=-1)
        return Output(self.classifier(decoded), embeddings=embeddings, maps=attention)
