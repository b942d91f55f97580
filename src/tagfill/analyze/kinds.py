"""Figures by name; each is a module of that name with a function ``draw``."""

from __future__ import annotations

from tagfill.errors import TagfillError

KINDS = {
    "probabilities": "probabilities of unobserved positives, epoch by epoch (Cole et al. Fig. 2)",
    "positive_loss": "loss of the positives during training (Zhou et al. Fig. 2b)",
    "pseudo_labels": "precision and recall of pseudo-labels, epoch by epoch",
    "class_gain": "gain in average precision over the first run, by class (Zhou et al. Fig. 4c)",
    "distances": "how far unobserved positives and negatives are apart (Zhou et al. Fig. 4a)",
    "densities": "probabilities of the images with and without a class (Zhou et al. Fig. 4b)",
    "gradients": "gradient of each loss against the logit (Zhou et al. Fig. 2a)",
    "shares": "share of positives among unobserved labels, by class (Zhou et al. Fig. 2c)",
    "landscape": "loss around the minimum, filter-normalized directions (Zhou et al. Fig. 5)",
    "attention": "where the model sees recovered tags (Xie et al. Fig. 6)",
    "bars": "predictions of two runs for the same images (Zhou et al. Fig. 6)",
}


class CannotDrawError(TagfillError):
    """A figure that cannot be drawn for the given runs; the message is the reason."""
