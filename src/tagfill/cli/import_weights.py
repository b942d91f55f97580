"""`tagfill import-weights`: released checkpoints as model folders."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from tagfill.cli.labels import read_classes
from tagfill.cli.options import Json
from tagfill.cli.output import emit, say


def import_weights(
    kind: Literal["q2l"],
    checkpoint: Path,
    *,
    out: Path,
    classes: Path | None = None,
    heads: int = 4,
    json: Json = False,
) -> None:
    """Turn a released checkpoint into a model folder.

    Nothing in the file is executed.

    Args:
        kind: Where the checkpoint comes from: q2l (Query2Label).
        checkpoint: The file.
        out: Folder to write.
        classes: Text file with one class name per line, in the checkpoint's order; by default the
            80 names of COCO.
        heads: Number of attention heads, which the file does not state; 4 in released models.
    """
    from tagfill.models.import_q2l import import_q2l

    bundle = import_q2l(checkpoint, None if classes is None else read_classes(classes), heads=heads)
    folder = bundle.save(out)
    spec = bundle.network.backbone.spec
    result = {
        "folder": str(folder),
        "kind": kind,
        "classes": len(bundle.classes),
        "backbone": spec.name,
        "size": spec.size,
    }
    emit(result, _show, json=json)


def _show(result: Mapping[str, Any]) -> None:
    say("{folder}: {backbone} at {size} px, {classes} classes".format(**result))
