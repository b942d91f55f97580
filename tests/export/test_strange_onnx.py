"""ONNX files made up by somebody: refused with a sentence, in bounded time and memory."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tagfill.cli.main import main
from tagfill.errors import TagfillError
from tagfill.models import engines
from tagfill.models.deploy import METADATA, Metadata
from tagfill.models.engines import open_engine

FEATURES = np.full((2, 3), 0.5, dtype=np.float32)
FACTS: dict[str, Any] = json.loads(
    Metadata(("cat", "dog", "bus"), None, "features", size=0, channels=3).to_json()
)
NAME = "probabilities"
NUMBER = helper.make_tensor_value_info("value", TensorProto.FLOAT, None)


def model(
    path: Path,
    nodes: Sequence[onnx.NodeProto],
    constants: dict[str, Any] | None = None,
    **facts: Any,
) -> Path:
    """A file whose nodes make `probabilities` of `features`."""
    entrance = helper.make_tensor_value_info("features", TensorProto.FLOAT, ["n", 3])
    outputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
        for name in ("probabilities", "logits")
    ]
    weights = [numpy_helper.from_array(np.asarray(v), k) for k, v in (constants or {}).items()]
    nodes = [*nodes, helper.make_node("Identity", ["features"], ["logits"])]
    graph = helper.make_graph(nodes, "graph", [entrance], outputs, weights)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    made.metadata_props.add(key=METADATA, value=json.dumps(FACTS | facts))
    path.write_bytes(made.SerializeToString())
    return path


def test_a_sound_file_is_used(tmp_path: Path) -> None:
    path = model(tmp_path / "m.onnx", [helper.make_node("Identity", ["features"], [NAME])])
    assert open_engine(path).probabilities(FEATURES).tolist() == FEATURES.tolist()


@pytest.mark.parametrize("value", [1.5, -0.2, np.nan, np.inf])
def test_probabilities_are_numbers_from_0_to_1(value: float, tmp_path: Path) -> None:
    half = np.float32(value - 0.5)
    path = model(
        tmp_path / "m.onnx", [helper.make_node("Add", ["features", "half"], [NAME])], {"half": half}
    )
    with pytest.raises(TagfillError, match="not numbers from 0 to 1"):
        open_engine(path).predict(FEATURES)


def test_a_loop_without_end_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "LONGEST_BATCH", 0.5)
    truth = helper.make_tensor_value_info("again", TensorProto.BOOL, [])
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["again"], ["still"]),
            helper.make_node("Identity", ["value"], ["same"]),
        ],
        "body",
        [helper.make_tensor_value_info("turn", TensorProto.INT64, []), truth, NUMBER],
        [
            helper.make_tensor_value_info("still", TensorProto.BOOL, []),
            helper.make_tensor_value_info("same", TensorProto.FLOAT, None),
        ],
    )
    loop = helper.make_node("Loop", ["", "yes", "features"], [NAME], body=body)
    engine = open_engine(model(tmp_path / "m.onnx", [loop], {"yes": True}))
    with pytest.raises(TagfillError, match="cannot be run"):
        engine.predict(FEATURES)


def test_more_numbers_than_memory_are_refused(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    nodes = [
        helper.make_node("ReduceMean", ["features"], ["mean"], keepdims=1),
        helper.make_node("Expand", ["mean", "huge"], ["many"]),
        helper.make_node("ReduceMean", ["many"], ["one"], keepdims=1),
        helper.make_node("Add", ["features", "one"], [NAME]),
    ]
    path = model(tmp_path / "m.onnx", nodes, {"huge": np.array([1, 2**50])})
    np.save(tmp_path / "f.npy", FEATURES)
    assert main(["predict", str(path), str(tmp_path / "f.npy")]) == 2
    (line,) = capfd.readouterr().err.strip().splitlines()
    assert line.startswith(f"tagfill: {path}: cannot be run")


@pytest.mark.parametrize("place", ["../../../etc/passwd", "/etc/passwd", "/dev/zero", "secret.txt"])
def test_weights_in_other_files_are_not_read(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "secret.txt").write_text("secret" * 10)
    outside = TensorProto(name="outside", data_type=TensorProto.FLOAT, dims=[1])
    outside.data_location = TensorProto.EXTERNAL
    for key, value in {"location": place, "offset": "0", "length": "4"}.items():
        outside.external_data.add(key=key, value=value)
    path = model(
        tmp_path / "m.onnx", [helper.make_node("Mul", ["features", "outside"], ["product"])]
    )
    made = onnx.load(path, load_external_data=False)
    made.graph.initializer.append(outside)
    made.graph.node.append(helper.make_node("Sigmoid", ["product"], [NAME]))
    path.write_bytes(made.SerializeToString())
    with pytest.raises(TagfillError, match="cannot load it"):
        open_engine(path)


def test_tags_that_imply_each_other_are_refused(tmp_path: Path) -> None:
    circle = {"cat": ["dog"], "dog": ["cat"]}
    node = helper.make_node("Identity", ["features"], [NAME])
    path = model(tmp_path / "m.onnx", [node], hierarchy=circle)
    with pytest.raises(TagfillError, match=r"m\.onnx: tags imply each other"):
        open_engine(path)


def test_a_file_beyond_all_sizes_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    with path.open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(TagfillError, match="too large for an ONNX file"):
        open_engine(path)
