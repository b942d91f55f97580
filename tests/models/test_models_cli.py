from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from tagfill.cli.main import main
from tagfill.models.presets import PRESETS


def test_listing_puts_offline_first_and_names_the_open_doors(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["backbones"]) == 0
    out = capsys.readouterr().out
    assert out.index("efficientnet_lite0") < out.index("resnet101") < out.index("Any timm name")
    assert "hf:NAME" in out
    assert main(["backbones", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["default"] == "efficientnet_lite0"
    assert [preset["name"] for preset in listed["presets"]] == list(PRESETS)


def test_one_backbone_in_full(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["backbones", "resnet101"]) == 0
    out = capsys.readouterr().out
    for fact in ("448 x 448", "2048 x 14 x 14", "42.5 M", "timm/resnet101.tv_in1k", "bsd-3"):
        assert fact in out
    assert main(["backbones", "test_vit", "--size", "9" * 20]) == 2
    assert main(["backbones", "test_vit", "--size", "64", "--json"]) == 0
    metadata = json.loads(capsys.readouterr().out)
    assert (metadata["size"], metadata["stride"], metadata["channels"]) == (64, 16, 64)
    assert metadata["license"] == "apache-2.0"


def test_mistakes_end_with_2(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["backbones", "resnet_101"]) == 2
    assert "did you mean" in capsys.readouterr().err
    file = tmp_path / "odd.pth"
    torch.save({"weight": torch.zeros(1)}, file)
    assert main(["import-weights", "q2l", str(file), "--out", str(tmp_path / "model")]) == 2
    assert "is not a Query2Label checkpoint" in capsys.readouterr().err
    assert not (tmp_path / "model").exists()
    missing = ["--classes", str(tmp_path / "none.txt")]
    assert main(["import-weights", "q2l", str(file), "--out", "x", *missing]) == 2
    assert "none.txt: no such file" in capsys.readouterr().err
    assert main(["import-weights", "mldecoder", str(file), "--out", "x"]) == 2


def test_importing_writes_a_model(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    from tagfill.models.bundle import Bundle
    from tagfill.models.network import build_network

    network = build_network("test_resnet", classes=2, size=64, pretrained=False)
    asked: list[object] = []

    def imported(file: Path, names: tuple[str, ...], *, heads: int) -> Bundle:
        asked.extend([file, names, heads])
        return Bundle(network, names)

    monkeypatch.setattr("tagfill.models.import_q2l.import_q2l", imported)
    classes = tmp_path / "classes.txt"
    classes.write_text("cat\ndog\n\n")
    out = tmp_path / "model"
    arguments = ["import-weights", "q2l", "c.pkl", "--out", str(out), "--classes", str(classes)]
    assert main([*arguments, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert asked == [Path("c.pkl"), ("cat", "dog"), 4]
    assert (result["classes"], result["folder"]) == (2, str(out))
    assert (out / "model.safetensors").is_file()
