"""The application: routes, checks, and the pages, one frame that modules in the browser fill."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Annotated

from fastapi import APIRouter, FastAPI, Form, HTTPException, Request
from fastapi.responses import FileResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles

from tagfill import __version__
from tagfill.serve import metrics, responses
from tagfill.serve.api import (
    data,
    health,
    jobs,
    labels,
    photos,
    predict,
    review,
    runs,
    session,
    studio,
)
from tagfill.serve.responses import FRAME
from tagfill.serve.security import Gate, same_text
from tagfill.serve.service import Served, Service

STATIC = files("tagfill.serve") / "static"
PAGES = ("/", "/review", "/try", "/data", "/tags", "/runs", "/train", "/login")

ROUTERS = (predict, review, labels, data, photos, runs, jobs, session, studio, health)

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


def create_app(service: Service) -> FastAPI:
    """The application that serves a run."""

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        yield
        service.close()

    app = FastAPI(
        title="tagfill",
        version=__version__,
        description="Tag photos: predict, explain, review, train again.",
        lifespan=life,
        docs_url=None,
        redoc_url=None,
        openapi_url="/api/openapi.json",
        default_response_class=responses.SafeJSON,
        responses=responses.REFUSALS,
        exception_handlers=responses.HANDLERS,
    )
    app.state.service = service
    for module in ROUTERS:
        app.include_router(module.router)
    app.include_router(router)
    app.mount("/static", StaticFiles(directory=str(STATIC)))
    app.add_middleware(metrics.Timed)
    app.add_middleware(Gate, policy=service.policy)
    return app
