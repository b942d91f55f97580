"""Events of a run: as JSON lines, and on the terminal."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from tagfill.compat import optional
from tagfill.console import PlainConsole

_WHOLE = 1000
"""Steps of a percentage of several steps together."""


class Sink(Protocol):
    """Takes events as they happen."""

    def event(self, kind: str, metadata: Mapping[str, Any]) -> None:
        """Something happened."""

    def progress(self, done: int, total: int, label: str) -> None:
        """Work progressed; called often, so it must be fast. Ignored by default."""
        return

    def close(self) -> None:
        """The run is over; ignored by default."""
        return


class EventFile(Sink):
    """``events.jsonl``: one JSON object per line, flushed immediately, appended on resume."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a", encoding="utf-8")

    def event(self, kind: str, metadata: Mapping[str, Any]) -> None:
        self._file.write(
            json.dumps({"event": kind, "time": round(time.time(), 3), **metadata}) + "\n"
        )
        self._file.flush()

    def close(self) -> None:
        self._file.close()


class Terminal(Sink):
    """A live bar on a terminal, plain lines elsewhere."""

    refresh_seconds = 0.2
    plain_seconds = 30.0

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar: Progress | None = None
        self._task: TaskID | None = None
        self._shown = time.monotonic()
        self._pace = Pace()

    def event(self, kind: str, metadata: Mapping[str, Any]) -> None:
        if kind == "note":
            self._console.print(str(metadata["text"]))
        elif kind == "epoch":
            self._console.print(_epoch_line(metadata))

    def progress(self, done: int, total: int, label: str) -> None:
        """Move the bar, a few times a second at most; elsewhere, print a line at intervals."""
        live, now = is_live(self._console), time.monotonic()
        self._pace.at(done, total)
        if now - self._shown < (self.refresh_seconds if live else self.plain_seconds):
            return
        self._shown = now
        if live:
            self._move(done, total, label)
        else:
            self._console.print(f"{label}  {done / total:.0%}{self._pace.time_left}")

    def _move(self, done: int, total: int, label: str) -> None:
        if self._bar is None:
            self._bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                TextColumn("{task.percentage:>3.0f}%"),
                TimeRemainingColumn(),
                console=self._console,
                transient=True,
            )
            self._bar.start()
            self._task = self._bar.add_task(label, total=total)
        assert self._task is not None
        self._bar.update(self._task, completed=done, total=total, description=label)

    def close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def is_live(console: Console) -> bool:
    """Whether a bar can move: on a terminal, and in a notebook that has widgets."""
    return console.is_terminal or (console.is_jupyter and find_spec("ipywidgets") is not None)


def progress_sinks(wanted: bool | None = None) -> tuple[Sink, ...]:
    """Progress on stderr, in a notebook below the cell.

    Args:
        wanted: None shows it on a terminal and in a notebook.
    """
    console = PlainConsole(stderr=True)
    interactive = console.is_terminal or console.is_jupyter
    return (Terminal(console),) if wanted or (wanted is None and interactive) else ()


class Pace:
    """Speed and remaining time of a task."""

    def __init__(self) -> None:
        self._done = self._total = self._first = 0
        self._start = time.monotonic()

    def at(self, done: int, total: int) -> Pace:
        """Set the progress; going back restarts the count."""
        if done < self._done or total != self._total or not self._total:
            self._start, self._first = time.monotonic(), done
        self._done, self._total = done, total
        return self

    @property
    def per_second(self) -> float:
        return (self._done - self._first) / max(time.monotonic() - self._start, 1e-6)

    @property
    def time_left(self) -> str:
        """As text in seconds, minutes or hours; empty while unknown."""
        if self._done <= self._first:
            return ""
        seconds = (self._total - self._done) / self.per_second
        for unit, length in (("h", 3600), ("min", 60)):
            if seconds >= 2 * length:
                return f", {seconds / length:.0f} {unit} left"
        return f", {seconds:.0f} s left"


class TensorBoard(Sink):
    """Scalars of every epoch for TensorBoard; needs the ``tensorboard`` package."""

    def __init__(self, folder: Path) -> None:
        self._make: Any = optional("torch.utils.tensorboard", "tensorboard").SummaryWriter
        self._folder = folder
        self._writer: Any = None

    def event(self, kind: str, metadata: Mapping[str, Any]) -> None:
        """Write the numbers of an epoch; the folder appears with the first epoch."""
        if kind == "epoch":
            self._writer = self._writer or self._make(str(self._folder))
            numbers = {name: metadata.get(name) for name in ("loss", "score", "seconds")}
            numbers |= {f"loss/{name}": term for name, term in metadata.get("terms", {}).items()}
            for name, value in numbers.items():
                if value is not None:
                    self._writer.add_scalar(name, value, metadata["epoch"])

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()


class Events:
    """Passes every event to all sinks.

    Work in several steps has one percentage: within ``up_to(0.9)`` progress counts from where it
    is to 90 % of the whole.
    """

    def __init__(self, *sinks: Sink) -> None:
        self.sinks = sinks
        self._reached = 0.0
        self._span: tuple[float, float] | None = None

    def event(self, kind: str, **metadata: Any) -> None:
        for sink in self.sinks:
            sink.event(kind, metadata)

    def note(self, text: str) -> None:
        """A sentence for the user."""
        self.event("note", text=text)

    def progress(self, done: int, total: int, label: str) -> None:
        if self._span is not None:
            start, end = self._span
            self._reached = start + (end - start) * done / total
            done, total = round(_WHOLE * self._reached), _WHOLE
        for sink in self.sinks:
            sink.progress(done, total, label)

    @contextmanager
    def up_to(self, share: float) -> Iterator[None]:
        """Let progress count from where it is to a share of the whole; 1 ends it."""
        self._span = self._reached, share
        try:
            yield
        finally:
            self._span = None
            if share >= 1:
                self._reached = 0.0

    def __enter__(self) -> Events:
        return self

    def __exit__(self, *exception: object) -> None:
        self._reached = 0.0
        for sink in self.sinks:
            sink.close()


def _epoch_line(metadata: Mapping[str, Any]) -> str:
    stage = f"stage {metadata['stage']} " if metadata.get("stages", 1) > 1 else ""
    loss = f"  loss {metadata['loss']:.4f}" if metadata.get("terms", True) else ""
    steps = metadata.get("solved")
    if steps is None:
        done = f"epoch {metadata['epoch']}/{metadata['epochs']}"
    else:
        done = f"solved in {steps} steps" if steps else "solved in closed form"
    line = f"{stage}{done}{loss}"
    if metadata.get("score") is not None:
        line += (
            f"  {metadata['criterion']} {metadata['score']:.2f}{' *' if metadata['best'] else ''}"
        )
    return f"{line}  {metadata['seconds']:.1f} s"
