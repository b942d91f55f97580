"""Where the weights of a stage are: complete in every process, or sharded (``shard``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from tagfill.models.ema import Ema
from tagfill.train.gather import World
from tagfill.train.inputs import Inputs, scores

if TYPE_CHECKING:  # slow to import, and predictions do without
    from accelerate import Accelerator


class Placement:
    """A stage's network, complete in every process; DDP averages the gradients of several.

    Attributes:
        network: has the best weights once ``finish`` is called, complete in every process.
        trained: what the optimizer updates.
        called: the same, as training calls it.
        ema: average of the weights of ``trained``.
    """

    network: nn.Module
    trained: nn.Module
    called: nn.Module
    ema: Ema[nn.Module] | None

    def __init__(
        self, network: nn.Module, accelerator: Accelerator, ema: float | None, warmup: bool = True
    ) -> None:
        self.accelerator, self.device, self.world = accelerator, accelerator.device, World.current()
        self._place(network, ema, warmup)

    def _place(self, network: nn.Module, ema: float | None, warmup: bool) -> None:
        self.network = self.trained = network.to(self.device)
        self.ema = Ema(network, ema, warmup=warmup) if ema else None  # before accelerate patches
        # it is on the device; accelerate would import what looks for sharded weights first
        self.called = self.accelerator.prepare(network, device_placement=[False])

    def scores(self, module: nn.Module, inputs: Inputs) -> Tensor:
        """[N, K] logits of all images, with the BatchNorm statistics of process 0 everywhere."""
        if self.world.size > 1:
            for part in module.modules():
                if isinstance(part, _BatchNorm):
                    for statistics in part.buffers(recurse=False):
                        dist.broadcast(statistics, 0)
        return scores(module, inputs, self.world, self.device)

    def backward(self, loss: Tensor, *, last: bool) -> None:
        """Add to the gradients; processes average them at the ``last`` of accumulated batches."""
        if not last and self.world.size > 1:
            with self.accelerator.no_sync(self.called):
                self.accelerator.backward(loss)
        elif self.accelerator.scaler is None:
            loss.backward()  # accelerate does the same, but searches for packages on every call
        else:
            self.accelerator.backward(loss)

    def whole(self, tensor: Tensor) -> Tensor:
        """The complete tensor, with gradient; all processes must call this."""
        return tensor

    def to_store(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Complete tensors for process 0 to write; all processes must call this."""
        return dict(tensors)

    def from_store(
        self, tensors: Mapping[str, Tensor], like: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        """The tensors of ``to_store``, placed as those of the same name in ``like``."""
        return dict(tensors)

    def moment_from_store(self, tensor: Tensor, parameter: Tensor) -> Tensor:
        """An optimizer's moment with the strides of its parameter, on which rounding depends."""
        return torch.empty_like(parameter).copy_(tensor)

    def finish(self, best: Mapping[str, Tensor]) -> None:
        """Load the best weights into ``network``."""
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
        return Placement(network, accelerator, ema, ema_warmup)
    from tagfill.train.shard import Sharded  # slow to import

    return Sharded(network, accelerator, ema, ema_warmup)
