"""The pages: one frame for all, filled by modules the browser loads from here."""

from __future__ import annotations

import secrets
from importlib.resources import files
from typing import Annotated

from fastapi import APIRouter, Form, HTTPException, Request
from fastapi.responses import FileResponse, RedirectResponse, Response

from tagfill.serve.responses import FRAME
from tagfill.serve.security import same_text
from tagfill.serve.service import Served

STATIC = files("tagfill.serve") / "static"
PAGES = ("/", "/review", "/try", "/data", "/tags", "/runs", "/train", "/login")

router = APIRouter(include_in_schema=False)


for _path in PAGES:
    router.add_api_route(_path, lambda: FileResponse(str(FRAME)), response_class=FileResponse)


@router.get("/favicon.ico")
def icon() -> FileResponse:
    return FileResponse(str(STATIC / "icon.svg"), media_type="image/svg+xml")


@router.post("/login")
def login(
    request: Request, service: Served, token: Annotated[str, Form(max_length=500)]
) -> Response:
    if service.policy.token is None or not same_text(token, service.policy.token):
        raise HTTPException(401, "the token is wrong", {"www-authenticate": "Bearer"})
    request.scope["state"].update(session=secrets.token_hex(16), fresh=True)
    return RedirectResponse("/", 303)
