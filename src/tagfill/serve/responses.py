"""JSON answers that can hold any text."""

from __future__ import annotations

import json
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from tagfill.errors import TagfillError


class SafeJSON(JSONResponse):
    """JSON in ASCII: no text a client sends can make the answer fail."""

    def render(self, content: Any) -> bytes:
        """The bytes of the answer."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")


async def invalid(_: Request, error: Exception) -> SafeJSON:
    """A request that does not fit the interface: what is wrong, and where."""
    assert isinstance(error, RequestValidationError)
    problems = [
        {
            "loc": [str(place) for place in problem["loc"]],
            "msg": problem["msg"],
            "type": problem["type"],
        }
        for problem in error.errors()
    ]
    return SafeJSON({"detail": problems}, 422)


async def refused(_: Request, error: Exception) -> SafeJSON:
    """An error with a status of its own."""
    assert isinstance(error, HTTPException)
    return SafeJSON({"detail": error.detail}, error.status_code, error.headers)


async def mistaken(_: Request, error: Exception) -> SafeJSON:
    """What the command line would print."""
    assert isinstance(error, TagfillError)
    return SafeJSON({"detail": str(error)}, 400)
