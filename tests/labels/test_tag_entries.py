"""Tags as people write them: with bullets, quotes, doubts and scores, in any encoding."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.labels.reading import ROWS, known, read

from tagfill.errors import TagfillError
from tagfill.labels.io import load_labels


@pytest.mark.parametrize("form", ["- {}", "• {}", "* {}"])
def test_lists_with_bullets(form: str, tmp_path: Path) -> None:
    rows = [f'{n}.jpg,"' + "\n".join(map(form.format, tags)) + '"' for n, tags in ROWS]
    dataset = read(tmp_path, ["image,tags", *rows])
    assert set(dataset.table.classes) == {"cat", "dog", "polar bear"}


@pytest.mark.parametrize(
    "entry",
    [
        lambda tags: "; ".join(f"{n}. {tag}" for n, tag in enumerate(tags, 1)),
        lambda tags: f"({', '.join(tags)})",
        lambda tags: ", ".join(tag.replace(" ", "\u00a0") for tag in tags),
        lambda tags: "".join(f"{tag}،" for tag in tags),
        lambda tags: ", ".join(tags) + ", n/a",
        lambda tags: ", ".join(tags).replace("cat", "c&#97;t"),
    ],
)
def test_entries_as_people_write_them(entry: Any, tmp_path: Path) -> None:
    dataset = read(tmp_path, ["image,tags", *(f'{n}.jpg,"{entry(tags)}"' for n, tags in ROWS)])
    assert set(dataset.table.classes) == {"cat", "dog", "polar bear"}
    assert known(dataset)["2.jpg"] == {"polar bear": 1, "dog": 1}


@pytest.mark.parametrize("form", ["“{}”", "«{}»", "<{}>", "„{}“"])
def test_tags_in_other_quotes(form: str, tmp_path: Path) -> None:
    rows = [f'{n}.jpg,"' + ", ".join(map(form.format, tags)) + '"' for n, tags in ROWS]
    dataset = read(tmp_path, ["image,tags", *rows])
    assert set(dataset.table.classes) == {"cat", "dog", "polar bear"}


def test_doubts_are_unknown(tmp_path: Path) -> None:
    dataset = read(tmp_path, ["image,tags", "a.jpg,cat; dog?", "b.jpg,dog", "c.jpg,what now?"])
    assert known(dataset)["a.jpg"] == {"cat": 1}
    assert set(dataset.table.classes) == {"cat", "dog", "what now?"}
    assert any("'dog?', were left unknown" in note for note in dataset.notes)


def test_words_for_nothing_are_tags_where_a_class_list_has_them(tmp_path: Path) -> None:
    dataset = read(tmp_path, "image,tags\n,cat;none\na.jpg,none\nb.jpg,cat\n")
    assert known(dataset) == {"a.jpg": {"none": 1}, "b.jpg": {"cat": 1}}


def test_a_no_written_as_a_tag_is_remarked_on_and_never_taken_for_a_typo(tmp_path: Path) -> None:
    lines = [f"{n}.jpg,horses" for n in range(20)] + ["x.jpg,-horses", "y.jpg,cats"]
    dataset = read(tmp_path, ["image,tags", *lines])
    assert any("looks like a negation" in note for note in dataset.notes)
    assert not any("like others" in note for note in dataset.notes)


@pytest.mark.parametrize("form", ["{} (0.93)", "{} 93%", "{}: 93 %", "({}:1.2)", "{}=.5"])
def test_tags_with_scores_are_refused(form: str, tmp_path: Path) -> None:
    rows = [f'{n}.jpg,"' + ", ".join(map(form.format, tags)) + '"' for n, tags in ROWS]
    with pytest.raises(TagfillError, match="followed by values"):
        read(tmp_path, ["image,tags", *rows])


def test_numbers_of_classes_with_scores_are_refused(tmp_path: Path) -> None:
    rows = [f"https://x.org/{n}.jpg\t5193:0.9\t9413:1" for n in range(9)]
    with pytest.raises(TagfillError, match="followed by values"):
        read(tmp_path, rows, "l.txt")


def test_invisible_characters_make_no_class(tmp_path: Path) -> None:
    dataset = read(tmp_path, "image,tags\na.jpg,cat\u200b\nb.jpg,\ufeffcat\u00a0\n")
    assert dataset.table.classes == ("cat",)


def test_garbled_tags_are_remarked_on(tmp_path: Path) -> None:
    notes = read(tmp_path, ["image,tags", "a.jpg,KÃ¤fer", "b.jpg,Hund"]).notes
    assert any("'KÃ¤fer' for 'Käfer'" in note for note in notes)


@pytest.mark.parametrize("encoding", ["cp1252", "mac_roman", "cp850"])
def test_western_encodings_are_told_apart(encoding: str, tmp_path: Path) -> None:
    text = "Bild;Schlagwörter\na.jpg;Bäume, Käfer\nb.jpg;Grüße, Möwe\n"
    (tmp_path / "l.csv").write_bytes(text.encode(encoding))
    assert load_labels(tmp_path / "l.csv").table.classes == ("Bäume", "Käfer", "Grüße", "Möwe")


def test_other_alphabets_are_told_from_accents(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_bytes("файл,метки\na.jpg,кошка;собака\nb.jpg,собака\n".encode("cp1251"))
    assert set(load_labels(path).table.classes) == {"кошка", "собака"}
