"""Probabilities of all tags of all images of a run, computed once and stored in its folder."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from tagfill.arrays import Floats, Mask, Numbers
from tagfill.compat import return_freed_memory
from tagfill.errors import TagfillError
from tagfill.evaluate.arrays import Scores
from tagfill.files import unlinked, write_bytes
from tagfill.labels.table import POSITIVE, UNKNOWN, Labels
from tagfill.linear.choice import Choice
from tagfill.linear.fit import default_folds, fit_head, out_of_fold
from tagfill.linear.regions import Features, whole
from tagfill.priors import Presence, how_written
from tagfill.priors.written import likely_choice

FILE = "posterior.safetensors"
REVISION = 9
"""Of how probabilities are worked out; those of an older one are worked out again."""
_ABOUT = "about"
"""The one entry of the file's metadata, so that the same content is the same bytes."""
_UNKNOWN, _KNOWN = "unknown", "known"


@dataclass(frozen=True, eq=False)
class Evidence:
    """Probabilities of all entries.

    Args:
        unknown: [N, K] posterior: that the tag is there, given the image and what is known of it.
        known: [N, K] that it is present given the image alone, without its labels.
        how: sentences for the user.
        kind: how training images were scored.
    """

    unknown: Numbers
    known: Numbers
    how: tuple[str, ...]
    kind: Literal["out_of_fold"] = "out_of_fold"


class HeldOut(NamedTuple):
    """Images that had no part in training.

    Args:
        features: [N, D], or [N, D, H, W] by regions.
        labels: [N, K] of 1, 0, -1.
        reviewed: [N, K] entries that a review answered, if recorded.
        validation: which of them are validation images, and their labels; those labeled in full
            show what scores are worth.
    """

    features: Features
    labels: Labels
    reviewed: Mask | None = None
    validation: tuple[slice, Labels] | None = None


def posterior(
    features: Features,
    labels: Labels,
    others: HeldOut | None = None,
    *,
    reviewed: Mask | None = None,
    folds: int | None = None,
    seed: int = 0,
    trained: Choice | None = None,
    progress: Callable[[int, int, str], None] | None = None,
) -> Evidence:
    """Probabilities of all tags; labels that have changed need nothing but another call.

    Each image is scored by a linear head that has not seen it: of the training images, one fitted
    to the other folds; of the rest, one fitted to all training images. Which writer left the
    labels, and which curve makes probabilities of scores, is fitted to the training images, and to
    others labeled in full.

    Args:
        features: [N, D] of the training images, or [N, D, H, W] by regions.
        labels: [N, K] of 1, 0, -1.
        others: held-out images, which follow the training images.
        reviewed: [N, K] entries of the training images that a review answered, if recorded.
        folds: heads, each of which scores the images it was not fitted to; by default 5, or 2 of
            very many images.
        seed: of the folds.
        trained: what training chose for these features and labels.
        progress: called with the steps done, their number and a label.

    Raises:
        TagfillError: there are too few images, or no label is positive.
    """
    images = whole(features)
    if folds is None:
        folds = default_folds(features)
    if not 2 <= folds <= len(labels):
        raise TagfillError(f"{len(labels)} images cannot be divided into {folds} folds")
    step_done = _Steps(folds + 3, progress)
    choice = likely_choice(images, labels, seed, reviewed=reviewed, trained=trained)
    step_done()
    count, more = len(labels), 0 if others is None else len(others[1])
    unknown, known = (np.empty((count + more, labels.shape[1]), np.float32) for _ in range(2))
    scores, rest = known[:count], known[count:]  # scores first, then what is made of them
    out_of_fold(
        features,
        labels,
        choice,
        reviewed=reviewed,
        folds=folds,
        seed=seed,
        out=scores,
        fitted=step_done,
    )
    complete = None
    if others is not None:
        head = fit_head(features, labels, choice=choice, reviewed=reviewed)
        rest[:] = head.logits(others.features)
        if others.validation is not None:
            rows, known_labels = others.validation
            complete = rest[rows], known_labels
    how = how_written(scores, labels, reviewed, complete=complete)
    step_done()
    how.posterior(scores, labels, reviewed, out=unknown[:count])
    if others is not None:
        how.posterior(rest, others.labels, others.reviewed, out=unknown[count:])
    how.alone(known, out=known)
    step_done()
    return Evidence(unknown, known, (Presence(how, unknown[:count], labels).sentence,))


def of_scores(
    *scored: tuple[Scores, Labels, Mask | None], complete: tuple[Scores, Labels] | None = None
) -> Evidence:
    """The same where all images are scored already by heads that have not seen them.

    Args:
        scored: logits, labels and reviewed entries; of the training images first.
        complete: logits and labels of validation images.
    """
    how = how_written(*scored[0], complete=complete)
    unknown = [how.posterior(*images) for images in scored]
    known = np.concatenate([how.alone(logits) for logits, _, _ in scored])
    sentence = Presence(how, unknown[0], scored[0][1]).sentence
    return Evidence(
        np.concatenate(unknown).astype(np.float32), known.astype(np.float32), (sentence,)
    )


@dataclass
class _Steps:
    """Counts steps that are done; the memory that a step has freed is given back."""

    total: int
    progress: Callable[[int, int, str], None] | None
    done: int = 0

    def __call__(self) -> None:
        return_freed_memory()
        self.done += 1
        if self.progress is not None:
            self.progress(self.done, self.total, "probabilities")


def read(folder: Path, key: str) -> Evidence | None:
    """The probabilities stored under the key; None if absent or damaged."""
    if not (folder / FILE).is_file():  # a pipe would be waited for
        return None
    try:
        with safe_open(folder / FILE, framework="numpy") as kept:
            about = json.loads((kept.metadata() or {}).get(_ABOUT, "{}"))
            if about.get("key") != key:
                return None
            unknown, known = kept.get_tensor(_UNKNOWN), kept.get_tensor(_KNOWN)
            how = tuple(about["how"])
            if about["digest"] != _digest(how, unknown, known):
                return None
    except (OSError, SafetensorError, ValueError, LookupError, TypeError, AttributeError):
        return None
    return Evidence(unknown, known, how)


def keep(folder: Path, key: str, evidence: Evidence) -> None:
    """Write probabilities into a run folder; one that cannot be written to is left as it is."""
    unknown, known = (
        np.ascontiguousarray(matrix, dtype=np.float32)
        for matrix in (evidence.unknown, evidence.known)
    )
    about = {"key": key, "digest": _digest(evidence.how, unknown, known), "how": evidence.how}
    with suppress(TagfillError):
        metadata = {_ABOUT: json.dumps(about)}
        write_bytes(unlinked(folder / FILE), save({_UNKNOWN: unknown, _KNOWN: known}, metadata))


def known_entries(labels: Labels, probability: Scores) -> Floats:
    """[N, K] the probability of unknown entries; known ones as they are known."""
    chance = probability.astype(np.float64)
    np.copyto(chance, labels == POSITIVE, where=labels != UNKNOWN)
    return chance


def _digest(how: tuple[str, ...], *matrices: Numbers) -> str:
    digest = hashlib.blake2b(json.dumps(how).encode(), digest_size=16)
    for matrix in matrices:
        digest.update(np.ascontiguousarray(matrix).data)
    return digest.hexdigest()
