"""Image ids: paths below the image folder, with forward slashes, whatever the source wrote."""

from __future__ import annotations

import os
import posixpath
import re
import string
import unicodedata
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute

from tagfill.errors import counted
from tagfill.image_files import OtherSpellings, find_image, find_images, walk_folders
from tagfill.labels.formats.base import Source

_URL = r"^[A-Za-z][\w+.-]*://"
_SEVERAL = r"(?i:\.(?:jpe?g|png|webp|tiff?|gif|bmp)\s*[;|,]\s*\S+\.)"
_BETWEEN = r"(?i:(?<=\.jpg|\.png|\.gif|\.bmp|\.tif)|(?<=\.jpeg|\.webp|\.tiff))\s*[;|,]\s*"
_SHOWN = (
    r"^\d(?:[.,]\d+)?E\+\d+$|^\d{1,3}(?:,\d{3})+$"
    r"|^#(?:REF!|NAME\?|VALUE!|DIV/0!|NUM!|N/A|BEZUG!|WERT!|##+)$"
)
"""Numbers and errors as spreadsheets show them."""
_ODD = (
    r"^/|^\s|\s\z|^\z|^[A-Za-z]:[\\/]|\\|(?:^|/)\.{0,2}(?:/|\z)"
    rf"|{_SEVERAL}|{_SHOWN}"
)
_ENDING = r"\.[A-Za-z]\w{1,4}\s*(?:[?#].*|$)"
_ABSOLUTE = re.compile(r"/|[A-Za-z]:/")
_FOLDERS = ("images", "photos", "pictures", "img", "imgs", "fotos", "bilder", "jpegimages")
_LOOKED_FOR = 10
_UPLOAD = re.compile(r"(?:/data/)?upload/\d+/(?:[0-9a-f]{8}-)(.+)", re.DOTALL)
_AS_TEXT = re.compile(r"=\"([^\"]+)\"|'([^']+\.\w{3,4})|b'([^']+)'")
"""What spreadsheets write to keep an entry a text, and Python for one that is bytes."""
_WRAPPINGS = ("\n=", "\n'", ")\n", "\nfile://", "\n<", "](", "\nb'")
"""One of these is in a list of ids if any of them is not spelled as a path."""
_LINK = re.compile(
    r"!?\[[^\]]*\]\(([^()\s]+)\)|<(?:img|a)\b[^>]*?(?:src|href)=\"([^\"]+)\".*"
    r"|=(?:HYPERLINK|IMAGE)\(\"([^\"]+)\".*\)",
    re.IGNORECASE | re.DOTALL,
)
"""A picture or link of Markdown, of a web page, of a spreadsheet."""
_ATTACHED = re.compile(r"([^()]+\.\w{3,4}) \(https?://\S+\)")
_INVISIBLE = string.whitespace + "\u00a0\u2007\u202f\u3000\u200b\u200e\u200f\u2060\ufeff"


def is_text(name: str) -> bool:
    """Whether a name can be written: lone surrogates and NUL characters cannot."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in name


def plain_text(name: str) -> str:
    """A name without blanks and invisible characters around it."""
    return name.strip(_INVISIBLE)


def typed_text(name: str) -> str:
    """A name as people mean it: composed letters, single blanks between words, no soft hyphens."""
    return unicodedata.normalize("NFC", " ".join(plain_text(name).replace("\u00ad", "").split()))


def plain_classes(names: Sequence[str], source: Source) -> tuple[str, ...]:
    """Class names that can be written; others are errors and are escaped."""
    bad = [name for name in names if not is_text(name)]
    if bad:
        source.error(f"class {bad[0]!r} is not text")
    return tuple(name if is_text(name) else ascii(name) for name in names)


def images_in(text: str) -> list[str]:
    """The images that an entry names.

    >>> images_in("a.jpg; b.jpg"), images_in("me, you.jpg")
    (['a.jpg', 'b.jpg'], ['me, you.jpg'])
    """
    if not re.search(_SEVERAL, text):
        return [text]
    return [name.strip() for name in re.split(_BETWEEN, text) if name.strip()]


def _as_array(images: Sequence[str]) -> pa.Array:
    joined = "\0".join([*images, ""]).encode()
    ends = np.flatnonzero(np.frombuffer(joined, np.uint8) == 0) - np.arange(len(images))
    offsets, text = pa.py_buffer(np.concatenate([[0], ends])), joined.replace(b"\0", b"")
    # pa.array would import pandas, which takes longer than reading
    return pa.LargeStringArray.from_buffers(len(images), offsets, pa.py_buffer(text))


def odd_ids(images: Sequence[str]) -> list[int]:
    """Numbers of the ids that need attention: all but URLs and plain relative paths."""
    texts = _as_array(images)
    odd = pa.compute.match_substring_regex(texts, _ODD)
    address = pa.compute.match_substring_regex(texts, _URL)
    numbers: list[int] = pa.compute.indices_nonzero(pa.compute.and_not(odd, address)).to_pylist()
    return numbers


def _report_endings(images: Sequence[str], rows: Sequence[int | None], source: Source) -> None:
    """Warn of few ids without the ending of a file among many that have one."""
    named = pa.compute.match_substring_regex(_as_array(images), _ENDING)
    others: list[int] = pa.compute.indices_nonzero(pa.compute.invert(named)).to_pylist()
    if 0 < 10 * len(others) <= len(images):
        others = [number for number in others if not images[number].startswith("(no id")]
    if 0 < 10 * len(others) <= len(images):
        count = counted(len(others), "image id has", "image ids have")
        first = f"unlike the others, first {images[others[0]]!r}"
        source.warn(f"{count} no file ending, {first}: check for typos", rows[others[0]])


def clean_ids(
    images: Sequence[str], rows: Sequence[int | None], source: Source, root: Path | None
) -> tuple[list[str], Path | None]:
    """Bring ids into their simplest form; ids that leave the image folder are errors.

    An absolute id, or one with ``..`` seen from the label file, that lies inside ``root`` is made
    relative to it. Where all ids are absolute they are made relative to the folder they share;
    where an image folder is given, only if the images are found there. Else absolute ids are taken
    as the files with the same names, if all of them are found.

    Returns:
        The ids, and the image folder where it is known.
    """
    cleaned = _writable(_unwrapped(list(images)), rows, source)
    odd = odd_ids(cleaned)
    cleaned, root = _relative(cleaned, odd, source, root)
    respelled: list[int] = []
    for number in odd_ids(cleaned) if odd else []:
        image, row = cleaned[number], rows[number]
        simple = posixpath.normpath(image.strip().replace("\\", "/"))
        if not image.strip() or simple == ".":
            source.error("the image id is missing", row)
            cleaned[number] = f"(no id, record {number + 1})"
            continue
        if re.search(_SEVERAL, image):
            several = f"image id {image!r} names several images"
            source.error(several, row, remedy="write one row per image")
            continue
        if re.match(_SHOWN, image.strip()):
            shown = f"image id {image!r} is what a spreadsheet rounded, wrote with commas or shows"
            source.error(
                f"{shown} for an error",
                row,
                remedy="export the table again with the column of ids as text",
            )
            continue
        if _ABSOLUTE.match(simple) or simple.split("/", 1)[0] == "..":
            inside = _inside(simple, source.path, root)
            if inside is None:
                place = "outside the image folder" if root else "not below an image folder"
                source.error(
                    f"image id {image!r} is {place}",
                    row,
                    remedy="write ids relative to the image folder, or set that folder with"
                    " --images",
                )
            simple = inside or image
        if simple != image:
            cleaned[number] = simple
            respelled.append(number)
    if respelled:
        first = respelled[0]
        source.warn(
            f"{len(respelled)} image ids were respelled as plain paths below the image folder,"
            f" first {images[first]!r} as {cleaned[first]!r}",
            rows[first],
        )
    _report_endings(cleaned, rows, source)
    return cleaned, root


def find_root(source: Path, images: Sequence[str]) -> Path | None:
    """The folder beside a label file in which its first images lie.

    It is the file's own folder or one with a usual name; the file's own one, too, if the images
    lie somewhere below it or their names are spelled otherwise.
    """
    folder = source if source.is_dir() else source.parent
    place = next((place for place in _places(folder) if _lie_in(place, images)), None)
    if place is None and source.is_file():
        sample = list(islice(images, _LOOKED_FOR))
        there = sum(path is not None for path in find_images(folder, sample))
        return folder if 2 * there > len(sample) else None
    return place


def _places(folder: Path) -> list[Path]:
    _, folders, _ = next(walk_folders(folder), (folder, [], []))
    named = {name.lower(): folder / name for name in folders}
    return [folder, *(named[name] for name in _FOLDERS if name in named)]


def _lie_in(folder: Path, images: Sequence[str]) -> bool:
    """Whether a folder has most of the first images."""
    sample = list(islice(images, _LOOKED_FOR))
    there = sum(find_image(folder, image) is not None for image in sample)
    return 2 * there > len(sample)


def uploaded_names(sources: Sequence[str]) -> list[str | None]:
    """The names that files had before they were uploaded to Label Studio; ``None`` for others.

    The letters that it puts before the name are taken off, unless two uploads have the same name.
    """
    uploads = [_UPLOAD.fullmatch(source) for source in sources]
    times = Counter(match[1] for match in {m[0]: m for m in uploads if m}.values())
    return [unquote(match[1]) if match and times[match[1]] == 1 else None for match in uploads]


def _unwrapped(images: list[str]) -> list[str]:
    """The paths in what programs wrote; of very many images, most cases are ruled out together."""
    text = "\n".join(["", *images, ""]).lower()
    if any(mark in text for mark in _WRAPPINGS):
        images = list(map(_local, images))
    if "upload/" in text:
        images = [new or old for new, old in zip(uploaded_names(images), images, strict=True)]
    return images


def _local(image: str) -> str:
    """The path that an address of a local file names, or the file in what a program wrote.

    >>> _local("file:///C:/my%20photos/a.jpg"), _local("file:///home/a.jpg"), _local("a.jpg")
    ('C:/my photos/a.jpg', '/home/a.jpg', 'a.jpg')
    >>> _local("a.jpg (https://v5.airtableusercontent.com/v3/u/29)"), _local('="a.jpg"')
    ('a.jpg', 'a.jpg')
    >>> _local("![a cat](a.jpg)"), _local('<img src="b.jpg" width="9">')
    ('a.jpg', 'b.jpg')
    """
    if image[:1] in ("!", "[", "<", "=") and (link := _LINK.fullmatch(image.strip())):
        return link[1] or link[2] or link[3]
    if image[:1] in ("=", "'", "b") and (quoted := _AS_TEXT.fullmatch(image)):
        return quoted[1] or quoted[2] or quoted[3]
    if image.endswith(")") and (attached := _ATTACHED.fullmatch(image)):
        return attached[1]
    if image[:7].lower() != "file://":
        return image
    path = unquote(image[7:])
    return path[1:] if _ABSOLUTE.match(path[1:]) else path


def _writable(images: Sequence[str], rows: Sequence[int | None], source: Source) -> list[str]:
    """Ids that can be written; the others are reported and escaped."""
    cleaned = list(images)
    if is_text("\n".join(cleaned)):
        return cleaned
    for number, image in enumerate(cleaned):
        if not is_text(image):
            source.error(f"image id {image!r} is not text", rows[number])
            cleaned[number] = ascii(image)[1:-1].replace("\\", "%")
    return cleaned


def _relative(
    images: list[str], odd: list[int], source: Source, root: Path | None
) -> tuple[list[str], Path | None]:
    """Absolute ids relative to the folder they share, or to a folder that has the images."""
    simple = {number: images[number].replace("\\", "/") for number in odd}
    absolute = {number: image for number, image in simple.items() if _ABSOLUTE.match(image)}
    inside = (_inside(i, source.path, root) for i in islice(absolute.values(), _LOOKED_FOR))
    if not absolute or any(inside):
        return images, root
    places = [root] if root is not None else _places(source.path.parent)
    if len(absolute) == len(images):
        first, last = (
            image.split("/")[:-1] for image in (min(absolute.values()), max(absolute.values()))
        )
        shared = posixpath.commonprefix([first, last])
        folder = "/".join(shared)
        short = [image[len(folder) + 1 :] for image in absolute.values()]
        bases = places if root is not None else [Path(folder), *places]
        base = next((place for place in bases if _lie_in(place, short)), None)
        if folder and (base is not None or root is None):
            source.warn(f"image ids are absolute; they were taken relative to {folder}")
            return short, base
    for place in places:
        ids = _by_name(images, absolute, place)
        if ids is not None:
            source.warn(
                f"{len(absolute):,} image ids are absolute; they were taken as the files of the"
                f" same name in {place}"
            )
            return ids, place
    return images, root


def _by_name(images: list[str], absolute: dict[int, str], place: Path) -> list[str] | None:
    """Absolute ids as the files of the same name and last folders, if all are in one place."""
    others = OtherSpellings(place)
    files = {number: others.find(image) for number, image in absolute.items()}
    if None in files.values() or len(set(files.values())) < len(set(absolute.values())):
        return None
    found = {number: str(file) for number, file in files.items()}
    ids = [os.path.relpath(found.get(n, place / i), place) for n, i in enumerate(images)]
    return [Path(image).as_posix() for image in ids]


def _inside(simple: str, source: Path, root: Path | None) -> str | None:
    """The path below the image folder; ``None`` if it lies elsewhere."""
    if root is None:
        return None
    full, base = os.path.abspath(source.parent / simple), os.path.abspath(root)
    if os.path.commonpath([full, base]) != base or full == base:
        return None
    return Path(os.path.relpath(full, base)).as_posix()
