"""Share of positives among unknown labels, class by class: Zhou et al. 2022, Fig. 2c."""

from __future__ import annotations

import numpy as np

from tagfill.analyze.class_gain import NAMED, class_bars
from tagfill.analyze.drawing import COLORS, Drawing, new_figure
from tagfill.analyze.subject import Subject
from tagfill.labels import POSITIVE


def draw(subject: Subject) -> Drawing:
    """Of the first run's training labels."""
    run = subject.some()[0]
    truth, unknown, classes = run.train_truth(), run.unobserved, run.data.classes
    positives = (unknown & (truth == POSITIVE)).sum(axis=0)
    entries = (unknown & (truth >= 0)).sum(axis=0)
    share = 100 * positives / np.maximum(entries, 1)
    order = np.argsort(share)
    figure, axes = new_figure(size=(5.2, 1.0 + 0.19 * min(len(classes), NAMED)))
    axis = axes[0][0]
    class_bars(axis, [classes[k] for k in order], share[order], COLORS[0])
    axis.set(xlabel="positives among the unobserved labels of the class, %")
    return Drawing(
        figure,
        ("class", "unobserved", "positives", "share, %"),
        [(classes[k], int(entries[k]), int(positives[k]), float(share[k])) for k in order[::-1]],
        findings={"mean": float(share.mean()), "highest": float(share.max())},
    )
