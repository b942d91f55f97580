"""Backbones that were built before: loaded without their library, with the same outputs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tagfill.models import bundle as bundles
from tagfill.models import factory
from tagfill.models.bundle import Bundle
from tagfill.models.graphs import fingerprint
from tagfill.models.network import build_network
from tagfill.models.presets import DEFAULT, OFFLINE

CLASSES = ("cat", "dog", "owl")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TAGFILL_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    network = build_network("test_resnet", classes=3, size=64, pretrained=False)
    return Bundle(network.eval(), CLASSES).save(tmp_path / "model")


def test_a_model_loaded_again_is_the_same_and_built_when_it_is_run(model: Path) -> None:
    built = bundles.load(model).network
    stored = bundles.load(model).network
    assert not built.backbone.is_stored
    assert stored.backbone.is_stored
    assert fingerprint(stored) == fingerprint(built)
    images = torch.rand(2, 3, 64, 64)
    with torch.no_grad():
        assert torch.equal(stored(images).logits, built(images).logits)
    assert not stored.backbone.is_stored
    flags = [
        {name: weight.requires_grad for name, weight in network.named_parameters()}
        for network in (stored, built)
    ]
    assert flags[0] == flags[1]
    assert not any(module.training for module in stored.modules())


def test_a_stored_backbone_is_saved_moved_and_loaded_like_any_other(
    model: Path, tmp_path: Path
) -> None:
    built, stored = bundles.load(model), bundles.load(model)
    assert stored.network.backbone.is_stored
    again = bundles.load(stored.save(tmp_path / "again")).network
    assert fingerprint(again) == fingerprint(built.network)
    stored.network.double()
    assert stored.network.backbone.is_stored
    assert stored.network.backbone.body.net.conv1[0].weight.dtype == torch.float64
    changed = {name: tensor + 1 for name, tensor in built.network.state_dict().items()}
    again.load_state_dict(changed)
    assert again.backbone.is_stored
    assert fingerprint(again) != fingerprint(built.network)
    again.backbone.build()
    built.network.load_state_dict(changed)
    assert fingerprint(again) == fingerprint(built.network)


def test_other_weights_or_a_damaged_record_are_checked_anew(model: Path, cache: Path) -> None:
    bundles.load(model)
    (record,) = (cache / "backbones").iterdir()
    record.write_text(record.read_text().replace("content", "contents"))
    assert not bundles.load(model).network.backbone.is_stored
    network = bundles.load(model).network
    assert network.backbone.is_stored
    spec, state = network.backbone.spec, network.backbone.state_dict()
    assert factory.fits(spec, state)
    state.popitem()
    assert not factory.fits(spec, state)


@pytest.mark.skipif(not OFFLINE[DEFAULT].is_installed, reason="the weights are not installed")
def test_the_default_backbone_is_the_same_without_timm(cache: Path) -> None:
    assert factory.known_backbone(DEFAULT, 64) is None
    built = factory.build_backbone(DEFAULT, size=64)
    stored = factory.known_backbone(DEFAULT, 64)
    assert stored is not None
    assert stored.spec == built.spec
    assert fingerprint(stored) == fingerprint(built)
    assert build_network(DEFAULT, classes=3, size=64, solved=True).backbone.is_stored
    assert not build_network(DEFAULT, classes=3, size=64).backbone.is_stored
    program = (
        "import sys; from tagfill.models.network import build_network\n"
        f"build_network({DEFAULT!r}, classes=3, size=64, solved=True)\n"
        "print(sorted({'timm', 'torchvision', 'torch._dynamo'} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
