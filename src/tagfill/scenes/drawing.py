"""Drawings as text, one step a line; ``drawings/*.txt`` hold them by name.

    fur = one of #d98a45 #8d8a93 ~6   one of these colors, varied by 6 levels (12 by default)
    kind = one of sail steamer        one of these words or numbers
    slim = from .3 to .44             a random number; ``whole 3 to 5`` is a whole one
    snowy = chance .25                1 with this probability, else 0
    near = mix far grass .4           a color with a share of another stirred in
    glass = day #7fb2cf night #ffd873
    disc fur-.2  x .5+slim*.8 .1      a shape: its colors and numbers

Shapes are methods of ``Pen`` and functions of ``shapes``. A number is a sum of
products of numbers and names. A color may be made lighter (+) or darker (-) by a share; after ``!``
no light changes it. Indented lines belong to the line above them: ``chance .6`` or
``if kind sail steamer``, perhaps followed by ``else``; ``for x y in 0 .1, .2 .3``;
``repeat 6 n``, n counting from 0. Lines above the first drawing of a file belong to all of its
drawings.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from random import Random
from typing import Any

from tagfill.scenes import shapes
from tagfill.scenes.color import darker, ink, lighter, mix, vary
from tagfill.scenes.pen import Pen

_TERM = re.compile(r"([+-]?)([^+-]+)")
_NUMBER = re.compile(r"-?[\d.]+")
_BEFORE_POINTS = {"shape": 1, "blob": 1, "stroke": 2, "curve": 2}
"""Values before the points of a shape."""


@dataclass(frozen=True)
class Step:
    """A line of a drawing, its numbers read, and the lines that belong to it."""

    words: tuple[Any, ...]
    inside: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Drawing:
    """What the lines of one name draw, different for every random state."""

    steps: tuple[Step, ...]

    def __call__(self, pen: Pen, rng: Random, **names: float) -> None:
        """Draw; ``names`` are known to the lines from the beginning."""
        _Run(pen, rng, dict(names)).steps(self.steps)


def load_drawings(family: str) -> dict[str, Drawing]:
    file = files("tagfill.scenes") / "drawings" / f"{family}.txt"
    return parse_drawings(file.read_text(encoding="utf-8"))


def parse_drawings(text: str) -> dict[str, Drawing]:
    steps = _parsed([line for line in text.splitlines() if line.strip()])
    common = tuple(step for step in steps if not step.inside)
    return {
        step.words[0].rstrip(":"): Drawing(common + step.inside) for step in steps if step.inside
    }


def _parsed(lines: Sequence[str]) -> tuple[Step, ...]:
    depths = [len(line) - len(line.lstrip()) for line in lines]
    starts = [number for number, depth in enumerate(depths) if depth == depths[0]]
    ends = [*starts[1:], len(lines)]
    return tuple(
        Step(
            tuple(map(_number_or_word, lines[start].replace(",", " ").split())),
            _parsed(lines[start + 1 : end]),
        )
        for start, end in zip(starts, ends, strict=False)
    )


@dataclass
class _Run:
    """One drawing in the making; ``names`` hold numbers, colors and words."""

    pen: Pen
    rng: Random
    names: dict[Any, Any]

    def steps(self, steps: Sequence[Step]) -> None:
        skipped = False
        for step in steps:
            first, *rest = step.words
            if rest[:1] == ["="]:
                self.names[first] = self.assigned(*rest[1:])
            elif first == "else":
                self.steps(step.inside if skipped else ())
            elif first in ("chance", "if"):
                skipped = not self.holds(first, *rest)
                self.steps(() if skipped else step.inside)
            elif first in ("for", "repeat"):
                self.loop(first, rest, step.inside)
            else:
                self.shape(
                    first, [word if type(word) is float else self.value(word) for word in rest]
                )

    def holds(self, kind: str, *words: Any) -> bool:
        if kind == "chance":
            return self.rng.random() < float(words[0])
        return self.names[words[0]] in (words[1:] or (1.0,))

    def loop(self, kind: str, words: Sequence[Any], inside: Sequence[Step]) -> None:
        if kind == "repeat":
            count, *names = words
            values = [float(number) for number in range(int(self.value(count)))]
        else:
            names = list(words[: words.index("in")])
            values = [self.value(word) for word in words[len(names) + 1 :]]
        width = len(names) or 1
        for start in range(0, len(values), width):
            self.names.update(zip(names, values[start : start + width], strict=False))
            self.steps(inside)

    def assigned(self, *words: Any) -> Any:
        match words:
            case ["one", "of", *options]:
                return self.one_of(options)
            case ["from", low, "to", high]:
                return self.rng.uniform(self.value(low), self.value(high))
            case ["whole", low, "to", high]:
                return float(self.rng.randint(int(low), int(high)))
            case ["chance", _]:
                return float(self.holds(*words))
            case ["mix", first, second, share]:
                return mix(self.value(first), self.value(second), self.value(share))
            case ["day", day, "night", night]:
                return ink(night) if self.pen.night else day
            case ["colors", *codes]:
                return codes
        (word,) = words
        return self.value(word)

    def one_of(self, options: Sequence[Any]) -> Any:
        amount = 12.0
        if str(options[-1]).startswith("~"):
            amount, options = float(options[-1][1:]), options[:-1]
        chosen = self.rng.choice(self.names.get(options[0], options))
        if str(chosen).startswith("#"):
            return vary(self.rng, chosen, amount)
        return self.value(chosen)

    def value(self, word: Any) -> Any:
        if isinstance(word, float):
            return word
        if word in self.names:
            return self.names[word]
        if word.startswith("!"):
            return ink(self.value(word[1:]))
        sums = [
            (sign, [self.names.get(name, name) for name in names]) for sign, names in _terms(word)
        ]
        _, (first, *_) = sums[0]
        if isinstance(first, float):
            total = 0.0
            for sign, factors in sums:
                total += math.prod(factors, start=sign)
            return total
        for sign, (share,) in sums[1:]:
            first = (lighter if sign > 0 else darker)(first, share)
        return first

    def shape(self, name: str, values: list[Any]) -> None:
        method = getattr(self.pen, name, None)
        if method is None:
            getattr(shapes, name)(self.pen, self.rng, *values)
        elif name in _BEFORE_POINTS:
            before = _BEFORE_POINTS[name]
            points = list(zip(values[before::2], values[before + 1 :: 2], strict=True))
            method(*values[:before], points)
        else:
            method(*values)


@cache
def _terms(word: str) -> list[tuple[float, list[float | str]]]:
    """The signs and factors of a sum of products; names stay as they are."""
    return [
        (-1.0 if sign == "-" else 1.0, [_number_or_word(factor) for factor in product.split("*")])
        for sign, product in _TERM.findall(word)
    ]


def _number_or_word(word: str) -> float | str:
    return float(word) if _NUMBER.fullmatch(word) else word
