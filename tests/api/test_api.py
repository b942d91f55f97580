"""tagfill from Python: labels in memory in, one object out that does everything."""

from __future__ import annotations

import dataclasses
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest
from tests.train.given import write_given_features

import tagfill
from tagfill.api.functions import Settings
from tagfill.errors import LabelError
from tagfill.train import data as training_data
from tagfill.train import trained
from tagfill.train.config import DataConfig, ModelConfig, RunConfig, StageConfig

CLASSES = tuple("abcde")
QUICK: dict[str, Any] = {"epochs": 4, "learning_rate": 0.02, "threads": 1}
pytestmark = pytest.mark.usefixtures("quick_choices")


def toy(rows: int = 160) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    rng = np.random.default_rng(0)
    truth = (rng.random((rows, len(CLASSES))) < 0.3).astype(np.int8)
    truth[np.arange(rows), rng.integers(len(CLASSES), size=rows)] = 1
    features = (2.0 * truth - 1) @ rng.normal(size=(len(CLASSES), 12))
    observed = np.where(rng.random(truth.shape) < 0.5, truth, -1)
    return features.astype(np.float32) + rng.normal(size=features.shape), observed


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tagfill.Run:
    features, labels = toy()
    out = tmp_path_factory.mktemp("runs") / "toy"
    return tagfill.fit(labels, features=features, classes=CLASSES, out=out, **QUICK)


def test_arrays_become_a_run_that_can_be_opened_again(run: tagfill.Run) -> None:
    again = tagfill.open_run(run.path)
    assert again.classes == CLASSES
    assert again.metrics["val"] == run.metrics["val"]
    assert np.array_equal(again.data.val.table.values, run.data.val.table.values)
    assert again.evaluate().mAP == pytest.approx(run.metrics["val"]["mAP"], abs=1e-9)


def test_scores_are_kept_and_a_change_is_noticed(
    run: tagfill.Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = run.scores("val")
    with monkeypatch.context() as patch:
        patch.setattr(trained, "compute_scores", lambda *_: pytest.fail("scored again"))
        assert np.array_equal(tagfill.open_run(run.path).scores("val"), expected)
    file = run.folder.scores("val")
    content = bytearray(file.read_bytes())
    content[-3] ^= 64
    file.write_bytes(bytes(content))
    assert np.array_equal(tagfill.open_run(run.path).scores("val"), expected), "computed again"


def test_one_run_reads_its_labels_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = write_given_features(tmp_path / "data")
    read: list[Any] = []
    plain = training_data.load_labels
    monkeypatch.setattr(
        training_data,
        "load_labels",
        lambda *args, **kwargs: read.append(args) or plain(*args, **kwargs),
    )
    run = tagfill.fit(data, out=tmp_path / "run", **QUICK)
    run.report()
    run.recover()
    assert len(read) == 1


def test_recover_gives_a_table(run: tagfill.Run, tmp_path: Path) -> None:
    missing = run.recover(budget=7)
    assert len(missing) == 7
    assert set(missing.columns) >= {"image", "tag", "probability"}
    table = run.recovery.table  # training and held-out images
    for row in missing:
        column = table.classes.index(row["tag"])
        assert table.values[table.row_of[row["image"]], column] == tagfill.UNKNOWN
    assert missing.to_arrow().num_rows == 7
    assert missing.save(tmp_path / "a.csv").read_text().count("\n") == 8
    assert "7 rows" in repr(missing)
    assert missing._repr_html_().count("<tr>") == 8


def test_verbs_are_functions_however_they_were_imported(run: tagfill.Run) -> None:
    import tagfill.predict.stream
    from tagfill.recover.choose import Amount

    assert Amount(top=1).top == 1
    assert len(tagfill.recover(run.path, budget=3)) == 3
    features, _ = toy()
    ours = run.model.predict(features[:2])
    assert [prediction.tags for prediction in tagfill.predict(run, features[:2])] == [
        prediction.tags for prediction in ours
    ]
    assert tagfill.report(run, run.path / "page.html").is_file()
    for name in ("explain", "export"):
        assert callable(getattr(tagfill, name))


def test_dir_is_complete() -> None:
    assert set(tagfill.__all__) <= set(dir(tagfill))
    for name in dir(tagfill):
        assert getattr(tagfill, name) is not None


def test_settings_are_those_of_the_configuration() -> None:
    known = {
        field.name
        for kind in (DataConfig, ModelConfig, StageConfig, RunConfig)
        for field in dataclasses.fields(kind)
    }
    own_arguments = {"labels", "images", "features", "truth", "val", "test", "method"}
    internal = {"data", "model", "stages", "inputs"}
    staged = {f"{stage}_{name}" for stage in ("linear", "second") for name in known}
    settings = set(get_type_hints(Settings))
    assert known - own_arguments - internal <= settings
    assert settings <= known | staged
    documented = (tagfill.fit.__doc__ or "").partition("settings: all other")[2]
    listed = set(re.findall(r"[a-z0-9_]+(?=[,.;])", documented))
    assert settings <= listed


@pytest.mark.parametrize("kind", ["table", "dataset"])
def test_tables_train_like_the_file_they_came_from(kind: str, tmp_path: Path) -> None:
    features, labels = toy(80)
    table = tagfill.LabelTable(tuple(f"i{n}" for n in range(80)), CLASSES, labels)
    given = table if kind == "table" else tagfill.Dataset(table, tmp_path, "csv_wide")
    run = tagfill.fit(given, features=features, out=tmp_path / "run", **QUICK)
    assert run.data.train.table.classes == CLASSES
    assert len(run.data.train) + len(run.data.val or ()) == 80


class Frame:
    """As much of a data frame as is looked at."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self.columns, self._columns = list(columns), columns
        self.index = range(len(next(iter(columns.values()))))

    def __getitem__(self, name: str) -> list[Any]:
        return self._columns[name]

    def drop(self, columns: list[str]) -> Frame:
        return Frame({k: v for k, v in self._columns.items() if k not in columns})

    def to_numpy(self) -> np.ndarray[Any, Any]:
        return np.array(list(self._columns.values()), dtype=object).T


def test_a_data_frame_has_images_and_missing_values() -> None:
    from tagfill.api.given import as_dataset

    frame = Frame({"File": ["a.jpg", "b.jpg"], "cat": [1, None], "dog": [float("nan"), 0]})
    table = as_dataset(frame).table  # type: ignore[arg-type]
    assert table.images == ("a.jpg", "b.jpg")
    assert table.classes == ("cat", "dog")
    assert table.values.tolist() == [[1, -1], [-1, 0]]
    with pytest.raises(tagfill.TagfillError, match="1, 0, -1 or missing"):
        as_dataset(Frame({"cat": ["yes", "no"]}))  # type: ignore[arg-type]


def test_a_data_frame_of_tag_lists_is_read_like_a_table() -> None:
    from tagfill.api.given import as_dataset

    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"photo": ["a.jpg", "b.jpg"], "tags": ["sea; boat", "Sea"]})
    table = as_dataset(frame).table
    assert table.images == ("a.jpg", "b.jpg")
    assert sorted(name.lower() for name in table.classes) == ["boat", "sea"]
    assert table.positives == 3
    with pytest.raises(tagfill.TagfillError, match="the data frame"):
        as_dataset(pandas.DataFrame({"photo": ["a.jpg", "a.jpg"], "cat": ["1", "often"]}))


def test_runs_side_by_side(run: tagfill.Run, tmp_path: Path) -> None:
    table = tagfill.compare([run, run.path], out=tmp_path / "comparison.html")
    assert [row["run"] for row in table] == [run.name] * 2
    assert table.column("mAP") == [run.metrics["val"]["mAP"]] * 2
    assert table._repr_html_().count("<rect") == 6
    assert "comparison: 2 rows" in repr(table)
    assert (tmp_path / "comparison.html").is_file()
    assert table.columns == ("run", "method", "images", "mAP", "overall F1", "class F1")
    with pytest.raises(tagfill.TagfillError, match="no runs to compare"):
        tagfill.compare()


def test_the_data_of_a_run_is_described_in_short(run: tagfill.Run) -> None:
    assert len(repr(run.data.val)) < 120
    assert len(repr(run.data)) < 1000


def test_runs_of_positives_are_compared_by_estimates(tmp_path: Path) -> None:
    features, labels = toy()
    positives = np.where(labels == 1, labels, -1)
    fitted = tagfill.fit(
        positives, features=features, classes=CLASSES, out=tmp_path / "run", **QUICK
    )
    row = tagfill.compare(fitted)[0]
    estimated = fitted.metrics["val"]["estimated"]
    assert row["estimated mAP"] == estimated["mAP"]
    assert row["estimated precision"] == pytest.approx(100 * estimated["overall_precision"])
    assert None not in row.values()
    assert "mAP" not in row


def test_short_descriptions_of_results(run: tagfill.Run) -> None:
    assert "probabilities" not in repr(run.predict(np.zeros((1, 12)))[0])
    assert repr(run.evaluate()).startswith("Metrics(")
    assert len(repr(run.evaluate())) < 100


def test_errors_speak_of_arguments(tmp_path: Path) -> None:
    features, labels = toy(20)
    with pytest.raises(tagfill.TagfillError, match="use `mode` linear") as caught:
        tagfill.fit(labels, features=features, mode="finetune", out=tmp_path / "a")
    assert "--" not in str(caught.value)
    with pytest.raises(tagfill.TagfillError, match=r"\[20, D\]"):
        tagfill.fit(labels, features=features[:3], out=tmp_path / "b")
    run = tagfill.fit(labels, features=features, out=tmp_path / "c", epochs=1)
    run.folder.metrics.unlink()
    with pytest.raises(tagfill.TagfillError, match=r"tagfill\.resume\('") as caught:
        tagfill.open_run(run.path).metrics  # noqa: B018
    assert "--" not in str(caught.value)
    with pytest.raises(tagfill.TagfillError, match=r"tagfill\.resume\('"):
        tagfill.write_report(run.path)


def test_errors_of_label_files_speak_of_arguments(tmp_path: Path) -> None:
    file = tmp_path / "labels.csv"
    file.write_text("image,cat,dog\n1.jpg,meow,1\n2.jpg,5,0\n3.jpg,miaow,0\n")
    with pytest.raises(LabelError, match="`tags_columns` 'cat'") as caught:
        tagfill.load_labels(file)
    assert "--" not in str(caught.value)
    assert [problem.row for problem in caught.value.problems] == [2]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"epochs": "three"}, "epochs cannot be 'three' — it takes a whole number"),
        ({"precision": "fp64"}, 'precision cannot be .fp64. — it takes "no" or "fp16"'),
        ({"time_limit": "x"}, "time_limit cannot be 'x'"),
        ({"val_fraction": "x"}, "val_fraction cannot be 'x' — it takes a number"),
        ({"absent": "perhaps"}, "absent cannot be 'perhaps'"),
        ({"epochz": 3}, "unknown setting epochz — did you mean epochs"),
        ({"inputs": "images"}, "unknown setting inputs"),
        ({"data": "x"}, "unknown setting data"),
        ({"method_settings": {"alpah": 1}, "method": "em"}, "did you mean alpha"),
        ({"mode": "linearr"}, "unknown mode"),
        ({"image": "photos"}, "fit has no argument 'image' — did you mean images"),
    ],
)
def test_a_bad_argument_is_named(given: dict[str, Any], message: str, tmp_path: Path) -> None:
    features, labels = toy(20)
    with pytest.raises(tagfill.TagfillError, match=message):
        tagfill.fit(labels, features=features, out=tmp_path / "run", **given)
    assert not (tmp_path / "run").exists()


def test_labels_in_memory_need_images_or_features(tmp_path: Path) -> None:
    _, labels = toy(20)
    with pytest.raises(tagfill.TagfillError, match="give images, a folder or the file of each row"):
        tagfill.fit(labels, out=tmp_path / "run")
    with pytest.raises(tagfill.TagfillError, match="features needs labels in memory"):
        tagfill.fit("labels.csv", features=np.zeros((20, 3)), out=tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_export_checks_the_suffix(run: tagfill.Run, tmp_path: Path) -> None:
    with pytest.raises(tagfill.TagfillError, match=r"must end in \.onnx"):
        run.export(tmp_path / "model.txt")


def test_export_to_nowhere(run: tagfill.Run, tmp_path: Path) -> None:
    with pytest.raises(tagfill.TagfillError, match="use one of onnx, torch"):
        run.export(tmp_path / "model", to="tflite")  # type: ignore[arg-type]


def test_short_descriptions(run: tagfill.Run) -> None:
    assert repr(run).startswith("Run(")
    assert "val mAP" in repr(run)
    assert "<svg" in run._repr_html_()
    table = run.data.train.table
    assert repr(table).startswith(f"LabelTable({len(table)} images, 5 classes: ")
    assert table._repr_html_().count("<rect") == 3 * 5
    dataset = tagfill.Dataset(table, Path("x.csv"), "csv_wide", splits={"train": np.arange(3)})
    assert "train 3" in repr(dataset)
    assert "<svg" in dataset._repr_html_()


@pytest.mark.parametrize(
    ("content", "fault"),
    [
        (np.zeros((160, 0)), "not a matrix"),
        (np.zeros(160), "not a matrix"),
        (np.zeros((160, 2, 2)), "not a matrix"),
        (np.full((160, 3), "x"), "array of numbers"),
        (np.zeros((3, 4)), "3 rows of features for 160 images"),
        (np.full((160, 3), np.nan), "160 rows of features hold NaN, infinity"),
        (b"\x93NUMPY\x01", "not a readable .npy file"),
        (b"", "not a readable .npy file"),
    ],
)
def test_bad_feature_files_are_named(content: Any, fault: str, tmp_path: Path) -> None:
    _, labels = toy()
    file = tmp_path / "features.npy"
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        np.save(file, content)
    with pytest.raises(tagfill.TagfillError, match=fault) as caught:
        tagfill.fit(labels, features=str(file), out=tmp_path / "run")
    assert str(file) in str(caught.value)


def test_python_m_tagfill() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tagfill", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == tagfill.__version__


def test_a_truth_array_has_the_classes_and_rows_of_the_labels(tmp_path: Path) -> None:
    features, labels = toy(60)
    truth = np.where(labels < 0, 0, labels)
    run = tagfill.fit(
        labels, features=features, classes=CLASSES, truth=truth, out=tmp_path / "a", epochs=1
    )
    rows = [int(image.removeprefix("row-")) for image in run.data.train.table.images]
    assert np.array_equal(run.data.train.truth, truth[rows])
    with pytest.raises(tagfill.TagfillError, match="truth has 59 rows, labels have 60"):
        tagfill.fit(labels, features=features, truth=truth[:59], out=tmp_path / "b")
    table = tagfill.LabelTable(run.data.train.table.images, ("x", "y"), truth[rows, :2])
    with pytest.raises(tagfill.TagfillError, match="no class in common"):
        tagfill.fit(run.data.train.table, features=features[rows], truth=table, out=tmp_path / "c")


def test_arrays_with_a_list_of_image_files(tmp_path: Path) -> None:
    from tagfill.scenes import write_scenes

    dataset = write_scenes(tmp_path / "scenes", 14, 48, seed=1)
    files = [tmp_path / "scenes" / image for image in dataset.table.images]
    labels = dataset.table.values[:, :4]
    run = tagfill.fit(
        labels,
        images=files,
        classes=dataset.table.classes[:4],
        out=tmp_path / "run",
        epochs=1,
        input_size=48,
        workers=0,
        threads=1,
    )
    assert set(run.data.train.paths or ()) <= {file.resolve() for file in files}
    (prediction,) = run.predict(files[0], top=2)
    assert len(prediction.tags) == 2
    assert run.explain(files[0], top=2).size[0] > 300


def test_evaluate_uses_the_features_of_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tagfill.scenes import write_scenes
    from tagfill.train.cache import FeatureStore

    write_scenes(tmp_path / "scenes", 24, 64, seed=0)
    labels = tmp_path / "scenes" / "labels.csv"
    run = tagfill.fit(labels, out=tmp_path / "run", epochs=1, input_size=64, workers=0)
    monkeypatch.setattr(FeatureStore, "add", lambda *_: pytest.fail("extracted again"))
    again = tagfill.open_run(run.path).evaluate(labels, split="test")
    assert again.mAP == pytest.approx(run.evaluate(split="test").mAP, abs=1e-9)
