"""Query2Label: each label queries the feature map."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from tagfill.errors import TagfillError
from tagfill.models.attention import DecoderLayer, EncoderLayer
from tagfill.models.output import Output
from tagfill.models.plain_heads import Head, require_maps
from tagfill.models.position import sine_position


@dataclass(frozen=True)
class DecoderConfig:
    """Sizes of the transformer between feature map and labels.

    Args:
        hidden: d; a projection leads there from the backbone's channels. None takes the channels
            as they are, without projection.
        feedforward: inner width of the feed-forward parts; None means 4 d.
        heads: of every attention.
        encoder_layers, decoder_layers: how many.
        dropout: everywhere in it.
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


PRESETS = {
    "published": Q2LConfig(hidden=None, feedforward=8192, decoder_self_attention=False),
}
"""``published``: what the released code builds, which removes the decoder's self-attention."""


class GroupWiseLinear(nn.Module):
    """One weight vector per label: logit_k = w_k . x_k + b_k."""

    def __init__(self, classes: int, hidden: int) -> None:
        super().__init__()
        bound = 1 / math.sqrt(hidden)
        self.weight = nn.Parameter(torch.empty(classes, hidden).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(classes).uniform_(-bound, bound))

    def forward(self, embeddings: Tensor) -> Tensor:
        """[N, K, d] to [N, K]."""
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
            EncoderLayer(hidden, config.heads, inner, config.dropout)
            for _ in range(config.encoder_layers)
        )
        self.decoder = nn.ModuleList(
            DecoderLayer(
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
            memory = encoder(memory, position)
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

    def classifier_weights(self) -> tuple[Tensor, ...]:
        """[K, d]."""
        return (self.classifier.weight,)
