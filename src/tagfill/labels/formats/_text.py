"""Text files: their encoding, heads for detection, CSV records with their line numbers."""

from __future__ import annotations

import codecs
import csv
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import IO

import charset_normalizer

from tagfill.errors import TagfillError
from tagfill.labels.formats._ticks import is_image

UTF8 = "utf-8-sig"
"""UTF-8 with or without byte order mark."""

_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_CHUNK = 1 << 20
_SAMPLE = 1 << 16
_MULTIBYTE = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe1-\xec\xee\xef][\x80-\xbf]{2}|[\xf1-\xf3][\x80-\xbf]{3}"
)
_OTHER_SCRIPT = re.compile(rb"[\xc0-\xff]{4}")
"""Words of another alphabet: Western words never have four accents in a row."""
_EAST_ASIAN = {  # the letters that make up nearly all words, first those of one script alone
    "cp932": rb"[\x88-\x97][\x40-\x7e\x80-\xfc]|\x81[\x41-\xac]|\x82[\x9f-\xf1]|\x83[\x40-\x96]",
    "gb18030": rb"[\xb0-\xd7][\xa1-\xfe]|[\xa1\xa3-\xa5][\xa1-\xfe]",
}
_KOREAN_TOO = re.compile(rb"(?:[\xa1-\xa3\xb0-\xc8][\xa1-\xfe]|[\x00-\x7f])*")
"""What may be Korean as well as Chinese."""
_HALF_WIDE = re.compile("[\uff61-\uff9f]{3}")
_KANA = re.compile("[\u3041-\u30fa]")
"""Japanese letters, which Chinese text lacks."""
_NO_LETTER = rb"[^A-Za-z\x80-\xff]"
_BETWEEN_WORDS = re.compile(rb"[,;\t\r\n\"/]|\xa3[\xac\xbb]")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_WESTERN = frozenset("ÄÖÜäöüßÀÁÂÃÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕØÙÚÛÝàáâãåæçèéêëìíîïñòóôõøùúûýÿŒœŠšŽž")
_WESTERN_MARKS = frozenset("\xa0«»“”„‘’‚–—…€£§©®°²³´·½¼¾¡¿×ªº•™")  # noqa: RUF001
_MISPLACED = re.compile(r"[A-Za-z](?:[À-ÖØ-ÝŠŽŒ]|[^\w\s\x00-\x7f’–—·])[a-z]")  # noqa: RUF001
"""Capitals and marks inside words, which text in another encoding seems to have."""
_WESTERN_CODES = ("cp1252", "mac_roman", "cp850")
_OTHERS = [
    "cp1250",
    "cp1251",
    "cp1253",
    "cp1254",
    "mac_roman",
    "cp850",
    "cp932",
    "gb18030",
    "koi8_r",
]
_TO_UTF8 = "save it as UTF-8, or convert it: iconv -f ITS_ENCODING -t utf-8 OLD > NEW"


def encoding_of(path: Path) -> str | None:
    """The encoding of a text file; ``None`` if it is not text.

    Raises:
        TagfillError: it is text in several encodings, or in an unknown one.
    """
    state = path.stat()
    return _encoding_of(path, state.st_size, state.st_mtime_ns)


def encoding_note(path: Path) -> str | None:
    """A sentence on an encoding other than UTF-8."""
    name = encoding_of(path)
    if name in (None, UTF8):
        return None
    spoken = {"cp1252": "Windows-1252 (Latin-1)", "mac_roman": "Mac Roman", "cp850": "DOS (CP850)"}
    shown = spoken.get(str(name), str(name).upper())
    return f"the text is {shown}, not UTF-8, and was read as such"


@lru_cache(maxsize=64)
def _encoding_of(path: Path, size: int, modified: int) -> str | None:
    with path.open("rb") as file:
        head = file.read(_CHUNK)
    for mark, name in _MARKS.items():
        if head.startswith(mark):
            return name if _decodes(path, name) else _refuse(path)
    if b"\0" in head:
        return _wide_without_mark(path, head)
    if _decodes(path, "utf-8"):
        return UTF8
    return _single_byte(path)


def _decodes(path: Path, name: str) -> bool:
    decoder = codecs.getincrementaldecoder(name)()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                decoder.decode(chunk)
        decoder.decode(b"", final=True)
    except UnicodeError:
        return False
    return True


def _wide_without_mark(path: Path, head: bytes) -> str | None:
    """Detect UTF-16 by a zero in every second byte of plain letters."""
    even, odd = head[0::2].count(0), head[1::2].count(0)
    name = "utf-16-le" if odd > even else "utf-16-be"
    plain = max(even, odd) > 0.4 * len(head) / 2 and min(even, odd) < 0.02 * len(head) / 2
    return name if plain and _decodes(path, name) else None


def _single_byte(path: Path) -> str | None:
    sample = _lines_beyond_ascii(path)
    if _CONTROL.search(sample):
        return None
    east_asian = _east_asian(sample)
    if east_asian and _decodes(path, east_asian):
        return east_asian
    if _MULTIBYTE.search(sample):
        return _refuse(path)
    western = [name for name in _WESTERN_CODES if _is_western(sample.decode(name, "replace"))]
    if western and not _OTHER_SCRIPT.search(sample) and _decodes(path, western[0]):
        return western[0]
    guess = charset_normalizer.from_bytes(sample, cp_isolation=[*_OTHERS, "cp1252"]).best()
    name = None if guess is None else guess.encoding
    if name == "cp932" and _HALF_WIDE.search(sample.decode(name, "replace")):
        name = None  # words of another alphabet
    if name is not None and _decodes(path, name):
        return name
    return _refuse(path)


def _east_asian(sample: bytes) -> str | None:
    """Whether nearly all words beyond ASCII are of usual Japanese or Chinese letters alone.

    Western words have plain letters around those with accents.
    """
    words = [word for word in _BETWEEN_WORDS.split(sample) if not word.isascii()]
    for name, letters in _EAST_ASIAN.items():
        pattern = rb"%b*(?:(?:%b)+%b*)+(?:\.\w+)?" % (_NO_LETTER, letters, _NO_LETTER)
        fitting = sum(re.fullmatch(pattern, word) is not None for word in words)
        if 4 * fitting >= 3 * len(words):
            if name == "gb18030" and _KANA.search(sample.decode(name, "replace")):
                return "euc_jp"
            return None if name == "gb18030" and _KOREAN_TOO.fullmatch(sample) else name
    return None


def _is_western(text: str) -> bool:
    """Whether all letters are Western and in places where words have them."""
    beyond = {letter for letter in text if not letter.isascii()}
    fits = beyond <= _WESTERN | _WESTERN_MARKS and bool(beyond & _WESTERN)
    return fits and _MISPLACED.search(text) is None


def _lines_beyond_ascii(path: Path) -> bytes:
    lines: list[bytes] = []
    size = 0
    with path.open("rb") as file:
        while size < _SAMPLE and (line := file.readline(_SAMPLE)):
            if not line.isascii():
                lines.append(line)
                size += len(line)
    return b"".join(lines)


def _refuse(path: Path) -> str | None:
    raise encoding_error(path)


def encoding_error(path: Path) -> TagfillError:
    """Where a file stops being UTF-8."""
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                return TagfillError(
                    f"the text is not UTF-8 (byte 0x{line[error.start]:02x}), and its"
                    " encoding is unclear",
                    file=path,
                    row=number,
                    remedy=_TO_UTF8,
                )
    return TagfillError("the text is not UTF-8", file=path, remedy=_TO_UTF8)


_HEAD = 1 << 20
TYPED = (":", "->", "-", "=>", "=", "–", "—", "→")  # noqa: RUF001
"""Marks after the image in lists that people type, as in ``a.jpg -> cat, dog``."""

COLUMNS = "  "
"""Blanks that line up columns."""
_BULLET = re.compile(r"\A\s*(?:[-*•]|\d+[.)])\s+")


def open_text(path: Path, newline: str | None = None) -> IO[str]:
    return path.open(encoding=encoding_of(path) or UTF8, newline=newline)


def head(path: Path) -> str:
    """The first megabyte of a text file, without byte order mark; '' for folders and binaries."""
    if not path.is_file() or encoding_of(path) is None:
        return ""
    with open_text(path, newline="") as file:
        return file.read(_HEAD)


def read_text(path: Path) -> str:
    """All of a text file.

    Raises:
        TagfillError: its bytes are no text.
    """
    if encoding_of(path) is None:
        raise TagfillError("is not a text file", file=path)
    with open_text(path) as file:
        return file.read()


def csv_records(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """The records of a CSV file, header included, each with the line on which it starts.

    Raises:
        TagfillError: a quote in it is never closed, or its text cannot be decoded.
    """
    quote = "'" if has_single_quotes(path, delimiter) else '"'
    if delimiter in TYPED:
        after = re.compile(rf"\s{'*' if delimiter == ':' else '+'}{delimiter}\s+")
        for row, line in text_lines(path):
            fields = after.split(_BULLET.sub("", line), maxsplit=1)
            yield row, [text.strip().strip('"') for text in fields]
        return
    if delimiter == COLUMNS:
        yield from ((row, re.split(r"\s{2,}", line.strip())) for row, line in text_lines(path))
        return
    with open_text(path, newline="") as file:
        yield from records_of(file, delimiter, path, quote=quote)


def has_single_quotes(path: Path, delimiter: str) -> bool:
    """Whether the names in the header are in single quotes, as databases write them."""
    names = head(path).lstrip().split("\n", 1)[0].rstrip().split(delimiter)
    return len(names) > 1 and all(re.fullmatch(r"\s*'[^']*'\s*", name) for name in names)


def records_of(
    lines: Iterable[str], delimiter: str, path: Path, line: int = 1, quote: str = '"'
) -> Iterator[tuple[int, list[str]]]:
    """The records of some lines of a CSV file, of which the first has the given number."""
    consumed: list[str] = []

    def watched() -> Iterator[str]:
        for text in lines:
            consumed.append(text)
            yield text

    reader = csv.reader(watched(), delimiter=delimiter, quotechar=quote, skipinitialspace=True)
    before = line
    try:
        for fields in reader:
            if len(consumed) > 1 and _swallowed(consumed, delimiter):
                raise csv.Error("a text in quotes runs on over other rows")
            consumed.clear()
            # a first line sep=; tells Excel the delimiter
            hint = line == 1 and delimiter.join(fields).lower() == f"sep={delimiter}"
            if fields and not hint:
                yield line, fields
            line = before + reader.line_num
    except UnicodeDecodeError:
        raise encoding_error(path) from None
    except csv.Error as error:
        raise TagfillError(
            f"not readable as CSV ({error})",
            file=path,
            row=line,
            remedy="is a quote opened there and never closed?",
        ) from None


def _swallowed(lines: Sequence[str], delimiter: str) -> bool:
    """Whether a record of several lines holds others, since a quote in it is never closed."""
    for text in lines[1:]:
        image, mark, _ = text.partition(delimiter)
        if mark and is_image(image):
            return True
    try:
        list(csv.reader(lines, delimiter=delimiter, strict=True))
    except csv.Error as error:
        return "end of data" in str(error)
    return False


def text_lines(path: Path) -> Iterator[tuple[int, str]]:
    with open_text(path, newline="\n") as file:
        try:
            for number, line in enumerate(file, 1):
                if line.strip():
                    yield number, line
        except UnicodeDecodeError:
            raise encoding_error(path) from None
