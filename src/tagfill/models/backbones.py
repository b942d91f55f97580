"""The common interface of all backbones: maps, pooled features, stages, freezing."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any, TypeGuard, cast

import torch
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from tagfill.errors import TagfillError
from tagfill.models.bodies import Body, make_body, map_shape
from tagfill.models.folding import Pair, find_pairs, folded
from tagfill.models.hub import offline
from tagfill.models.lgconv import GLOBAL_BRANCH
from tagfill.models.spec import BackboneSpec
from tagfill.models.weights import StateDict

_building = threading.RLock()


class Backbone(nn.Module):
    """A feature extractor.

    ``spec`` says what goes in and comes out. What ``freeze`` and ``freeze_batch_norm`` fix stays
    fixed in training mode.

    Args:
        unused: parameters of the body its map does not depend on; they never learn.
    """

    __call__: Callable[..., Tensor]

    def __init__(self, body: Body | None, spec: BackboneSpec, unused: Iterable[str] = ()) -> None:
        super().__init__()
        self.spec = spec
        self._stored: StateDict = {}
        self._frozen_stages: int | None = 0
        self._frozen_batch_norm = False
        self._pairs: list[Pair] | None = None
        if body is not None:
            self._take(body, unused)

    @classmethod
    def stored(cls, spec: BackboneSpec, state: StateDict) -> Backbone:
        """One whose architecture is built when it is first run.

        Importing timm takes seconds, which cached features and graphs do not need.

        Args:
            spec: of an architecture that these weights are known to fit.
        """
        backbone = cls(None, spec)
        backbone._stored = dict(state)
        return backbone

    @property
    def is_stored(self) -> bool:
        """Whether its architecture is not built yet."""
        return "body" not in self._modules

    def build(self) -> Backbone:
        """Build the architecture of a stored backbone now."""
        if not self.is_stored:  # without the lock, which torch.export cannot trace
            return self
        with _building:
            if self.is_stored:
                with torch.random.fork_rng(devices=[]), offline():
                    body, unused = make_body(self.spec), map_shape(self.spec).unused
                own = {name.removeprefix("body."): tensor for name, tensor in self._stored.items()}
                body.load_state_dict(own, assign=True)
                self._stored = {}
                self._take(body, unused)
        return self

    @property
    def body(self) -> Body:
        return cast(Body, self.build()._modules["body"])

    def _take(self, body: Body, unused: Iterable[str]) -> None:
        self._modules["body"] = body
        self._in_place = [one for one in body.modules() if _copies_input(one)]
        self._unused = {f"body.{name}" for name in unused}
        self._mark()

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Backbone:
        self._stored = {name: fn(tensor) for name, tensor in self._stored.items()}
        super()._apply(fn, recurse)  # type: ignore[no-untyped-call]
        return self

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination.update({prefix + name: tensor for name, tensor in self._stored.items()})

    def _load_from_state_dict(self, state_dict: StateDict, prefix: str, *arguments: Any) -> None:
        self._stored = {
            name: tensor.copy_(state_dict[prefix + name]) for name, tensor in self._stored.items()
        }
        if not self.is_stored:
            super()._load_from_state_dict(state_dict, prefix, *arguments)

    def forward(self, images: Tensor) -> Tensor:
        """Feature map: [N, 3, H, W] to [N, D, H', W']."""
        pairs = self._folded_pairs(images)
        if not pairs:
            return self.body(images)
        with folded(pairs):
            return self.body(images)

    def _folded_pairs(self, images: Tensor) -> list[Pair]:
        """Convolutions that do the work of their fixed BatchNorm while they learn."""
        if not (self.training and self._frozen_batch_norm and torch.is_grad_enabled()):
            return []
        if self._pairs is None:
            self.body.eval()
            self._pairs = find_pairs(self.body, images[:2])
            self.train()
        return self._pairs

    def pooled(self, images: Tensor) -> Tensor:
        """Mean of the feature map over its grid: [N, D]. The same rule for every architecture."""
        return self.forward(images).mean(dim=(2, 3))

    @property
    def stages(self) -> list[list[str]]:
        """Parameter names of each stage, the stem first."""
        return [[f"body.{name}" for name in stage] for stage in self.body.stages()]

    @property
    def is_frozen(self) -> bool:
        return not any(parameter.requires_grad for parameter in self.parameters())

    def freeze(self, stages: int | None = None) -> None:
        """Fix the first stages, the stem counting as one; None fixes everything, 0 nothing.

        BatchNorm layers of fixed stages keep their statistics. Global branches of ``lgconv`` are
        new and keep learning unless everything is fixed.
        """
        count = len(self.stages)
        if stages is not None and not 0 <= stages <= count:
            raise TagfillError(
                f"{stages} stages of {self.spec.name} cannot be frozen", remedy=f"it has {count}"
            )
        self._frozen_stages = stages
        self._mark()

    def freeze_batch_norm(self, frozen: bool = True) -> None:
        """Make every BatchNorm a fixed affine map, or let them learn again.

        Those of global branches are new: they keep their statistics, and their scale learns.
        """
        self._frozen_batch_norm = frozen
        self._mark()

    def train(self, mode: bool = True) -> Backbone:
        """Training mode, except for fixed layers."""
        super().train(mode)
        if self.is_stored:
            return self
        for activation in self._in_place:
            activation.inplace = not mode
        if mode and self.is_frozen:
            self.body.eval()
        elif mode:
            for module in self.modules():
                learns = any(parameter.requires_grad for parameter in module.parameters())
                if isinstance(module, _BatchNorm) and (self._frozen_batch_norm or not learns):
                    module.eval()
        return self

    def _mark(self) -> None:
        fixed = self._unused | {
            name
            for stage in self.stages[: self._frozen_stages]
            for name in stage
            if f".{GLOBAL_BRANCH}." not in name
        }
        for name, parameter in self.named_parameters():
            parameter.requires_grad_(self._frozen_stages is not None and name not in fixed)
        if self._frozen_batch_norm:
            for name, module in self.named_modules():
                if isinstance(module, _BatchNorm) and f".{GLOBAL_BRANCH}." not in name:
                    module.requires_grad_(False)
        self.train(self.training)


def _copies_input(module: nn.Module) -> TypeGuard[nn.Hardtanh]:
    """Whether an activation in place (ReLU6) copies its input for the backward pass."""
    return isinstance(module, nn.Hardtanh) and module.inplace
