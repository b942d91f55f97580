"""The same jobs on a Ray cluster of two workers, one of them killed on the way."""

from __future__ import annotations

import importlib.util
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from pyarrow import parquet
from tests.jobs.cluster import two_workers
from tests.jobs.test_jobs import feature_job
from tests.predict.tiny import image_bundle, pictures

import tagfill
from tagfill.cli.main import main
from tagfill.jobs.feature_cache import fill_features
from tagfill.jobs.folder import parts, run_job
from tagfill.jobs.ridge import ridge_head
from tagfill.jobs.work import FeatureWork, PredictWork, feature_table
from tagfill.models.bundle import load
from tagfill.recover.posterior import FILE
from tagfill.scenes import write_scenes
from tagfill.train.cache import content_hashes
from tagfill.train.config import DataConfig
from tagfill.train.extract import plain_extractor


@pytest.fixture(scope="module", autouse=True)
def cluster():
    if importlib.util.find_spec("ray") is None:
        pytest.skip("ray is not installed")
    with two_workers() as access, pytest.MonkeyPatch.context() as patch:
        for name, value in access.items():  # before ray is imported, which reads them once
            patch.setenv(name, value)
        yield
        importlib.import_module("ray").shutdown()


@pytest.mark.slow
def test_a_killed_worker_costs_nothing_and_the_parts_are_the_same(tmp_path):
    model = str(image_bundle().save(tmp_path / "run" / "model").parent)
    pictures(tmp_path / "photos")
    files = sorted(str(path) for path in (tmp_path / "photos").rglob("*.*"))
    mark = tmp_path / "killed"

    @dataclass(frozen=True)
    class Deadly(PredictWork):
        """The worker that gets the second block is killed, once."""

        def open(self):
            do = super().open()

            def tags_of(block):
                if block[0] == files[2] and not mark.exists():
                    mark.touch()
                    os.kill(os.getpid(), signal.SIGKILL)
                return do(block)

            return tags_of

    here = run_job(PredictWork(model), files, tmp_path / "here", block=2)
    there = run_job(Deadly(model), files, tmp_path / "there", block=2, engine="ray", actors=2)
    assert mark.exists()
    assert here.images == there.images == len(files)
    for one, other in zip(parts(here.folder), parts(there.folder), strict=True):
        assert parquet.read_table(one).equals(parquet.read_table(other))


@pytest.mark.slow
def test_features_and_recover_compute_what_the_local_engine_does(tmp_path, monkeypatch):
    """`features` writes the same parts; `recover` finds the same features in the cache."""
    model = image_bundle().save(tmp_path / "run" / "model")
    pictures(tmp_path / "photos")
    files = sorted(str(path) for path in (tmp_path / "photos").rglob("*.*"))
    work = FeatureWork(str(model))
    run_job(work, files, tmp_path / "here", block=2)
    run_job(work, files, tmp_path / "there", block=2, engine="ray", actors=1)
    for one, other in zip(parts(tmp_path / "here"), parts(tmp_path / "there"), strict=True):
        assert parquet.read_table(one).equals(parquet.read_table(other))

    ids = [os.path.relpath(file, tmp_path / "photos") for file in files]
    labels = tmp_path / "labels.csv"
    labels.write_text("image,cat,dog\n" + "".join(f"{name},1,0\n" for name in ids))
    data = DataConfig(labels=str(labels), images=str(tmp_path / "photos"), val_fraction=0.0)
    run = SimpleNamespace(
        config=SimpleNamespace(data=data),
        model=load(model),
        device=torch.device("cpu"),
        folder=SimpleNamespace(model=model),
    )
    features = {}
    for engine in ("local", "ray"):
        monkeypatch.setenv("TAGFILL_CACHE", str(tmp_path / engine))
        assert fill_features(run, engine, actors=1, block=3) == len(files)
        assert fill_features(run, "local") == 0
        store = plain_extractor(run.model.network, run.device).store()
        features[engine] = store.rows(content_hashes([Path(file) for file in files]))[:]
    assert np.array_equal(features["local"], features["ray"])


@pytest.mark.slow
def test_the_sums_of_products_give_the_local_head(tmp_path):
    """Weights, biases and the strength with the least leave-one-out error, to 1e-6."""
    _, labels = feature_job(tmp_path / "out", count=120)
    here = ridge_head(tmp_path / "out", labels)
    there = ridge_head(tmp_path / "out", labels, engine="ray", actors=2, together=2)
    for one, other in zip(here, there, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-6)


@pytest.mark.slow
def test_a_stopped_job_goes_on_where_it_stopped(tmp_path):
    files = [f"/photos/{number:03}.jpg" for number in range(40)]
    done_parts = tmp_path / "out"

    @dataclass(frozen=True)
    class Noting:
        """Leaves a file for every image it works on."""

        notes: str

        def about(self):
            return {"work": "noting"}

        def open(self):
            def do(block):
                for file in block:
                    Path(self.notes, Path(file).name).touch()
                time.sleep(0.2)
                rows = [np.array([int(file[-7:-4])], np.float32) for file in block]
                return feature_table(block, rows, [None] * len(block))

            return do

    def noting(name: str) -> Noting:
        (tmp_path / name).mkdir()
        return Noting(str(tmp_path / name))

    def stop(done: int, total: int) -> None:
        if done >= 4:
            raise KeyboardInterrupt

    def job(name: str, **options):
        work = noting(name)
        return run_job(work, files, done_parts, engine="ray", block=2, actors=1, **options)

    def names_in(part: Path) -> list[str]:
        return parquet.read_table(part).column("image").to_pylist()

    with pytest.raises(KeyboardInterrupt):
        job("first", progress=stop)
    finished = {name for part in done_parts.glob("part-*") for name in names_in(part)}
    done = job("second")
    seen = {f"/photos/{path.name}" for path in (tmp_path / "second").iterdir()}
    assert done.reused == len(finished) == 4
    assert seen == set(files) - finished
    whole = [name for part in parts(done.folder) for name in names_in(part)]
    assert whole == files


@pytest.mark.slow
@pytest.mark.usefixtures("quick_choices")
def test_recover_on_the_cluster_from_the_command_line(tmp_path, monkeypatch):
    """The cluster computes the features, `recover` suggests what it does without one."""
    write_scenes(tmp_path / "drawn", 30, 64, seed=3)
    labels = tmp_path / "drawn" / "labels.csv"
    labels.write_text(labels.read_text().replace(",0", ","))  # what is not there is unknown
    network = {"backbone": "test_resnet", "input_size": 64, "pretrained": False}

    def nothing_here(*_, **__):
        raise AssertionError("computed by this process")

    run = tagfill.fit(tmp_path / "drawn", out=tmp_path / "run", **network)
    for engine in ("local", "ray"):
        monkeypatch.setenv("TAGFILL_CACHE", str(tmp_path / engine))
        if engine == "ray":
            monkeypatch.setattr("tagfill.train.extract.feature_engine", nothing_here)
        (run.path / FILE).unlink(missing_ok=True)
        words = ["recover", str(run.path), "--engine", engine, "--top", "2", "--quiet"]
        assert main([*words, "--out", str(tmp_path / f"{engine}.csv")]) == 0
    local, ray = (tmp_path / f"{engine}.csv" for engine in ("local", "ray"))
    assert ray.read_bytes() == local.read_bytes()
    assert len(local.read_text().splitlines()) > 30
