"""BoostLU: positive evidence in class-activation maps, weak under assumed negatives, is amplified.

    logit = mean over positions of (alpha a where a > 0, a elsewhere), a = the class-activation map
    loss  = that of ``base`` on these logits

Kim et al. 2023 (BoostLU), published with the large-loss methods (``base`` "ll_r", "ll_ct", "ll_cp")
and the rates 0.5, 0.2 and 0.1 % for all data sets, which are the defaults of ``delta``. Without
large loss (``base`` "an") training may undo the boost by smaller maps.

The published model also pools its maps this way when it predicts. The loss is computed from the
raw maps; the ``cam`` head gets the same factor (its setting ``boost``), so that predictions match.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from torch import Tensor

from tagfill import methods
from tagfill.errors import TagfillError
from tagfill.methods._settings import Settings, setting
from tagfill.methods.base import Info, LossTerms, Method, Needs, Setup, Step
from tagfill.models.output import Output
from tagfill.models.plain_heads import boosted_logits

DELTAS = {"an": 0.0, "ll_r": 0.005, "ll_ct": 0.002, "ll_cp": 0.001}
INFO = Info(
    title="Boosted class-activation maps",
    source="Kim et al. 2023 (BoostLU)",
    needs=Needs(activation_maps=True),
)


@dataclass(frozen=True)
class Config(Settings):
    alpha: float = setting(5.0, "factor on positive map values; 1 is ``base`` alone", 0)
    base: Literal["an", "ll_r", "ll_ct", "ll_cp"] = setting(
        "ll_r", 'the loss on the boosted logits: "ll_r", "ll_ct", "ll_cp" or "an"'
    )
    delta: float | None = setting(None, "of the large-loss method; None is its published rate here")


class BoostedMaps(Method):
    """Another method, on the logits of boosted maps."""

    kept = ("base",)

    def __init__(self, config: Config) -> None:
        self.alpha = config.alpha
        self.base = _base(config)
        self.needs = Needs(activation_maps=True, state=config.base == "ll_cp")

    def start(self, setup: Setup) -> None:
        self.base.start(setup)

    def loss(self, step: Step) -> LossTerms:
        return self.base.loss(self._boosted(step))

    def after_step(self, step: Step) -> None:
        self.base.after_step(self._boosted(step))

    def _boosted(self, step: Step) -> Step:
        maps = step.output.maps
        if maps is None:
            raise TagfillError(
                "boostlu needs class-activation maps, which this model does not give",
                remedy="train the network, not cached features, with the cam head",
            )
        logits = boosted_logits(maps, alpha=self.alpha)
        return replace(step, output=Output(logits=logits, maps=maps))

    def estimates(self) -> Tensor | None:
        return self.base.estimates()

    def pseudo_labels(self) -> Tensor | None:
        return self.base.pseudo_labels()


def head_settings(config: Config) -> dict[str, float]:
    """The head boosts its predictions as the loss does."""
    return {"boost": config.alpha}


def _base(config: Config) -> Method:
    delta = DELTAS[config.base] if config.delta is None else config.delta
    return methods.make(config.base, None if config.base == "an" else {"delta": delta})


build = BoostedMaps
