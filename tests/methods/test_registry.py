"""Adding a method is one file, wherever it lies."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import torch
from tests.methods.harness import Rehearsal, make_truth, single_positive

from tagfill import methods
from tagfill.errors import TagfillError
from tagfill.methods.base import Info
from tagfill.trust import trust

HALF = '''"""Assume negative at half weight."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tagfill.losses import weak_negative
from tagfill.methods.base import ElementwiseMethod, Info, Method, Needs

INFO = Info(title="Half", source="this test", needs=Needs(two_views=True))


@dataclass(frozen=True)
class Config:
    """Hyper-parameters.

    Args:
        weight: of an assumed negative,
            at most 1.
        kind: unused.
        limit: unused.
    """

    weight: float = 0.5
    kind: Literal["a", "b"] = "a"
    limit: int | None = None


PRESETS = {"light": Config(weight=0.1)}


def build(config: Config) -> Method:
    """Make the method."""
    return ElementwiseMethod("half", lambda x, z: weak_negative(x, z, gamma=config.weight))
'''


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "half_weight.py"
    path.write_text(HALF)
    trust(str(path))
    return path


@pytest.fixture
def entry_point(tmp_path, monkeypatch):
    """An installed package that declares the method ``half``."""
    (tmp_path / "elsewhere_half.py").write_text(HALF)
    package = tmp_path / "elsewhere-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: elsewhere\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[tagfill.methods]\nhalf = elsewhere_half\n")
    monkeypatch.syspath_prepend(tmp_path)
    methods._declared.cache_clear()
    yield "half"
    monkeypatch.undo()
    methods._declared.cache_clear()


def test_method_from_a_file_trains(file):
    rehearsal = Rehearsal(str(file), single_positive(make_truth()), settings={"weight": 0.3})
    first, *_, last = [sum(rehearsal.epoch()) for _ in range(5)]
    assert last < first


def test_method_from_an_entry_point_trains(entry_point):
    assert entry_point in methods.names()
    assert isinstance(methods.find(entry_point).INFO, Info)
    rehearsal = Rehearsal(entry_point, single_positive(make_truth()))
    first, *_, last = [sum(rehearsal.epoch()) for _ in range(5)]
    assert last < first


def test_own_methods_are_not_replaced_from_outside(tmp_path, monkeypatch, entry_point):
    listing = tmp_path / "elsewhere-1.0.dist-info" / "entry_points.txt"
    listing.write_text("[tagfill.methods]\nan = elsewhere_half\n")
    methods._declared.cache_clear()
    assert methods.find("an").INFO.title.startswith("Assume negative")


def test_needs_come_from_info_unless_the_method_knows_better(file):
    assert methods.make(str(file)).needs.two_views
    assert methods.make("an").needs == methods.find("an").INFO.needs
    assert not methods.make("epr", {"k": 2}).needs.expected_positives


@pytest.mark.parametrize("split", ["INFO", "Config", "build"])
def test_incomplete_file_is_refused(tmp_path, split):
    splits = {"INFO": "INFO = 1\n", "Config": "Config = 1\n", "build": "build = 1\n"}
    path = tmp_path / "incomplete.py"
    path.write_text("".join(line for name, line in splits.items() if name != split))
    with pytest.raises(TagfillError, match=f"must define {split}"):
        methods.find(trust(str(path)))


def test_unknown_names_are_refused(file):
    with pytest.raises(TagfillError, match="unknown method 'rolle' — did you mean role"):
        methods.find("rolle")
    with pytest.raises(TagfillError, match="no such method file"):
        methods.find("nowhere/mine.py")
    with pytest.raises(TagfillError, match="no setting 'gama'") as refusal:
        methods.make("wan", {"gama": 1})
    assert "gamma" in refusal.value.remedy
    with pytest.raises(TagfillError, match="no preset 'best'"):
        methods.make(str(file), preset="best")


def test_preset_then_settings(file):
    assert methods.configure(str(file), preset="light").weight == 0.1
    assert methods.configure(str(file), {"weight": 0.2}, "light").weight == 0.2


@pytest.mark.parametrize(
    ("setting", "value", "expected"),
    [
        ("weight", "0.25", 0.25),
        ("weight", 1, 1.0),
        ("kind", "b", "b"),
        ("limit", "3", 3),
        ("limit", "none", None),
        ("limit", None, None),
    ],
)
def test_settings_take_the_type_of_their_field(file, setting, value, expected):
    config = methods.configure(str(file), {setting: value})
    assert getattr(config, setting) == expected
    assert type(getattr(config, setting)) is type(expected)


@pytest.mark.parametrize(
    ("setting", "value"),
    [("weight", "much"), ("weight", True), ("kind", "c"), ("limit", 2.5), ("limit", "2.5")],
)
def test_settings_of_a_wrong_type_are_refused(file, setting, value):
    with pytest.raises(TagfillError, match=f"{setting} cannot be") as refusal:
        methods.configure(str(file), {setting: value})
    assert refusal.value.remedy.startswith("it takes")


@pytest.mark.parametrize(("text", "value"), [("true", True), ("no", False), (True, True)])
def test_yes_and_no(text, value):
    assert methods.configure("pr", {"per_class": text}).per_class is value
    with pytest.raises(TagfillError, match="per_class cannot be 'perhaps'"):
        methods.configure("pr", {"per_class": "perhaps"})


def test_aliases_say_so_and_do_the_same():
    for alias, original in (("ls", "an_ls"), ("n_ls", "an_ls_asymmetric")):
        assert methods.find(alias).INFO.alias_of == original
        observed = single_positive(make_truth())
        rows = torch.arange(8)
        one, other = Rehearsal(alias, observed), Rehearsal(original, observed)
        assert one.losses(rows) == other.losses(rows)
    assert methods.configure("n_ls").eps_p == 0


TABLES = {"train/protocols.py", "tune/space.py", "analyze/gradients.py", "demo.py", "cli/tune.py"}
"""Papers' protocols, grids and figures, and the demo: docs/architecture.md lists them."""
OTHER_MEANINGS = {
    ("losses/__init__.py", "focal"),
    ("losses/__init__.py", "hill"),
    ("explain/draw.py", "ls"),  # where a text is anchored
    ("labels/formats/mlspl.py", "iu"),  # kinds of numpy numbers
}


def test_only_methods_and_tables_of_papers_name_methods() -> None:
    source = Path(methods.__file__).parents[1]
    named = {
        (file.relative_to(source).as_posix(), node.value)
        for file in source.rglob("*.py")
        if file.parent.name != "methods"
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in methods.own_names()
    }
    assert {place for place in named if place[0] not in TABLES} == OTHER_MEANINGS
