"""Many processes, one batch: every process computes the loss of the whole batch.

Each process runs the network on its share of the rows. The outputs, a few numbers per image, are
then gathered with gradient, and every process evaluates the same loss on all rows. Methods
therefore see whole batches, batch-level statistics need no further exchange, and a method's state
is the same everywhere. Weights are complete in every process, or sharded (``shard``).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from math import prod
from typing import TYPE_CHECKING, Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from tagfill.compat import keep_freed_memory
from tagfill.linear.threads import single_thread
from tagfill.models.ema import Ema
from tagfill.models.output import Output
from tagfill.models.plain_heads import GRID
from tagfill.train.config import Precision, StageConfig
from tagfill.train.inputs import FeatureInputs, Inputs

if TYPE_CHECKING:  # slow to import, and predictions do without
    from accelerate import Accelerator


def is_first_process() -> bool:
    """Whether this process is the first of those that torchrun started, before they connect."""
    return os.environ.get("RANK", "0") == "0"


@dataclass(frozen=True)
class World:
    """How many processes there are, and which one this is."""

    rank: int = 0
    size: int = 1

    @classmethod
    def current(cls) -> World:
        if dist.is_available() and dist.is_initialized():
            return cls(dist.get_rank(), dist.get_world_size())
        return cls()

    @property
    def is_main(self) -> bool:
        """Whether this process writes files and prints messages."""
        return self.rank == 0

    def any(self, flag: bool) -> bool:
        """Whether the flag is set in any process; the same result in all."""
        if self.size == 1:
            return flag
        flags = torch.tensor(int(flag), device=_device())
        dist.all_reduce(flags, op=dist.ReduceOp.MAX)
        return bool(flags)

    def share(self, rows: Tensor) -> Tensor:
        """This process's rows of a batch; padded with the first row so that shares are equal."""
        if self.size == 1:
            return rows
        share = -(-len(rows) // self.size)
        padding = share * self.size - len(rows)
        padded = torch.cat([rows, rows[:1].expand(padding, *rows.shape[1:])])
        return padded[self.rank * share : (self.rank + 1) * share]

    def gather(self, share: Tensor, total: int) -> Tensor:
        """All processes' shares in order, without the padding; gradients flow to each owner."""
        if self.size == 1:
            return share
        gathered: Tensor = _GatherRows.apply(share, self)  # type: ignore[no-untyped-call]
        return gathered[:total]

    def gather_output(self, output: Output, total: int) -> Output:
        """``gather`` for every tensor of a network's output."""
        if self.size == 1:
            return output
        return replace(
            output,
            **{
                field.name: self.gather(part, total)
                for field in fields(output)
                if (part := getattr(output, field.name)) is not None
            },
        )

    def block(self, total: int) -> range:
        """This process's run of consecutive rows; never empty, the surplus is dropped later."""
        share = -(-total // self.size)
        start = min(self.rank * share, total - 1)
        return range(start, min(start + share, total))

    def gather_blocks(self, block: Tensor, total: int) -> Tensor:
        """The blocks of all processes, every row once and in order."""
        if self.size == 1:
            return block
        share = -(-total // self.size)
        padded = torch.cat([block, block[-1:].expand(share - len(block), *block.shape[1:])])
        return self.gather(padded, total)


def _device() -> torch.device:
    """Where the process group exchanges tensors."""
    return torch.device("cuda" if dist.get_backend() == "nccl" else "cpu")


class _GatherRows(torch.autograd.Function):
    """Concatenate shares of equal length; backward gives each process the gradient of its rows.

    Every process computes the same loss, and DistributedDataParallel averages gradients over
    processes, so the gradient of a share is multiplied by their number.
    """

    @staticmethod
    def forward(ctx: Any, share: Tensor, world: World) -> Tensor:
        ctx.world = world
        parts = [torch.empty_like(share) for _ in range(world.size)]
        dist.all_gather(parts, share.contiguous())
        return torch.cat(parts)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> tuple[Tensor, None]:
        world: World = ctx.world
        return gradients[0].chunk(world.size)[world.rank] * world.size, None


def make_accelerator(precision: Precision = "no", threads: int | None = None) -> Accelerator:
    """The accelerator of this process; on the CPU, launched processes communicate through gloo."""
    from accelerate import Accelerator
    from accelerate.state import AcceleratorState

    if threads is not None:
        torch.set_num_threads(threads)
    on_cpu = not torch.cuda.is_available()
    if on_cpu:
        keep_freed_memory()
    if AcceleratorState._shared_state:  # set by an earlier run, perhaps with another precision
        AcceleratorState._reset_state()
    return Accelerator(cpu=on_cpu, mixed_precision=precision)


@torch.no_grad()
def scores(network: nn.Module, inputs: Inputs, world: World, device: torch.device) -> Tensor:
    """[N, K] logits of all images, in evaluation mode; each process works on its own block.

    Of pooled features and grids they have the same bytes however many threads there are.
    """
    was_training = network.training
    network.eval()
    block = inputs.plain(world.block(len(inputs)))
    small = isinstance(inputs, FeatureInputs) and prod(inputs.features.shape[2:]) <= GRID**2
    with single_thread(small):
        logits = torch.cat([network(batch.to(device)).logits.float() for batch in block])
    network.train(was_training)
    return world.gather_blocks(logits, len(inputs)).cpu()


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

    def __init__(self, network: nn.Module, accelerator: Accelerator, config: StageConfig) -> None:
        self.accelerator, self.device, self.world = accelerator, accelerator.device, World.current()
        self._place(network, config)

    def _place(self, network: nn.Module, config: StageConfig) -> None:
        self.network = self.trained = network.to(self.device)
        # copied before accelerate patches the network
        self.ema = Ema(network, config.ema, warmup=config.ema_warmup) if config.ema else None
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
    network: nn.Module, accelerator: Accelerator, config: StageConfig, shard: bool = False
) -> Placement:
    """Place a network for training; a single process has nothing to shard."""
    if not shard or World.current().size == 1:
        return Placement(network, accelerator, config)
    from tagfill.train.shard import Sharded  # slow to import

    return Sharded(network, accelerator, config)
