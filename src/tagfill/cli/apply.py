"""`tagfill apply`: write decisions back into the labels or the photos."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from cyclopts import Parameter

from tagfill.cli.labels import AS_USUAL, Reading, check_free, counts, report, save, target_format
from tagfill.cli.options import Flag, Force, Json, require_serve
from tagfill.cli.output import emit, log, say
from tagfill.errors import Problems, TagfillError
from tagfill.labels import Dataset, LabelTable
from tagfill.labels.beside import REJECTED
from tagfill.labels.hierarchy import complete
from tagfill.labels.photos import Scheme
from tagfill.labels.photos.change import (
    change_files,
    change_sidecars,
    edits,
    photo_changes,
    photo_paths,
)
from tagfill.labels.table import UNKNOWN

if TYPE_CHECKING:
    from tagfill.recover.decisions import Decision

XMP = "xmp"
DATABASES = (".db", ".sqlite", ".sqlite3")
_SHOWN = 10


@Parameter(name="*", group="Writing into photos")
@dataclass(frozen=True)
class PhotoOptions:
    """How tags are written to photos.

    Args:
        in_place: Write into the files with exiftool, which keeps the originals; by default
            sidecars are written and files stay untouched.
        sidecars: Name new sidecars photo.xmp (stem) or photo.jpg.xmp (name).
        suggested: Also write tags without a decision, marked as suggested.
    """

    in_place: Flag = False
    sidecars: Scheme | None = None
    suggested: Flag = False


def apply(
    suggestions: str,
    data: Path,
    out: Path | None = None,
    /,
    *,
    to: str | None = None,
    reading: Reading = AS_USUAL,
    photos: PhotoOptions = PhotoOptions(),  # noqa: B008 - frozen
    force: Force = False,
    json: Json = False,
) -> None:
    """Write reviewed suggestions into the labels or the photos.

    Yes becomes positive, no negative. A table keeps its columns, their order and all other content.
    If a format cannot hold a no, a file beside it does and is read together with it.
    `tagfill train OUT --init RUN` continues from there.

    Args:
        suggestions: The file of `tagfill recover` with its column `decision` filled in (yes or no,
            y or n, 1 or 0, true or false; blank means undecided); the JSON export of Label Studio;
            or the database of `tagfill serve`, a file or an address.
        data: The labels the suggestions are about.
        out: The file or folder to write; for photos the folder for sidecars, by default theirs.
        to: Format to write; by default by the suffix of OUT, else that of DATA. `xmp` writes
            keywords to the photos.
    """
    from tagfill.recover.decisions import apply_decisions

    read, problems = reading.load(data), Problems()
    dataset, decisions = _decided(suggestions, read, problems)
    applied = apply_decisions(dataset, decisions, Path(suggestions))
    after, _ = complete(applied.dataset.table, dataset.hierarchy)
    target = to or (XMP if out is None and dataset.format == XMP else None)
    if target == XMP:
        written = _write_photos(dataset, after, decisions, out, photos)
    elif out is None:
        raise TagfillError("name the file to write")
    else:
        edits = dataset is read  # a table with other tags than the file's is written as a new file
        written = _write_file(dataset, after, out, to, reading if edits else None, force=force)
    result: dict[str, Any] = {
        "out": out or dataset.image_root or data,
        "yes": applied.yes,
        "no": applied.no,
        "blank": applied.blank,
        "warnings": [str(problem) for problem in problems],
        "changed": applied.changed,
        "changes": _changes(dataset.table, after),
        **counts(after),
        **written,
    }
    if not json:
        report(dataset, result["not_held"])
    emit(result, _show, json=json)


def _decided(source: str, dataset: Dataset, problems: Problems) -> tuple[Dataset, list[Decision]]:
    """Decisions of a file or a database, and the labels over the tags they are about."""
    from tagfill.recover.decisions import read_decisions

    if "://" not in source and Path(source).suffix.lower() not in DATABASES:
        return dataset, read_decisions(Path(source), dataset.table, problems)
    require_serve()
    from tagfill.serve.stored import stored_decisions

    return stored_decisions(source, dataset, problems)


def _write_file(
    dataset: Dataset,
    after: LabelTable,
    out: Path,
    to: str | None,
    reading: Reading | None,
    *,
    force: bool,
) -> dict[str, Any]:

    from tagfill.labels.edit import editable, save_changes

    target = to or target_format(dataset, out)
    lost: list[str] = []
    if reading is not None and editable(dataset, out, to):
        check_free(dataset, out, force=force)
        save_changes(dataset, after, out, reading.options())
    else:
        lost = save(replace(dataset, table=after), out, target, force=force)
    beside = REJECTED.path(out)
    return {"not_held": lost, "rejections": str(beside) if beside.is_file() else None}


def _write_photos(
    dataset: Dataset,
    after: LabelTable,
    decisions: list[Decision],
    out: Path | None,
    options: PhotoOptions,
) -> dict[str, Any]:
    sure = {(decision.image, decision.tag): decision.probability for decision in decisions}
    undecided = [(d.image, d.tag) for d in decisions if d.value == UNKNOWN and options.suggested]
    changes = photo_changes(dataset, after, sure, undecided)
    paths = photo_paths(changes, dataset.image_root)
    work = edits({paths[image]: change for image, change in changes.items()}, dataset.hierarchy)
    if options.in_place:
        return {"files_changed": change_files(work), "not_held": []}
    beside = None if out is None else {paths[image]: out / image for image in changes}
    return {"sidecars_written": change_sidecars(work, options.sidecars, beside), "not_held": []}


def _changes(before: LabelTable, after: LabelTable) -> list[dict[str, Any]]:
    return [
        {
            "image": after.images[row],
            "tag": after.classes[column],
            "from": int(before.values[row, column]),
            "to": int(after.values[row, column]),
        }
        for row, column in np.argwhere(before.values != after.values).tolist()
    ]


def _show(result: dict[str, Any]) -> None:
    for warning in result["warnings"]:
        log.print(f"warning: {warning}")
    words, changes = {1: "yes", 0: "no", -1: "unknown"}, result["changes"]
    answers = f"{result['yes']:,} yes, {result['no']:,} no, {result['blank']:,} undecided"
    say(f"{result['out']}: {answers}; {len(changes):,} labels changed")
    for change in changes[:_SHOWN]:
        before, now = words[change["from"]], words[change["to"]]
        say(f"  {change['image']}: {change['tag']} {before} -> {now}")
    if len(changes) > _SHOWN:
        say(f"  ... and {len(changes) - _SHOWN:,} more; --json lists them all")
    for key in ("files_changed", "sidecars_written"):
        if key in result:
            say(f"{key.replace('_', ' ')}: {result[key]:,}")
    if result.get("rejections"):
        say(f"rejected tags are stored in {result['rejections']}")
