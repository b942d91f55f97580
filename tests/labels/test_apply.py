"""Decisions back into labels: nothing a person said is lost, nothing else in the file changes."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from PIL import Image
from tests.labels.test_photos import FORMATS, iptc, packet, photo, with_segment
from tests.labels.test_tables import xlsx
from tests.train.given import write_given_features

from tagfill.cli.main import main
from tagfill.labels.beside import REJECTED
from tagfill.labels.formats import formats
from tagfill.labels.io import load_labels
from tagfill.labels.photos import Keywords, Mark, read_photo
from tagfill.labels.photos.packet import changed_packet, read_packet

needs_exiftool = pytest.mark.skipif(shutil.which("exiftool") is None, reason="no exiftool")

DECISIONS = "image,tag,probability,decision\na.jpg,dog,0.9,yes\nb.jpg,cat,0.8,no\nc.jpg,dog,0.7,\n"


def apply(folder: Path, data: Path, *more: object, decisions: str = DECISIONS) -> dict[str, Any]:
    (folder / "suggestions.csv").write_text(decisions)
    arguments = ["apply", str(folder / "suggestions.csv"), str(data), *map(str, more), "--json"]
    import contextlib
    import io

    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        assert main(arguments) == 0
    result: dict[str, Any] = json.loads(stream.getvalue())
    return result


def labels(path: Path) -> dict[tuple[str, str], int]:
    table = load_labels(path).table
    return {
        (image, name): int(value)
        for image, row in zip(table.images, table.values, strict=True)
        for name, value in zip(table.classes, row, strict=True)
        if value != -1
    }


BEFORE = {("a.jpg", "cat"): 1, ("b.jpg", "dog"): 1, ("c.jpg", "cat"): 1}
AFTER = {**BEFORE, ("a.jpg", "dog"): 1, ("b.jpg", "cat"): 0}

TABLES = {
    "wide": (
        "Photo;cat;Rating;dog;Note\r\na.jpg;x;5;;hi\r\nb.jpg;;4;X;\r\nc.jpg;x;1;;\r\n",
        "Photo;cat;Rating;dog;Note\r\na.jpg;x;5;x;hi\r\nb.jpg;no;4;X;\r\nc.jpg;x;1;;\r\n",
    ),
    "yes and no": (
        "image,cat,dog\na.jpg,yes,\nb.jpg,,Yes\nc.jpg,yes,\n",
        "image,cat,dog\na.jpg,yes,yes\nb.jpg,no,Yes\nc.jpg,yes,\n",
    ),
    "tags": (
        'Title,File,Keywords\nMine,a.jpg,"cat, sky"\n,b.jpg,dog\n"A, B",c.jpg,CAT\n',
        'Title,File,Keywords\nMine,a.jpg,"cat, sky, dog"\n,b.jpg,dog\n"A, B",c.jpg,CAT\n',
    ),
    "long": (
        "image,label,value,who\na.jpg,cat,1,me\nb.jpg,dog,1,\nc.jpg,cat,1,\n",
        "image,label,value,who\na.jpg,cat,1,me\nb.jpg,dog,1,\nc.jpg,cat,1,\na.jpg,dog,1,\n"
        "b.jpg,cat,0,\n",
    ),
    "long without values": (
        "image,label\na.jpg,cat\nb.jpg,dog\nc.jpg,cat\n",
        "image,label\na.jpg,cat\nb.jpg,dog\nc.jpg,cat\na.jpg,dog\n",
    ),
}


@pytest.mark.parametrize(("before", "after"), TABLES.values(), ids=TABLES)
def test_tables_keep_everything_else(tmp_path: Path, before: str, after: str) -> None:
    data, out = tmp_path / "labels.csv", tmp_path / "new.csv"
    data.write_bytes(before.encode())
    result = apply(tmp_path, data, out)
    assert out.read_bytes().decode() == after
    assert {**labels(out)} == {**labels(data), **AFTER}
    assert result["changed"] == 2
    assert result["not_held"] == []
    assert result["changes"] == [
        {"image": "a.jpg", "tag": "dog", "from": -1, "to": 1},
        {"image": "b.jpg", "tag": "cat", "from": -1, "to": 0},
    ]


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-8-sig"])
def test_encodings_are_kept(tmp_path: Path, encoding: str) -> None:
    data, out = tmp_path / "labels.csv", tmp_path / "new.csv"
    data.write_bytes("Datei;Schlagwörter\na.jpg;cat\nb.jpg;dog\nc.jpg;cat\n".encode(encoding))
    apply(tmp_path, data, out)
    assert out.read_bytes().decode(encoding).startswith("Datei;Schlagwörter\na.jpg;cat, dog\n")
    assert labels(out) == AFTER


def test_spreadsheets_become_csv_of_the_same_columns(tmp_path: Path) -> None:
    data, out = tmp_path / "labels.xlsx", tmp_path / "new.csv"
    rows: list[list[object]] = [["Bild", "Titel", "Tags"], ["a.jpg", "A", "cat"]]
    data.write_bytes(xlsx([*rows, ["b.jpg", "B", "dog"], ["c.jpg", None, "cat"]]))
    apply(tmp_path, data, out)
    assert out.read_text() == "Bild,Titel,Tags\na.jpg,A,cat;dog\nb.jpg,B,dog\nc.jpg,,cat\n"
    assert labels(out) == AFTER


JSON_LINES = {
    "tags": [
        {"file_name": "a.jpg", "tags": ["cat"], "n": 1},
        {"file_name": "b.jpg", "tags": ["dog"]},
    ],
    "values": [
        {"file_name": "a.jpg", "labels": {"cat": 1}},
        {"file_name": "b.jpg", "labels": {"dog": True}},
    ],
    "keys": [{"file_name": "a.jpg", "cat": 1, "note": "x"}, {"file_name": "b.jpg", "dog": 1}],
    "own": [
        {"file_name": "a.jpg", "positives": ["cat"], "negatives": []},
        {"file_name": "b.jpg", "positives": ["dog"], "negatives": []},
    ],
}


@pytest.mark.parametrize("lines", JSON_LINES.values(), ids=JSON_LINES)
def test_json_lines_keep_their_shape(tmp_path: Path, lines: list[dict[str, Any]]) -> None:
    data, out = tmp_path / "labels.jsonl", tmp_path / "new.jsonl"
    data.write_text("".join(json.dumps(line) + "\n" for line in lines))
    apply(tmp_path, data, out, decisions=DECISIONS.replace("c.jpg,dog,0.7,\n", ""))
    assert labels(out) == {k: v for k, v in AFTER.items() if k[0] != "c.jpg"}
    written = [json.loads(line) for line in out.read_text().splitlines()]
    assert set(written[0]) >= set(lines[0])
    assert all(written[0][key] == lines[0][key] for key in ("n", "note") if key in lines[0])


def source(name: str, folder: Path) -> Path:
    """The labels BEFORE in a format."""
    photos = folder / "photos"
    for image in ("a.jpg", "b.jpg", "c.jpg"):
        photo(photos / image)
    table = folder / "table.csv"
    table.write_text("image,tags\na.jpg,cat\nb.jpg,dog\nc.jpg,cat\n")
    if name == "xmp":
        for image, tag in (("a.jpg", "cat"), ("b.jpg", "dog"), ("c.jpg", "cat")):
            photo(photos / image, packet(tag))
        return photos
    path = folder / f"source-{name}"
    arguments = ["convert", str(table), str(path), "--to", name, "--images", str(photos)]
    assert main(arguments) == 0
    return path


WRITABLE = [name for name, known in formats().items() if known.write]


@pytest.mark.parametrize("name", [*WRITABLE, "xmp"])
def test_a_no_survives_in_every_format(tmp_path: Path, name: str) -> None:
    data = source(name, tmp_path)
    out = [] if name == "xmp" else [tmp_path / "out"]
    decisions = DECISIONS
    if name == "image_folder":
        decisions = "image,tag,decision\ncat/a.jpg,dog,no\n"
    apply(tmp_path, data, *out, "--to", name, decisions=decisions)
    again = load_labels(data if name == "xmp" else tmp_path / "out")
    assert again.table.negatives == 1
    row, column = np.argwhere(again.table.values == 0)[0]
    expected = ("a.jpg", "dog") if name == "image_folder" else ("b.jpg", "cat")
    assert (again.table.images[row][-5:], again.table.classes[column]) == expected


def test_rejections_stay_when_a_person_adds_the_tag_after_all(tmp_path: Path) -> None:
    data, out = tmp_path / "labels.csv", tmp_path / "new.csv"
    data.write_text("image,tags\na.jpg,cat\nb.jpg,dog\nc.jpg,cat\n")
    apply(tmp_path, data, out)
    out.write_text(out.read_text().replace("b.jpg,dog", "b.jpg,dog;cat"))
    dataset = load_labels(out)
    assert dataset.table.negatives == 0
    assert any("rejected earlier" in problem.message for problem in dataset.problems)


def photos_before(folder: Path) -> Path:
    photos = folder / "photos"
    for name, tag in (("a", "cat"), ("b", "dog"), ("c", "cat")):
        photo(photos / f"{name}.jpg", packet(tag))
    return photos


def test_photos_get_sidecars_with_confidence_and_origin(tmp_path: Path) -> None:
    photos = photos_before(tmp_path)
    before = (photos / "a.jpg").read_bytes()
    result = apply(tmp_path, photos, "--suggested")
    assert result["sidecars_written"] == 3
    assert (photos / "a.jpg").read_bytes() == before
    keywords = read_packet((photos / "a.xmp").read_bytes())
    assert keywords.tags == ("cat", "dog")
    assert keywords.marks == {"dog": Mark("confirmed", 0.9, "tagfill")}
    assert read_photo(photos / "b.jpg").rejected == {"cat"}
    assert dict(read_photo(photos / "c.jpg").suggested) == {
        "dog": Mark("suggested", 0.7, "tagfill")
    }
    dataset = load_labels(photos)
    assert labels(photos) == AFTER
    assert dataset.suggestions is not None
    assert len(dataset.suggestions) == 1


def test_sidecars_that_are_there_are_merged_with(tmp_path: Path) -> None:
    photos = photos_before(tmp_path)
    old = packet("sky").replace(b'rdf:about=""', b'rdf:about="" xmlns:xmp="u:x" xmp:Rating="5"')
    (photos / "a.jpg.xmp").write_bytes(old)
    apply(tmp_path, photos)
    assert not (photos / "a.xmp").exists()
    content = (photos / "a.jpg.xmp").read_bytes()
    assert b'Rating="5"' in content
    assert set(read_packet(content).tags) == {"sky", "dog"}
    (photos / "b.xmp").write_bytes(b"not xmp")
    (tmp_path / "suggestions.csv").write_text("image,tag,decision\nb.jpg,sky,yes\n")
    assert main(["apply", str(tmp_path / "suggestions.csv"), str(photos)]) == 2
    assert (photos / "b.xmp").read_bytes() == b"not xmp"


@pytest.mark.parametrize("scheme", ["stem", "name"])
def test_both_naming_schemes_and_another_folder(tmp_path: Path, scheme: str) -> None:
    photos = photos_before(tmp_path)
    out = tmp_path / "sidecars"
    apply(tmp_path, photos, out, "--to", "xmp", "--sidecars", scheme)
    names = {"stem": {"a.xmp", "b.xmp"}, "name": {"a.jpg.xmp", "b.jpg.xmp"}}
    assert {file.name for file in out.iterdir()} == names[scheme]
    assert not list(photos.glob("*.xmp"))


def test_two_photos_of_one_name_get_sidecars_of_their_own(tmp_path: Path) -> None:
    photos = photos_before(tmp_path)
    photo(photos / "a.png", packet("cat"))
    decisions = "image,tag,decision\na.jpg,dog,yes\na.png,dog,no\n"
    apply(tmp_path, photos, decisions=decisions)
    assert {file.name for file in photos.glob("*.xmp")} == {"a.jpg.xmp", "a.png.xmp"}


def test_untag_takes_back_what_was_suggested(tmp_path: Path) -> None:
    photos = photos_before(tmp_path)
    apply(tmp_path, photos, "--suggested")
    assert main(["untag", str(photos)]) == 0
    assert load_labels(photos).suggestions is None
    assert labels(photos) == AFTER
    assert main(["untag", str(photos), "--confirmed"]) == 0
    assert labels(photos) == {**BEFORE, ("b.jpg", "cat"): 0}


def test_paths_of_confirmed_tags_are_written(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    photo(photos / "a.jpg", packet("robin", paths=("animal|bird|robin",)))
    photo(photos / "b.jpg", packet("tree"))
    apply(tmp_path, photos, decisions="image,tag,decision\nb.jpg,robin,yes\n")
    keywords = read_packet((photos / "b.xmp").read_bytes())
    assert set(keywords.tags) == {"tree", "animal", "bird", "robin"}
    assert ("animal", "bird", "robin") in keywords.paths


def exiftool_says(path: Path, *fields: str) -> dict[str, Any]:
    command = ["exiftool", "-j", "-struct", *(f"-{field}" for field in fields), str(path)]
    done = subprocess.run(command, capture_output=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout)[0]
    return result


def reviewed(path: Path) -> set[tuple[str, str]]:
    table = load_labels(path).table
    assert table.reviewed is not None
    return {(table.images[r], table.classes[c]) for r, c in np.argwhere(table.reviewed).tolist()}


@pytest.mark.parametrize("shape", sorted(TABLES))
def test_what_a_review_answered_is_recorded_and_adds_up(shape: str, tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text(TABLES[shape][0])
    assert load_labels(tmp_path / "labels.csv").table.reviewed is None
    apply(tmp_path, tmp_path / "labels.csv", tmp_path / "first.csv")
    answers = {("a.jpg", "dog"), ("b.jpg", "cat")}
    assert reviewed(tmp_path / "first.csv") == answers
    more = "image,tag,decision\nc.jpg,dog,yes\n"
    apply(tmp_path, tmp_path / "first.csv", tmp_path / "second.csv", decisions=more)
    assert reviewed(tmp_path / "second.csv") == answers | {("c.jpg", "dog")}


def test_an_answer_that_the_labels_no_longer_have_is_not_reviewed(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text(TABLES["wide"][0])
    apply(tmp_path, tmp_path / "labels.csv", tmp_path / "out.csv")
    (tmp_path / "out.csv").write_text(TABLES["wide"][0])
    assert reviewed(tmp_path / "out.csv") == set()


def test_answers_in_photos_are_known_as_reviewed(tmp_path: Path) -> None:
    photos = photos_before(tmp_path)
    assert load_labels(photos).table.reviewed is None
    apply(tmp_path, photos, "--to", "xmp")
    assert reviewed(photos) == {("a.jpg", "dog"), ("b.jpg", "cat")}


@needs_exiftool
def test_exiftool_reads_our_sidecars(tmp_path: Path) -> None:
    photos = photos_before(tmp_path)
    apply(tmp_path, photos)
    assert exiftool_says(photos / "a.xmp", "Subject")["Subject"] == ["cat", "dog"]


@needs_exiftool
@pytest.mark.parametrize("suffix", FORMATS)
def test_in_place_changes_keywords_and_no_pixel(tmp_path: Path, suffix: str) -> None:
    path = photo(tmp_path / "photos" / f"a.{suffix}", packet("cat"))
    photo(tmp_path / "photos" / "b.jpg", packet("dog"))
    pixels, content = np.asarray(Image.open(path)), path.read_bytes()
    decisions = f"image,tag,probability,decision\na.{suffix},dog,0.9,yes\n"
    result = apply(tmp_path, tmp_path / "photos", "--in-place", decisions=decisions)
    assert result["files_changed"] == 1
    assert exiftool_says(path, "Subject")["Subject"] == ["cat", "dog"]
    assert np.array_equal(np.asarray(Image.open(path)), pixels)
    assert Path(f"{path}_original").read_bytes() == content
    assert read_photo(path).tags == ("cat", "dog")
    assert main(["untag", str(path.parent), "--confirmed", "--in-place"]) == 0
    assert read_photo(path).tags == ("cat",)


@needs_exiftool
def test_in_place_keeps_iptc_in_step(tmp_path: Path) -> None:
    path = with_segment(tmp_path / "photos" / "a.jpg", iptc(b"cat"))
    photo(tmp_path / "photos" / "b.jpg", packet("Löwe"))
    decisions = "image,tag,decision\na.jpg,Löwe,yes\n"
    apply(tmp_path, tmp_path / "photos", "--in-place", decisions=decisions)
    assert exiftool_says(path, "IPTC:Keywords")["Keywords"] == ["cat", "Löwe"]


def test_without_exiftool_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    photos = photos_before(tmp_path)
    monkeypatch.setattr("tagfill.labels.photos.change.EXIFTOOL", "no-such-exiftool")
    (tmp_path / "suggestions.csv").write_text(DECISIONS)
    before = {file: file.read_bytes() for file in photos.iterdir()}
    assert main(["apply", str(tmp_path / "suggestions.csv"), str(photos), "--in-place"]) == 2
    assert {file: file.read_bytes() for file in photos.iterdir()} == before


def test_labels_of_a_table_can_go_into_sidecars(tmp_path: Path) -> None:
    photos = tmp_path / "photos"
    for name in "abc":
        photo(photos / f"{name}.jpg")
    table = tmp_path / "tags.csv"
    table.write_text("image,tags\na.jpg,cat\nb.jpg,dog\nc.jpg,cat\n")
    apply(tmp_path, table, "--to", "xmp", "--images", photos)
    assert labels(photos) == AFTER


def test_marks_survive_other_programs() -> None:
    keywords = Keywords(("cat",), (), {"dog": Mark("rejected", None, "tagfill")})
    first = changed_packet(None, keywords)
    again = changed_packet(first, Keywords(("cat", "sky"), (), read_packet(first).marks))
    assert read_packet(again).marks == keywords.marks


def test_what_lies_beside_a_folder_is_found_from_inside_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "data" / "cat").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "data")
    for inside, place in ((".", "data"), ("..", "."), ("cat", "data/cat")):
        folder = (tmp_path / place).resolve()
        assert REJECTED.path(Path(inside)).resolve() == Path(f"{folder}.rejected.csv")
    write_given_features(tmp_path / "data", train=4, test=2)
    assert len(load_labels(Path()).table) == 6


def test_parquet_keeps_other_columns(tmp_path: Path) -> None:
    columns = {
        "image": ["a.jpg", "b.jpg", "c.jpg"],
        "cat": pa.array([1, None, 1], pa.int64()),
        "title": ["A", "B", None],
        "dog": [None, True, None],
    }
    pa.parquet.write_table(pa.table(columns), tmp_path / "labels.parquet")
    apply(tmp_path, tmp_path / "labels.parquet", tmp_path / "new.parquet")
    assert labels(tmp_path / "new.parquet") == AFTER
    table = pa.parquet.read_table(tmp_path / "new.parquet")
    assert table.column_names == list(columns)
    assert table.column("title").to_pylist() == ["A", "B", None]
    lists = {"image": columns["image"], "tags": [["cat"], ["dog"], ["cat"]]}
    pa.parquet.write_table(pa.table(lists), tmp_path / "lists.parquet")
    apply(tmp_path, tmp_path / "lists.parquet", tmp_path / "lists2.parquet")
    assert labels(tmp_path / "lists2.parquet") == AFTER


def test_label_studio_tasks_keep_their_data(tmp_path: Path) -> None:
    def task(number: int, image: str, tag: str) -> dict[str, Any]:
        result = [{"from_name": "tags", "value": {"choices": [tag]}}]
        data = {"image": f"/data/upload/1/8f3ab2c1-{image}", "author": "me"}
        return {"id": number, "data": data, "annotations": [{"id": 7, "result": result}]}

    tasks = [task(1, "a.jpg", "cat"), task(2, "b.jpg", "dog"), task(3, "c.jpg", "cat")]
    (tmp_path / "tasks.json").write_text(json.dumps(tasks))
    apply(tmp_path, tmp_path / "tasks.json", tmp_path / "new.json")
    assert labels(tmp_path / "new.json") == AFTER
    written = json.loads((tmp_path / "new.json").read_text())
    assert [task["data"] for task in written] == [task["data"] for task in tasks]
    assert written[2] == tasks[2]


def test_letters_the_old_encoding_lacks(tmp_path: Path) -> None:
    data, out = tmp_path / "labels.csv", tmp_path / "new.csv"
    data.write_bytes("Datei;Tags\na.jpg;Löwe\nb.jpg;dog\n".encode("cp1252"))
    decisions = "image,tag,decision\na.jpg,猫,yes\n"
    (tmp_path / "aliases.toml").write_text('"dog" = "猫"\n')
    apply(tmp_path, data, out, "--aliases", tmp_path / "aliases.toml", decisions=decisions)
    assert "猫" in out.read_text(encoding="utf-8-sig")


def test_titles_above_the_header_stay(tmp_path: Path) -> None:
    data, out = tmp_path / "labels.csv", tmp_path / "new.csv"
    data.write_text("My photos,\nimage,tags\na.jpg,cat\nb.jpg,dog\nc.jpg,cat\n")
    apply(tmp_path, data, out)
    assert out.read_text().startswith("My photos,\nimage,tags\na.jpg,cat;dog\n")
    assert labels(out) == AFTER
