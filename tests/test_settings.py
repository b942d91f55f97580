"""Dataclasses from documents: what fits is taken, what does not is named with its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

import pytest

from tagfill.errors import TagfillError
from tagfill.models.heads import configure_head
from tagfill.settings import build, load_toml, misfit, plain

FILE = Path("settings.toml")


@dataclass(frozen=True)
class Inner:
    name: str
    weight: float = 1.0

    def __post_init__(self) -> None:
        if self.weight < 0:
            raise TagfillError("weight must be at least 0")


@dataclass(frozen=True)
class Outer:
    inner: Inner
    many: tuple[Inner, ...] = ()
    kind: Literal["a", "b"] = "a"
    limit: int | None = None
    named: Mapping[str, float] = field(default_factory=dict)
    free: dict[str, Any] = field(default_factory=dict)


def test_tables_become_the_dataclasses_of_their_fields() -> None:
    document = {
        "inner": {"name": "x", "weight": 2},
        "many": [{"name": "y"}, {"name": "z"}],
        "limit": 3,
        "named": {"one": 1, "half": 0.5},
        "free": {"anything": ["goes"]},
    }
    built = build(Outer, document, FILE)
    assert built == Outer(
        Inner("x", 2.0),
        (Inner("y"), Inner("z")),
        limit=3,
        named={"one": 1, "half": 0.5},
        free={"anything": ["goes"]},
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"knid": "a"}, "unknown key knid"),
        ({"inner": {"name": "x", "wieght": 1}}, "unknown key inner.wieght"),
        ({"inner": {}}, "the key inner.name is missing"),
        ({"inner": {"name": 3}}, "inner.name = 3 does not fit"),
        ({"inner": {"name": "x", "weight": True}}, "inner.weight = True does not fit"),
        ({"inner": {"name": "x", "weight": -1}}, "inner: weight must be at least 0"),
        ({"inner": "x"}, "inner = 'x' does not fit"),
        ({"kind": "c"}, "kind = 'c' does not fit"),
        ({"limit": 1.5}, "limit = 1.5 does not fit"),
        ({"named": {"one": "1"}}, "named.one = '1' does not fit"),
    ],
)
def test_what_does_not_fit_is_named_with_its_place(change: dict[str, Any], message: str) -> None:
    with pytest.raises(TagfillError) as raised:
        build(Outer, {"inner": {"name": "x"}, **change}, FILE)
    assert str(FILE) in str(raised.value)
    assert message in str(raised.value)


def test_what_toml_cannot_hold_is_left_out() -> None:
    assert plain({"a": None, "b": (1, (2, None)), "c": {"d": None}}) == {
        "b": [1, [2, None]],
        "c": {},
    }


@pytest.mark.parametrize("content", [b"a = ", b"a = '\xff'"])
def test_a_file_that_is_not_toml_is_named(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "bad.toml"
    file.write_bytes(content)
    with pytest.raises(TagfillError, match=r"bad\.toml: not valid TOML"):
        load_toml(file)


def test_settings_of_heads_are_converted_or_refused() -> None:
    assert configure_head("linear", {"power": "0.5"}) == configure_head("linear", {"power": 0.5})
    with pytest.raises(TagfillError, match="power cannot be 'abc' — it takes a number"):
        configure_head("linear", {"power": "abc"})


class Record(TypedDict):
    """A record with a key that may be absent."""

    name: str
    score: NotRequired[float | None]


def test_a_key_that_is_not_required_may_be_absent():
    assert misfit(Record, {"name": "a"}) is None
    assert misfit(Record, {"name": "a", "score": "high"}) == "score"
    assert misfit(Record, {"score": 1.0}) == "name"
