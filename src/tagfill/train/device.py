"""Where training runs: one CPU, one GPU, or as many processes as were launched."""

from __future__ import annotations

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState

from tagfill.compat import keep_freed_memory
from tagfill.train.config import Precision


def make_accelerator(precision: Precision = "no", threads: int | None = None) -> Accelerator:
    """The accelerator of this process; on the CPU, launched processes communicate through gloo."""
    if threads is not None:
        torch.set_num_threads(threads)
    on_cpu = not torch.cuda.is_available()
    if on_cpu:
        keep_freed_memory()
    if AcceleratorState._shared_state:  # set by an earlier run, perhaps with another precision
        AcceleratorState._reset_state()
    return Accelerator(cpu=on_cpu, mixed_precision=precision)
