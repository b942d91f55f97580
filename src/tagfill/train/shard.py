"""Weights, gradients and moments sharded over the processes (torch's FSDP2).

A sharded copy of the network is trained; the network itself stays in host memory until it gets the
best weights. Each block of the copy is gathered when a pass reaches it and released afterwards.
Buffers, such as BatchNorm statistics, are not sharded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from typing import Any

from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor, distribute_tensor

from tagfill.models.ema import Ema
from tagfill.train.config import StageConfig
from tagfill.train.inputs import Inputs
from tagfill.train.processes import Placement

BLOCK_SHARE = 8
"""Lists of blocks are divided further while one member has more than 1/8 of all parameters."""


class Sharded(Placement):
    """Every process has a shard of each parameter; blocks are complete only while in use."""

    def _place(self, network: nn.Module, config: StageConfig) -> None:
        mesh = init_device_mesh(self.device.type, (self.world.size,))
        self.network = network.cpu()
        warmup = config.ema_warmup
        self.ema = ShardedEma(network, config.ema, warmup=warmup) if config.ema else None
        if self.ema is not None:
            shard(self.ema.module, mesh)
        self.trained = self.called = shard(deepcopy(network), mesh)

    def scores(self, module: nn.Module, inputs: Inputs) -> Tensor:
        """Gather all weights first: processes have different numbers of batches."""
        with gathered(module):
            return super().scores(module, inputs)

    def backward(self, loss: Tensor, *, last: bool) -> None:
        """Average gradients at every batch: accumulating them unsharded would need the memory."""
        loss.backward()

    def whole(self, tensor: Tensor) -> Tensor:
        """All shards, gathered with gradient."""
        return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor

    def to_store(self, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Gathered one by one into the host memory of process 0; the others get nothing."""
        stored = {}
        for name, tensor in tensors.items():
            complete = self.whole(tensor.detach())
            if self.world.is_main:
                stored[name] = complete.cpu()
        return stored

    def from_store(
        self, tensors: Mapping[str, Tensor], like: Mapping[str, Tensor]
    ) -> dict[str, Tensor]:
        return {
            name: shard_of(tensor, like[name]) if name in like else tensor
            for name, tensor in tensors.items()
        }

    def moment_from_store(self, tensor: Tensor, parameter: Tensor) -> Tensor:
        return shard_of(tensor, parameter)

    def finish(self, best: Mapping[str, Tensor]) -> None:
        """Load the gathered weights into ``network``, and move it to the device."""
        self.network.load_state_dict(
            {name: self.whole(tensor).cpu() for name, tensor in best.items()}
        )
        self.network.to(self.device)


class ShardedEma(Ema[nn.Module]):
    """A sharded average: each process updates its own shards."""

    def _tensors(self, module: nn.Module) -> dict[str, Tensor]:
        return {
            name: tensor.to_local() if isinstance(tensor, DTensor) else tensor
            for name, tensor in super()._tensors(module).items()
        }


def shard(module: nn.Module, mesh: DeviceMesh) -> nn.Module:
    """Shard the parameters of a module in place: block by block, and the rest together."""
    for parameter in module.parameters():
        parameter.data = parameter.data.contiguous()  # torch cannot shard channels-last tensors
    largest = sum(parameter.numel() for parameter in module.parameters()) // BLOCK_SHARE
    for block in blocks(module, largest):
        block.register_forward_hook(_own_memory)
        fully_shard(block, mesh=mesh, reshard_after_forward=True)
    fully_shard(module, mesh=mesh, reshard_after_forward=False)
    return module


def blocks(module: nn.Module, largest: int) -> Iterator[nn.Module]:
    """The outermost members of lists that have parts of their own and are not too large.

    A large one, such as a stage of many layers, gives its own blocks instead, where it has any.
    A list inside a list is never a block: recomputing activations calls its members directly.
    """
    for child in module.children():
        inner = list(blocks(child, largest))
        size = sum(parameter.numel() for parameter in child.parameters())
        is_block = _is_list(module) and not _is_list(child) and any(child.children()) and size > 0
        if is_block and (size <= largest or not inner):
            yield child
        else:
            yield from inner


def _own_memory(block: nn.Module, arguments: Any, output: Any) -> Any:
    """Copy views: torch loses the hook on a block's output if a view is changed in place."""
    if type(output) is tuple:
        return tuple(_own_memory(block, arguments, tensor) for tensor in output)
    return output.clone() if isinstance(output, Tensor) and output._is_view() else output


def _is_list(module: nn.Module) -> bool:
    return isinstance(module, nn.ModuleList | nn.Sequential)


def shard_of(tensor: Tensor, like: Tensor) -> Tensor:
    """This process's shard of a complete tensor, divided as ``like`` is."""
    if not isinstance(like, DTensor):
        return tensor
    return distribute_tensor(tensor, like.device_mesh, like.placements, src_data_rank=None)


@contextmanager
def gathered(module: nn.Module) -> Iterator[None]:
    """Gather all weights of a sharded module in every process, so that passes need no exchange."""
    parts = [part for part in module.modules() if isinstance(part, FSDPModule)]
    inner = [part for part in parts if part is not module]
    for block in inner:
        block.set_reshard_after_forward(False, recurse=False)
    for part in parts:
        part.unshard()
    try:
        yield
    finally:
        for part in parts:
            part.reshard()
        for block in inner:
            block.set_reshard_after_forward(True, recurse=False)
