"""Images, caches and clocks that change while work goes on."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from tagfill import remote
from tagfill.arrays import Numbers
from tagfill.errors import TagfillError
from tagfill.files import atomic_path
from tagfill.models.graphs import FeatureEngine
from tagfill.train import cache, extract
from tagfill.train.cache import FeatureStore


def gray(path: Path, level: int) -> Path:
    Image.new("RGB", (8, 8), (level,) * 3).save(path)
    return path


@pytest.fixture
def extractor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> extract.Extractor:
    """Features are the mean color of an image."""

    def engine(_: Any, kind: str, __: Any, beside: tuple[str, ...] = ()) -> FeatureEngine:
        def several(pixels: Numbers) -> list[Numbers]:
            means = pixels.mean(axis=(2, 3))
            grids = np.broadcast_to(means[..., None, None], (*means.shape, 3, 3))
            return [means if one == "pooled" else grids for one in (kind, *beside)]

        return FeatureEngine("torch", (kind, *beside), several)

    monkeypatch.setattr(extract, "feature_engine", engine)
    monkeypatch.setattr(extract, "fingerprint", lambda _: "mean")
    backbone: Any = SimpleNamespace(spec=SimpleNamespace(name="mean", weights="none", size=8))

    def view(image: Image.Image) -> torch.Tensor:
        return torch.from_numpy(np.array(image, dtype=np.float32).transpose(2, 0, 1))

    place = torch.device("cpu")
    return extract.Extractor(backbone, view, "plain", "pooled", place, root=tmp_path / "cache")


def levels(extractor: extract.Extractor, paths: list[Path]) -> list[float]:
    return extractor.extract(paths)[np.arange(len(paths))][:, 0].tolist()


def test_pooled_features_come_with_those_of_regions(
    extractor: extract.Extractor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [gray(tmp_path / f"{level}.png", level) for level in (10, 20, 30)]
    assert levels(extractor, paths[:1]) == [10]
    assert replace(extractor, kind="grid").extract(paths).shape == (3, 3, 3, 3)
    monkeypatch.setattr(extract, "feature_engine", None)  # nothing is left to compute
    assert levels(extractor, paths) == [10, 20, 30]


def test_an_image_that_changes_meanwhile_never_stands_for_its_former_self(
    extractor: extract.Extractor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [gray(tmp_path / f"{level}.png", level) for level in (10, 20, 30)]
    former, plain, left = paths[1].read_bytes(), extract.content_hashes, [1]

    def changed_once(files: Any) -> list[str]:
        hashes = plain(files)
        if left:
            left.pop()
            gray(paths[1], 200)
        return hashes

    monkeypatch.setattr(extract, "content_hashes", changed_once)
    assert levels(extractor, paths) == [10, 200, 30]
    paths[1].write_bytes(former)
    assert levels(extractor, paths) == [10, 20, 30]


def test_an_image_that_vanishes_meanwhile_is_named(
    extractor: extract.Extractor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [gray(tmp_path / f"{level}.png", level) for level in (10, 20)]
    plain = extract.content_hashes

    def then_gone(files: Any) -> list[str]:
        hashes = plain(files)
        paths[0].unlink(missing_ok=True)
        return hashes

    monkeypatch.setattr(extract, "content_hashes", then_gone)
    with pytest.raises(TagfillError, match=r"10\.png: no such file"):
        extractor.extract(paths)
    assert levels(extractor, paths[1:]) == [20], "the others are kept"


def test_images_that_never_stay_as_they_are_end_the_work(
    extractor: extract.Extractor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, draw = gray(tmp_path / "a.png", 1), iter(range(2, 99))
    plain = extract.content_hashes

    def ever_changing(files: Any) -> list[str]:
        hashes = plain(files)
        gray(path, next(draw))
        return hashes

    monkeypatch.setattr(extract, "content_hashes", ever_changing)
    with pytest.raises(TagfillError, match="images change"):
        extractor.extract([path])


def test_many_shards_need_no_open_files_and_survive_a_prune(tmp_path: Path) -> None:
    store = FeatureStore({"view": "toy"}, tmp_path)
    names = [f"{number:032x}" for number in range(80)]
    for number, name in enumerate(names):
        store.add([name], np.full((1, 4), number, dtype=np.float16))
    before = len(os.listdir("/proc/self/fd"))
    rows = store.rows(names)
    assert len(os.listdir("/proc/self/fd")) == before
    assert cache.prune(0, tmp_path)
    assert rows[np.arange(80)][:, 0].tolist() == list(range(80))
    store.add(names[:1], np.ones((1, 4), dtype=np.float16))
    store.rows(names[:1])
    assert [info.images for info in cache.stores(tmp_path)] == [1], "listed again, to be pruned"


def test_a_clock_that_was_put_back_keeps_nothing_from_being_pruned(tmp_path: Path) -> None:
    store = FeatureStore({"view": "toy"}, tmp_path)
    tomorrow = time.time() + 86_400
    os.utime(store.folder / cache.ABOUT, (tomorrow, tomorrow))
    assert not cache.prune(1, tmp_path)
    assert cache.prune(0, tmp_path)


def test_files_of_the_future_are_pruned_as_those_of_now(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAGFILL_CACHE", str(tmp_path))
    fetched = tmp_path / "remote" / "x" / "labels.csv"
    unpacked = tmp_path / remote.UNPACKED / "y" / remote.WHOLE
    for file in (fetched, unpacked):
        file.parent.mkdir(parents=True)
        file.touch()
        os.utime(file, (time.time() + 10**8,) * 2)
    remote.prune(1)
    assert fetched.exists()
    assert unpacked.exists()
    remote.prune(0)
    assert not fetched.exists()
    assert not unpacked.exists()


def test_a_graph_that_is_being_written_is_not_pruned(tmp_path: Path) -> None:
    folder = tmp_path / "graphs"
    folder.mkdir()
    draft, old_draft, graph = (folder / name for name in (".a.onnx", ".b.onnx", "c.onnx"))
    for file in (draft, old_draft, graph):
        file.touch()
    yesterday = time.time() - 2 * 86_400
    os.utime(old_draft, (yesterday, yesterday))
    cache.prune(0, tmp_path)
    assert list(folder.iterdir()) == [draft]


def test_what_is_being_written_to_a_store_survives_a_prune(tmp_path: Path) -> None:
    store = FeatureStore({"view": "toy"}, tmp_path)
    with atomic_path(store.folder / "a.npy") as draft:
        draft.write_bytes(b"half")
        assert cache.prune(0, tmp_path)
        assert [file.name for file in store.folder.iterdir()] == [draft.name]
    assert (store.folder / "a.npy").read_bytes() == b"half"


def test_records_of_backbones_are_pruned_with_the_rest(tmp_path: Path) -> None:
    record = tmp_path / "backbones" / "a.json"
    record.parent.mkdir()
    record.touch()
    cache.prune(1, tmp_path)
    assert record.exists()
    cache.prune(0, tmp_path)
    assert not record.exists()


def test_a_damaged_list_of_the_cache_is_no_obstacle(tmp_path: Path) -> None:
    store = FeatureStore({"view": "toy"}, tmp_path)
    for text in ("{", "[1]", "\x00"):
        (store.folder / cache.ABOUT).write_text(text)
        assert [info.about for info in cache.stores(tmp_path)] == [{}]
