"""Probabilities of unlabeled positives during training: a histogram for every epoch.

Cole et al. 2021, Fig. 2. Every column is one epoch and sums to 1.
"""

from __future__ import annotations

import numpy as np
from matplotlib.colors import PowerNorm

from tagfill.analyze.drawing import Drawing, new_figure, whole_numbers
from tagfill.analyze.kinds import CannotDrawError
from tagfill.analyze.subject import RunView, Subject
from tagfill.arrays import Floats

ENTRIES = "unobserved_positives"


def draw(subject: Subject) -> Drawing:
    """One panel per run: probability upwards, epochs to the right, share of entries as color."""
    runs = subject.some()
    shares = [_shares(run) for run in runs]
    highest = max(share.max() for share in shares)
    figure, axes = new_figure(1, len(runs), size=(3.6, 3.2), sharey=True)
    for axis, run, share in zip(axes[0], runs, shares, strict=True):
        bins, epochs = share.shape
        picture = axis.imshow(
            np.ma.masked_equal(100 * share, 0),
            origin="lower",
            aspect="auto",
            extent=(0.5, epochs + 0.5, 0, 1),
            norm=PowerNorm(0.5, vmin=0, vmax=100 * highest),
            cmap="viridis_r",
        )
        axis.grid(visible=False)
        axis.set(title=run.name, xlabel="epoch")
        whole_numbers(axis)
    axes[0][0].set_ylabel("predicted probability")
    figure.colorbar(picture, ax=axes[0].tolist(), label="share of unobserved positives, %")
    return Drawing(
        figure,
        ("run", "epoch", "from", "to", "share"),
        [
            (run.name, epoch + 1, low / bins, (low + 1) / bins, float(share[low, epoch]))
            for run, share in zip(runs, shares, strict=True)
            for epoch in range(share.shape[1])
            for low in range(share.shape[0])
        ],
        findings={
            run.name: {"likely_in_last_epoch": float(share[len(share) // 2 :, -1].sum())}
            for run, share in zip(runs, shares, strict=True)
        },
    )


def _shares(run: RunView) -> Floats:
    """[bins, epochs]."""
    counts = np.array(
        [histograms[ENTRIES] for histograms in run.logged("histograms") if histograms],
        dtype=np.float64,
    )
    if not counts.sum():
        raise CannotDrawError(f"no positive of {run.name} is unobserved")
    shares: Floats = (counts / counts.sum(axis=1, keepdims=True)).T
    return shares
