"""Large presets, built on the meta device: they take no memory there."""

from __future__ import annotations

import pytest
import torch

from tagfill.models.bodies import load_timm
from tagfill.models.factory import describe
from tagfill.models.presets import HF, PRESETS
from tagfill.models.sources import find_source

QUERY2LABEL = {
    "resnet101": (44.5, 2048, 448, 14),
    "resnet101_576": (44.5, 2048, 576, 18),
    "tresnet_l": (56.0, 2432, 448, 14),
    "tresnet_l_22k": (46.2, 2048, 448, 14),
    "swin_l_22k": (196.7, 1536, 384, 12),
    "cvt_w24_22k": (277.0, 1024, 384, 24),
}


@pytest.mark.parametrize("name", list(QUERY2LABEL))
def test_query2label_backbones_have_the_published_sizes(name: str) -> None:
    if name.startswith("cvt"):
        pytest.importorskip("transformers")
    millions, channels, size, cells = QUERY2LABEL[name]
    metadata = describe(name)
    assert (metadata["channels"], metadata["size"]) == (channels, size)
    assert metadata["size"] // metadata["stride"] == cells
    preset = PRESETS[name]
    classifier = 0.0
    if not preset.model.startswith(HF):
        classifier = channels * 1000 / 1e6
    assert metadata["parameters"] / 1e6 + classifier == pytest.approx(millions, rel=0.01)
    assert preset.parameters == pytest.approx(millions, rel=0.01)


@pytest.mark.parametrize("name", [name for name in PRESETS if name not in QUERY2LABEL])
def test_other_presets_name_weights_that_exist(name: str) -> None:
    preset = PRESETS[name]
    timm = load_timm()
    assert preset.model in timm.list_pretrained(f"{preset.model.partition('.')[0]}.*")
    with torch.device("meta"):
        network = timm.create_model(preset.model, pretrained=False)
    count = sum(parameter.numel() for parameter in network.parameters()) / 1e6
    assert count == pytest.approx(preset.parameters, rel=0.01)
    source = find_source(name, pretrained=False)
    assert source.weights == f"timm/{preset.model}"
    assert source.license != "unknown"
    assert source.draft.size == preset.size


def test_old_and_new_weights_have_names_of_their_own() -> None:
    first, second = (find_source(preset).weights for preset in ("resnet50", "resnet50_v2"))
    assert (first, second) == ("timm/resnet50.tv_in1k", "timm/resnet50.tv2_in1k")
    assert find_source("resnet50.a1_in1k").weights == "timm/resnet50.a1_in1k"
