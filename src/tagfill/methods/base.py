"""The method protocol: the interface of the training loop and a method.

A method is one module of this package with the name of the method; variants share a module, which
lists them in ``METHODS`` (a dictionary of ``NamedMethod`` by name). A method's module exposes

- ``Config``: a frozen dataclass of hyper-parameters, the paper's values as defaults; see
  ``setting`` and ``Settings`` in ``_settings``,
- ``build(config) -> Method``,
- ``INFO``: an ``Info`` with title, source paper and equations, and what the method needs,
- optionally ``PRESETS``: named ``Config`` objects, such as the published code's values,
- optionally ``SEARCH``: values to try, for ``tagfill tune`` (see ``_search``),
- optionally ``stages(config)``: the stages of a schedule of its own (``--mode two_stage``),
- optionally ``head_settings(config)``: settings of the head it needs, a linear one by default.

A field of ``Config`` is documented by its ``setting``, or in the ``Args`` section of the docstring;
the docstring of the module gives formula, paper and differences from the published code.
``tagfill methods`` and docs/methods.md are generated from them.

The loop calls ``start`` once, then for every step ``loss``, the optimizer, ``after_step`` (with the
same ``Step``), and for every epoch ``after_epoch``. Under several processes the loop gathers
outputs and labels of all of them before it calls ``loss``, so that a method always sees the whole
batch, its state is the same everywhere, and it needs no code for communication.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import torch
from torch import Tensor

from tagfill.errors import TagfillError
from tagfill.linear.problem import LinearProblem, LinearWeights, solve_elementwise
from tagfill.methods._settings import reduced
from tagfill.methods._state import Stateful
from tagfill.models.output import Output

HEAD_NEEDS = ("embeddings", "activation_maps", "label_features")
"""Needs that a head meets."""
MLSPL_K = {"voc": 1.5, "coco": 2.9, "nus": 1.9, "cub": 31.4}
"""Positives per image of the data sets of Cole et al. 2021, as their published code has them."""
LossTerms = dict[str, Tensor]
"""Named scalar terms, already weighted; their sum is what is minimized."""


@dataclass(frozen=True)
class Needs:
    """What a method needs from the loop, the model and the labels.

    Args:
        truth: trains on the full labels behind masked ones (an oracle).
        negatives: cannot learn without observed negatives.
        state: has state per image, so the training set is fixed at the start.
        two_views: a weakly and a strongly augmented view of every image.
        mixup: a mixed half batch.
        expected_positives: the mean number of positives per image, k.
        class_prior: the share of positives of each class.
        embeddings: label-wise embeddings (``lem`` head).
        activation_maps: class-activation maps (``cam`` head).
        label_features: label-wise features that can be classified again (``ssgrl`` head).
        epoch_scores: scores of all training images at the end of each epoch.
        augmented_scores: these scores from augmented views, as in training.
        solver: a linear head on fixed features is solved directly, without epochs.
    """

    truth: bool = False
    negatives: bool = False
    state: bool = False
    two_views: bool = False
    mixup: bool = False
    expected_positives: bool = False
    class_prior: bool = False
    embeddings: bool = False
    activation_maps: bool = False
    label_features: bool = False
    epoch_scores: bool = False
    augmented_scores: bool = False
    solver: bool = False

    def of_the_head(self) -> list[str]:
        """Outputs other than scores that the head must have."""
        return [name for name in HEAD_NEEDS if getattr(self, name)]


@dataclass(frozen=True)
class Info:
    """Title and source of a method, for users.

    Args:
        source: paper, year, and where in it ("Cole et al. 2021, Eq. 9").
        alias_of: the method of which this is another name.
    """

    title: str
    source: str
    needs: Needs = field(default_factory=Needs)
    alias_of: str | None = None


@dataclass(frozen=True)
class StagePlan:
    """One stage of a method's own schedule.

    Args:
        method: the name of the method that is trained.
        settings: its hyper-parameters. In the last stage, which trains the method itself, the
            user's settings override them.
    """

    method: str
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class Setup:
    """What a method gets at the start of training.

    Args:
        observed: [N, K] int8 labels of the training images (1, 0, -1).
        learning_rate: of the classification head; methods with parameters of their own scale it.
        expected_positives: k, where the method needs it.
        class_prior: [K], where the method needs it.
        truth: [N, K] int8 full labels behind masked ones, for oracles (``needs.truth``) where the
            data has them; None means that the observed labels are all there is.
    """

    observed: Tensor
    epochs: int
    steps_per_epoch: int
    learning_rate: float = 1e-3
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))
    seed: int = 0
    expected_positives: float | None = None
    class_prior: Tensor | None = None
    truth: Tensor | None = None

    @property
    def images(self) -> int:
        """N."""
        return self.observed.shape[0]

    @property
    def classes(self) -> int:
        """K."""
        return self.observed.shape[1]


@dataclass(frozen=True)
class Mixed:
    """A mixed half batch: input_i = weight * input[first_i] + (1 - weight) * input[second_i].

    Args:
        output: the network's output for the M mixed inputs.
        first, second: [M] rows of the batch.
        weight: lambda, drawn from Beta(alpha, alpha).
    """

    output: Output
    first: Tensor
    second: Tensor
    weight: float


@dataclass(frozen=True)
class Step:
    """One training step as a method sees it.

    Args:
        output: the network's output for the batch (the weak view where there are two).
        observed: [B, K] int8 labels.
        index: [B] rows of the training set.
        epoch: from 1.
        step: optimizer steps done before this one, over all epochs.
        strong: the output for the strong view, for methods that need two views.
        mixed: for methods that need mixup; None for a batch of one image.
        weights: the weight matrices of the classification head, for penalties on them.
        generator: fresh for this step and the same in every process; all random draws use it.
        truth: [B, K] the batch's rows of ``Setup.truth``.
        classify: from [M, K, D] label-wise features, such as mixed ones, to [M, K] logits, for
            methods that need label features.
    """

    output: Output
    observed: Tensor
    index: Tensor
    epoch: int
    step: int
    strong: Output | None = None
    mixed: Mixed | None = None
    weights: tuple[Tensor, ...] = ()
    generator: torch.Generator | None = None
    truth: Tensor | None = None
    classify: Callable[[Tensor], Tensor] | None = None


@dataclass(frozen=True)
class ParameterGroup:
    """Learnable tensors of a method, with their own learning rate."""

    parameters: list[torch.nn.Parameter]
    learning_rate: float


class Method(Stateful):
    """Base of all methods; stateless by default (see ``Stateful``).

    The loop uses ``needs``: ``tagfill.methods.make`` takes it from ``INFO.needs`` unless the object
    has set its own, which may depend on its configuration. The same holds for the name.
    """

    name: str
    needs: Needs

    def start(self, setup: Setup) -> None:
        """Refuse labels without positives or, where they are needed, without negatives.

        A subclass with state calls this first.

        Raises:
            TagfillError: the labels do not fit; the message names a method that does.
        """
        full = setup.truth if self.needs.truth else None
        labels = setup.observed if full is None else full
        require_positives(labels, self.name)
        if self.needs.negatives:
            require_negatives(labels, self.name)

    def loss(self, step: Step) -> LossTerms:
        """Named scalar terms, already weighted."""
        raise NotImplementedError

    def after_step(self, step: Step) -> None:
        """Update state once the optimizer has stepped, for every step that went into it."""

    def after_epoch(self, epoch: int, scores: Tensor | None) -> None:
        """Update state at the end of an epoch.

        Args:
            epoch: the epoch just finished, from 1.
            scores: [N, K] probabilities of all training images, if ``needs.epoch_scores``.
        """

    def parameter_groups(self) -> list[ParameterGroup]:
        """Learnable tensors of the method itself."""
        return []

    def solve(self, problem: LinearProblem) -> LinearWeights | None:
        """A linear head on fixed features, solved directly from all images; called after ``start``.

        None leaves the head to the training loop.
        """
        return None

    def inherit(self, previous: Method) -> None:
        """Take over what the same method learned in an earlier stage; called after ``start``."""

    def estimates(self) -> Tensor | None:
        """[N, K] probability of being positive, observed entries as observed; or None."""
        return None

    def pseudo_labels(self) -> Tensor | None:
        """[N, K] int8 labels of unknown entries so far (1, 0; else -1).

        None if a method labels no single entries, though it may have estimates of all.
        """
        return None


class ElementwiseMethod(Method):
    """A method without state: the mean over images and classes of a pure loss.

    Args:
        name: of the method and of its only term.
        terms: (logits [B, K], observed [B, K]) -> [B, K].
    """

    def __init__(self, name: str, terms: Callable[[Tensor, Tensor], Tensor]) -> None:
        self.name, self.terms = name, terms

    def loss(self, step: Step) -> LossTerms:
        """One term, the mean over all entries."""
        return {self.name: self.terms(step.output.logits, step.observed).mean()}

    def solve(self, problem: LinearProblem) -> LinearWeights | None:
        """By L-BFGS, if an L2 penalty is set."""
        return solve_elementwise(problem, problem.observed, self.terms)


def elementwise(name: str, terms: Callable[..., Tensor]) -> Callable[[Any], Method]:
    """``build`` of a method without state, from a loss that takes the settings by their names.

    A setting ``reduction`` is the method's own.
    """

    def build(config: Any) -> Method:
        settings = dict(vars(config))
        reduction = settings.pop("reduction", "mean")
        return ElementwiseMethod(name, reduced(partial(terms, **settings), reduction))

    return build


class MethodModule(Protocol):
    """The interface of a method's module."""

    INFO: Info
    Config: type[Any]
    build: Callable[[Any], Method]


class NamedMethod:
    """One of several methods that share a module, with the interface of a module.

    Args:
        text: formula, paper and differences; by default the docstring of the module it shares.
    """

    def __init__(
        self,
        title: str,
        source: str,
        config: type[Any],
        build: Callable[[Any], Method],
        *,
        needs: Needs | None = None,
        alias_of: str | None = None,
        presets: Mapping[str, Any] | None = None,
        text: str | None = None,
    ) -> None:
        self.INFO = Info(title, source, needs or Needs(), alias_of)
        self.Config, self.build, self.PRESETS = config, build, presets or {}
        self.__doc__ = text or sys.modules[config.__module__].__doc__


def filled_in(observed: Tensor, guess: Tensor) -> Tensor:
    """Observed labels as probabilities, and the guess where they are unknown."""
    known = observed.to(guess)
    return torch.where(known < 0, guess, known)


def require_positives(observed: Tensor, method: str) -> None:
    """Refuse labels without a single positive."""
    if not bool((observed == 1).any()):
        raise TagfillError(
            f"{method} cannot start: no observed label is positive",
            remedy="check the label file with `tagfill inspect`",
        )


def resolve_k(k: float | str, setup: Setup, method: str) -> float:
    """k as a number: the configured one, or for "auto" the one the loop estimated."""
    chosen = setup.expected_positives if k == "auto" else k
    if chosen is None:
        raise TagfillError(
            f"{method} needs k, the mean number of positive tags per image",
            remedy="set it with --method.k, or count the tags of a few images",
        )
    number = float(chosen)
    if not 0 < number <= setup.classes:
        raise TagfillError(
            f"{method}: k = {number:g} does not fit {setup.classes} classes",
            remedy="k is the mean number of positive tags per image",
        )
    return number


def require_negatives(observed: Tensor, method: str) -> None:
    """Refuse labels without a single observed negative."""
    if not bool((observed == 0).any()):
        raise TagfillError(
            f"{method} cannot start: it needs observed negatives and there are none",
            remedy="use a method for positive-only labels such as `em` or `an`",
        )
