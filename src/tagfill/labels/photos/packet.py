"""XMP packets: the keywords in them, and how to replace them without changing anything else.

Besides ``dc:subject`` and ``lr:hierarchicalSubject`` a packet of ours says of single tags whether
a model suggested them, a person confirmed them or a person rejected them.
"""

from __future__ import annotations

import codecs
import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast

import defusedxml
import defusedxml.ElementTree

MarkState = Literal["suggested", "confirmed", "rejected"]
OURS = "urn:tagfill:xmp:1.0:"
"""Namespace of our own properties, which XMP lacks."""

_META, _RDF = "adobe:ns:meta/", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_DC, _LR = "http://purl.org/dc/elements/1.1/", "http://ns.adobe.com/lightroom/1.0/"
_PREFIXES = {"x": _META, "rdf": _RDF, "dc": _DC, "lr": _LR, "tagfill": OURS}
_ACDSEE = "{http://ns.acdsee.com/iptc/1.0/}"
_SUBJECT, _HIERARCHY, _MARKS = (
    f"{{{_DC}}}subject",
    f"{{{_LR}}}hierarchicalSubject",
    f"{{{OURS}}}tags",
)
_FLAT = {
    _SUBJECT,
    f"{_ACDSEE}keywords",
    "{http://ns.adobe.com/photoshop/1.0/}SupplementalCategories",
    "{http://iptc.org/std/Iptc4xmpExt/2008-02-29/}PersonInImage",
}
"""Properties that hold tags, and names of people."""
_PATHS = {
    _HIERARCHY: "|",
    "{http://ns.iview-multimedia.com/mediapro/1.0/}CatalogSets": "|",
    "{http://www.digikam.org/ns/1.0/}TagsList": "/",
    "{http://ns.microsoft.com/photo/1.0/}LastKeywordXMP": "/",
    "{http://ns.microsoft.com/photo/1.0}LastKeywordXMP": "/",
}
"""Properties that hold tags as paths, and what separates the names in these."""
_INTERNAL = ("darktable", "_Digikam_Internal_Tags_")
"""Where programs keep notes of their own among the keywords."""
_INTERNAL_TAGS = tuple(f"{name}{mark}" for name in _INTERNAL for mark in "|/")
_SEPARATORS = re.compile(r"[,;]")
"""Marks in a property that is one text, where a list belongs."""
_LI, _BAG, _ABOUT = f"{{{_RDF}}}li", f"{{{_RDF}}}Bag", f"{{{_RDF}}}about"
_START = '<?xpacket begin="\ufeff" id="W5M0MpCehiHzreSzNTczkc9d"?>\n'
_END = '\n<?xpacket end="w"?>\n'


@dataclass(frozen=True)
class Mark:
    """State of one tag: its origin, and a model's confidence."""

    state: MarkState
    confidence: float | None = None
    origin: str = ""


@dataclass(frozen=True)
class Keywords:
    """The keywords of one packet.

    Args:
        tags: flat keywords.
        paths: keywords as paths, the most general name first.
        marks: what is known of single tags.
    """

    tags: tuple[str, ...] = ()
    paths: tuple[tuple[str, ...], ...] = ()
    marks: Mapping[str, Mark] = field(default_factory=dict)


def read_packet(packet: bytes) -> Keywords:
    """The keywords of a packet.

    Raises:
        ValueError: it is no XMP.
    """
    root = _parsed(packet)
    tags: list[str] = []
    paths: list[tuple[str, ...]] = []
    marks: dict[str, Mark] = {}
    for element in root.iter():
        inline = _SEPARATORS.split(element.attrib.get(_SUBJECT, ""))
        tags += [text.strip() for text in inline if text.strip()]
        if element.tag in _FLAT:
            tags += _items(element)
        elif element.tag == f"{_ACDSEE}categories":
            paths += _categories(element.text or "")
        elif element.tag in _PATHS:
            paths += [_path(text, _PATHS[element.tag]) for text in _items(element)]
        elif element.tag == _MARKS:
            marks |= dict(_marks(element))
    unique = tuple(dict.fromkeys(path for path in paths if path and path[0] not in _INTERNAL))
    plain = dict.fromkeys(tag for tag in tags if not tag.startswith(_INTERNAL_TAGS))
    return Keywords(tuple(plain), unique, marks)


def _categories(text: str) -> list[tuple[str, ...]]:
    """The assigned paths in the XML that ACDSee writes into one property."""
    if not text.strip():
        return []

    def assigned(element: ET.Element, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        for child in element:
            path = (*above, (child.text or "").strip())
            if child.get("Assigned") == "1":
                yield path
            yield from assigned(child, path)

    try:
        return list(assigned(defusedxml.ElementTree.fromstring(text), ()))
    except (ET.ParseError, defusedxml.DefusedXmlException, RecursionError) as error:
        raise ValueError(f"categories of ACDSee are not readable ({error})") from None


def changed_packet(packet: bytes | None, keywords: Keywords) -> bytes:
    """A packet with these keywords in place of its own; everything else in it stays.

    Raises:
        ValueError: the packet to change is no XMP.
    """
    root = ET.Element(f"{{{_META}}}xmpmeta") if packet is None else _parsed(packet)
    for prefix, uri in {**_PREFIXES, **_prefixes(packet)}.items():
        if not prefix.startswith("ns"):
            ET.register_namespace(prefix, uri)
    _set_items(root, _SUBJECT, keywords.tags)
    _set_items(root, _HIERARCHY, ["|".join(path) for path in keywords.paths])
    _set_marks(root, keywords.marks)
    ET.indent(root)
    return (_START + ET.tostring(root, encoding="unicode") + _END).encode()


def _parsed(packet: bytes) -> ET.Element:
    try:
        root: ET.Element = defusedxml.ElementTree.fromstring(_stripped(packet))
    except (ET.ParseError, defusedxml.DefusedXmlException, LookupError) as error:
        raise ValueError(f"not readable as XMP ({error})") from None
    if root.tag not in (f"{{{_META}}}xmpmeta", f"{{{_META}}}xapmeta", f"{{{_RDF}}}RDF"):
        raise ValueError("not readable as XMP (it is other XML)")
    return root


def _stripped(packet: bytes) -> bytes:
    """Without blanks and zeros around it; in UTF-16 zeros are halves of letters."""
    wide = packet.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return packet if wide else packet.strip(b"\0 \t\r\n")


def _prefixes(packet: bytes | None) -> dict[str, str]:
    if packet is None:
        return {}
    events = defusedxml.ElementTree.iterparse(io.BytesIO(_stripped(packet)), ["start-ns"])
    return {prefix: uri for _, (prefix, uri) in events if prefix}


def _items(element: ET.Element) -> list[str]:
    """The texts of a property: of its list, or its own."""
    listed = [item.text or "" for item in element.iter(_LI)]
    return [
        text.strip() for text in listed or _SEPARATORS.split(element.text or "") if text.strip()
    ]


def _path(text: str, separator: str) -> tuple[str, ...]:
    return tuple(name for part in text.split(separator) if (name := part.strip()))


def _marks(element: ET.Element) -> Iterator[tuple[str, Mark]]:
    for item in element.iter(_LI):
        said = {key: value for key, value in item.attrib.items() if value}
        said |= {child.tag: child.text or "" for child in item.iter() if child is not item}
        name, state = (said.get(f"{{{OURS}}}{key}", "").strip() for key in ("name", "state"))
        if name and state in ("suggested", "confirmed", "rejected"):
            yield (
                name,
                Mark(
                    cast(MarkState, state), _number(said), said.get(f"{{{OURS}}}origin", "").strip()
                ),
            )


def _number(said: Mapping[str, str]) -> float | None:
    try:
        number = float(said.get(f"{{{OURS}}}confidence", ""))
    except ValueError:
        return None
    return number if 0 <= number <= 1 else None


def _set_items(root: ET.Element, name: str, texts: Iterable[str]) -> None:
    _remove(root, name)
    kept = list(dict.fromkeys(texts))
    if kept:
        bag = ET.SubElement(ET.SubElement(_description(root), name), _BAG)
        for text in kept:
            ET.SubElement(bag, _LI).text = text


def _set_marks(root: ET.Element, marks: Mapping[str, Mark]) -> None:
    _remove(root, _MARKS)
    if not marks:
        return
    bag = ET.SubElement(ET.SubElement(_description(root), _MARKS), _BAG)
    for name, mark in marks.items():
        item = ET.SubElement(bag, _LI, {f"{{{_RDF}}}parseType": "Resource"})
        confidence = "" if mark.confidence is None else f"{mark.confidence:.4f}"
        said = {"name": name, "state": mark.state, "confidence": confidence, "origin": mark.origin}
        for key, text in said.items():
            if text:
                ET.SubElement(item, f"{{{OURS}}}{key}").text = text


def _remove(root: ET.Element, name: str) -> None:
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag == name:
                parent.remove(child)
    for element in root.iter():
        element.attrib.pop(name, None)


def _description(root: ET.Element) -> ET.Element:
    """The element that holds properties, created if missing."""
    rdf = root if root.tag == f"{{{_RDF}}}RDF" else root.find(f".//{{{_RDF}}}RDF")
    if rdf is None:
        rdf = ET.SubElement(root, f"{{{_RDF}}}RDF")
    described: Sequence[ET.Element] = rdf.findall(f"{{{_RDF}}}Description")
    return described[0] if described else ET.SubElement(rdf, f"{{{_RDF}}}Description", {_ABOUT: ""})


def is_bare(packet: bytes) -> bool:
    return all(
        not len(description) and set(description.attrib) <= {_ABOUT}
        for description in _parsed(packet).iter(f"{{{_RDF}}}Description")
    )
