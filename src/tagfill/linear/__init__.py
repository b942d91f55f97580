"""Linear heads fitted by full-batch likelihood: features and incomplete labels in, a head out."""

from tagfill.linear.choice import Choice
from tagfill.linear.choose import Trial
from tagfill.linear.fit import LikelihoodHead, fit_head, out_of_fold

__all__ = ["Choice", "LikelihoodHead", "Trial", "fit_head", "out_of_fold"]
