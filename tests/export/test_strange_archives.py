"""Archives of torch that the user trusts, and that are damaged all the same: one sentence."""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.export.test_export import feature_bundle

from tagfill import trust
from tagfill.errors import TagfillError
from tagfill.export.run import export_model
from tagfill.models.engines import ARCHIVE_METADATA, open_engine

INPUTS = np.ones((2, 5), dtype=np.float32)


@pytest.fixture(scope="module")
def content(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("archive") / "model.pt2"
    export_model(feature_bundle(), path, to="torch")
    return path.read_bytes()


@pytest.fixture(autouse=True)
def trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trust, "_everything", True)


def members(content: bytes) -> list[tuple[int, int]]:
    """First byte and length of what each entry holds."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        found = []
        for entry in archive.infolist():
            start = entry.header_offset
            lengths = content[start + 26 : start + 30]
            name, extra = (int.from_bytes(lengths[k : k + 2], "little") for k in (0, 2))
            found.append((start + 30 + name + extra, entry.compress_size))
        return [(start, size) for start, size in found if size]


def test_no_flipped_bit_in_an_archive_is_silent(content: bytes, tmp_path: Path) -> None:
    chance = random.Random(0)
    path = tmp_path / "model.pt2"
    for start, size in members(content) * 3:
        changed = bytearray(content)
        changed[start + chance.randrange(size)] ^= 1 << chance.randrange(8)
        path.write_bytes(changed)
        with pytest.raises(TagfillError, match="is not an exported torch program"):
            open_engine(path)


@pytest.mark.parametrize("share", [0, 0.01, 0.5, 0.99])
def test_an_archive_that_was_cut_off_is_refused(
    content: bytes, share: float, tmp_path: Path
) -> None:
    path = tmp_path / "model.pt2"
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(TagfillError, match="is not an exported torch program"):
        open_engine(path)


def changed(content: bytes, name: str, change: Callable[[bytes], bytes | None]) -> bytes:
    """The archive with another content of one entry, or without it, checksums and all."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as source, zipfile.ZipFile(stream, "w") as target:
        for entry in source.infolist():
            kept: bytes | None = source.read(entry)
            if entry.filename.endswith(name):
                assert kept is not None
                kept = change(kept)
            if kept is not None:
                target.writestr(entry.filename, kept)
    return stream.getvalue()


def with_facts(**facts: object) -> Callable[[bytes], bytes]:
    return lambda old: json.dumps({**json.loads(old), **facts}).encode()


@pytest.mark.parametrize("name", ["models/model.json", f"extra/{ARCHIVE_METADATA}"])
@pytest.mark.parametrize(
    "change",
    [
        lambda _: None,
        lambda _: b"",
        lambda _: b"\xff\xfe",
        lambda _: b"[" * 100_000,
        lambda _: b'{"a": [1e999, null]}',
    ],
    ids=["missing", "empty", "no text", "deep", "other"],
)
def test_an_archive_made_up_by_somebody_is_refused(
    content: bytes, name: str, change: Callable[[bytes], bytes | None], tmp_path: Path
) -> None:
    path = tmp_path / "model.pt2"
    path.write_bytes(changed(content, name, change))
    with pytest.raises(TagfillError):
        open_engine(path).predict(INPUTS)


@pytest.mark.parametrize(
    "facts",
    [
        {"classes": ["one"]},
        {"classes": 3},
        {"thresholds": [float("nan")] * 3},
        {"input": {"channels": 7}},
    ],
    ids=str,
)
def test_what_an_archive_says_of_itself_is_checked(
    content: bytes, facts: dict[str, object], tmp_path: Path
) -> None:
    path = tmp_path / "model.pt2"
    path.write_bytes(changed(content, f"extra/{ARCHIVE_METADATA}", with_facts(**facts)))
    with pytest.raises(TagfillError):
        open_engine(path).predict(INPUTS)
