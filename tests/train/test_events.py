"""What a run tells: lines of JSON, a terminal, TensorBoard."""

from __future__ import annotations

import io
import json
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tagfill.train import events as sinks
from tagfill.train.events import EventFile, Events, Sink, TensorBoard, Terminal, progress_sinks

EPOCH = {
    "stage": 1,
    "stages": 1,
    "epoch": 2,
    "epochs": 5,
    "loss": 0.25,
    "terms": {"em": 0.25},
    "criterion": "mAP",
    "score": 81.5,
    "best": True,
    "seconds": 1.5,
}


def test_events_are_lines_of_json_appended_to(tmp_path: Path) -> None:
    for _ in range(2):
        with Events(EventFile(tmp_path / "run" / "events.jsonl")) as events:
            events.event("epoch", **EPOCH)
    lines = [json.loads(line) for line in (tmp_path / "run" / "events.jsonl").open()]
    assert [(line["event"], line["score"]) for line in lines] == [("epoch", 81.5)] * 2


def test_off_a_terminal_progress_is_plain_lines() -> None:
    screen = io.StringIO()
    with Events(Terminal(Console(file=screen))) as events:
        events.note("method: em")
        events.progress(1, 10, "epoch 1")
        events.event("epoch", **EPOCH)
    assert screen.getvalue() == "method: em\nepoch 2/5  loss 0.2500  mAP 81.50 *  1.5 s\n"


@pytest.mark.parametrize(
    ("solved", "words"), [(143, "solved in 143 steps"), (0, "solved in closed form")]
)
def test_a_head_found_at_once_has_no_epochs(solved: int, words: str) -> None:
    screen = io.StringIO()
    with Events(Terminal(Console(file=screen))) as events:
        events.event("epoch", **EPOCH, solved=solved)
    assert screen.getvalue() == f"{words}  loss 0.2500  mAP 81.50 *  1.5 s\n"


def test_off_a_terminal_long_work_shows_a_line_now_and_then() -> None:
    screen = io.StringIO()
    terminal = Terminal(Console(file=screen))
    terminal.plain_seconds = 0.0
    with Events(terminal) as events:
        events.progress(5, 20, "epoch 1  loss 0.3000")
        time.sleep(0.01)
        events.progress(10, 20, "epoch 1  loss 0.2900")
    assert screen.getvalue() == ("epoch 1  loss 0.3000  25%\nepoch 1  loss 0.2900  50%, 0 s left\n")


def test_on_a_terminal_a_bar_shows_how_far_it_is() -> None:
    screen = io.StringIO()
    terminal = Terminal(Console(file=screen, force_terminal=True, width=80))
    terminal.refresh_seconds = 0.0
    with Events(terminal) as events:
        events.progress(5, 10, "epoch 3")
        events.progress(10, 10, "epoch 3")
    assert "epoch 3" in screen.getvalue()
    assert "100%" in screen.getvalue()


class Shown(Sink):
    """Keeps what is shown."""

    def __init__(self) -> None:
        self.shares: list[float] = []
        self.labels: list[str] = []

    def event(self, kind: str, metadata: Mapping[str, Any]) -> None:
        pass

    def progress(self, done: int, total: int, label: str) -> None:
        self.shares.append(done / total)
        self.labels.append(label)


def test_steps_have_one_percentage() -> None:
    shown = Shown()
    events = Events(shown)
    for _ in range(2):  # the next whole starts at zero again
        with events.up_to(0.8):
            for done in (1, 4):
                events.progress(done, 4, "features")
        with events.up_to(1):
            for done in (1, 2):
                events.progress(done, 2, "heads")
    assert shown.shares == pytest.approx([0.2, 0.8, 0.9, 1.0] * 2)


def test_what_was_broken_off_starts_over() -> None:
    shown = Shown()
    events = Events(shown)
    with suppress(ValueError), events, events.up_to(0.8):
        events.progress(1, 2, "features")
        raise ValueError
    with events, events.up_to(1):
        events.progress(1, 2, "heads")
    assert shown.shares == pytest.approx([0.4, 0.5])


def test_a_step_without_work_leaves_its_share_to_the_next() -> None:
    shown = Shown()
    events = Events(shown)
    with events.up_to(0.8):
        pass
    with events.up_to(1):
        events.progress(1, 2, "heads")
    assert shown.shares == [0.5]


def test_tensorboard_gets_the_numbers_of_an_epoch(tmp_path: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    with Events(TensorBoard(tmp_path)) as events:
        events.event("epoch", **EPOCH)
    written = EventAccumulator(str(tmp_path))
    written.Reload()
    assert [point.value for point in written.Scalars("score")] == [81.5]
    assert written.Scalars("loss/em")[0].step == 2


def test_a_notebook_has_a_bar_where_it_has_widgets(monkeypatch: pytest.MonkeyPatch) -> None:
    notebook = Console(file=io.StringIO(), force_jupyter=True)
    for installed in (True, False):
        monkeypatch.setattr(sinks, "find_spec", lambda name, module=installed: module or None)
        assert sinks.is_live(notebook) is installed


def test_progress_is_shown_where_somebody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    assert progress_sinks() == ()
    assert len(progress_sinks(True)) == 1
    screen = Console(file=io.StringIO(), force_terminal=True)
    monkeypatch.setattr(sinks, "PlainConsole", lambda **_: screen)
    assert len(progress_sinks()) == 1
    assert progress_sinks(False) == ()
