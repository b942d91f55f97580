"""Sidecars: XMP files beside photos, by both naming schemes."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

Scheme = Literal["stem", "name"]
"""``photo.xmp`` or ``photo.jpg.xmp``."""


def sidecar(photo: Path, scheme: Scheme) -> Path:
    """Where the sidecar of a photo is by one scheme."""
    return photo.with_suffix(".xmp") if scheme == "stem" else Path(f"{photo}.xmp")


def sidecars_of(photo: Path, siblings: set[str] | None = None) -> list[Path]:
    """The sidecars a photo has: ``photo.jpg.xmp``, then ``photo.xmp`` in any case of the suffix.

    Args:
        photo: the image file.
        siblings: names of the files in its folder, where they are known.
    """
    names = (f"{photo.name}.xmp", f"{photo.name}.XMP", f"{photo.stem}.xmp", f"{photo.stem}.XMP")
    if siblings is not None:
        return [photo.with_name(name) for name in names if name in siblings]
    return [place for name in names if (place := photo.with_name(name)).is_file()]
