"""Spellings of one tag: found, listed, merged on request and remembered."""

from __future__ import annotations

import dataclasses
import json
import tomllib
from pathlib import Path

import numpy as np
import pytest
import tomli_w

from tagfill.cli.main import main
from tagfill.errors import TagfillError
from tagfill.labels import LabelTable
from tagfill.labels.cleanup import find_variants, read_aliases, synonyms, write_aliases
from tagfill.labels.formats import ReadOptions
from tagfill.labels.io import load_labels

TAGS = ["cat"] * 40 + ["CAT"] * 12 + ["Cat"] * 3 + ["dog"] * 30 + ["dogs"] * 5 + ["bicycle"] * 20
TAGS += ["bycicle"] * 2 + ["polar bear"] * 9 + ["polar-bear"] + ["bear"] * 4 + ["plane", "plan"]
TAGS += ["class1"] * 9 + ["class2"]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    rows = [f"{number}.jpg,{tag}\n" for number, tag in enumerate(TAGS)]
    file = tmp_path / "tags.csv"
    file.write_text("image,tags\n" + "".join(rows))
    return file


def table(*names: str) -> LabelTable:
    classes = tuple(dict.fromkeys(names))
    values = np.array([[1 if name == tag else -1 for name in classes] for tag in names])
    return LabelTable(tuple(f"{n}.jpg" for n in range(len(names))), classes, values)


def test_variants_of_every_kind(path: Path) -> None:
    groups = find_variants(table(*TAGS))
    assert {(group.kind, group.name, group.others) for group in groups} == {
        ("case", "cat", ("CAT", "Cat")),
        ("plural", "dog", ("dogs",)),
        ("typo", "bicycle", ("bycicle",)),
        ("spelling", "polar bear", ("polar-bear",)),
    }
    assert groups[0].positives == (40, 12, 3)


def test_tags_on_one_photo_are_no_typos_of_each_other() -> None:
    together = LabelTable(
        tuple("abcdefgh"),
        ("carrot", "parrot"),
        np.array([[1, 1]] + [[1, -1]] * 7),
    )
    assert find_variants(together) == []


def test_case_is_merged_where_people_typed_the_tags(path: Path) -> None:
    dataset = load_labels(path)
    assert not {"CAT", "Cat"} & set(dataset.table.classes)
    column = dataset.table.values[:, dataset.table.classes.index("cat")]
    assert (column == 1).sum() == 55
    notes = " / ".join(dataset.notes)
    assert "2 tags differ from others only in case" in notes
    assert "--no-merge-case" in notes
    assert "'dogs' (5) like 'dog' (30) (plural)" in notes
    assert "would leave 9 of 12 classes" in notes
    apart = load_labels(path, options=ReadOptions(merge_case=False))
    assert {"CAT", "Cat"} < set(apart.table.classes)


def test_case_is_kept_where_classes_are_columns(tmp_path: Path) -> None:
    file = tmp_path / "wide.csv"
    file.write_text("image,cat,CAT\na.jpg,1,0\nb.jpg,,1\n")
    assert load_labels(file).table.classes == ("cat", "CAT")
    merged = load_labels(file, options=ReadOptions(merge_case=True)).table
    assert merged.classes == ("cat",)
    assert merged.values.tolist() == [[1], [1]]


def test_aliases_are_proposed_written_and_read(path: Path, tmp_path: Path) -> None:
    aliases = tmp_path / "aliases.toml"
    assert main(["inspect", str(path), "--propose-aliases", str(aliases)]) == 0
    assert dict(read_aliases(aliases)) == {
        "dogs": "dog",
        "bycicle": "bicycle",
        "polar-bear": "polar bear",
    }
    options = ReadOptions(aliases=read_aliases(aliases))
    classes = load_labels(path, options=options).table.classes
    assert set(classes) == {
        *("cat", "dog", "bicycle", "polar bear", "bear", "plane", "plan", "class1", "class2")
    }


def test_aliases_and_a_class_list(path: Path) -> None:
    listed = ("cat", "dog", "bicycle", "polar bear", "bear", "plane", "plan", "class1", "class2")
    aliases = (("CAT", "cat"), ("Cat", "CAT"), ("dogs", "dog"), ("bycicle", "bicycle"))
    aliases += (("polar-bear", "polar bear"),)
    dataset = load_labels(path, options=ReadOptions(classes=listed, aliases=aliases))
    assert dataset.table.classes == listed


def test_a_file_of_any_names_survives(tmp_path: Path) -> None:
    names = [
        'say "x"',
        'SAY "X"',
        "a = b",
        "A = B",
        "[x]",
        "[X]",
        "ümläut",
        "Ümläut",
        "a\nb",
        "A\nB",
    ]
    groups = find_variants(table(*names))
    write_aliases(groups, tmp_path / "aliases.toml")
    read = dict(read_aliases(tmp_path / "aliases.toml"))
    assert read == {other: group.name for group in groups for other in group.others}
    assert len(read) == 5


@pytest.mark.parametrize(
    "text", ["a = 1", "a = ['b']", "a = ", "'a' = 'b'\n'b' = 'a'", "'a' = ' '"]
)
def test_bad_alias_files_are_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "aliases.toml"
    file.write_text(text)
    with pytest.raises(TagfillError):
        read_aliases(file)


def test_json_lists_variants(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(path), "--no-merge-case", "--json"]) == 0
    variants = json.loads(capsys.readouterr().out)["variants"]
    assert variants[0] == {
        "kind": "case",
        "name": "cat",
        "others": ["CAT", "Cat"],
        "positives": [40, 12, 3],
    }


def test_the_run_remembers_aliases(path: Path, tmp_path: Path) -> None:
    from tagfill.settings import build, plain
    from tagfill.train.config import DataConfig
    from tagfill.train.data import read_options

    config = DataConfig(labels=str(path), merge_case=False, aliases=(("dogs", "dog"),))
    saved = tomli_w.dumps(plain(dataclasses.asdict(config)))
    again = build(DataConfig, tomllib.loads(saved), tmp_path, "data")
    classes = load_labels(path, options=read_options(again)).table.classes
    assert "dogs" not in classes
    assert "CAT" in classes


def test_words_for_one_thing_are_proposed() -> None:
    classes = ("sofa", "Couch", "bicycle", "Fahrrad", "boat", "ship", "Kühlschrank", "fridge")
    values = np.full((8, 8), -1)
    np.fill_diagonal(values, 1)
    values[7, 0] = 1
    table = LabelTable(tuple(f"{n}.jpg" for n in range(8)), classes, values)
    pairs = {frozenset((group.name, *group.others)) for group in find_variants(table)}
    assert pairs == {
        frozenset(("sofa", "Couch")),
        frozenset(("bicycle", "Fahrrad")),
        frozenset(("Kühlschrank", "fridge")),
    }
    assert {group.kind for group in find_variants(table)} == {"synonym"}


def test_no_word_stands_in_two_groups_of_synonyms() -> None:
    words = [word for group in synonyms() for word in group]
    assert len(words) == len(set(words))
