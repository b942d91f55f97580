"""`tagfill explain`: where in an image a tag is seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL.Image import Image

    from tagfill.explain.draw import Seen
    from tagfill.models.bundle import Bundle


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
    json: bool = False,
) -> None:
    """Heat maps of tags: where in an image the model sees them.

    Or, with --pointing, how often the hottest place of a map lies on the thing.

    Parameters
    ----------
    run
        A run folder or a model folder.
    images
        Image files or folders of them.
    tags
        Tags to look for, with commas between them; by default the most probable ones.
    top
        How many of these.
    out
        Folder for the pictures: one for each image and tag, and sheet.png with all of them.
    pointing
        Play the pointing game on these boxes: a COCO instances file or a VOC devkit. Images the run
        has learnt from are left out.
    split
        With --pointing: only this split.
    image_root
        With --pointing: the image folder, where the boxes do not imply it.
    limit
        With --pointing: at most so many images, evenly spread.
    json
        One JSON object on stdout.
    """
    from tagfill.cli.output import print_json
    from tagfill.errors import TagfillError
    from tagfill.models.bundle import load

    if (pointing is None) == (not images):
        raise TagfillError("give images, or boxes with --pointing")
    bundle = load(run)
    if pointing is not None:
        result = _play(run, bundle, pointing, split, image_root, limit)
        show = _show_pointing
    else:
        if out is None:
            raise TagfillError("say where the pictures go with --out")
        result = _draw(bundle, _files(images), out, _columns(bundle, tags), top)
        show = _show_pictures
    if json:
        print_json(result)
    else:
        show(result)


def _files(places: Sequence[Path]) -> list[Path]:
    from tagfill.images import list_images

    return [
        file for place in places for file in (list_images(place) if place.is_dir() else [place])
    ]


def _columns(bundle: Bundle, tags: str | None) -> list[int] | None:
    from tagfill.errors import TagfillError

    if tags is None:
        return None
    names = [name.strip() for name in tags.split(",") if name.strip()]
    unknown = [name for name in names if name not in bundle.classes]
    if unknown:
        raise TagfillError(
            f"the model knows no tag {unknown[0]!r}", remedy=f"tags: {', '.join(bundle.classes)}"
        )
    return [bundle.classes.index(name) for name in names]


def _draw(
    bundle: Bundle, files: Sequence[Path], out: Path, columns: list[int] | None, top: int
) -> dict[str, Any]:
    from tagfill.explain.draw import Seen, sheet
    from tagfill.explain.maps import KINDS, explain_images
    from tagfill.files import atomic_path
    from tagfill.images import open_image
    from tagfill.models.heads import head_name

    out.mkdir(parents=True, exist_ok=True)
    pictures = [open_image(file) for file in files]
    rows, listed = [], []
    described = zip(files, _free_names(files), pictures, strict=True)
    for (file, name, picture), explanation in zip(
        described, explain_images(bundle, pictures), strict=True
    ):
        wanted = columns or (-explanation.probabilities).argsort(kind="stable")[:top].tolist()
        seen = [
            Seen(bundle.classes[k], float(explanation.probabilities[k]), explanation.heat[k])
            for k in wanted
        ]
        rows.append((file.name, picture, seen))
        tags = [_saved(picture, tag, out / f"{name}-{_slug(tag.tag)}.png") for tag in seen]
        listed.append({"image": str(file), "tags": tags})
    with atomic_path(out / "sheet.png") as draft:
        sheet(rows).save(draft)
    kind = KINDS[head_name(bundle.network.config)]
    return {
        "out": str(out),
        "sheet": str(out / "sheet.png"),
        "maps": kind,
        "images": listed,
        "notes": _unwritten(rows),
    }


def _unwritten(rows: Sequence[tuple[str, Image, Sequence[Seen]]]) -> list[str]:
    """A note on the characters of the sheet that no font has."""
    texts = [text for name, _, seen in rows for text in (name, *(tag.tag for tag in seen))]
    if all(text.isascii() for text in texts):
        return []
    from tagfill.explain.fonts import boxes_note, undrawable

    return boxes_note(undrawable(texts))


def _saved(picture: Image, seen: Seen, file: Path) -> dict[str, Any]:
    """Save a heat map over its picture; what there is to say about it."""
    from tagfill.explain.draw import overlay
    from tagfill.explain.heat import peak
    from tagfill.files import atomic_path

    with atomic_path(file) as draft:
        overlay(picture, seen.heat).save(draft)
    x, y = peak(seen.heat)
    return {
        "tag": seen.tag,
        "probability": seen.probability,
        "peak": {"x": x, "y": y},
        "picture": str(file),
    }


def _free_names(files: Sequence[Path]) -> list[str]:
    """A name for each file; numbers keep files of the same name in different folders apart."""
    names: list[str] = []
    for file in files:
        name, number = file.stem, 2
        while name in names:
            name, number = f"{file.stem}-{number}", number + 1
        names.append(name)
    return names


def _slug(tag: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in tag)


def _play(
    run: Path,
    bundle: Bundle,
    boxes: Path,
    split: str | None,
    image_root: Path | None,
    limit: int | None,
) -> dict[str, Any]:
    from tagfill.explain.evaluate import evaluate_pointing
    from tagfill.explain.maps import KINDS
    from tagfill.labels.formats import ReadOptions
    from tagfill.labels.io import load_labels
    from tagfill.models.heads import head_name

    dataset = load_labels(boxes, options=ReadOptions(image_root=image_root))
    evaluated = evaluate_pointing(run, bundle, dataset, split=split, limit=limit)
    return {
        "run": str(run),
        "data": str(boxes),
        "maps": KINDS[head_name(bundle.network.config)],
        "images": evaluated.images,
        "notes": list(evaluated.notes),
        **asdict(evaluated.result),
    }


def _show_pointing(result: dict[str, Any]) -> None:
    from tagfill.cli.output import console, table

    for note in result["notes"]:
        console.print(f"note: {note}", markup=False)
    named = sorted(result["classes"].items(), key=lambda item: -item[1]["accuracy"])
    named += [("mean of classes", result["mean"]), ("all cases", result["overall"])]
    keys = ("accuracy", "chance", "center")
    rows = [[name, *(100 * rates[key] for key in keys), rates["cases"]] for name, rates in named]
    title = f"pointing game, {result['maps']}, {result['images']:,} images (%)"
    console.print(table(title, ["class", "hits", "chance", "center", "cases"], rows))


def _show_pictures(result: dict[str, Any]) -> None:
    from tagfill.cli.output import console

    for note in result["notes"]:
        console.print(f"note: {note}", markup=False, soft_wrap=True)
    for image in result["images"]:
        tags = ", ".join(f"{tag['tag']} {tag['probability']:.0%}" for tag in image["tags"])
        console.print(f"{image['image']}: {tags}", markup=False, soft_wrap=True)
    console.print(f"{result['maps']} maps: {result['sheet']}", markup=False, soft_wrap=True)
