"""Errors for Python users: arguments instead of command-line options."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import replace
from typing import ParamSpec, TypeVar

from tagfill.errors import LabelError, Problem, TagfillError

P = ParamSpec("P")
R = TypeVar("R")
_RESUME = re.compile(r"`tagfill train --resume ([^`]+)`")
_OPTION = re.compile(r"--([a-z][a-z0-9]*(?:[-.][a-z0-9]+)*)")


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
