"""Folders nobody can write to, not even root: what needs none of them works, all else is named."""

from __future__ import annotations

import ctypes
import os
from functools import partial
from pathlib import Path

import pytest
from tests.processes import TIMEOUT, Command
from tests.torture.story import model_bytes
from tests.torture.test_commands import place

from tagfill.train.cache import stores

__all__ = ["place"]

NAMESPACE, PRIVATE, BIND, REMOUNT, READ_ONLY = 0x20000, 0x44000, 0x1000, 0x20, 0x1
TRAIN = ("--input-size", "48", "--method", "an", "--epochs", "1", "--threads", "1")
TRAIN += ("--quiet", "--no-report")


def make_read_only(folder: Path) -> None:
    """For this process alone, in a name space of its own."""
    libc = ctypes.CDLL(None, use_errno=True)
    name = os.fsencode(folder)
    for failed in (
        libc.unshare(NAMESPACE),
        libc.mount(None, b"/", None, PRIVATE, None),
        libc.mount(name, name, None, BIND, None),
        libc.mount(None, name, None, BIND | REMOUNT | READ_ONLY, None),
    ):
        if failed:
            raise OSError(ctypes.get_errno(), "this needs the rights of root")


def tried(folder: Path, *words: str | Path, cache: Path | None = None) -> tuple[int, str]:
    """A command for which a folder is read-only: exit code and what it wrote to stderr."""
    env = {**os.environ, **({} if cache is None else {"TAGFILL_CACHE": str(cache)})}
    process = Command(*words, env=env, before=partial(make_read_only, folder))
    _, errors = process.communicate(timeout=TIMEOUT)
    if "this needs the rights of root" in errors:
        pytest.skip("needs the rights of root")
    return process.returncode, errors


@pytest.fixture
def away(tmp_path: Path) -> Path:
    return tmp_path


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("report", "{run}"), "run/report.html: cannot be written"),
        (("report", "{run}", "--out", "{away}/r.html"), None),
        (("recover", "{run}", "--out", "{away}/s.csv"), None),
        (("recover", "{run}", "--out", "{run}/s.csv"), "run/s.csv: cannot be written"),
        (("export", "{run}"), "run/model.onnx: cannot be written"),
        (("predict", "{run}", "{place}/images"), None),
        (("evaluate", "{run}", "{place}/labels.csv"), None),
        (("explain", "{run}", "{place}/images", "--out", "{run}/maps"), "run/maps"),
        (("train", "--resume", "{run}"), None),
        (("mask", "{place}/labels.csv", "{place}/m.csv", "--regime", "single_positive"), "m.csv"),
        (("apply", "{place}/suggestions.csv", "{place}/masked.csv", "{place}/n.csv"), "n.csv"),
        (("fill", "{place}/masked.csv", "--out", "{place}/filled"), "filled"),
        (("serve", "{run}", "--port", "0"), "run/review.db"),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, tuple) else "",
)
def test_a_read_only_folder(
    place: Path, away: Path, words: tuple[str, ...], told: str | None
) -> None:
    run = place / "run"
    (run / "posterior.safetensors").unlink(missing_ok=True)
    before = {file: file.read_bytes() for file in place.rglob("*") if file.is_file()}
    filled = [word.format(run=run, place=place, away=away) for word in words]
    code, errors = tried(place, *filled)
    assert code == (0 if told is None else 2), errors
    assert "Traceback" not in errors
    if told is not None:
        assert told in errors
        assert ".part" not in errors  # the name the user gave, not that of a draft
        assert "Read-only file system" in errors or "cannot be opened" in errors
    after = {file: file.read_bytes() for file in place.rglob("*") if file.is_file()}
    assert after == before


def test_a_read_only_cache_is_used_for_what_it_has(place: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    words = ("train", place / "masked.csv", "--images", place, *TRAIN, "--out")
    env = {**os.environ, "TAGFILL_CACHE": str(cache)}
    filling = Command(*words, tmp_path / "first", env=env)
    assert filling.communicate(timeout=TIMEOUT)[1] == ""
    assert list(stores(cache))
    code, errors = tried(cache, *words, tmp_path / "second", cache=cache)
    assert (code, errors) == (0, "")
    assert model_bytes(tmp_path / "first") == model_bytes(tmp_path / "second")
    other = [word if word != "48" else "56" for word in words]
    code, errors = tried(cache, *other, tmp_path / "third", cache=cache)
    assert code == 2
    assert "cannot be written (Read-only file system)" in errors
    assert "TAGFILL_CACHE" in errors
