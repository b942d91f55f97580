"""Errors in the user's input: one clear message, never a traceback."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Literal, ParamSpec, TypedDict, TypeVar, Unpack

_PASSWORD = re.compile(r"(\w://?[^\s/@:]*:)[^\s/@]+(?=@)")
_QUERY = re.compile(r"(\w://?[^\s?'\"]+\?)[^\s'\")]*[^\s'\"),.:;]")
_PARTICULARS = re.compile(r"'(?:[^'\\]|\\.)*'|\"[^\"]*\"|\d+")
_RESUME = re.compile(r"`tagfill train --resume ([^`]+)`")
_OPTION = re.compile(r"--([a-z][a-z0-9]*(?:[-.][a-z0-9]+)*)")
P = ParamSpec("P")
R = TypeVar("R")
Severity = Literal["error", "warning"]
_EXAMPLES = 3
"""Problems of one kind that are listed one by one."""


class Place(TypedDict, total=False):
    """Location of a problem, and its remedy."""

    file: str | Path | None
    row: int | None
    remedy: str | None


class TagfillError(Exception):
    """An error that a user can fix. The command line prints it on stderr and exits with 2."""

    def __init__(
        self,
        message: str,
        *,
        file: str | Path | None = None,
        row: int | None = None,
        remedy: str | None = None,
    ) -> None:
        self.message, self.file, self.row, self.remedy = message, file, row, remedy
        super().__init__(_sentence(message, file, row, remedy))


@dataclass(frozen=True)
class Problem:
    """One problem of the input, with its place.

    ``row`` counts lines of a text file from 1, the header being line 1.
    """

    severity: Severity
    message: str
    file: str | None = None
    row: int | None = None
    remedy: str | None = None

    def __str__(self) -> str:
        return _sentence(self.message, self.file, self.row, self.remedy)


@dataclass
class Problems:
    """Collects problems while a file is read, so that a user sees all of them at once."""

    entries: list[Problem] = field(default_factory=list)

    def error(self, message: str, **place: Unpack[Place]) -> None:
        """Record a problem that makes the labels unusable."""
        self._add("error", message, **place)

    def warn(self, message: str, **place: Unpack[Place]) -> None:
        """Record a problem that was handled harmlessly, in a way the message states."""
        self._add("warning", message, **place)

    def _add(self, severity: Severity, message: str, **place: Unpack[Place]) -> None:
        file = place.get("file")
        self.entries.append(
            Problem(
                severity,
                message,
                None if file is None else str(file),
                place.get("row"),
                place.get("remedy"),
            )
        )

    @property
    def errors(self) -> list[Problem]:
        """The problems that make the labels unusable."""
        return [problem for problem in self.entries if problem.severity == "error"]

    @property
    def warnings(self) -> list[Problem]:
        """The problems that were handled."""
        return [problem for problem in self.entries if problem.severity == "warning"]

    def __iter__(self) -> Iterator[Problem]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def raise_errors(self) -> None:
        """Raise ``LabelError`` if any unusable problem was found."""
        if self.errors:
            raise LabelError(self.errors)


class LabelError(TagfillError):
    """A label file with problems that make it unusable; lists them all."""

    shown = 20

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        kinds = grouped(problems)
        lines = [str(problem) for problem in kinds[: self.shown]]
        if len(kinds) > self.shown:
            lines.append(
                f"... and {len(kinds) - self.shown} more; `tagfill inspect` lists them all"
            )
        super().__init__("\n".join(lines))


def grouped(problems: Sequence[Problem]) -> list[Problem]:
    """Merge many problems of one kind in one file into one: how many, and the first rows.

    Kinds differ in more than the numbers and quoted names of their sentences.
    """
    kinds: dict[tuple[str, str | None, str], list[Problem]] = {}
    for problem in problems:
        kind = _PARTICULARS.sub("", problem.message)
        kinds.setdefault((problem.severity, problem.file, kind), []).append(problem)
    return [problem for alike in kinds.values() for problem in _as_one(alike)]


def _as_one(alike: Sequence[Problem]) -> list[Problem]:
    if len(alike) <= _EXAMPLES:
        return list(alike)
    rows = [str(problem.row) for problem in alike[1:_EXAMPLES] if problem.row is not None]
    places = f", also in rows {', '.join(rows)} ..." if rows else ""
    return [replace(alike[0], message=f"{alike[0].message} ({len(alike):,} such{places})")]


def counted(number: int, one: str, many: str | None = None) -> str:
    """A number and what it counts: ``1 image``, ``1,204 images``."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def enumerated(names: Sequence[str]) -> str:
    """``a``, ``a and b``, or ``a, b and c``."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)


def nearest(name: str, known: Iterable[str]) -> str:
    """A question with the name closest to a mistyped one; empty if none is close."""
    close = get_close_matches(name, list(known), n=1)
    return f"did you mean {close[0]}? " if close else ""


def _sentence(message: str, file: str | Path | None, row: int | None, remedy: str | None) -> str:
    location = "" if file is None else str(file)
    if row is not None:
        location = f"{location}, row {row}" if location else f"row {row}"
    text = f"{location}: {message}" if location else message
    return without_secrets(f"{text} — {remedy}" if remedy else text)


def without_secrets(text: str) -> str:
    """A text whose URLs have lost their passwords and queries, which may hold keys.

    >>> without_secrets("http://anna:secret@host/a.csv?key=secret: no such file")
    'http://anna:***@host/a.csv?***: no such file'
    """
    return _QUERY.sub(r"\1***", _PASSWORD.sub(r"\1***", text))


def features_not_finite() -> TagfillError:
    """Some features are not numbers: nothing can be learned from them."""
    return TagfillError(
        "some training features are not finite numbers (NaN or infinite)",
        remedy="compute the features again, or leave those images out",
    )


def in_python(text: str) -> str:
    """A message with arguments where options were named.

    >>> in_python("say where with --images, or use --val-fraction 0.2")
    'say where with `images`, or use `val_fraction` 0.2'
    """
    text = _RESUME.sub(lambda match: f"`tagfill.resume({match[1]!r})`", text)
    text = text.replace("--tags-column ", "--tags-columns ")  # Python takes them all at once
    return _OPTION.sub(lambda match: f"`{match[1].replace('-', '_')}`", text)


def _of_arguments(problem: Problem) -> Problem:
    remedy = problem.remedy and in_python(problem.remedy)
    return replace(problem, message=in_python(problem.message), remedy=remedy)


def speaks_python(function: Callable[P, R]) -> Callable[P, R]:
    """Decorator: errors of a public function name its arguments, not command-line options."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except TagfillError as error:
            if "--" not in str(error):
                raise
            if isinstance(error, LabelError):
                raise LabelError([_of_arguments(problem) for problem in error.problems]) from error
            raise TagfillError(
                in_python(error.message),
                file=error.file,
                row=error.row,
                remedy=error.remedy and in_python(error.remedy),
            ) from error

    return call
