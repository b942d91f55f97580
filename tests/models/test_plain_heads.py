from __future__ import annotations

import pytest
import torch

from tagfill.errors import TagfillError
from tagfill.models.heads import HEADS, build_head, configure_head, head_name
from tagfill.models.plain_heads import CamConfig, CamHead, LinearConfig, LinearHead, grid_of
from tagfill.models.query_heads import LemConfig, Q2LConfig


def test_linear_gives_the_same_for_maps_and_their_mean() -> None:
    head = LinearHead(4, 3, LinearConfig())
    maps = torch.randn(2, 4, 5, 6)
    torch.testing.assert_close(head(maps).logits, head(maps.mean((2, 3))).logits)
    shown = head(maps, maps=True)
    torch.testing.assert_close(shown.maps.mean((2, 3)), shown.logits)


@pytest.mark.parametrize("side", [1, 2, 3, 7, 10, 14])
def test_a_grid_has_the_means_of_nine_regions(side: int) -> None:
    maps = torch.randn(2, 4, side, side + 1)
    expected = torch.nn.functional.adaptive_avg_pool2d(maps, 3)
    torch.testing.assert_close(grid_of(maps), expected)
    torch.testing.assert_close(grid_of(expected), expected)


def test_regions_add_the_best_one_to_the_whole() -> None:
    head = LinearHead(4, 3, LinearConfig(power=0.5, unit=True, regions=True))
    assert head.reads == "grid"
    maps = torch.randn(2, 4, 7, 7)
    grid = grid_of(maps)
    plain = LinearHead(4, 3, LinearConfig(power=0.5, unit=True))
    plain.load_state_dict(head.state_dict())
    parts = torch.stack([plain(part).logits for part in grid.flatten(2).unbind(2)], 1)
    expected = (plain(grid.mean((2, 3))).logits + parts.amax(1)) / 2
    torch.testing.assert_close(head(maps).logits, expected)
    torch.testing.assert_close(head(grid).logits, expected)
    pooled = torch.randn(2, 4)
    torch.testing.assert_close(head(pooled).logits, plain(pooled).logits)


@pytest.mark.parametrize("power", [0.5, 0.3])
def test_linear_takes_the_signed_power_of_the_mean(power: float) -> None:
    head = LinearHead(3, 2, LinearConfig(power=power))
    pooled = torch.tensor([[4.0, -9.0, 0.25]])
    expected = torch.tensor([[4.0**power, -(9.0**power), 0.25**power]])
    torch.testing.assert_close(head(pooled).logits, head.classifier(expected), atol=1e-5, rtol=1e-5)
    maps = torch.randn(2, 3, 4, 4)
    torch.testing.assert_close(head(maps).logits, head(maps.mean((2, 3))).logits)
    shown = head(maps, maps=True).maps
    torch.testing.assert_close(shown[:, :, 1, 2], head(maps[:, :, 1, 2]).logits)


def test_the_power_has_a_finite_gradient_at_nothing() -> None:
    head = LinearHead(2, 1, LinearConfig(power=0.5))
    features = torch.tensor([[0.0, 1e-9]], requires_grad=True)
    head(features).logits.sum().backward()
    assert torch.isfinite(features.grad).all()


def test_unit_gives_every_image_and_every_cell_the_same_length() -> None:
    head = LinearHead(3, 2, LinearConfig(power=0.5, unit=True))
    maps = torch.tensor([[4.0, -9.0, 0.25], [8.0, -18.0, 0.5]])[:, :, None, None].expand(2, 3, 2, 2)
    roots = torch.tensor([2.0, -3.0, 0.5])
    expected = roots / roots.norm() * 3**0.5
    torch.testing.assert_close(head.compress(maps.mean((2, 3))), expected.expand(2, 3))
    torch.testing.assert_close(head.compress(maps)[..., 1, 0], expected.expand(2, 3))
    assert not head.compress(torch.zeros(1, 3)).any()


def test_a_power_that_makes_no_sense_is_refused() -> None:
    with pytest.raises(TagfillError, match="power = 2 is not valid"):
        configure_head("linear", {"power": 2.0})


def test_cam_averages_one_score_per_cell() -> None:
    head = CamHead(4, 3, CamConfig())
    maps = torch.randn(1, 4, 2, 2)
    output = head(maps)
    weight, bias = head.classifier.weight[:, :, 0, 0], head.classifier.bias
    for row in range(2):
        for column in range(2):
            expected = weight @ maps[0, :, row, column] + bias
            torch.testing.assert_close(output.maps[0, :, row, column], expected)
    torch.testing.assert_close(output.logits, output.maps.mean((2, 3)))


@pytest.mark.parametrize("name", ["cam", "q2l", "lem", "ssgrl", "ml_gcn"])
def test_heads_that_need_maps_refuse_pooled_features(name: str) -> None:
    head = build_head(configure_head(name), 8, 2)
    with pytest.raises(TagfillError, match="needs feature maps"):
        head(torch.randn(2, 8))


@pytest.mark.parametrize("name", [name for name in HEADS if name != "ml_gcn"])
def test_classifier_weights_are_one_row_a_class(name: str) -> None:
    head = build_head(configure_head(name), 8, 3)
    (weight,) = head.classifier_weights()
    assert len(weight) == 3
    assert any(weight.data_ptr() == parameter.data_ptr() for parameter in head.parameters())


def test_presets_are_the_published_code() -> None:
    q2l = configure_head("q2l", preset="published")
    assert isinstance(q2l, Q2LConfig)
    assert (q2l.decoder_self_attention, q2l.hidden, q2l.feedforward) == (False, None, 8192)
    assert Q2LConfig().decoder_self_attention
    lem = configure_head("lem", preset="published")
    assert isinstance(lem, LemConfig)
    assert (lem.decoder_layers, LemConfig().decoder_layers) == (2, 1)
    assert head_name(lem) == "lem"


def test_unknown_names_say_what_there_is() -> None:
    with pytest.raises(TagfillError, match="linear, q2l, lem, cam"):
        configure_head("mlp")
    with pytest.raises(TagfillError, match="settings: hidden"):
        configure_head("q2l", {"width": 3})
    with pytest.raises(TagfillError, match="presets: published"):
        configure_head("q2l", preset="best")
    with pytest.raises(TagfillError, match="multiple of 4"):
        build_head(configure_head("q2l", {"hidden": 30}), 8, 2)
