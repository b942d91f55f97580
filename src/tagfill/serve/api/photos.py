"""/api/photos: photos by number, as small pictures, with their tags."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Response

from tagfill.explain.draw import overlay
from tagfill.serve.api.review import card
from tagfill.serve.api.schema import Card
from tagfill.serve.library import Pictures, Size, encode
from tagfill.serve.model import ServedModel
from tagfill.serve.responses import refusing
from tagfill.serve.service import Row, Served

router = APIRouter(prefix="/api/photos", tags=["photos"])

JPEG: dict[int | str, dict[str, Any]] = {
    200: {"content": {"image/jpeg": {}}, "description": "A JPEG without metadata."}
}
HEAT_SIZE = 640
UNREADABLE = "the photo's file is missing or broken"
KEPT = {"cache-control": "private, max-age=3600"}


@router.get("/{photo}")
def photo_card(service: Served, row: Row) -> Card:
    """Known and suggested tags of a photo."""
    with service.current():
        return card(service, row)


@router.get("/{photo}/picture", response_class=Response, responses=JPEG)
def picture(service: Served, row: Row, size: Size = Size.SMALL) -> Response:
    """The photo, encoded again with a longer side of at most this many pixels."""
    with refusing(404, UNREADABLE):
        return Response(service.pictures.jpeg(row, size), media_type="image/jpeg", headers=KEPT)


@router.get("/{photo}/heat", response_class=Response, responses=JPEG)
async def heat(service: Served, row: Row, tag: Annotated[str, Query(max_length=200)]) -> Response:
    """Where in the photo the model sees a tag: a heat map over it."""
    model = service.model
    if tag not in model.bundle.classes:
        raise HTTPException(404, "the model does not know this tag")
    with refusing(404, UNREADABLE):
        content = await service.explaining(_heat, model, service.pictures, row, tag)
    return Response(content, media_type="image/jpeg", headers=KEPT)


def _heat(model: ServedModel, pictures: Pictures, row: int, tag: str) -> bytes:
    picture = pictures.open(row, HEAT_SIZE)
    picture.thumbnail((HEAT_SIZE, HEAT_SIZE))
    heat = model.explanation(row, picture).heat[model.bundle.classes.index(tag)]
    return encode(overlay(picture, heat), HEAT_SIZE)
