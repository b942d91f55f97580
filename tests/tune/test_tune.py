"""Search on tiny features in the layout of the published single-positive code."""

from __future__ import annotations

import json
import shlex
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from tagfill import methods
from tagfill.cli.main import main
from tagfill.errors import TagfillError
from tagfill.methods._search import Range, search_space
from tagfill.train.config import DataConfig
from tagfill.train.resolve import Request
from tagfill.trust import trust
from tagfill.tune.objective import Objective
from tagfill.tune.space import GRIDS, at_point, space_of
from tagfill.tune.study import Search, best_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("quick_choices", "one_thread")]

FEATURES, CLASSES = 8, 4
FAST = ["--epochs", "2", "--quiet", "--json"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_folder(tmp_path / "data")


def make_folder(path: Path, flip_test: bool = False) -> Path:
    path.mkdir()
    draw = np.random.default_rng(0)
    directions = draw.normal(size=(FEATURES, CLASSES))
    for split, count in (("train", 80), ("val", 40)):
        features = draw.normal(size=(count, FEATURES)).astype(np.float32)
        logits = features @ directions
        labels = (logits > 1).astype(float)
        labels[np.arange(count), logits.argmax(1)] = 1
        observed = np.zeros_like(labels)
        observed[np.arange(count), logits.argmax(1)] = 1
        if split == "val" and flip_test:
            labels = 1 - labels
        np.save(path / f"formatted_{split}_labels.npy", labels)
        np.save(path / f"formatted_{split}_labels_obs.npy", observed)
        names = np.array([f"{split}{row}.jpg" for row in range(count)])
        np.save(path / f"formatted_{split}_images.npy", names)
        np.save(path / f"{split}_features_toy.npy", features)
    return path


def tune(capsys, folder: Path, out: Path, *options: str) -> dict:
    assert main(["tune", str(folder), "--out", str(out), *FAST, *options]) == 0
    return json.loads(capsys.readouterr().out)


def search(folder: Path, out: Path, storage: str | None = None, **overrides) -> Search:
    request = Request(DataConfig(str(folder)), method="em", overrides={"epochs": 2, **overrides})
    objective = Objective(request, out)
    return Search(objective, space_of(request, objective.config), out, storage)


def test_grid_has_the_scores_of_its_single_runs(capsys, folder, tmp_path):
    result = tune(capsys, folder, tmp_path / "out", "--method", "an", "--grid", "mlspl")
    points = [trial["settings"] for trial in result["trials"]]
    assert points == GRIDS["mlspl"].points()
    for number, trial in enumerate((result["best"], result["trials"][4])):
        words = ["--method", "an", "--epochs", "2", "--out", str(tmp_path / f"run{number}")]
        for name, value in trial["settings"].items():
            words += [f"--{name.replace('_', '-')}", str(value)]
        assert main(["train", str(folder), *words, "--quiet", "--no-report", "--json"]) == 0
        metrics = json.loads(capsys.readouterr().out)
        assert trial["score"] == pytest.approx(metrics["val"]["mAP"], abs=1e-6)
        assert trial["epoch"] == metrics["best_epoch"]


def test_grids_over_settings_of_a_method(capsys, folder, tmp_path):
    options = ["--method", "em", "--grid", "em_alpha", "--learning-rate", "0.05"]
    result = tune(capsys, folder, tmp_path / "out", *options)
    points = [trial["settings"] for trial in result["trials"]]
    assert points == GRIDS["em_alpha"].points()
    assert len({trial["score"] for trial in result["trials"]}) > 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--grid", "lac_queue", "--method", "em"], "em has no setting 'queue'"),
        (["--grid", "mlspl"], "likelihood solves a linear head directly and has no learning_rate"),
        (["--grid", "mlspl", "--batch-size", "8"], "batch_size is fixed, and the grid searches it"),
    ],
)
def test_a_grid_that_does_not_fit_is_an_error(options, message, capsys, folder, tmp_path):
    assert main(["tune", str(folder), "--out", str(tmp_path / "out"), *FAST, *options]) == 2
    assert message in capsys.readouterr().err


def test_grids_of_lac_are_about_its_settings():
    for name in ("lac", "lac_queue"):
        for point in GRIDS[name].points():
            settings = at_point(Request(DataConfig("labels.csv")), point).method_settings
            config = methods.configure("lac", settings)
            assert {key: getattr(config, key) for key in settings} == settings
            assert settings


def test_printed_command_trains_the_best_point(capsys, folder, tmp_path):
    result = tune(capsys, folder, tmp_path / "out", "--trials", "3", "--seed", "4")
    words = shlex.split(result["command"])
    assert words[:2] == ["tagfill", "train"]
    always = ["--no-report", "--quiet", "--json"]
    assert main([*words[1:], "--out", str(tmp_path / "run"), *always]) == 0
    metrics = json.loads(capsys.readouterr().out)
    assert metrics["best_score"] == pytest.approx(result["best"]["score"], abs=1e-6)
    assert result["best"]["score"] == max(trial["score"] for trial in result["trials"])


def test_table_and_picture(capsys, folder, tmp_path):
    result = tune(capsys, folder, tmp_path / "out", "--method", "em", "--trials", "2")
    lines = Path(result["table"]).read_text().splitlines()
    assert lines[0] == "trial,score,epoch,learning_rate,batch_size,method.alpha,error"
    assert len(lines) == 3
    assert Path(result["picture"]).read_bytes()[:4] == b"\x89PNG"


def test_people_see_a_table_and_a_command(capsys, folder, tmp_path):
    options = ["--out", str(tmp_path / "out"), "--trials", "2", "--epochs", "1", "--quiet"]
    assert main(["tune", str(folder), "--method", "em", *options]) == 0
    shown = capsys.readouterr().out
    assert "em: best of 2 trials" in shown
    assert f"tagfill train {folder}" in shown


def test_same_command_goes_on(capsys, folder, tmp_path):
    first = tune(capsys, folder, tmp_path / "out", "--trials", "3")["trials"]
    more = tune(capsys, folder, tmp_path / "out", "--trials", "5")["trials"]
    assert more[:3] == first
    assert [trial["trial"] for trial in more] == [0, 1, 2, 3, 4]
    assert len({json.dumps(trial["settings"]) for trial in more}) == 5


def test_interrupted_points_are_tried_again(folder, tmp_path, monkeypatch):
    asked = []

    def stop(self, point, name):
        asked.append(point)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Objective, "score", stop)
        with pytest.raises(KeyboardInterrupt):
            search(folder, tmp_path / "out").run(3)
    again = search(folder, tmp_path / "out")
    assert again.finished() == []
    assert [trial.point for trial in again.run(1)] == asked


def test_points_of_a_killed_process_are_tried_again(folder, tmp_path):
    killed = search(folder, tmp_path / "out")
    killed.study.ask()
    killed.study.enqueue_trial({"learning_rate": 0.5e-2})
    lost = killed.study.ask()
    lost.suggest_float("learning_rate", 1e-5, 1e-1, log=True)
    done = search(folder, tmp_path / "out").run(3)
    assert 0.5e-2 in [trial.point["learning_rate"] for trial in done]
    assert all(trial.score is not None for trial in done)


def test_a_damaged_study_is_told_before_training(folder, tmp_path):
    search(folder, tmp_path / "out").study.ask()
    with closing(sqlite3.connect(tmp_path / "out" / "study.sqlite3")) as database:
        database.execute("ALTER TABLE trials RENAME COLUMN state TO other")
    with pytest.raises(TagfillError, match="cannot open the study"):
        search(folder, tmp_path / "out")


def test_machines_share_a_database(folder, tmp_path):
    storage = f"sqlite:///{tmp_path / 'shared.sqlite3'}"
    here = search(folder, tmp_path / "here", storage)
    there = search(folder, tmp_path / "there", storage)
    here.run(2)
    assert len(there.finished()) == 2
    assert there.run(4)[:2] == here.finished()[:2]
    assert len(here.run(4)) == 4
    assert len({trial.point["learning_rate"] for trial in here.finished()}) == 4


def test_test_images_have_no_say(capsys, tmp_path):
    scores = [
        [
            trial["score"]
            for trial in tune(
                capsys,
                make_folder(tmp_path / name, flip_test=name == "b"),
                tmp_path / f"out_{name}",
                *("--method", "em", "--grid", "mlspl"),
            )["trials"]
        ]
        for name in "ab"
    ]
    assert scores[0] == scores[1]


def test_a_head_found_at_once_has_no_learning_rate_to_search(capsys, folder, tmp_path):
    result = tune(capsys, folder, tmp_path / "out", "--trials", "2")
    assert set(result["trials"][0]["settings"]) == {"method.strength", "method.smoothing"}
    assert len({trial["score"] for trial in result["trials"]}) > 1


def test_what_is_fixed_is_not_searched(capsys, folder, tmp_path):
    options = ["--method", "em", "--trials", "3", "--learning-rate", "0.01"]
    options += ["--method.alpha", "0.3"]
    result = tune(capsys, folder, tmp_path / "out", *options)
    assert {name for trial in result["trials"] for name in trial["settings"]} == {"batch_size"}
    assert "--learning-rate 0.01" in result["command"]
    assert "--method.alpha 0.3" in result["command"]
    request = Request(
        DataConfig("x"), method="an", overrides={"learning_rate": 1.0, "batch_size": 8}
    )
    config = Objective(at_point(Request(DataConfig(str(folder)), method="an"), {}), tmp_path).config
    with pytest.raises(TagfillError, match="nothing to search"):
        space_of(request, config)


def test_runs_of_their_own_score_as_heads_do(folder, tmp_path):
    points = [{"learning_rate": 0.01, "batch_size": 8}, {"learning_rate": 0.1, "batch_size": 16}]
    heads = search(folder, tmp_path / "a").objective
    runs = search(folder, tmp_path / "b").objective
    runs.__dict__["_trains_heads"] = False
    for number, point in enumerate(points):
        head, run = (objective.score(point, str(number)) for objective in (heads, runs))
        assert head.score is not None
        assert head == run
    assert (tmp_path / "b" / "trials" / "1" / "metrics.json").is_file()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--select", "last"], "needs validation images"),
        (["--method", "em_apl", "--epochs", "1"], "no trial has a score: em_apl cannot start"),
        (["--storage", "nonsense://host/x"], "cannot open the study"),
        (["--method", "no_such"], "unknown method"),
    ],
)
def test_mistakes_are_one_message(capsys, folder, tmp_path, options, message):
    code = main(
        ["tune", str(folder), "--out", str(tmp_path / "o"), "--trials", "1", "--quiet", *options]
    )
    assert code == 2
    assert message in capsys.readouterr().err


def test_other_labels_or_methods_do_not_mix(capsys, folder, tmp_path):
    tune(capsys, folder, tmp_path / "out", "--trials", "1")
    options = ["--out", str(tmp_path / "out"), "--trials", "2", "--quiet", "--method", "an"]
    assert main(["tune", str(folder), *options]) == 2
    assert "another method: likelihood, not an" in capsys.readouterr().err


def test_points_that_fail_are_named_and_passed_over(folder, tmp_path):
    done = search(folder, tmp_path / "out", learning_rate=1e-2)
    done.study.enqueue_trial({"method.alpha": 0.1, "batch_size": 8})
    done.objective.__dict__["_resolve"] = _refuse_once(done.objective)
    trials = done.run(3)
    assert trials[0].error == "no such luck"
    assert best_of(trials).number > 0


def _refuse_once(objective):
    left, resolve = [True], objective._resolve

    def refuse(point):
        if left and left.pop():
            raise TagfillError("no such luck")
        return resolve(point)

    return refuse


def test_ranges_are_around_the_defaults_and_within_bounds():
    assert search_space("em") == {"alpha": Range(0.04, 1.0)}
    assert search_space("em", "cub")["alpha"] == Range(0.002, 0.05)
    assert search_space("splc")["tau"] == Range(0.12, 1.0)
    assert search_space("an") == {}
    assert "eps" in search_space("an_ls")
    assert not search_space("em_apl")["theta"].log


def test_a_method_may_say_what_to_search(tmp_path):
    own = tmp_path / "mine.py"
    own.write_text(
        "from tagfill.methods.em import Config, INFO, build\n"
        "from tagfill.methods._search import Range\n"
        "SEARCH = {'alpha': (0.1, 0.2), 'eps': Range(1e-6, 1e-4)}\n"
    )
    trust(str(own))
    assert search_space(str(own)) == {"alpha": (0.1, 0.2), "eps": Range(1e-6, 1e-4)}
