"""The ML backend protocol of Label Studio: /health, /setup, /predict, /webhook.

Images are found by name among the served photos, or come as data URIs. Addresses are never
fetched: whoever can write tasks could otherwise make the server call anywhere.
"""

from __future__ import annotations

import asyncio
import re
from functools import partial
from typing import Annotated, Any
from urllib.parse import parse_qs, unquote, urlsplit

import numpy as np
from fastapi import APIRouter, HTTPException
from pydantic import Field

from tagfill import __version__
from tagfill.arrays import Numbers
from tagfill.errors import TagfillError
from tagfill.models.tagging import TagRule, pixels
from tagfill.serve.api.predict import tags_of
from tagfill.serve.api.schema import Model
from tagfill.serve.service import Served, Service
from tagfill.serve.uploads import Refused, Upload, decode, decode_base64

router = APIRouter(tags=["label studio"])

MOST_TASKS = 100
_UPLOAD_PREFIX = re.compile(r"^[0-9a-f]{8}-")
_CHOICES = re.compile(r'<Choices[^>]*?\bname="([^"]+)"[^>]*?\btoName="([^"]+)"', re.IGNORECASE)
"""The Choices control: its name, and that of what it is about."""


class _Open(Model, extra="allow"):
    """Accepts extra fields: Label Studio sends more than is used, and more with every version."""


class SetupRequest(_Open):
    """A project that wants to use the model."""

    project: Annotated[str, Field(max_length=500)] | int = ""
    label_schema: Annotated[str, Field(alias="schema", max_length=200_000)] = ""


class PredictRequest(_Open):
    """Tasks to pre-annotate."""

    tasks: Annotated[list[dict[str, Any]], Field(max_length=MOST_TASKS)]
    label_config: Annotated[str, Field(max_length=200_000)] | None = None


@router.get("/health")
async def health() -> dict[str, str]:
    """Whether the backend is there."""
    return {"status": "UP", "model_class": "tagfill"}


@router.post("/setup")
def setup(service: Served, wanted: SetupRequest) -> dict[str, str]:
    """The version of the served model."""
    return {"model_version": _version(service)}


@router.post("/webhook")
async def webhook() -> dict[str, str]:
    """Events of Label Studio are taken note of; training is started in the web app."""
    return {"status": "ok"}


@router.post("/predict")
async def predict(service: Served, wanted: PredictRequest) -> dict[str, Any]:
    """Choices for tasks, in the form Label Studio imports."""
    pictures = [await _picture(service, task) for task in wanted.tasks]
    predicted = await tags_of(service, pictures, TagRule.of(service.model.engine.metadata))
    match = _CHOICES.search(wanted.label_config or "")
    control, about = (match[1], match[2]) if match else ("tags", "image")
    results = [
        _result(service, {} if isinstance(tags, Refused) else tags, control, about)
        for tags in predicted
    ]
    return {"results": results, "model_version": _version(service)}


def _version(service: Service) -> str:
    return f"tagfill-{__version__}-{service.model.name}"


def _result(service: Service, tags: dict[str, float], control: str, about: str) -> dict[str, Any]:
    choices = {
        "from_name": control,
        "to_name": about,
        "type": "choices",
        "value": {"choices": list(tags)},
        "score": float(np.mean(list(tags.values()))) if tags else 0.0,
    }
    return {
        "model_version": _version(service),
        "score": float(min(tags.values())) if tags else 0.0,
        "result": [choices] if tags else [],
    }


async def _picture(service: Service, task: dict[str, Any]) -> Numbers | Refused:
    data = task.get("data")
    values = data.values() if isinstance(data, dict) else ()
    texts = [text for text in values if isinstance(text, str)]
    size = service.model.engine.metadata.size
    prepare = partial(pixels, size=size)
    for text in texts:
        if text.startswith("data:image/"):
            try:
                upload = Upload("task", decode_base64(text))
                return (await decode([upload], size, prepare))[0]
            except HTTPException as error:
                return Refused(error.status_code, str(error.detail))
        row = find_photo(service, text)
        if row is not None:
            try:
                return prepare(await asyncio.to_thread(service.pictures.open, row, size))
            except TagfillError as error:
                return Refused(404, error.message)
    return Refused(404, "not one of the served photos")


def find_photo(service: Service, address: str) -> int | None:
    """The photo a task means: by its whole id, or by a file name only one photo has."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    path = unquote(parse_qs(parts.query).get("d", [parts.path])[0]).lstrip("/")
    rows = service.photo_names
    name = path.rpartition("/")[2]
    for candidate in (path, name, _UPLOAD_PREFIX.sub("", name)):
        row = service.library.table.row_of.get(candidate, rows.get(candidate))
        if row is not None:
            return row
    return None
