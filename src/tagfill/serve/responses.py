"""JSON responses that can hold any text."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from importlib.resources import files
from typing import Any

import sqlalchemy as sa
from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect

from tagfill.errors import TagfillError

FRAME = files("tagfill.serve") / "static" / "index.html"
"""The page that all others are shown in."""
SHOWN = 10
"""Most problems of a request to report at once."""


class Problem(BaseModel):
    """Why a request was refused."""

    detail: str


REFUSALS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": why}
    for status, why in {
        400: "The host name is not the server's, or the body is malformed.",
        401: "A token is needed.",
        403: "From another site, without the session's token, or the server is read-only.",
        404: "It does not exist.",
        408: "The request took too long to arrive.",
        409: "This is not possible now.",
        413: "Too many bytes, images or pixels.",
        415: "Not an image, or not one that can be read.",
        422: "A parameter or the body does not fit.",
        429: "The queue is full; Retry-After says when to try again.",
        503: "The database does not answer.",
    }.items()
}


class SafeJSON(JSONResponse):
    """JSON in ASCII: no text of a client can make the response fail."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


@contextmanager
def refusing(status: int, detail: str | None = None) -> Iterator[None]:
    """Answer an error of the user in this block with a status."""
    try:
        yield
    except TagfillError as error:
        raise HTTPException(status, detail or str(error)) from None


async def invalid(_: Request, error: Exception) -> SafeJSON:
    """A request that does not fit the interface: what is wrong, and where."""
    assert isinstance(error, RequestValidationError)
    problems = [
        f"{'.'.join(str(place) for place in problem['loc'][1:])}: {problem['msg']}"
        for problem in error.errors()[:SHOWN]
    ]
    return SafeJSON({"detail": "; ".join(problems)}, 422)


async def refused(request: Request, error: Exception) -> Response:
    """An error with a status of its own; a person who looks for a page gets one that says so."""
    assert isinstance(error, HTTPException)
    page = "text/html" in request.headers.get("accept", "")
    if error.status_code == 404 and page and not request.url.path.startswith(("/api/", "/static/")):
        return FileResponse(str(FRAME), 404)
    return SafeJSON({"detail": error.detail}, error.status_code, error.headers)


async def mistaken(_: Request, error: Exception) -> SafeJSON:
    """The message of the command line; or the client left before its request was complete."""
    return SafeJSON({"detail": str(error) or "the request was incomplete"}, 400)


async def without_database(_: Request, error: Exception) -> SafeJSON:
    """The database is down or does not answer in time."""
    return SafeJSON({"detail": "the database does not answer"}, 503, {"retry-after": "2"})


HANDLERS: dict[int | type[Exception], Callable[[Request, Any], Coroutine[Any, Any, Response]]] = {
    RequestValidationError: invalid,
    HTTPException: refused,
    TagfillError: mistaken,
    ClientDisconnect: mistaken,
    sa.exc.OperationalError: without_database,
    sa.exc.InterfaceError: without_database,
    sa.exc.TimeoutError: without_database,
}
