"""`tagfill import-weights`: released checkpoints as model folders."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from tagfill.cli.output import console, print_json
from tagfill.errors import TagfillError


def import_weights(
    kind: Literal["q2l"],
    checkpoint: Path,
    *,
    out: Path,
    classes: Path | None = None,
    heads: int = 4,
    json: Annotated[bool, Parameter(name="--json", negative="")] = False,
) -> None:
    """Turn a released checkpoint into a model folder. Nothing in the file is executed.

    Args:
        kind: Where the checkpoint comes from: q2l (Query2Label).
        checkpoint: The file.
        out: Folder to write.
        classes: Text file with one class name per line, in the checkpoint's order. COCO's 80 names
            if not given.
        heads: Number of attention heads, which the file does not state; 4 in released models.
        json: Print one JSON object.
    """
    from tagfill.models.import_q2l import import_q2l

    bundle = import_q2l(checkpoint, _names(classes), heads=heads)
    folder = bundle.save(out)
    spec = bundle.network.backbone.spec
    if json:
        print_json(
            {
                "folder": str(folder),
                "kind": kind,
                "classes": len(bundle.classes),
                "backbone": spec.name,
                "size": spec.size,
            }
        )
    else:
        console.print(
            f"{folder}: {spec.name} at {spec.size} px, {len(bundle.classes)} classes",
            soft_wrap=True,
        )


def _names(file: Path | None) -> list[str] | None:
    if file is None:
        return None
    if not file.is_file():
        raise TagfillError("no such class file", file=file)
    return [line.strip() for line in file.read_text().splitlines() if line.strip()]
