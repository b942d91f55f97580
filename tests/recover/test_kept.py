"""Probabilities and scores kept in a run folder: sound, or worked out again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tagfill.recover import posterior
from tagfill.recover.posterior import Evidence
from tagfill.train.score import read_scores, write_scores


def flips(content: bytes) -> list[bytes]:
    """The file with one bit flipped: every bit of the header, some of the rest."""
    header = 8 * (8 + int.from_bytes(content[:8], "little"))
    bits = [*range(header), *range(header, 8 * len(content), 11)]
    return [_flipped(content, bit) for bit in bits]


def _flipped(content: bytes, bit: int) -> bytes:
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def test_no_bit_flip_in_kept_probabilities_is_silent(tmp_path: Path) -> None:
    values = np.random.default_rng(0).random((2, 5, 3)).astype(np.float32).astype(np.float64)
    posterior.keep(tmp_path, "key", Evidence(values[0], values[1], ("one tag a photo",)))
    file = tmp_path / posterior.FILE
    noticed = 0
    for content in flips(file.read_bytes()):
        file.write_bytes(content)
        found = posterior.read(tmp_path, "key")
        noticed += found is None
        if found is not None:
            assert np.array_equal([found.unknown, found.known], values)
            assert found.how == ("one tag a photo",)
    assert noticed > 1000


@pytest.mark.parametrize("how", ["{}", "[]", '{"key": "key"}', '{"key": "key", "how": 3}', "3"])
def test_strange_descriptions_of_kept_probabilities_are_ignored(how: str, tmp_path: Path) -> None:
    ones = np.ones((2, 2), dtype=np.float32)
    tensors = {"unknown": ones, "known": ones}
    (tmp_path / posterior.FILE).write_bytes(posterior.save(tensors, {"about": how}))
    assert posterior.read(tmp_path, "key") is None


def test_no_bit_flip_in_kept_scores_is_silent(tmp_path: Path) -> None:
    file = tmp_path / "test.safetensors"
    scores = np.random.default_rng(0).normal(size=(6, 4)).astype(np.float32)
    write_scores(file, "key", scores)
    noticed = 0
    for content in flips(file.read_bytes()):
        file.write_bytes(content)
        found = read_scores(file, "key")
        noticed += found is None
        assert found is None or np.array_equal(found, scores)
    assert noticed > 800
