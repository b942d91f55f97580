"""Dataclasses from documents: what fits is taken, what does not is named with its place."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

import pytest

from tagfill.cli.labels import read_classes
from tagfill.errors import TagfillError
from tagfill.labels.cleanup import read_aliases
from tagfill.models.heads import configure_head
from tagfill.settings import MOST_TOML, build, fitted, fitted_fields, load_toml, misfit, plain

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
    with pytest.raises(TagfillError, match=r"bad\.toml: (not valid TOML|is not text in UTF-8)"):
        load_toml(file)


@pytest.mark.timeout(20)
def test_a_file_that_never_ends_or_takes_forever_is_refused(tmp_path: Path) -> None:
    pipe, endless, huge, deep = (tmp_path / name for name in ("pipe", "endless", "huge", "deep"))
    os.mkfifo(pipe)
    endless.symlink_to("/dev/zero")
    huge.touch()
    os.truncate(huge, MOST_TOML + 1)
    deep.write_text(f"[{'a.' * 100_000}a]")
    for file, fault in (
        (pipe, "is not a regular file"),
        (endless, "is not a regular file"),
        (huge, "16,000,001 bytes"),
        (deep, "nested too deeply"),
    ):
        for read in (load_toml, read_aliases):
            with pytest.raises(TagfillError, match=f"{file.name}: .*{fault}"):
                read(file)
    with pytest.raises(TagfillError, match="is not a regular file"):
        read_classes(pipe)


def test_a_byte_order_mark_is_not_part_of_the_settings(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text("seed = 1\r\n", encoding="utf-8-sig")
    assert load_toml(file) == {"seed": 1}


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


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"name": "a", "score": None}, None),
        ({"name": "a", "score": 2**63}, "score"),
        ({"name": "a", "score": float("inf")}, "score"),
        ({"name": "a", "score": True}, "score"),
        ([], "the whole"),
    ],
)
def test_the_first_entry_of_another_type_is_named(value: Any, path: str | None) -> None:
    assert misfit(Record, value) == path


def test_entries_inside_of_lists_and_tables_are_named() -> None:
    assert misfit(dict[str, list[int]], {"a": [1, 2]}) is None
    assert misfit(dict[str, list[int]], {"a": [1, "2"]}, "counts") == "counts.a.1"
    assert misfit(list[int], {}) == "the whole"


@pytest.mark.parametrize(
    ("hint", "value", "expected"),
    [
        (int, "3", 3),
        (float, "1e-3", 1e-3),
        (float, 2, 2.0),
        (bool, "yes", True),
        (bool, "off", False),
        (int | None, "none", None),
        (str, Path("a/b"), "a/b"),
        (Literal["a", "b"], "b", "b"),
        (float | Literal["auto"], "auto", "auto"),
    ],
)
def test_text_of_a_command_line_is_converted(hint: Any, value: Any, expected: Any) -> None:
    converted = fitted(hint, value, "setting")
    assert converted == expected
    assert type(converted) is type(expected)


@pytest.mark.parametrize(
    ("hint", "value", "remedy"),
    [
        (int, "1.5", "it takes a whole number"),
        (int, 1.5, "it takes a whole number"),
        (int, True, "it takes a whole number"),
        (float, "much", "it takes a number"),
        (bool, "maybe", "it takes true or false"),
        (str, 3, "it takes text"),
        (Literal["a", "b"], "c", 'it takes "a" or "b"'),
        (float | Literal["auto"], "car", 'it takes a number or "auto"'),
        (int | None, "nothing", "it takes a whole number"),
    ],
)
def test_what_cannot_be_converted_is_refused(hint: Any, value: Any, remedy: str) -> None:
    with pytest.raises(TagfillError) as raised:
        fitted(hint, value, "setting")
    assert str(raised.value) == f"setting cannot be {value!r} — {remedy}"


def test_only_fields_of_the_dataclass_are_taken() -> None:
    assert fitted_fields(Inner, {"weight": "2", "other": 1}) == {"weight": 2.0}
