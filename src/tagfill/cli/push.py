"""`tagfill push`: a model or completed labels on a Hugging Face hub."""

from __future__ import annotations

from pathlib import Path


def push(
    source: Path,
    repository: str,
    /,
    *,
    images: Path | None = None,
    public: bool = False,
    json: bool = False,
) -> None:
    """Put a model with its card, or labels with Croissant metadata, on the Hugging Face hub.

    HF_TOKEN is your access token, HF_ENDPOINT the hub. New repositories are private.

    Args:
        source: A run or model folder, or a label file.
        repository: owner/name; created if missing.
        images: Folder of the images of a label file, to push these as well.
        public: Make a new repository public.
        json: One JSON object on stdout.
    """
    from tagfill.cli.output import console, print_json
    from tagfill.errors import TagfillError
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
    if json:
        print_json({"kind": "model" if is_model else "dataset", "address": address})
    else:
        console.print(f"{'model' if is_model else 'labels'}: {address}", soft_wrap=True)
