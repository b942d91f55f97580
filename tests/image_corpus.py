"""Image files of more than 100 kinds, written by the tests: what decoders meet in the wild."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from PIL import Image, features

COLORS = ((220, 30, 30), (30, 200, 40), (30, 40, 220), (240, 240, 240))
"""Of the quarters: top left, top right, bottom left, bottom right."""
SIDE = 40


@dataclass(frozen=True)
class Kind:
    """A kind of file.

    Args:
        name: of the file.
        content: its bytes.
        quarters: what its four quarters show; None where it must be passed over.
        tolerance: how far colors may be off.
    """

    name: str
    content: bytes
    quarters: tuple[tuple[int, int, int], ...] | None = COLORS
    tolerance: int = 30


def picture(width: int = SIDE, height: int = SIDE) -> Image.Image:
    """Four quarters, each of one color."""
    pixels = np.empty((height, width, 3), dtype=np.uint8)
    middle, center = (height + 1) // 2, (width + 1) // 2
    pixels[:middle, :center], pixels[:middle, center:] = COLORS[0], COLORS[1]
    pixels[middle:, :center], pixels[middle:, center:] = COLORS[2], COLORS[3]
    return Image.fromarray(pixels)


def saved(image: Image.Image, format: str, **settings: object) -> bytes:
    """An image as bytes."""
    stream = io.BytesIO()
    image.save(stream, format, **settings)
    return stream.getvalue()


def grays() -> tuple[tuple[int, int, int], ...]:
    """The quarters without color."""
    return tuple((int(value),) * 3 for value in np.asarray(picture(2, 2).convert("L")).ravel())


def corpus() -> Iterator[Kind]:
    """All kinds."""
    for part in (_plain, _deep, _transparent, _animated, _oriented, _odd_sizes, _odd_files):
        yield from part()
    yield from _truncated()
    yield from _bombs()


def _plain() -> Iterator[Kind]:
    image = picture()
    modes = {
        "png": ("PNG", ("1", "L", "P", "RGB")),
        "jpg": ("JPEG", ("L", "RGB", "CMYK", "YCbCr")),
        "bmp": ("BMP", ("1", "L", "P", "RGB")),
        "tif": ("TIFF", ("1", "L", "P", "RGB", "CMYK", "YCbCr", "LAB")),
        "gif": ("GIF", ("L", "P", "RGB")),
        "webp": ("WEBP", ("RGB", "L")),
        "ppm": ("PPM", ("1", "L", "RGB")),
        "tga": ("TGA", ("L", "RGB")),
        "pcx": ("PCX", ("L", "P", "RGB")),
        "sgi": ("SGI", ("L", "RGB")),
        "jp2": ("JPEG2000", ("L", "RGB")),
        "dib": ("DIB", ("L", "RGB")),
    }
    for suffix, (format, names) in modes.items():
        for mode in names:
            shown = COLORS if mode not in ("1", "L") else grays()
            made = _lab(image) if mode == "LAB" else image.convert(mode)
            yield Kind(f"{mode}.{suffix}", saved(made, format), shown, 140 if mode == "1" else 60)
    for compression in ("tiff_lzw", "tiff_deflate", "packbits", "jpeg", "tiff_adobe_deflate"):
        yield Kind(
            f"{compression}.tif", saved(image, "TIFF", compression=compression), tolerance=60
        )
    yield Kind("progressive.jpg", saved(image, "JPEG", progressive=True), tolerance=60)
    yield Kind("worst.jpg", saved(image, "JPEG", quality=1), tolerance=120)
    yield Kind("full_chroma.jpg", saved(image, "JPEG", subsampling=0, quality=95))
    yield Kind("lossless.webp", saved(image, "WEBP", lossless=True))
    yield Kind("interlaced.png", saved(image, "PNG", optimize=True))
    yield Kind("icon.ico", saved(image.resize((32, 32)), "ICO"))
    if features.check("avif"):
        yield Kind("photo.avif", saved(image, "AVIF"), tolerance=60)


def _lab(image: Image.Image) -> Image.Image:
    from PIL import ImageCms

    to_lab = ImageCms.buildTransform(
        ImageCms.createProfile("sRGB"), ImageCms.createProfile("LAB"), "RGB", "LAB"
    )
    converted = ImageCms.applyTransform(image, to_lab)
    assert converted is not None
    return converted


def _deep() -> Iterator[Kind]:
    gray = np.asarray(picture().convert("L"))
    deep = Image.fromarray(gray.astype(np.uint16) * 257)
    yield Kind("sixteen.png", saved(deep, "PNG"), grays())
    yield Kind("sixteen.tif", saved(deep, "TIFF"), grays())
    yield Kind(
        "thirtytwo.tif", saved(Image.fromarray(gray.astype(np.int32) * 257), "TIFF"), grays()
    )
    real = gray.astype(np.float32)
    yield Kind("float_bytes.tif", saved(Image.fromarray(real), "TIFF"), grays())
    yield Kind("float_one.tif", saved(Image.fromarray(real / 255), "TIFF"), grays())
    yield Kind("sixteen.jp2", saved(deep, "JPEG2000"), grays())
    real = real / 255
    real[0, 0] = np.nan
    yield Kind("float_nan.tif", saved(Image.fromarray(real), "TIFF"), grays())


def _transparent() -> Iterator[Kind]:
    image = picture().convert("RGBA")
    clear = np.array(image)
    clear[SIDE // 2 :, : SIDE // 2, 3] = 0  # the blue quarter
    clear_image = Image.fromarray(clear)
    white = (*COLORS[:2], (255, 255, 255), COLORS[3])
    for suffix, format in (("png", "PNG"), ("webp", "WEBP"), ("tif", "TIFF"), ("tga", "TGA")):
        yield Kind(f"opaque_alpha.{suffix}", saved(image, format), tolerance=60)
        yield Kind(f"alpha.{suffix}", saved(clear_image, format), white, 60)
    yield Kind("gray_alpha.png", saved(picture().convert("LA"), "PNG"), grays())
    palette = picture().convert("P", palette=Image.Palette.ADAPTIVE, colors=4)
    blue = palette.getpixel((0, SIDE - 1))
    yield Kind("palette_alpha.png", saved(palette, "PNG", transparency=blue), white, 60)
    yield Kind("palette_alpha.gif", saved(palette, "GIF", transparency=blue), white, 60)


def _animated() -> Iterator[Kind]:
    frames = [picture(), Image.new("RGB", (SIDE, SIDE), "black")]
    for suffix, format in (("gif", "GIF"), ("webp", "WEBP"), ("png", "PNG"), ("tif", "TIFF")):
        content = saved(frames[0], format, save_all=True, append_images=frames[1:])
        yield Kind(f"frames.{suffix}", content, tolerance=60)
    yield Kind("frames.mpo", saved(frames[0], "MPO", save_all=True, append_images=frames[1:]))


def _oriented() -> Iterator[Kind]:
    operations: dict[int, Callable[[Image.Image], Image.Image]] = {
        2: lambda image: image.transpose(Image.Transpose.FLIP_LEFT_RIGHT),
        3: lambda image: image.transpose(Image.Transpose.ROTATE_180),
        4: lambda image: image.transpose(Image.Transpose.FLIP_TOP_BOTTOM),
        5: lambda image: image.transpose(Image.Transpose.TRANSPOSE),
        6: lambda image: image.transpose(Image.Transpose.ROTATE_90),
        7: lambda image: image.transpose(Image.Transpose.TRANSVERSE),
        8: lambda image: image.transpose(Image.Transpose.ROTATE_270),
    }
    for orientation in range(1, 9):
        exif = Image.Exif()
        exif[0x0112] = orientation
        turned = operations.get(orientation, lambda image: image)(picture())
        for suffix, format in (("jpg", "JPEG"), ("png", "PNG"), ("webp", "WEBP"), ("tif", "TIFF")):
            if suffix == "jpg" or orientation in (3, 6):
                content = saved(turned, format, exif=exif)
                yield Kind(f"orientation_{orientation}.{suffix}", content, tolerance=60)
    for wrong in (0, 9, 65535):
        exif = Image.Exif()
        exif[0x0112] = wrong
        yield Kind(f"orientation_{wrong}.jpg", saved(picture(), "JPEG", exif=exif), tolerance=60)
    entries = b"".join(struct.pack("<HHII", tag, 7, 2**32 - 1, 8) for tag in range(50))
    many = b"Exif\0\0II*\0" + struct.pack("<IH", 8, 65_535) + entries
    yield Kind("exif_many.jpg", saved(picture(), "JPEG", exif=many), tolerance=60)
    circle = b"Exif\0\0II*\0" + struct.pack("<IHHHIII", 8, 1, 0x8769, 4, 1, 8, 8)
    yield Kind("exif_circle.jpg", saved(picture(), "JPEG", exif=circle), tolerance=60)
    yield Kind("exif_garbage.jpg", saved(picture(), "JPEG", exif=b"Exif\0\0garbage"), tolerance=60)


def _odd_sizes() -> Iterator[Kind]:
    red = (COLORS[0],) * 4
    for suffix, format in (("png", "PNG"), ("jpg", "JPEG"), ("gif", "GIF"), ("webp", "WEBP")):
        yield Kind(f"one_pixel.{suffix}", saved(picture(1, 1), format), red, 60)
    yield Kind("one_row.png", saved(picture(5000, 1), "PNG"), (*COLORS[:2], *COLORS[:2]))
    yield Kind(
        "one_column.png", saved(picture(1, 5000), "PNG"), (COLORS[0],) * 2 + (COLORS[2],) * 2
    )
    yield Kind("wide.jpg", saved(picture(20_000, 8), "JPEG"), tolerance=60)
    yield Kind("large.png", saved(picture(4000, 4000), "PNG"))
    yield Kind("large.jpg", saved(picture(4000, 3000), "JPEG"), tolerance=60)


def _odd_files() -> Iterator[Kind]:
    png, jpeg = saved(picture(), "PNG"), saved(picture(), "JPEG")
    yield Kind("really_a_png.jpg", png)
    yield Kind("trailing.jpg", jpeg + b"garbage" * 1000, tolerance=60)
    yield Kind("trailing.png", png + b"PK\x03\x04" * 1000)
    yield Kind("icc.jpg", saved(picture(), "JPEG", icc_profile=b"no profile"), tolerance=60)
    yield Kind("comment.jpg", saved(picture(), "JPEG", comment=b"x" * 60_000), tolerance=60)
    broken = {
        "empty.jpg": b"",
        "one_byte.png": b"\x89",
        "zeros.jpg": bytes(5000),
        "text.jpg": b"this is no picture\n" * 50,
        "page.jpg": b"<!doctype html><html><body>404</body></html>",
        "drawing.svg.png": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
        "script.eps.jpg": b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\nshowpage\n",
        "document.pdf.png": b"%PDF-1.7\n1 0 obj\n",
        "layers.psd.png": b"8BPS\0\1" + bytes(6) + struct.pack(">HIIHH", 3, 9, 9, 8, 3) + bytes(99),
        "archive.zip.jpg": b"PK\x03\x04" + bytes(100),
        "wrong_sum.png": png[:60] + bytes([png[60] ^ 255]) + png[61:],
        "only_header.jpg": jpeg[:20],
        "only_header.png": png[:33],
        "marker_only.jpg": b"\xff\xd8\xff\xd9",
    }
    for name, content in broken.items():
        yield Kind(name, content, None)


def _truncated() -> Iterator[Kind]:
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 255, (64, 64, 3), dtype=np.uint8))
    for suffix, format in (("jpg", "JPEG"), ("png", "PNG"), ("webp", "WEBP"), ("bmp", "BMP")):
        whole = saved(noise, format)
        for share in (10, 50, 90):
            yield Kind(f"cut_{share}.{suffix}", whole[: len(whole) * share // 100], None)
    for suffix, format in (("gif", "GIF"), ("tif", "TIFF"), ("jp2", "JPEG2000")):
        whole = saved(noise, format)
        yield Kind(f"cut_30.{suffix}", whole[: len(whole) * 30 // 100], None)


def _bombs() -> Iterator[Kind]:
    def chunk(kind: bytes, content: bytes) -> bytes:
        body = kind + content
        return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))

    def png(width: int, height: int, data: bytes, extra: bytes = b"") -> bytes:
        header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
        parts = (chunk(b"IHDR", header), extra, chunk(b"IDAT", data), chunk(b"IEND", b""))
        return b"\x89PNG\r\n\x1a\n" + b"".join(parts)

    yield Kind("claims_60000.png", png(60_000, 60_000, zlib.compress(bytes(1000))), None)
    yield Kind("claims_20000.png", png(20_000, 20_000, zlib.compress(bytes(10_000_000))), None)
    yield Kind("claims_2_31.png", png(2**31 - 1, 2**31 - 1, zlib.compress(b"")), None)
    yield Kind("claims_zero.png", png(0, 0, zlib.compress(b"")), None)
    text = chunk(b"zTXt", b"bomb\0\0" + zlib.compress(bytes(100_000_000)))
    yield Kind("text_bomb.png", png(4, 4, zlib.compress(bytes(4 * 13)), text), None)
    gif = bytearray(saved(picture(), "GIF"))
    gif[6:10] = struct.pack("<HH", 65_535, 65_535)
    yield Kind("claims_65535.gif", bytes(gif), None)
    bmp = bytearray(saved(picture(), "BMP"))
    bmp[18:26] = struct.pack("<ii", 2**30, 2**30)
    yield Kind("claims_2_30.bmp", bytes(bmp), None)
    jpeg = bytearray(saved(picture(), "JPEG"))
    start = jpeg.index(b"\xff\xc0") + 5
    jpeg[start : start + 4] = struct.pack(">HH", 65_500, 65_500)
    yield Kind("claims_65500.jpg", bytes(jpeg), None)
    progressive = saved(picture().convert("L"), "JPEG", progressive=True)
    scan = progressive[progressive.rindex(b"\xff\xda") : -2]
    yield Kind("scans.jpg", progressive[:-2] + 200 * scan + progressive[-2:], None)
    yield Kind("moving.jpg", progressive + b"\xff\xda\0\0" * 500, grays(), 60)
    fields = {256: 64, 257: 64, 258: 8, 259: 1, 262: 1, 273: 122, 277: 65_535, 278: 64, 279: 9}
    entries = b"".join(struct.pack("<HHII", tag, 4, 1, value) for tag, value in fields.items())
    tiff = b"II*\0" + struct.pack("<IH", 8, len(fields)) + entries + struct.pack("<I", 8)
    yield Kind("samples.tif", tiff + bytes(5000), None)
    yield Kind("claims.ppm", b"P6 1000000 1000000 255\n" + bytes(100), None)
