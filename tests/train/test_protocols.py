"""Every value of every protocol, beside the one of the paper or its published code."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, get_args

import pytest

from tagfill.models.heads import configure_head
from tagfill.train.config import DataConfig, RunConfig
from tagfill.train.protocols import PROTOCOLS, ProtocolName
from tagfill.train.resolve import Request, resolve

ADAM = {"optimizer": "adam", "weight_decay": 0.0, "schedule": "constant", "ema": None}
ONE_CYCLE = {"schedule": "one_cycle", "warmup": 0.2, "ema_warmup": False}
RESNET_50 = {"backbone": "resnet50", "input_size": 448}
RESNET_101 = {"backbone": "resnet101", "input_size": 448}
WHOLE = {
    "freeze_stages": 0,
    "freeze_batchnorm": False,
    "freeze_statistics": False,
    "lgconv": False,
}
PLAIN = {**RESNET_50, **WHOLE, "head": "linear"}
LINEAR = {**ADAM, "inputs": "features", "epochs": 25, "batch_size": 16, "learning_rate": 1e-3}
MLSPL = {**ADAM, "inputs": "images", "batch_size": 16, "learning_rate": 1e-5, "augment": "flip"}
EM_APL = {**MLSPL, "batch_size": 8, "epochs": 10, "patience": 0, "learning_rate": 1e-5}
LAC = {
    **ONE_CYCLE,
    "inputs": "images",
    "optimizer": "adamw",
    "weight_decay": 1e-2,
    "learning_rate": 1e-4,
    "ema": 0.9997,
    "epochs": 40,
    "schedule_epochs": None,
    "batch_size": 32,
    "patience": 8,
    "strong_jitter": True,
    "head_multiplier": 1.0,
}
PU_MLC = {
    **ONE_CYCLE,
    "inputs": "images",
    "optimizer": "adam",
    "weight_decay": 1e-4,
    "learning_rate": 1e-4,
    "ema": 0.9997,
    "epochs": 40,
    "schedule_epochs": 80,
    "batch_size": 70,
    "augment": "crops",
    "head_multiplier": 1.0,
}
Q2L = {
    **LAC,
    "epochs": 80,
    "batch_size": 64,
    "augment": "strong_unflipped",
    "strong_jitter": False,
}
FROZEN_BELOW = {
    "freeze_stages": 2,
    "freeze_batchnorm": True,
    "freeze_statistics": False,
    "lgconv": False,
}
GLOBAL = {
    **RESNET_101,
    "head": "ssgrl",
    "lgconv": True,
    "freeze_stages": 4,
    "freeze_batchnorm": False,
    "freeze_statistics": True,
}
LEM = {"hidden": None, "feedforward": 8192, "heads": 4, "encoder_layers": 1, "decoder_layers": 2}
SSGRL = {"hidden": 1024, "joint": 512, "words": 300, "steps": 3, "halve": True}
PU_MLC_METHOD = {"shares": 2, "tempered_factor": True, "eps": 1e-10, "mixup": 1.0}
EM_APL_METHOD = {"eps": 1e-5, "theta": 0.9, "training_view": True}

PAPERS: dict[str, dict[str, Any]] = {
    "mlspl linear": {
        "protocol": "mlspl",
        "mode": "linear",
        "model": PLAIN,
        "stages": [LINEAR],
    },
    "mlspl fine-tuned": {
        "protocol": "mlspl",
        "mode": "finetune",
        "model": PLAIN,
        "stages": [{**MLSPL, "epochs": 10}],
        "val_split": "published",
    },
    "mlspl ROLE + LinearInit": {
        "protocol": "mlspl",
        "mode": "linear_init",
        "method": "role",
        "method_preset": "voc",
        "stages": [LINEAR, {**MLSPL, "epochs": 5}],
        "settings": {"k": 1.5, "per_class": True, "weight": 1.0},
    },
    "mlspl ROLE + LinearInit, CUB": {
        "protocol": "mlspl_cub",
        "mode": "linear_init",
        "method": "role",
        "method_preset": "cub",
        "model": PLAIN,
        "stages": [{**LINEAR, "batch_size": 8}, {**MLSPL, "epochs": 5}],
        "settings": {"k": 31.4},
    },
    "mlspl ROLE + LinearInit, NUS": {
        "protocol": "mlspl_nus",
        "mode": "linear_init",
        "method": "role",
        "method_preset": "nus",
        "model": PLAIN,
        "stages": [LINEAR, {**MLSPL, "epochs": 5}],
        "settings": {"k": 1.9},
    },
    "mlspl EPR, COCO": {
        "protocol": "mlspl",
        "mode": "finetune",
        "method": "epr",
        "method_preset": "coco",
        "stages": [{**MLSPL, "epochs": 10}],
        "settings": {"k": 2.9, "per_class": True, "weight": 1.0},
    },
    "mlspl AN-LS + LinearInit": {
        "protocol": "mlspl",
        "mode": "linear_init",
        "method": "an_ls",
        "method_preset": "published",
        "stages": [{**LINEAR, "learning_rate": 1e-4, "batch_size": 8}, {**MLSPL, "epochs": 5}],
        "settings": {"eps": 0.2},
    },
    "mlspl AN-LS + LinearInit, NUS": {
        "protocol": "mlspl_nus",
        "mode": "linear_init",
        "method": "an_ls",
        "stages": [{**LINEAR, "learning_rate": 1e-4}, {**MLSPL, "epochs": 5}],
    },
    "em_apl, VOC": {
        "protocol": "em_apl",
        "model": PLAIN,
        "stages": [EM_APL],
        "settings": {**EM_APL_METHOD, "alpha": 0.2, "beta": 0.02, "warmup": 0.5},
        "val_split": "published",
    },
    "em_apl, COCO": {
        "protocol": "em_apl_coco",
        "model": PLAIN,
        "stages": [{**EM_APL, "batch_size": 16}],
        "settings": {**EM_APL_METHOD, "alpha": 0.1, "beta": 0.9, "warmup": 0.5},
    },
    "em_apl, NUS": {
        "protocol": "em_apl_nus",
        "model": PLAIN,
        "stages": [{**EM_APL, "batch_size": 16}],
        "settings": {**EM_APL_METHOD, "alpha": 0.1, "beta": 0.2, "warmup": 0.4},
    },
    "em_apl, CUB": {
        "protocol": "em_apl_cub",
        "model": PLAIN,
        "stages": [{**EM_APL, "learning_rate": 1e-4}],
        "settings": {**EM_APL_METHOD, "alpha": 0.01, "beta": 0.4, "warmup": 0.3},
    },
    "lac": {
        "protocol": "lac",
        "model": {**RESNET_50, **FROZEN_BELOW, "head": "lem"},
        "head": {**LEM, "decoder_self_attention": False, "embedding": 128, "dropout": 0.1},
        "stages": [LAC, LAC],
        "methods": ["plc", "lac"],
        "first_settings": {
            "threshold": 0.6,
            "weight": 1.0,
            "include_observed": True,
            "normalize": "images",
        },
        "settings": {
            "threshold": 0.6,
            "threshold_two": 0.9,
            "temperature": 0.5,
            "queue": 512,
            "plc_weight": 1.0,
            "lac_weight": 1.0,
            "stage_one": 0.0,
            "include_observed": True,
            "form": "equation",
            "pairs": "sum",
            "normalize": "images",
        },
        "val_split": "published",
    },
    "pu_mlc, COCO": {
        "protocol": "pu_mlc",
        "model": GLOBAL,
        "head": SSGRL,
        "stages": [PU_MLC],
        "settings": {**PU_MLC_METHOD, "gamma": 0.55, "alpha": 1.0},
    },
    "pu_mlc, VOC 2007": {
        "protocol": "pu_mlc_voc07",
        "model": GLOBAL,
        "head": SSGRL,
        "stages": [{**PU_MLC, "learning_rate": 4e-5, "ema": 0.991, "epochs": 55, "batch_size": 90}],
        "settings": {**PU_MLC_METHOD, "gamma": 0.85, "alpha": 2.0},
    },
    "q2l": {
        "protocol": "q2l",
        "model": {**RESNET_101, **FROZEN_BELOW, "head": "q2l"},
        "head": {**LEM, "decoder_self_attention": False, "dropout": 0.1},
        "stages": [Q2L],
        "methods": ["asl_q2l"],
        "settings": {
            "gamma_positive": 0.0,
            "gamma_negative": 1.0,
            "detach_weight": False,
            "eps": 0.0,
            "scale": 1.0,
        },
    },
}


def resolved(paper: dict[str, Any]) -> RunConfig:
    chosen = {key: paper[key] for key in ("mode", "method", "method_preset") if key in paper}
    request = Request(DataConfig("labels.csv"), protocol=paper["protocol"], **chosen)
    config, _ = resolve(
        request, regime="single_positive", images=5_000, given_features=False, has_gpu=True
    )
    return config


def assert_holds(got: dict[str, Any], expected: dict[str, Any]) -> None:
    assert {name: got[name] for name in expected} == expected


@pytest.mark.parametrize("name", PAPERS)
def test_protocol_is_the_papers(name: str) -> None:
    from tagfill import methods

    paper = PAPERS[name]
    config = resolved(paper)
    assert len(config.stages) == len(paper["stages"])
    for stage, expected in zip(config.stages, paper["stages"], strict=True):
        assert_holds(vars(stage), expected)
    assert_holds(vars(config.model), paper.get("model", {}))
    model = config.model
    head = configure_head(model.head, model.head_settings, model.head_preset)
    assert_holds(asdict(head), paper.get("head", {}))
    trained = [stage.method.name for stage in config.stages]
    assert trained == paper.get("methods", trained)
    for stage, key in ((config.stages[0], "first_settings"), (config.stages[-1], "settings")):
        method = stage.method
        settings = methods.configure(method.name, method.settings, method.preset)
        assert_holds(vars(settings), paper.get(key, {}))
    if "val_split" in paper:
        assert config.data.val_split == paper["val_split"]


def test_a_protocol_holds_for_its_own_method_if_that_is_named() -> None:
    named = {"protocol": "pu_mlc", "method": "pu_mlc"}
    assert resolved(named).stages == resolved({"protocol": "pu_mlc"}).stages
    chosen = resolved({**named, "method_preset": "voc07"}).stages[0].method
    assert (chosen.preset, chosen.settings) == ("voc07", {"shares": 2})


@pytest.mark.parametrize("name", sorted(set(PROTOCOLS) - {"none"}))
def test_no_value_of_a_protocol_is_missing_in_the_table(name: str) -> None:
    protocol = PROTOCOLS[name]
    rows = [paper for paper in PAPERS.values() if paper["protocol"] == name]
    compared = {"mode", "head_preset"}  # seen in the stages and in the values of the head
    for paper in rows:
        compared.update(paper.get("model", {}), *paper["stages"])
    for settings in (protocol.settings, *protocol.by_method.values()):
        stated = {key.removeprefix("linear_").removeprefix("finetune_") for key in settings}
        assert stated <= compared
    assert protocol.method is None or any("settings" in paper for paper in rows)


def test_every_protocol_is_in_the_table() -> None:
    assert set(get_args(ProtocolName)) == set(PROTOCOLS)
    assert set(PROTOCOLS) - {"none"} == {paper["protocol"] for paper in PAPERS.values()}
