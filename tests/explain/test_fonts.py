"""Names in any script: fonts that have their letters, and a note where none has."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.explain.font import installed, write_font

from tagfill.explain.draw import INK, Seen, sheet
from tagfill.explain.fonts import boxes_note, fallbacks, font_file, undrawable


@pytest.fixture
def font(tmp_path: Path) -> Iterator[Path]:
    file = write_font(tmp_path / "cjk.ttf", "Noto Sans CJK JP", "猫犬")
    (tmp_path / "broken.ttf").write_bytes(b"no font")
    other = write_font(tmp_path / "other.ttf", "Some Other Sans", "鳥")
    with installed(file, other, tmp_path / "broken.ttf"):
        yield file


@pytest.fixture
def no_fonts() -> Iterator[None]:
    with installed():
        yield


def test_a_font_installed_just_now_is_used(font: Path) -> None:
    assert fallbacks() == ("Noto Sans CJK JP",)
    assert font_file("猫") == str(font)
    assert "DejaVuSans" in font_file("a")
    assert "DejaVuSans" in font_file("ж")
    assert undrawable(["猫 and 犬.jpg", "鳥", "ж\n"]) == {"鳥"}


def test_one_note_names_what_cannot_be_drawn(no_fonts: None) -> None:
    assert fallbacks() == ()
    assert boxes_note(undrawable(["plain", "кошка", "naïve"])) == []
    (note,) = boxes_note(undrawable(["猫", "犬", "猫犬"]))
    assert note.startswith("no installed font has 犬 猫: drawn as boxes; install a font")
    (note,) = boxes_note("abcdefghijkl")
    assert "a b c d e f g h i j and 2 more:" in note


def inked(name: str) -> int:
    """Dark pixels of the caption of a white picture."""
    heat = np.zeros((2, 2), dtype=np.float32)
    page = sheet([("", Image.new("RGB", (224, 50), "white"), [Seen(name, 0.0, heat)])])
    return int((np.asarray(page) == INK).all(axis=2).sum())


def test_the_sheet_writes_other_scripts(font: Path) -> None:
    assert inked("猫") >= 11 * 12
    assert inked("猫犬") == pytest.approx(2 * inked("猫"), rel=0.1)
    assert inked("a猫") > inked("猫")
    assert inked("кошка") > 0
    assert inked("猫" * 100) <= 224 * 14


def test_the_sheet_goes_on_without_a_font(no_fonts: None) -> None:
    assert 0 < inked("猫") < 11 * 12
