"""Models and completed labels on a Hugging Face hub."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from tagfill.errors import TagfillError
from tagfill.image_files import find_images
from tagfill.labels import Dataset
from tagfill.labels.croissant import FILE, croissant
from tagfill.labels.io import load_labels, save_labels
from tagfill.models.bundle import Bundle, load, model_folder

LISTED = 50
"""Most classes to list in a card."""
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")
LABELS, DATA = "labels.csv", "data"


def push_model(run: Path, repository: str, *, public: bool = False) -> str:
    """Put the model of a run on the hub, with a card; returns its address.

    Args:
        run: a run folder or a model folder.
        repository: "owner/name"; created if missing.
        public: make a new repository public.
    """
    _check_name(repository)
    bundle = load(run)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(shutil.copytree(model_folder(run), Path(temporary) / "model"))
        (folder / "README.md").write_text(model_card(bundle, repository), encoding="utf-8")
        return _push(folder, repository, "model", public)


def push_labels(
    labels: Path, repository: str, *, public: bool = False, images: Path | None = None
) -> str:
    """Put labels on the hub as a wide table with a card and Croissant metadata.

    Args:
        repository: "owner/name"; created if missing.
        public: make a new repository public.
        images: folder of the images, to put them there too, with a ``metadata.jsonl`` beside them:
            ``datasets.load_dataset("imagefolder")`` reads both.
    """
    _check_name(repository)
    dataset = load_labels(labels)
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        if images is not None:
            _add_images(dataset, images, folder / DATA)
        save_labels(dataset, folder / LABELS, format="csv_wide")
        described = croissant(folder / LABELS, dataset.table, repository.split("/")[-1])
        (folder / FILE).write_text(json.dumps(described, indent=2), encoding="utf-8")
        card = _card(
            {"tags": ["tagfill", "multi-label"], "task_categories": ["image-classification"]},
            repository,
            f"{described['description']} `{FILE}` describes the columns.",
        )
        (folder / "README.md").write_text(card, encoding="utf-8")
        return _push(folder, repository, "dataset", public)


def _add_images(dataset: Dataset, root: Path, folder: Path) -> None:
    """Copies of the images, and their labels as JSON lines."""
    images = dataset.table.images
    path_of = dict(zip(images, find_images(root, images), strict=True))
    missing = [image for image, path in path_of.items() if path is None]
    if missing:
        raise TagfillError(
            f"{len(missing):,} images are not there, first: {missing[0]!r}",
            file=root,
            remedy="name the folder the image ids start from with --images",
        )
    for image, path in path_of.items():
        target = folder / image
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(str(path), target)
    save_labels(dataset, folder / "metadata.jsonl", format="jsonl")


def model_card(bundle: Bundle, repository: str) -> str:
    """The card of a model: what it names, how good it was, how to use it."""
    names = ", ".join(f"`{name}`" for name in bundle.classes[:LISTED])
    more = len(bundle.classes) - LISTED
    metrics = bundle.details.get("metrics")
    measured = (
        f"\n\nMetrics: `{json.dumps(metrics, sort_keys=True)}`."
        if isinstance(metrics, Mapping) and metrics
        else ""
    )
    text = (
        f"A multi-label image classifier of {len(bundle.classes):,} classes: {names}"
        f"{f' and {more:,} more' if more > 0 else ''}.{measured}\n\n"
        "Download the repository into a folder, then:\n\n"
        "```\ntagfill predict FOLDER photos/\n```"
    )
    return _card(
        {"library_name": "tagfill", "tags": ["tagfill", "multi-label", "image-classification"]},
        repository,
        text,
    )


def _card(metadata: dict[str, Any], repository: str, text: str) -> str:
    front = "\n".join(f"{key}: {json.dumps(value)}" for key, value in metadata.items())
    return f"---\n{front}\n---\n# {repository.split('/')[-1]}\n\n{text}\n"


def _check_name(repository: str) -> None:
    if not _REPOSITORY.fullmatch(repository):
        raise TagfillError(
            f"{repository!r} is not the name of a repository",
            remedy="use owner/name, such as me/birds",
        )


def _push(folder: Path, repository: str, kind: Literal["model", "dataset"], public: bool) -> str:
    from huggingface_hub import HfApi

    with _hub_errors(repository):
        api = HfApi(endpoint=os.environ.get("HF_ENDPOINT"))
        address = api.create_repo(repository, repo_type=kind, private=not public, exist_ok=True)
        api.upload_folder(
            folder_path=folder,
            repo_id=repository,
            repo_type=kind,
            commit_message=f"{kind} by tagfill",
        )
    return str(address)


@contextmanager
def _hub_errors(repository: str) -> Iterator[None]:
    """Turn errors of the hub into one sentence."""
    from huggingface_hub.errors import HFValidationError, LocalTokenNotFoundError

    try:
        yield
    except HFValidationError as error:
        raise TagfillError(f"{repository!r} is not the name of a repository ({error})") from None
    except LocalTokenNotFoundError:
        raise TagfillError(
            "the hub requires a login", remedy="set HF_TOKEN, or run `hf auth login` once"
        ) from None
    except Exception as error:  # depends on the HTTP library of the installed version
        raise TagfillError(
            f"the hub refused {repository}: {str(error).splitlines()[0]}",
            remedy="check the name, HF_TOKEN and the network",
        ) from None
