"""`tagfill untag`: remove suggested tags from photos."""

from __future__ import annotations

from pathlib import Path


def untag(
    photos: Path, /, *, confirmed: bool = False, in_place: bool = False, json: bool = False
) -> None:
    """Remove tags that tagfill wrote: suggested ones, and on request confirmed ones.

    Tags and rejections by people stay.

    Args:
        photos: The folder of photos.
        confirmed: Also remove tags that were suggested and then confirmed.
        in_place: Change the files themselves, with exiftool; sidecars are always changed.
        json: One JSON object on stdout.
    """
    from tagfill.cli.output import console, print_json
    from tagfill.errors import TagfillError
    from tagfill.labels.formats._walk import is_image_file, walk
    from tagfill.labels.photos.change import change_files, change_sidecars, removals
    from tagfill.labels.photos.sidecar import sidecars_of

    if not photos.is_dir():
        raise TagfillError("no such folder", file=photos)
    files = [place / name for place, _, names in walk(photos) for name in names]
    images = [file for file in files if is_image_file(file)]
    beside = [image for image in images if sidecars_of(image)]
    result = {
        "photos": len(images),
        "sidecars_changed": change_sidecars(removals(beside, confirmed=confirmed)),
        "files_changed": change_files(removals(images, confirmed=confirmed)) if in_place else 0,
    }
    if json:
        print_json(result)
        return
    console.print(
        f"{photos}: tags removed from {result['sidecars_changed']:,} sidecars and"
        f" {result['files_changed']:,} files of {result['photos']:,} photos",
        markup=False,
    )
