"""The two libraries backbones come from, imported on first use and in an order that works."""

from __future__ import annotations

from types import ModuleType

import torch

from tagfill.compat import mend_torchvision, optional


def load_timm() -> ModuleType:
    """timm, whose import needs a torchvision that can be imported."""
    mend_torchvision()
    import timm

    module: ModuleType = timm
    return module


def load_transformers() -> ModuleType:
    """transformers, an optional extra."""
    mend_torchvision()
    module = optional("transformers", "hf")
    with torch.device("cpu"):  # its modules cannot be imported on the meta device
        optional("transformers.modeling_utils", "hf")
    module.utils.logging.set_verbosity_error()
    module.utils.logging.disable_progress_bar()
    return module
