"""`tagfill import-weights`: released checkpoints as model folders."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from tagfill.cli.labels import read_classes
from tagfill.cli.options import Json
from tagfill.cli.output import print_json, say


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
    spec, count = bundle.network.backbone.spec, len(bundle.classes)
    if json:
        described = {"classes": count, "backbone": spec.name, "size": spec.size}
        print_json({"folder": folder, "kind": kind, **described})
    else:
        say(f"{folder}: {spec.name} at {spec.size} px, {count} classes")
