"""Usual names of the columns of label tables, in English, German and some in other languages."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

_LONG = 100
"""Texts of so many characters are not kept in memory."""
_GROUP = re.compile(r"^\s*(?:\[[^\]]*\]|[A-Za-z0-9-]+:(?=\S)|(?:Input|Answer)\.(?=\S))\s*")
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})


def plain_name(name: str) -> str:
    """A column's name without case, blanks, punctuation and what exiftool or MTurk write before it.

    >>> plain_name("XMP:Subject"), plain_name("Mots-clés"), plain_name("Schlagwörter")
    ('subject', 'motscles', 'schlagwoerter')
    """
    return _plain(name) if len(name) < _LONG else _plain.__wrapped__(name)


@lru_cache(maxsize=1 << 18)
def _plain(name: str) -> str:
    text = unicodedata.normalize("NFC", _GROUP.sub("", name)).strip().lower().translate(_UMLAUTS)
    return "".join(letter for letter in unicodedata.normalize("NFKD", text) if letter.isalnum())


def _words(text: str) -> frozenset[str]:
    return frozenset(map(plain_name, text.split()))


SPLIT = "split"
SPLIT_FLAGS = {
    **dict.fromkeys(("istrain", "istraining", "istrainingimage"), "train"),
    **dict.fromkeys(("isval", "isvalid", "isvalidation"), "val"),
    **dict.fromkeys(("istest", "istesting"), "test"),
}
"""Columns that say by yes or no whether an image is in a split, as fastai's and CUB's do."""
VALUE_NAMES = _words(
    "value wert present ispresent vorhanden correct iscorrect richtig korrekt applies"
    " zutreffend trifftzu visible sichtbar answer antwort occurrencestatus presence detected"
)
"""Whether the tag of the row is there."""
SCORE_NAMES = _words("confidence conf score probability prob certainty konfidenz")
"""How sure somebody is that it is."""
_SCORES_AFTER = ("confidence", "probability")
_CERTAINTIES = _words("confidence conf probability prob certainty konfidenz")
MACHINES = _words(
    "ai ki auto automatic machine model predicted prediction pred cv ml computervision"
)
_MACHINE = re.compile(rf"(?:^|[\s_.-])(?:{'|'.join(sorted(MACHINES))})(?:$|[\s_.-])", re.I | re.M)
TRUTHS = _words("true truth gt gold human manual label")
"""What stands in the name of a column beside a model's."""
SOURCE_NAMES = _words(
    "source origin method identifiedby classifiedby classificationmethod annotationtype labelsource"
    " tagsource quelle herkunft"
)
"""Who or what says it."""
STATUS_NAMES = _words("decision verdict review approval state")
"""Whether somebody accepted what a row says; also names that end in ``status``."""
REJECTED = frozenset({"rejected", "reject", "refused", "declined", "discarded", "abgelehnt"})
_ACCEPTED = frozenset({"approved", "approve", "accepted", "accept", "angenommen", "akzeptiert"})
REVIEWED = REJECTED | _ACCEPTED | {"submitted", "pending", "reviewed", "unreviewed", "open", "new"}
"""What columns say of rows that somebody reviews."""
REMOVED_NAMES = _words("isdeleted isrejected isremoved")
"""Whether somebody took it back."""
RATER_NAMES = _words(
    "annotator annotatorid rater raterid radid radiologist reader readerid workerid labeler"
    " labeller expertid username"
)
"""Who labeled the image, where several people label each."""
SHAPE_NAMES = _words("bbox box boxes boundingbox encodedpixels rle mask segmentation polygon")
"""Where things are, in numbers."""
LABEL_NAMES = _words(
    "label class tag category classname labelname tagname categoryname klasse kategorie etikett"
    " klassenname categorylabel etiqueta etiquette classe categorie categoria etichetta"
)
"""One tag per row."""
_SPECIES = (
    "commonname vernacularname scientificname speciesname speciesguess species taxonname taxon"
    " animal tierart tier art"
)
SPECIES_NAMES = tuple(_SPECIES.split())
"""One animal or plant per row; the more usual name first."""
RANKS = frozenset({"order", "family", "genus", "species"})
TAGS_NAMES = _words(
    "tags labels keywords keyword subject subjects classes categories taglist tagslist"
    " keywordlist schlagwoerter schlagworte schlagwort stichwoerter stichworte stichwort"
    " klassen kategorien etiketten xpkeywords lastkeywordxmp lastkeywordiptc"
    " hierarchicalsubject choice choices motscles motcle etiquettes etiquetas palabrasclave"
    " parolechiave etichette trefwoorden slowakluczowe теги ключевыеслова метки 标签 标签列表"
    " tagstring 关键词 關鍵字 標籤 タグ キーワード"
)
"""All tags of an image in one entry."""
HIERARCHY_NAMES = frozenset({"hierarchicalsubject", "tagslist", "lastkeywordxmp"})
"""Entries whose tags are paths such as ``animal|bird``."""
_IMAGE_NAMES = _words(
    "image images imageid imagename imagefile imagefilename imagepath img imgname imgpath"
    " file files filename filepath path photo photos photoid photoname photofile photopath"
    " picture pictures picturename sourcefile"
    " datei dateiname dateipfad pfad bild bilder bildname bilddatei bildpfad foto fotos"
    " fotoname fotodatei quelldatei imageindex imageurl photourl imagesrc mediaid mediafile"
    " fichier nomdufichier cheminimage archivo"
    " nombredearchivo imagen fichero arquivo imagem immagine nomefile afbeelding bestand"
    " bestandsnaam plik zdjecie файл имяфайла изображение фото 图片 图像 文件 文件名 圖片 檔名"
    " 画像 ファイル ファイル名"
)
_ABOUT_FILES = _words(
    "rating stars bewertung sterne date datum time zeit datetime createdate datetimeoriginal"
    " width height breite hoehe size filesize groesse dateigroesse id index nr nummer number"
    " title titel caption description beschreibung comment comments kommentar note"
    " notes notiz bemerkung remark remarks"
    " author creator artist autor fotograf photographer copyright license url link camera"
    " kamera make model lens sex gender geschlecht age alter iso orientation"
    " latitude longitude lat lon gps location ort"
    " md5 sha1 sha256 hash created modified createdat updatedat leadtime annotator annotationid"
    " favorite isfavorite hidden flagged deleteflag ispublic istrain istest isvalid fold kfold"
)
"""Columns that describe a file but are not tags."""
FOLDER_NAMES = _words(
    "folder foldername directory dir subfolder relativepath path filepath ordner verzeichnis pfad"
    " unterordner dossier carpeta cartella map"
)
"""Where a file is whose name stands in a column of its own."""
_DENIALS = _words(
    "negative negatives neg not no absent rejected refused excluded without"
    " negativ nicht abgelehnt ohne kein keine"
)
_ROW_NUMBERS = _words("id index nr no num nummer number row rowid zeile")
_NUMBERED = re.compile(r"^(.*?\D)[\s_.-]*\d{1,3}$")


def is_image_name(name: str) -> bool:
    return plain_name(name) in _IMAGE_NAMES


def is_tags_name(name: str) -> bool:
    """Whether a column of that name usually holds lists of tags: tags, keywords 2 ..."""
    return without_number(name) in TAGS_NAMES or (
        without_number(name) in LABEL_NAMES and without_number(name) != plain_name(name)
    )


def is_score_name(name: str) -> bool:
    """Whether a column says how sure somebody is: ``score``, ``label_confidence``."""
    return plain_name(name) in SCORE_NAMES or plain_name(name).endswith(_SCORES_AFTER)


def is_certainty_name(name: str, *, lists: bool = False) -> bool:
    """Whether a column says how sure a model is: ``confidences``, ``prob 1``, ``ai_score``.

    Args:
        name: of the column.
        lists: whether its entries are lists, so that each score is about one tag.
    """
    last = without_number(re.split(r"[\s_.-]+", re.sub(r"[\s_.-]+\d+$", "", name))[-1])
    last = last if last in SCORE_NAMES else last.removesuffix("s")
    return last in _CERTAINTIES or (last in SCORE_NAMES and (lists or is_machine_name(name)))


def words(name: str) -> list[str]:
    """The words of a name, without case and punctuation."""
    return [plain for word in re.split(r"[\s_.-]+", name) if (plain := plain_name(word))]


def is_machine_name(name: str) -> bool:
    """Whether a column is a model's: ``AI Keywords``, ``predicted_class``."""
    return not MACHINES.isdisjoint(words(name))


def any_machine_name(names: Iterable[str]) -> bool:
    """Whether one of very many columns may be a model's."""
    return _MACHINE.search("\n".join(names)) is not None


def is_status_name(name: str) -> bool:
    return plain_name(name) in STATUS_NAMES or plain_name(name).endswith("status")


def is_label_name(name: str) -> bool:
    return plain_name(name) in LABEL_NAMES


def names_tags(name: str) -> bool:
    """Whether a column or key of that name usually holds tags, one or several."""
    return is_tags_name(name) or is_label_name(name)


def has_label_word(name: str) -> bool:
    """Whether a word of a name is one for tags: ``primary tag``, ``label_left``."""
    words = (plain_name(word) for word in re.split(r"[\s_.-]+", name))
    return any(word in LABEL_NAMES or word in TAGS_NAMES for word in words)


def is_denial_name(name: str) -> bool:
    """Whether a column lists tags that are not there: ``negative tags``, ``absent``."""
    words = {plain_name(word) for word in re.split(r"[\s_.-]+", name)}
    return bool(words & _DENIALS) and (has_label_word(name) or words <= _DENIALS)


def may_number_rows(name: str) -> bool:
    """Whether a column of that name, or without a name, may number the rows."""
    plain = plain_name(name)
    return not plain or plain in _ROW_NUMBERS or name.strip().startswith("Unnamed:")


def is_about_file(name: str) -> bool:
    """Whether a column of that name usually describes the file, not its content."""
    return plain_name(name) in _ABOUT_FILES


def free_image_name(taken: Iterable[str]) -> str:
    """A common name for the image column that is not a class."""
    lowered = {name.lower() for name in taken}
    usual = ("image", "file_name", "filename", "path", "image_id", "image_name")
    return next((name for name in usual if name not in lowered), "image id")


def without_number(name: str) -> str:
    """The name without a trailing number: ``Keyword 3`` and ``tag_1``."""
    match = _NUMBERED.match(name.strip())
    return plain_name(match.group(1)) if match else plain_name(name)
