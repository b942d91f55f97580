"""Read labels of any format, write them in any writable one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from pathlib import Path, PurePosixPath

import numpy as np

from tagfill.errors import Problems, TagfillError, counted
from tagfill.files import atomic_path
from tagfill.image_files import is_image_file
from tagfill.labels.beside import (
    REJECTED,
    is_beside,
    with_rejections,
    with_reviewed,
    write_rejections,
    write_reviewed,
)
from tagfill.labels.cleanup import (
    drop_counts,
    find_denials,
    find_garbled,
    find_variants,
    merge_case,
    merged,
    with_denials,
)
from tagfill.labels.dataset import Dataset
from tagfill.labels.formats import Format, ReadOptions, find, find_writable, formats
from tagfill.labels.formats._folders import files_below, hold_bands, subfolders
from tagfill.labels.formats._merge import SPLITS, usual_split
from tagfill.labels.formats._text import encoding_note
from tagfill.labels.formats._unknown import no_known_format
from tagfill.labels.formats._write import positives_only
from tagfill.labels.formats.base import Source
from tagfill.labels.formats.csv_tables import csv_shape
from tagfill.labels.hierarchy import complete
from tagfill.labels.table import LabelTable, Rows
from tagfill.remote import local_source

_LISTED = 5
_TABLES = (".csv", ".tsv", ".xlsx", ".xls", ".ods", ".jsonl", ".parquet")
_OTHER_TABLES = (".txt", ".json")
"""Searched only if no other table lists the images: often they hold boxes or settings."""


def load_labels(
    path: str | Path,
    *,
    format: str | None = None,
    options: ReadOptions | None = None,
    problems: Problems | None = None,
) -> Dataset:
    """Read labels from a file or folder.

    Args:
        path: the label source.
        format: name of its format; detected when not given.
        options: what absence means, the class list and the like.
        problems: collects problems. If given, errors in single rows do not raise: those labels
            stay unknown and the caller decides (this is how ``tagfill inspect`` works).

    Raises:
        TagfillError: the source is missing, of no known format, or unusable.
    """
    source = local_source(path)
    if not source.exists():
        raise TagfillError("no such file or folder", file=source)
    if not source.is_file() and not source.is_dir():
        raise TagfillError("is neither a regular file nor a folder", file=source)
    if source.is_file() and not source.stat().st_size:
        raise TagfillError("the file is empty", file=source)
    collected = Problems() if problems is None else problems
    options = options or ReadOptions()
    read_options = options
    if options.classes is not None:  # a file may call them by their aliases
        names = dict.fromkeys((*options.classes, *(name for name, _ in options.aliases)))
        read_options = replace(options, classes=tuple(names))
    named, notes = source, []
    try:
        if format:
            dataset = _read(find(format), source, read_options, collected)
        else:
            source, dataset = _read_located(source, read_options, collected)
        encoding = encoding_note(source) if source.is_file() else None
    except OSError as error:
        raise TagfillError(f"cannot be read ({error.strerror})", file=source) from error
    if encoding:
        notes.append(encoding)
    if source != named:
        notes.append(f"{source.name} was read, which lists the images in {named}")
    dataset = replace(dataset, notes=(*notes, *dataset.notes))
    dataset = with_rejections(_cleaned(dataset, options), source, collected)
    dataset = with_reviewed(dataset, source)
    dataset = _with_parents(dataset, collected)
    if problems is None:
        collected.raise_errors()
    return replace(dataset, problems=tuple(collected))


def _with_parents(dataset: Dataset, problems: Problems) -> Dataset:
    if not dataset.hierarchy:
        return dataset
    table, denied = complete(dataset.table, dataset.hierarchy)
    if denied:
        implied = f"{denied} tags are marked absent although a present tag implies them"
        problems.warn(f"{implied}; they were read as present", file=dataset.source)
    return replace(dataset, table=table)


def _cleaned(dataset: Dataset, options: ReadOptions) -> Dataset:
    """Merge spellings of one tag as requested, and list others that look alike."""
    notes = []
    before = dataset.table.classes
    dataset = merged(dataset, options.aliases)
    if len(dataset.table.classes) < len(before):
        notes.append(f"aliases merged {len(before)} tags into {len(dataset.table.classes)} classes")
    with_counts = drop_counts(dataset.table.classes) if dataset.free_tags else ()
    if with_counts:
        dataset = merged(dataset, with_counts)
        name, target = with_counts[0]
        notes.append(
            f"{len(with_counts)} tags have counts, which were dropped: {name!r} as {target!r}"
        )
    same = merge_case(dataset.table)
    if same and (options.merge_case or (options.merge_case is None and dataset.free_tags)):
        dataset = merged(dataset, same)
        pairs = ", ".join(f"{name!r} as {target!r}" for name, target in same[:_LISTED])
        more = f" and {len(same) - _LISTED} more" if len(same) > _LISTED else ""
        notes.append(
            f"{counted(len(same), 'tag differs', 'tags differ')} from others only in case and"
            f" {'was' if len(same) == 1 else 'were'} read as one: {pairs}{more}"
            " (--no-merge-case keeps them apart)"
        )
    elif same and options.merge_case is None:
        name, target = same[0]
        notes.append(f"classes {name!r} and {target!r} differ only in case (--merge-case)")
    dataset, denied = _without_denials(dataset)
    return replace(dataset, notes=(*dataset.notes, *notes, *denied, *_remarks(dataset)))


def _without_denials(dataset: Dataset) -> tuple[Dataset, list[str]]:
    """Tags such as ``no cat`` as negatives, where several show that it is a habit, and a note."""
    denials = find_denials(dataset.table.classes) if dataset.free_tags else {}
    if len(denials) < 2 or dataset.boxes is not None or dataset.suggestions is not None:
        return dataset, []
    (name, tag), *_ = denials.items()
    dataset, clashes = with_denials(dataset, denials)
    both = f"; {counted(clashes, 'image has', 'images have')} both: unknown" if clashes else ""
    return dataset, [
        f"{len(denials)} tags say that another is absent, such as {name!r} of {tag!r}, and were"
        f" read so{both} (--classes with their names keeps them)"
    ]


def _remarks(dataset: Dataset) -> list[str]:
    """Notes on tags that may not be meant as they were read."""
    notes = []
    classes = dataset.table.classes
    denials = find_denials(classes) if dataset.free_tags else {}
    if denials:
        name, tag = next(iter(denials.items()))
        notes.append(
            f"{counted(len(denials), 'tag looks', 'tags look')} like a negation, such as {name!r}"
            f" of {tag!r}, read as a tag: state negatives in a column 'value', or in a table with"
            " one column per tag"
        )
    garbled = find_garbled(classes)
    if garbled:
        name, meant = next(iter(garbled.items()))
        notes.append(
            f"{len(garbled)} tags look like text in a wrong encoding, such as {name!r} for"
            f" {meant!r}: export the file as UTF-8 again, or rename them with --aliases"
        )
    variants = find_variants(dataset.table) if dataset.free_tags else []
    if variants:
        fewer = sum(len(group.others) for group in variants)
        shown = "; ".join(map(str, variants[:_LISTED]))
        notes.append(
            f"{counted(fewer, 'tag looks', 'tags look')} like others: {shown}"
            f"{' ...' if len(variants) > _LISTED else ''}. Merging them would leave"
            f" {len(classes) - fewer} of {len(classes)} classes:"
            " `tagfill inspect --propose-aliases` writes them down for --aliases"
        )
    return notes


def save_labels(dataset: Dataset, path: str | Path, *, format: str) -> list[str]:
    """Write labels; returns notes on what the format could not hold."""
    label_format, write = find_writable(format)
    target = Path(path)
    if not len(dataset.table):
        raise TagfillError("there are no images to write", file=target)
    with atomic_path(target) as draft:
        lost = write(dataset, draft)
    write_reviewed(dataset.table, target)
    return lost if label_format.holds_negatives else lost + keep_rejections(dataset.table, target)


def keep_rejections(table: LabelTable, target: Path) -> list[str]:
    """Write negatives beside a file that cannot hold them; returns what is still lost.

    Labels without unknowns need no rejections: read with ``--absent negative`` they are whole.
    """
    if table.unknowns:
        write_rejections(table, target)
        return []
    REJECTED.path(target).unlink(missing_ok=True)
    return positives_only(table)


Listing = tuple[Path, Dataset, Problems]
"""A table, what it holds, and the problems in it."""


def _read_located(path: Path, options: ReadOptions, problems: Problems) -> tuple[Path, Dataset]:
    """The label source of a path and its labels; for an image folder, the table in it."""
    try:
        label_format = detect(path, options)
    except TagfillError:
        listing = _tables_in(path, options) if path.is_dir() else None
        if listing is None:
            raise
    else:
        listing = _tables_in(path, options) if label_format.last_resort else None
        if listing is None:
            return path, _read(label_format, path, options, problems)
    file, dataset, found = listing
    problems.entries += found
    return file, dataset


def _read(label_format: Format, path: Path, options: ReadOptions, problems: Problems) -> Dataset:
    return label_format.read(Source(path, label_format, options, problems))


def _tables_in(folder: Path, options: ReadOptions) -> Listing | None:
    """The table that lists a folder's images, or the tables of its train, val and test folders."""
    listing = _label_file_in(folder, options)
    names = subfolders(folder)
    splits = {usual_split(name) for name in names}
    if listing or not names or not splits <= SPLITS or options.image_root is not None:
        return listing
    found = {name: _label_file_in(folder / name, options) for name in names}
    tables = {name: part for name, part in found.items() if part is not None}
    if len(tables) < len(found):
        return None
    problems = Problems([problem for _, _, own in tables.values() for problem in own])
    parts = {name: dataset for name, (_, dataset, _) in tables.items()}
    return folder, joined_splits(folder, parts), problems


def _label_file_in(folder: Path, options: ReadOptions) -> Listing | None:
    """The table in a folder that lists the images of the folder."""
    files = [
        file
        for file in sorted(folder.iterdir())
        if not is_image_file(file) and not is_beside(file) and file.is_file()
    ]
    listings: list[Listing] = []
    for suffixes in (_TABLES, _OTHER_TABLES):
        tables = [file for file in files if file.suffix.lower() in suffixes]
        found = (_listing(file, options) for file in tables if not listings)
        listings = listings or [listing for listing in found if listing is not None]
    if len(listings) > 1:
        names = ", ".join(file.name for file, _, _ in listings)
        raise TagfillError(
            f"several of its files list its images: {names}",
            file=folder,
            remedy="name the one to read, or --format image_folder for the folders as classes",
        )
    return listings[0] if listings else None


def _listing(file: Path, options: ReadOptions) -> Listing | None:
    """A table with its content, if that is labels of images which are there."""
    problems = Problems()
    try:
        dataset = _read(detect(file, options), file, options, problems)
    except TagfillError:
        return None
    return (
        (file, dataset, problems) if dataset.image_root is not None and len(dataset.table) else None
    )


def detect(path: Path, options: ReadOptions | None = None) -> Format:
    """The format a source looks like, given the columns that the user named."""
    if options is not None and options.names_columns:
        shape = csv_shape(path, options)
        if shape is not None:
            return formats()[shape]
    fitting = [label_format for label_format in formats().values() if label_format.detect(path)]
    hits = [label_format for label_format in fitting if not label_format.last_resort] or fitting
    if len(hits) == 1:
        return hits[0]
    if hits:
        names = ", ".join(label_format.name for label_format in hits)
        raise TagfillError(
            "could be several formats", file=path, remedy=f"set it with --format: {names}"
        )
    if path.is_dir() and hold_bands(path):
        raise TagfillError(
            "its folders hold the bands of one image each",
            file=path,
            remedy="write one picture for each folder, and a table of the pictures and their tags",
        )
    if path.is_dir() and any(map(is_image_file, files_below(path))):
        raise TagfillError(
            "its photos have no keywords and are in no class folders, and no tags are in files"
            " beside them",
            file=path,
            remedy="tag some of them, or name a label file and this folder with --images;"
            " --format image_folder takes any folders as classes",
        )
    if path.is_dir() and not any(files_below(path)):
        raise TagfillError("the folder is empty", file=path, remedy="name one with photos")
    raise no_known_format(path, formats())


def joined_splits(folder: Path, parts: Mapping[str, Dataset]) -> Dataset:
    """One data set of the labels in the folders train, val and test of a folder.

    Args:
        folder: the folder of all.
        parts: name of each folder in it, and its labels with the place of their images.
    """
    tables: list[LabelTable] = []
    splits: dict[str, Rows] = {}
    for name, part in parts.items():
        root = (part.image_root or folder / name).relative_to(folder).as_posix()
        images = tuple(str(PurePosixPath(root, image)) for image in part.table.images)
        own = LabelTable(images, part.table.classes, part.table.values)
        above = sum(map(len, tables))
        splits[usual_split(name)] = np.arange(above, above + len(own))
        tables.append(own)
    first = next(iter(parts.values()))
    read = ", ".join(f"{name}/{part.source.name}" for name, part in parts.items())
    notes = dict.fromkeys(note for part in parts.values() for note in part.notes)
    return Dataset(
        table=reduce(LabelTable.merge, tables),
        source=folder,
        format=first.format,
        splits=splits,
        image_root=folder,
        free_tags=any(part.free_tags for part in parts.values()),
        notes=(f"read as splits: {read}", *notes),
    )
