"""Tags that are paths, such as ``animal|bird|robin``: their names, and which implies which."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

Path = tuple[str, ...]


class PathList:
    """Collects paths of tags; a name with several parents keeps its whole path.

    >>> paths = PathList()
    >>> paths.add(0, ["animal", "bat"]); paths.add(1, ["sport", "bat"])
    >>> [names for _, names, _ in paths.statements()]
    [['animal', 'animal|bat'], ['sport', 'sport|bat']]
    """

    def __init__(self) -> None:
        self._stated: list[tuple[int, Path, int | None]] = []
        self._parents: defaultdict[str, set[Path]] = defaultdict(set)

    def add(self, record: int, names: Iterable[str], row: int | None = None) -> None:
        """Add the path of one record, the most general name first."""
        path = tuple(name for part in names if (name := part.strip()))
        if path and len(set(path)) == len(path):
            self._stated.append((record, path, row))
            for depth, name in enumerate(path):
                if len(path) > 1:
                    self._parents[name].add(path[:depth])
        elif path:
            self.add(record, dict.fromkeys(path), row)

    def statements(self) -> Iterator[tuple[int, list[str], int | None]]:
        """The names each path stands for, with its record and row."""
        for record, path, row in self._stated:
            yield record, [self._name(path[: depth + 1]) for depth in range(len(path))], row

    def hierarchy(self) -> dict[str, Path]:
        """The name each name directly implies."""
        implied: dict[str, Path] = {}
        for _, path, _ in self._stated:
            for depth in range(1, len(path)):
                implied[self._name(path[: depth + 1])] = (self._name(path[:depth]),)
        return implied

    def _name(self, path: Path) -> str:
        return path[-1] if len(self._parents[path[-1]]) <= 1 else "|".join(path)
