"""`tagfill mask`: hide labels by a regime."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from cyclopts import Parameter

from tagfill.cli.labels import AS_USUAL, Reading, counts, emit_labels, save, target_format
from tagfill.cli.options import Force, Json, given
from tagfill.cli.output import say, show_table
from tagfill.observe import ALL, REGIMES, default_split, defaults, make, observe_dataset


@Parameter(name="*", group="Settings of regimes", negative="")
@dataclass(frozen=True)
class Settings:
    """Settings of a regime; each regime has its own defaults.

    Args:
        positives: k_positives_m_negatives: number to keep per image, or "all".
        negatives: k_positives_m_negatives: number to keep per image, or "all".
        proportion: known_proportion and positive_proportion: the share to keep; false_negatives:
            the share of positives to mark negative.
        per_image: known_proportion: keep the same share in every image.
        published: known_proportion: draw as the code of SST, SARB and PU-MLC, whose seed is 0.
        count: fixed_per_class: number of positives and of negatives to keep per class.
        power: biased_by_frequency: weight of a class = its frequency to this power.
    """

    positives: int | Literal["all"] | None = None
    negatives: int | Literal["all"] | None = None
    proportion: Annotated[float | None, Parameter(alias="-p")] = None
    per_image: bool | None = None
    published: bool | None = None
    count: int | None = None
    power: float | None = None


def mask(
    data: Path,
    out: Path,
    /,
    *,
    regime: Annotated[str, Parameter(help=f"One of {', '.join(REGIMES)}.")],
    seed: int = 1200,
    settings: Settings = Settings(),  # noqa: B008 - frozen
    split: str | None = None,
    to: str | None = None,
    reading: Reading = AS_USUAL,
    force: Force = False,
    json: Json = False,
) -> None:
    """Hide labels by a regime, such as a single positive per image.

    Args:
        data: The label file or folder to read.
        out: The file or folder to write.
        seed: Seed of the draw; 1200 is the one of the single-positive papers.
        split: The split to mask, or "all"; by default "train" if there are splits, else all
            images. Other splits stay fully labeled, so that metrics are not biased.
        to: Format to write; by default by the suffix of OUT, else that of DATA, or
            csv_wide if that cannot be written.
    """
    chosen = make(regime, given(settings))
    dataset = reading.load(data)
    name = default_split(dataset) if split is None else split
    masked = observe_dataset(dataset, chosen, seed, name)
    target = to or target_format(dataset, out)
    lost = save(replace(masked, truth=None), out, target, force=force)
    rows = np.arange(len(masked.table)) if name == ALL else masked.splits[name]
    result = {
        "source": data,
        "out": out,
        "format": target,
        "regime": regime,
        "settings": {**defaults(regime), **given(settings)},
        "seed": seed,
        "split": name,
        "left_fully_labeled": [other for other in dataset.splits if name != ALL and other != name],
        "images": len(rows),
        "before": counts((masked.truth or masked.table).take(rows)),
        "after": counts(masked.table.take(rows)),
    }
    emit_labels(result, masked, lost, _show, json=json)


def _show(result: Mapping[str, Any]) -> None:
    settings = "".join(f", {name} {value}" for name, value in result["settings"].items())
    left = ", ".join(result["left_fully_labeled"])
    say(
        f"{result['out']} ({result['format']})",
        f"{result['regime']}{settings}, seed {result['seed']}",
        f"masked: {result['split']}, {result['images']:,} images"
        + (f"; left fully labeled: {left}" if left else ""),
    )
    rows = [[state, before, result["after"][state]] for state, before in result["before"].items()]
    show_table("", ["labels", "before", "after"], rows)
