"""Usual names of the columns of label tables, in English and German."""

from __future__ import annotations

import re
from collections.abc import Iterable


def _words(text: str) -> list[str]:
    return text.split()


SPLIT = "split"
VALUE_NAMES = frozenset(
    _words(
        "value wert present ispresent vorhanden correct iscorrect richtig korrekt applies"
        " zutreffend trifftzu visible sichtbar answer antwort"
    )
)
"""Whether the tag of the row is there."""
LABEL_NAMES = frozenset(_words("label class tag category klasse kategorie etikett"))
"""One tag per row."""
TAGS_NAMES = frozenset(
    _words(
        "tags labels keywords keyword subject subjects classes categories taglist tagslist"
        " keywordlist schlagwoerter schlagworte schlagwort stichwoerter stichworte stichwort"
        " klassen kategorien etiketten xpkeywords lastkeywordxmp lastkeywordiptc"
        " hierarchicalsubject"
    )
)
"""All tags of an image in one entry."""
HIERARCHY_NAMES = frozenset({"hierarchicalsubject", "tagslist", "lastkeywordxmp"})
"""Entries whose tags are paths such as ``animal|bird``."""
_IMAGE_NAMES = frozenset(
    _words(
        "image images imageid imagename imagefile imagefilename imagepath img imgname imgpath"
        " file files filename filepath path photo photos photoid photoname photofile photopath"
        " picture pictures picturename sourcefile"
        " datei dateiname dateipfad pfad bild bilder bildname bilddatei bildpfad foto fotos"
        " fotoname fotodatei quelldatei"
    )
)
_ABOUT_FILES = frozenset(
    _words(
        "rating stars bewertung sterne date datum time zeit datetime createdate datetimeoriginal"
        " width height breite hoehe size filesize groesse dateigroesse id index nr nummer number"
        " title titel caption description beschreibung comment comments kommentar note"
        " notes notiz bemerkung remark remarks"
        " author creator artist autor fotograf photographer copyright license url link camera"
        " kamera make model lens iso orientation latitude longitude lat lon gps location ort"
        " md5 sha1 sha256 hash created modified"
    )
)
"""Columns that describe a file but are not tags."""
_GROUP = re.compile(r"^\s*(?:\[[^\]]*\]|[A-Za-z0-9-]+:(?=\S))\s*")
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
_NUMBERED = re.compile(r"^(.*?\D)[\s_.-]*\d{1,3}$")


def plain_name(name: str) -> str:
    """A column's name without case, blanks, punctuation and the group exiftool writes before it.

    >>> plain_name("XMP:Subject"), plain_name("File Name"), plain_name("Schlagwörter")
    ('subject', 'filename', 'schlagwoerter')
    """
    text = _GROUP.sub("", name).strip().lower().translate(_UMLAUTS)
    return "".join(letter for letter in text if letter.isalnum())


def is_image_name(name: str) -> bool:
    """Whether a column of that name usually holds image files."""
    return plain_name(name) in _IMAGE_NAMES


def is_tags_name(name: str) -> bool:
    """Whether a column of that name usually holds lists of tags: tags, keywords 2 ..."""
    return _numbered(name) in TAGS_NAMES or (
        _numbered(name) in LABEL_NAMES and _numbered(name) != plain_name(name)
    )


def is_label_name(name: str) -> bool:
    """Whether a column of that name usually holds one tag."""
    return plain_name(name) in LABEL_NAMES


def has_label_word(name: str) -> bool:
    """Whether a word of a name is one for tags: ``primary tag``, ``label_left``."""
    words = (plain_name(word) for word in re.split(r"[\s_.-]+", name))
    return any(word in LABEL_NAMES or word in TAGS_NAMES for word in words)


def is_about_file(name: str) -> bool:
    """Whether a column of that name usually describes the file, not its content."""
    return plain_name(name) in _ABOUT_FILES


def free_image_name(taken: Iterable[str]) -> str:
    """A common name for the image column that is not a class."""
    lowered = {name.lower() for name in taken}
    usual = ("image", "file_name", "filename", "path", "image_id", "image_name")
    return next((name for name in usual if name not in lowered), "image id")


def _numbered(name: str) -> str:
    """The name without a trailing number: ``Keyword 3`` and ``tag_1``."""
    match = _NUMBERED.match(name.strip())
    return plain_name(match.group(1)) if match else plain_name(name)
