"""Attacks on every door: what is refused, and with which status."""

from __future__ import annotations

import asyncio
import io
import json
import socket
import struct
import threading
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from PIL import Image
from starlette.responses import Response
from tests.serve.conftest import Reviewer
from tests.serve.live import listening, session
from tests.serve.test_predict import bomb, photo
from tests.serve.test_security import TOKEN, client_of

from tagfill.serve import protocol
from tagfill.serve.security import MOST_ADDRESSES, MOST_WRONG, PERIOD, Gate, Policy, Throttle
from tagfill.serve.service import MOST_EXPLAINED, Service

TRAVERSALS = ("../../../../etc/passwd", "/etc/passwd", "..\\..\\etc\\passwd", "%2e%2e%2fetc")
INJECTIONS = ("' OR 1=1 --", "x'; DROP TABLE decisions; --", 'x" UNION SELECT value FROM settings')
HEADERS = ("x\r\nX-Evil: 1", "x\nSet-Cookie: evil=1", "x\u2028X-Evil: 1")
ASIDE = {("post", "/api/jobs")}
"""Takes no text, and would start a training."""


@pytest.fixture(scope="module")
def operations(opened: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A client with a session, and every operation it can call."""
    client = client_of(opened, tmp_path_factory.mktemp("doors")).begin("Anna")
    document = client.get("/api/openapi.json").json()
    listed = [
        (method, path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if (method, path) not in ASIDE
    ]
    yield client, document, listed
    client.app.state.service.close()


def texts(schema: dict[str, Any], document: dict[str, Any], text: str) -> Any:
    """A body of a schema's form in which every text is this one."""
    if "$ref" in schema:
        named = document["components"]["schemas"][schema["$ref"].split("/")[-1]]
        return texts(named, document, text)
    if "anyOf" in schema:
        return texts(schema["anyOf"][0], document, text)
    kind = schema.get("type")
    if kind == "object":
        properties = schema.get("properties", {})
        return {name: texts(inner, document, text) for name, inner in properties.items()}
    if kind == "array":
        return [texts(schema["items"], document, text)]
    if kind == "string":
        return schema["enum"][0] if "enum" in schema else text
    return {"boolean": False, "integer": 0, "number": 0}.get(str(kind), {})


@pytest.mark.parametrize("text", [*TRAVERSALS, *INJECTIONS, *HEADERS])
def test_no_parameter_of_any_operation_leads_anywhere(operations: Any, text: str) -> None:
    client, document, listed = operations
    lines = len(client.app.state.service.ledger)
    assert len(listed) > 25
    for method, path, operation in listed:
        given = operation.get("parameters", [])
        for name in (parameter["name"] for parameter in given if parameter["in"] == "path"):
            path = path.replace(f"{{{name}}}", "0" if name == "photo" else quote(text, safe=""))
        query = {
            parameter["name"]: text
            for parameter in given
            if parameter["in"] == "query" and _is_text(parameter["schema"])
        }
        content = operation.get("requestBody", {}).get("content", {})
        schema = content.get("application/json", {}).get("schema")
        body = None if schema is None else texts(schema, document, text)
        headers = {"x-reviewer": text.encode("ascii", "ignore").translate(None, b"\r\n")}
        answer = client.request(method, path, params=query, json=body, headers=headers)
        assert answer.status_code < 500, (method, path, answer.text)
        assert "root:" not in answer.text
        assert "x-evil" not in answer.headers
        assert "evil" not in answer.headers.get("set-cookie", "")
    service = client.app.state.service
    service.refresh()
    assert len(service.ledger) >= lines  # the table is still there
    assert client.get("/api/review/history?limit=1000").status_code == 200


def _is_text(schema: dict[str, Any]) -> bool:
    kinds = [schema, *schema.get("anyOf", [])]
    return any(kind.get("type") == "string" and "enum" not in kind for kind in kinds)


def test_wrong_tokens_are_slowed_down(opened: Any, tmp_path: Path) -> None:
    client = client_of(opened, tmp_path, token=TOKEN)
    right, wrong = ({"authorization": f"Bearer {text}"} for text in (TOKEN, "wrong-token"))
    signed_in = client_of(opened, tmp_path, token=TOKEN)
    assert signed_in.post("/login", data={"token": TOKEN}).status_code == 200
    statuses = [client.get("/api/review", headers=wrong).status_code for _ in range(MOST_WRONG)]
    assert statuses == [401] * MOST_WRONG
    for answer in (
        client.get("/api/review", headers=wrong),
        client.get("/api/review", headers=right),  # nothing is learned from being told to wait
        client.post("/login", data={"token": TOKEN}),
    ):
        assert answer.status_code == 429
        assert 0 < int(answer.headers["retry-after"]) <= PERIOD
        assert answer.headers["x-content-type-options"] == "nosniff"
    assert client.get("/api/review").status_code == 401  # without a token nothing is guessed
    assert client.get("/healthz").status_code == 200


def test_an_address_may_try_again_after_a_while() -> None:
    now = [0.0]
    throttle = Throttle(lambda: now[0])
    for _ in range(MOST_WRONG):
        assert throttle.wait("a") == 0
        throttle.failed("a")
    assert throttle.wait("a") == PERIOD
    assert throttle.wait("b") == 0
    now[0] = PERIOD + 1
    assert throttle.wait("a") == 0
    throttle.failed("a")
    assert throttle.wait("a") == 0
    for number in range(MOST_ADDRESSES + 5):
        throttle.failed(str(number))
    assert len(throttle._wrong) == MOST_ADDRESSES


def chunks(count: int) -> Iterator[bytes]:
    yield b'--x\r\nContent-Disposition: form-data; name="images"; filename="a.png"\r\n\r\n'
    for _ in range(count):
        yield b"\0" * 1_000_000


def test_huge_forms_are_refused(anna: Reviewer, service: Service) -> None:
    limit = service.policy.upload_bytes
    kind = {"content-type": "multipart/form-data; boundary=x"}
    told = anna.post("/api/predict", content=b" " * (limit + 1), headers=kind)
    untold = anna.post("/api/predict", content=chunks(limit // 1_000_000 + 1), headers=kind)
    assert (told.status_code, untold.status_code) == (413, 413)
    many = {f"field{number}": "x" for number in range(50)}
    good = {"images": ("a.jpg", photo(service), "image/jpeg")}
    assert anna.post("/api/predict", data=many, files=good).status_code == 400
    header = b"--x\r\n" + b"X-Long: " + b"a" * 200_000 + b"\r\n\r\nx\r\n--x--\r\n"
    assert anna.post("/api/predict", content=header, headers=kind).status_code in (400, 422)


def png_chunk(kind: bytes, data: bytes) -> bytes:
    check = zlib.crc32(kind + data).to_bytes(4, "big")
    return len(data).to_bytes(4, "big") + kind + data + check


def text_bomb() -> bytes:
    """A small picture with a comment that unpacks to 64 MB."""
    stream = io.BytesIO()
    Image.new("RGB", (8, 8)).save(stream, "PNG")
    plain = stream.getvalue()
    comment = png_chunk(b"zTXt", b"Comment\0\0" + zlib.compress(b"a" * 64_000_000, 9))
    return plain[:33] + comment + plain[33:]


def test_bombs_are_refused_and_do_not_add_up(anna: Reviewer, service: Service) -> None:
    files = [("images", (f"{number}.png", bomb(), "image/png")) for number in range(3)]
    assert anna.post("/api/predict", files=files).status_code == 413
    commented = anna.post("/api/predict", files={"images": ("a.png", text_bomb(), "image/png")})
    assert commented.status_code in (200, 415)
    packed = {"content-type": "image/png", "content-encoding": "gzip"}
    zipped = zlib.compress(b"\0" * 10_000_000, wbits=31)
    assert anna.post("/api/predict", content=zipped, headers=packed).status_code == 415


def test_pictures_are_made_small_one_after_the_other(
    anna: Reviewer, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tagfill.serve import uploads

    held: list[int] = []
    open_image, size = uploads.open_image, service.model.engine.metadata.size

    def opened(content: bytes, wanted: int) -> Any:
        image = open_image(content, wanted)
        held.append(image.width * image.height)
        return image

    monkeypatch.setattr(uploads, "open_image", opened)
    stream = io.BytesIO()
    Image.new("RGB", (3000, 2500)).save(stream, "PNG")
    files = [("images", (f"{n}", stream.getvalue(), "image/png")) for n in range(3)]
    kept: list[Any] = []
    submit = service.batcher.submit
    monkeypatch.setattr(
        service.batcher, "submit", lambda image: kept.append(image) or submit(image)
    )
    assert anna.post("/api/predict", files=files).status_code == 200
    assert held == [3000 * 2500] * 3
    assert [image.shape for image in kept] == [(3, size, size)] * 3


def icon(side: int) -> bytes:
    """An icon that calls itself small; Pillow decodes it to learn its size."""
    stream = io.BytesIO()
    Image.new("L", (side, side)).save(stream, "PNG")
    inner = stream.getvalue()
    return struct.pack("<HHHBBBBHHII", 0, 1, 1, 16, 16, 0, 0, 1, 32, len(inner), 22) + inner


def jpeg(scans: int) -> bytes:
    """A progressive JPEG that repeats its last scan: 60 bytes cost a pass over the whole image."""
    stream = io.BytesIO()
    Image.new("L", (64, 64), 128).save(stream, "JPEG", progressive=True)
    plain = stream.getvalue()
    return plain[:-2] + plain[plain.rindex(b"\xff\xda") : -2] * scans + plain[-2:]


def hidden(content: bytes) -> bytes:
    """The same scans, behind markers without a length."""
    first = content.index(b"\xff\xda") + 2
    return content[:first] + content[first:].replace(b"\xff\xda", b"\xff\x01\xff\xda")


def test_small_files_that_are_long_to_decode_are_refused(anna: Reviewer) -> None:
    tiff = io.BytesIO()
    Image.new("RGB", (64, 3000)).save(tiff, "TIFF", compression="jpeg", strip_size=64 * 3 * 16)
    film = jpeg(3) + b"\xff\xda\0\0" * 500  # what comes after the end is not decoded
    for content, status in (
        (icon(6000), 415),
        (jpeg(200), 413),
        (hidden(jpeg(200)), 413),
        (jpeg(3), 200),
        (film, 200),
        (tiff.getvalue(), 200),
    ):
        answer = anna.post("/api/predict", files={"images": ("x", content, "image/jpeg")})
        assert answer.status_code == status, answer.text


def test_decoding_that_takes_too_long_is_given_up(
    anna: Reviewer, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tagfill.serve import uploads

    go, begun = threading.Event(), []
    monkeypatch.setattr(uploads, "SECONDS", 0.2)
    monkeypatch.setattr(uploads, "_decode", lambda *_: begun.append(1) or go.wait(20))
    files = [("images", (f"{number}", b"x", "image/png")) for number in range(30)]
    answer = anna.post("/api/predict", files=files)
    go.set()
    assert answer.status_code == 429
    assert answer.headers["retry-after"]
    assert len(begun) <= uploads._decoders._max_workers  # the others never begin
    monkeypatch.undo()
    good = {"images": ("a.jpg", photo(service), "image/jpeg")}
    assert anna.post("/api/predict", files=good).status_code == 200


def test_explanations_keep_nobody_from_deciding(
    opened: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, explained = threading.Event(), opened[1].explain(Image.open(opened[0].paths[0]))
    monkeypatch.setattr(type(opened[1]), "explain", lambda *_: go.wait(30) and explained)
    with (
        listening(opened, tmp_path / "review.db") as (url, _),
        ThreadPoolExecutor(50) as pool,
    ):
        anna, tag = session(url, "Anna"), opened[1].bundle.classes[0]
        asked = [
            pool.submit(httpx.get, f"{url}/api/photos/{row}/heat", params={"tag": tag}, timeout=60)
            for row in range(MOST_EXPLAINED + 10)
        ]
        while sum(task.done() for task in asked) < 10:  # those there is no room for
            time.sleep(0.01)
        decision = {"photo": 0, "tag": tag, "value": "yes"}
        answer = anna.post("/api/review/decisions", json={"decisions": [decision]}, timeout=10)
        assert answer.status_code == 200
        go.set()
        statuses = [task.result().status_code for task in asked]
    assert sorted(statuses) == [200] * MOST_EXPLAINED + [429] * 10


@pytest.mark.parametrize("limits", [{"arriving_bytes": 150}, {"uploads": 1}])
def test_all_uploads_together_are_limited(limits: dict[str, int]) -> None:
    async def run() -> list[int]:
        arrived, go = asyncio.Event(), asyncio.Event()

        async def app(scope: Any, receive: Any, send: Any) -> None:
            arrived.set()
            await go.wait()
            await Response()(scope, receive, send)

        transport = httpx.ASGITransport(Gate(app, Policy(secret="x", **limits)))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            first = asyncio.create_task(client.post("/api/predict", content=b" " * 100))
            await arrived.wait()
            second = await client.post("/api/predict", content=b" " * 100)
            go.set()
            statuses = [(await first).status_code, second.status_code]
            third = await client.post("/api/predict", content=b" " * 100)
            assert second.headers["retry-after"]
            return [*statuses, third.status_code]

    assert asyncio.run(run()) == [200, 429, 200]


def test_a_refused_request_is_read_so_that_its_answer_arrives() -> None:
    pieces = [{"type": "http.request", "body": b" ", "more_body": more} for more in (1, 1, 0)]
    unread: list[int] = []

    async def receive() -> Any:
        return pieces.pop(0)

    async def send(message: Any) -> None:
        unread.append(len(pieces))

    headers = [(b"host", b"127.0.0.1"), (b"origin", b"http://evil.example")]
    scope = {"type": "http", "method": "POST", "path": "/api/review/undo", "headers": headers}
    asyncio.run(Gate(Response(), Policy(secret="x"))(scope, receive, send))
    assert unread == [0, 0]


def raw(port: int, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(request)
        return received(connection)


def received(connection: socket.socket) -> bytes:
    """What can be read until the connection ends, one way or the other."""
    content = []
    try:
        while more := connection.recv(1 << 20):
            content.append(more)
    except ConnectionError:
        pass
    return b"".join(content)


def test_requests_no_browser_would_send(opened: Any, tmp_path: Path) -> None:
    host = b"Host: 127.0.0.1\r\n"
    refused = [
        b"GET / HTTP/1.1\r\n\r\n",  # no host
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + host + b"X: a\rb\r\n\r\n",
        b"GET /\r\nX-Evil: 1 HTTP/1.1\r\n" + host + b"\r\n",
        b"POST /predict HTTP/1.1\r\n" + host + b"Content-Length: -5\r\n\r\n",
        b"POST /predict HTTP/1.1\r\n"
        + host
        + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        b"POST /predict HTTP/1.1\r\n" + host + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    ]
    with listening(opened, tmp_path / "review.db") as (url, _):
        port = int(url.rpartition(":")[2])
        for request in refused:
            answer = raw(port, request)
            assert answer.startswith(b"HTTP/1.1 400 "), (request[:80], answer[:80])
        endless = b"GET / HTTP/1.1\r\n" + host + b"X: " + b"a" * 100_000
        assert raw(port, endless)[:13] in (b"", b"HTTP/1.1 400 ")  # cut off while still sending
        head = b"POST /health HTTP/1.1\r\n" + host + b"Connection: close\r\n"
        both = b"Content-Length: 40\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        smuggled = raw(port, head + both + b"GET /x HTTP/1.1\r\n")
        assert smuggled.count(b"HTTP/1.1 4") >= 1


def test_clients_that_do_not_read_are_cut_off(
    opened: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost, ends = threading.Event(), protocol.TimeoutProtocol.connection_lost
    monkeypatch.setattr(protocol, "READ_SECONDS", 0.3)
    monkeypatch.setattr(
        protocol.TimeoutProtocol,
        "connection_lost",
        lambda self, error: (ends(self, error), lost.set()),
    )
    with listening(opened, tmp_path / "review.db") as (url, service):
        monkeypatch.setattr(service.pictures, "jpeg", lambda row, size: b"\0" * 30_000_000)
        place = "127.0.0.1", int(url.rpartition(":")[2])
        with socket.create_connection(place, timeout=20) as connection:
            connection.sendall(b"GET /api/photos/0/picture HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert lost.wait(20)
            assert len(received(connection)) < 30_000_000


def test_json_made_to_break_the_reader(anna: Reviewer) -> None:
    kind = {"content-type": "application/json"}
    for body in (b"[" * 200_000, b'{"a":' * 50_000, b"\xff", b"9" * 10_000, b'{"decisions": NaN}'):
        answer = anna.post("/api/review/decisions", content=body, headers=kind)
        assert answer.status_code in (400, 422), answer.text
    digits = json.dumps({"photo": 10**400, "yes": []})
    assert anna.post("/api/review/complete", content=digits, headers=kind).status_code in (404, 422)
