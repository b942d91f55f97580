"""HTTP connections with timeouts for idle clients."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10.0
"""Seconds for the headers of a request to arrive."""
READ_SECONDS = 30.0
"""Seconds after which a client that reads nothing is disconnected."""
KEEP_SECONDS = 30
"""Seconds an answered client may stay connected; far longer than clients keep idle connections."""
MOST_CONNECTIONS = 512


class TimeoutProtocol(H11Protocol):
    """uvicorn's protocol, with timeouts for headers and for clients that do not read."""

    _timer: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._wait_for_headers()
        if len(self.connections) > MOST_CONNECTIONS:
            self._most_dispensable().transport.close()

    def data_received(self, data: bytes) -> None:
        if self._timer is None and self._idle:
            self._wait_for_headers()
        rest_of_answered = self._idle and self.conn.their_state is h11.SEND_BODY
        super().data_received(data)
        if not self._idle:
            self._stop_waiting()
        elif rest_of_answered and self.conn.their_state is h11.IDLE:
            self._stop_waiting()
            self._wait_for_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._stop_offering()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._unread = self.loop.call_later(READ_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        self._stop_offering()
        super().resume_writing()

    def _stop_offering(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    @property
    def _idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _most_dispensable(self) -> H11Protocol:
        """The answered client that has been silent for longest, or else this one."""
        silent = {
            other: other.timeout_keep_alive_task.when()
            for other in self.connections
            if isinstance(other, H11Protocol) and other.timeout_keep_alive_task is not None
        }
        return min(silent, key=silent.__getitem__, default=self)

    def _wait_for_headers(self) -> None:
        self._timer = self.loop.call_later(HEADER_SECONDS, self._give_up)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if self._idle:
            self.transport.close()
