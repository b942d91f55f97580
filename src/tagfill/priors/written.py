"""How labels became known: estimates how many tags are missing, and which.

Out-of-fold scores are turned into probabilities by a curve, and which of the present tags a person
wrote is described by a model of the writer. Curve and writer maximize the likelihood of the known
labels. Two kinds of writers are compared:

- of "entries": each positive becomes known with chance c, each negative with chance d,
  independently;
- of "tags": the writer chose a number u and wrote u of the present tags, each equally likely, or
  all if there were no more than u. One tag per image is u = 1.

For a writer of tags, that every image has one is no evidence of how often images have tags at all:
likelihoods are conditional on at least one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from scipy.optimize import minimize
from torch import Tensor

from tagfill.arrays import Floats, Mask, Matrix
from tagfill.errors import TagfillError
from tagfill.evaluate.arrays import Scores, checked
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN, Labels
from tagfill.linear.choice import SMOOTHING, UNTAGGED, Choice, candidates, untagged
from tagfill.linear.choose import choose
from tagfill.linear.fit import FOLDS, out_of_fold
from tagfill.linear.threads import on_one_thread, single_thread
from tagfill.priors.regime import labeled_in_full
from tagfill.priors.writer import Written
from tagfill.priors.writer_fit import WriterFit

SAMPLE = 300_000
"""Entries that are fitted to; of more, images are taken at regular steps."""
COMPLETE = 30
"""Images labeled in full that show what scores are worth; of fewer, chance decides too much."""
REFUTES = 3.0
"""Log-likelihood that images labeled in full must gain by another scale and shift of log-odds: then
the idea of who wrote is wrong, and all of the writer's images count for no more than they do."""
CLEARLY = 0.05
"""Log-likelihood per image by which writers of tags must be better where many images have none:
that nobody looked at those explains any number of them."""
LOOKALIKE = 1.5
"""Of writers of tags: log-odds that a sure tag beside the written one loses if images have one tag;
with k tags per image one k-th of a k-th. Known labels do not show which classes are confused;
measured where the truth is known (docs/results/recovery.md)."""


@dataclass(frozen=True, eq=False)
class Presence:
    """Known labels and probabilities of the tags of some images.

    Args:
        how: the labels came to be known.
        probability: [N, K] that a tag is there; known entries as known.
        labels: [N, K] of 1, 0, -1.
    """

    how: Written
    probability: Scores
    labels: Labels

    @cached_property
    def prior(self) -> Floats:
        """[K] share of the images that have each tag."""
        mean: Floats = self.probability.mean(axis=0, dtype=np.float64)
        return mean

    @property
    def expected_positives(self) -> float:
        """The mean number of tags of an image."""
        return float(self.prior.sum())

    @property
    def share_written(self) -> float:
        """The share of the tags that are there that are known."""
        total = float(self.probability.sum(dtype=np.float64))
        return float((self.labels == POSITIVE).sum()) / total if total else 1.0

    @property
    def sentence(self) -> str:
        """For the user."""
        if self.how.kind == "full":
            return "every label is known"
        return f"about {self.share_written:.0%} of the tags that are there are known"

    def as_dict(self) -> dict[str, Any]:
        """The answer in a few numbers."""
        return {
            "writer": self.how.kind,
            "share_written": self.share_written,
            "expected_positives": self.expected_positives,
        }


def presence(
    scores: npt.ArrayLike, labels: npt.ArrayLike, reviewed: Mask | None = None
) -> Presence:
    """Probabilities of all tags, from scores of images that had no part in the scores."""
    how = how_written(scores, labels, reviewed)
    chances = how.posterior(scores, labels, reviewed)
    return Presence(how, chances, np.asarray(labels, dtype=np.int8))


def presence_by_features(
    features: Matrix, labels: Labels, *, folds: int = FOLDS, seed: int = 0
) -> Presence:
    """Probabilities of all tags, by linear heads on features that have not seen the image.

    Args:
        features: [N, D].
        labels: [N, K] of 1, 0, -1.
        folds: heads; each scores the images it was not fitted to.
        seed: of the folds.
    """
    choice = likely_choice(features, labels, seed)
    return presence(out_of_fold(features, labels, choice, folds=folds, seed=seed), labels)


@on_one_thread
def likely_choice(
    features: Matrix,
    labels: Labels,
    seed: int = 0,
    *,
    reviewed: Mask | None = None,
    trained: Choice | None = None,
) -> Choice:
    """How to fit linear heads whose scores are to become probabilities.

    Args:
        features: [N, D].
        labels: [N, K] of 1, 0, -1.
        seed: of the folds.
        reviewed: [N, K] entries that a review answered, where that is recorded.
        trained: what was chosen for the same features and labels before, which saves the search.
    """
    observed = torch.from_numpy(np.array(labels, dtype=np.int8))
    if not bool((observed == POSITIVE).any()):
        raise TagfillError(
            "cannot learn: no observed label is positive",
            remedy="check the label file with `tagfill inspect`",
        )
    if trained is not None and explains(trained, observed):
        return replace(trained, smoothing=SMOOTHING)
    writers = [choice for choice in candidates(observed, Choice()) if explains(choice, observed)]
    answered = None if reviewed is None else torch.from_numpy(np.array(reviewed, bool))
    choice, _ = choose(features, observed, reviewed=answered, writers=writers, seed=seed)
    return replace(choice, smoothing=SMOOTHING)


def explains(choice: Choice, observed: Tensor) -> bool:
    """A writer of "some" tags cannot explain images without a tag."""
    return choice.writer == "each" or untagged(observed) <= UNTAGGED


@single_thread()
def how_written(
    scores: npt.ArrayLike,
    labels: npt.ArrayLike,
    reviewed: Mask | None = None,
    complete: tuple[Scores, Labels] | None = None,
) -> Written:
    """The writer and the curve under which labels are likeliest.

    Args:
        scores: [N, K] logits of images by models that have not seen them.
        labels: [N, K] of 1, 0, -1.
        reviewed: [N, K] entries that a review answered, where that is recorded.
        complete: scores and labels of other images; those labeled in full show the curve, whoever
            wrote the labels.

    Raises:
        TagfillError: no entry is known to be positive.
    """
    given, states = checked(scores, labels)
    if not (states == POSITIVE).any():
        raise TagfillError("nothing can be fitted to labels without a positive")
    images, in_full = _divided(given, states, reviewed, complete)
    how = _likeliest(WriterFit(*images, complete=in_full))
    if in_full is None or not _refuted(how, *in_full):
        return how
    weight = len(in_full[0]) / len(images.scores)
    return _likeliest(WriterFit(*images, complete=in_full, weight=min(1.0, weight)))


def _likeliest(fit: WriterFit) -> Written:
    """Of the two kinds of writers."""
    observed = fit.observed
    if not (observed == UNKNOWN).any():
        return replace(fit.of_entries(), kind="full", positive=1.0, negative=1.0)
    many_untagged = untagged(observed) > UNTAGGED
    # a review of likely entries that is not recorded looks as if all tags had been written
    denied = bool((observed == NEGATIVE).any())
    hidden_review = fit.reviewed is None and denied and not many_untagged
    of_entries = fit.at_random() if hidden_review else fit.of_entries()
    of_tags = fit.of_tags()
    margin = CLEARLY * len(observed) if many_untagged else 0.0
    if of_entries.cost < of_tags.cost + margin:
        return of_entries
    return replace(of_tags, lookalike=LOOKALIKE / max(fit.tags_per_image(of_tags), 1.0) ** 2)


def _refuted(how: Written, scores: Floats, labels: Labels) -> bool:
    """Images labeled in full are clearly likelier with log-odds of another scale and shift."""
    log_odds, present = torch.from_numpy(how.logits(scores)), torch.from_numpy(labels == POSITIVE)

    def cost(parameters: Floats) -> tuple[float, Floats]:
        line = torch.from_numpy(parameters).requires_grad_()
        value = F.binary_cross_entropy_with_logits(
            log_odds * line[0].exp() + line[1], present.double(), reduction="sum"
        )
        (gradient,) = torch.autograd.grad(value, line)
        return float(value.detach()), gradient.numpy()

    start = np.zeros(2)
    best = minimize(cost, start, jac=True, method="L-BFGS-B")
    return cost(start)[0] - float(best.fun) > REFUTES


class Images(NamedTuple):
    """Of one writer."""

    scores: Floats
    labels: Labels
    reviewed: Mask | None


def _divided(
    scores: Scores, labels: Labels, reviewed: Mask | None, complete: tuple[Scores, Labels] | None
) -> tuple[Images, tuple[Floats, Labels] | None]:
    """Images of one writer, or a sample of them, and those labeled in full if there are enough."""
    apart = _of_another_writer(labels, reviewed)
    in_full = [(scores[apart], labels[apart])]
    if complete is not None:
        rows = labeled_in_full(complete[1])
        in_full.append((complete[0][rows], complete[1][rows]))
    enough = sum(len(known) for _, known in in_full) >= COMPLETE
    if enough and apart.any():
        scores, labels = scores[~apart], labels[~apart]
        reviewed = None if reviewed is None else np.asarray(reviewed)[~apart]
    sample = _some_rows(labels)
    if not (labels[sample] == POSITIVE).any():
        sample = slice(None)
    answered = None if reviewed is None else np.asarray(reviewed)[sample]
    images = Images(scores[sample].astype(np.float64), labels[sample], answered)
    return images, _joined(in_full) if enough else None


def _of_another_writer(labels: Labels, reviewed: Mask | None) -> Mask:
    """[N] images labeled in full, where only some tags of all others were written."""
    full = labeled_in_full(labels)
    rest = labels[~full]
    written = rest if reviewed is None else np.where(np.asarray(reviewed)[~full], UNKNOWN, rest)
    apart = bool((written == POSITIVE).any()) and not (written == NEGATIVE).any()
    return full if apart else np.zeros_like(full)


def _joined(parts: Sequence[tuple[Scores, Labels]]) -> tuple[Floats, Labels]:
    """All of the images, or a sample of them."""
    scores, labels = (np.concatenate(kind) for kind in zip(*parts, strict=True))
    sample = _some_rows(labels)
    return scores[sample].astype(np.float64), labels[sample]


def _some_rows(labels: Labels) -> slice:
    """Images at regular steps."""
    return slice(None, None, max(1, -(-labels.size // SAMPLE)))
