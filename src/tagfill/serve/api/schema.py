"""Schemas of requests and responses."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field

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
Photo = Annotated[int, Field(ge=0, le=2**31 - 1), BeforeValidator(_number)]
"""The number of a photo."""
PersonName = Annotated[str, Field(min_length=1, max_length=80), AfterValidator(_plain)]


EXAMPLES = json.loads((files(__package__) / "examples.json").read_text(encoding="utf-8"))
"""An example of each schema, for the description of the interface."""


def _add_example(description: dict[str, Any], schema: type[BaseModel]) -> None:
    if schema.__name__ in EXAMPLES:
        description["examples"] = [EXAMPLES[schema.__name__]]


class Model(BaseModel):
    """Refuses unknown fields."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=_add_example)


class Suggested(Model):
    """A tag a photo may have."""

    tag: str
    probability: float | None


class Card(Model):
    """A photo to review."""

    photo: int
    name: str
    split: str
    yes: list[str]
    no: list[str]
    suggestions: list[Suggested]
    complete: bool


class GridCard(Model):
    """A photo that may have the tag of a page."""

    photo: int
    name: str
    probability: float | None


class NextRequest(Model):
    """Which cards to review next."""

    view: Literal["photo", "tag"] = "photo"
    tag: Tag | None = None
    count: Annotated[int, Field(ge=1, le=200)] = 3
    exclude: Annotated[list[Photo], Field(max_length=2000)] = []
    guided: bool = False


class NextCards(Model):
    """Cards, the most useful first, leased to the user for a while."""

    photos: list[Card] = []
    grid: list[GridCard] = []


class ReleaseRequest(Model):
    """Cards to give back: of the view by tag, or without a tag, whole photos."""

    photos: Annotated[list[Photo], Field(max_length=2000)]
    tag: Tag | None = None


class Released(Model):
    """How many cards were given back."""

    released: int


class Decided(Model):
    """An answer about one tag of one photo."""

    photo: Photo
    tag: Tag
    value: Answer


class DecisionsRequest(Model):
    """Answers of one action, which are undone together."""

    decisions: Annotated[list[Decided], Field(min_length=1, max_length=2000)]
    view: Literal["photo", "tag", "data", "suspects"] = "photo"


class CompleteRequest(Model):
    """A photo whose tags are all known now."""

    photo: Photo
    yes: Annotated[list[Tag], Field(max_length=1000)] = []


class TagRequest(Model):
    """A tag."""

    tag: Tag


class RenameRequest(Model):
    """A tag and its new name; if that exists, the two are merged."""

    tag: Tag
    to: Tag


class BulkRequest(Model):
    """One tag for many photos."""

    photos: Annotated[list[Photo], Field(min_length=1, max_length=20_000)]
    tag: Tag
    value: Answer


class Saved(Model):
    """The batch that was saved, and its number of answers."""

    batch: str
    saved: int


class Command(Model):
    """A command to run in a terminal."""

    command: str


class UndoRequest(Model):
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


class Session(Model):
    """The user's name, and the X-CSRF-Token that changes need."""

    name: str
    csrf: str | None
    read_only: bool
    model: str


class NameRequest(Model):
    """A person's name."""

    name: PersonName


class Predicted(Model):
    """Tags of one image; or why it could not be read."""

    name: str
    tags: list[Suggested]
    error: str | None = None


class Predictions(Model):
    """Tags of the images of a request, in their order."""

    model: str
    predictions: list[Predicted]
    seconds: float


class SeenTag(Model):
    """A tag, and where the model sees it: a picture as data URI, and the hottest place in 0..1."""

    tag: str
    probability: float
    heat: str | None = None
    peak: list[float] | None = None


class Nearest(Model):
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


class RunRequest(Model):
    """A run by its name."""

    run: Annotated[str, Field(min_length=1, max_length=200)]
