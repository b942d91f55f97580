"""/api/predict and /api/explain: predictions for uploaded images."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

import numpy as np
from fastapi import APIRouter, HTTPException, Query, Request
from PIL import Image

from tagfill.arrays import Numbers
from tagfill.explain.draw import overlay, peak
from tagfill.labels import POSITIVE
from tagfill.models.tagging import TagRule, pixels
from tagfill.serve.api.schema import Explained, Nearest, Predicted, Predictions, SeenTag, Suggested
from tagfill.serve.batcher import QueueFullError
from tagfill.serve.library import encode
from tagfill.serve.service import Served, Service
from tagfill.serve.uploads import Refused, Upload, answered, busy, decode, read_uploads, small

router = APIRouter(prefix="/api", tags=["model"])

HEAT_SIZE = 512
_EXAMPLE = (  # one gray pixel
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGNoAAAAggCBd81ytgAAAABJRU5ErkJggg=="
)


def _images_as(format: str) -> dict[str, Any]:
    listed = {"type": "array", "items": {"type": "string", "format": format}, "minItems": 1}
    return {"type": "object", "properties": {"images": listed}, "required": ["images"]}


_CONTENT = {
    "multipart/form-data": {"schema": _images_as("binary")},
    "application/json": {"schema": _images_as("byte"), "example": {"images": [_EXAMPLE]}},
}
BODY: dict[str, Any] = {"requestBody": {"required": True, "content": _CONTENT}}
Top = Annotated[int | None, Query(ge=1, le=1000, description="Number of tags, most likely first.")]
Threshold = Annotated[float | None, Query(ge=0, le=1, description="Least probability of a tag.")]


@router.post("/predict", openapi_extra=BODY)
async def predict(
    request: Request, service: Served, top: Top = None, threshold: Threshold = None
) -> Predictions:
    """Tags of images, with calibrated probabilities."""
    began = time.perf_counter()
    uploads = await read_uploads(request)
    size = service.model.engine.metadata.size
    pictures = await decode(uploads, size, partial(pixels, size=size))
    _raise_if_none(pictures)
    rule = TagRule.of(service.model.engine.metadata, top=top, threshold=threshold)
    answers = []
    for upload, tags in zip(uploads, await tags_of(service, pictures, rule), strict=True):
        if isinstance(tags, Refused):
            answers.append(Predicted(name=upload.name, tags=[], error=tags.reason))
        else:
            listed = [Suggested(tag=tag, probability=chance) for tag, chance in tags.items()]
            answers.append(Predicted(name=upload.name, tags=listed))
    seconds = round(time.perf_counter() - began, 4)
    return Predictions(model=service.model.name, predictions=answers, seconds=seconds)


@router.post("/explain", openapi_extra=BODY)
async def explain(
    request: Request,
    service: Served,
    top: Annotated[int, Query(ge=1, le=20, description="Number of tags with heat maps.")] = 4,
    nearest: Annotated[
        int, Query(ge=0, le=50, description="Number of similar training photos.")
    ] = 6,
) -> Explained:
    """All probabilities of one image, heat maps of the most likely tags, and similar photos."""
    uploads = await read_uploads(request)
    if len(uploads) > 1:
        raise HTTPException(413, "explain takes one image at a time")
    pictures = await decode(uploads, HEAT_SIZE, small)
    _raise_if_none(pictures)
    picture = pictures[0]
    assert isinstance(picture, Image.Image)
    return await service.explaining(_explained, service, uploads[0], picture, top, nearest)


async def tags_of(
    service: Service, pictures: Sequence[Numbers | Refused], rule: TagRule
) -> list[dict[str, float] | Refused]:
    """Tags of pictures [3, H, W] with their probabilities; refused pictures stay refused."""
    waiting = []
    try:
        for picture in pictures:
            if not isinstance(picture, Refused):
                waiting.append(service.batcher.submit(picture))  # noqa: PERF401 - may be full
        rows = iter(await answered(asyncio.gather(*map(asyncio.wrap_future, waiting))))
    except QueueFullError:
        for future in waiting:
            future.cancel()
        raise busy() from None
    return [
        picture
        if isinstance(picture, Refused)
        else next(iter(rule.predictions(["picture"], next(rows)[None]))).tags
        for picture in pictures
    ]


def _raise_if_none(pictures: Sequence[object]) -> None:
    refused = [picture for picture in pictures if isinstance(picture, Refused)]
    if len(refused) == len(pictures):
        raise HTTPException(refused[0].status, refused[0].reason)


def _explained(
    service: Service, upload: Upload, picture: Image.Image, top: int, nearest: int
) -> Explained:
    model = service.model
    classes = model.bundle.classes
    explanation = model.explain(picture)
    order = np.argsort(-explanation.probabilities, kind="stable")
    picture.thumbnail((HEAT_SIZE, HEAT_SIZE))
    seen = []
    for place, column in enumerate(order.tolist()):
        tag = SeenTag(
            tag=classes[column], probability=round(float(explanation.probabilities[column]), 4)
        )
        if place < top:
            heat = explanation.heat[column]
            content = base64.b64encode(encode(overlay(picture, heat), HEAT_SIZE)).decode()
            tag.heat, tag.peak = f"data:image/jpeg;base64,{content}", list(peak(heat))
        seen.append(tag)
    alike = [
        Nearest(
            photo=row,
            name=service.library.table.images[row],
            similarity=round(alike, 4),
            tags=service.tags_of(row, POSITIVE),
        )
        for row, alike in (model.nearest(picture, nearest) if nearest else ())
    ]
    limits = model.bundle.thresholds
    return Explained(
        model=model.name,
        name=upload.name,
        tags=seen,
        nearest=alike,
        threshold=float(np.median(limits)) if limits else 0.5,
    )
