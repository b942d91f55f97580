"""What a request becomes: mode, method, head and stages."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.train.given import write_given_features

from tagfill import methods
from tagfill.errors import TagfillError
from tagfill.methods import lac
from tagfill.train.config import DataConfig, MethodConfig
from tagfill.train.data import prepare
from tagfill.train.resolve import Request, resolve
from tagfill.train.run import configure


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_given_features(tmp_path_factory.mktemp("given"))


@pytest.mark.parametrize(
    ("protocol", "method", "epochs"),
    [
        ("mlspl", "role", 25),
        ("em_apl", "em_apl", 10),
        ("pu_mlc", "pu_mlc", 40),
        ("q2l", "asl_q2l", 80),
    ],
)
def test_protocols_train_as_their_papers_say(protocol: str, method: str, epochs: int) -> None:
    request = Request(DataConfig("labels.csv"), protocol=protocol)  # type: ignore[arg-type]
    config, _ = resolve(
        request, regime="single_positive", images=100, given_features=False, has_gpu=False
    )
    stage = config.stages[-1]
    assert (stage.method.name, stage.epochs) == (method, epochs)
    assert stage.inputs == ("features" if protocol == "mlspl" else "images")


@pytest.mark.parametrize(
    ("has_gpu", "images", "mode", "reason"),
    [
        (False, 3_000, ["features"], "no GPU; --mode finetune trains the whole network"),
        (True, 300, ["features"], "300 training images are few"),
        (True, 3_000, ["features", "images"], "a GPU for 3,000 images"),
    ],
)
def test_the_mode_follows_hardware_and_data(
    has_gpu: bool, images: int, mode: list[str], reason: str
) -> None:
    config, notes = resolve(
        Request(DataConfig("labels.csv")),
        regime="single_positive",
        images=images,
        given_features=False,
        has_gpu=has_gpu,
    )
    assert [stage.inputs for stage in config.stages] == mode
    assert reason in "\n".join(notes)


@pytest.mark.parametrize("regime", ["single_positive", "positive_only", "partial", "full"])
def test_auto_is_the_likelihood_of_any_labels(regime: str) -> None:
    config, notes = resolve(
        Request(DataConfig("labels.csv")),
        regime=regime,
        images=100,
        given_features=True,
        has_gpu=False,
    )
    assert config.stages[-1].method.name == "likelihood"
    assert any("method: likelihood" in note for note in notes)


@pytest.mark.parametrize(
    ("given_features", "wishes", "regions"),
    [
        (False, {}, True),
        (True, {}, None),
        (False, {"overrides": {"head_settings": {"regions": False}}}, False),
        (False, {"method": "em"}, None),
        (False, {"overrides": {"head": "cam"}}, None),
    ],
)
def test_auto_looks_at_regions_of_images(
    given_features: bool, wishes: dict[str, Any], regions: bool | None
) -> None:
    request = Request(DataConfig("labels.csv"), **wishes)
    config, _ = resolve(
        request, regime="full", images=100, given_features=given_features, has_gpu=False
    )
    assert config.model.head_settings.get("regions") == regions


@pytest.mark.parametrize(
    ("wishes", "settings"),
    [
        ({}, {}),
        ({"overrides": {"head_settings": {"power": 1.0}}}, {"transform": "plain"}),
        ({"overrides": {"head_settings": {"power": 0.5}}}, {}),
        ({"method": "em", "overrides": {"head_settings": {"power": 1.0}}}, {}),
    ],
)
def test_a_power_that_was_asked_for_is_kept(
    wishes: dict[str, Any], settings: dict[str, str], data: Path
) -> None:
    request = Request(DataConfig(str(data)), **wishes)
    config, _ = configure(request, prepare(request.data))
    assert config.stages[-1].method.settings == settings


@pytest.mark.parametrize(
    ("method", "overrides", "ema"),
    [("auto", {}, 0.99), ("auto", {"ema": 0.9}, 0.9), ("em", {}, None)],
)
def test_auto_averages_weights_where_it_fine_tunes(
    method: str, overrides: dict[str, float], ema: float | None
) -> None:
    request = Request(
        DataConfig("labels.csv"), method=method, mode="linear_init", overrides=overrides
    )
    config, _ = resolve(
        request, regime="single_positive", images=100, given_features=False, has_gpu=False
    )
    assert [stage.ema for stage in config.stages] == [None, ema]


def test_options_of_the_loop_without_a_loop_are_told(data: Path) -> None:
    request = Request(DataConfig(str(data)), overrides={"epochs": 3, "learning_rate": 0.1})
    _, notes = configure(request, prepare(request.data))
    assert any("epochs, learning_rate: no effect" in note for note in notes)


@pytest.mark.parametrize(
    ("wishes", "frozen", "multiplier"),
    [
        ({}, True, 10.0),
        ({"overrides": {"freeze_batchnorm": False, "head_multiplier": 2.0}}, False, 2.0),
        ({"overrides": {"pretrained": False}}, False, 10.0),
        ({"overrides": {"head": "q2l"}}, True, 1.0),
        ({"protocol": "mlspl"}, False, 1.0),
    ],
)
@pytest.mark.parametrize("mode", ["finetune", "linear_init"])
def test_fine_tuning_keeps_what_the_backbone_knows(
    wishes: dict[str, Any], frozen: bool, multiplier: float, mode: str, data: Path
) -> None:
    request = Request(DataConfig(str(data)), method="em", mode=mode, **wishes)
    config, _ = resolve(request, regime="partial", images=9, given_features=False, has_gpu=False)
    assert config.model.freeze_batchnorm == frozen
    assert config.stages[-1].head_multiplier == multiplier
    assert all(stage.head_multiplier == 1 for stage in config.stages[:-1])


@pytest.mark.parametrize(("given", "stage_one"), [({}, 0.0), ({"stage_one": 0.25}, 0.25)])
def test_the_second_of_two_stages_contrasts_from_its_first_epoch(
    given: dict[str, float], stage_one: float, data: Path
) -> None:
    request = Request(DataConfig(str(data)), mode="two_stage", method_settings=given)
    config, _ = resolve(request, regime="partial", images=9, given_features=False, has_gpu=False)
    first, second = (stage.method for stage in config.stages)
    assert (first.name, second.name) == ("plc", "lac")
    assert second.settings["stage_one"] == stage_one


def two_stages(**wanted: Any) -> list[MethodConfig]:
    request = Request(DataConfig("labels.csv"), mode="two_stage", **wanted)
    config, _ = resolve(request, regime="partial", images=9, given_features=False, has_gpu=False)
    return [stage.method for stage in config.stages]


def test_settings_of_both_stages_reach_the_first_one() -> None:
    first, second = two_stages(method_settings={"plc_weight": 0.25, "threshold": 0.7, "queue": 64})
    made = methods.configure(first.name, first.settings, first.preset)
    assert (made.weight, made.threshold) == (0.25, 0.7)
    again = methods.configure(second.name, second.settings, second.preset)
    assert (again.plc_weight, again.threshold, again.queue) == (0.25, 0.7, 64)


@pytest.mark.parametrize("preset", list(lac.PRESETS))
def test_every_preset_of_lac_trains_in_two_stages(preset: str) -> None:
    first, second = two_stages(method_preset=preset)
    wanted = lac.PRESETS[preset]
    made = methods.configure(first.name, first.settings, first.preset)
    assert made.weight == wanted.plc_weight
    assert (made.normalize, made.include_observed) == (wanted.normalize, wanted.include_observed)
    again = methods.configure(second.name, second.settings, second.preset)
    assert again == replace(wanted, stage_one=0.0)


def test_two_stages_of_a_method_without_stages_are_refused() -> None:
    with pytest.raises(TagfillError, match="two_stage trains lac, not em"):
        two_stages(method="em")


def test_the_second_of_two_stages_may_be_shorter_and_slower(data: Path) -> None:
    wishes = {"epochs": 6, "learning_rate": 1e-3, "second_epochs": 4, "second_learning_rate": 1e-4}
    request = Request(DataConfig(str(data)), mode="two_stage", overrides=wishes)
    config, _ = resolve(request, regime="partial", images=9, given_features=False, has_gpu=False)
    assert [(stage.epochs, stage.learning_rate) for stage in config.stages] == [
        (6, 1e-3),
        (4, 1e-4),
    ]
