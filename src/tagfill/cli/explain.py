"""`tagfill explain`: where in an image the model sees a tag."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import tee
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tagfill.cli.options import Json
from tagfill.cli.output import emit, log, say, show_table
from tagfill.console import printable, quote_name
from tagfill.errors import TagfillError
from tagfill.explain.draw import Seen, overlay, peak, seen_tags, sheet, tag_columns
from tagfill.files import atomic_path
from tagfill.images import list_images, open_image
from tagfill.labels.formats import ReadOptions
from tagfill.train.events import Pace, Terminal

if TYPE_CHECKING:
    from PIL.Image import Image

    from tagfill.models.bundle import Bundle

LARGEST, THUMBNAIL = 2048, 672
"""Longest sides of pictures with heat maps, and of those on the sheet."""
ON_SHEET = 100


def explain(
    run: Path,
    /,
    *images: Path,
    tags: str | None = None,
    top: int = 4,
    out: Path | None = None,
    pointing: Path | None = None,
    split: str | None = None,
    image_root: Path | None = None,
    limit: int | None = 1000,
    json: Json = False,
) -> int:
    """Draw where in an image the model sees a tag.

    With --pointing, measures how often the maximum of a heat map is on the object. Images that
    cannot be read are named on stderr and skipped; the exit code is then 1.

    Args:
        run: A run folder or a model folder.
        images: Image files or folders of them.
        tags: Tags to show, separated by commas; by default the most probable ones.
        top: Number of the most probable tags.
        out: Folder for the pictures: one for each image and tag, and sheet.png with 100 images.
        pointing: Play the pointing game on these boxes: a COCO instances file or a VOC devkit.
            Images the run was trained on are left out.
        split: With --pointing: only this split.
        image_root: With --pointing: the image folder, if the boxes do not imply it.
        limit: With --pointing: at most this many images, evenly spread.
    """
    from tagfill.models.bundle import load

    if (pointing is None) == (not images):
        raise TagfillError("give images, or boxes with --pointing")
    bundle = load(run)
    if pointing is not None:
        result = _play(run, bundle, pointing, split, image_root, limit)
        emit(result, _show_pointing, json=json)
        return 0
    if out is None:
        raise TagfillError("set the output folder with --out")
    files = [file for path in images for file in (list_images(path) if path.is_dir() else [path])]
    names = [name.strip() for name in (tags or "").split(",") if name.strip()]
    result = _draw(bundle, files, out, tag_columns(bundle.classes, names) or None, top)
    emit(result, _show_pictures, json=json)
    return 1 if result["skipped"] else 0


def _draw(
    bundle: Bundle, files: Sequence[Path], out: Path, columns: list[int] | None, top: int
) -> dict[str, Any]:
    from tagfill.explain.maps import explain_images, map_kind

    out.mkdir(parents=True, exist_ok=True)
    rows: list[tuple[str, Image, list[Seen]]] = []
    skipped: list[dict[str, str]] = []
    listed, terminal, pace = [], Terminal(log), Pace()
    opened, again = tee(_pictures(files, skipped))
    explanations = explain_images(bundle, (picture for *_, picture in again))
    for (file, name, picture), explained in zip(opened, explanations, strict=True):
        seen = seen_tags(bundle.classes, explained, columns, top)
        targets = _free_names([f"{name}-{_slug(tag.tag)}" for tag in seen])
        tags = [
            _saved(picture, tag, out / f"{target}.png")
            for tag, target in zip(seen, targets, strict=True)
        ]
        listed.append({"image": quote_name(str(file)), "tags": tags})
        if len(rows) < ON_SHEET:
            picture.thumbnail((THUMBNAIL, THUMBNAIL))
            rows.append((printable(file.name), picture, seen))
        done = len(listed) + len(skipped)
        rate = pace.at(done, len(files)).per_second
        terminal.progress(done, len(files), f"explain, {rate:.0f} images/s")
    terminal.close()
    if not listed:
        raise TagfillError("none of the images can be read", remedy="see the messages above")
    with atomic_path(out / "sheet.png") as draft:
        sheet(rows).save(draft)
    return {
        "out": out,
        "sheet": out / "sheet.png",
        "maps": map_kind(bundle),
        "images": listed,
        "skipped": skipped,
        "notes": _unwritten(rows),
    }


def _pictures(
    files: Sequence[Path], skipped: list[dict[str, str]]
) -> Iterator[tuple[Path, str, Image]]:
    """Files, free names and pictures, opened one by one; unreadable files are ``skipped``."""
    for file, name in zip(files, _free_names([file.stem for file in files]), strict=True):
        try:
            picture = open_image(file, LARGEST)
        except TagfillError as error:
            skipped.append({"image": quote_name(str(file)), "reason": error.message})
            log.print(f"skipped: {quote_name(str(file))}: {error.message}")
            continue
        picture.thumbnail((LARGEST, LARGEST))
        yield file, name, picture


def _unwritten(rows: Sequence[tuple[str, Image, Sequence[Seen]]]) -> list[str]:
    texts = [text for name, _, seen in rows for text in (name, *(tag.tag for tag in seen))]
    if all(text.isascii() for text in texts):
        return []
    from tagfill.explain.fonts import boxes_note, undrawable

    return boxes_note(undrawable(texts))


def _saved(picture: Image, seen: Seen, file: Path) -> dict[str, Any]:
    """Save a heat map over its picture; returns its record."""
    with atomic_path(file) as draft:
        overlay(picture, seen.heat).save(draft)
    x, y = peak(seen.heat)
    return {
        "tag": seen.tag,
        "probability": seen.probability,
        "peak": {"x": x, "y": y},
        "picture": quote_name(str(file)),
    }


def _free_names(wanted: Sequence[str]) -> list[str]:
    """The names, numbered if one repeats."""
    names: dict[str, None] = {}
    for stem in wanted:
        name, number = stem, 2
        while name in names:
            name, number = f"{stem}-{number}", number + 1
        names[name] = None
    return list(names)


def _slug(tag: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in tag)[:60]


def _play(
    run: Path,
    bundle: Bundle,
    boxes: Path,
    split: str | None,
    image_root: Path | None,
    limit: int | None,
) -> dict[str, Any]:
    from tagfill.explain.maps import map_kind
    from tagfill.explain.pointing import evaluate_pointing
    from tagfill.labels.io import load_labels

    dataset = load_labels(boxes, options=ReadOptions(image_root=image_root))
    evaluated = evaluate_pointing(run, bundle, dataset, split=split, limit=limit)
    return {
        "run": run,
        "data": boxes,
        "maps": map_kind(bundle),
        "images": evaluated.images,
        "notes": list(evaluated.notes),
        **asdict(evaluated.result),
    }


def _show_pointing(result: dict[str, Any]) -> None:
    say(*(f"note: {note}" for note in result["notes"]))
    named = sorted(result["classes"].items(), key=lambda item: -item[1]["accuracy"])
    named += [("mean of classes", result["mean"]), ("all cases", result["overall"])]
    keys = ("accuracy", "chance", "center")
    rows = [[name, *(100 * row[key] for key in keys), row["cases"]] for name, row in named]
    title = f"pointing game, {result['maps']}, {result['images']:,} images (%)"
    show_table(title, ["class", "hits", "chance", "center", "cases"], rows)


def _show_pictures(result: dict[str, Any]) -> None:
    say(*(f"note: {note}" for note in result["notes"]))
    for image in result["images"]:
        tags = ", ".join(f"{tag['tag']} {tag['probability']:.0%}" for tag in image["tags"])
        say(f"{image['image']}: {tags}")
    say(f"{result['maps']} maps: {result['sheet']}")
