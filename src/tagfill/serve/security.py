"""Access control: hosts, tokens, sessions, cross-site requests, sizes, and headers."""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import ipaddress
import math
import re
import secrets
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tagfill.serve.responses import SafeJSON

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
SAFE_METHODS = frozenset({"GET", "OPTIONS"})
PUBLIC = ("/static/", "/healthz", "/readyz", "/health", "/login", "/favicon.ico")
"""Paths that need no token."""
STATELESS = ("/api/predict", "/api/explain", "/predict", "/setup", "/webhook")
"""What changes nothing, and so needs no session: programs call it without one."""
UPLOADS = ("/api/predict", "/api/explain", "/predict")
SESSION_SECONDS = 30 * 24 * 3600
REST_BYTES, REST_SECONDS = 4_000_000, 2.0
"""How much of a refused request is read, and for how long, so that its answer is not lost."""
MOST_WRONG, PERIOD = 10, 60.0
"""Wrong tokens of an address within so many seconds; after that it has to wait."""
MOST_ADDRESSES = 10_000
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:;"
        " connect-src 'self'; manifest-src 'self'; form-action 'self'; base-uri 'none';"
        " frame-ancestors 'none'"
    ),
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=()",
}


@dataclass(frozen=True)
class Policy:
    """What a server allows.

    Args:
        secret: signs sessions.
        token: needed by everybody, where given.
        hosts: names the server may be called by; empty where any address is fine.
        uploads: requests with images at the same time.
        upload_bytes: most bytes of such a request.
        arriving_bytes: most bytes of all such requests together.
        body_bytes: most bytes of any other.
        body_seconds: a request must have arrived by then.
    """

    secret: str
    token: str | None = None
    hosts: frozenset[str] = LOOPBACK
    read_only: bool = False
    uploads: int = 48
    upload_bytes: int = 32_000_000
    arriving_bytes: int = 256_000_000
    body_bytes: int = 2_000_000
    body_seconds: float = 30.0

    def sign(self, session: str) -> str:
        """A session's signature; a new token invalidates all sessions."""
        return self._digest(f"session:{session}")

    def csrf(self, session: str) -> str:
        """The token that a page must send with every change."""
        return self._digest(f"csrf:{session}")

    def _digest(self, text: str) -> str:
        key = f"{self.secret}:{self.token or ''}".encode()
        return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()

    def knows_host(self, host: str) -> bool:
        """Whether this is a name of the server."""
        if host in self.hosts or "*" not in self.hosts:
            return host in self.hosts
        try:
            ipaddress.ip_address(host)
        except ValueError:
            return False
        return True

    def has_token(self, headers: Headers) -> bool:
        """Whether the request has the right token, as bearer token or password."""
        kind, _, rest = headers.get("authorization", "").partition(" ")
        given = rest.strip().encode("latin-1", "replace")  # as it was sent
        if kind.lower() == "basic":
            try:
                given = base64.b64decode(given, validate=True).partition(b":")[2]
            except binascii.Error:
                return False
        elif kind.lower() != "bearer":
            return False
        return self.token is not None and hmac.compare_digest(given, self.token.encode())


def same_text(one: str, other: str) -> bool:
    """Whether two texts are equal, in a time that does not reveal where they differ."""
    return hmac.compare_digest(one.encode("utf-8", "replace"), other.encode())


def host_name(header: str) -> str:
    """The name in a Host header, without its port."""
    match = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^:\[\]/@\s]+)(:\d{1,5})?", header.strip())
    return match[1].strip("[]").lower().rstrip(".") if match else ""


class Throttle:
    """Counts wrong tokens by address, and says how long an address has to wait."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._wrong: OrderedDict[str, deque[float]] = OrderedDict()

    def wait(self, address: str) -> int:
        """Seconds until an address may try again; 0 if it may now."""
        times = self._wrong.get(address)
        if times is None or len(times) < MOST_WRONG:
            return 0
        return max(0, math.ceil(times[0] + PERIOD - self._clock()))

    def failed(self, address: str) -> None:
        """A wrong token came from an address; only the latest ones are remembered."""
        self._wrong.setdefault(address, deque(maxlen=MOST_WRONG)).append(self._clock())
        self._wrong.move_to_end(address)
        if len(self._wrong) > MOST_ADDRESSES:
            self._wrong.popitem(last=False)


class Gate:
    """Admits allowed requests and sets the same headers on every response."""

    def __init__(self, app: ASGIApp, policy: Policy) -> None:
        self.app, self.policy = app, policy
        self._uploading = self._arriving = 0
        self._throttle = Throttle()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check a request before anything else handles it."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        # HEAD is answered as GET is; uvicorn leaves the body out
        scope = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope
        headers = Headers(scope=scope)
        # servers on other ports of one machine need their own sessions
        cookie = f"tagfill_{(scope.get('server') or ('', 0))[1] or 0}"
        session, guesser = self._session(scope, cookie), self._guesser(scope, headers)
        wait = 0 if guesser is None else self._throttle.wait(guesser)
        trusted = not wait and self.policy.has_token(headers)
        scope.setdefault("state", {}).update(trusted=trusted, session=session, fresh=False)
        refusal = self._refuse_request(scope, headers) or self._refuse_client(
            scope, headers, session, trusted
        )
        if wait:
            refusal = _refuse(429, "too many wrong tokens", {"retry-after": str(wait)})
        if refusal is None and session is None and self._may_begin(scope, trusted):
            scope["state"].update(session=secrets.token_hex(16), fresh=True)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                if message["status"] == 401 and guesser is not None:
                    self._throttle.failed(guesser)
                self._set_headers(MutableHeaders(scope=message), scope, cookie)
            await send(message)

        if refusal is not None:
            await _read_rest(headers, receive)
            await refusal(scope, receive, send_with_headers)
        elif scope["path"].startswith(UPLOADS):
            await self._pass_upload(scope, headers, receive, send_with_headers)
        else:
            limited = _limited(receive, self.policy.body_bytes, self.policy.body_seconds)
            await self.app(scope, limited, send_with_headers)

    async def _pass_upload(
        self, scope: Scope, headers: Headers, receive: Receive, send: Send
    ) -> None:
        """Limits of requests with images: how many, and how many bytes, at the same time."""
        limit = self.policy.upload_bytes
        size = int(headers.get("content-length", limit))
        full = self._arriving > 0 and self._arriving + size > self.policy.arriving_bytes
        if full or self._uploading >= self.policy.uploads:
            busy = _refuse(429, "too many uploads at once", {"retry-after": "1"})
            await _read_rest(headers, receive)
            await busy(scope, receive, send)
            return
        self._uploading += 1
        self._arriving += size
        try:
            await self.app(scope, _limited(receive, limit, self.policy.body_seconds), send)
        finally:
            self._uploading -= 1
            self._arriving -= size

    def _set_headers(self, headers: MutableHeaders, scope: Scope, cookie: str) -> None:
        for name, value in HEADERS.items():
            headers.setdefault(name, value)
        if not scope["path"].startswith("/static/"):
            headers.setdefault("cache-control", "no-store")
        if scope["state"]["fresh"]:
            session = scope["state"]["session"]
            headers.append(
                "set-cookie",
                f"{cookie}={session}.{self.policy.sign(session)}; Path=/; HttpOnly;"
                f" SameSite=Strict; Max-Age={SESSION_SECONDS}",
            )

    def _guesser(self, scope: Scope, headers: Headers) -> str | None:
        """The address of a client that presents a token; None if there is no token to guess."""
        shown = "authorization" in headers or (scope["path"], scope["method"]) == ("/login", "POST")
        if self.policy.token is None or not shown:
            return None
        return str((scope.get("client") or ("", 0))[0])

    def _session(self, scope: Scope, name: str) -> str | None:
        session, _, signature = HTTPConnection(scope).cookies.get(name, "").partition(".")
        good = re.fullmatch(r"[0-9a-f]{32}", session)
        return session if good and same_text(signature, self.policy.sign(session)) else None

    def _may_begin(self, scope: Scope, trusted: bool) -> bool:
        """Whether opening a page starts a session: only if no token is needed."""
        path = scope["path"]
        page = ("." not in path and not path.startswith("/api/")) or path == "/api/session"
        return self.policy.token is None and not trusted and page

    def _refuse_request(self, scope: Scope, headers: Headers) -> Response | None:
        """Why nobody may send such a request."""
        policy, path = self.policy, scope["path"]
        length, changes = headers.get("content-length", "0"), scope["method"] not in SAFE_METHODS
        limit = policy.upload_bytes if path.startswith(UPLOADS) else policy.body_bytes
        if not path.startswith("/"):
            return _refuse(400, "the address is not a path")
        if not policy.knows_host(host_name(headers.get("host", ""))):
            return _refuse(400, "this server has another name")
        if not length.isascii() or not length.isdigit() or len(length) > 18:
            return _refuse(400, "the content length is not a number")
        if "content-length" in headers and "transfer-encoding" in headers:
            return _refuse(400, "the length of the body is given twice", {"connection": "close"})
        if int(length) > limit:
            return _refuse(413, f"at most {limit:,} bytes at once")
        if (changes or path.startswith("/api/")) and _from_other_site(headers):
            return _refuse(403, "requests from other sites are refused")
        if changes and policy.read_only and not path.startswith((*STATELESS, "/login")):
            return _refuse(403, "this server is read-only")
        return None

    def _refuse_client(
        self, scope: Scope, headers: Headers, session: str | None, trusted: bool
    ) -> Response | None:
        """Why this client may not send it."""
        path, method = scope["path"], scope["method"]
        if path.startswith(PUBLIC):
            return None
        if self.policy.token is not None and not trusted and session is None:
            if method == "GET" and "text/html" in headers.get("accept", ""):
                asked = quote(f"{path}?{scope['query_string'].decode('latin-1')}".rstrip("?"))
                return RedirectResponse(f"/login?next={asked}", 303)
            return _refuse(401, "a token is needed", {"www-authenticate": "Bearer"})
        if method in SAFE_METHODS or trusted or path.startswith(STATELESS):
            return None
        if session is None:
            return _refuse(403, "start a session first: GET /api/session")
        if not same_text(headers.get("x-csrf-token", ""), self.policy.csrf(session)):
            return _refuse(403, "the X-CSRF-Token header is missing or wrong")
        return None


def _from_other_site(headers: Headers) -> bool:
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    try:
        foreign = origin is not None and urlsplit(origin).netloc != headers.get("host")
    except ValueError:  # half an IPv6 address
        return True
    return foreign or site not in (None, "same-origin", "none")


def _refuse(status: int, message: str, headers: Mapping[str, str] | None = None) -> SafeJSON:
    return SafeJSON({"detail": message}, status, dict(headers or {}))


async def _read_rest(headers: Headers, receive: Receive) -> None:
    """Read a refused request of usual size: closing a connection with unread bytes resets it."""
    length = headers.get("content-length", "0")
    if not length.isdecimal() or len(length) > 18 or int(length) > REST_BYTES:
        return
    with suppress(HTTPException):
        limited = _limited(receive, REST_BYTES, REST_SECONDS)
        while (await limited()).get("more_body"):
            pass


def _limited(receive: Receive, limit: int, seconds: float) -> Receive:
    """End the request if its body is too large or too slow."""
    arrived, deadline, complete = 0, time.monotonic() + seconds, False

    async def limited() -> Message:
        nonlocal arrived, complete
        if complete:
            return await receive()
        try:
            left = max(deadline - time.monotonic(), 0.001)
            message = await asyncio.wait_for(receive(), left)
        except TimeoutError:
            raise HTTPException(408, "the request took too long to arrive") from None
        if message["type"] == "http.request":
            arrived += len(message.get("body", b""))
            complete = not message.get("more_body", False)
            if arrived > limit:
                raise HTTPException(413, f"at most {limit:,} bytes at once")
        return message

    return limited
