"""Heads that know which classes go together: SSGRL (semantic decoupling, gated graph) and ML-GCN.

Both take the graph of classes from the training labels (``learn_labels``) and keep it with their
weights. The papers describe classes by GloVe word vectors; here these are learned.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tagfill.models.output import Output
from tagfill.models.plain_heads import Head, require_maps
from tagfill.models.query_heads import GroupWiseLinear


def conditional_probabilities(observed: Tensor) -> Tensor:
    """[K, K] P(j | i): the share of images with tag i that have tag j too; 0 for a tag never seen.

    Args:
        observed: [N, K] labels; only positives count.
    """
    positive = (observed == 1).float()
    together = positive.T @ positive
    return together / together.diagonal().clamp(min=1)[:, None]


class GraphHead(Head):
    """A head with a graph of classes: without edges until it has seen the training labels."""

    graph: Tensor

    def __init__(self, classes: int) -> None:
        super().__init__()
        self.register_buffer("graph", torch.eye(classes))

    def learn_labels(self, observed: Tensor) -> None:
        """Count which classes go together."""
        self.graph.copy_(conditional_probabilities(observed))


@dataclass(frozen=True)
class SsgrlConfig:
    """Semantic decoupling and a gated graph network (Chen et al. 2019, SSGRL).

    Args:
        hidden: channels of the map and of each class's features.
        joint: width in which image and class meet.
        words: width of the class vectors.
        halve: average 2 x 2 positions first, as PU-MLC's code does at 448 px.
    """

    hidden: int = 256
    joint: int = 128
    words: int = 300
    steps: int = 3
    halve: bool = False


SSGRL_PRESETS = {"published": SsgrlConfig(hidden=1024, joint=512, halve=True)}
"""``published``: the sizes in the code of SST, SARB and PU-MLC."""


class SemanticDecoupling(nn.Module):
    """Features of every class, gathered by its own attention.

    a_kp = softmax over positions p of w . (V tanh(U x_p * W v_k) + b), f_k = sum over p of a_kp x_p
    """

    def __init__(self, classes: int, config: SsgrlConfig) -> None:
        super().__init__()
        self.words = nn.Parameter(torch.randn(classes, config.words) / config.words**0.5)
        self.image = nn.Linear(config.hidden, config.joint, bias=False)
        self.word = nn.Linear(config.words, config.joint, bias=False)
        self.joint = nn.Linear(config.joint, config.joint)
        self.score = nn.Linear(config.joint, 1)

    def forward(self, places: Tensor) -> tuple[Tensor, Tensor]:
        """[N, P, D] to features [N, K, D] and attention [N, K, P]."""
        meeting = self.image(places)[:, None] * self.word(self.words)[:, None]
        scores = self.score(self.joint(torch.tanh(meeting))).squeeze(-1)
        attention = scores.softmax(dim=-1)
        return attention @ places, attention


class GatedGraph(nn.Module):
    """Classes exchange messages along the graph and its transpose, gated as in a GRU."""

    def __init__(self, width: int, steps: int) -> None:
        super().__init__()
        self.steps = steps
        self.message = nn.Linear(2 * width, 3 * width)
        self.gates = nn.Linear(width, 2 * width)
        self.candidate = nn.Linear(width, width)

    def forward(self, nodes: Tensor, graph: Tensor) -> Tensor:
        for _ in range(self.steps):
            heard = torch.cat([graph @ nodes, graph.T @ nodes], dim=-1)
            update, reset, new = self.message(heard).chunk(3, dim=-1)
            update_own, reset_own = self.gates(nodes).chunk(2, dim=-1)
            update, reset = torch.sigmoid(update + update_own), torch.sigmoid(reset + reset_own)
            proposal = torch.tanh(new + self.candidate(reset * nodes))
            nodes = (1 - update) * nodes + update * proposal
        return nodes


class SsgrlHead(GraphHead):
    """logit_k = w_k . tanh(A [g_k, f_k] + b) + c_k, g the features f after the graph network."""

    def __init__(self, channels: int, classes: int, config: SsgrlConfig) -> None:
        super().__init__(classes)
        self.halve = config.halve
        self.project = nn.Sequential(
            nn.Conv2d(channels, config.hidden, 1, bias=False), nn.BatchNorm2d(config.hidden)
        )
        self.decoupling = SemanticDecoupling(classes, config)
        self.network = GatedGraph(config.hidden, config.steps)
        self.merge = nn.Linear(2 * config.hidden, config.hidden)
        self.classifier = GroupWiseLinear(classes, config.hidden)

    def forward(self, features: Tensor, maps: bool = False) -> Output:
        """Score maps; label-wise features are always returned, attention maps on request."""
        require_maps(features, "ssgrl")
        if self.halve and min(features.shape[2:]) > 1:
            features = F.avg_pool2d(features, 2)
        places = self.project(features)
        decoupled, attention = self.decoupling(places.flatten(2).transpose(-1, -2))
        seen = attention.unflatten(2, places.shape[2:]) if maps else None
        return Output(self.classify(decoupled), features=decoupled, maps=seen)

    def classify(self, features: Tensor) -> Tensor:
        """[N, K, D] label-wise features to [N, K] logits."""
        related = self.network(features, self.graph)
        merged = torch.tanh(self.merge(torch.cat([related, features], dim=-1)))
        logits: Tensor = self.classifier(merged)
        return logits


@dataclass(frozen=True)
class MlGcnConfig:
    """Classifiers computed by a graph convolution over classes (Chen et al. 2019, ML-GCN).

    Args:
        hidden: width between the two graph convolutions.
        words: width of the class vectors.
        threshold: tau, pairs that go together less often are no edge.
        neighbors: p, what all neighbors of a class weigh together.
    """

    hidden: int = 1024
    words: int = 300
    threshold: float = 0.4
    neighbors: float = 0.2


class MlGcnHead(GraphHead):
    """logits = W max(map), W = A' leaky(A' E U) V with E the class vectors.

    A' is the normalized graph D^-1/2 A D^-1/2 of Eq. 7-9: edges where P(j | i) reaches the
    threshold, together weighing p, and every class itself 1 - p.
    """

    def __init__(self, channels: int, classes: int, config: MlGcnConfig) -> None:
        super().__init__(classes)
        self.threshold, self.neighbors = config.threshold, config.neighbors
        self.words = nn.Parameter(torch.randn(classes, config.words) / config.words**0.5)
        self.first = nn.Linear(config.words, config.hidden, bias=False)
        self.second = nn.Linear(config.hidden, channels, bias=False)

    def learn_labels(self, observed: Tensor) -> None:
        """Keep the edges that are frequent enough, re-weighted and normalized."""
        often = conditional_probabilities(observed) >= self.threshold
        edges = (often & ~torch.eye(len(often), dtype=torch.bool)).float()
        shares = self.neighbors * edges / edges.sum(dim=1, keepdim=True).clamp(min=1)
        weighted = shares + (1 - self.neighbors) * torch.eye(len(edges))
        scale = weighted.sum(dim=1).rsqrt()
        self.graph.copy_(scale[:, None] * weighted * scale)

    def classifiers(self) -> Tensor:
        """[K, D] the weights computed by the graph."""
        hidden = F.leaky_relu(self.graph @ self.first(self.words), 0.2)
        weights: Tensor = self.graph @ self.second(hidden)
        return weights

    def forward(self, features: Tensor, maps: bool = False) -> Output:
        """Score maps by their largest values; with ``maps``, the scores of each position."""
        require_maps(features, "ml_gcn")
        weights = self.classifiers()
        seen = torch.einsum("kd,ndhw->nkhw", weights, features) if maps else None
        return Output(features.amax(dim=(2, 3)) @ weights.T, maps=seen)

    def classifier_weights(self) -> tuple[Tensor, ...]:
        """The matrices of both graph convolutions."""
        return (self.first.weight, self.second.weight)
