"""Images made to take memory or time: refused, or decoded one after the other within limits."""

from __future__ import annotations

import io
import struct
import threading
import zlib
from typing import Any

import pytest
from PIL import Image
from tests.serve.conftest import Reviewer
from tests.serve.test_predict import bomb, photo

from tagfill.serve import uploads
from tagfill.serve.service import Service


def png_chunk(kind: bytes, data: bytes) -> bytes:
    check = zlib.crc32(kind + data).to_bytes(4, "big")
    return len(data).to_bytes(4, "big") + kind + data + check


def text_bomb() -> bytes:
    """A small picture with a comment that unpacks to 64 MB."""
    stream = io.BytesIO()
    Image.new("RGB", (8, 8)).save(stream, "PNG")
    plain = stream.getvalue()
    comment = png_chunk(b"zTXt", b"Comment\0\0" + zlib.compress(b"a" * 64_000_000, 9))
    return plain[:33] + comment + plain[33:]


def test_bombs_are_refused_and_do_not_add_up(anna: Reviewer, service: Service) -> None:
    files = [("images", (f"{number}.png", bomb(), "image/png")) for number in range(3)]
    assert anna.post("/api/predict", files=files).status_code == 413
    commented = anna.post("/api/predict", files={"images": ("a.png", text_bomb(), "image/png")})
    assert commented.status_code in (200, 415)
    packed = {"content-type": "image/png", "content-encoding": "gzip"}
    zipped = zlib.compress(b"\0" * 10_000_000, wbits=31)
    assert anna.post("/api/predict", content=zipped, headers=packed).status_code == 415


def test_pictures_are_made_small_one_after_the_other(
    anna: Reviewer, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[int] = []
    open_image, size = uploads.open_image, service.model.engine.metadata.size

    def opened(content: bytes, wanted: int) -> Any:
        image = open_image(content, wanted)
        held.append(image.width * image.height)
        return image

    monkeypatch.setattr(uploads, "open_image", opened)
    stream = io.BytesIO()
    Image.new("RGB", (3000, 2500)).save(stream, "PNG")
    files = [("images", (f"{n}", stream.getvalue(), "image/png")) for n in range(3)]
    kept: list[Any] = []
    submit = service.batcher.submit
    monkeypatch.setattr(
        service.batcher, "submit", lambda image: kept.append(image) or submit(image)
    )
    assert anna.post("/api/predict", files=files).status_code == 200
    assert held == [3000 * 2500] * 3
    assert [image.shape for image in kept] == [(3, size, size)] * 3


def icon(side: int) -> bytes:
    """An icon that calls itself small; Pillow decodes it to learn its size."""
    stream = io.BytesIO()
    Image.new("L", (side, side)).save(stream, "PNG")
    inner = stream.getvalue()
    return struct.pack("<HHHBBBBHHII", 0, 1, 1, 16, 16, 0, 0, 1, 32, len(inner), 22) + inner


def jpeg(scans: int) -> bytes:
    """A progressive JPEG that repeats its last scan: 60 bytes cost a pass over the whole image."""
    stream = io.BytesIO()
    Image.new("L", (64, 64), 128).save(stream, "JPEG", progressive=True)
    plain = stream.getvalue()
    return plain[:-2] + plain[plain.rindex(b"\xff\xda") : -2] * scans + plain[-2:]


def hidden(content: bytes) -> bytes:
    """The same scans, behind markers without a length."""
    first = content.index(b"\xff\xda") + 2
    return content[:first] + content[first:].replace(b"\xff\xda", b"\xff\x01\xff\xda")


def test_small_files_that_are_long_to_decode_are_refused(anna: Reviewer) -> None:
    tiff = io.BytesIO()
    Image.new("RGB", (64, 3000)).save(tiff, "TIFF", compression="jpeg", strip_size=64 * 3 * 16)
    film = jpeg(3) + b"\xff\xda\0\0" * 500  # what comes after the end is not decoded
    for content, status in (
        (icon(6000), 415),
        (jpeg(200), 413),
        (hidden(jpeg(200)), 413),
        (jpeg(3), 200),
        (film, 200),
        (tiff.getvalue(), 200),
    ):
        answer = anna.post("/api/predict", files={"images": ("x", content, "image/jpeg")})
        assert answer.status_code == status, answer.text


def test_decoding_that_takes_too_long_is_given_up(
    anna: Reviewer, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, begun = threading.Event(), []
    monkeypatch.setattr(uploads, "SECONDS", 0.2)
    monkeypatch.setattr(uploads, "_decode", lambda *_: begun.append(1) or go.wait(20))
    files = [("images", (f"{number}", b"x", "image/png")) for number in range(30)]
    answer = anna.post("/api/predict", files=files)
    go.set()
    assert answer.status_code == 429
    assert answer.headers["retry-after"]
    assert len(begun) <= uploads._decoders._max_workers  # the others never begin
    monkeypatch.undo()
    good = {"images": ("a.jpg", photo(service), "image/jpeg")}
    assert anna.post("/api/predict", files=good).status_code == 200
