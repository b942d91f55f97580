"""Where training runs: one CPU, one GPU, or as many processes as were launched."""

from __future__ import annotations

import torch
from accelerate import Accelerator

from tagfill.train.config import Precision


def make_accelerator(precision: Precision = "no", threads: int | None = None) -> Accelerator:
    """The accelerator of this process; on the CPU, launched processes talk through gloo."""
    if threads is not None:
        torch.set_num_threads(threads)
    return Accelerator(cpu=not torch.cuda.is_available(), mixed_precision=precision)
