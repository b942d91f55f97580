"""Bounds on what a web server may send: seconds without progress, bytes, folders.

The user names a server, and it may be broken or hostile all the same: it sends a byte every ten
seconds, or never ends. It is then given up with one sentence.
"""

from __future__ import annotations

import asyncio
import time
from functools import cache
from typing import Any

from tagfill.errors import TagfillError

SILENCE = 20.0
"""Seconds without a byte after which a server is taken to be gone."""
HEADER_SECONDS = 60.0
"""Seconds for the headers of a response to arrive."""
SLOW_SECONDS, SLOWEST = 60.0, 1_000
"""After so many seconds a transfer must have had so many bytes a second."""
LARGEST_IN_MEMORY = 256_000_000
"""Bytes of a response that is not written to a file: an image of `predict`, a list of files."""
LARGEST_IMAGE = 1_000_000_000
LARGEST_UNTOLD = 20_000_000_000
"""Bytes of another file, unless the server tells that it is larger."""
MOST_FOLDERS, DEEPEST = 20_000, 32
"""Of a list of files that links to further lists."""


class Transfer:
    """Watches a file that arrives; called with the size that was told and the bytes so far."""

    def __init__(self, url: str, largest: int | None = None) -> None:
        self._url, self._largest, self._began = url, largest, time.monotonic()

    def __call__(self, told: int | None, arrived: int, **_: Any) -> None:
        """Raise ``TagfillError`` if there are too many bytes, or too few."""
        largest = self._largest or max(told or 0, LARGEST_UNTOLD)
        if max(told or 0, arrived) > largest:
            raise TagfillError(f"is larger than {largest:,} bytes", file=self._url)
        seconds = time.monotonic() - self._began
        if seconds > SLOW_SECONDS and arrived < SLOWEST * seconds:
            raise TagfillError(
                f"arrives too slowly: {arrived:,} bytes in {seconds:.0f} seconds",
                file=self._url,
                remedy="try again later, or download it with another program",
            )


def web_options() -> dict[str, Any]:
    """Options of a web file system: a download may take hours, but not in silence."""
    import aiohttp

    limits = aiohttp.ClientTimeout(total=None, sock_connect=SILENCE, sock_read=SILENCE)
    return {"client_kwargs": {"timeout": limits, "response_class": _bounded_response()}}


@cache
def _bounded_response() -> type:
    import aiohttp

    class Bounded(aiohttp.ClientResponse):
        """A response whose headers arrive in time, and whose body fits in memory if it is read."""

        async def start(self, connection: Any) -> aiohttp.ClientResponse:
            try:
                async with asyncio.timeout(HEADER_SECONDS):
                    return await super().start(connection)
            except TimeoutError as error:
                raise aiohttp.ClientError("it does not answer") from error

        async def read(self) -> bytes:
            if self._body is None:
                transfer, content = Transfer(str(self.url), LARGEST_IN_MEMORY), bytearray()
                async for piece in self.content.iter_any():
                    content += piece
                    transfer(None, len(content))
                self._body = bytes(content)
            return await super().read()

        async def text(self, *arguments: Any, **options: Any) -> str:
            """A page, in which fsspec's pattern of links takes a time that grows as the page."""
            page = await super().text(*arguments, **options)
            return " ".join(page.replace("<", "><").split())

    return Bounded
