"""The backbone as an ONNX graph: same features as torch, exported once, never trusted blindly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from tagfill.models import graphs
from tagfill.models.backbones import Backbone
from tagfill.models.factory import build_backbone

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TAGFILL_CACHE", str(tmp_path))
    return tmp_path / "graphs"


@pytest.fixture(scope="module")
def backbone() -> Backbone:
    torch.manual_seed(0)
    return build_backbone("test_resnet", size=64, pretrained=False)


def batch(images: int) -> np.ndarray:
    return np.random.default_rng(images).normal(size=(images, 3, 64, 64)).astype(np.float32)


def no_export(*_: object) -> None:
    raise AssertionError("exported")


@pytest.mark.parametrize("kind", ["pooled", "grid", "maps"])
@pytest.mark.parametrize("name", ["test_resnet", "test_vit", "test_efficientnet"])
def test_features_equal_those_of_torch_at_any_batch_size(name: str, kind: graphs.Kind) -> None:
    size = 160 if name == "test_vit" else 64
    backbone = build_backbone(name, size=size, pretrained=False)
    engine = graphs.feature_engine(backbone, kind, CPU)
    assert engine.name == "onnxruntime"
    reference = graphs._torch_run(backbone, kind, CPU)
    for images in (1, 5):
        inputs = np.random.default_rng(0).normal(size=(images, 3, size, size)).astype(np.float32)
        expected = reference(inputs)
        tolerance = graphs.TOLERANCE * np.abs(expected).max()
        np.testing.assert_allclose(engine.run(inputs), expected, atol=tolerance)


def test_the_graph_is_exported_once(
    backbone: Backbone, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = graphs.find_graph(backbone)
    monkeypatch.setattr(graphs, "_export", no_export)
    assert first is not None
    assert graphs.find_graph(backbone) == first
    assert list(cache.iterdir()) == [first]


def test_a_damaged_graph_is_made_again(backbone: Backbone) -> None:
    first = graphs.find_graph(backbone)
    assert first is not None
    content = bytearray(first.read_bytes())
    content[len(content) // 2] ^= 1
    first.write_bytes(content)
    again = graphs.find_graph(backbone)
    assert again is not None
    assert again.read_bytes() != bytes(content)


def test_a_graph_that_is_pruned_before_it_is_opened_is_made_again(
    backbone: Backbone,
) -> None:
    engine = graphs.feature_engine(backbone, "pooled", CPU)
    assert engine.name == "onnxruntime"
    expected = engine.run(batch(3))
    graphs._session.cache_clear()
    path = graphs.find_graph(backbone)
    assert path is not None
    path.unlink()
    np.testing.assert_array_equal(engine.run(batch(3)), expected)


def test_torch_takes_over_where_the_graph_differs(
    backbone: Backbone, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = build_backbone("test_resnet", size=64, pretrained=False)
    export = graphs._export
    monkeypatch.setattr(
        graphs,
        "_export",
        lambda module, example, path: export(graphs._Features(wrong), example, path),
    )
    assert graphs.feature_engine(backbone, "pooled", CPU).name == "torch"
    monkeypatch.setattr(graphs, "_export", no_export)
    assert graphs.feature_engine(backbone, "pooled", CPU).name == "torch"


def test_a_few_images_are_not_worth_an_export(
    backbone: Backbone, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert graphs.feature_engine(backbone, "pooled", CPU, images=3).name == "torch"
    monkeypatch.setenv(graphs.ENGINE_VARIABLE, "torch")
    assert graphs.feature_engine(backbone, "pooled", CPU).name == "torch"
    monkeypatch.delenv(graphs.ENGINE_VARIABLE)
    graphs.find_graph(backbone)
    assert graphs.feature_engine(backbone, "pooled", CPU, images=3).name == "onnxruntime"


def test_an_image_has_the_same_features_in_any_batch(backbone: Backbone) -> None:
    run = graphs.feature_engine(backbone, "pooled", CPU).run
    together = run(batch(7))
    alone = np.concatenate([run(batch(7)[row : row + 1]) for row in range(7)])
    np.testing.assert_array_equal(together, alone)


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_threads_that_share_a_batch_change_no_feature_and_no_order(
    backbone: Backbone, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = graphs.find_graph(backbone)
    assert path is not None
    inputs = batch(11)
    whole = graphs._session(path, 2).run(["pooled"], {"images": inputs})[0]
    monkeypatch.setattr(graphs, "_PART_PIXELS", 2 * 64 * 64)
    run = graphs._runtime_run(backbone, path, ("pooled",), threads)
    for images in (1, 2, 3, 11):
        np.testing.assert_array_equal(run(inputs[:images])[0], whole[:images])


def test_other_kinds_come_from_the_same_pass(backbone: Backbone) -> None:
    both = graphs.feature_engine(backbone, "grid", CPU, beside=("pooled",))
    assert both.kinds == ("grid", "pooled")
    for kind, features in zip(both.kinds, both.several(batch(3)), strict=True):
        alone = graphs.feature_engine(backbone, kind, CPU).run(batch(3))
        np.testing.assert_array_equal(features, alone)


def test_exporting_leaves_the_backbone_as_it_was(backbone: Backbone) -> None:
    backbone.train()
    graphs.find_graph(backbone)
    assert backbone.training
    assert all(parameter.requires_grad for parameter in backbone.parameters())
