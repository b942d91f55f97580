"""Columns beside tags that may change what the tags say: such tables are refused."""

from __future__ import annotations

import re
from collections.abc import Collection

from tagfill.errors import TagfillError
from tagfill.labels.formats._columns import Columns
from tagfill.labels.formats._names import is_certainty_name, plain_name
from tagfill.labels.formats._refusals import answered_names
from tagfill.labels.formats._tags import split_tags
from tagfill.labels.formats._ticks import code_of, is_share, quoted
from tagfill.labels.table import UNKNOWN

_FOR = frozenset({"yes", "agree", "agreed", "upvotes", "positive", "ja", "oui"})
_AGAINST = frozenset({"no", "disagree", "disagreed", "downvotes", "negative", "nein", "non"})
_MOST_CLASSES = 50
_RATER = re.compile(
    r"(^|[\s_.-])(?:r|rater|ann|annotator|reader|expert|coder|reviewer)[\s_.-]?\d+(?:$|[\s_.-])",
    re.IGNORECASE,
)
"""The part of a name that says who labeled."""
_CODED = re.compile(r"(?<![-\w.])([01])\s*(?:=|:|means)\s*(?!none\b)([^\W\d]+(?: \w+)*)", re.I)
"""What 1 or 0 mean, as a legend says it."""
_NOT_JUDGED = re.compile(
    r"(?:not (?:yet )?|un)(?:labell?ed|annotated|assessed|checked|reviewed|known)"
)


class Doubts(Columns):
    """Refuses tables whose rows do not say alone which tags an image has."""

    def refuse_guesses(self, used: Collection[int]) -> None:
        """Refuse tags beside numbers that say how sure somebody or a model is of them.

        Raises:
            TagfillError: a column that is not used holds such numbers.
        """
        for number in [] if self.names_models else sorted(set(self.rest).difference(used)):
            name = self.header[number].strip()
            texts = [part for text in self.sheet.column(number) for part in split_tags(text)]
            shares = (
                bool(texts)
                and all(is_share(text, 100) for text in texts)
                and self.kinds[number] != "tick"
            )
            lists = len(texts) > sum(map(bool, map(str.strip, self.sheet.column(number))))
            lists |= any(self._is_about(number, tags) for tags in used)
            if shares and is_certainty_name(name, lists=lists):
                raise self.refusal(
                    f"column {name!r} says how sure somebody or a model is of the tags, such as"
                    f" {texts[0]}; guesses are no labels",
                    f"keep the tags that you trust, then --ignore-columns {name!r}",
                )

    def _is_about(self, number: int, tags: int) -> bool:
        """Whether a column is called like one of tags and more: ``top 1 score``, ``top 1``."""
        tag, name = plain_name(self.header[tags]), plain_name(self.header[number])
        return tag != name and bool(tag) and name.startswith(tag)

    def refuse_votes(self, used: Collection[int]) -> None:
        """Refuse tags beside numbers of people who agreed with them and who did not.

        Raises:
            TagfillError: two columns that are not used hold such numbers.
        """
        votes = []
        for words in (_FOR, _AGAINST):
            for number in sorted(set(self.of_kind("number", "tick")).difference(used)):
                named = words.intersection(re.split(r"[\s_.-]+", self.header[number].lower()))
                if named and any(code_of(text) is None for text in self.sheet.column(number)):
                    votes.append(number)
                    break
        if len(votes) > 1:
            raise self.refusal(
                f"{self._names(votes)} say how many agreed with the tag of a row, and how many"
                " did not",
                "write 1 or 0 for each row in a column called 'value'",
            )

    def refuse_other_codes(self) -> None:
        """Refuse a table whose header, or what stands above it, says that 1 is no or 0 is yes.

        Raises:
            TagfillError: it says so.
        """
        above = [text for fields in self.sheet.above for text in fields]
        for text in above if self.options.zeros == "negative" else ():
            for digit, word in _CODED.findall(text):
                code = UNKNOWN if _NOT_JUDGED.match(word.lower()) else code_of(word)
                if code not in (None, int(digit)):
                    raise self.refusal(
                        f"{quoted(text.strip())} says that {digit} is {word!r}",
                        "write 1 for present, 0 for absent and nothing for unknown, or say"
                        " --zeros unknown if 0 is unknown",
                    )

    def refuse_shared_classes(self) -> None:
        """Refuse columns of one class by several people, or for its yes and no.

        Raises:
            TagfillError: several columns have one name but for the person, or for yes and no.
        """
        columns: dict[str, list[int]] = {}
        named = [number for number in self.rest if _RATER.search(self.header[number].strip())]
        for number in set(named).intersection(self.ticked() if named else ()):
            name = _RATER.sub(r"\1", self.header[number].strip())
            columns.setdefault(name, []).append(number)
        denied = list(answered_names(self.header[number] for number in self.rest).values())
        if len(denied) > 1:
            raise self.refusal(
                f"columns {denied[0]!r} and {denied[1]!r} say no where others say yes",
                "write one column per class, with yes or no in it; --classes keeps them",
            )
        several = [
            sorted(numbers) for name, numbers in columns.items() if name and len(numbers) > 1
        ]
        if len(several) > 1:
            raise self.refusal(
                f"{self._names(several[0])} are what several people say of one class",
                "write a row for each image and person, with a column 'rater'; --classes keeps"
                " them as they are",
            )

    def refuse_ids_with_classes(self) -> None:
        """Refuse values of ids that end in the names of classes.

        Raises:
            TagfillError: all ids that begin alike end in the same few words.
        """
        parts = [text.strip().rpartition("_")[::2] for text in self.sheet.column(self.image)]
        begins, ends = (set(texts) for texts in zip(*parts, strict=True))
        several = len(begins) > 1 and 1 < len(ends) <= _MOST_CLASSES and "" not in begins
        whole = 10 * len(set(parts)) >= 9 * len(begins) * len(ends)
        if several and whole and not any(map(str.isdecimal, ends)):
            raise self.refusal(
                f"ids such as {'_'.join(parts[0])!r} end in the names of classes",
                "write columns image, label and value",
            )

    def refusal(self, message: str, remedy: str | None = None) -> TagfillError:
        """The error that ends reading, at the header."""
        row = self.sheet.header_row
        return TagfillError(message, file=self.sheet.path, row=row, remedy=remedy)
