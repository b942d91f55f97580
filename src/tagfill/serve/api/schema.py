"""Schemas of requests and responses."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue

from tagfill.labels import NEGATIVE, POSITIVE, UNKNOWN
from tagfill.serve.stopping import Rest

Answer = Literal["yes", "no", "unsure"]
VALUES: dict[str, int] = {"yes": POSITIVE, "no": NEGATIVE, "unsure": UNKNOWN}


def _plain(text: str) -> str:
    if not text.strip() or not text.isprintable():
        raise ValueError("must be printable text")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("must be valid Unicode") from None
    return text.strip()


def _number(value: object) -> object:
    if isinstance(value, bool | str):
        raise ValueError("must be a number")
    return value


Tag = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_plain)]
"""The name of a tag."""
Photo = Annotated[int, BeforeValidator(_number), Field(ge=0, le=2**31 - 1)]
"""The number of a photo."""
PersonName = Annotated[str, Field(min_length=1, max_length=80), AfterValidator(_plain)]


def example(**fields: Any) -> dict[str, JsonValue]:
    """An example of a schema, for its description."""
    return {"examples": [fields]}


class Model(BaseModel):
    """Refuses unknown fields."""

    model_config = ConfigDict(extra="forbid")


_SUGGESTED = {"tag": "boat", "probability": 0.96}


class Suggested(Model, json_schema_extra=example(**_SUGGESTED)):
    """A tag a photo may have."""

    tag: str
    probability: float | None


class Card(
    Model,
    json_schema_extra=example(
        photo=0,
        name="harbor.jpg",
        split="train",
        yes=["sky"],
        no=[],
        suggestions=[_SUGGESTED],
        complete=False,
    ),
):
    """A photo to review."""

    photo: int
    name: str
    split: str
    yes: list[str]
    no: list[str]
    suggestions: list[Suggested]
    complete: bool


class GridCard(Model, json_schema_extra=example(photo=0, name="harbor.jpg", probability=0.96)):
    """A photo that may have the tag of a page."""

    photo: int
    name: str
    probability: float | None


class NextRequest(Model, json_schema_extra=example(view="photo", count=3)):
    """The requested cards."""

    view: Literal["photo", "tag"] = "photo"
    tag: Tag | None = None
    count: Annotated[int, Field(ge=1, le=200)] = 3
    exclude: Annotated[list[Photo], Field(max_length=2000)] = []
    guided: bool = False


class NextCards(
    Model,
    json_schema_extra=example(
        photos=[], grid=[{"photo": 0, "name": "harbor.jpg", "probability": 0.96}]
    ),
):
    """Cards, the most useful first, leased to the user for a while."""

    photos: list[Card] = []
    grid: list[GridCard] = []


class ReleaseRequest(Model, json_schema_extra=example(photos=[0, 1])):
    """Cards to give back: of the view by tag, or without a tag, whole photos."""

    photos: Annotated[list[Photo], Field(max_length=2000)]
    tag: Tag | None = None


class Released(Model, json_schema_extra=example(released=2)):
    """How many cards were given back."""

    released: int


class Decided(Model):
    """An answer about one tag of one photo."""

    photo: Photo
    tag: Tag
    value: Answer


_DECIDED = {"photo": 0, "tag": "boat", "value": "yes"}


class DecisionsRequest(Model, json_schema_extra=example(view="photo", decisions=[_DECIDED])):
    """Answers of one action, which are undone together."""

    decisions: Annotated[list[Decided], Field(min_length=1, max_length=2000)]
    view: Literal["photo", "tag", "data", "suspects"] = "photo"


class CompleteRequest(Model, json_schema_extra=example(photo=0, yes=["boat"])):
    """A photo whose tags are all known now."""

    photo: Photo
    yes: Annotated[list[Tag], Field(max_length=1000)] = []


class TagRequest(Model, json_schema_extra=example(tag="boat")):
    """A tag."""

    tag: Tag


class RenameRequest(Model, json_schema_extra=example(tag="boat", to="vessel")):
    """A tag and its new name; if that exists, the two are merged."""

    tag: Tag
    to: Tag


class BulkRequest(Model, json_schema_extra=example(photos=[0, 1], tag="boat", value="yes")):
    """One tag for many photos."""

    photos: Annotated[list[Photo], Field(min_length=1, max_length=20_000)]
    tag: Tag
    value: Answer


class Saved(Model, json_schema_extra=example(batch="6f1c2ab90de34577", saved=1)):
    """What was saved."""

    batch: str
    saved: int


class Command(
    Model,
    json_schema_extra=example(command="tagfill apply review.db labels.csv --to xmp --in-place"),
):
    """A command of the command line."""

    command: str


class UndoRequest(Model, json_schema_extra=example(batch="6f1c2ab90de34577")):
    """The action to undo, by default the last one."""

    batch: Annotated[str, Field(max_length=32)] | None = None


class TagReview(Model):
    """Progress of the review of a tag.

    Args:
        suggested: the likeliest photos, as many as are expected to have the tag, answered or not.
        open: those not answered.
        left: all photos not answered, however unlikely.
        likeliest: the highest probability among them.
        yes, no: what people decided.
        written: photos that have the tag now.
        rest: what the answers say of the unanswered photos with 50 % or more.
        acceptable: whether the rest may be accepted unseen.
    """

    tag: str
    suggested: int
    open: int
    left: int
    likeliest: float
    yes: int
    no: int
    written: int
    rest: Rest
    acceptable: bool


class Totals(Model):
    """Progress over all tags.

    Args:
        photos, tags: how many there are.
        open: suggestions not answered.
        left: all entries not answered, however unlikely.
        expected: tags expected among them.
        decided, found: labels and tags known from people.
        complete: photos marked as complete.
        guided: photos of the guided start, and how many of them are complete.
        new_tags: tags that people added.
    """

    photos: int
    tags: int
    open: int
    left: int
    expected: float
    decided: int
    found: int
    complete: int
    guided: dict[str, int]
    new_tags: int


class Overview(Model):
    """The state of the review."""

    model: str
    totals: Totals
    tags: list[TagReview]


class Session(
    Model, json_schema_extra=example(name="Anna", csrf="0f3a…", read_only=False, model="auto-seed0")
):
    """The user's name, and the X-CSRF-Token that changes need."""

    name: str
    csrf: str | None
    read_only: bool
    model: str


class NameRequest(Model, json_schema_extra=example(name="Anna")):
    """A person's name."""

    name: PersonName


class Predicted(Model, json_schema_extra=example(name="harbor.jpg", tags=[_SUGGESTED], error=None)):
    """Tags of one image; or why it could not be read."""

    name: str
    tags: list[Suggested]
    error: str | None = None


class Predictions(
    Model,
    json_schema_extra=example(
        model="auto-seed0",
        predictions=[{"name": "harbor.jpg", "tags": [_SUGGESTED], "error": None}],
        seconds=0.031,
    ),
):
    """Tags of the images of a request, in their order."""

    model: str
    predictions: list[Predicted]
    seconds: float


class SeenTag(
    Model,
    json_schema_extra=example(
        tag="boat", probability=0.96, heat="data:image/jpeg;base64,…", peak=[0.4, 0.6]
    ),
):
    """A tag, and where the model sees it: a picture as data URI, and the hottest place in 0..1."""

    tag: str
    probability: float
    heat: str | None = None
    peak: list[float] | None = None


class Nearest(
    Model, json_schema_extra=example(photo=0, name="harbor.jpg", similarity=0.81, tags=["boat"])
):
    """A similar training photo."""

    photo: int
    name: str
    similarity: float
    tags: list[str]


class Explained(Model):
    """What a model sees in an image, and the labels of similar images."""

    model: str
    name: str
    tags: list[SeenTag]
    nearest: list[Nearest]
    threshold: float


class RunRequest(Model, json_schema_extra=example(run="auto-seed0")):
    """A run by its name."""

    run: Annotated[str, Field(min_length=1, max_length=200)]
