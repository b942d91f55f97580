"""Training protocols as the papers state them, and presets for people in a hurry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from tagfill.train.config import MethodConfig, ValSplit

ProtocolName = Literal["none", "mlspl", "em_apl", "lac", "pu_mlc", "q2l"]
PresetName = Literal["fast", "good", "best"]


@dataclass(frozen=True)
class Protocol:
    """A paper's way of training: its settings, its own method, its validation split."""

    source: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    method: MethodConfig | None = None
    val_split: ValSplit | None = None


_ONE_CYCLE = {
    "optimizer": "adamw",
    "weight_decay": 1e-2,
    "learning_rate": 1e-4,
    "schedule": "one_cycle",
    "warmup": 0.2,
    "ema": 0.9997,
}

PROTOCOLS: dict[str, Protocol] = {
    "none": Protocol("tagfill's own defaults"),
    "mlspl": Protocol(
        "Cole et al. 2021, Sec. 6.1: Adam, no decay, no schedule; 25 epochs linear, 10 fine-tuned,"
        " 5 fine-tuned after a linear start; epoch chosen on 20 % of the training images",
        {
            "optimizer": "adam",
            "weight_decay": 0.0,
            "schedule": "constant",
            "batch_size": 16,
            "finetune_learning_rate": 1e-5,
            "input_size": 448,
        },
        val_split="published",
    ),
    "em_apl": Protocol(
        "Zhou et al. 2022: Adam 1e-5, batch 8, 10 epochs, training ends at the first epoch that"
        " does not improve",
        {
            "optimizer": "adam",
            "weight_decay": 0.0,
            "schedule": "constant",
            "learning_rate": 1e-5,
            "batch_size": 8,
            "mode": "finetune",
            "epochs": 10,
            "patience": 0,
            "input_size": 448,
        },
        MethodConfig("em_apl"),
        "published",
    ),
    "lac": Protocol(
        "Xie et al. 2022: two stages of 40 epochs, AdamW, OneCycle to 1e-4, EMA 0.9997, the better"
        " of raw and averaged weights",
        {**_ONE_CYCLE, "epochs": 40, "batch_size": 32, "patience": 8, "mode": "two_stage"},
        MethodConfig("lac"),
        "published",
    ),
    "pu_mlc": Protocol(
        "PU-MLC: Adam with decay 1e-4, OneCycle to 1e-4, EMA 0.9997, multi-scale crops, LgConv,"
        " frozen BatchNorm",
        {
            **_ONE_CYCLE,
            "optimizer": "adam",
            "weight_decay": 1e-4,
            "mode": "finetune",
            "epochs": 40,
            "batch_size": 70,
            "augment": "crops",
            "lgconv": True,
            "freeze_batchnorm": True,
            "input_size": 448,
        },
        MethodConfig("pu_mlc"),
    ),
    "q2l": Protocol(
        "Liu et al. 2021 as reproduced in the study: AdamW 1e-4, decay 1e-2, OneCycle, 80 epochs,"
        " EMA 0.9997, one view with RandAugment and Cutout",
        {
            **_ONE_CYCLE,
            "mode": "finetune",
            "epochs": 80,
            "batch_size": 64,
            "patience": 8,
            "augment": "strong",
            "head": "q2l",
            "input_size": 448,
        },
        MethodConfig("asl_q2l"),
    ),
}

PRESETS: dict[str, dict[str, Any]] = {
    "fast": {"mode": "linear", "epochs": 10, "batch_size": 64},
    "good": {},
    "best": {"mode": "linear_init"},
}
