"""Jobs in blocks: parts and manifest, going on, the same rows as the plain command."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
import torch
from pyarrow import parquet
from tests.predict.tiny import CLASSES, image_bundle, pictures

from tagfill.cli.main import main
from tagfill.errors import TagfillError
from tagfill.jobs.folder import parts, run_job
from tagfill.jobs.ridge import ridge_head
from tagfill.jobs.work import PredictWork, feature_table
from tagfill.labels import LabelTable
from tagfill.linear.ridge import ridge

FILES = [f"/photos/{number:03}.jpg" for number in range(50)]


@dataclass(frozen=True)
class Counting:
    """Features of names alone; stops at a block, as an interruption would."""

    stop_at: str | None = None

    def about(self):
        return {"work": "counting"}

    def open(self):
        def do(files):
            if self.stop_at in files:
                raise KeyboardInterrupt
            rows = [np.array([int(file[-7:-4]), 1.0], np.float32) for file in files]
            return feature_table(files, rows, [None] * len(files))

        return do


def whole(folder) -> pa.Table:
    return pa.concat_tables([parquet.read_table(part) for part in parts(folder)])


def test_an_interrupted_job_goes_on_where_it_stopped(tmp_path):
    folder = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        run_job(Counting(FILES[25]), FILES, folder, block=10)
    with pytest.raises(TagfillError, match="no finished job"):
        parts(folder)
    done = run_job(Counting(), FILES, folder, block=10)
    assert (done.reused, done.images, done.failed) == (20, 50, 0)
    assert whole(folder).column("image").to_pylist() == FILES
    assert run_job(Counting(FILES[0]), FILES, folder, block=10).reused == 50


def test_another_job_is_not_overwritten(tmp_path):
    run_job(Counting(), FILES, tmp_path / "out")
    with pytest.raises(TagfillError, match="another job"):
        run_job(Counting(), FILES[:9], tmp_path / "out")
    assert run_job(Counting(), FILES[:9], tmp_path / "out", force=True).images == 9
    assert len(whole(tmp_path / "out")) == 9
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "diary.txt").write_text("mine")
    with pytest.raises(TagfillError, match="not empty"):
        run_job(Counting(), FILES, tmp_path / "full", force=True)


def test_a_job_of_tags_has_the_rows_that_predict_writes(tmp_path):
    model = str(image_bundle().save(tmp_path / "run" / "model").parent)
    pictures(tmp_path / "photos")
    (tmp_path / "photos" / "c.png").write_text("no image")
    files = sorted(str(path) for path in (tmp_path / "photos").rglob("*.*"))
    job = run_job(PredictWork(model), files, tmp_path / "job", block=2)
    out = tmp_path / "tags.parquet"
    assert main(["predict", model, *files, "--out", str(out), "--quiet"]) == 1
    table = whole(tmp_path / "job")
    bad = [row for row in table.to_pylist() if row["error"]]
    assert job.failed == len(bad) == 1
    assert bad[0]["image"].endswith("c.png")
    good = [row for row in table.drop_columns("error").to_pylist() if row["tags"] is not None]
    for row, expected in zip(good, parquet.read_table(out).to_pylist(), strict=True):
        assert (row["image"], row["tags"]) == (expected["image"], expected["tags"])
        assert [row[name] for name in CLASSES] == pytest.approx(
            [expected[name] for name in CLASSES]
        )


@pytest.mark.parametrize("option", ["workers", "actors", "input-size", "block"])
@pytest.mark.parametrize("value", ["-1", "0"])
def test_impossible_numbers_are_refused(option, value, tmp_path, capsys):
    pictures(tmp_path / "photos", 1)
    words = ["features", str(tmp_path / "photos"), "--out", str(tmp_path / "out")]
    assert main([*words, f"--{option}", value]) == 2
    assert value in capsys.readouterr().err


def test_features_from_the_command_line(tmp_path, capsys):
    pictures(tmp_path / "photos")
    words = ["features", str(tmp_path / "photos"), "--out", str(tmp_path / "out"), "--json"]
    assert main(words) == 0
    assert json.loads(capsys.readouterr().out)["images"] == 5
    widths = {len(row) for row in whole(tmp_path / "out").column("features").to_pylist()}
    assert widths == {1280}


def feature_job(folder, count: int = 300, width: int = 12):
    """A job's folder with random features, and labels of most of its images."""
    generator = np.random.default_rng(0)
    features = generator.normal(size=(count, width)).astype(np.float16)
    files = [f"/photos/a/{number}.jpg" for number in range(count)]

    @dataclass(frozen=True)
    class Given:
        def about(self):
            return {}

        def open(self):
            def do(block):
                rows = [features[files.index(file)].astype(np.float32) for file in block]
                return feature_table(block, rows, [None] * len(block))

            return do

    run_job(Given(), files, folder, block=40)
    labels = generator.integers(-1, 2, (count - 20, 3)).astype(np.int8)
    names = tuple(f"a/{number}.jpg" for number in range(count - 20))
    return features[: count - 20], LabelTable(names, ("x", "y", "z"), labels)


@pytest.mark.parametrize("strength", [0.1, None])
def test_sums_over_blocks_give_the_head_of_all_at_once(tmp_path, strength):
    features, labels = feature_job(tmp_path / "out")
    head = ridge_head(tmp_path / "out", labels, strength=strength, together=3)
    rows = torch.from_numpy(features), torch.from_numpy(labels.values == 1)
    family, chosen = ridge(lambda: [rows], strength)
    for one, other in zip(head, family.head(chosen), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-6)
