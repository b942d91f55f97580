"""What stands between the tags of one entry: blanks, commas, other marks; and paths of tags."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.labels.reading import known, make_images, read, written

from tagfill.errors import TagfillError
from tagfill.labels.edit import save_changes
from tagfill.labels.formats import ReadOptions
from tagfill.labels.formats._splitter import blanks_separate
from tagfill.labels.io import load_labels

PLANET = ("haze", "primary", "agriculture", "clear", "water", "road", "blow_down", "cloudy")


def sets(words: Sequence[str], count: int, most: int = 4) -> list[list[str]]:
    draw = random.Random(7)
    return [draw.sample(words, 1 + number % most) for number in range(count)]


@pytest.mark.parametrize("words", [PLANET, ("sunset", "beach", "nikon", "sea", "sand", "sky")])
def test_tags_with_blanks_between_them(words: Sequence[str], tmp_path: Path) -> None:
    drawn = sets(words, 60)
    rows = [f"train_{n},{' '.join(tags)}" for n, tags in enumerate(drawn)]
    dataset = read(tmp_path, ["image_name,tags", *rows])
    assert set(dataset.table.classes) == set(words)
    assert set(known(dataset)["train_7"]) == set(drawn[7])
    assert any("separated by blanks" in note for note in dataset.notes)
    whole = load_labels(tmp_path / "l.csv", options=ReadOptions(separator=";"))
    assert "separated by blanks" not in str(whole.notes)
    assert len(whole.table.classes) > len(words)


@pytest.mark.parametrize(
    "names",
    [
        ["polar bear", "black bear", "brown bear", "black bird", "sea bird", "sea lion", "lion"],
        [f"{a} {b}" for a in ("Ann", "Bob", "Eve", "Tom") for b in ("Lee", "Kim", "Roy", "Fox")],
        [f"{a} {b}" for a in ("red", "blue", "green") for b in ("shirt", "dress", "shirt dress")],
        ["a dog on a beach", "a cat on a mat", "two dogs on a beach", "a cat in the sun", "a dog"],
        ["Vulpes vulpes", "Parus major", "Parus ater", "Turdus merula", "Sus scrofa"],
    ],
)
def test_tags_of_several_words_stay_whole(names: list[str]) -> None:
    assert not blanks_separate(names * 5)


def test_blanks_in_files_of_tags_and_in_json(tmp_path: Path) -> None:
    drawn = sets(PLANET, 24)
    for number, tags in enumerate(drawn):
        make_images(tmp_path / "txt", f"{number}.jpg")
        (tmp_path / "txt" / f"{number}.txt").write_text(" ".join(tags))
        make_images(tmp_path / "json", f"{number}.jpg")
        line = {"id": number, "tag_string": " ".join(tags), "rating": "g"}
        (tmp_path / "json" / f"{number}.jpg.json").write_text(json.dumps(line))
    lines = [{"file": f"{n}.jpg", "tags": " ".join(tags)} for n, tags in enumerate(drawn)]
    (tmp_path / "l.json").write_text(json.dumps(lines))
    for source in ("txt", "json", "l.json"):
        dataset = load_labels(tmp_path / source)
        assert set(dataset.table.classes) == set(PLANET)
        assert set(known(dataset)["7.jpg"]) == set(drawn[7])


def test_answers_keep_the_blanks(tmp_path: Path) -> None:
    rows = [f"{n}.jpg,{' '.join(tags)}" for n, tags in enumerate(sets(PLANET, 60))]
    dataset = read(tmp_path, ["image,tags", *rows])
    before = known(dataset)["2.jpg"]
    gone, added = next(iter(before)), next(name for name in PLANET if name not in before)
    values = dataset.table.values.copy()
    values[2, dataset.table.classes.index(gone)] = 0
    values[2, dataset.table.classes.index(added)] = 1
    save_changes(dataset, dataset.table.with_values(values), tmp_path / "o.csv", ReadOptions())
    kept = [name for name in rows[2].split(",")[1].split() if name != gone]
    assert (tmp_path / "o.csv").read_text().splitlines()[3] == f"2.jpg,{' '.join([*kept, added])}"
    again = load_labels(tmp_path / "o.csv")
    assert known(again)["2.jpg"] == {**dict.fromkeys([*kept, added], 1), gone: 0}


def test_a_given_separator_holds_for_answers(tmp_path: Path) -> None:
    path, options = tmp_path / "l.csv", ReadOptions(separator=";")
    path.write_text('image,tags\na.jpg,"Paris, France;tower;sea"\nb.jpg,tower;sea\n')
    dataset = load_labels(path, options=options)
    values = dataset.table.values.copy()
    values[0, dataset.table.classes.index("tower")] = 0
    save_changes(dataset, dataset.table.with_values(values), tmp_path / "o.csv", options)
    again = load_labels(tmp_path / "o.csv", options=options)
    assert known(again)["a.jpg"] == {"Paris, France": 1, "sea": 1, "tower": 0}


def test_numbers_with_blanks_are_several_classes(tmp_path: Path) -> None:
    dataset = read(tmp_path, "Id,Target\nx1,16 0\nx2,7 1 2 0\nx3,5\nx4,1\n")
    assert known(dataset)["x1"] == {"16": 1, "0": 1}


@pytest.mark.parametrize(
    "mark", ["+", " & ", "~", "/", " - ", " und ", ", and ", "•", " > ", "::", "\t", ". "]
)
def test_other_marks_separate_if_the_parts_recur(mark: str, tmp_path: Path) -> None:
    words = ("sunset", "beach", "nikon", "sea", "sand", "sky")
    drawn = sets(words, 40)
    rows = [f'{n}.jpg,"{mark.join(tags)}"' for n, tags in enumerate(drawn)]
    dataset = read(tmp_path, ["image,tags", *rows])
    assert set(dataset.table.classes) == set(words)
    assert set(known(dataset)["7.jpg"]) == set(drawn[7])
    before = dict(known(dataset)["7.jpg"])
    values = dataset.table.values.copy()
    added = next(name for name in words if name not in before)
    values[7, dataset.table.classes.index(added)] = 1
    values[7, dataset.table.classes.index(drawn[7][0])] = 0
    save_changes(dataset, dataset.table.with_values(values), tmp_path / "o.csv", ReadOptions())
    again = known(load_labels(tmp_path / "o.csv"))["7.jpg"]
    assert again == {**before, added: 1, drawn[7][0]: 0}


def test_tags_that_recur_in_other_entries_are_taken_apart(tmp_path: Path) -> None:
    pairs = [
        "cat dog",
        "dog sea",
        "sea cat",
        "cat tree",
        "tree dog",
        "tree sea",
        "sea dog",
        "dog cat",
    ]
    lines = [f"{n}.jpg,{pair.replace(' ', '/')}" for n, pair in enumerate(pairs)]
    dataset = read(tmp_path, ["image,tags", *lines])
    assert set(dataset.table.classes) == {"cat", "dog", "sea", "tree"}


@pytest.mark.parametrize(
    "names",
    [
        ["black & white", "rock & roll", "salt & pepper", "cat", "dog", "bread & butter"],
        ["Crossbreed/Mixed", "Pointer/Setter", "Collie/Shepherd", "cat", "dog"],
        ["and/or", "TCP/IP", "input/output", "km/h", "C++", "LGBTQ+", "18+"],
        ["Jean-Luc", "St. Moritz", "Dr. No", "e.g.", "5:1", "a.b"],
    ],
)
def test_marks_in_names_separate_nothing(names: list[str], tmp_path: Path) -> None:
    rows = [f"{n}.jpg,{names[n % len(names)]}" for n in range(24)]
    assert set(read(tmp_path, ["image,tags", *rows]).table.classes) == set(names)


def test_tags_that_may_be_one_or_several_are_refused(tmp_path: Path) -> None:
    rows = ["a.jpg,dog/beach", "b.jpg,cat/sofa", "c.jpg,horse/tree", "d.jpg,sunset/sea"]
    with pytest.raises(TagfillError, match=r"one tag or several — --separator '/' takes"):
        read(tmp_path, ["image,tags", *rows])
    whole = load_labels(tmp_path / "l.csv", options=ReadOptions(separator=";"))
    assert len(whole.table.classes) == 4
    apart = load_labels(tmp_path / "l.csv", options=ReadOptions(separator="/"))
    assert len(apart.table.classes) == 8


def test_commas_in_names(tmp_path: Path) -> None:
    people = ["Lee, Ann", "Roy, Tom", "Fox, Eve"]
    rows = [f'{n}.jpg,"{people[n % 3]}; {people[(n + 1) % 3]}"' for n in range(9)]
    dataset = read(tmp_path, ["image,tags", *rows])
    assert set(dataset.table.classes) == set(people)
    mixed = [f'{n}.jpg,"cat, dog; tree"' if n % 2 else f'{n}.jpg,"dog; cat"' for n in range(9)]
    assert set(read(tmp_path, ["image,tags", *mixed]).table.classes) == {"cat", "dog", "tree"}


def test_paths_of_tags_imply_their_parents(tmp_path: Path) -> None:
    tags = ["Animals/Birds/Robin", "Animals/Dogs", "Animals/Birds", "Places/Rome", "Places/Paris"]
    rows = [f"{n}.jpg,{tags[n % 5]}; {tags[(n + 3) % 5]}" for n in range(10)]
    dataset = read(tmp_path, ["image,tags", *rows])
    assert dict(dataset.hierarchy)["Robin"] == ("Birds",)
    assert set(known(dataset)["0.jpg"]) == {"Animals", "Birds", "Robin", "Places", "Rome"}
    values = dataset.table.values.copy()
    values[0, dataset.table.classes.index("Rome")] = 0
    save_changes(dataset, dataset.table.with_values(values), tmp_path / "o.csv", ReadOptions())
    assert (tmp_path / "o.csv").read_text().splitlines()[1] == "0.jpg,Animals/Birds/Robin"
    assert known(load_labels(tmp_path / "o.csv"))["0.jpg"]["Rome"] == 0


def test_paths_of_tags_in_a_table(tmp_path: Path) -> None:
    path = written(tmp_path, "image,tags\na.jpg,animal|bird;tree\nb.jpg,bird\n")
    dataset = load_labels(path, options=ReadOptions(hierarchy="|"))
    assert known(dataset) == {
        "a.jpg": {"animal": 1, "bird": 1, "tree": 1},
        "b.jpg": {"animal": 1, "bird": 1},
    }
    named = written(tmp_path, 'image,HierarchicalSubject\na.jpg,"animal|bird, tree"\nb.jpg,bird\n')
    assert known(load_labels(named)) == known(dataset)


def test_paths_with_arrows(tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text("image,tags\na.jpg,animal > cat\nb.jpg,animal > dog\n")
    read_as = load_labels(tmp_path / "l.csv", options=ReadOptions(hierarchy=">"))
    assert known(read_as)["a.jpg"] == {"cat": 1, "animal": 1}
