"""Tags that imply others: a robin is a bird is an animal, in labels and in predictions alike."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np

from tagfill.arrays import Matrix
from tagfill.errors import TagfillError
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN, Hierarchy, LabelTable


def as_hierarchy(document: Any) -> Hierarchy:
    """A hierarchy from JSON: lists of names; anything else is left out."""
    if not isinstance(document, Mapping):
        return {}
    listed = {str(child): parents for child, parents in document.items()}
    return {
        child: tuple(map(str, parents))
        for child, parents in listed.items()
        if isinstance(parents, list | tuple)
    }


def check_hierarchy(classes: Sequence[str], hierarchy: Hierarchy) -> None:
    """Raise ``TagfillError`` if tags imply each other in a cycle."""
    _pairs(classes, hierarchy)


def with_parents(tags: Iterable[str], hierarchy: Hierarchy) -> list[str]:
    """Tags and all that they imply, each once."""
    waiting, given = list(tags), dict[str, None]()
    while waiting:
        tag = waiting.pop(0)
        if tag not in given:
            given[tag] = None
            waiting += hierarchy.get(tag, ())
    return list(given)


def complete(table: LabelTable, hierarchy: Hierarchy) -> tuple[LabelTable, int]:
    """Add what follows: present children imply their parents, absent parents absent children.

    Returns:
        The table, and how many entries contradicted that. A child that is there wins over a parent
        that is said not to be.
    """
    values = table.values.copy()
    pairs = _pairs(table.classes, hierarchy)
    denied = 0
    for child, parent in pairs:
        there = values[:, child] == POSITIVE
        denied += int((there & (values[:, parent] == NEGATIVE)).sum())
        values[there, parent] = POSITIVE
    for child, parent in reversed(pairs):
        missing = (values[:, parent] == NEGATIVE) & (values[:, child] == UNKNOWN)
        values[missing, child] = NEGATIVE
    return table.with_values(values), denied


def consistent(scores: Matrix, classes: Sequence[str], hierarchy: Hierarchy) -> Matrix:
    """Scores or probabilities [N, K] in which no child is more likely than its parents.

    A parent is at least as likely as the most likely of its children.

    >>> consistent(np.array([[0.2, 0.9]]), ["bird", "robin"], {"robin": ("bird",)}).tolist()
    [[0.9, 0.9]]
    """
    raised = np.array(scores, copy=True)
    for child, parent in _pairs(classes, hierarchy):
        raised[:, parent] = np.maximum(raised[:, parent], raised[:, child])
    return raised


def _pairs(classes: Sequence[str], hierarchy: Hierarchy) -> list[tuple[int, int]]:
    """Columns of children and parents; those with a class as parent come first."""
    column_of = {name: column for column, name in enumerate(classes)}
    children: dict[str, set[str]] = {}
    for child, parents in hierarchy.items():
        for parent in parents:
            if child in column_of and parent in column_of and child != parent:
                children.setdefault(parent, set()).add(child)
    try:
        order = list(TopologicalSorter(children).static_order())
    except CycleError as error:
        raise TagfillError(
            f"tags imply each other in a cycle: {', '.join(error.args[1])}"
        ) from None
    return [
        (column_of[child], column_of[parent])
        for parent in order
        for child in sorted(children.get(parent, ()))
    ]
