"""The metrics of /metrics, for Prometheus."""

from __future__ import annotations

import time

from prometheus_client import REGISTRY, Counter, Gauge, Histogram
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_FAST = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)

DECISIONS = Counter("tagfill_decisions", "Lines written to the log of decisions")
REQUESTS = Histogram(
    "tagfill_request_seconds", "Time of requests", ["method", "route", "status"], buckets=_FAST
)
BATCHES = Histogram("tagfill_batch_images", "Images per batch", buckets=(1, 2, 4, 8, 16, 32))
WAITING = Gauge("tagfill_waiting_images", "Images waiting for the model")

__all__ = ["BATCHES", "DECISIONS", "REGISTRY", "REQUESTS", "WAITING", "Timed"]


class Timed:
    """Measures every request by the route that served it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on and note its time."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        began, status = time.perf_counter(), "cut off"

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
            await send(message)

        try:
            await self.app(scope, receive, noting)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            method = scope["method"] if scope["method"] in _METHODS else "other"
            REQUESTS.labels(method, route, status).observe(time.perf_counter() - began)


_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})
