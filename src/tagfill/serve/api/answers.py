"""Schemas of what is told about photos, tags, runs and trainings."""

from __future__ import annotations

from typing import Literal

from pydantic import JsonValue

from tagfill.serve.api.schema import Model, example

_PHOTO = {
    "photo": 0,
    "name": "harbor.jpg",
    "split": "train",
    "yes": ["sky"],
    "probability": 0.96,
    "complete": False,
}


class FoundPhoto(Model, json_schema_extra=example(**_PHOTO)):
    """A photo of a list, with the probability of the tag that was asked for."""

    photo: int
    name: str
    split: str
    yes: list[str]
    probability: float | None
    complete: bool


class FoundPhotos(Model, json_schema_extra=example(total=1, page=0, size=60, photos=[_PHOTO])):
    """A page of photos, and how many there are in all."""

    total: int
    page: int
    size: int
    photos: list[FoundPhoto]


class TagCounts(
    Model,
    json_schema_extra=example(
        tag="boat", yes=147, no=422, unknown=1431, suggested=105, learned=True
    ),
):
    """Photos that have a tag, lack it, may have it; and whether the model has learned it."""

    tag: str
    yes: int
    no: int
    unknown: int
    suggested: int
    learned: bool


class Together(
    Model, json_schema_extra=example(tags=["boat", "sky"], counts=[[147, 90], [90, 300]])
):
    """Frequent tags, and for each pair the photos with both."""

    tags: list[str]
    counts: list[list[int]]


class Suspect(
    Model, json_schema_extra=example(photo=0, name="harbor.jpg", tag="cat", probability=0.01)
):
    """A written tag that looks wrong."""

    photo: int
    name: str
    tag: str
    probability: float


class Measured(Model, json_schema_extra=example(photos=50, mAP=73.4, precision=0.81, recall=0.57)):
    """Metrics of the served model on photos labeled in full; mAP in percent."""

    photos: int
    mAP: float | None  # noqa: N815
    precision: float | None
    recall: float | None


class RunBrief(
    Model,
    json_schema_extra=example(
        name="auto-seed0",
        finished=True,
        method="likelihood",
        started="2026-05-02T10:00:00+00:00",
        mAP={"val": 73.7, "test": 73.4},
        served=True,
        problem=None,
    ),
):
    """A run and its mAP in percent; or why it cannot be read."""

    name: str
    finished: bool
    method: str | None
    started: str | None
    mAP: dict[str, float | None]  # noqa: N815
    served: bool
    problem: str | None = None


class ComparedRun(Model, json_schema_extra=example(name="auto-seed0", mAP=73.4, per_class=[92.2])):
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


class Curve(
    Model,
    json_schema_extra=example(
        run="auto-seed0", split="test", photos=500, tag=None, points=[[0.0, 1.0], [0.5, 0.86]]
    ),
):
    """Pairs of recall and precision, of one tag or of all together."""

    run: str
    split: str
    photos: int
    tag: str | None
    points: list[list[float]]


class Job(
    Model,
    extra="ignore",  # the paths and process numbers of the machine
    json_schema_extra=example(
        id="6f1c2ab90de3",
        at=1777716000.0,
        who="Anna",
        state="running",
        message=None,
        run="auto-seed0-review-1",
        base="auto-seed0",
        trained=False,
        progress={"step": 1, "steps": 3, "label": "training", "done": 0, "total": 0},
        seconds=12.5,
        usual=38.0,
    ),
):
    """A training: when and by whom it was started, how far it is, what it makes from what.

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
