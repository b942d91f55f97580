"""Label-wise embedding model (LAC): the label decoder with a second, contrastive output."""

from __future__ import annotations

from dataclasses import dataclass

import torch.nn.functional as F
from torch import Tensor, nn

from tagfill.models.output import Output
from tagfill.models.plain_heads import Head, require_maps
from tagfill.models.q2l import DecoderConfig, GroupWiseLinear, LabelDecoder


@dataclass(frozen=True)
class LemConfig(DecoderConfig):
    """One self-attention block on the image and one cross-attention block (Xie et al. 2022).

    Args:
        embedding: width of the label-wise embeddings.
    """

    decoder_layers: int = 1
    decoder_self_attention: bool = False
    embedding: int = 128


PRESETS = {
    "published": LemConfig(hidden=None, feedforward=8192, decoder_layers=2),
}
"""``published``: the released code has two cross-attention layers where the paper says one."""


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

    def classifier_weights(self) -> tuple[Tensor, ...]:
        """[K, d]."""
        return (self.classifier.weight,)
