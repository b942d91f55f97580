from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn

from tagfill.errors import TagfillError
from tagfill.models.network import Network, build_network, rebuild_network
from tagfill.models.preprocess import eval_transform
from tagfill.models.query_heads import Q2LConfig


def small(head: str = "linear", **settings: object) -> Network:
    return build_network("test_resnet", head, classes=3, size=64, pretrained=False, **settings)


@pytest.mark.parametrize("head", ["linear", "cam", "q2l", "lem", "ssgrl", "ml_gcn"])
def test_cached_features_give_what_images_give(head: str) -> None:
    network = small(head).eval()
    images = torch.randn(2, 3, 64, 64)
    with torch.no_grad():
        features = network.features(images)
        assert features.ndim == (2 if head == "linear" else 4)
        torch.testing.assert_close(network.head(features).logits, network(images).logits)
        one = network(images[:1]).logits
    torch.testing.assert_close(one, network(images).logits[:1], atol=1e-5, rtol=1e-5)


def test_a_frozen_backbone_leaves_only_the_head_to_train() -> None:
    network = small("q2l", freeze=None)
    network(torch.randn(2, 3, 64, 64)).logits.sum().backward()
    learning = {
        name.partition(".")[0]
        for name, parameter in network.named_parameters()
        if parameter.grad is not None
    }
    assert learning == {"head"}


def test_description_rebuilds_the_same_network() -> None:
    config = Q2LConfig(hidden=16, heads=2, decoder_self_attention=False)
    network = build_network("test_vit", config, classes=4, size=48, pretrained=False).eval()
    again = rebuild_network(network.to_json()).eval()
    again.load_state_dict(network.state_dict())
    images = torch.randn(1, 3, 48, 48)
    with torch.no_grad():
        torch.testing.assert_close(again(images).logits, network(images).logits)


@pytest.mark.parametrize("damage", ["head", "classes", "backbone"])
def test_damaged_descriptions_are_refused(damage: str) -> None:
    description = small().to_json()
    description[damage] = None
    with pytest.raises(TagfillError, match=r"damaged|number of classes"):
        rebuild_network(description)


def test_evaluation_transform_squashes_and_normalizes() -> None:
    network = small()
    transform = eval_transform(network.backbone.spec, 32)
    half = np.zeros((50, 90, 3), np.uint8)
    half[:, 45:] = 255
    pixels = transform(Image.fromarray(half))
    assert pixels.shape == (3, 32, 32)
    mean, std = network.backbone.spec.mean, network.backbone.spec.std
    for channel in range(3):
        assert pixels[channel, :, 0].mean() == pytest.approx(-mean[channel] / std[channel])
        expected = (1 - mean[channel]) / std[channel]
        assert pixels[channel, :, -1].mean() == pytest.approx(expected)
    gray = transform(Image.new("L", (5, 5), 128))
    assert gray.shape == (3, 32, 32)


@pytest.mark.voc
@pytest.mark.slow
def test_own_extraction_resembles_the_published_features() -> None:
    data = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "voc2012"
    if not data.is_dir():
        pytest.skip("needs ../shared/data/voc2012, PASCAL VOC with extracted features")
    backbone = build_network(classes=20, size=448).backbone.eval()
    transform = eval_transform(backbone.spec)
    names = np.load(data / "mlspl" / "formatted_train_images.npy")[:6]
    stored = np.load(data / "mlspl" / "train_features_imagenet_efficientnet_lite0_448.npy")[:6]
    folder = data / "VOCdevkit" / "VOC2012" / "JPEGImages"
    images = torch.stack([transform(Image.open(folder / str(name))) for name in names])
    with torch.no_grad():
        own = backbone.pooled(images).numpy()
    agreement = np.corrcoef(own, stored.astype(np.float32))[:6, 6:]
    assert agreement.argmax(axis=1).tolist() == list(range(6))
    assert np.diag(agreement).min() > 0.4, "images were shrunk to 256 px, features were not"


def test_kept_statistics_are_those_of_evaluation_while_scale_and_shift_learn() -> None:
    network = small("ssgrl", lgconv=True, freeze=4, frozen_statistics=True).train()
    norms = [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]
    before = [(norm.running_mean.clone(), norm.running_var.clone()) for norm in norms]
    images = torch.randn(3, 3, 64, 64)
    network(images).logits.sum().backward()
    assert not any(norm.training for norm in norms)
    for norm, (mean, variance) in zip(norms, before, strict=True):
        assert norm.running_mean.equal(mean)
        assert norm.running_var.equal(variance)
    learning = {name for name, one in network.named_parameters() if one.grad is not None}
    assert "head.project.1.weight" in learning
    assert any(".layer4." in name and ".bn1." in name for name in learning)
    assert not any(".layer1." in name and "global_branch" not in name for name in learning)
    with torch.no_grad():
        alone = network(images[:1]).logits
        torch.testing.assert_close(network(images).logits[:1], alone, atol=1e-5, rtol=1e-4)
    network.keep_statistics(False)
    assert network.head.project[1].training
