"""What a label format is: how to recognize it, read it and write it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from tagfill.errors import Problems, TagfillError
from tagfill.labels.dataset import Dataset

Absent = Literal["unknown", "negative"]
Difficult = Literal["negative", "positive", "unknown"]
Zeros = Literal["negative", "unknown"]


@dataclass(frozen=True, kw_only=True)
class TableLayout:
    """What the columns of a table hold, and how to read its tags.

    Args:
        image_column: the column that holds the image ids.
        tags_columns: the columns that hold tags.
        separator: the only mark that separates tags in an entry.
        ignore_columns: columns to leave out.
        hierarchy: what separates the names of a tag that is a path, such as ``|``.
        merge_case: whether classes that differ only in case are one; by default where people typed
            them freely.
        aliases: the class to take for another name.
        zeros: what 0, no and false mean in a table with one column per class.
    """

    image_column: str | None = None
    tags_columns: tuple[str, ...] = ()
    separator: str | None = None
    ignore_columns: tuple[str, ...] = ()
    hierarchy: str | None = None
    merge_case: bool | None = None
    aliases: tuple[tuple[str, str], ...] = ()
    zeros: Zeros = "negative"

    def layout(self) -> dict[str, Any]:
        """Only these settings of a larger configuration."""
        return {entry.name: getattr(self, entry.name) for entry in fields(TableLayout)}


@dataclass(frozen=True)
class ReadOptions(TableLayout):
    """Options of a reader.

    Args:
        absent: what a tag that is not mentioned means; ``None`` takes the format's default.
        classes: the class list, for formats that do not carry one; any other class in the file is
            then an error.
        difficult: what VOC objects marked "difficult" count as.
        min_certainty: CUB attributes stated with less certainty (1 not visible, 2 guessing,
            3 probably, 4 definitely) become unknown.
        image_root: folder with the images, where it is not implied by the source.
    """

    absent: Absent | None = None
    classes: tuple[str, ...] | None = None
    difficult: Difficult = "negative"
    min_certainty: int = 1
    image_root: Path | None = None

    def __post_init__(self) -> None:
        if self.classes is not None:
            names = tuple(name.strip() for name in self.classes)
            if not names or not all(names) or len(set(names)) != len(names):
                raise TagfillError("a class list needs unique names", remedy=f"got {names}")
            object.__setattr__(self, "classes", names)
        if self.separator == "":
            raise TagfillError("a separator of tags needs at least one character")

    @property
    def names_columns(self) -> bool:
        """Whether the user named columns: then the source is a table."""
        return bool(self.image_column or self.tags_columns or self.separator or self.ignore_columns)


@dataclass(frozen=True)
class Source:
    """A file or folder that is being read.

    Args:
        path: where it is.
        format: what it is read as.
        options: what absence means, the class list and the like.
        problems: collects what is wrong with it; without errors the result is usable.
    """

    path: Path
    format: Format
    options: ReadOptions = field(default_factory=ReadOptions)
    problems: Problems = field(default_factory=Problems)

    def error(self, message: str, row: int | None = None, remedy: str | None = None) -> None:
        """Record a problem that makes the labels unusable."""
        self.problems.error(message, file=self.path, row=row, remedy=remedy)

    def warn(self, message: str, row: int | None = None) -> None:
        """Record a problem that was handled, as the message says."""
        self.problems.warn(message, file=self.path, row=row)

    def refusal(
        self, message: str, row: int | None = None, remedy: str | None = None
    ) -> TagfillError:
        """The error that ends reading."""
        return TagfillError(message, file=self.path, row=row, remedy=remedy)


Reader = Callable[[Source], Dataset]
Writer = Callable[[Dataset, Path], list[str]]
"""Writes a data set; returns notes on what the format could not hold."""


@dataclass(frozen=True)
class Edit:
    """New labels for a copy of a file.

    Args:
        source: the file.
        changes: the labels by image and class.
        ids_of: the image ids that names in the file are read as.
        name_of: the class that a name in the file is read as.
    """

    source: Source
    changes: Mapping[str, Mapping[str, int]]
    ids_of: Callable[[Sequence[str]], list[str]]
    name_of: Callable[[str], str]

    def refusal(self, message: str) -> TagfillError:
        """The error for a file that cannot hold the changes."""
        return self.source.refusal(message, remedy="--to csv_wide writes a table of its own")


Editor = Callable[[Edit, Path], bool]
"""Writes a copy of a file with changed labels; returns whether it holds negatives."""


@dataclass(frozen=True)
class Format:
    """One label format.

    Args:
        name: as used on the command line, such as ``csv_wide``.
        title: one line for people.
        detect: whether this file or folder looks like the format (cheap; reads at most the head).
        read: the reader.
        write: the writer, or ``None`` for published formats that are only read.
        default_absent: what absence means unless the user says otherwise; ``None`` if the format
            states unknowns itself.
        last_resort: taken only when no other format fits, such as a plain folder of images.
        holds_negatives: whether it can say that a tag is absent; else rejections go beside it.
        images: ids and bytes of the images that a source holds itself, if the format can.
        edit: the editor, for files that can keep everything but changed labels.
    """

    name: str
    title: str
    detect: Callable[[Path], bool]
    read: Reader
    write: Writer | None = None
    default_absent: Absent | None = "unknown"
    last_resort: bool = False
    holds_negatives: bool = True
    images: Callable[[Path], Iterator[tuple[str, bytes]]] | None = None
    edit: Editor | None = None
