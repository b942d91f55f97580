"""Training protocols as the papers state them, and quick presets.

Where a paper is silent, the value is its published code's; docs/fidelity.md lists every one. What
differs between data sets has a protocol of its own, such as ``mlspl_cub``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from tagfill.train.config import MethodConfig, ValSplit

ProtocolName = Literal[
    "none",
    "mlspl",
    "mlspl_nus",
    "mlspl_cub",
    "em_apl",
    "em_apl_coco",
    "em_apl_nus",
    "em_apl_cub",
    "lac",
    "pu_mlc",
    "pu_mlc_voc07",
    "q2l",
]
PresetName = Literal["fast", "good", "best"]


@dataclass(frozen=True)
class Protocol:
    """The training settings of a paper.

    Args:
        settings: override defaults; the user's own settings override them.
        method: the paper's own, used if the user names none.
        by_method: settings of single methods, which override ``settings``.
    """

    source: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    method: MethodConfig | None = None
    val_split: ValSplit | None = None
    by_method: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def settings_for(self, method: str) -> dict[str, Any]:
        """The settings with which a method is trained; "auto" is the paper's own."""
        own = self.method.name if method == "auto" and self.method is not None else method
        return {**self.settings, **self.by_method.get(own, {})}


_ADAM = {
    "backbone": "resnet50",
    "input_size": 448,
    "optimizer": "adam",
    "weight_decay": 0.0,
    "schedule": "constant",
}
_ONE_CYCLE = {
    "input_size": 448,
    "optimizer": "adamw",
    "weight_decay": 1e-2,
    "learning_rate": 1e-4,
    "schedule": "one_cycle",
    "warmup": 0.2,
    "ema": 0.9997,
    "ema_warmup": False,
    "freeze_batchnorm": True,
}
_STEM_AND_FIRST_STAGE = 2
_ALL_BUT_THE_LAST_STAGE = 4


def _linear_phase(learning_rate: float, batch_size: int) -> dict[str, Any]:
    return {"linear_learning_rate": learning_rate, "linear_batch_size": batch_size}


_MLSPL = Protocol(
    "Cole et al. 2021, Sec. 6.1: Adam, no decay, no schedule; 25 epochs linear, 10 fine-tuned,"
    " 5 fine-tuned after a linear start; epoch chosen on 20 % of the training images",
    {**_ADAM, "batch_size": 16, "finetune_learning_rate": 1e-5},
    MethodConfig("role"),
    "published",
    by_method={"an_ls": _linear_phase(1e-4, 8), "role": _linear_phase(1e-3, 16)},
)
_EM_APL = Protocol(
    "Zhou et al. 2022, Sec. 4.1: Adam, 10 epochs, training ends at the first epoch that does not"
    " improve; batch size and learning rate of the published code",
    {
        **_ADAM,
        "learning_rate": 1e-5,
        "batch_size": 8,
        "mode": "finetune",
        "epochs": 10,
        "patience": 0,
    },
    MethodConfig("em_apl", "voc"),
    "published",
)
_PU_MLC = Protocol(
    "PU-MLC: Adam with decay 1e-4, OneCycle over 80 epochs stopped at 40, EMA, multi-scale crops,"
    " LgConv; the last stage, the global branches and the head learn, no BatchNorm its statistics",
    {
        **_ONE_CYCLE,
        "backbone": "resnet101",
        "optimizer": "adam",
        "weight_decay": 1e-4,
        "mode": "finetune",
        "epochs": 40,
        "schedule_epochs": 80,
        "batch_size": 70,
        "augment": "crops",
        "lgconv": True,
        "freeze_stages": _ALL_BUT_THE_LAST_STAGE,
        "freeze_batchnorm": False,
        "freeze_statistics": True,
    },
    MethodConfig("pu_mlc", "published", {"shares": 2}),
    by_method={"pu_mlc": {"head": "ssgrl", "head_preset": "published"}},
)


def _em_apl_on(data: str, **settings: Any) -> Protocol:
    changed = {**_EM_APL.settings, **settings}
    return replace(_EM_APL, settings=changed, method=MethodConfig("em_apl", data))


PROTOCOLS: dict[str, Protocol] = {
    "none": Protocol("tagfill's own defaults"),
    "mlspl": _MLSPL,
    "mlspl_nus": replace(_MLSPL, by_method={**_MLSPL.by_method, "an_ls": _linear_phase(1e-4, 16)}),
    "mlspl_cub": replace(_MLSPL, by_method={**_MLSPL.by_method, "role": _linear_phase(1e-3, 8)}),
    "em_apl": _EM_APL,
    "em_apl_coco": _em_apl_on("coco", batch_size=16),
    "em_apl_nus": _em_apl_on("nus", batch_size=16),
    "em_apl_cub": _em_apl_on("cub", learning_rate=1e-4),
    "lac": Protocol(
        "Xie et al. 2022, Sec. 4.1: two stages of 40 epochs, AdamW, OneCycle to 1e-4, EMA, the"
        " better of raw and averaged weights; frozen BatchNorm, stem and first stage and color"
        " jitter as in the published code",
        {
            **_ONE_CYCLE,
            "backbone": "resnet50",
            "head": "lem",
            "head_preset": "published",
            "epochs": 40,
            "batch_size": 32,
            "patience": 8,
            "mode": "two_stage",
            "strong_jitter": True,
            "freeze_stages": _STEM_AND_FIRST_STAGE,
        },
        MethodConfig("lac"),
        "published",
    ),
    "pu_mlc": _PU_MLC,
    "pu_mlc_voc07": replace(
        _PU_MLC,
        settings={
            **_PU_MLC.settings,
            "learning_rate": 4e-5,
            "ema": 0.991,
            "epochs": 55,
            "batch_size": 90,
        },
        method=MethodConfig("pu_mlc", "voc07", {"shares": 2}),
    ),
    "q2l": Protocol(
        "Liu et al. 2021 as reproduced by Islam et al.: AdamW 1e-4, decay 1e-2, OneCycle, 80"
        " epochs, EMA, one view with RandAugment and Cutout and without flip; head, frozen"
        " BatchNorm, stem and first stage as in the published code",
        {
            **_ONE_CYCLE,
            "backbone": "resnet101",
            "head": "q2l",
            "head_preset": "published",
            "mode": "finetune",
            "epochs": 80,
            "batch_size": 64,
            "patience": 8,
            "augment": "strong_unflipped",
            "freeze_stages": _STEM_AND_FIRST_STAGE,
        },
        MethodConfig("asl_q2l"),
    ),
}

PRESETS: dict[str, dict[str, Any]] = {
    "fast": {"mode": "linear", "epochs": 10, "batch_size": 64},
    "good": {},
    "best": {"mode": "linear_init"},
}
