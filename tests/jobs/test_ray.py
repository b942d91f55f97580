"""The same jobs on a Ray cluster of two workers, one of them killed on the way."""

from __future__ import annotations

import importlib.util
import os
import signal
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

from tagfill.cli.main import main
from tagfill.jobs.feature_cache import fill_features
from tagfill.jobs.folder import parts, run_job
from tagfill.jobs.ridge import ridge_head
from tagfill.jobs.work import FeatureWork, PredictWork
from tagfill.models.bundle import load
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
@pytest.mark.skipif("TAGFILL_TORTURE" not in os.environ, reason="run by make torture")
def test_the_command_line_and_the_sums_of_products(tmp_path):
    _, labels = feature_job(tmp_path / "out")
    here = ridge_head(tmp_path / "out", labels)
    there = ridge_head(tmp_path / "out", labels, engine="ray", actors=2, together=3)
    for one, other in zip(here, there, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-6)
    model = str(image_bundle().save(tmp_path / "run" / "model").parent)
    pictures(tmp_path / "photos")
    words = ["predict", model, str(tmp_path / "photos"), "--engine", "ray", "--quiet"]
    assert main([*words, "--out", str(tmp_path / "tags")]) == 0
    assert sum(len(parquet.read_table(part)) for part in parts(tmp_path / "tags")) == 5
