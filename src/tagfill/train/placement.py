"""Where the weights of a stage are: whole in every process, or in pieces (``shard``)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping

import torch
import torch.distributed as dist
from accelerate import Accelerator
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from tagfill.models.ema import Ema
from tagfill.train.gather import World
from tagfill.train.inputs import Inputs, scores


class Placement(ABC):
    """A stage's network over the processes.

    Args:
        accelerator: device, precision and processes.
        network: has the best weights once ``finish`` is called, whole in every process.
        trained: what the optimizer updates.
        called: the same as training calls it.
        ema: follows ``trained``.
    """

    def __init__(
        self,
        accelerator: Accelerator,
        *,
        network: nn.Module,
        trained: nn.Module,
        called: nn.Module,
        ema: Ema[nn.Module] | None,
    ) -> None:
        self.accelerator, self.device, self.world = accelerator, accelerator.device, World.current()
        self.network, self.trained, self.called, self.ema = network, trained, called, ema

    def scores(self, module: nn.Module, inputs: Inputs) -> Tensor:
        """[N, K] logits of all images, with the BatchNorm statistics of process 0 everywhere."""
        if self.world.size > 1:
            for part in module.modules():
                if isinstance(part, _BatchNorm):
                    for statistics in part.buffers(recurse=False):
                        dist.broadcast(statistics, 0)
        return scores(module, inputs, self.world, self.device)

    @abstractmethod
    def backward(self, loss: Tensor, *, last: bool) -> None:
        """Add to the gradients; ``last`` before the optimizer's step, when all must agree."""

    @abstractmethod
    def whole(self, tensor: Tensor) -> Tensor:
        """A tensor in one piece, with gradient; all processes must call this."""

    @abstractmethod
    def to_store(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Tensors in one piece, for process 0 to write; all processes must call this."""

    @abstractmethod
    def from_store(
        self, tensors: Mapping[str, Tensor], like: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """What ``to_store`` gave, placed as the tensors of the same name are."""

    @abstractmethod
    def moment_from_store(self, tensor: Tensor, parameter: Tensor) -> Tensor:
        """An optimizer's moment, placed as its parameter is."""

    @abstractmethod
    def finish(self, best: Mapping[str, Tensor]) -> None:
        """Give ``network`` the best weights."""


class Replicated(Placement):
    """Whole in every process; where there are several, DDP averages the gradients."""

    def __init__(
        self, network: nn.Module, accelerator: Accelerator, ema: float | None, warmup: bool = True
    ) -> None:
        network.to(accelerator.device)
        super().__init__(
            accelerator,
            network=network,
            trained=network,
            ema=Ema(network, ema, warmup=warmup) if ema else None,  # before ``forward`` is patched
            called=accelerator.prepare(network),
        )

    def backward(self, loss: Tensor, *, last: bool) -> None:
        """Gradients are averaged at the last of accumulated batches only."""
        if not last and self.world.size > 1:
            with self.accelerator.no_sync(self.called):
                self.accelerator.backward(loss)
        elif self.accelerator.scaler is None:
            loss.backward()  # what accelerate does too, after looking for packages at every call
        else:
            self.accelerator.backward(loss)

    def whole(self, tensor: Tensor) -> Tensor:
        """The tensor itself."""
        return tensor

    def to_store(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """The tensors themselves."""
        return dict(tensors)

    def from_store(
        self, tensors: Mapping[str, Tensor], like: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """The tensors themselves."""
        return dict(tensors)

    def moment_from_store(self, tensor: Tensor, parameter: Tensor) -> Tensor:
        """The same numbers with the strides of the parameter, which decide about rounding."""
        return torch.empty_like(parameter).copy_(tensor)

    def finish(self, best: Mapping[str, Tensor]) -> None:
        """The trained network gets them."""
        self.network.load_state_dict(best)


def place(
    network: nn.Module,
    accelerator: Accelerator,
    *,
    ema: float | None,
    shard: bool,
    ema_warmup: bool = True,
) -> Placement:
    """Place a network for training; a single process has nothing to shard."""
    if not shard or World.current().size == 1:
        return Replicated(network, accelerator, ema, ema_warmup)
    from tagfill.train.shard import Sharded  # torch takes a second to load its part

    return Sharded(network, accelerator, ema, ema_warmup)
