"""Draw the requested figures, or all that are possible."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tagfill.analyze.drawing import Drawing, styled
from tagfill.analyze.kinds import KINDS, CannotDrawError
from tagfill.analyze.subject import Subject
from tagfill.errors import TagfillError
from tagfill.explain.fonts import boxes_note


def analyze(subject: Subject, out: Path, kinds: Sequence[str] = ()) -> dict[str, Any]:
    """Draw figures into a folder: those drawn, reasons for those skipped, and notes.

    Args:
        kinds: names of ``KINDS``; all that can be made by default.

    Raises:
        TagfillError: a figure requested by name cannot be made, or none can.
    """
    for kind in kinds:
        if kind not in KINDS:
            raise TagfillError(f"unknown figure {kind!r}", remedy=f"use one of {', '.join(KINDS)}")
    figures, skipped = [], {}
    lacking: set[str] = set()
    for kind in dict.fromkeys(kinds or KINDS):
        try:
            with styled() as letters:
                drawing: Drawing = importlib.import_module(f"tagfill.analyze.{kind}").draw(subject)
                files = drawing.save(out, kind)
        except CannotDrawError as reason:
            if kinds:
                raise TagfillError(f"{kind} cannot be drawn: {reason}") from reason
            skipped[kind] = str(reason)
        else:
            lacking |= letters
            more = {"findings": drawing.findings, "notes": drawing.notes}
            figures.append({"kind": kind, "title": KINDS[kind], "files": files, **more})
    return {"figures": figures, "skipped": skipped, "notes": boxes_note(lacking)}
