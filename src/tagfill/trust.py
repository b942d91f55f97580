"""Python files that may be run: those the user named, and no others.

A run folder, a configuration or a recipe may come from anyone. A method in it that is the path of
a Python file is not run unless the user named that file, or said ``--trust-code``.
"""

from __future__ import annotations

from pathlib import Path

from tagfill.errors import TagfillError

_named: set[Path] = set()
_everything = False


def trust(method: str) -> str:
    """Record that the user named a method; its file may then be run. Returns the name."""
    if is_file(method):
        _named.add(Path(method).resolve())
    return method


def trust_everything() -> None:
    """Record that the user trusts all code that files name."""
    global _everything
    _everything = True


def require_trust(
    file: Path, reason: str = "is Python code named by a file, not by you, so it is not run"
) -> None:
    """Refuse a file with code that the user has not named or trusted."""
    if not _everything and file.resolve() not in _named:
        raise TagfillError(
            reason,
            file=file,
            remedy="read it, then add --trust-code",
        )


def is_file(method: str) -> bool:
    """Whether a method is named by its Python file."""
    return method.endswith(".py")
