"""The examples of docs/formats.md are read as the format they stand under."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tagfill.labels.formats import formats
from tagfill.labels.io import load_labels

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "formats.md"
SECTION = re.compile(r"^### (\w+)\n(.*?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
EXAMPLE = re.compile(r"^```(?:csv|json)\n(.*?)^```", re.MULTILINE | re.DOTALL)
SECTIONS = dict(SECTION.findall(DOCUMENT.read_text()))
EXAMPLES = [(name, text) for name, section in SECTIONS.items() for text in EXAMPLE.findall(section)]


@pytest.mark.parametrize(("name", "text"), EXAMPLES)
def test_example(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / "labels").write_text(text)
    dataset = load_labels(tmp_path / "labels")
    assert dataset.format == name
    assert dataset.table.positives > 0


def test_every_format_has_a_section_and_a_row() -> None:
    assert set(SECTIONS) == set(formats())
    assert all(f"\n| `{name}` |" in DOCUMENT.read_text() for name in formats())
