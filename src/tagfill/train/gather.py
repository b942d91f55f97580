"""Many processes, one batch: every process computes the loss of the whole batch.

Each process runs the network on its share of the rows. The outputs, a few numbers per image, are
then gathered with gradient, and every process evaluates the same loss on all rows. Methods
therefore see whole batches, batch-level statistics need no further exchange, and a method's state
is the same everywhere.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, fields, replace
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from tagfill.models.output import Output


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
        """The world this process was started in."""
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
