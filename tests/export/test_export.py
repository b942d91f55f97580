from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from tests.predict.tiny import (
    CLASSES,
    STEPS,
    by_hand,
    feature_bundle,
    image_bundle,
    pictures,
)

import tagfill.export.run as run_module
from tagfill.cli.main import main
from tagfill.errors import TagfillError
from tagfill.export.files import quantize
from tagfill.export.run import export_model
from tagfill.labels import Dataset, LabelTable
from tagfill.labels.io import save_labels
from tagfill.models.engines import open_engine
from tagfill.models.seal import KEY, remember
from tagfill.models.tagging import pixels as pixels_of

DEPLOY = Path(__file__).resolve().parents[2] / "docs" / "deploy.md"


@pytest.fixture(scope="module")
def photos(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("photos")
    pictures(folder)
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    """A run folder with its ONNX file."""
    folder = tmp_path_factory.mktemp("run")
    image_bundle(calibration=STEPS).save(folder / "model")
    assert main(["export", str(folder)]) == 0
    return folder


def test_the_file_agrees_with_the_model_for_any_batch_size(run, photos):
    paths = sorted(photos.glob("*.*"))
    engine = open_engine(run / "model.onnx")
    expected = by_hand(image_bundle(calibration=STEPS), paths)
    for size in (1, 3, 4):
        predictions = engine.predict(paths[:size], batch_size=size)
        np.testing.assert_allclose(
            [prediction.probabilities for prediction in predictions], expected[:size], atol=1e-4
        )


def test_the_file_says_what_it_is(run):
    model = onnx.load(run / "model.onnx")
    onnx.checker.check_model(model)
    assert [value.name for value in model.graph.input] == ["pixels"]
    assert [value.name for value in model.graph.output] == ["probabilities", "logits"]
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param
    (entry,) = [prop for prop in model.metadata_props if prop.key == "tagfill"]
    metadata = json.loads(entry.value)
    assert metadata["classes"] == list(CLASSES)
    assert metadata["thresholds"] == [0.5, 0.4, 0.6]
    assert (metadata["input"]["size"], metadata["input"]["range"]) == (64, [0, 1])


def test_predict_runs_the_file_as_it_runs_the_run(run, photos, capsys):
    results = []
    for model in (run, run / "model.onnx"):
        assert main(["predict", str(model), str(photos), "--format", "jsonl"]) == 0
        results.append([json.loads(line) for line in capsys.readouterr().out.splitlines()])
    for ours, theirs in zip(*results, strict=True):
        assert ours["image"] == theirs["image"]
        assert ours["tags"] == pytest.approx(theirs["tags"], abs=1e-4)


def test_the_script_in_the_docs_runs_without_tagfill(run, photos, tmp_path):
    (script,) = [
        block
        for block in re.findall(r"```python\n(.*?)```", DEPLOY.read_text(), re.DOTALL)
        if "onnxruntime" in block
    ]
    assert len(script.splitlines()) <= 22
    assert "tagfill" not in re.findall(r"^(?:import|from) (\w+)", script, re.MULTILINE)
    file = tmp_path / "run_onnx.py"
    file.write_text(script)
    paths = [str(path) for path in sorted(photos.glob("*.*"))]
    done = subprocess.run(
        [sys.executable, str(file), str(run / "model.onnx"), *paths],
        capture_output=True,
        text=True,
        check=True,
    )
    records = [json.loads(line) for line in done.stdout.splitlines()]
    expected = image_bundle(calibration=STEPS).predict(paths)
    assert [record["image"] for record in records] == paths
    for ours, theirs in zip(records, expected, strict=True):
        assert ours["tags"] == pytest.approx(theirs.tags, abs=1e-4)


def test_a_file_that_differs_is_refused_and_not_written(run, tmp_path, monkeypatch):
    def other_model(bundle, path):
        path.write_bytes((run / "model.onnx").read_bytes())

    monkeypatch.setattr(run_module, "write_onnx", other_model)
    with pytest.raises(TagfillError, match="differs from torch by"):
        export_model(image_bundle(seed=9), tmp_path / "model.onnx")
    assert not list(tmp_path.iterdir())


def test_int8_is_smaller_and_its_cost_is_measured(run, photos, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(
        run_module,
        "write_onnx",
        lambda bundle, path: path.write_bytes((run / "model.onnx").read_bytes()),
    )
    names = tuple(str(path.relative_to(photos)) for path in sorted(photos.glob("*.*")))
    values = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 1]])
    labels = tmp_path / "labels.csv"
    table = LabelTable(names, CLASSES, values)
    save_labels(Dataset(table, labels, "csv_wide"), labels, format="csv_wide")
    out = tmp_path / "small.onnx"
    arguments = ["--int8", "--out", str(out), "--data", str(labels), "--images", str(photos)]
    assert main(["export", str(run), *arguments, "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert set(report["mAP"]) == set(report["milliseconds"]) == {"torch", "onnxruntime", "int8"}
    assert report["mAP"]["torch"] == pytest.approx(report["mAP"]["onnxruntime"])
    assert report["difference"]["logits"] > 0
    assert out.stat().st_size < 0.6 * (run / "model.onnx").stat().st_size
    assert open_engine(out).metadata == open_engine(run / "model.onnx").metadata


def test_photos_calibrate_activations_of_8_bits(run, photos, tmp_path):
    pixels = np.stack([pixels_of(path, 64) for path in sorted(photos.glob("*.*"))])
    quantize(run / "model.onnx", tmp_path / "static.onnx", pixels)
    exact, small = open_engine(run / "model.onnx"), open_engine(tmp_path / "static.onnx")
    assert small.metadata == exact.metadata
    expected, rounded = exact.probabilities(pixels), small.probabilities(pixels)
    assert 0 < np.abs(rounded - expected).max() < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("head", ["q2l", "lem", "cam", "ssgrl", "ml_gcn"])
def test_every_head_keeps_its_batch_free(head, tmp_path):
    bundle = image_bundle(head)
    report = export_model(bundle, tmp_path / "model.onnx")
    assert report.difference["probabilities"] < 1e-4
    shape = onnx.load(report.path).graph.input[0].type.tensor_type.shape
    assert shape.dim[0].dim_param
    assert len(open_engine(report.path).run(np.zeros((3, 3, 64, 64), np.float32))[0]) == 3


def test_features_can_be_exported_too(tmp_path):
    bundle = feature_bundle()
    report = export_model(bundle, tmp_path / "model.onnx")
    features = np.random.default_rng(1).normal(size=(6, 5)).astype(np.float32)
    ours, theirs = bundle.predict(features), open_engine(report.path).predict(features)
    for one, other in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(one.probabilities, other.probabilities, atol=1e-5)


def test_a_torch_archive_runs_with_torch_alone(tmp_path, photos):
    run = tmp_path / "run"
    image_bundle().save(run / "model")
    assert main(["export", str(run), "--to", "torch"]) == 0
    paths = sorted(photos.glob("*.*"))
    predictions = open_engine(run / "model.pt2").predict(paths)
    expected = by_hand(image_bundle(), paths)
    np.testing.assert_allclose(
        [prediction.probabilities for prediction in predictions], expected, atol=1e-5
    )
    script = (
        "import sys, torch; files = {'tagfill.json': ''};"
        "model = torch.export.load(sys.argv[1], extra_files=files).module();"
        "print(model(torch.zeros(3, 3, 64, 64))[0].shape, 'dog' in str(files));"
        "assert 'tagfill' not in sys.modules and 'timm' not in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(run / "model.pt2")], capture_output=True, text=True
    )
    assert done.stdout.strip() == "torch.Size([3, 3]) True", done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--to", "torch", "--int8"], "8-bit weights need ONNX"),
        (["--out", "model.bin"], "must end in .onnx"),
        ([], "exists already"),
    ],
)
def test_mistakes(run, arguments, message, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    assert main(["export", str(run), *arguments]) == 2
    assert message in capsys.readouterr().err


def test_what_a_killed_export_leaves_is_removed_by_the_next(tmp_path):
    code = (
        "import os, sys; from pathlib import Path\n"
        "from tests.predict.tiny import feature_bundle; from tagfill.export import run\n"
        "run.write_onnx = lambda bundle, file: (file.write_bytes(b'x'), os.kill(os.getpid(), 9))\n"
        "run.export_model(feature_bundle(), Path(sys.argv[1]))"
    )
    path, root = tmp_path / "model.onnx", str(Path(__file__).parents[2])
    around = {**os.environ, "PYTHONPATH": os.pathsep.join((root, os.environ.get("PYTHONPATH", "")))}
    subprocess.run([sys.executable, "-c", code, str(path)], env=around)
    assert [file for file in tmp_path.rglob("*") if file.is_file()], "something was left"
    export_model(feature_bundle(), path)
    assert list(tmp_path.iterdir()) == [path]


def test_files_of_others_are_refused(tmp_path):
    (tmp_path / "a.onnx").write_bytes(b"nothing")
    with pytest.raises(TagfillError, match="ONNX Runtime cannot load it"):
        open_engine(tmp_path / "a.onnx")
    with pytest.raises(TagfillError, match="no such file"):
        open_engine(tmp_path / "b.onnx")
    program = torch.export.export(torch.nn.Linear(2, 2), (torch.rand(1, 2),))
    torch.export.save(program, tmp_path / "c.pt2")
    remember(tmp_path / "c.pt2")
    with pytest.raises(TagfillError, match="not written by `tagfill export`"):
        open_engine(tmp_path / "c.pt2")


@pytest.fixture(scope="module")
def exported(tmp_path_factory) -> bytes:
    """An ONNX file of a head on features."""
    path = tmp_path_factory.mktemp("exported") / "model.onnx"
    export_model(feature_bundle(), path)
    return path.read_bytes()


def test_no_flipped_bit_in_an_onnx_file_is_silent(exported, tmp_path):
    path = tmp_path / "model.onnx"
    for bit in range(0, 8 * len(exported), max(1, 8 * len(exported) // 150)):
        changed = bytearray(exported)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        with pytest.raises(TagfillError, match=r"checksum differs|cannot load it"):
            open_engine(path)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9, 0.999])
def test_a_truncated_onnx_file_is_refused(exported, share, tmp_path, capsys):
    path = tmp_path / "model.onnx"
    path.write_bytes(exported[: int(share * len(exported))])
    np.save(tmp_path / "f.npy", np.zeros((2, 5), dtype=np.float32))
    assert main(["predict", str(path), str(tmp_path / "f.npy")]) == 2
    assert "export it again" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "message"),
    [("nan", "not numbers"), ("output", "cannot be run"), ("classes", "one number for each")],
)
def test_an_onnx_file_made_up_by_somebody_is_refused(exported, name, message, tmp_path):
    model = onnx.load_from_string(exported)
    kept = [entry for entry in model.metadata_props if entry.key != KEY.decode()]
    del model.metadata_props[:]
    if name == "nan":
        for weight in model.graph.initializer:
            values = onnx.numpy_helper.to_array(weight)
            if values.dtype == np.float32:
                weight.raw_data = np.full_like(values, np.nan).tobytes()
    elif name == "output":
        del model.graph.output[0]
    else:
        document = json.loads(kept[0].value)
        document |= {"classes": ["a", "b"], "thresholds": None, "hierarchy": {}}
        kept[0].value = json.dumps(document)
    model.metadata_props.extend(kept)
    path = tmp_path / "model.onnx"
    onnx.save_model(model, path)
    with pytest.raises(TagfillError, match=message):
        open_engine(path).predict(np.zeros((2, 5), dtype=np.float32))


def test_an_archive_of_others_is_not_opened(tmp_path, capsys, monkeypatch):
    from tagfill import trust

    monkeypatch.setattr(trust, "_everything", False)
    mark, path = tmp_path / "ran", tmp_path / "model.pt2"
    export_model(feature_bundle(), path, to="torch")
    assert open_engine(path).name == "torch.export", "written here"
    np.save(tmp_path / "f.npy", np.zeros((2, 5), dtype=np.float32))
    poison(path, mark)
    words = ["predict", str(path), str(tmp_path / "f.npy")]
    assert main(words) == 2
    assert "--trust-code" in capsys.readouterr().err
    assert not mark.exists()
    main([*words, "--trust-code"])
    assert mark.exists(), "the file would have run code"


def poison(path: Path, mark: Path) -> None:
    """Put code that makes a file into the pickle inside an archive."""
    import io
    import zipfile

    class Evil:
        def __reduce__(self):
            return Path.touch, (mark,)

    buffer = io.BytesIO()
    torch.save(Evil(), buffer)
    old = path.read_bytes()
    with zipfile.ZipFile(io.BytesIO(old)) as source, zipfile.ZipFile(path, "w") as target:
        for entry in source.infolist():
            content = source.read(entry)
            if "sample_inputs" in entry.filename and entry.filename.endswith(".pt"):
                content = buffer.getvalue()
            target.writestr(entry, content)


def test_an_onnxscript_that_does_not_fit_torch_is_done_without(photos, tmp_path, monkeypatch):
    export = torch.onnx.export

    def failing(*arguments, dynamo, **settings):
        if dynamo:
            raise AttributeError("'tuple' object has no attribute 'dtype'")
        return export(*arguments, dynamo=dynamo, **settings)

    monkeypatch.setattr(torch.onnx, "export", failing)
    bundle = image_bundle(calibration=STEPS)
    export_model(bundle, tmp_path / "model.onnx")
    paths = sorted(photos.glob("*.*"))
    for size in (1, 4):
        predictions = open_engine(tmp_path / "model.onnx").predict(paths[:size], batch_size=size)
        found = [prediction.probabilities for prediction in predictions]
        np.testing.assert_allclose(found, by_hand(bundle, paths[:size]), atol=1e-4)


def test_a_model_that_no_exporter_can_write_is_one_sentence(tmp_path, monkeypatch):
    def failing(*arguments, **settings):
        raise RuntimeError("an operator is missing\nand much more")

    monkeypatch.setattr(torch.onnx, "export", failing)
    with pytest.raises(TagfillError, match=r"cannot be written as ONNX: an operator is missing"):
        export_model(image_bundle(), tmp_path / "model.onnx")
    assert not (tmp_path / "model.onnx").exists()
