"""Many clients of all kinds at once: good, bad, oversized, slow and cut off."""

from __future__ import annotations

import asyncio
import random
import socket
import statistics
import struct
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

PAUSE = 0.25
"""Seconds between two requests of a client, on average."""
Behavior = Callable[["Client"], Awaitable[None]]


@dataclass
class Seen:
    """What the clients saw: statuses by kind of request, and times of good requests."""

    statuses: dict[str, Counter[int]] = field(default_factory=lambda: defaultdict(Counter))
    times: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    wrong: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    began: float = field(default_factory=time.monotonic)

    def note(self, kind: str, status: int, allowed: Sequence[int]) -> None:
        self.statuses[kind][status] += 1
        if status not in allowed and len(self.wrong) < 50:
            self.wrong.append(f"{kind}: {status}")

    @property
    def requests(self) -> int:
        return sum(sum(counts.values()) for counts in self.statuses.values())

    @property
    def errors(self) -> int:
        return sum(
            count
            for counts in self.statuses.values()
            for status, count in counts.items()
            if status >= 500
        )

    def p95(self) -> dict[str, float]:
        return {
            kind: statistics.quantiles(times, n=20)[-1]
            for kind, times in sorted(self.times.items())
            if len(times) > 1
        }


@dataclass
class Client:
    """One of many: a session of its own, and photos to send."""

    http: httpx.AsyncClient
    place: tuple[str, int]
    photos: Sequence[bytes]
    tags: Sequence[str]
    seen: Seen
    random: random.Random
    csrf: str = ""

    async def begin(self) -> None:
        self.csrf = (await self.http.get("/api/session")).json()["csrf"]

    async def ask(
        self, kind: str, method: str, path: str, allowed: Sequence[int] = (200,), **more: Any
    ) -> httpx.Response:
        headers = {"x-csrf-token": self.csrf, **more.pop("headers", {})}
        began = time.perf_counter()
        try:
            answer = await self.http.request(method, path, headers=headers, **more)
        except httpx.TransportError as error:
            lasted, running = time.perf_counter() - began, time.monotonic() - self.seen.began
            self.seen.lost.append(f"{kind}: {error!r} after {lasted:.1f} s, at {running:.0f} s")
            raise
        self.seen.note(kind, answer.status_code, allowed)
        if answer.status_code == 200:
            self.seen.times[kind].append(time.perf_counter() - began)
        return answer


async def look(client: Client) -> None:
    photo = client.random.randrange(len(client.photos))
    paths = ("/", "/api/review", "/api/tags", "/api/runs", f"/api/photos/{photo}", "/metrics")
    await client.ask("page", "GET", client.random.choice(paths))
    await client.ask("picture", "GET", f"/api/photos/{photo}/picture")


async def review(client: Client) -> None:
    wanted = {"view": "tag", "tag": client.random.choice(client.tags), "count": 4}
    answer = await client.ask("cards", "POST", "/api/review/next", json=wanted)
    decisions = [
        {"photo": card["photo"], "tag": wanted["tag"], "value": "unsure"}
        for card in answer.json()["grid"][:1]
    ]
    if decisions:
        body = {"view": "tag", "decisions": decisions}
        await client.ask("decision", "POST", "/api/review/decisions", json=body)
        await client.ask("undo", "POST", "/api/review/undo")


async def predict(client: Client) -> None:
    photo = client.random.choice(client.photos)
    files = {"images": ("../x.jpg", photo, "image/jpeg")}
    await client.ask("predict", "POST", "/api/predict", (200, 429), files=files)


async def bad(client: Client) -> None:
    requests: tuple[tuple[str, str, int, dict[str, Any]], ...] = (
        ("GET", "/api/photos/999999999", 404, {}),
        ("GET", "/api/photos/x/picture", 422, {}),
        ("GET", "/api/runs/..%2f..%2fetc", 404, {}),
        ("DELETE", "/api/review", 405, {}),
        ("GET", "/", 400, {"headers": {"host": "evil.example"}}),
        ("POST", "/api/review/undo", 403, {"headers": {"x-csrf-token": "wrong"}}),
        ("POST", "/api/review/undo", 403, {"headers": {"origin": "http://evil.example"}}),
        ("POST", "/api/review/next", 422, {"content": b"{"}),
        ("POST", "/api/predict", 415, {"content": b"x", "headers": {"content-type": "image/png"}}),
        ("POST", "/api/predict", 422, {"json": {"images": ["@"]}}),
    )
    method, path, status, more = client.random.choice(requests)
    await client.ask("bad", method, path, (status, 400, 429), **more)


async def oversized(client: Client) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(40):
            yield b"\0" * 100_000

    kind = {"content-type": "application/json"}
    if client.random.random() < 0.5:
        path, content = "/api/review/decisions", endless()
        await client.ask("oversized", "POST", path, (413,), content=content, headers=kind)
    else:
        head = (
            b"POST /api/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: image/png\r\n"
            b"Content-Length: 99000000\r\n\r\n"
        )
        await half("oversized", client, head, (413, 429))


async def half(kind: str, client: Client, request: bytes, allowed: Sequence[int]) -> None:
    """Send part of a request and read what comes."""
    reader, writer = await asyncio.open_connection(*client.place)
    try:
        writer.write(request)
        first = await asyncio.wait_for(reader.read(64), 40)
        if first:
            client.seen.note(kind, int(first.split(b" ")[1]), allowed)
        else:
            client.seen.statuses[kind][0] += 1
    except (ConnectionError, TimeoutError):
        client.seen.statuses[kind][0] += 1
    finally:
        writer.close()


async def slow(client: Client) -> None:
    """A request that comes a few bytes at a time, and is whole in the end."""
    reader, writer = await asyncio.open_connection(*client.place)
    body = b'{"tag": "x"}'
    head = f"POST /api/review/accept HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n"
    request = head.encode() + b"Content-Type: application/json\r\nConnection: close\r\n\r\n" + body
    try:
        for start in range(0, len(request), 16):
            writer.write(request[start : start + 16])
            await writer.drain()
            await asyncio.sleep(0.1)
        first = await asyncio.wait_for(reader.read(64), 40)
        if first:
            client.seen.note("slow", int(first.split(b" ")[1]), (403,))
    except (ConnectionError, TimeoutError):
        client.seen.statuses["slow"][0] += 1
    finally:
        writer.close()


async def cut_off(client: Client) -> None:
    """Gone in the middle: of the headers, of a form, or of the answer."""
    form = (
        b"POST /api/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999\r\n"
        b"Content-Type: multipart/form-data; boundary=x\r\n\r\n--x\r\nContent-Disp"
    )
    page = b"GET /api/photos/1/picture HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    request = client.random.choice((form, page, page[:30], b"\0\xff\r\n\r\n"))
    _, writer = await asyncio.open_connection(*client.place)
    writer.write(request)
    await writer.drain()
    await asyncio.sleep(client.random.random() * 0.05)
    reset = struct.pack("ii", 1, 0)  # the connection is reset, not closed
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
    writer.close()
    client.seen.statuses["cut off"][0] += 1


MIX: tuple[Behavior, ...] = (
    *(look, look, look, review, predict, predict),
    *(bad, bad, oversized, slow, cut_off),
)


async def soak(url: str, seconds: float, clients: int, photos: Sequence[bytes]) -> Seen:
    """Let many clients do what they like for a while."""
    seen, until = Seen(), time.monotonic() + seconds
    host, port = url.removeprefix("http://").split(":")
    limits = httpx.Limits(max_connections=2)

    async def live(number: int, tags: Sequence[str]) -> None:
        draw = random.Random(number)
        async with httpx.AsyncClient(base_url=url, timeout=60, limits=limits, verify=False) as http:
            client = Client(http, (host, int(port)), photos, tags, seen, draw)
            await client.begin()
            while time.monotonic() < until:
                with suppress(httpx.TransportError):  # noted in ``seen.lost``
                    await draw.choice(MIX)(client)
                await asyncio.sleep(draw.random() * 2 * PAUSE)

    async with httpx.AsyncClient(base_url=url, timeout=60) as first:
        tags = [row["tag"] for row in (await first.get("/api/tags")).json()]
    await asyncio.gather(*(live(number, tags) for number in range(clients)))
    return seen


def resident_megabytes(pid: int) -> float:
    """Memory a process holds now."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024
