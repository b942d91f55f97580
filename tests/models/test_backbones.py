from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from tagfill.errors import TagfillError
from tagfill.models.bodies import load_transformers, tokens_to_map
from tagfill.models.factory import build_backbone, rebuild_backbone
from tagfill.models.spec import BackboneSpec

SMALL = [
    ("test_resnet", 70, 32, (3, 3)),
    ("test_efficientnet", 64, 32, (2, 2)),
    ("test_convnext", 96, 32, (3, 3)),
    ("test_vit", 80, 16, (5, 5)),
    ("test_mambaout", 64, 32, (2, 2)),
    ("resnet10t", 65, 32, (3, 3)),
]


@pytest.mark.parametrize(("name", "size", "stride", "grid"), SMALL)
def test_one_surface_for_timm(name: str, size: int, stride: int, grid: tuple[int, int]) -> None:
    backbone = build_backbone(name, size=size, pretrained=False).eval()
    spec = backbone.spec
    image = torch.randn(1, 3, size, size)
    with torch.no_grad():
        maps = backbone(image)
        assert maps.shape == (1, spec.channels, *grid)
        torch.testing.assert_close(backbone.pooled(image), maps.mean((2, 3)))
    assert (spec.size, spec.stride, spec.weights) == (size, stride, "random")
    assert spec.parameters == sum(parameter.numel() for parameter in backbone.parameters())
    staged = [module for stage in backbone.stages for module in stage]
    assert sorted(staged) == sorted(name for name, _ in backbone.named_parameters())


def test_an_architecture_is_inspected_once_for_every_size(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = build_backbone("test_resnet", size=64, pretrained=False).spec

    def refuse(spec: BackboneSpec) -> nn.Module:
        raise ValueError("inspected again")

    monkeypatch.setattr("tagfill.models.bodies.make_body", refuse)
    assert build_backbone("test_resnet", size=64, pretrained=False).spec == spec
    assert rebuild_backbone(spec).spec == spec
    with pytest.raises(TagfillError, match="inspected again"):
        build_backbone("test_resnet", size=1056, pretrained=False)


def hf_folder(folder: Path, kind: str) -> str:
    """A transformers model with random weights, as if downloaded."""
    transformers = load_transformers()
    common = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
    settings = {
        "vit": {**common, "intermediate_size": 64, "image_size": 32, "patch_size": 8},
        "dinov2_with_registers": {**common, "image_size": 32, "patch_size": 8},
        "cvt": {"embed_dim": [16, 32, 64], "depth": [1, 2, 3], "num_heads": [1, 2, 4]},
        "siglip": {
            "vision_config": {**common, "intermediate_size": 64, "image_size": 32, "patch_size": 8},
            "text_config": {**common, "intermediate_size": 64, "vocab_size": 50},
        },
    }[kind]
    config = transformers.AutoConfig.for_model(kind, **settings)
    torch.manual_seed(0)
    auto = "AutoModelForImageClassification" if kind == "cvt" else "AutoModel"
    getattr(transformers, auto).from_config(config).save_pretrained(folder)
    (folder / "preprocessor_config.json").write_text(
        '{"image_mean": [0.1, 0.2, 0.3], "image_std": [0.4, 0.5, 0.6]}'
    )
    return f"hf:{folder}"


@pytest.mark.parametrize(
    ("kind", "size", "grid"),
    [
        ("vit", 40, (5, 5)),
        ("dinov2_with_registers", 16, (2, 2)),
        ("cvt", 64, (4, 4)),
        ("siglip", 32, (4, 4)),
    ],
)
def test_one_surface_for_transformers(
    kind: str, size: int, grid: tuple[int, int], tmp_path: Path
) -> None:
    pytest.importorskip("transformers")
    name = hf_folder(tmp_path / kind, kind)
    backbone = build_backbone(name, size=size).eval()
    assert backbone.spec.mean == (0.1, 0.2, 0.3)
    assert backbone.spec.weights == str(tmp_path / kind)
    image = torch.randn(1, 3, size, size)
    with torch.no_grad():
        maps = backbone(image)
    assert maps.shape == (1, backbone.spec.channels, *grid)

    other = build_backbone(name, size=size, pretrained=False).eval()
    with torch.no_grad():
        assert not torch.allclose(other(image), maps, atol=1e-3)
        again = rebuild_backbone(BackboneSpec.from_json(backbone.spec.to_json())).eval()
        again.load_state_dict(backbone.state_dict())
        torch.testing.assert_close(again(image), maps)
    assert len(backbone.stages) > 2


def test_the_last_hidden_state_of_transformers_is_what_comes_out(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    backbone = build_backbone(hf_folder(tmp_path / "vit", "vit")).eval()
    reference = load_transformers().AutoModel.from_pretrained(tmp_path / "vit").eval()
    image = torch.randn(2, 3, 32, 32)
    with torch.no_grad():
        tokens = reference(image).last_hidden_state[:, 1:]
        maps = backbone(image)
    for row in range(4):
        for column in range(4):
            torch.testing.assert_close(maps[:, :, row, column], tokens[:, 4 * row + column])


def test_rectangular_images() -> None:
    for name in ("test_resnet", "test_vit"):
        backbone = build_backbone(name, size=64, pretrained=False).eval()
        with torch.no_grad():
            assert backbone(torch.zeros(1, 3, 64, 96)).shape[3] > backbone.spec.size // 32


def test_tokens_are_laid_out_row_by_row() -> None:
    image = torch.zeros(1, 3, 20, 30)
    tokens = torch.arange(7.0)[None, :, None]
    expected = torch.tensor([[1.0, 2, 3], [4, 5, 6]])
    torch.testing.assert_close(tokens_to_map(tokens, image, 1)[0, 0], expected)
    torch.testing.assert_close(tokens_to_map(tokens, image)[0, 0], expected)


def test_freezing_by_stage_holds_in_training_mode() -> None:
    backbone = build_backbone("test_resnet", size=64, pretrained=False)
    backbone.freeze(2)
    backbone.train()
    low, high = backbone.body.net.layer1, backbone.body.net.layer4
    assert not any(parameter.requires_grad for parameter in low.parameters())
    assert all(parameter.requires_grad for parameter in high.parameters())
    before = {name: value.clone() for name, value in backbone.state_dict().items()}
    backbone(torch.randn(4, 3, 64, 64))
    changed = {
        name for name, value in backbone.state_dict().items() if not value.equal(before[name])
    }
    assert changed
    assert not any("layer1" in name or "net.conv1" in name for name in changed)
    backbone.freeze(0)
    assert all(parameter.requires_grad for parameter in backbone.parameters())


def test_a_frozen_backbone_does_not_change_at_all() -> None:
    backbone = build_backbone("test_resnet", size=64, pretrained=False)
    backbone.freeze(None)
    backbone.train()
    assert backbone.is_frozen
    before = {name: value.clone() for name, value in backbone.state_dict().items()}
    assert not backbone(torch.randn(2, 3, 64, 64)).requires_grad
    assert all(value.equal(before[name]) for name, value in backbone.state_dict().items())


def test_frozen_batch_norm_is_a_fixed_map() -> None:
    backbone = build_backbone("test_resnet", size=64, pretrained=False)
    backbone.freeze_batch_norm()
    backbone.train()
    norms = [module for module in backbone.modules() if isinstance(module, nn.BatchNorm2d)]
    assert norms
    assert not any(norm.training or norm.weight.requires_grad for norm in norms)
    images = torch.randn(3, 3, 64, 64)
    with torch.no_grad():
        torch.testing.assert_close(backbone(images)[:1], backbone(images[:1]), atol=1e-5, rtol=1e-5)
    backbone.freeze_batch_norm(False)
    assert all(norm.training and norm.weight.requires_grad for norm in norms)


def test_global_branches_learn_while_their_stage_is_frozen() -> None:
    backbone = build_backbone("test_resnet", size=64, pretrained=False, lgconv=True)
    backbone.freeze(5)
    learning = {name for name, parameter in backbone.named_parameters() if parameter.requires_grad}
    assert learning
    assert all("global_branch" in name for name in learning)
    backbone.freeze(None)
    assert backbone.is_frozen


def test_parameters_the_map_does_not_need_never_learn() -> None:
    backbone = build_backbone("mobilenetv3_small_050", size=64, pretrained=False)
    backbone(torch.randn(2, 3, 64, 64)).sum().backward()
    for name, parameter in backbone.named_parameters():
        assert parameter.requires_grad == (parameter.grad is not None), name


def test_mistakes_are_named() -> None:
    with pytest.raises(TagfillError, match=r"did you mean.*resnet50"):
        build_backbone("resnet5O")
    with pytest.raises(TagfillError, match="cannot take images of 2 x 2"):
        build_backbone("test_vit", size=2, pretrained=False)
    with pytest.raises(TagfillError, match="is not valid"):
        build_backbone("test_vit", size=0, pretrained=False)
    with pytest.raises(TagfillError, match="available weights"):
        build_backbone("resnet18.no_such_tag")
    backbone = build_backbone("test_vit", size=32, pretrained=False)
    with pytest.raises(TagfillError, match="it has 7"):
        backbone.freeze(8)
