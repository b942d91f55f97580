"""The application: routes, checks and pages put together."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.staticfiles import StaticFiles

from tagfill import __version__
from tagfill.serve import metrics, pages, responses
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
from tagfill.serve.security import Gate
from tagfill.serve.service import Service

ROUTERS = (predict, review, labels, data, photos, runs, jobs, session, studio, health)


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
    app.include_router(pages.router)
    app.mount("/static", StaticFiles(directory=str(pages.STATIC)))
    app.add_middleware(metrics.Timed)
    app.add_middleware(Gate, policy=service.policy)
    return app
