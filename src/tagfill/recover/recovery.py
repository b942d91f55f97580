"""From a finished run to the tags nobody wrote."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from tagfill.evaluate.arrays import Floats
from tagfill.labels import NEGATIVE, POSITIVE, UNKNOWN, Labels, LabelTable
from tagfill.labels.hierarchy import complete, consistent
from tagfill.recover.choose import Amount, Entries, Mask, at_precision, choose
from tagfill.recover.crossfit import CrossFit
from tagfill.recover.evidence import Evidence, gather_evidence
from tagfill.train.device import make_accelerator
from tagfill.train.events import Events, Sink
from tagfill.train.model import Assembly
from tagfill.train.trained import TrainedRun

FOLDS = 4


@dataclass(frozen=True, eq=False)
class Recovery:
    """What a run says about the labels of its training images.

    Args:
        run: the run folder.
        method: its method.
        table: the labels it learnt from.
        evidence: probabilities of all entries.
        truth: [N, K] the full labels, where they are known.
    """

    run: Path
    method: str
    table: LabelTable
    evidence: Evidence
    truth: Labels | None = None

    @cached_property
    def unknown(self) -> Mask:
        """[N, K] entries nobody labeled."""
        return np.asarray(self.table.values == UNKNOWN)

    @property
    def probability(self) -> Floats:
        """[N, K] of unknown entries being positive; known entries as they are known."""
        known = (self.table.values == POSITIVE).astype(np.float64)
        chance = np.where(self.unknown, self.evidence.unknown, known)
        if not self.table.hierarchy:
            return chance
        monotone = consistent(chance, self.table.classes, self.table.hierarchy)
        return np.where(self.unknown, monotone, known)

    @property
    def expected_missing(self) -> float:
        """How many tags are expected to be missing."""
        return float(self.evidence.unknown[self.unknown].sum())

    def suggest(self, amount: Amount) -> Entries:
        """Missing tags, in the order in which to look at them."""
        return choose(self.probability, self.unknown, amount)

    def complete(self, precision: float) -> LabelTable:
        """The labels with what is sure enough filled in.

        Unknown entries become positive as far as the expected precision reaches, and negative where
        that is likelier; those between stay unknown.
        """
        absent = self.unknown & (self.probability < 0.5)
        there = at_precision(self.probability, self.unknown, precision)
        values = np.where(absent, NEGATIVE, self.table.values)
        filled = self.table.with_values(np.where(there, POSITIVE, values))
        return complete(filled, self.table.hierarchy)[0] if self.table.hierarchy else filled

    def suspects(self) -> Entries:
        """Positives that look wrong, the least likely first.

        A positive is suspected where heads that have not seen the image find it less likely than
        they find most images of which nobody says that they have the tag.
        """
        likely, positive = self.evidence.known, self.table.values == POSITIVE
        by_class = zip(likely.T, ~positive.T, strict=True)
        usual = [np.median(each[rest]) if rest.any() else 0.0 for each, rest in by_class]
        rows, columns = np.nonzero(positive & (likely < usual))
        order = np.argsort(likely[rows, columns], kind="stable")
        rows, columns = rows[order], columns[order]
        chances = likely[rows, columns]
        return Entries(rows, columns, chances, 1 - chances)


def recover(
    run: str | Path | TrainedRun,
    *,
    folds: int = FOLDS,
    images: int | None = None,
    sinks: Sequence[Sink] = (),
) -> Recovery:
    """Look for the tags that the training images of a run have and nobody wrote.

    Args:
        run: a finished run or its folder; its labels and images are where they were.
        folds: heads to train on parts of the images; each scores the images it has not seen.
        images: learn from and look at no more training images than this, evenly spread. The
            method's own estimates, which are of all images, are then left aside.
        sinks: where progress goes.
    """
    opened = TrainedRun.of(run)
    config, metrics, data = opened.config, opened.metrics, opened.data
    checkpoint: Path | None = opened.folder.checkpoint
    if images is not None and images < len(data.train):
        checkpoint = None
        rows = np.linspace(0, len(data.train) - 1, images).astype(np.intp)
        data = replace(data, train=data.train.take(rows))
    accelerator = make_accelerator(config.precision, config.threads)
    with Events(*sinks) as events:
        network = copy.deepcopy(opened.model.network)  # its head is trained again
        assembly = Assembly(config, data, accelerator.device, events, network=network)
        crossfit = CrossFit(assembly, accelerator, events)
        evidence = gather_evidence(crossfit, folds, checkpoint)
    truth = data.train.truth
    return Recovery(opened.path, metrics["method"], data.train.table, evidence, truth)
