"""Images people send: as files of a form, or as base64 in JSON; checked before they are decoded."""

from __future__ import annotations

import asyncio
import base64
import binascii
import io
import json
import os
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import HTTPException, Request
from PIL import Image, UnidentifiedImageError
from starlette.datastructures import UploadFile
from starlette.formparsers import MultiPartException

from tagfill.errors import TagfillError
from tagfill.images import FORMATS, MOST_SCANS, open_image, too_many_scans

MOST_IMAGES = 32
MOST_PIXELS = 40_000_000
MOST_SIDE = 2048
"""Largest side of pictures to explain."""
MOST_NAME = 200
SECONDS = 30.0
"""Seconds after which an unanswered request is dropped."""
_FORMATS = tuple(name for name in FORMATS if name != "ICO")  # an icon is decoded to learn its size

Made = TypeVar("Made")
_decoders = ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1), thread_name_prefix="decode")


@dataclass(frozen=True)
class Upload:
    """Uploaded bytes and their name; the name is only displayed."""

    name: str
    content: bytes


@dataclass(frozen=True)
class Refused:
    """An image that cannot be used, and why."""

    status: int
    reason: str


async def read_uploads(request: Request) -> list[Upload]:
    """The images of a request; refused if there are none or too many."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        uploads = await _form(request)
    elif kind == "application/json":
        try:
            body = json.loads(await request.body())
        except (ValueError, RecursionError):
            raise HTTPException(400, "the body is not JSON") from None
        uploads = _listed(body)
    elif kind.startswith("image/") or kind == "application/octet-stream":
        uploads = [Upload("image", await request.body())]
    else:
        raise HTTPException(415, "send multipart/form-data, application/json or an image")
    if not uploads:
        raise HTTPException(422, 'there is no image: send files as "images"')
    if len(uploads) > MOST_IMAGES:
        raise HTTPException(413, f"at most {MOST_IMAGES} images at once")
    return uploads


async def _form(request: Request) -> list[Upload]:
    try:
        async with request.form(max_files=MOST_IMAGES + 1, max_fields=16) as form:
            return [
                Upload((part.filename or "image")[:MOST_NAME], await part.read())
                for _, part in form.multi_items()
                if isinstance(part, UploadFile)
            ]
    except MultiPartException as error:
        raise HTTPException(400, f"the form is malformed: {error.message}") from None


def _listed(body: Any) -> list[Upload]:
    images = body.get("images", body.get("image")) if isinstance(body, dict) else None
    texts = [images] if isinstance(images, str) else images
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise HTTPException(422, 'JSON needs "images": a list of base64 texts')
    return [Upload(str(number), decode_base64(text)) for number, text in enumerate(texts)]


def decode_base64(text: str) -> bytes:
    """Bytes of a base64 text or data URI."""
    if text.startswith("data:"):
        text = text.partition(",")[2]
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise HTTPException(422, "an image is not valid base64") from None


async def decode(
    uploads: Sequence[Upload], size: int, prepare: Callable[[Image.Image], Made]
) -> list[Made | Refused]:
    """What ``prepare`` makes of upright RGB pictures, or why one cannot be used.

    A few are decoded at a time, and made small before the next: what a request may unpack to does
    not depend on how many pictures it holds.
    """
    tasks = [_decoders.submit(_decode, upload.content, size, prepare) for upload in uploads]
    return await answered(asyncio.gather(*map(asyncio.wrap_future, tasks)))


async def answered(work: Awaitable[Made]) -> Made:
    """A result, if it comes in time; else 429, and what has not begun by then is dropped."""
    try:
        return await asyncio.wait_for(work, SECONDS)
    except TimeoutError:
        raise busy() from None


def busy() -> HTTPException:
    """The answer while the queue is full."""
    return HTTPException(429, "the queue is full", {"retry-after": "1"})


def small(picture: Image.Image) -> Image.Image:
    """A picture of at most this many pixels per side."""
    picture.thumbnail((MOST_SIDE, MOST_SIDE))
    return picture


def _decode(content: bytes, size: int, prepare: Callable[[Image.Image], Made]) -> Made | Refused:
    try:
        stream = io.BytesIO(content)
        with Image.open(stream, formats=_FORMATS) as header:
            width, height = header.size
            many_scans = too_many_scans(header, stream)
        if width * height > MOST_PIXELS:
            return Refused(413, f"{width} x {height} pixels: at most {MOST_PIXELS:,} are decoded")
        if many_scans:
            return Refused(413, f"a JPEG of more than {MOST_SCANS} scans is not decoded")
        return prepare(open_image(content, size))
    except TagfillError as error:
        return Refused(415, error.message)
    except Image.DecompressionBombError:
        return Refused(413, f"at most {MOST_PIXELS:,} pixels are decoded")
    except UnidentifiedImageError:
        return Refused(415, "is not an image that can be read")
    except Exception:  # decoders of many formats fail in many ways on bytes made to break them
        return Refused(415, "the image is broken")
