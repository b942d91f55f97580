"""`tagfill push`: a model or completed labels on a Hugging Face hub."""

from __future__ import annotations

from pathlib import Path

from tagfill.cli.options import Flag, Json
from tagfill.cli.output import emit, say
from tagfill.errors import TagfillError


def push(
    source: Path,
    repository: str,
    /,
    *,
    images: Path | None = None,
    public: Flag = False,
    json: Json = False,
) -> None:
    """Upload a model or labels to the Hugging Face Hub.

    A model gets a card, labels get Croissant metadata. Set HF_TOKEN to your access token, and
    HF_ENDPOINT for another hub. New repositories are private.

    Args:
        source: A run or model folder, or a label file.
        repository: owner/name; created if missing.
        images: With a label file: folder of its images, to upload them too.
        public: Make a new repository public.
    """
    from tagfill.export.hub import push_labels, push_model

    if not source.exists():
        raise TagfillError("no such file or folder", file=source)
    is_model = (source / "model").is_dir() or (source / "model.json").is_file()
    if is_model:
        if images is not None:
            raise TagfillError("a model has no images", remedy="name a label file, or no --images")
        address = push_model(source, repository, public=public)
    else:
        address = push_labels(source, repository, public=public, images=images)
    result = {"kind": "model" if is_model else "dataset", "address": address}
    emit(result, lambda result: say("{kind}: {address}".format(**result)), json=json)
