"""Options made of the dataclasses they set, so that nothing is declared twice."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, make_dataclass
from typing import Annotated, Any, get_type_hints

from cyclopts import Parameter
from docstring_parser import parse_from_object


def options_of(name: str, *kinds: type[Any], base: type[Any] = object) -> type[Any]:
    """A dataclass of options, all None where not given: the documented fields of other ones.

    Args:
        name: of the class made.
        kinds: dataclasses; a field with a text below it becomes an option with that help.
        base: a dataclass with options of its own, which come first.
    """
    own = get_type_hints(base, include_extras=True)
    options = [
        (field.name, own[field.name], field.default)
        for field in (fields(base) if is_dataclass(base) else ())
    ]
    for kind in kinds:
        hints = get_type_hints(kind)
        helps = {text.arg_name: text.description for text in parse_from_object(kind).params}
        options += [
            (
                field.name,
                Annotated[hints[field.name] | None, Parameter(help=helps[field.name])],
                None,
            )
            for field in fields(kind)
            if field.name in helps
        ]
    made = make_dataclass(name, options, bases=(base,), frozen=True)
    made.__module__ = __name__  # cyclopts takes classes of the standard library for values
    return made
