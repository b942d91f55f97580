"""Run folders from strangers: any record may hold anything, and no command may stumble over it."""

from __future__ import annotations

import copy
import json
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import tomli_w
import torch
from tests.torture.story import ROUNDS
from tests.train.given import write_given_features

import tagfill
from tagfill.errors import TagfillError
from tagfill.files import MOST_TEXT
from tagfill.recover.posterior import FILE
from tagfill.report import headline
from tagfill.report.page import write_report
from tagfill.settings import load_toml, misfit
from tagfill.train.folder import RunFolder, RunMetrics
from tagfill.train.run import resume
from tagfill.train.save import load_checkpoint, save_checkpoint

pytestmark = pytest.mark.usefixtures("quick_choices")

STRANGE: tuple[Any, ...] = (None, "\x1b[31m<b>", -1, 1e308, float("nan"), 10**30, True)
STRANGE += ([], {}, [[1]], {"a": {"b": 1}})
TRIES = 8 * ROUNDS
DELETED = object()


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Paths of all entries of a document; of a list, of its first."""
    inside = value.items() if isinstance(value, dict) else list(enumerate(value))[:1]
    for key, entry in inside:
        yield *path, key
        if isinstance(entry, dict | list):
            yield from places(entry, (*path, key))


def changed(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    document = copy.deepcopy(document)
    table = document
    for key in path[:-1]:
        table = table[key]
    if value is DELETED:
        del table[path[-1]]
    else:
        table[path[-1]] = value
    return document


def tampered(document: Any, tries: int = TRIES) -> Iterator[Any]:
    """The document with one entry gone or replaced, as often as asked."""
    chance = random.Random(ROUNDS)
    paths = list(places(document))
    for _ in range(tries):
        yield changed(document, chance.choice(paths), chance.choice((DELETED, *STRANGE)))


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    data = write_given_features(folder / "given", train=60, test=20)
    return tagfill.fit(data, out=folder / "run", method="an", epochs=2, threads=1).path


@pytest.fixture
def run(original: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    monkeypatch.setattr(headline, "RESAMPLES", 2)
    monkeypatch.setattr(headline, "FEWEST", 2)
    return RunFolder(Path(shutil.copytree(original, tmp_path / "run")))


def looked_at(run: RunFolder) -> bool:
    """Open the run in every way; whether a report could be written."""
    try:
        opened = tagfill.open_run(run.path)
        repr(opened)
        opened._repr_html_()
        write_report(run.path, images=0)
    except TagfillError:
        return False
    return True


def test_strange_metrics(run: RunFolder) -> None:
    metrics = json.loads(run.metrics.read_text())
    assert looked_at(run)
    gone = [changed(metrics, (key,), DELETED) for key in metrics]
    for strange in (*gone, *tampered(metrics)):
        run.metrics.write_text(json.dumps(strange))
        looked_at(run)
    shutil.move(run.model / "model.safetensors", run.path / "elsewhere")  # metrics are all there is
    for strange in tampered(metrics):
        run.metrics.write_text(json.dumps(strange))
        looked_at(run)


def test_what_is_wrong_is_named(run: RunFolder) -> None:
    metrics = json.loads(run.metrics.read_text())
    assert misfit(RunMetrics, metrics) is None
    metrics["test"]["per_class"][1]["positives"] = "many"
    assert misfit(RunMetrics, metrics) == "test.per_class.1.positives"
    del metrics["test"], metrics["regime"]
    assert misfit(RunMetrics, metrics) == "regime"


def test_strange_events(run: RunFolder) -> None:
    events = [json.loads(line) for line in run.events.read_text().splitlines()]
    for kind in ("note", "epoch"):
        event = next(event for event in events if event["event"] == kind)
        for strange in tampered(event):
            run.events.write_text("\n".join(json.dumps(line) for line in (*events, strange)))
            assert looked_at(run)


def test_strange_settings(run: RunFolder) -> None:
    document = load_toml(run.config)
    for strange in tampered(document):
        run.config.write_text(tomli_w.dumps(_without_none(strange)))
        looked_at(run)
    for text in ("a = " + "[" * 5000, f"seed = {'9' * 5000}", "\ufeff", "a\x00"):
        run.config.write_text(text)
        assert not looked_at(run)


def _without_none(value: Any) -> Any:
    """TOML has no null, neither in tables nor in lists."""
    if isinstance(value, dict):
        return {key: _without_none(one) for key, one in value.items() if one is not None}
    if isinstance(value, list):
        return [_without_none(one) for one in value if one is not None]
    return value


def test_strange_model(run: RunFolder) -> None:
    file = run.model / "model.json"
    document = json.loads(file.read_text())
    for strange in tampered(document, 2 * TRIES):
        file.write_text(json.dumps(strange))
        looked_at(run)


@pytest.mark.parametrize(
    "name", ["config.toml", "metrics.json", "events.jsonl", "model/model.json"]
)
def test_records_too_large_for_the_memory_are_refused(run: RunFolder, name: str) -> None:
    os.truncate(run.path / name, MOST_TEXT + 1)  # a hole: nothing is on the disk
    with pytest.raises(TagfillError, match="has 256,000,001 bytes, too many"):
        write_report(run.path, images=0)


def test_half_characters_in_class_names_are_refused(run: RunFolder) -> None:
    file = run.model / "model.json"
    described = json.loads(file.read_text())
    described["classes"][0] = "\ud800"
    file.write_text(json.dumps(described))
    with pytest.raises(TagfillError, match="half of a character"):
        tagfill.open_run(run.path).model  # noqa: B018


def test_strange_checkpoints(run: RunFolder) -> None:
    tensors, metadata = load_checkpoint(run.checkpoint)
    run.metrics.unlink()
    run.previous_checkpoint.unlink(missing_ok=True)
    for strange in tampered(metadata):
        save_checkpoint(run.checkpoint, tensors, strange)
        _resumed(run)
    for group, members in tensors.items():
        for name in members:
            for odd in (None, torch.zeros(1, 7)):
                rest = {key: tensor for key, tensor in members.items() if key != name}
                save_checkpoint(
                    run.checkpoint,
                    {**tensors, group: rest if odd is None else {**rest, name: odd}},
                    metadata,
                )
                _resumed(run)


def _resumed(run: RunFolder) -> None:
    try:
        resume(run.path)
    except TagfillError:
        pass
    finally:
        run.metrics.unlink(missing_ok=True)


def test_links_that_lead_out_of_a_run_are_not_followed_when_it_is_written_to(
    run: RunFolder, tmp_path: Path
) -> None:
    written = [run.metrics, run.events, run.checkpoint, run.previous_checkpoint, run.scores("test")]
    written += [run.config, run.path / ".lock", run.path / "report.html", run.path / FILE]
    for number, file in enumerate(written):
        content = file.read_bytes() if file.exists() else b"mine"
        file.unlink(missing_ok=True)
        (tmp_path / f"precious-{number}").write_bytes(content)
        file.symlink_to(tmp_path / f"precious-{number}")
    before = {file: file.read_bytes() for file in tmp_path.glob("precious-*")}
    tagfill.open_run(run.path).recover()
    write_report(run.path)
    run.metrics.unlink()
    resume(run.path)
    assert run.is_finished
    assert before == {file: file.read_bytes() for file in before}


@pytest.mark.timeout(120)
def test_pipes_in_a_run_are_not_waited_for(run: RunFolder) -> None:
    piped = [run.metrics, run.events, run.scores("test"), run.path / "report.html", run.path / FILE]
    for file in piped:
        file.unlink(missing_ok=True)
        os.mkfifo(file)
    resume(run.path)
    write_report(run.path)
    tagfill.open_run(run.path).recover()
    assert not any(file.is_fifo() for file in piped)
