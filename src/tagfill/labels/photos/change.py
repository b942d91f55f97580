"""Keywords into photos: in sidecars beside them, or into the files themselves with exiftool."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

from tagfill.errors import TagfillError
from tagfill.files import write_bytes
from tagfill.image_files import find_images
from tagfill.labels.dataset import Dataset
from tagfill.labels.photos.packet import Keywords, Mark, changed_packet, is_bare, read_packet
from tagfill.labels.photos.read import Scheme, embedded_keywords, packet_in, sidecar, sidecars_of
from tagfill.labels.table import NEGATIVE, POSITIVE, Hierarchy, LabelTable

EXIFTOOL = "exiftool"
BACKUP = "_original"
"""Suffix that exiftool gives to the original file."""


@dataclass(frozen=True)
class Change:
    """A change of one photo's tags.

    Args:
        confirmed: tags that are there, with how sure a model was of them.
        rejected: tags that are not there.
        suggested: tags a model proposes.
        origin: what proposed them.
    """

    confirmed: Mapping[str, float | None] = field(default_factory=dict)
    rejected: frozenset[str] = frozenset()
    suggested: Mapping[str, float | None] = field(default_factory=dict)
    origin: str = "tagfill"

    def of(self, keywords: Keywords, hierarchy: Hierarchy) -> Keywords:
        """Keywords with the change made to them; what people wrote stays."""
        marks = dict(keywords.marks)
        known = [tag for tag in keywords.tags if tag not in self.rejected]
        written = {tag for tag in known if marks.get(tag, Mark("confirmed")).state != "suggested"}
        for tag, confidence in self.suggested.items():
            if tag not in written and tag not in self.rejected:
                marks[tag] = Mark("suggested", confidence, self.origin)
        for tag, confidence in self.confirmed.items():
            if tag not in written:
                marks[tag] = Mark("confirmed", confidence, self.origin)
        marks |= {tag: Mark("rejected", origin=self.origin) for tag in sorted(self.rejected)}
        added = [*self.confirmed, *(tag for tag in self.suggested if tag not in self.rejected)]
        paths = [path for path in keywords.paths if path[-1] not in self.rejected]
        paths += [path for tag in self.confirmed if len(path := _path(tag, hierarchy)) > 1]
        tags = tuple(dict.fromkeys([*known, *added]))
        return Keywords(tags, tuple(dict.fromkeys(paths)), marks)


def _path(tag: str, hierarchy: Hierarchy) -> tuple[str, ...]:
    path: tuple[str, ...] = (tag.rsplit("|", 1)[-1],)
    while tag in hierarchy and len(path) < 50:
        tag = hierarchy[tag][0]
        path = (tag.rsplit("|", 1)[-1], *path)
    return path


Edit = Callable[[Keywords], Keywords]


def change_sidecars(
    photos: Mapping[Path, Edit],
    scheme: Scheme | None = None,
    beside: Mapping[Path, Path] | None = None,
) -> int:
    """Change the sidecars of photos; existing ones are merged, never replaced.

    Args:
        photos: what to do to the keywords of each.
        scheme: how new sidecars are named; by default ``photo.xmp``, or ``photo.jpg.xmp`` where
            two photos would share that.
        beside: other places for the sidecars, by photo.

    Returns:
        How many files were written.
    """
    written = 0
    for photo, usual in _usual_schemes(photos).items():
        place = photo if beside is None else beside[photo]
        targets = sidecars_of(place) or [sidecar(place, scheme or usual)]
        inside = embedded_keywords(photo, [])
        for target in targets:
            written += _change_sidecar(target, photos[photo], inside)
    return written


def new_sidecars(photos: Mapping[Path, Edit]) -> Iterator[tuple[Path, Scheme, bytes]]:
    """Sidecars as if there were none yet, not written anywhere: photo, naming and content."""
    for photo, scheme in _usual_schemes(photos).items():
        content = _new_packet(photos[photo], embedded_keywords(photo, []))
        if content is not None:
            yield photo, scheme, content


def _usual_schemes(photos: Iterable[Path]) -> dict[Path, Scheme]:
    """How new sidecars are named; two photos must not share one."""
    photos = list(photos)
    shared = Counter((photo.parent, photo.stem.lower()) for photo in photos)
    return {
        photo: "stem" if shared[photo.parent, photo.stem.lower()] == 1 else "name"
        for photo in photos
    }


def _new_packet(edit: Edit, inside: Keywords) -> bytes | None:
    """The content of a new sidecar; None if there is nothing to write."""
    start = replace(inside, marks={})
    after = edit(start)
    return None if after == start and not after.marks else changed_packet(None, after)


def _change_sidecar(target: Path, edit: Edit, inside: Keywords) -> bool:
    if not target.exists():
        content = _new_packet(edit, inside)
        if content is not None:
            write_bytes(target, content)
        return content is not None
    packet = target.read_bytes()
    try:
        before = read_packet(packet)
        after = edit(before)
        if after == before:
            return False
        content = changed_packet(packet, after)
    except ValueError as error:
        raise TagfillError(str(error), file=target, remedy="fix or move it first") from None
    if after == Keywords() and is_bare(content):
        target.unlink()
    else:
        write_bytes(target, content)
    return True


def change_files(photos: Mapping[Path, Edit]) -> int:
    """Change the keywords inside photos; exiftool keeps the original beside each file.

    Returns:
        How many files were changed; their pixels are what they were.

    Raises:
        TagfillError: exiftool is not installed, or it failed; then the file is unchanged.
    """
    if shutil.which(EXIFTOOL) is None:
        raise TagfillError(
            "exiftool is needed to write into photos, and it is not installed",
            remedy="install it (Debian: libimage-exiftool-perl), or leave out --in-place",
        )
    changed = 0
    with tempfile.TemporaryDirectory() as folder:
        for photo, edit in photos.items():
            changed += _change_file(photo, edit, Path(folder) / "packet.xmp")
    return changed


def _change_file(photo: Path, edit: Edit, draft: Path) -> bool:
    faults: list[str] = []
    before = embedded_keywords(photo, faults)
    if faults:
        raise TagfillError(faults[0], file=photo, remedy="leave out --in-place for a sidecar")
    after = edit(before)
    if after == before:
        return False
    with Image.open(photo) as image:
        packet = packet_in(image)
        pixels = np.asarray(image).copy()
    draft.write_bytes(changed_packet(packet or None, after))
    backup = Path(f"{photo}{BACKUP}")
    fresh = not backup.exists()
    _run_exiftool([f"-XMP<={draft}", *_other_fields(photo, after)], photo)
    with Image.open(photo) as image:
        same = np.array_equal(pixels, np.asarray(image))
    if not same and fresh:
        shutil.move(backup, photo)
    if not same:
        raise TagfillError(
            "exiftool changed the picture itself; the original was restored", file=photo
        )
    return True


def _other_fields(photo: Path, keywords: Keywords) -> list[str]:
    """IPTC and EXIF keywords, where the file has them already."""
    listed = _run_exiftool(["-s", "-G", "-IPTC:Keywords", "-EXIF:XPKeywords"], photo)
    fields = []
    if "[IPTC]" in listed:
        fields += ["-IPTC:CodedCharacterSet=UTF8", "-IPTC:Keywords="]
        fields += [f"-IPTC:Keywords={tag}" for tag in keywords.tags]
    if "[EXIF]" in listed:
        fields.append(f"-EXIF:XPKeywords={';'.join(keywords.tags)}")
    return fields


def _run_exiftool(arguments: Sequence[str], photo: Path) -> str:
    command = [EXIFTOOL, "-q", "-m", "-charset", "filename=utf8", *arguments, str(photo.absolute())]
    done = subprocess.run(command, capture_output=True, check=False)  # noqa: S603 - no shell
    if done.returncode:
        message = done.stderr.decode(errors="replace").strip() or "it failed"
        raise TagfillError(f"exiftool: {message}", file=photo)
    return done.stdout.decode(errors="replace")


def edits(changes: Mapping[Path, Change], hierarchy: Hierarchy) -> dict[Path, Edit]:
    return {photo: partial(change.of, hierarchy=hierarchy) for photo, change in changes.items()}


def removals(photos: Iterable[Path], *, confirmed: bool) -> dict[Path, Edit]:
    """The edits that remove tags that were suggested, and on request those that were confirmed."""
    states = {"suggested", "confirmed"} if confirmed else {"suggested"}

    def edit(keywords: Keywords) -> Keywords:
        gone = {name for name, mark in keywords.marks.items() if mark.state in states}
        return Keywords(
            tuple(tag for tag in keywords.tags if tag not in gone),
            tuple(path for path in keywords.paths if path[-1] not in gone),
            {name: mark for name, mark in keywords.marks.items() if name not in gone},
        )

    return dict.fromkeys(photos, edit)


Confidence = Mapping[tuple[str, str], float | None]
"""Probabilities of a model, by image and tag."""


def photo_changes(
    before: Dataset,
    after: LabelTable,
    confidence: Confidence,
    suggested: Iterable[tuple[str, str]] = (),
) -> dict[str, Change]:
    """Changes of every photo with new labels.

    Photos that hold their labels themselves get what changed; others all labels that are known,
    negatives only where some labels are unknown.

    Args:
        before: the labels as they were read.
        after: the labels as they are to be.
        confidence: of suggested tags, decided or not.
        suggested: undecided images and tags, to be written as suggestions.
    """
    fresh = after.values != before.table.values
    if before.format != "xmp":
        fresh = after.values == POSITIVE
        if after.unknowns:
            fresh |= after.values == NEGATIVE
    said: dict[str, tuple[dict[str, float | None], set[str], dict[str, float | None]]] = {}
    for row, column in np.argwhere(fresh).tolist():
        image, name = after.images[row], after.classes[column]
        there, gone, _ = said.setdefault(image, ({}, set(), {}))
        if after.values[row, column] == POSITIVE:
            there[name] = confidence.get((image, name))
        else:
            gone.add(name)
    for image, name in suggested:
        said.setdefault(image, ({}, set(), {}))[2][name] = confidence.get((image, name))
    return {
        image: Change(there, frozenset(gone), proposed)
        for image, (there, gone, proposed) in said.items()
    }


def photo_paths(images: Iterable[str], root: Path | None) -> dict[str, Path]:
    """The files of images; all must be there."""
    if root is None:
        raise TagfillError("the folder of the photos is not known", remedy="set it with --images")
    names = list(images)
    paths = dict(zip(names, find_images(root, names), strict=True))
    missing = [image for image, path in paths.items() if path is None]
    if missing:
        raise TagfillError(f"{len(missing):,} photos are missing, first {missing[0]!r}", file=root)
    return {image: path for image, path in paths.items() if path is not None}
