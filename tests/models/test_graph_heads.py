"""Graph heads against slow loops over classes and places."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from tagfill.models.graph_heads import (
    GatedGraph,
    MlGcnConfig,
    MlGcnHead,
    SsgrlConfig,
    SsgrlHead,
    conditional_probabilities,
)

K, D = 3, 5
SMALL = SsgrlConfig(hidden=6, joint=4, words=7, steps=2)
LABELS = torch.tensor([[1, 1, -1], [1, -1, 0], [1, 1, 0], [-1, 1, -1]], dtype=torch.int8)


def ssgrl(config: SsgrlConfig = SMALL) -> SsgrlHead:
    torch.manual_seed(0)
    return SsgrlHead(D, K, config).eval()


def test_the_graph_counts_observed_positives() -> None:
    expected = torch.tensor([[1, 2 / 3, 0], [2 / 3, 1, 0], [0, 0, 0]])
    torch.testing.assert_close(conditional_probabilities(LABELS), expected)


def test_decoupling_looks_with_an_attention_of_each_class() -> None:
    head = ssgrl()
    parts = head.decoupling
    places = torch.randn(1, 4, 6)
    vectors, attention = parts(places)
    for k in range(K):
        scores = []
        for place in places[0]:
            meeting = torch.tanh(
                (parts.image.weight @ place) * (parts.word.weight @ parts.words[k])
            )
            joint = parts.joint.weight @ meeting + parts.joint.bias
            scores.append((parts.score.weight[0] @ joint + parts.score.bias).item())
        total = sum(map(math.exp, scores))
        weights = torch.tensor([math.exp(score) / total for score in scores])
        torch.testing.assert_close(attention[0, k], weights)
        torch.testing.assert_close(vectors[0, k], weights @ places[0])


def slow_gru(network: GatedGraph, nodes: Tensor, graph: Tensor) -> Tensor:
    """The equations of SSGRL, class by class."""
    for _ in range(network.steps):
        after = []
        for k in range(K):
            heard = torch.cat(
                [
                    sum(graph[k, j] * nodes[j] for j in range(K)),
                    sum(graph[j, k] * nodes[j] for j in range(K)),
                ]
            )
            update, reset, new = network.message(heard).chunk(3)
            own = network.gates(nodes[k]).chunk(2)
            update, reset = torch.sigmoid(update + own[0]), torch.sigmoid(reset + own[1])
            proposal = torch.tanh(new + network.candidate(reset * nodes[k]))
            after.append((1 - update) * nodes[k] + update * proposal)
        nodes = torch.stack(after)
    return nodes


def test_graph_network_against_a_slow_loop() -> None:
    torch.manual_seed(1)
    network, nodes = GatedGraph(6, 2), torch.randn(K, 6)
    graph = conditional_probabilities(LABELS)
    torch.testing.assert_close(network(nodes[None], graph)[0], slow_gru(network, nodes, graph))


def test_logits_are_those_of_its_label_wise_features() -> None:
    head = ssgrl()
    head.learn_labels(LABELS)
    output = head(torch.randn(2, D, 3, 3), maps=True)
    assert output.features is not None
    assert output.maps is not None
    torch.testing.assert_close(head.classify(output.features), output.logits)
    torch.testing.assert_close(output.maps.sum((2, 3)), torch.ones(2, K))


def test_labels_change_what_classes_tell_each_other_and_are_kept() -> None:
    head, features = ssgrl(), torch.randn(2, D, 2, 2)
    before = head(features).logits
    head.learn_labels(LABELS)
    after = head(features).logits
    assert not torch.allclose(before, after)
    other = ssgrl()
    other.load_state_dict(head.state_dict())
    assert torch.equal(other(features).logits, after)


def test_published_ssgrl_halves_the_map() -> None:
    head = ssgrl(SsgrlConfig(hidden=6, joint=4, words=7, halve=True))
    maps = head(torch.randn(1, D, 4, 4), maps=True).maps
    assert maps is not None
    assert maps.shape == (1, K, 2, 2)


def test_ml_gcn_graph_keeps_frequent_pairs_and_normalizes() -> None:
    head = MlGcnHead(D, K, MlGcnConfig(hidden=4, words=7))
    head.learn_labels(LABELS)
    weighted = torch.tensor([[0.8, 0.2, 0.0], [0.2, 0.8, 0.0], [0.0, 0.0, 0.8]])
    scale = weighted.sum(1) ** -0.5
    torch.testing.assert_close(head.graph, scale[:, None] * weighted * scale)
    strict = MlGcnHead(D, K, MlGcnConfig(hidden=4, words=7, threshold=0.7))
    strict.learn_labels(LABELS)
    torch.testing.assert_close(strict.graph, torch.eye(K))


def test_ml_gcn_scores_the_largest_values_with_classifiers_of_the_graph() -> None:
    torch.manual_seed(2)
    head = MlGcnHead(D, K, MlGcnConfig(hidden=4, words=7))
    head.learn_labels(LABELS)
    features = torch.randn(2, D, 3, 3)
    hidden = head.graph @ (head.words @ head.first.weight.T)
    hidden = torch.where(hidden > 0, hidden, 0.2 * hidden)
    weights = head.graph @ (hidden @ head.second.weight.T)
    expected = torch.stack([weights @ image.flatten(1).max(dim=1).values for image in features])
    torch.testing.assert_close(head(features).logits, expected)
