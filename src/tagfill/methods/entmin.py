"""Entropy minimization: probabilities of unknown tags are pushed to the nearer of 0 and 1.

    loss = mean over images and classes of -[z=1] log p - [z=0] log(1 - p) + [z=-1] weight H(p)

Grandvalet and Bengio 2004; the opposite of ``em``, compared in Zhou et al. 2022 (EM + APL),
Table 1, where it fails (53 mAP on VOC): without observed negatives nothing pushes an unknown tag
to the right side.

Neither formula nor weight of that comparison is published. The form is ours, ``em`` with the
opposite sign, which fits such a failure; so is the weight, that of ``em``. ``base`` "an" adds
assumed negatives.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Literal

from tagfill.losses.entropy import entropy_minimization
from tagfill.methods._settings import Settings, setting
from tagfill.methods.base import ElementwiseMethod, Info, Method

INFO = Info(
    title="Entropy minimization",
    source="Grandvalet and Bengio 2004; Zhou et al. 2022 (EM + APL), Table 1",
)


@dataclass(frozen=True)
class Config(Settings):
    weight: float = setting(0.2, "of the entropy of unknown entries; ours", 0)
    base: Literal["observed", "an"] = setting(
        "observed", 'another loss of unknown entries: "observed" none, "an" -log(1 - p)'
    )


def build(config: Config) -> Method:
    return ElementwiseMethod(
        "entmin",
        partial(
            entropy_minimization,
            weight=config.weight,
            assume_negative=config.base == "an",
        ),
    )
