"""Made-up checkpoints with the names and shapes of the released ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import tagfill
from tagfill.errors import TagfillError
from tagfill.models import import_q2l as module
from tagfill.models.bodies import load_timm, make_body
from tagfill.models.import_q2l import COCO_CLASSES, import_q2l
from tagfill.models.presets import PRESETS
from tagfill.models.query_heads import sine_position
from tagfill.models.sources import find_source
from tagfill.models.weights import fit_state

HIDDEN, INNER, CLASSES = 512, 16, 3


class ReleasedEncoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.self_attn = nn.MultiheadAttention(HIDDEN, 4)
        self.linear1, self.linear2 = nn.Linear(HIDDEN, INNER), nn.Linear(INNER, HIDDEN)
        self.norm1, self.norm2 = nn.LayerNorm(HIDDEN), nn.LayerNorm(HIDDEN)

    def forward(self, src: Tensor, pos: Tensor) -> Tensor:
        src = self.norm1(src + self.self_attn(src + pos, src + pos, src)[0])
        return self.norm2(src + self.linear2(self.linear1(src).relu()))


class ReleasedDecoder(nn.Module):
    def __init__(self, self_attention: bool) -> None:
        super().__init__()
        if self_attention:
            self.self_attn = nn.MultiheadAttention(HIDDEN, 4)
            self.norm1 = nn.LayerNorm(HIDDEN)
        self.multihead_attn = nn.MultiheadAttention(HIDDEN, 4)
        self.linear1, self.linear2 = nn.Linear(HIDDEN, INNER), nn.Linear(INNER, HIDDEN)
        self.norm2, self.norm3 = nn.LayerNorm(HIDDEN), nn.LayerNorm(HIDDEN)

    def forward(self, tgt: Tensor, memory: Tensor, pos: Tensor, query: Tensor) -> Tensor:
        if hasattr(self, "self_attn"):
            tgt = self.norm1(tgt + self.self_attn(tgt + query, tgt + query, tgt)[0])
        seen = self.multihead_attn(tgt + query, memory + pos, memory)[0]
        tgt = self.norm2(tgt + seen)
        return self.norm3(tgt + self.linear2(self.linear1(tgt).relu()))


class Stack(nn.Module):
    def __init__(self, layers: list[nn.Module], norm: nn.Module | None = None) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.norm = norm


class GroupWise(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.W = nn.Parameter(torch.randn(1, CLASSES, HIDDEN))
        self.b = nn.Parameter(torch.randn(1, CLASSES))


class Released(nn.Module):
    """The released network with ResNet-34, whose channels are the hidden size."""

    def __init__(self, *, self_attention: bool = False, projection: bool = False) -> None:
        super().__init__()
        self.net = load_timm().create_model("resnet34", num_classes=0)
        self.transformer = nn.ModuleDict(
            {
                "encoder": Stack([ReleasedEncoder()]),
                "decoder": Stack(
                    [ReleasedDecoder(self_attention) for _ in range(2)], nn.LayerNorm(HIDDEN)
                ),
            }
        )
        self.input_proj = nn.Conv2d(512, HIDDEN, 1) if projection else nn.Identity()
        self.query_embed = nn.Embedding(CLASSES, HIDDEN)
        self.fc = GroupWise()
        self.pe = sine_position(2, 2, HIDDEN)[None]

    def forward(self, images: Tensor) -> Tensor:
        src = self.input_proj(self.net.forward_features(images))
        tokens = src.flatten(2).permute(2, 0, 1)
        pos = self.pe.flatten(2).permute(2, 0, 1)
        memory = self.transformer["encoder"].layers[0](tokens, pos)
        query = self.query_embed.weight[:, None].repeat(1, len(images), 1)
        target = torch.zeros_like(query)
        for layer in self.transformer["decoder"].layers:
            target = layer(target, memory, pos, query)
        decoded = self.transformer["decoder"].norm(target).transpose(0, 1)
        return (self.fc.W * decoded).sum(-1) + self.fc.b

    def checkpoint(self) -> dict[str, Tensor]:
        state = {}
        for name, tensor in self.state_dict().items():
            if not name.endswith("num_batches_tracked"):  # frozen BatchNorm keeps no count
                state[name.replace("net.", "backbone.0.body.", 1)] = tensor
        return {**state, "backbone.1.pe": self.pe}


def save(network: Released, file: Path) -> Path:
    state = {f"module.{name}": tensor for name, tensor in network.checkpoint().items()}
    torch.save({"epoch": 3, "state_dict": state, "best_mAP": np.float64(84.9)}, file)
    return file


@pytest.mark.parametrize(("self_attention", "projection"), [(False, False), (True, True)])
def test_imported_network_answers_like_the_released_one(
    self_attention: bool, projection: bool, tmp_path: Path
) -> None:
    torch.manual_seed(0)
    network = Released(self_attention=self_attention, projection=projection).eval()
    file = save(network, tmp_path / "checkpoint.pkl")
    bundle = import_q2l(file, ["a", "b", "c"])
    spec = bundle.network.backbone.spec
    assert (spec.name, spec.size) == ("resnet34", 64)
    assert spec.weights == "query2label:checkpoint.pkl"
    loaded = tagfill.load(bundle.save(tmp_path / "model"))
    images = torch.randn(2, 3, 64, 64)
    with torch.no_grad():
        expected = network(images)
        torch.testing.assert_close(loaded.network(images).logits, expected, atol=1e-4, rtol=1e-4)
        assert loaded.network(images[:, :, :32]).logits.shape == (1 + 1, 3)


def test_class_names(tmp_path: Path) -> None:
    file = save(Released(), tmp_path / "checkpoint.pkl")
    with pytest.raises(TagfillError, match=r"has 3 classes; none were given.*--classes"):
        import_q2l(file)
    with pytest.raises(TagfillError, match="has 3 classes; 2 names"):
        import_q2l(file, ["a", "b"])
    assert len(set(COCO_CLASSES)) == 80
    assert (COCO_CLASSES[0], COCO_CLASSES[11], COCO_CLASSES[-1]) == (
        "person",
        "stop sign",
        "toothbrush",
    )


def test_other_files_are_refused(tmp_path: Path) -> None:
    state = Released().checkpoint()
    file = tmp_path / "odd.pth"
    torch.save({"weight": torch.zeros(2)}, file)
    with pytest.raises(TagfillError, match="is not a Query2Label checkpoint"):
        import_q2l(file)
    torch.save({**state, "backbone.1.pe": torch.zeros(1, HIDDEN, 2, 2)}, file)
    with pytest.raises(TagfillError, match="another position encoding"):
        import_q2l(file, "abc")
    unknown = {name.replace("backbone.0.", "backbone.9."): tensor for name, tensor in state.items()}
    torch.save(unknown, file)
    with pytest.raises(TagfillError, match="not one of the released"):
        import_q2l(file, "abc")
    torch.save({name: tensor for name, tensor in state.items() if "norm3" not in name}, file)
    with pytest.raises(TagfillError, match=r"there is no tensor 'decoder\.decoder\.0\.norm_feed"):
        import_q2l(file, "abc")


# Names and shapes of the large backbones, written down from their original code.

Shapes = Iterator[tuple[str, tuple[int, ...]]]


def affine(name: str, size: int) -> Shapes:
    yield f"{name}.weight", (size,)
    yield f"{name}.bias", (size,)


def linear(name: str, out: int, size: int, *, bias: bool = True) -> Shapes:
    yield f"{name}.weight", (out, size)
    if bias:
        yield f"{name}.bias", (out,)


def norm(name: str, size: int) -> Shapes:
    yield from affine(name, size)
    yield f"{name}.running_mean", (size,)
    yield f"{name}.running_var", (size,)


def swin_l() -> Shapes:
    yield "patch_embed.proj.weight", (192, 3, 4, 4)
    yield "patch_embed.proj.bias", (192,)
    yield from affine("patch_embed.norm", 192)
    for stage, (depth, heads) in enumerate(zip((2, 2, 18, 2), (6, 12, 24, 48), strict=True)):
        dim = 192 * 2**stage
        for number in range(depth):
            block = f"layers.{stage}.blocks.{number}"
            if number % 2 and stage < 3:
                yield f"{block}.attn_mask", ((96 // 2**stage // 12) ** 2, 144, 144)
            yield from affine(f"{block}.norm1", dim)
            yield f"{block}.attn.relative_position_bias_table", (23 * 23, heads)
            yield f"{block}.attn.relative_position_index", (144, 144)
            yield from linear(f"{block}.attn.qkv", 3 * dim, dim)
            yield from linear(f"{block}.attn.proj", dim, dim)
            yield from affine(f"{block}.norm2", dim)
            yield from linear(f"{block}.mlp.fc1", 4 * dim, dim)
            yield from linear(f"{block}.mlp.fc2", dim, 4 * dim)
        if stage < 3:
            yield from affine(f"layers.{stage}.downsample.norm", 4 * dim)
            yield from linear(f"layers.{stage}.downsample.reduction", 2 * dim, 4 * dim, bias=False)
    yield from affine("norm", 1536)


def cvt_w24() -> Shapes:
    before = 3
    for stage, (dim, depth) in enumerate(zip((192, 768, 1024), (2, 2, 20), strict=True)):
        kernel = 7 if stage == 0 else 3
        if stage == 2:
            yield "stage2.cls_token", (1, 1, dim)
        yield f"stage{stage}.patch_embed.proj.weight", (dim, before, kernel, kernel)
        yield f"stage{stage}.patch_embed.proj.bias", (dim,)
        yield from affine(f"stage{stage}.patch_embed.norm", dim)
        for number in range(depth):
            block = f"stage{stage}.blocks.{number}"
            yield from affine(f"{block}.norm1", dim)
            for split in "qkv":
                yield f"{block}.attn.conv_proj_{split}.conv.weight", (dim, 1, 3, 3)
                yield from norm(f"{block}.attn.conv_proj_{split}.bn", dim)
                yield f"{block}.attn.conv_proj_{split}.bn.num_batches_tracked", ()
                yield from linear(f"{block}.attn.proj_{split}", dim, dim)
            yield from linear(f"{block}.attn.proj", dim, dim)
            yield from affine(f"{block}.norm2", dim)
            yield from linear(f"{block}.mlp.fc1", 4 * dim, dim)
            yield from linear(f"{block}.mlp.fc2", dim, 4 * dim)
        before = dim
    yield from affine("norm", 1024)


def conv_abn(name: str, out: int, size: int, kernel: int) -> Shapes:
    yield f"{name}.0.weight", (out, size, kernel, kernel)
    yield from norm(f"{name}.1", out)


def squeeze(name: str, size: int, reduced: int) -> Shapes:
    for layer, (out, into) in (("fc1", (reduced, size)), ("fc2", (size, reduced))):
        yield f"{name}.{layer}.weight", (out, into, 1, 1)
        yield f"{name}.{layer}.bias", (out,)


def tresnet(width: int, depths: tuple[int, ...], plain_stages: int) -> Shapes:
    """TResNet-L (two stages of basic blocks) or its second version (none)."""
    yield from conv_abn("body.conv1", width, 48, 3)
    before = width
    for stage, depth in enumerate(depths):
        planes, basic = width * 2**stage, stage < plain_stages
        out = planes if basic else 4 * planes
        for number in range(depth):
            block = f"body.layer{stage + 1}.{number}"
            halves = stage > 0 and number == 0
            if number == 0 and (halves or before != out):
                yield from conv_abn(f"{block}.downsample.{int(halves)}", out, before, 1)
            blurred = ".0" if halves else ""
            if basic:
                yield from conv_abn(f"{block}.conv1{blurred}", planes, before, 3)
                yield from conv_abn(f"{block}.conv2", planes, planes, 3)
            else:
                yield from conv_abn(f"{block}.conv1", planes, before, 1)
                yield from conv_abn(f"{block}.conv2{blurred}", planes, planes, 3)
                yield from conv_abn(f"{block}.conv3", out, planes, 1)
            if stage < 3:
                reduced = max(planes // 4, 64) if basic else max(4 * planes // 8, 64)
                yield from squeeze(f"{block}.se", planes, reduced)
            before = out


@pytest.mark.parametrize(
    ("preset", "prefix", "shapes"),
    [
        ("swin_l_22k", "backbone.0.", swin_l),
        ("cvt_w24_22k", "backbone.0.", cvt_w24),
        ("tresnet_l", "backbone.0.body.", lambda: tresnet(76, (4, 5, 18, 3), 2)),
        ("tresnet_l_22k", "backbone.0.body.", lambda: tresnet(64, (3, 4, 23, 3), 0)),
    ],
)
def test_large_backbones_take_the_released_names_and_shapes(
    preset: str, prefix: str, shapes: object
) -> None:
    if preset.startswith("cvt"):
        pytest.importorskip("transformers")
    state = {f"{prefix}{name}": torch.empty(shape, device="meta") for name, shape in shapes()}
    origin = module.find_origin(state, "made up")
    assert (origin.preset, origin.prefix) == (preset, prefix)
    spec = find_source(preset, PRESETS[preset].size, pretrained=False).draft
    with torch.device("meta"):
        body = make_body(spec)
    stored = body.adapt(module._renamed(module.below(state, prefix), origin.new_names))
    fit_state(body, stored, file=None)
    left = set(stored) - set(body.state_dict())
    assert all("layernorm" in name or "attn_mask" in name for name in left)
