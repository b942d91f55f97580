"""Decisions into photos: sidecars beside them, keywords in place, and what other programs keep."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tests.labels.applying import AFTER, BEFORE, DECISIONS, apply, labels, reviewed
from tests.labels.photo_files import FORMATS, iptc, packet, photo, with_segment

from tagfill.cli.main import main
from tagfill.labels.io import load_labels
from tagfill.labels.photos import Keywords, Mark, read_photo
from tagfill.labels.photos.packet import changed_packet, read_packet

needs_exiftool = pytest.mark.skipif(shutil.which("exiftool") is None, reason="no exiftool")


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


def test_answers_in_photos_are_known_as_reviewed(tmp_path: Path) -> None:
    photos = photos_before(tmp_path)
    assert load_labels(photos).table.reviewed is None
    apply(tmp_path, photos, "--to", "xmp")
    assert reviewed(photos) == {("a.jpg", "dog"), ("b.jpg", "cat")}


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


def exiftool_says(path: Path, *fields: str) -> dict[str, Any]:
    command = ["exiftool", "-j", "-struct", *(f"-{field}" for field in fields), str(path)]
    done = subprocess.run(command, capture_output=True, check=True)
    result: dict[str, Any] = json.loads(done.stdout)[0]
    return result


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
