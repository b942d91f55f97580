"""Labels and decisions as files to download: any label format, and copies of the photos."""

from __future__ import annotations

import io
import shlex
import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path, PurePosixPath

import numpy as np

from tagfill.api.run import Run
from tagfill.errors import TagfillError
from tagfill.image_files import is_image_file
from tagfill.labels import LabelTable
from tagfill.labels.beside import write_rejections
from tagfill.labels.formats import formats
from tagfill.labels.formats.image_folder import check_classes, class_path
from tagfill.labels.io import save_labels
from tagfill.labels.photos.change import (
    EXIFTOOL,
    Edit,
    change_files,
    change_sidecars,
    new_sidecars,
    photo_changes,
)
from tagfill.labels.photos.change import edits as planned_edits
from tagfill.labels.photos.read import sidecar, sidecars_of
from tagfill.labels.table import POSITIVE
from tagfill.serve.service import Service

XMP, PHOTOS, FOLDERS = "xmp", "photos", "image_folder"
SUFFIXES = {
    "csv_wide": ".csv",
    "csv_long": ".csv",
    "tag_list": ".csv",
    "jsonl": ".jsonl",
    "parquet": ".parquet",
    "label_studio": ".json",
}
PREFIX = "tagfill-export-"
Files = Iterator[tuple[str, Path | bytes | None]]
"""Names in a zip and their files or content; None is an empty folder."""
Download = tuple[str, Iterator[bytes]]
"""The suffix of a file, and its content piece by piece."""


def exportable() -> list[str]:
    """Every format that is written, sidecars, and photos with tags inside if exiftool is there."""
    names = {name for name, kind in formats().items() if kind.write} | {XMP}
    return sorted(names | ({PHOTOS} if shutil.which(EXIFTOOL) else set()))


def export(service: Service, format: str) -> Download:
    """All labels including decisions, as one file, or as a zip of several."""
    with service.current():
        table = replace(service.ledger.table, reviewed=None)
    zipped = {FOLDERS: _class_folders, PHOTOS: _photos, XMP: _sidecars}
    if format in (FOLDERS, PHOTOS):
        gone = [path for path in service.library.paths if not path.is_file()]
        if gone:
            raise TagfillError(f"{len(gone):,} photos are missing, first {gone[0].name!r}")
    if format in zipped:
        return ".zip", _zipped(zipped[format](service, table))
    with tempfile.TemporaryDirectory(prefix=PREFIX) as folder:
        target = Path(folder, f"labels{SUFFIXES.get(format, '')}")
        save_labels(service.library.dataset(table), target, format=format)
        written = sorted(path for path in Path(folder).rglob("*") if path.is_file())
        if written == [target]:
            return target.suffix, iter([target.read_bytes()])
        names = (path.relative_to(folder).as_posix() for path in written)
        return ".zip", iter(list(_zipped(zip(names, written, strict=True))))


def command(service: Service) -> str:
    """What writes the decisions into the photos themselves, where they are."""
    data = Run.open(service.origin).config.data
    url = service.database.engine.url
    words = ["tagfill", "apply", str(url.database) if service.database.is_sqlite else str(url)]
    words += [data.labels, "--to", XMP, "--in-place"]
    for option, value in {"--images": data.images, "--format": data.format}.items():
        words += [option, value] if value else []
    return shlex.join(words)


def _class_folders(service: Service, table: LabelTable) -> Files:
    """A copy of each photo in the folder of every tag it has; a no is listed beside the folders."""
    check_classes(table.classes)
    library, rows = service.library, dict[str, int]()
    for row, image in enumerate(table.images):
        split = library.split_of[row]
        for tag in service.tags_of(row, POSITIVE) or [""]:
            name = class_path(image, [part for part in (split, tag) if part])
            rows[name if name not in rows else PurePosixPath(split, tag, image).as_posix()] = row
    copies = LabelTable(tuple(rows), table.classes, table.values[list(rows.values())])

    def files() -> Files:
        for split in library.splits:
            yield from ((f"labels/{split}/{tag}", None) for tag in table.classes)
        yield from ((f"labels/{name}", library.paths[row]) for name, row in rows.items())
        with tempfile.TemporaryDirectory(prefix=PREFIX) as folder:
            rejected = write_rejections(copies, Path(folder, "labels"))
            if rejected is not None:
                yield rejected.name, rejected

    return files()


def _sidecars(service: Service, table: LabelTable) -> Files:
    """A small file beside each photo that has something to say."""
    names = dict(zip(service.library.paths, table.images, strict=True))
    for photo, scheme, content in new_sidecars(_edits(service, table)):
        yield sidecar(Path(names[photo]), scheme).as_posix().lstrip("/"), content


def _photos(service: Service, table: LabelTable) -> Files:
    """Copies of reviewed photos with their tags inside; where that fails, with a sidecar."""
    rows = np.flatnonzero(service.ledger.decided.any(axis=1)).tolist()
    names = {service.library.paths[row]: table.images[row] for row in rows}
    work = _edits(service, table)
    for photo, edit in ((photo, work[photo]) for photo in names if photo in work):
        with tempfile.TemporaryDirectory(prefix=PREFIX) as folder:
            copy = Path(folder, f"photo{photo.suffix}")
            shutil.copyfile(photo, copy)
            try:
                change_files({copy: edit})
            except TagfillError:
                change_sidecars({copy: edit}, "name")
            yield names[photo], copy
            yield from ((names[photo] + file.suffix, file) for file in sidecars_of(copy))


def _edits(service: Service, table: LabelTable) -> dict[Path, Edit]:
    """What is to be done to the keywords of each photo."""
    with service.ledger.lock:
        sure = {
            (entry.image, table.classes[column]): entry.probability
            for _, column, entry in service.ledger.current()
        }
    dataset, paths = service.library.dataset(table), service.library.paths
    changes = photo_changes(dataset, table, sure)
    by_path = {paths[table.row_of[image]]: change for image, change in changes.items()}
    return planned_edits(by_path, dataset.hierarchy)


class _Pieces(io.RawIOBase):
    """A file that is only written, and taken away as it grows."""

    def __init__(self) -> None:
        self._content = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, content: bytes) -> int:  # type: ignore[override]
        self._content += content
        return len(content)

    def take(self) -> bytes:
        """What was written since the last time."""
        content = bytes(self._content)
        self._content.clear()
        return content


def _zipped(files: Iterable[tuple[str, Path | bytes | None]]) -> Iterator[bytes]:
    """A zip, in a piece for each file."""
    pieces = _Pieces()
    with zipfile.ZipFile(pieces, "w", strict_timestamps=False) as archive:
        for name, file in files:
            if file is None:
                archive.mkdir(name)
            elif isinstance(file, bytes):
                archive.writestr(name, file, zipfile.ZIP_DEFLATED)
            else:
                packed = zipfile.ZIP_STORED if is_image_file(name) else zipfile.ZIP_DEFLATED
                archive.write(file, name, packed)
            yield pieces.take()
    yield pieces.take()
