"""How the loss of positives falls during training: of the observed ones, and of the others.

Zhou et al. 2022, Fig. 2b, shows the first panel. The loss is the mean of -log p over the entries,
the same for all methods, independent of their loss.
"""

from __future__ import annotations

from tagfill.analyze.drawing import Drawing, color, new_figure, whole_numbers
from tagfill.analyze.subject import Subject

PANELS = {
    "positive_loss": "observed positives",
    "unobserved_positive_loss": "untagged positives",
}


def draw(subject: Subject) -> Drawing:
    """A line for every run; the second panel only where full labels are known."""
    runs = subject.some()
    for run in runs:
        run.logged("positive_loss")
    known = any(epoch.get("unobserved_positive_loss") for run in runs for epoch in run.epochs)
    panels = list(PANELS.items())[: 2 if known else 1]
    figure, axes = new_figure(1, len(panels), size=(4.4, 3.3))
    rows: list[tuple[object, ...]] = []
    for axis, (key, title) in zip(axes[0], panels, strict=True):
        for number, run in enumerate(runs):
            values = [epoch.get(key) for epoch in run.epochs]
            drawn = [float("nan") if v is None else v for v in values]
            axis.plot(range(1, len(drawn) + 1), drawn, color=color(number), label=run.name)
            rows += [(run.name, title, epoch, v) for epoch, v in enumerate(values, 1)]
        axis.set(title=title, xlabel="epoch", ylabel="mean of $-\\log p$ (nats)")
        axis.set_ylim(bottom=0)
        whole_numbers(axis)
    axes[0][0].legend()
    last = {run.name: run.epochs[-1].get("positive_loss") for run in runs}
    header = ("run", "entries", "epoch", "loss")
    return Drawing(figure, header, rows, {"last_positive_loss": last})
