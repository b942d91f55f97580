from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from tagfill import methods
from tagfill.methods._describe import describe, documented_arguments
from tagfill.methods._docs import pages
from tagfill.methods.base import Needs

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("file", ["methods.md", "losses.md"])
def test_docs_are_current(file):
    current = (DOCS / file).read_text(encoding="utf-8")
    assert current == pages()[file], "run `python -m tagfill.methods._docs`"


@pytest.mark.parametrize("name", methods.names())
def test_every_hyper_parameter_is_documented(name):
    for setting in describe(name).settings:
        assert setting.doc, f"{setting.name} is missing in the Args of {name}'s Config"


@pytest.mark.parametrize("name", methods.names())
def test_every_method_shows_formula_and_paper(name):
    described = describe(name)
    assert described.alias_of or "\n    " in described.text, "a formula, indented"
    paper = r"\b(19|20)\d\d\b|arXiv|docs/\w+\.md"
    assert re.search(paper, described.source), "a paper with its year, or a page that derives it"


def test_every_need_is_documented():
    words = documented_arguments(Needs.__doc__)
    assert set(words) == {field.name for field in dataclasses.fields(Needs)}


def test_arguments_are_read_over_several_lines_and_names():
    text = """Title.

    Args:
        first, second: two
            lines: one entry.
        third: last.

    Returns:
        other: not an argument.
    """
    assert documented_arguments(text) == {
        "first": "two lines: one entry.",
        "second": "two lines: one entry.",
        "third": "last.",
    }


def test_presets_are_shown_by_what_they_change():
    role, epr = describe("role").presets, describe("epr").presets
    assert role["published"] == {"per_class": True}
    assert epr["published"] == {"weight": 1.0, "per_class": True}
    assert [role[data]["k"] for data in ("voc", "coco", "nus", "cub")] == [1.5, 2.9, 1.9, 31.4]
    assert [epr[data]["k"] for data in ("voc", "coco", "nus", "cub")] == [1.5, 2.9, 1.9, 31.4]
    assert describe("an_ls").presets == {"published": {"eps": 0.2}}


def test_role_tells_formula_equations_defaults_and_differences():
    role = describe("role")
    assert "Eq. 11" in role.text
    assert "stop-gradient" in role.text
    assert "Published code:" in role.text
    defaults = {setting.name: setting.default for setting in role.settings}
    assert defaults["k"] == "auto"
    assert defaults["estimator"] == "dense"
    assert list(role.needs) == ["state", "expected_positives"]
