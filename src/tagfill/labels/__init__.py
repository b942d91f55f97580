"""Label tables: one code for positive, negative and unknown, read from any common format."""

from tagfill.labels.dataset import Boxes, Dataset, Suggestions
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN, Labels, LabelTable, Rows

__all__ = [
    "NEGATIVE",
    "POSITIVE",
    "UNKNOWN",
    "Boxes",
    "Dataset",
    "LabelTable",
    "Labels",
    "Rows",
    "Suggestions",
]
