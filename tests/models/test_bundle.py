from __future__ import annotations

import hashlib
import json
import os
import random
import struct
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import tagfill
from tagfill.errors import TagfillError
from tagfill.models.bundle import Bundle
from tagfill.models.network import build_network

PICTURE = np.full((8, 8, 3), 100, dtype=np.uint8)
IMAGES = torch.linspace(-1, 1, 2 * 3 * 64 * 64).reshape(2, 3, 64, 64)


@pytest.fixture
def bundle() -> Bundle:
    torch.manual_seed(3)
    network = build_network("test_resnet", "q2l", classes=3, size=64, pretrained=False).eval()
    return Bundle(
        network,
        ("cat", "dog", "ünusual"),
        thresholds=(0.5, 0.25, 0.75),
        calibration={"kind": "platt", "slope": [1.0, 2.0, 3.0], "bias": [0.0, 0.5, -1.0]},
        details={"method": "role"},
    )


def edit(folder: Path, **changes: Any) -> None:
    file = folder / "model.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


def test_round_trip(bundle: Bundle, tmp_path: Path) -> None:
    folder = bundle.save(tmp_path / "run" / "model")
    assert sorted(file.name for file in folder.iterdir()) == ["model.json", "model.safetensors"]
    assert [file.name for file in folder.parent.iterdir()] == ["model"]
    assert folder.stat().st_mode == folder.parent.stat().st_mode
    state = torch.random.get_rng_state()
    for path in (folder, tmp_path / "run"):
        loaded = tagfill.load(path)
        assert (loaded.classes, loaded.thresholds) == (bundle.classes, bundle.thresholds)
        assert (loaded.calibration, loaded.details) == (bundle.calibration, bundle.details)
        assert not loaded.network.training
        assert loaded.transform == bundle.transform
        with torch.no_grad():
            difference = loaded.network(IMAGES).logits - bundle.network(IMAGES).logits
        assert difference.abs().max() < 1e-6
    assert torch.random.get_rng_state().equal(state)


def test_saving_again_replaces_the_folder(bundle: Bundle, tmp_path: Path) -> None:
    folder = bundle.save(tmp_path / "model")
    (folder / "stray").write_text("left over")
    torch.nn.init.zeros_(bundle.network.head.classifier.weight)
    bundle.save(folder)
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    assert not (folder / "stray").exists()
    assert not tagfill.load(folder).network.head.classifier.weight.any()


def test_who_may_read_the_description_may_read_the_tensors(bundle: Bundle, tmp_path: Path) -> None:
    bundle.save(tmp_path / "model")
    description, tensors = (
        (tmp_path / "model" / name).stat().st_mode for name in ("model.json", "model.safetensors")
    )
    assert tensors == description


def test_a_failed_save_leaves_the_old_model(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = bundle.save(tmp_path / "model")
    monkeypatch.setattr("tagfill.models.bundle.json.dumps", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        bundle.save(folder)
    monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ["model"]
    tagfill.load(folder)


@pytest.mark.slow
def test_a_fresh_process_without_network_gives_the_same_logits(tmp_path: Path) -> None:
    network = build_network("efficientnet_lite0", "linear", classes=2, size=64).eval()
    folder = Bundle(network, ("a", "b")).save(tmp_path / "model")
    script = f"""
import socket
def refuse(*_, **__): raise OSError("no network here")
socket.socket.connect = socket.getaddrinfo = socket.create_connection = refuse
import torch, tagfill
images = torch.linspace(-1, 1, 2 * 3 * 64 * 64).reshape(2, 3, 64, 64)
with torch.no_grad():
    print(tagfill.load({str(folder)!r}).network(images).logits.double().tolist())
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    with torch.no_grad():
        expected = network(IMAGES).logits.double()
    assert (torch.tensor(json.loads(done.stdout)) - expected).abs().max() < 1e-6


def test_changed_tensors_are_noticed(bundle: Bundle, tmp_path: Path) -> None:
    folder = bundle.save(tmp_path / "model")
    file = folder / "model.safetensors"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(TagfillError, match=r"model.safetensors.*SHA-256"):
        tagfill.load(folder)
    file.unlink()
    with pytest.raises(TagfillError, match="tensors are missing"):
        tagfill.load(folder)


def test_tensors_of_another_size_are_not_read(
    bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = bundle.save(tmp_path / "model")
    monkeypatch.setattr("tagfill.models.bundle._sha256", lambda file: pytest.fail("was read"))
    for size in (10**12, 10**9, 100, 0):  # those that are longer have a hole, not content
        os.truncate(folder / "model.safetensors", size)
        with pytest.raises(TagfillError, match=r"model\.safetensors: not a safetensors file"):
            tagfill.load(folder)
    header = {"a": {"dtype": "F32", "shape": [10**9], "data_offsets": [0, 4 * 10**9]}}
    text = json.dumps(header).encode()
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", len(text)) + text)
    os.truncate(folder / "model.safetensors", 8 + len(text) + 4 * 10**9)
    with pytest.raises(TagfillError, match="do not fit the network described"):
        tagfill.load(folder)


def test_tensors_that_do_not_fit_are_noticed(bundle: Bundle, tmp_path: Path) -> None:
    folder = bundle.save(tmp_path / "model")
    file = folder / "model.safetensors"
    whole = load_file(file)
    for tensors in (
        {**whole, "extra": torch.zeros(1)},
        {**whole, "head.classifier.bias": torch.zeros(4)},
        {name: tensor for name, tensor in whole.items() if name != "head.classifier.bias"},
    ):
        save_file(tensors, file)
        edit(folder, sha256=hashlib.sha256(file.read_bytes()).hexdigest())
        with pytest.raises(TagfillError, match="do not fit the network described"):
            tagfill.load(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "something"}, "does not describe a tagfill model"),
        ({"version": 99}, "of version 99.*update tagfill"),
        ({"hook": "os.system"}, r"unknown or missing keys: \['hook'\]"),
        ({"classes": [1, 2, 3]}, "not a list of words"),
        ({"classes": ["a", "b"]}, "3 different class names"),
        ({"classes": ["a", "b", "b"]}, "3 different class names"),
        ({"thresholds": [0.5]}, "thresholds: 3 numbers are needed"),
        ({"network": {}}, "description is damaged"),
    ],
)
def test_odd_descriptions_are_refused(
    bundle: Bundle, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    folder = bundle.save(tmp_path / "model")
    edit(folder, **changes)
    with pytest.raises(TagfillError, match=message):
        tagfill.load(folder)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"architecture": "no_such_net"}, "cannot build the backbone 'no_such_net'"),
        ({"library": "os"}, "unknown backbone library"),
        ({"options": {"surprise": 1}}, "'surprise' may not come from a file"),
        ({"architecture": "resnet152"}, "does not fit the backbone"),
    ],
)
def test_unknown_architectures_are_refused(
    bundle: Bundle, tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    folder = bundle.save(tmp_path / "model")
    network = bundle.network.to_json()
    network["backbone"].update(changes)
    edit(folder, network=network)
    with pytest.raises(TagfillError, match=message):
        tagfill.load(folder)


def test_a_folder_without_model(tmp_path: Path) -> None:
    with pytest.raises(TagfillError, match="this folder has no model"):
        tagfill.load(tmp_path)
    (tmp_path / "model.json").write_text("{")
    with pytest.raises(TagfillError, match="is not JSON"):
        tagfill.load(tmp_path)


def test_names_must_fit_the_network(bundle: Bundle, tmp_path: Path) -> None:
    with pytest.raises(TagfillError, match="3 different class names"):
        Bundle(bundle.network, ("a", "b")).save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def leaves(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Paths to every value of a document, tables and lists included."""
    if path:
        yield path
    members = value.items() if isinstance(value, dict) else enumerate(value[:2])
    for key, member in members:
        if isinstance(member, dict | list):
            yield from leaves(member, (*path, key))
        else:
            yield (*path, key)


def changed(document: Any, path: tuple[str | int, ...], value: Any) -> Any:
    copy = json.loads(json.dumps(document))
    place = copy
    for key in path[:-1]:
        place = place[key]
    if value is GONE:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return copy


GONE, TORTURE = object(), "TAGFILL_TORTURE" in os.environ
ODD = [GONE, None, "x", "", -1, 0, 1.5, 10**9, 10**30, float("nan"), float("inf"), True, [], {}]
ODD += [[None], ["a", "a"], "hf_hub:some/model", "local-dir:/tmp/model", "/etc/passwd", "\ud800"]


@pytest.mark.parametrize("head", ["linear", "q2l"])
def test_a_tampered_description_is_refused_with_a_sentence_or_harmless(
    head: str, tmp_path: Path
) -> None:
    """Every value replaced by every odd one; none may end in a traceback, or in NaN."""
    network = build_network("test_resnet", head, classes=2, size=64, pretrained=False).eval()
    calibration = {"kind": "isotonic", "knots": [[-1.0, 1.0]] * 2, "values": [[0.1, 0.9]] * 2}
    folder = Bundle(network, ("a", "b"), (0.5, 0.5), calibration).save(tmp_path / "model")
    file = folder / "model.json"
    document = json.loads(file.read_text())
    refused = harmless = 0
    cases = [(path, value) for path in leaves(document) for value in ODD]
    for path, value in random.Random(head).sample(cases, 1000 if TORTURE else 40):
        file.write_text(json.dumps(changed(document, path, value)))
        try:
            loaded = tagfill.load(folder)
        except TagfillError:
            refused += 1
            continue
        harmless += 1
        predictions = loaded.predict(PICTURE)
        assert np.isfinite(predictions[0].probabilities).all(), (path, value)
    assert refused > harmless


@pytest.mark.parametrize("address", ["hf_hub:timm/resnet18.a1_in1k", "local-dir:/tmp/x", "a/b"])
def test_an_architecture_is_never_an_address(address: str, bundle: Bundle, tmp_path: Path) -> None:
    folder = bundle.save(tmp_path / "model")
    network = json.loads((folder / "model.json").read_text())["network"]
    network["backbone"]["architecture"] = address
    edit(folder, network=network)
    with pytest.raises(TagfillError, match="not by a URL"):
        tagfill.load(folder)


def test_options_that_would_load_something_are_refused(bundle: Bundle, tmp_path: Path) -> None:
    folder = bundle.save(tmp_path / "model")
    network = json.loads((folder / "model.json").read_text())["network"]
    network["backbone"]["options"] = {"checkpoint_path": "/tmp/evil.pth"}
    edit(folder, network=network)
    with pytest.raises(TagfillError, match="'checkpoint_path' may not come from a file"):
        tagfill.load(folder)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused(
    value: float, bundle: Bundle, tmp_path: Path
) -> None:
    folder = bundle.save(tmp_path / "model")
    file = folder / "model.safetensors"
    tensors = load_file(file)
    tensors["head.classifier.bias"][1] = value
    save_file(tensors, file)
    edit(folder, sha256=hashlib.sha256(file.read_bytes()).hexdigest())
    with pytest.raises(TagfillError, match=r"head\.classifier\.bias.*NaN or infinite"):
        tagfill.load(folder)


def test_numbers_that_are_not_finite_are_refused(bundle: Bundle, tmp_path: Path) -> None:
    folder = bundle.save(tmp_path / "model")
    whole = json.loads((folder / "model.json").read_text())
    for path, value in (
        (("network", "backbone", "std", 0), 0.0),
        (("network", "backbone", "mean", 1), float("nan")),
        (("thresholds", 2), float("nan")),
        (("thresholds", 0), -0.5),
        (("calibration", "slope", 0), float("inf")),
    ):
        (folder / "model.json").write_text(json.dumps(changed(whole, path, value)))
        with pytest.raises(TagfillError, match=str(path[-2])):
            tagfill.load(folder)
