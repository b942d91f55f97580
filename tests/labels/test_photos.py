"""Keywords inside photos and in sidecars: read from every place, whatever wrote them."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.labels.photo_files import FORMATS, iptc, packet, photo, with_segment

from tagfill.errors import TagfillError
from tagfill.labels.hierarchy import complete, consistent
from tagfill.labels.io import load_labels
from tagfill.labels.photos import Keywords, Mark, read_photo
from tagfill.labels.photos.packet import changed_packet, read_packet
from tagfill.labels.table import LabelTable


def with_xp_keywords(path: Path, text: str) -> Path:
    exif = Image.Exif()
    exif[0x9C9E] = text.encode("utf-16-le") + b"\0\0"
    return photo(path, exif=exif)


@pytest.mark.parametrize("suffix", FORMATS)
def test_xmp_inside_files(tmp_path: Path, suffix: str) -> None:
    path = photo(tmp_path / f"a.{suffix}", packet("Löwe", "Baum"))
    assert read_photo(path).tags == ("Löwe", "Baum")
    assert read_photo(path).faults == ()


@pytest.mark.parametrize(
    ("keywords", "character_set"),
    [
        (["Löwe".encode()], b"\x1b%G"),
        (["Löwe".encode()], b""),
        (["Löwe".encode("latin-1")], b""),
    ],
)
def test_iptc_in_its_character_sets(
    tmp_path: Path, keywords: list[bytes], character_set: bytes
) -> None:
    segment = iptc(*keywords, b"tree", character_set=character_set)
    assert read_photo(with_segment(tmp_path / "a.jpg", segment)).tags == ("Löwe", "tree")


def test_iptc_in_png(tmp_path: Path) -> None:
    from PIL.PngImagePlugin import PngInfo

    block = iptc("Löwe".encode(), b"tree", character_set=b"\x1b%G")[4 + len(b"Photoshop 3.0\0") :]
    text = PngInfo()
    text.add_text("Raw profile type iptc", f"\niptc\n{len(block):8}\n{block.hex()}\n", zip=True)
    path = photo(tmp_path / "a.png", pnginfo=text)
    assert read_photo(path).tags == ("Löwe", "tree")


@pytest.mark.skipif(shutil.which("exiftool") is None, reason="no exiftool")
@pytest.mark.parametrize("suffix", FORMATS)
def test_what_exiftool_writes_is_read(tmp_path: Path, suffix: str) -> None:
    fields = ["XMP:Subject=Löwe", "XMP:Subject=tree", "EXIF:XPKeywords=sea;Löwe"]
    fields += ["XMP-lr:HierarchicalSubject=animal|cat", "XMP-digiKam:TagsList=place/Berlin"]
    fields += ["XMP-microsoft:LastKeywordXMP=thing/car"]
    fields += [] if suffix == "webp" else ["IPTC:Keywords=house"]
    path = photo(tmp_path / f"a.{suffix}")
    arguments = [f"-{field}" for field in fields]
    subprocess.run(["exiftool", "-q", "-q", "-m", *arguments, str(path)], check=True)
    said = read_photo(path)
    expected = {"Löwe", "tree", "sea"} | ({"house"} if suffix != "webp" else set())
    assert set(said.tags) == expected
    assert set(said.paths) == {("animal", "cat"), ("place", "Berlin"), ("thing", "car")}
    assert said.faults == ()


def test_exif_keywords(tmp_path: Path) -> None:
    assert read_photo(with_xp_keywords(tmp_path / "a.jpg", "Löwe;tree")).tags == ("Löwe", "tree")


@pytest.mark.parametrize("name", ["a.xmp", "a.jpg.xmp", "a.XMP"])
def test_sidecars_of_both_schemes(tmp_path: Path, name: str) -> None:
    path = photo(tmp_path / "a.jpg", packet("cat"))
    (tmp_path / name).write_bytes(packet("dog", "cat"))
    assert read_photo(path).tags == ("cat", "dog")


def test_a_folder_of_photos_needs_nothing_else(tmp_path: Path) -> None:
    photo(tmp_path / "a.jpg", packet("cat", "Dog"))
    with_segment(tmp_path / "2020" / "b.jpg", iptc(b"dog", b"cat"))
    photo(tmp_path / "c.png")
    (tmp_path / "c.png.xmp").write_bytes(packet("dog"))
    photo(tmp_path / "d.webp")
    (tmp_path / "notes.txt").write_text("no photo")
    dataset = load_labels(tmp_path)
    assert dataset.format == "xmp"
    assert dataset.image_root == tmp_path
    assert set(dataset.table.images) == {"a.jpg", "2020/b.jpg", "c.png", "d.webp"}
    assert "3 of 4 photos have keywords" in dataset.notes
    assert dataset.table.negatives == 0


def test_paths_imply_their_parents(tmp_path: Path) -> None:
    photo(tmp_path / "a.jpg", packet("robin", paths=("animal|bird|robin",)))
    photo(tmp_path / "b.jpg", packet("robin"))
    photo(tmp_path / "c.jpg", packet(paths=("animal|cat",)))
    dataset = load_labels(tmp_path)
    assert dataset.hierarchy == {"bird": ("animal",), "robin": ("bird",), "cat": ("animal",)}
    positive = {
        image: {dataset.table.classes[k] for k in np.flatnonzero(row == 1)}
        for image, row in zip(dataset.table.images, dataset.table.values, strict=True)
    }
    assert positive == {
        "a.jpg": {"animal", "bird", "robin"},
        "b.jpg": {"animal", "bird", "robin"},
        "c.jpg": {"animal", "cat"},
    }


def test_one_name_under_two_parents_is_two_classes(tmp_path: Path) -> None:
    photo(tmp_path / "a.jpg", packet(paths=("animal|bat",)))
    photo(tmp_path / "b.jpg", packet(paths=("sport|bat",)))
    assert set(load_labels(tmp_path).table.classes) == {
        "animal",
        "sport",
        "animal|bat",
        "sport|bat",
    }


def test_suggested_and_rejected_tags_are_no_positives(tmp_path: Path) -> None:
    marks = {
        "dog": Mark("suggested", 0.75, "net"),
        "eel": Mark("rejected"),
        "cat": Mark("confirmed"),
    }
    photo(tmp_path / "a.jpg", changed_packet(None, Keywords(("cat", "dog"), (), marks)))
    photo(tmp_path / "b.jpg", packet("eel", "dog"))
    dataset = load_labels(tmp_path)
    labels = dict(zip(dataset.table.classes, dataset.table.values[0].tolist(), strict=True))
    assert labels == {"cat": 1, "dog": -1, "eel": 0}
    assert dataset.suggestions is not None
    assert dataset.suggestions.score.tolist() == [0.75]
    assert dataset.suggestions.model == "net"


def test_a_rejection_beside_a_photo_outweighs_the_keyword_inside(tmp_path: Path) -> None:
    path = photo(tmp_path / "a.jpg", packet("cat", "dog"))
    sidecar = changed_packet(None, Keywords(("cat",), (), {"dog": Mark("rejected")}))
    (tmp_path / "a.xmp").write_bytes(sidecar)
    assert read_photo(path).tags == ("cat",)
    assert read_photo(path).rejected == {"dog"}


BROKEN = [
    b"",
    b"<x:xmpmeta",
    b"<html/>",
    b"\xff\xfe\x00",
    b'<?xml version="1.0" encoding="nix"?><a/>',
]


@pytest.mark.parametrize("content", BROKEN)
def test_broken_sidecars_are_named_and_passed_over(tmp_path: Path, content: bytes) -> None:
    photo(tmp_path / "a.jpg", packet("cat"))
    (tmp_path / "a.xmp").write_bytes(content)
    dataset = load_labels(tmp_path)
    assert dataset.table.positives == 1
    (problem,) = [warning for warning in dataset.problems if "metadata" in warning.message]
    assert "a.xmp" in problem.message


def test_entities_in_packets_are_refused(tmp_path: Path) -> None:
    bomb = b'<!DOCTYPE a [<!ENTITY b "bbbb">]><x:xmpmeta xmlns:x="adobe:ns:meta/">&b;</x:xmpmeta>'
    with pytest.raises(ValueError, match="not readable"):
        read_packet(bomb)


def test_photos_without_keywords_are_no_label_source(tmp_path: Path) -> None:
    photo(tmp_path / "a.jpg")
    with pytest.raises(TagfillError, match="none of the 1 photos has keywords"):
        load_labels(tmp_path, format="xmp")
    with pytest.raises(TagfillError, match="have no keywords and are in no class folders"):
        load_labels(tmp_path)


def test_changing_a_packet_keeps_all_else() -> None:
    before = b"""<?xpacket begin="" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF
 xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:xmp="http://ns.adobe.com/xap/1.0/" xmp:Rating="5"
 xmlns:crs="http://ns.adobe.com/camera-raw-settings/1.0/" crs:Exposure2012="+0.5"
 xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:subject><rdf:Bag><rdf:li>cat</rdf:li></rdf:Bag>
</dc:subject><dc:title><rdf:Alt><rdf:li xml:lang="x-default">My cat</rdf:li></rdf:Alt></dc:title>
</rdf:Description></rdf:RDF></x:xmpmeta><?xpacket end="w"?>"""
    after = changed_packet(before, Keywords(("cat", "dog"), (), {"dog": Mark("confirmed", 0.9)}))
    for words in (b'xmp:Rating="5"', b'crs:Exposure2012="+0.5"', b"My cat", b"<dc:subject>"):
        assert words in after
    assert read_packet(after) == Keywords(("cat", "dog"), (), {"dog": Mark("confirmed", 0.9)})
    assert read_packet(changed_packet(after, Keywords())) == Keywords()


def test_predictions_and_recovered_tags_are_monotone(tmp_path: Path) -> None:
    from tagfill.models.tagging import TagRule
    from tagfill.recover.posterior import Evidence
    from tagfill.recover.recovery import Recovery

    hierarchy = {"robin": ("bird",), "bird": ("animal",)}
    classes = ("robin", "animal", "bird")
    rule = TagRule(classes, (0.5, 0.95, 0.9), hierarchy=hierarchy)
    (prediction,) = rule.predictions(["a"], np.array([[0.8, 0.1, 0.3]], dtype=np.float32))
    assert set(prediction.tags) == {"robin", "bird", "animal"}
    assert prediction.probabilities.tolist() == pytest.approx([0.8, 0.8, 0.8])
    table = LabelTable(("a", "b"), classes, np.array([[-1, -1, -1], [-1, 0, 0]]), hierarchy)
    table, _ = complete(table.take([0, 1]), hierarchy)
    chance = np.array([[0.97, 0.2, 0.4], [0.9, 0.9, 0.9]])
    recovery = Recovery(tmp_path, "em", table, Evidence(chance, chance, ()))
    assert recovery.probability.tolist() == [[0.97, 0.97, 0.97], [0, 0, 0]]
    assert recovery.complete(0.9).values.tolist() == [[1, 1, 1], [0, 0, 0]]


def test_hierarchy_makes_labels_and_scores_consistent() -> None:
    hierarchy = {"robin": ("bird",), "bird": ("animal",)}
    table = LabelTable(
        ("a", "b", "c"),
        ("robin", "animal", "bird", "tree"),
        np.array([[1, -1, -1, 0], [-1, 0, -1, -1], [1, 0, -1, -1]]),
    )
    completed, denied = complete(table, hierarchy)
    assert completed.values.tolist() == [[1, 1, 1, 0], [0, 0, 0, -1], [1, 1, 1, -1]]
    assert denied == 1
    scores = consistent(np.array([[0.9, 0.1, 0.3, 0.2]]), table.classes, hierarchy)
    assert scores.tolist() == [[0.9, 0.9, 0.9, 0.2]]
    with pytest.raises(TagfillError, match="cycle"):
        consistent(np.zeros((1, 2)), ("a", "b"), {"a": ("b",), "b": ("a",)})


PACKET = (
    '<x:xmpmeta xmlns:x="adobe:ns:meta/">'
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
    '<rdf:Description xmlns:dc="http://purl.org/dc/elements/1.1/"{}</rdf:RDF></x:xmpmeta>'
)


@pytest.mark.parametrize(
    "packet",
    [
        PACKET.format("><dc:subject>cat, dog</dc:subject></rdf:Description>").encode(),
        PACKET.format(' dc:subject="cat; dog"/>').encode(),
        PACKET.format(
            "><dc:subject><rdf:Bag><rdf:li>cat</rdf:li><rdf:li>dog</rdf:li></rdf:Bag>"
            "</dc:subject></rdf:Description>"
        ).encode("utf-16"),
    ],
    ids=["one text", "attribute", "UTF-16"],
)
def test_packets_of_odd_programs(packet: bytes) -> None:
    assert read_packet(packet).tags == ("cat", "dog")
    again = changed_packet(packet, Keywords(("dog", "sea")))
    assert read_packet(again).tags == ("dog", "sea")
