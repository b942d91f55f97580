"""q2l and lem against slow reference computations."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tagfill.models.query_heads import (
    AttentionLayer,
    GroupWiseLinear,
    LabelDecoder,
    LemConfig,
    LemHead,
    Q2LConfig,
    Q2LHead,
)


def attention_by_hand(
    layer: nn.MultiheadAttention, query: Tensor, key: Tensor, value: Tensor
) -> tuple[Tensor, Tensor]:
    """One image, one head, one query at a time. query [K, d], key and value [T, d]."""
    d, heads = layer.embed_dim, layer.num_heads
    wq, wk, wv = layer.in_proj_weight.chunk(3)
    bq, bk, bv = layer.in_proj_bias.chunk(3)
    q, k, v = query @ wq.T + bq, key @ wk.T + bk, value @ wv.T + bv
    out, weights = torch.zeros(len(query), d), torch.zeros(len(query), len(key))
    for head in range(heads):
        split = slice(head * d // heads, (head + 1) * d // heads)
        for row in range(len(query)):
            scores = torch.stack([q[row, split] @ k_row[split] for k_row in k]) / (d / heads) ** 0.5
            share = torch.softmax(scores, dim=0)
            weights[row] += share / heads
            out[row, split] = sum(s * v_row[split] for s, v_row in zip(share, v, strict=True))
    return layer.out_proj(out), weights


def norm_by_hand(norm: nn.LayerNorm, x: Tensor) -> Tensor:
    mean, var = x.mean(-1, keepdim=True), x.var(-1, unbiased=False, keepdim=True)
    return (x - mean) / (var + norm.eps).sqrt() * norm.weight + norm.bias


def feed_by_hand(feed: nn.Sequential, x: Tensor) -> Tensor:
    return feed[3](torch.clamp(feed[0](x), min=0))


def randomize(module: nn.Module) -> None:
    torch.manual_seed(1)
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.3)


def decode_by_hand(
    layer: AttentionLayer, state: Tensor, queries: Tensor, memory: Tensor, position: Tensor
) -> tuple[Tensor, Tensor]:
    if layer.mutual is not None:
        context, _ = attention_by_hand(layer.mutual, state + queries, state + queries, state)
        state = norm_by_hand(layer.norm_mutual, state + context)
    context, weights = attention_by_hand(
        layer.attention, state + queries, memory + position, memory
    )
    state = norm_by_hand(layer.norm_attention, state + context)
    return norm_by_hand(layer.norm_feed, state + feed_by_hand(layer.feed, state)), weights


def check_decoder_layer(self_attention: bool) -> None:
    layer = AttentionLayer(8, 2, 12, 0.1, self_attention=self_attention).eval()
    randomize(layer)
    state, memory = torch.randn(2, 3, 8), torch.randn(2, 5, 8)
    queries, position = torch.randn(3, 8), torch.randn(5, 8)
    with torch.no_grad():
        fused, none = layer(state, queries, memory, position, maps=False)
        shown, maps = layer(state, queries, memory, position, maps=True)
        for image in range(2):
            expected, weights = decode_by_hand(
                layer, state[image], queries, memory[image], position
            )
            torch.testing.assert_close(fused[image], expected, atol=1e-5, rtol=1e-5)
            torch.testing.assert_close(maps[image], weights, atol=1e-5, rtol=1e-5)
    assert none is None
    torch.testing.assert_close(shown, fused, atol=1e-5, rtol=1e-5)


def test_decoder_layer_without_self_attention() -> None:
    check_decoder_layer(self_attention=False)


def test_decoder_layer_with_self_attention() -> None:
    check_decoder_layer(self_attention=True)


def test_encoder_layer() -> None:
    layer = AttentionLayer(8, 4, 10, 0.0).eval()
    randomize(layer)
    tokens, position = torch.randn(1, 4, 8), torch.randn(4, 8)
    placed = tokens[0] + position
    with torch.no_grad():
        context, _ = attention_by_hand(layer.attention, placed, placed, tokens[0])
        inner = norm_by_hand(layer.norm_attention, tokens[0] + context)
        expected = norm_by_hand(layer.norm_feed, inner + feed_by_hand(layer.feed, inner))
        updated, _ = layer(tokens, position, tokens, position, maps=False)
        torch.testing.assert_close(updated[0], expected, atol=1e-5, rtol=1e-5)


def test_group_wise_linear() -> None:
    layer = GroupWiseLinear(classes=3, hidden=4)
    x = torch.randn(2, 3, 4)
    for image in range(2):
        for label in range(3):
            expected = x[image, label] @ layer.weight[label] + layer.bias[label]
            torch.testing.assert_close(layer(x)[image, label], expected)


def test_q2l_maps_are_attention_over_the_grid_and_leave_logits_alone() -> None:
    head = Q2LHead(6, 5, Q2LConfig(hidden=8, heads=2)).eval()
    features = torch.randn(1, 6, 3, 7)
    with torch.no_grad():
        plain, shown = head(features), head(features, maps=True)
    assert plain.maps is None
    assert shown.maps is not None
    assert shown.maps.shape == (1, 5, 3, 7)
    torch.testing.assert_close(shown.maps.sum((2, 3)), torch.ones(1, 5))
    torch.testing.assert_close(plain.logits, shown.logits, atol=1e-5, rtol=1e-5)


def test_q2l_depends_on_where_things_are_but_takes_any_grid() -> None:
    head = Q2LHead(6, 2, Q2LConfig(hidden=8)).eval()
    features = torch.randn(2, 6, 4, 4)
    with torch.no_grad():
        assert not torch.allclose(head(features).logits, head(features.flip(3)).logits, atol=1e-4)
        assert head(torch.randn(1, 6, 1, 9)).logits.shape == (1, 2)


def test_labels_influence_each_other_only_through_decoder_self_attention() -> None:
    features = torch.randn(1, 4, 3, 3)
    for together in (True, False):
        torch.manual_seed(0)
        config = Q2LConfig(hidden=8, decoder_self_attention=together)
        head = Q2LHead(4, 3, config).eval()
        with torch.no_grad():
            before = head(features).logits
            head.decoder.queries[2] += 1
            after = head(features).logits
        unchanged = torch.allclose(before[:, :2], after[:, :2], atol=1e-6)
        assert unchanged is not together


def test_without_projection_the_hidden_size_is_that_of_the_backbone() -> None:
    decoder = LabelDecoder(12, 2, Q2LConfig(hidden=None))
    assert decoder.hidden == 12
    assert not list(decoder.projection.parameters())


def test_lem_projection_is_linear_relu_linear_of_unit_length() -> None:
    head = LemHead(6, 3, LemConfig(hidden=8, embedding=5)).eval()
    features = torch.randn(2, 6, 2, 3)
    with torch.no_grad():
        output = head(features)
        decoded, _ = head.decoder(features)
        first, last = head.projection[0], head.projection[2]
        assert output.embeddings is not None
        for image in range(2):
            for label in range(3):
                inner = torch.clamp(first.weight @ decoded[image, label] + first.bias, min=0)
                projected = last.weight @ inner + last.bias
                expected = projected / projected.square().sum().sqrt()
                torch.testing.assert_close(output.embeddings[image, label], expected)
    torch.testing.assert_close(output.embeddings.norm(dim=-1), torch.ones(2, 3))


def test_lem_projection_can_be_frozen_and_freed() -> None:
    head = LemHead(6, 3, LemConfig(hidden=8, dropout=0.0))
    head.train_embeddings(False)
    features = torch.randn(2, 6, 2, 2)
    head(features).logits.sum().backward()
    assert all(parameter.grad is None for parameter in head.projection.parameters())
    head.train_embeddings(True)
    output = head(features)
    assert output.embeddings is not None
    output.embeddings[0].sum().backward()
    assert all(parameter.grad is not None for parameter in head.projection.parameters())


def test_gradients_reach_every_parameter_of_q2l() -> None:
    head = Q2LHead(6, 3, Q2LConfig(hidden=8, dropout=0.0))
    loss = F.softplus(head(torch.randn(2, 6, 3, 3)).logits).sum()
    loss.backward()
    without = [name for name, parameter in head.named_parameters() if parameter.grad is None]
    assert without == []
