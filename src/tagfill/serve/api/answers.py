"""Schemas of responses about photos, tags, runs and jobs."""

from __future__ import annotations

from typing import Literal

from pydantic import JsonValue

from tagfill.serve.api.schema import Model


class FoundPhoto(Model):
    """A photo of a list, with the probability of the tag that was asked for."""

    photo: int
    name: str
    split: str
    yes: list[str]
    probability: float | None
    complete: bool


class FoundPhotos(Model):
    """A page of photos, and how many there are in all."""

    total: int
    page: int
    size: int
    photos: list[FoundPhoto]


class TagCounts(Model):
    """Photos that have a tag, lack it, may have it; and whether the model has learned it."""

    tag: str
    yes: int
    no: int
    unknown: int
    suggested: int
    learned: bool


class Together(Model):
    """Frequent tags, and for each pair the photos with both."""

    tags: list[str]
    counts: list[list[int]]


class Suspect(Model):
    """A written tag that looks wrong."""

    photo: int
    name: str
    tag: str
    probability: float


class Measured(Model):
    """Metrics of the served model on photos labeled in full; mAP in percent."""

    photos: int
    mAP: float | None  # noqa: N815
    precision: float | None
    recall: float | None


class RunBrief(Model):
    """A run and its mAP in percent; or why it cannot be read."""

    name: str
    finished: bool
    method: str | None
    started: str | None
    mAP: dict[str, float | None]  # noqa: N815
    served: bool
    problem: str | None = None


class ComparedRun(Model):
    """Average precision of a run in percent: the mean, and that of every tag."""

    name: str
    mAP: float | None  # noqa: N815
    per_class: list[float | None]


class Compared(Model):
    """Runs on the same held-out photos."""

    split: str
    photos: int
    tags: list[str]
    runs: list[ComparedRun]


class Curve(Model):
    """Pairs of recall and precision, of one tag or of all together."""

    run: str
    split: str
    photos: int
    tag: str | None
    points: list[list[float]]


class Job(Model, extra="ignore"):
    """A training: who started it and when, its progress, the run it starts from and the new one.

    Args:
        trained: whether there is a run to look at.
        progress: the step, and what is counted in it.
        seconds: how long it has been running.
        usual: how long the last one took.
    """

    id: str
    at: float
    who: str
    state: Literal["running", "done", "failed", "canceled"]
    message: str | None
    run: str
    base: str
    trained: bool
    progress: dict[str, JsonValue] | None
    seconds: float | None
    usual: float | None
