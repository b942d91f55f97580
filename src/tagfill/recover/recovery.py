"""From a finished run to missing tags."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from tagfill.arrays import Floats, Mask, Numbers
from tagfill.labels import NEGATIVE, POSITIVE, UNKNOWN, Labels, LabelTable
from tagfill.labels.hierarchy import complete, consistent
from tagfill.linear.regions import Features
from tagfill.models.bundle import description
from tagfill.recover import posterior
from tagfill.recover.choose import Amount, Entries, at_precision, choose
from tagfill.recover.posterior import Evidence, HeldOut, known_entries
from tagfill.train.data import Split
from tagfill.train.events import Sink
from tagfill.train.score import read_scores, scores_key
from tagfill.train.trained import TrainedRun
from tagfill.train.unseen import OUT_OF_FOLD, chosen

DOUBTFUL = 1 / 3
"""Share of suspected positives that are expected to be right."""
FEATURES_SHARE = 0.9
"""Of the time that images take whose features are not cached."""
FEW = 500
"""Known tags below which expected precision was too high by 10 to 65 points (scenes and VOC)."""


@dataclass(frozen=True, eq=False)
class Recovery:
    """Probabilities of the labels of all images of a run.

    Args:
        run: the run folder.
        method: its method.
        table: the labels: training images first, then those that were held out.
        evidence: probabilities of all entries.
        truth: [N, K] the full labels, where they are known.
        paths: the image files, unless features were given.
    """

    run: Path
    method: str
    table: LabelTable
    evidence: Evidence
    truth: Labels | None = None
    paths: tuple[Path, ...] | None = None

    @cached_property
    def unknown(self) -> Mask:
        """[N, K] unknown entries."""
        return np.asarray(self.table.values == UNKNOWN)

    @cached_property
    def probability(self) -> Floats:
        """[N, K] of unknown entries being positive; known entries as they are known."""
        chance = known_entries(self.table.values, self.evidence.unknown)
        if not self.table.hierarchy:
            return chance
        monotone = consistent(chance, self.table.classes, self.table.hierarchy)
        return known_entries(self.table.values, monotone)

    @property
    def expected_missing(self) -> float:
        """How many tags are expected to be missing."""
        return float(self.evidence.unknown.sum(where=self.unknown, dtype=np.float64))

    @property
    def share_written(self) -> float:
        """The share of the tags that are there that are known."""
        known = float((self.table.values == POSITIVE).sum())
        return known / (known + self.expected_missing) if known else 1.0

    def suggest(self, amount: Amount) -> Entries:
        """Missing tags, in the order in which to look at them."""
        return choose(self.probability, self.unknown, amount)

    def summary(self, suggested: Entries) -> str:
        """What was found, in one sentence."""
        photos = f"{len(self.table):,} photos"
        if suggested.expected_precision is None:
            missing = f"about {self.expected_missing:,.0f} are probably missing in {photos}"
            return f"no missing tag is sure enough; {missing}"
        right = f"about {suggested.expected_precision:.0%} of them right"
        known = int((self.table.values == POSITIVE).sum())
        few = f" (a guess: {known:,} tags are too few to tell, and it may be far too high)"
        rough = few if known < FEW else ""
        return f"{len(suggested):,} missing tags found in {photos}, {right}{rough}"

    def complete(self, precision: float) -> LabelTable:
        """The labels with confident entries filled in.

        Unknown entries become positive as far as the expected precision allows, and negative if
        that is more likely; those between stay unknown.
        """
        absent = self.unknown & (self.probability < 0.5)
        there = at_precision(self.probability, self.unknown, precision)
        values = np.where(absent, NEGATIVE, self.table.values)
        filled = self.table.with_values(np.where(there, POSITIVE, values))
        return complete(filled, self.table.hierarchy)[0] if self.table.hierarchy else filled

    def suspects(self) -> Entries:
        """Positives that are more likely wrong than right, the least likely first.

        Out-of-fold probabilities of the tags tell how many of the least probable ones should be
        present and written. As long as three times as many are written, the next one is more likely
        wrong than right. Clean labels have hardly any.
        """
        likely, positive = self.evidence.known, self.table.values == POSITIVE
        order = np.argsort(likely, axis=None, kind="stable")
        written = positive.ravel()[order]
        expected = self.share_written * np.cumsum(likely.ravel()[order], dtype=np.float64)[written]
        right = expected / np.arange(1, len(expected) + 1)
        doubtful = np.flatnonzero(right < DOUBTFUL)
        least = slice(doubtful[-1] + 1 if len(doubtful) else 0)
        rows, columns = np.unravel_index(order[written][least], positive.shape)
        chances = np.minimum(np.maximum.accumulate(right[least]), DOUBTFUL)
        return Entries(rows, columns, chances, 1 - chances)


def recover(
    run: str | Path | TrainedRun,
    *,
    folds: int | None = None,
    images: int | None = None,
    sinks: Sequence[Sink] = (),
) -> Recovery:
    """Find missing tags in the images of a run.

    The result is stored in the run folder and reused.

    Args:
        run: a finished run, whose labels and images are where they were; or its folder.
        folds: linear heads on parts of the training images, each of which scores those it has not
            seen; by default 5, or 2 of very many images.
        images: if nothing is stored yet, use at most this many training images, evenly spread.
        sinks: where progress goes.
    """
    trained = TrainedRun.of(run, sinks)
    train, held_out = trained.data.train, _held_out(trained)
    key = _key(trained, folds)
    evidence = posterior.read(trained.path, key)
    if evidence is None and folds is None and (scored := _scored(trained)):
        val = trained.data.val
        complete = None if val is None else (trained.scores("val"), val.eval_labels)
        evidence = posterior.of_scores(*scored, complete=complete)
        posterior.keep(trained.path, key, evidence)
    if evidence is None and images is not None and images < len(train):
        train, held_out = train.take(np.linspace(0, len(train) - 1, images).astype(np.intp)), []
        evidence = _posterior(trained, train, held_out, folds)
    elif evidence is None:
        evidence = _posterior(trained, train, held_out, folds)
        posterior.keep(trained.path, key, evidence)
    splits = [train, *held_out]
    return Recovery(
        trained.path,
        trained.metrics["method"],
        _joined(splits),
        evidence,
        _truth(splits),
        _paths(splits),
    )


def _key(run: TrainedRun, folds: int | None) -> str:
    """What a stored posterior depends on."""
    model, data = description(run.folder.model)["sha256"], run.metrics["data_hash"]
    val = run.data.val
    digest = hashlib.blake2b(b"" if val is None else val.eval_labels.tobytes(), digest_size=8)
    return f"{model} {data} {digest.hexdigest()} {folds} {posterior.REVISION}"


def _held_out(run: TrainedRun) -> list[Split]:
    return [split for name, split in run.data.splits.items() if name != "train"]


def _validation(run: TrainedRun) -> tuple[slice, Labels] | None:
    """Where the validation images are among those held out, and their labels.

    Labels of test images are for reporting.
    """
    before = 0
    for split in _held_out(run):
        if split is run.data.val:
            return slice(before, before + len(split)), split.eval_labels
        before += len(split)
    return None


def _scored(run: TrainedRun) -> list[tuple[Numbers, Labels, Mask | None]]:
    """Scores of all images by heads that have not seen them, if training left them."""
    train = run.data.train
    unseen = read_scores(run.folder.scores(OUT_OF_FOLD), scores_key(run.folder.model, train))
    if unseen is None or unseen.shape != train.table.values.shape:
        return []
    tables = {name: split.table for name, split in run.data.splits.items()}
    return [
        (unseen if name == "train" else run.scores(name), table.values, table.reviewed)
        for name, table in tables.items()
    ]


def _posterior(
    run: TrainedRun, train: Split, held_out: Sequence[Split], folds: int | None
) -> Evidence:
    with run.assembly.events as events:
        features = _features(run, [train, *held_out])
        others = None
        if held_out:
            table = _joined(held_out)
            rows = np.concatenate([part[:] for part in features[1:]])
            others = HeldOut(rows, table.values, table.reviewed, _validation(run))
        with events.up_to(1):
            return posterior.posterior(
                features[0],
                train.table.values,
                others,
                reviewed=train.table.reviewed,
                folds=folds,
                seed=run.config.seed,
                trained=chosen(run.config, run.metrics.get("solved"))
                if len(train) == len(run.data.train)
                else None,
                progress=events.progress,
            )


def _features(run: TrainedRun, splits: Sequence[Split]) -> list[Features]:
    """Features of the splits, from the cache where they are known."""
    images = np.cumsum([len(split) for split in splits])
    features = []
    for split, done in zip(splits, FEATURES_SHARE * images / images[-1], strict=True):
        with run.assembly.events.up_to(float(done)):
            features.append(run.assembly.head_features(split))
    return features


def _joined(splits: Sequence[Split]) -> LabelTable:
    images = tuple(image for split in splits for image in split.table.images)
    first = splits[0].table
    values = np.concatenate([split.table.values for split in splits])
    masks = [split.table.reviewed for split in splits]
    reviewed = None if masks[0] is None else np.concatenate([m for m in masks if m is not None])
    return LabelTable(images, first.classes, values, first.hierarchy, reviewed)


def _truth(splits: Sequence[Split]) -> Labels | None:
    if splits[0].truth is None:
        return None
    return np.concatenate([split.eval_labels for split in splits])


def _paths(splits: Sequence[Split]) -> tuple[Path, ...] | None:
    if any(split.paths is None for split in splits):
        return None
    return tuple(path for split in splits for path in split.paths or ())
