"""The official data sets of the papers, in the published order and split.

To add one, write an ``OfficialSet`` in ``official`` and name it in ``SOURCES``.
"""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from tagfill.errors import LabelError, TagfillError
from tagfill.labels.prepare.base import OfficialSet, Options, Prepared
from tagfill.labels.prepare.official import COCO2014, CUB, NUSWIDE, VOC2007, VOC2012

__all__ = ["SOURCES", "OfficialSet", "Options", "Prepared", "prepare"]

SOURCES = {
    "voc2012": VOC2012,
    "voc2007": VOC2007,
    "coco2014": COCO2014,
    "nuswide": NUSWIDE,
    "cub": CUB,
}


def prepare(name: str, root: str | Path, options: Options | None = None) -> Prepared:
    """Read the official download of a data set.

    Args:
        name: one of ``SOURCES``.
        root: where it was unpacked, with or without the outer folder of the archive.
        options: see ``Options``.

    Raises:
        TagfillError: the name is unknown, or a file is missing; the message says where to get it.
    """
    if name not in SOURCES:
        raise TagfillError(f"unknown data set {name!r}", remedy=f"use one of {', '.join(SOURCES)}")
    folder = Path(root)
    if not folder.is_dir():
        raise TagfillError("no such folder", file=folder)
    chosen = options or Options()
    for field in fields(chosen):
        given = getattr(chosen, field.name) != field.default
        if given and field.name not in ("val", *SOURCES[name].uses):
            raise TagfillError(f"{name} has no option --{field.name.replace('_', '-')}")
    try:
        return SOURCES[name].read(folder, chosen)
    except LabelError:
        raise
    except TagfillError as error:  # official files that cannot be read were damaged on the way
        remedy = error.remedy or "download or unpack it again"
        raise TagfillError(error.message, file=error.file, row=error.row, remedy=remedy) from None
