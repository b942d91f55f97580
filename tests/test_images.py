"""Image files: finding, decoding, checking."""

from __future__ import annotations

import io
import os
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tagfill import images
from tagfill.errors import TagfillError
from tagfill.image_files import find_image
from tagfill.images import check_images, list_images, open_image

ORIENTATION = 0x0112


def saved(image: Image.Image, kind: str, **options) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def pixel(image: Image.Image) -> tuple[int, int, int]:
    assert image.mode == "RGB"
    return image.getpixel((0, 0))


def ramp(width: int, height: int, seed: int = 0) -> Image.Image:
    noise = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(noise)


@pytest.mark.parametrize(
    ("image", "kind", "expected"),
    [
        (Image.new("L", (4, 4), 100), "PNG", (100, 100, 100)),
        (Image.new("1", (4, 4), 1), "PNG", (255, 255, 255)),
        (Image.new("RGBA", (4, 4), (255, 0, 0, 0)), "PNG", (255, 255, 255)),
        (Image.new("RGBA", (4, 4), (0, 0, 0, 51)), "PNG", (204, 204, 204)),
        (Image.new("LA", (4, 4), (0, 0)), "PNG", (255, 255, 255)),
        (Image.new("RGB", (4, 4), (1, 2, 3)).convert("P"), "PNG", (0, 0, 0)),
        (Image.fromarray(np.full((4, 4), 32896, dtype=np.uint16)), "PNG", (128, 128, 128)),
        (Image.fromarray(np.full((4, 4), 65535, dtype=np.int32)), "TIFF", (255, 255, 255)),
        (Image.fromarray(np.full((4, 4), 0.2, dtype=np.float32)), "TIFF", (51, 51, 51)),
        (Image.fromarray(np.full((4, 4), 200, dtype=np.float32)), "TIFF", (200, 200, 200)),
        (Image.new("CMYK", (8, 8), (0, 255, 255, 0)), "TIFF", (255, 0, 0)),
    ],
)
def test_every_mode_becomes_rgb(image, kind, expected):
    assert pixel(open_image(saved(image, kind))) == expected


def test_cmyk_jpeg():
    content = saved(Image.new("CMYK", (8, 8), (0, 255, 255, 0)), "JPEG", quality=100)
    red, green, blue = pixel(open_image(content))
    assert red > 240
    assert max(green, blue) < 15


def test_transparent_palette_is_laid_over_white():
    image = Image.new("P", (4, 4), 0)
    image.putpalette([10, 20, 30])
    assert pixel(open_image(saved(image, "GIF", transparency=0))) == (255, 255, 255)


def test_exif_orientation_is_applied(tmp_path):
    upright = Image.new("RGB", (40, 20), "blue")
    upright.paste("red", (0, 0, 20, 20))
    exif = Image.Exif()
    exif[ORIENTATION] = 6  # to be turned right by a quarter
    (tmp_path / "turned.jpg").write_bytes(saved(upright, "JPEG", exif=exif, quality=95))
    shown = open_image(tmp_path / "turned.jpg")
    assert shown.size == (20, 40)
    assert shown.getpixel((10, 5))[0] > 200
    assert shown.getpixel((10, 35))[2] > 200


def test_size_hint_decodes_large_photos_smaller_but_never_too_small():
    content = saved(ramp(800, 400), "JPEG")
    assert open_image(content).size == (800, 400)
    assert open_image(content, size=90).size == (200, 100)
    assert open_image(content, size=300).size == (800, 400)
    assert open_image(saved(ramp(80, 40), "PNG"), size=10).size == (80, 40)


def test_first_frame_of_an_animation():
    frames = [Image.new("RGB", (4, 4), color) for color in ("red", "blue")]
    content = saved(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert pixel(open_image(content)) == (255, 0, 0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not an image"),
        (b"GIF89 or so", "not an image"),
        (saved(ramp(64, 64), "JPEG")[:-500], "cannot be decoded"),
        (saved(ramp(64, 64), "PNG")[:400], "cannot be decoded"),
    ],
)
def test_broken_files(tmp_path, content, message):
    path = tmp_path / "broken.jpg"
    path.write_bytes(content)
    with pytest.raises(TagfillError, match=message) as caught:
        open_image(path)
    assert caught.value.file == path


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(TagfillError, match="no such file"):
        open_image(tmp_path / "nothing.jpg")
    with pytest.raises(TagfillError, match="not a regular file"):
        open_image(tmp_path)


def test_decompression_bombs_are_refused(monkeypatch):
    monkeypatch.setattr(images, "MAX_PIXELS", 1_000)
    with pytest.raises(TagfillError, match="claims 40 x 30 pixels, more than the 1,000"):
        open_image(saved(ramp(40, 30), "PNG"))
    assert open_image(saved(ramp(200, 160), "JPEG"), size=20).size == (25, 20)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    with pytest.raises(TagfillError, match="far too many pixels"):
        open_image(saved(ramp(40, 30), "PNG"))


def write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def test_list_images(tmp_path):
    for name in ("b.JPG", "a.png", "sub/c d.jpeg", "sub/.hidden.jpg", ".cache/e.jpg", "notes.txt"):
        write(tmp_path / name, b"")
    (tmp_path / "sub" / "loop").symlink_to(tmp_path)
    names = [path.relative_to(tmp_path).as_posix() for path in list_images(tmp_path)]
    assert names == ["a.png", "b.JPG", "sub/c d.jpeg"]
    with pytest.raises(TagfillError, match="no such folder"):
        list_images(tmp_path / "nothing")


def test_list_images_follows_links_to_folders(tmp_path):
    write(tmp_path / "elsewhere" / "a.jpg", b"")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train").symlink_to(tmp_path / "elsewhere")
    assert list_images(tmp_path / "data") == [tmp_path / "data" / "train" / "a.jpg"]


def test_suffix_case_does_not_matter(tmp_path):
    write(tmp_path / "a.JPG", b"")
    write(tmp_path / "sub" / "b.jpeg", b"")
    assert find_image(tmp_path, "a.jpg") == tmp_path / "a.JPG"
    assert find_image(tmp_path, "sub/b.JPEG") == tmp_path / "sub" / "b.jpeg"
    assert find_image(tmp_path, "c.jpg") is None


def test_check_images(tmp_path):
    write(tmp_path / "a.jpg", saved(ramp(40, 30), "JPEG"))
    write(tmp_path / "copy of a.jpg", saved(ramp(40, 30), "JPEG"))
    write(tmp_path / "big.png", saved(ramp(80, 60, seed=1), "PNG"))
    write(tmp_path / "broken.png", b"no image")
    ids = ["a.jpg", "copy of a.jpg", "big.png", "broken.png", "gone.jpg"]
    check = check_images(ids, tmp_path, workers=2)
    assert check.checked == 5
    assert check.missing == ("gone.jpg",)
    assert check.unreadable == ("broken.png",)
    assert check.duplicates == (("a.jpg", "copy of a.jpg"),)
    assert (check.smallest, check.largest) == ((40, 30), (80, 60))
    assert [str(problem) for problem in check.problems] == [
        f"{tmp_path}/broken.png: is not an image of a known kind",
        f"{tmp_path}/gone.jpg: missing image",
        f"{tmp_path}: 2 images are identical: a.jpg, copy of a.jpg",
    ]


def test_check_without_decoding_finds_missing_files_only(tmp_path):
    write(tmp_path / "broken.png", b"no image")
    check = check_images(["broken.png", "gone.jpg"], tmp_path, decode=False)
    assert check.missing == ("gone.jpg",)
    assert check.unreadable == ()
    assert not check.opened


def test_a_wrong_folder_is_one_problem_not_many(tmp_path):
    check = check_images([f"{number}.jpg" for number in range(100)], tmp_path)
    assert len(check.missing) == 100
    assert len(check.problems) == 1
    assert "--images" in str(check.problems[0])
    with pytest.raises(TagfillError, match="no such image folder"):
        check_images([], tmp_path / "nothing")


def test_a_file_too_large_for_the_memory_is_reported(tmp_path):
    Image.new("RGB", (8, 8)).save(tmp_path / "a.png")
    with (tmp_path / "b.png").open("wb") as file:
        file.truncate(10**12)  # a hole: nothing is on the disk
    told = "has 1,000,000,000,000 bytes, too many for such a file"
    problems = check_images(["a.png", "b.png"], tmp_path).problems
    assert any(told in str(problem) for problem in problems)
    with pytest.raises(TagfillError, match=told):
        open_image(tmp_path / "b.png", 8)


def test_a_pipe_among_the_photos_does_not_block(tmp_path):
    os.mkfifo(tmp_path / "pipe.jpg")
    with pytest.raises(TagfillError, match="not a regular file"):
        open_image(tmp_path / "pipe.jpg")
