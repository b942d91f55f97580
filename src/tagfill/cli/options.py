"""Options derived from dataclasses, so that nothing is declared twice."""

from __future__ import annotations

from dataclasses import fields, make_dataclass
from typing import Annotated, Any, get_origin, get_type_hints

from cyclopts import Parameter
from docstring_parser import parse_from_object

from tagfill.compat import optional

Flag = Annotated[bool, Parameter(negative=(), show_default=False)]
Force = Annotated[Flag, Parameter(help="Overwrite existing files.")]
Json = Annotated[Flag, Parameter(help="Print one JSON object.")]
Quiet = Annotated[Flag, Parameter(help="Show no progress.")]
Names = Annotated[list[str] | None, Parameter(consume_multiple=True, negative=())]


def require_serve() -> None:
    """Refuse to go on without the packages of the web app."""
    web = ("fastapi", "uvicorn", "python_multipart", "prometheus_client")
    for module in (*web, "sqlalchemy", "alembic"):
        optional(module, "serve")


def given(options: Any) -> dict[str, Any]:
    """The options of a dataclass that are not None."""
    if options is None:
        return {}
    named = {field.name: getattr(options, field.name) for field in fields(options)}
    return {name: value for name, value in named.items() if value is not None}


def options_of(name: str, *kinds: type[Any]) -> Any:
    """A group of options, None by default: the documented fields of other dataclasses.

    Args:
        name: of the group.
        kinds: dataclasses. A field with a text below it becomes an option with that help; a
            ``Parameter`` that it is annotated with says the rest.
    """
    options = []
    for kind in kinds:
        hints = get_type_hints(kind, include_extras=True)
        helps = {text.arg_name: text.description for text in parse_from_object(kind).params}
        for field in fields(kind):
            if field.name in helps:
                hint, shown = hints[field.name], Parameter(help=helps[field.name])
                hint = hint if get_origin(hint) is Annotated else hint | None
                options.append((field.name, Annotated[hint, shown], None))
    made = make_dataclass(f"{name}Options", options, frozen=True)
    made.__module__ = __name__  # cyclopts takes classes of the standard library for values
    return Annotated[made | None, Parameter(name="*", group=name)]
