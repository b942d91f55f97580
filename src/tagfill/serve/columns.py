"""All tags: those of the label file, those people added, and renamed ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tagfill.labels import NEGATIVE, POSITIVE, UNKNOWN, Labels, LabelTable


class Columns:
    """Names and numbers of tags after renames.

    Args:
        table: the labels as their owner wrote them.
        renames: old and new names, in the order they were made; existing ones are merged.
    """

    def __init__(self, table: LabelTable, renames: Sequence[tuple[str, str]]) -> None:
        self._new_name: dict[str, str] = {}
        for old, new in renames:
            self._new_name = {
                name: new if now == old else now for name, now in self._new_name.items()
            }
            self._new_name[old] = new
            self._new_name.pop(new, None)
        named = [self.name(name) for name in table.classes]
        self.names = list(dict.fromkeys(named))
        self._numbers = {name: number for number, name in enumerate(self.names)}
        self.sources = np.array([self._numbers[name] for name in named], dtype=np.intp)
        self.base = _merged(table.values, self.sources, len(self.names))

    def name(self, tag: str) -> str:
        """The current name of a tag."""
        return self._new_name.get(tag, tag)

    def number(self, tag: str) -> int:
        """The column of a tag; a new tag gets a new column."""
        name = self.name(tag)
        if name not in self._numbers:
            self._numbers[name] = len(self.names)
            self.names.append(name)
        return self._numbers[name]

    def find(self, tag: str) -> int | None:
        """The column of an existing tag."""
        return self._numbers.get(self.name(tag))


def _merged(values: Labels, sources: np.ndarray, count: int) -> Labels:
    """Merge columns of the same name: yes if any says yes, else no if any says no."""
    merged: Labels = np.full((len(values), count), UNKNOWN, dtype=np.int8)
    for column, target in enumerate(sources):
        given, known = values[:, column], merged[:, target]
        known[(given == NEGATIVE) & (known == UNKNOWN)] = NEGATIVE
        known[given == POSITIVE] = POSITIVE
    return merged
