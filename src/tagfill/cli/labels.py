"""Options and errors shared by commands that read or write label files."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from tagfill.cli.options import given
from tagfill.cli.output import emit, log
from tagfill.errors import Problems, TagfillError
from tagfill.files import read_text, refuse_existing
from tagfill.labels import Dataset, LabelTable
from tagfill.labels.formats import Absent, Difficult, ReadOptions, Zeros, formats
from tagfill.remote import url_of


@dataclass(frozen=True)
class TableOptions:
    """Meaning of the columns and tags of a table; for all commands that read."""

    image_column: str | None = None
    "Column of a table that holds the image files."
    tags_columns: Annotated[
        tuple[str, ...] | None, Parameter(name="--tags-column", negative=())
    ] = None
    "Column of a table that holds tags; repeat it for several columns."
    separator: str | None = None
    """The only separator of tags; by default ; | and , all separate, as does any mark whose parts
    recur as tags."""
    ignore_columns: Annotated[tuple[str, ...] | None, Parameter(negative=())] = None
    "Columns of a table to leave out, separated by commas."
    hierarchy: str | None = None
    "Separator inside tags that are paths: | for animal|bird|robin."
    merge_case: bool | None = None
    "Merge tags that differ only in case; the default for tags typed freely."
    aliases: Path | None = None
    'A TOML file that maps names to classes: "CAT" = "cat".'
    zeros: Zeros | None = None
    """What 0, no and false mean in a table with one column per class: negative by default, unknown
    if nobody checked."""

    def table_options(self) -> dict[str, Any]:
        """The given options, as ``ReadOptions`` and ``DataConfig`` name them."""
        names = {known.name for known in fields(TableOptions)}
        return settled({name: value for name, value in given(self).items() if name in names})


def settled(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options with the aliases read from their file."""
    from tagfill.labels.cleanup import read_aliases

    if "aliases" not in options:
        return dict(options)
    return {**options, "aliases": read_aliases(options["aliases"])}


@Parameter(name="*", group="Reading")
@dataclass(frozen=True)
class Reading(TableOptions):
    """How a label file is read.

    Args:
        absent: What a tag that is not listed means; the default depends on the format.
        classes: A text file with one class name per line; any other class is an error.
        difficult: How to count VOC objects marked "difficult".
        min_certainty: CUB attributes stated with less certainty (1 to 4) are unknown.
        images: Folder of the images; by default beside the label file.
    """

    format: Annotated[
        str | None, Parameter(alias="--from", help="Format of the labels; detected by default.")
    ] = None
    absent: Absent | None = None
    classes: Path | None = None
    difficult: Difficult = "negative"
    min_certainty: int = 1
    images: Path | None = None

    def options(self) -> ReadOptions:
        return ReadOptions(
            absent=self.absent,
            classes=None if self.classes is None else read_classes(self.classes),
            difficult=self.difficult,
            min_certainty=self.min_certainty,
            image_root=self.images,
            **self.table_options(),
        )

    def load(self, data: Path, problems: Problems | None = None) -> Dataset:
        from tagfill.labels.io import load_labels

        if self.images is not None and not (url_of(self.images) or self.images.is_dir()):
            raise TagfillError("no such image folder", file=self.images)
        return load_labels(data, format=self.format, options=self.options(), problems=problems)


AS_USUAL = Reading()
DEFAULT_FORMAT = "csv_wide"
_BY_SUFFIX = {
    ".csv": (DEFAULT_FORMAT, "csv_long", "tag_list"),
    ".jsonl": ("jsonl",),
    ".parquet": ("parquet",),
}


def read_classes(path: Path) -> tuple[str, ...]:
    """The class names of a text file, one per line; blank lines are skipped."""
    names: dict[str, int] = {}
    for row, line in enumerate(read_text(path).splitlines(), 1):
        name = line.strip()
        if name in names:
            raise TagfillError(f"class {name!r} is in row {names[name]} too", file=path, row=row)
        if name:
            names[name] = row
    if not names:
        raise TagfillError("this file has no class names", file=path)
    return tuple(names)


def save(dataset: Dataset, out: Path, format: str, *, force: bool) -> list[str]:
    """Write labels; refuses to overwrite; returns what the format could not hold."""
    from tagfill.labels.io import save_labels

    check_free(dataset, out, force=force)
    return save_labels(dataset, out, format=format)


def check_free(dataset: Dataset, out: Path, *, force: bool) -> None:
    """Refuse to overwrite a file without --force, and the source in any case."""
    refuse_existing(out, force=force)
    if out.exists() and out.resolve() == dataset.source.resolve():
        raise TagfillError("would overwrite the file it was read from", file=out)


def counts(table: LabelTable) -> dict[str, int]:
    """Number of entries in each state."""
    return {"positives": table.positives, "negatives": table.negatives, "unknowns": table.unknowns}


def emit_labels(
    result: Mapping[str, Any],
    dataset: Dataset,
    lost: Sequence[str],
    view: Callable[[Mapping[str, Any]], None],
    *,
    json: bool,
) -> None:
    """Print the result of writing labels, with notes, problems and what could not be written."""
    if not json:
        report(dataset, lost)
    told = {"not_held": lost, "notes": dataset.notes, "problems": dataset.problems}
    emit({**result, **told}, view, json=json)


def report(dataset: Dataset, lost: Sequence[str] = ()) -> None:
    """Print notes and problems of reading and writing to stderr."""
    for note in dataset.notes:
        log.print(f"note: {note}")
    for problem in dataset.problems:
        log.print(f"warning: {problem}")
    for sentence in lost:
        log.print(f"not written: {sentence}")


def target_format(dataset: Dataset, out: Path) -> str:
    """The default format to write: by the suffix of OUT, else that of DATA."""
    own = dataset.format if formats()[dataset.format].write else DEFAULT_FORMAT
    fitting = _BY_SUFFIX.get(out.suffix.lower())
    return own if fitting is None or own in fitting else fitting[0]
