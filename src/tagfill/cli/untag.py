"""`tagfill untag`: remove suggested tags from photos."""

from __future__ import annotations

from pathlib import Path

from tagfill.cli.options import Flag, Json
from tagfill.cli.output import print_json, say
from tagfill.images import list_images
from tagfill.labels.photos import sidecars_of
from tagfill.labels.photos.change import change_files, change_sidecars, removals


def untag(
    photos: Path, /, *, confirmed: Flag = False, in_place: Flag = False, json: Json = False
) -> None:
    """Remove the tags from photos that tagfill wrote.

    Suggested tags are removed, confirmed ones on request. What people wrote or rejected stays.

    Args:
        photos: The folder of photos.
        confirmed: Also remove tags that were suggested and then confirmed.
        in_place: Change the files themselves, with exiftool; sidecars are always changed.
    """
    images = list_images(photos)
    beside = [image for image in images if sidecars_of(image)]
    sidecars = change_sidecars(removals(beside, confirmed=confirmed))
    files = change_files(removals(images, confirmed=confirmed)) if in_place else 0
    if json:
        print_json({"photos": len(images), "sidecars_changed": sidecars, "files_changed": files})
    else:
        changed = f"{sidecars:,} sidecars and {files:,} files"
        say(f"{photos}: tags removed from {changed} of {len(images):,} photos")
