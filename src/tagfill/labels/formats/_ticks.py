"""Values of table entries: present, absent, unknown, or not a label."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Literal

from tagfill.errors import enumerated
from tagfill.image_files import RAW_SUFFIXES, SUFFIXES
from tagfill.labels.table import NEGATIVE, POSITIVE, UNKNOWN

_YES = (
    "1 x + ✓ ✔ ☑ ✅ ☒ √ • ● ■ ◼ ★ ○ ◯ ⭕ 👍 [x] 100% yes y true t on checked selected positive"
    " pos present ja j wahr vorhanden oui vrai sí si verdadero"
    " vero sim verdadeiro waar tak prawda да так истина 是 有 はい detected evet igen ano"
    " ναι ya có כן نعم 예 네"  # noqa: RUF001
)
_NO = (
    "0 ✗ ✘ ❌ ☐ 👎 0% no n false f off unchecked negative neg absent"
    " nein falsch non faux falso não nao nee onwaar nie"
    " fałsz нет ні ложь 否 无 無 いいえ 不是 没有 not_present not_detected nicht_vorhanden"
    " hayır nem ne όχι tidak không לא لا 아니오 아니요"  # noqa: RUF001
)
_OPEN = (
    "? na n/a <na> n.a. k.a. #n/a #nv nan null none (null) (blank) \\n unknown unbekannt inconnu"
)
_DOUBTS = """
uncertain unsure unclear maybe perhaps possible possibly not_sure not_mentioned not_assessed
not_stated don't_know vielleicht unsicher unklar weiß_nicht nicht_beurteilt incertain peut-être
indeterminate inconclusive equivocal not_evaluated cannot_tell can't_tell ne_sait_pas no_sé não_sei
non_so nie_wiem не_знаю 不确定 不明 nem_tudom nevím
"""
_DOUBTFUL = frozenset(word.replace("_", " ") for word in _DOUBTS.split())
"""What people write who looked and did not know, or did not look."""
TICKS: dict[str, int] = {
    "": UNKNOWN,
    **dict.fromkeys(_YES.split(), POSITIVE),
    **dict.fromkeys([*(word.replace("_", " ") for word in _NO.split()), "[ ]"], NEGATIVE),
    **dict.fromkeys(_OPEN.split(), UNKNOWN),
}
"""Label of every accepted word, ignoring blanks and case. Nothing else is a label."""
MINUS_BESIDE_ZERO = (
    "{0} and 0 cannot both mean absent: --absent unknown reads {0} as unknown and 0 as absent,"
    " --zeros unknown reads 0 as unknown and {0} as absent"
)
MINUS_REMEDY = (
    "{} may mean absent or unknown: write 0 for absent, nothing for unknown, or say it for the"
    " whole file with --absent negative or --absent unknown"
)
REMEDY = "1, x or yes is positive, 0 or no negative, an empty entry unknown"

_AS_EMOJI = "\ufe0f"
"""What some programs write after a tick mark."""
_DECIMAL = re.compile(r"([01])[.,]0+")
_LONGEST_SUM = 40
_SUM_WORDS = (
    "total totals sum sums subtotal count counts mean average summe summen gesamt gesamtsumme"
    " insgesamt zwischensumme anzahl mittelwert durchschnitt"
)
_SUMS = frozenset(_SUM_WORDS.split())
_IN_SUMS = tuple(w for w in _SUMS if not any(part in w for part in _SUMS - {w}))
"""What every word for a sum contains."""
_COUNTED = {"images", "photos", "pictures", "files", "fotos", "bilder", "dateien"}
"""What people count."""
_WORDS = re.compile(r"[^\s:=()]+")

ColumnKind = Literal["empty", "tick", "image", "number", "date", "size", "text"]

_ENDINGS = "|".join(suffix[1:] for suffix in sorted(SUFFIXES | RAW_SUFFIXES))
_IMAGE = re.compile(
    rf"\S.*\.(?:{_ENDINGS})(?: \(https?://\S+\))?|\w+://\S+\.(?:{_ENDINGS})[?#]\S*", re.I | re.S
)
"""A file, also with the address that Airtable writes behind it, or an address with a query."""
_NUMBER = re.compile(r"[-+]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:e[-+]?\d+)?\s?%?", re.IGNORECASE)
_DATE = re.compile(
    r"(?:\d{4}[-:./]\d{1,2}[-:./]\d{1,2}|\d{1,2}[./-]\d{1,2}[./-]\d{2,4})(?:[T ,].*)?"
    r"|\d{1,2}:\d{2}(?::\d{2})?(?:\s?[ap]m)?",
    re.IGNORECASE,
)
_SIZE = re.compile(r"\d+(?:[.,]\d+)?\s?(?:bytes|[kmg]?i?b|px|mm|cm|dpi|s)|\d+\s?[x×]\s?\d+", re.I)  # noqa: RUF001


def code_of(text: str) -> int | None:
    """The label an entry states; ``None`` if it states none."""
    code = TICKS.get(text)
    if code is not None:
        return code
    plain = text.strip().removesuffix(_AS_EMOJI).lower()
    plain = str(int(plain)) if len(plain) == 1 and plain.isdecimal() else plain  # of any script
    decimal = _DECIMAL.fullmatch(plain)
    if plain in _DOUBTFUL or (plain.endswith("?") and code_of(plain[:-1]) is not None):
        return UNKNOWN
    return TICKS.get(decimal[1] if decimal else plain)


def is_image(text: str) -> bool:
    """Whether a text is the name of an image file, or an address that ends in one."""
    return _IMAGE.fullmatch(text.strip()) is not None


def is_sum(image: str) -> bool:
    """Whether a row is called a sum where images have names.

    >>> is_sum("Total"), is_sum("Summe: 120 Fotos"), is_sum("total.jpg"), is_sum("Grand total")
    (True, True, False, True)
    """
    if len(image) > _LONGEST_SUM:
        return False
    words = _WORDS.findall(image.lower())
    plain = [word for word in words if word not in _COUNTED and not word.isdecimal()]
    first = "" if plain == words else plain[:1]
    return 0 < len(plain) <= 2 and not _SUMS.isdisjoint([plain[-1], *first])


def any_sum(images: Sequence[str]) -> bool:
    """Whether a row is called a sum; of very many names, most are ruled out together."""
    text = "\n".join(images).lower()
    return any(part in text for part in _IN_SUMS) and any(map(is_sum, images))


def sums_possible(images: Sequence[str]) -> bool:
    """Whether images are called like files or numbers, so that words are none."""
    named = sum(kind_of(image) in ("image", "number", "tick") for image in images)
    return 2 * named >= len(images) > 0


@lru_cache(maxsize=4096)
def kind_of(text: str) -> ColumnKind:
    plain = text.strip()
    code = code_of(plain)
    if code is not None:
        return "tick" if plain else "empty"
    if is_image(plain):
        return "image"
    for kind, pattern in (("number", _NUMBER), ("date", _DATE), ("size", _SIZE)):
        if pattern.fullmatch(plain):
            return kind  # type: ignore[return-value]
    return "text"


def is_share(text: str, most: float = 1) -> bool:
    """Whether a text is a number between 0 and 1 (or another one), or a percentage."""
    try:
        return 0 <= float(text.rstrip("% ").replace(",", ".")) <= (100 if "%" in text else most)
    except ValueError:
        return False


def column_kind(texts: Iterable[str]) -> ColumnKind:
    """The kind of most entries of a column; a tick only if there is nothing else."""
    kinds = Counter[ColumnKind]()
    for text, times in Counter(texts).items():
        kinds[kind_of(text)] += times
    del kinds["empty"]
    if not kinds:
        return "empty"
    ranked = sorted(kinds, key=lambda kind: (kinds[kind], kind))
    mixed = len(ranked) > 1 and kinds["tick"] < 0.5 * kinds.total()
    return ranked[-2] if ranked[-1] == "tick" and mixed else ranked[-1]


def examples_text(examples: Sequence[tuple[int | None, str]]) -> str:
    """Examples of texts with their rows, as part of a sentence."""
    shown = [quoted(text) + ("" if row is None else f" (row {row})") for row, text in examples]
    return enumerated(shown)


def quoted(text: object, longest: int = 60) -> str:
    """A text in quotes, cut where it is long."""
    shown = repr(text[: 2 * longest]) if isinstance(text, str) else repr(text)
    return shown if len(shown) <= longest + 2 else shown[:longest] + "...'"
