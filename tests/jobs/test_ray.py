"""The same jobs on a Ray cluster of two workers, one of them killed on the way."""

from __future__ import annotations

import importlib.util
import os
import signal
from dataclasses import dataclass

import pytest
import torch
from pyarrow import parquet
from tests.jobs.cluster import two_workers
from tests.jobs.test_jobs import feature_job
from tests.predict.tiny import image_bundle, pictures

from tagfill.cli.main import main
from tagfill.jobs.folder import parts, run_job
from tagfill.jobs.gram import ridge_head
from tagfill.jobs.work import PredictWork


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
