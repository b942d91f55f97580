from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock
from tests.bench.small_recipe import recipe

import tagfill.bench.cells as cells_module
from tagfill.bench.cells import FAILURE, RESULT, find_cell, kept_scores, run_cell
from tagfill.bench.plan import Cell, plan
from tagfill.errors import TagfillError
from tagfill.evaluate import mean_average_precision
from tagfill.train.limits import Interrupted
from tagfill.train.run import resume

pytestmark = pytest.mark.usefixtures("quick_choices")

NOWHERE = Path("none")


def smoke(*changes: tuple[str, str], name: str = "mine") -> list[Cell]:
    made = recipe(*changes, name=name)
    return plan(made, made.sizes["smoke"])


def refuse(*_: object) -> None:
    raise AssertionError("trained twice")


def test_a_cell_is_a_run_with_its_scores(tmp_path: Path) -> None:
    outcome = run_cell(smoke()[0], NOWHERE, tmp_path)
    scores, labels = kept_scores(outcome.folder)
    assert outcome.metrics["mAP"]["test"] == mean_average_precision(scores, labels).mAP
    assert {"val", "test"} == set(outcome.metrics["OF1"])
    assert "train" in outcome.metrics["train_mAP"]
    kept = {path.name for path in outcome.folder.iterdir()}
    assert {"config.toml", "metrics.json", "events.jsonl", "scores.npz", RESULT} <= kept
    assert "checkpoints" not in kept
    assert resume(outcome.folder).metrics["test"]["mAP"] == outcome.metrics["mAP"]["test"]


def test_finished_cells_are_shared_by_recipes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = run_cell(smoke()[0], NOWHERE, tmp_path)
    monkeypatch.setattr(cells_module, "train", refuse)
    other = smoke(("[rows.an]", "[rows.base]"), ('"an"\n\n', '"base"\n\n'), name="other")[0]
    assert other.row == "base"
    again = run_cell(other, NOWHERE, tmp_path)
    assert again.metrics == first.metrics
    assert again.folder == first.folder


def test_a_cell_that_another_process_is_running_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = smoke()[0]
    theirs = run_cell(cell, NOWHERE, tmp_path / "theirs")
    monkeypatch.setattr(cells_module, "train", refuse)
    mine = tmp_path / "mine"
    with ThreadPoolExecutor() as pool:
        (mine / "locks").mkdir(parents=True)
        with FileLock(mine / "locks" / theirs.folder.name):
            waiting = pool.submit(run_cell, cell, NOWHERE, mine)
            with pytest.raises(TimeoutError):
                waiting.result(timeout=2)
            shutil.copytree(theirs.folder, mine / "cells" / theirs.folder.name)
        assert waiting.result(timeout=60).metrics == theirs.metrics


def test_other_settings_are_other_cells(tmp_path: Path) -> None:
    changed = smoke(("epochs = 1", "epochs = 2"))[0]
    assert find_cell(changed, NOWHERE, tmp_path) is None
    run_cell(smoke()[0], NOWHERE, tmp_path)
    assert find_cell(smoke()[0], NOWHERE, tmp_path) is not None
    assert find_cell(changed, NOWHERE, tmp_path) is None


def test_failures_are_kept_and_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cell = smoke()[0]

    def fail(config: object, data: object, folder: Path, sinks: object) -> None:
        folder.mkdir(parents=True)
        (folder / "config.toml").write_text("half a run")
        raise TagfillError("the loss is not finite")

    with monkeypatch.context() as patched:
        patched.setattr(cells_module, "train", fail)
        failed = run_cell(cell, NOWHERE, tmp_path)
    assert failed.error == "the loss is not finite"
    assert not failed.metrics
    told = json.loads((failed.folder / FAILURE).read_text())
    assert told["message"] == "the loss is not finite"
    stored = find_cell(cell, NOWHERE, tmp_path)
    assert stored is not None
    assert stored.error == failed.error
    again = run_cell(cell, NOWHERE, tmp_path)
    assert again.error is None
    assert not (again.folder / FAILURE).exists()


def test_bugs_in_one_cell_do_not_stop_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("out of memory")

    monkeypatch.setattr(cells_module, "train", fail)
    assert "out of memory" in str(run_cell(smoke()[0], NOWHERE, tmp_path).error)


class _Stop:
    """Asks to stop after the first epoch, as Ctrl-C would."""

    def event(self, kind: str, metadata: object) -> None:
        if kind == "epoch":
            raise Interrupted

    def progress(self, done: int, total: int, label: str) -> None:
        pass

    def close(self) -> None:
        pass


def test_interrupted_cells_go_on_to_the_same_end(tmp_path: Path) -> None:
    cell = smoke(("epochs = 1", "epochs = 3"))[0]
    whole = run_cell(cell, NOWHERE, tmp_path / "whole")
    with pytest.raises(Interrupted):
        run_cell(cell, NOWHERE, tmp_path / "broken", [_Stop()])
    assert find_cell(cell, NOWHERE, tmp_path / "broken") is None
    assert run_cell(cell, NOWHERE, tmp_path / "broken").metrics == whole.metrics


def test_precision_of_pseudo_labels_comes_from_the_last_epoch(tmp_path: Path) -> None:
    cell = smoke(('method = "em"', 'method = "em_apl"'), ("epochs = 1", "epochs = 3"))[4]
    outcome = run_cell(cell, NOWHERE, tmp_path)
    assert cell.method == "em_apl"
    assert 50 < outcome.metrics["pseudo_precision"]["train"] <= 100


def test_positives_found_are_those_of_the_last_epoch(tmp_path: Path) -> None:
    cell = smoke(('method = "em"', 'method = "role"'), ("epochs = 1", "epochs = 3"))[4]
    outcome = run_cell(cell, NOWHERE, tmp_path)
    logged = [json.loads(line) for line in (outcome.folder / "events.jsonl").open()]
    epochs = [event["pseudo_labels"] for event in logged if event["event"] == "epoch"]
    assert epochs[0] != epochs[-1]
    measured = {
        name: outcome.metrics[f"positive_{name}"]["train"] for name in ("precision", "recall")
    }
    last = epochs[-1]["positives"]
    assert measured == {name: pytest.approx(100 * last[name]) for name in measured}


def test_a_trained_model_can_be_evaluated(tmp_path: Path) -> None:
    trained = run_cell(smoke()[0], NOWHERE, tmp_path)
    given = trained.folder.relative_to(tmp_path) / "model"
    row = f'title = "AN"\nmodel = "{given}"'
    cell = smoke(('title = "AN"\nmethod = "an"', row))[0]
    evaluated = run_cell(cell, tmp_path, tmp_path)
    assert evaluated.error is None
    assert evaluated.metrics["mAP"]["test"] == pytest.approx(trained.metrics["mAP"]["test"])
    np.testing.assert_allclose(
        kept_scores(evaluated.folder)[0], kept_scores(trained.folder)[0], rtol=1e-5
    )


def test_a_missing_model_is_a_failure_with_a_message(tmp_path: Path) -> None:
    row = 'title = "AN"\nmodel = "released"'
    cell = smoke(('title = "AN"\nmethod = "an"', row))[0]
    assert "released" in str(run_cell(cell, tmp_path, tmp_path).error)
