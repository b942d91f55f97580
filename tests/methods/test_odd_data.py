"""Every method on data at the edge: it trains, or refuses with a sentence that is true."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import NamedTuple

import pytest
import torch
from torch import Tensor, nn

from tagfill import methods
from tagfill.errors import TagfillError
from tagfill.models.output import Output
from tagfill.models.plain_heads import Head
from tagfill.train.config import MethodConfig, StageConfig
from tagfill.train.events import Events
from tagfill.train.forward import StageData
from tagfill.train.inputs import FeatureInputs
from tagfill.train.loop import Stage
from tagfill.train.method import Positives, begin
from tagfill.train.processes import make_accelerator

WIDTH = 6
NO_POSITIVE = "no observed label is positive"
NO_NEGATIVE = "needs observed negatives and there are none"
MANY_PAIRS = "all pairs of 5,000 classes"
NOT_FINITE = "features are not finite"


class Odd(NamedTuple):
    """Features [N, D, H, W], labels, the truth behind them, and what is true of them."""

    features: Tensor
    observed: Tensor
    truth: Tensor
    batch: int = 4
    true: tuple[str, ...] = ()


def ordinary(images: int = 12, classes: int = 4, share: float = 0.4) -> Odd:
    """About 60 % of the labels known, the first one positive."""
    generator = torch.Generator().manual_seed(1)
    truth = (torch.rand(images, classes, generator=generator) < share).to(torch.int8)
    truth[torch.arange(images), torch.arange(images) % classes] = 1
    keep = torch.rand(images, classes, generator=generator) < 0.6
    keep[0, 0] = True
    observed = torch.where(keep, truth, -1).to(torch.int8)
    return Odd(torch.randn(images, WIDTH, 2, 2, generator=generator), observed, truth)


def one_class(negatives: bool) -> Odd:
    labels = [1, 1, -1, -1, 1, -1, 0, 0, -1, 1, -1, 0]
    observed = torch.tensor(labels, dtype=torch.int8)[:, None]
    if not negatives:
        observed[observed == 0] = -1
    truth = (torch.tensor(labels, dtype=torch.int8) == 1).to(torch.int8)[:, None]
    true = () if negatives else (NO_NEGATIVE,)
    return ordinary(12, 1)._replace(observed=observed, truth=truth, true=true)


def class_never_seen() -> Odd:
    odd = ordinary()
    odd.observed[:, 2], odd.truth[:, 2] = -1, 0
    return odd


def all_unknown() -> Odd:
    odd = ordinary()
    unknown = torch.full_like(odd.observed, -1)
    return odd._replace(observed=unknown, true=(NO_POSITIVE,))


def all_positive() -> Odd:
    odd = ordinary()
    ones = torch.ones_like(odd.observed)
    return odd._replace(observed=ones, truth=ones.clone(), true=(NO_NEGATIVE,))


def not_finite(negatives: bool) -> Odd:
    odd = ordinary()
    odd.features[3, 2] = torch.nan
    if not negatives:
        odd.observed[odd.observed == 0] = -1
    return odd._replace(true=(NOT_FINITE,) if negatives else (NOT_FINITE, NO_NEGATIVE))


CASES: dict[str, Callable[[], Odd]] = {
    "one class": lambda: one_class(negatives=True),
    "one class, positives only": lambda: one_class(negatives=False),
    "5,000 classes": lambda: ordinary(6, 5_000, share=0.001)._replace(true=(MANY_PAIRS,)),
    "one image": lambda: ordinary(1),
    "two images": lambda: ordinary(2),
    "a class never seen": class_never_seen,
    "all unknown": all_unknown,
    "all positive": all_positive,
    "constant features": lambda: ordinary()._replace(features=torch.ones(12, WIDTH, 2, 2)),
    "features not finite": lambda: not_finite(negatives=True),
    "features not finite, positives only": lambda: not_finite(negatives=False),
    "batch larger than the data": lambda: ordinary()._replace(batch=1_000),
}
MUST_REFUSE = {"all unknown", "features not finite", "features not finite, positives only"}


class Everything(Head):
    """A head that gives whatever a method may need, for any number of classes."""

    def __init__(self, classes: int) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.weight = nn.Parameter(0.1 * torch.randn(classes, WIDTH, generator=generator))
        self.bias = nn.Parameter(torch.zeros(classes))
        self.label = nn.Parameter(torch.randn(classes, WIDTH, generator=generator))

    def forward(self, features: Tensor, maps: bool = False) -> Output:
        scores = torch.einsum("kd,bdhw->bkhw", self.weight, features) + self.bias[:, None, None]
        embeddings = nn.functional.normalize(features.mean((2, 3))[:, None] * self.label, dim=-1)
        label_wise = features.mean((2, 3))[:, None] * self.weight
        return Output(scores.mean((2, 3)), embeddings, scores, label_wise)

    def classify(self, features: Tensor) -> Tensor:
        return features.sum(2) + self.bias

    def classifier_weights(self) -> tuple[Tensor, ...]:
        return (self.weight,)


@functools.cache
def positives_of(case: str) -> Positives:
    """How many labels are expected in a case, estimated once for all methods that ask."""
    odd = CASES[case]()
    return Positives(odd.observed, lambda: odd.features.mean((2, 3)).numpy(), Events())


def train(name: str, odd: Odd, positives: Positives) -> nn.Module:
    method = methods.make(name)
    epochs = 7 if name == "em_apl" else 2  # its warm-up takes 5
    config = StageConfig(
        MethodConfig(name), epochs=epochs, batch_size=odd.batch, learning_rate=0.05
    )
    strong = [odd.features + 0.1] if method.needs.two_views else None
    truth = odd.truth if method.needs.truth else None
    data = StageData(FeatureInputs(odd.features, strong), odd.observed, truth)
    begin(method, config, data, positives, seed=0, device=torch.device("cpu"))
    stage = Stage(
        Everything(odd.observed.shape[1]),
        method,
        config,
        data,
        accelerator=make_accelerator("no", 1),
        events=Events(),
        keep=lambda tensors, metadata: None,
        seed=0,
    )
    stage.run()
    return stage.plain


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("name", methods.own_names())
def test_trains_or_refuses_with_a_true_sentence(name: str, case: str) -> None:
    odd = CASES[case]()
    oracle = methods.find(name).INFO.needs.truth and case == "all unknown"
    try:
        network = train(name, odd, positives_of(case))
    except TagfillError as refusal:
        sentence, remedy = str(refusal), refusal.remedy
        assert any(re.search(true, sentence) for true in odd.true), sentence
        assert remedy
    else:
        assert case not in MUST_REFUSE or oracle
        assert all(parameter.isfinite().all() for parameter in network.parameters())
