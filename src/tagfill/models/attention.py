"""Transformer layers of the query heads: post-norm, ReLU, as in DETR and Query2Label."""

from __future__ import annotations

from torch import Tensor, nn


def feed_forward(hidden: int, inner: int, dropout: float) -> nn.Sequential:
    """linear - ReLU - dropout - linear."""
    return nn.Sequential(
        nn.Linear(hidden, inner), nn.ReLU(), nn.Dropout(dropout), nn.Linear(inner, hidden)
    )


class EncoderLayer(nn.Module):
    """Image tokens attend to each other."""

    def __init__(self, hidden: int, heads: int, inner: int, dropout: float) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(hidden, heads, dropout, batch_first=True)
        self.feed = feed_forward(hidden, inner, dropout)
        self.norm_attention = nn.LayerNorm(hidden)
        self.norm_feed = nn.LayerNorm(hidden)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Tensor, position: Tensor) -> Tensor:
        """Queries and keys have positions, values do not.

        Args:
            tokens: [N, T, d]
            position: [T, d]
        """
        placed = tokens + position
        context, _ = self.attention(placed, placed, tokens, need_weights=False)
        tokens = self.norm_attention(tokens + self.dropout(context))
        result: Tensor = self.norm_feed(tokens + self.dropout(self.feed(tokens)))
        return result


class DecoderLayer(nn.Module):
    """Label queries attend to each other (optionally), then to the image."""

    def __init__(
        self, hidden: int, heads: int, inner: int, dropout: float, *, self_attention: bool
    ) -> None:
        super().__init__()
        self.mutual = (
            nn.MultiheadAttention(hidden, heads, dropout, batch_first=True)
            if self_attention
            else None
        )
        self.norm_mutual = nn.LayerNorm(hidden) if self_attention else None
        self.attention = nn.MultiheadAttention(hidden, heads, dropout, batch_first=True)
        self.feed = feed_forward(hidden, inner, dropout)
        self.norm_attention = nn.LayerNorm(hidden)
        self.norm_feed = nn.LayerNorm(hidden)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, state: Tensor, queries: Tensor, memory: Tensor, position: Tensor, *, maps: bool
    ) -> tuple[Tensor, Tensor | None]:
        """Update the embedding of each label.

        Args:
            state: [N, K, d] what earlier layers found.
            queries: [K, d] label embeddings, added to queries and keys of labels.
            memory: [N, T, d] image tokens.
            position: [T, d]
            maps: compute the attention itself, which fused attention never does.

        Returns:
            [N, K, d], and [N, K, T] attention averaged over heads if asked for.
        """
        if self.mutual is not None and self.norm_mutual is not None:
            asked = state + queries
            context, _ = self.mutual(asked, asked, state, need_weights=False)
            state = self.norm_mutual(state + self.dropout(context))
        context, attention = self.attention(
            state + queries, memory + position, memory, need_weights=maps
        )
        state = self.norm_attention(state + self.dropout(context))
        state = self.norm_feed(state + self.dropout(self.feed(state)))
        return state, attention
