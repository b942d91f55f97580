"""Keywords in sidecars, in the fields of many programs."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.labels.reading import known, make_images

from tagfill.labels.formats import ReadOptions
from tagfill.labels.io import load_labels

XMP = (
    '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF'
    ' xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about=""'
    ' xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:lr="http://ns.adobe.com/lightroom/1.0/"'
    ' xmlns:acdsee="http://ns.acdsee.com/iptc/1.0/"'
    ' xmlns:ps="http://ns.adobe.com/photoshop/1.0/"'
    ' xmlns:mp="http://ns.iview-multimedia.com/mediapro/1.0/"'
    ' xmlns:ext="http://iptc.org/std/Iptc4xmpExt/2008-02-29/">{}</rdf:Description></rdf:RDF>'
    "</x:xmpmeta>"
)
CATEGORIES = (
    '<Categories><Category Assigned="0">animal<Category Assigned="1">cat</Category></Category>'
    '<Category Assigned="1">sea</Category></Categories>'
)


def bag(name: str, *items: str) -> str:
    listed = "".join(f"<rdf:li>{item}</rdf:li>" for item in items)
    return f"<{name}><rdf:Bag>{listed}</rdf:Bag></{name}>"


@pytest.mark.parametrize(
    ("body", "tags"),
    [
        (CATEGORIES.replace("<", "&lt;"), {"animal", "cat", "sea"}),
        (bag("acdsee:keywords", "cat", "sea"), {"cat", "sea"}),
        (bag("ps:SupplementalCategories", "cat"), {"cat"}),
        (bag("mp:CatalogSets", "animal|cat"), {"animal", "cat"}),
        (bag("ext:PersonInImage", "Ann"), {"Ann"}),
        (bag("dc:subject", "darktable|format|jpg", "cat"), {"cat"}),
        (bag("lr:hierarchicalSubject", "darktable|format|jpg", "animal|cat"), {"animal", "cat"}),
    ],
)
def test_keywords_of_other_programs(body: str, tags: set[str], tmp_path: Path) -> None:
    make_images(tmp_path, "a.jpg")
    if body.startswith("&lt;"):
        body = f"<acdsee:categories>{body}</acdsee:categories>"
    (tmp_path / "a.xmp").write_text(XMP.format(body))
    assert set(known(load_labels(tmp_path))["a.jpg"]) == tags


def test_keywords_with_commas_are_remarked_on(tmp_path: Path) -> None:
    make_images(tmp_path, "a.jpg")
    (tmp_path / "a.xmp").write_text(XMP.format(bag("dc:subject", "cat, dog")))
    assert any("--separator splits them" in note for note in load_labels(tmp_path).notes)
    parted = load_labels(tmp_path, options=ReadOptions(separator=","))
    assert known(parted)["a.jpg"] == {"cat": 1, "dog": 1}


def test_keywords_that_hold_several_are_taken_apart(tmp_path: Path) -> None:
    sets = ["cat, dog", "dog, sea", "sea, cat", "cat", "dog", "sea, dog, cat"]
    for number, text in enumerate(sets):
        make_images(tmp_path, f"{number}.jpg")
        (tmp_path / f"{number}.xmp").write_text(XMP.format(bag("dc:subject", text)))
    dataset = load_labels(tmp_path)
    assert set(dataset.table.classes) == {"cat", "dog", "sea"}
    assert known(dataset)["5.jpg"] == {"cat": 1, "dog": 1, "sea": 1}
