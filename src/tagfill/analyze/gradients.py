"""The gradient of each loss by the logit: Zhou et al. 2022, Fig. 2a.

Only losses that are sums over entries have such a curve; those that depend on a whole batch or on
label estimates have another one at every step.
"""

from __future__ import annotations

import torch

from tagfill import methods
from tagfill.analyze.drawing import Drawing, color, new_figure
from tagfill.analyze.kinds import CannotDrawError
from tagfill.analyze.subject import Subject
from tagfill.errors import TagfillError
from tagfill.labels import NEGATIVE, POSITIVE, UNKNOWN
from tagfill.methods.base import ElementwiseMethod

DEFAULT = ("an", "em", "an_ls", "wan", "asl", "hill")
PANELS = {"observed positive": POSITIVE, "unknown": UNKNOWN, "observed negative": NEGATIVE}
LIMIT, POINTS, CLASSES = 8.0, 161, 20
_DASHES = ("-", (0, (5, 1.5)), (0, (1.5, 1)), (0, (6, 1.5, 1, 1.5)))


def draw(subject: Subject) -> Drawing:
    """One panel for each state of a label, one line per loss."""
    losses, skipped = _losses(subject)
    if not losses:
        raise CannotDrawError(f"no curve for {', '.join(skipped)}: not a sum over entries")
    classes = len(subject.runs[0].data.classes) if subject.runs else CLASSES
    logits = torch.linspace(-LIMIT, LIMIT, POINTS, dtype=torch.float64)
    figure, axes = new_figure(1, len(PANELS), size=(3.4, 3.3), sharey=True)
    rows: list[tuple[object, ...]] = []
    for axis, (panel, code) in zip(axes[0], PANELS.items(), strict=True):
        for number, (name, method) in enumerate(losses.items()):
            slope = gradient(method, logits, code, classes)
            dashes = _DASHES[number % len(_DASHES)]
            axis.plot(logits, slope, color=color(number), linestyle=dashes, label=name)
            rows += [
                (name, panel, *point) for point in zip(logits.tolist(), slope.tolist(), strict=True)
            ]
        axis.axhline(0, color="0.3", linewidth=0.8)
        axis.set(title=panel, xlabel="logit", xticks=range(-8, 9, 4))
    axes[0][0].set_ylabel("gradient of the loss of one entry")
    figure.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=6)
    notes = (f"no curve for {', '.join(skipped)}: not a sum over entries",) if skipped else ()
    return Drawing(figure, ("loss", "label", "logit", "gradient"), rows, notes=notes)


def gradient(
    method: ElementwiseMethod, logits: torch.Tensor, code: int, classes: int
) -> torch.Tensor:
    """[points] derivative of one entry's loss by its logit, in an image of K classes."""
    table = logits[:, None].repeat(1, classes).requires_grad_()
    observed = torch.full(table.shape, code, dtype=torch.int8)
    entries = method.terms(table, observed)
    if not entries.requires_grad:
        return torch.zeros_like(logits)
    (slope,) = torch.autograd.grad(entries[:, 0].sum(), table)
    return slope[:, 0]


def _losses(subject: Subject) -> tuple[dict[str, ElementwiseMethod], list[str]]:
    """The requested methods, else those of the runs, else a common choice."""
    if subject.methods or not subject.runs:
        made = {text: _parsed(text) for text in subject.methods or DEFAULT}
    else:
        made = {run.stage.method.name: run.new_method() for run in subject.runs}
    losses = {name: m for name, m in made.items() if isinstance(m, ElementwiseMethod)}
    return losses, [name for name in made if name not in losses]


def _parsed(text: str) -> methods.base.Method:
    """A method from ``name`` or ``name:setting=value,setting=value``."""
    name, _, given = text.partition(":")
    settings = {}
    for setting in filter(None, given.split(",")):
        key, equals, value = setting.partition("=")
        if not equals:
            raise TagfillError(f"{setting!r} is not a setting", remedy="write em:alpha=1")
        settings[key.strip()] = value
    return methods.make(name, settings)
