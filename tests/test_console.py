"""Foreign words on the screen and in files: nothing acts, nothing is lost."""

from __future__ import annotations

import io
import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagfill.cli.output import show_table
from tagfill.console import PlainConsole, json_text, printable, quote_name, unquote_name


def shown(*things: object) -> str:
    screen = io.StringIO()
    PlainConsole(file=screen, width=100, force_terminal=False).print(*things)
    return screen.getvalue()


@pytest.mark.parametrize(
    "name", ["[misc]", "[/red]x", "[bold]", "[link=http://x]y[/link]", ":cat:"]
)
def test_names_that_look_like_markup_are_shown(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert name in shown(name)
    show_table(name, ["class", name], [[name, 0.5]])
    assert capsys.readouterr().out.count(name) == 3


def test_escape_sequences_do_not_reach_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    evil = "\x1b[2Jcat\x07\r\x9b31m\u202edog"
    show_table(evil, ["class"], [[evil]])
    for text in (shown(evil), capsys.readouterr().out):
        assert not set("\x1b\x07\r\x9b\u202e") & set(text)
        assert "\\x1b[2Jcat" in text
    assert printable("a\tb\nc") == "a\tb\nc"


@given(st.binary(max_size=12))
def test_any_file_name_is_text_and_found_again(name: bytes) -> None:
    text = quote_name(os.fsdecode(name))
    assert os.fsencode(unquote_name(text.encode("utf-8").decode("utf-8"))) == name


def test_ordinary_names_stay_as_they_are() -> None:
    for name in ("a.jpg", "Über uns/straße 'x'.png", "back\\slash.jpg", "猫.webp"):
        assert quote_name(name) == name
    assert quote_name("$'odd'") != "$'odd'"
    assert quote_name(os.fsdecode(b"caf\xe9.jpg")) == "$'caf\\xe9.jpg'"


def test_json_with_a_lone_surrogate_can_be_written() -> None:
    value = {"image": os.fsdecode(b"\xff"), "tag": "é"}
    assert json.loads(json_text(value).encode("utf-8")) == value
    assert "é" in json_text({"tag": "é"})


def test_json_on_a_terminal_steers_nothing() -> None:
    value = {"tag": "\x1b[2J\x9b31m\u202edog\ud800", "plain": "ü"}
    text = json_text(value, indent=2)
    assert json.loads(text) == value
    assert not set("\x1b\x9b\u202e\ud800") & set(text)
    assert "ü" in text
