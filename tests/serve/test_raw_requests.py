"""Requests written by hand, byte by byte: the right status, nothing echoed, nothing smuggled."""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.serve.conftest import Reviewer
from tests.serve.live import listening, session

from tagfill.serve import protocol

HOST, CLOSE = b"Host: 127.0.0.1\r\n", b"Connection: close\r\n"
TOKEN = "schlüssel-für-alle"
UPGRADE = b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNh\r\n"


@pytest.fixture(scope="module")
def port(opened: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with listening(opened, tmp_path_factory.mktemp("raw") / "review.db") as (url, _):
        yield int(url.rpartition(":")[2])


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


def request(line: bytes, *headers: bytes, body: bytes = b"") -> bytes:
    more = b"".join(header + b"\r\n" for header in headers)
    return line + b" HTTP/1.1\r\n" + HOST + CLOSE + more + b"\r\n" + body


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1])


CHUNKED = b"Transfer-Encoding: chunked"


@pytest.mark.parametrize(
    ("sent", "wanted"),
    [
        (request(b"GET /api/review", b"Origin: http://[::1"), 403),
        (request(b"GET /api/review", b"Origin: null"), 403),
        (request(b"GET http://127.0.0.1/healthz"), 400),
        (request(b"GET http://evil.example/api/review"), 400),
        (request(b"OPTIONS *"), 400),
        (request(b"GET /static/%c0%ae%c0%ae/server.py"), 404),
        (request(b"GET /static/%00"), 404),
        (request(b"GET /static/" + b"a" * 5_000), 404),
        (request(b"GET /\xff"), 400),
        (request(b"POST /api/predict", b"Content-Length: 4", CHUNKED, body=b"0\r\n\r\n"), 400),
        (request(b"POST /api/predict", CHUNKED, b"Transfer-Encoding: x", body=b"0\r\n\r\n"), 400),
        (request(b"POST /api/predict", b"Transfer-Encoding : chunked", body=b"0\r\n\r\n"), 400),
        (request(b"POST /api/predict", CHUNKED, body=b"-5\r\nabcde\r\n0\r\n\r\n"), 400),
        (request(b"POST /api/predict", b"Content-Length: " + b"9" * 40), 400),
        (request(b"GET /healthz", b"X: a\r\nHost: evil.example"), 400),
        (b"GET / HTTP/1.0\r\n\r\n", 400),  # no name of the server
        (b"GET /healthz HTTP/1.0\r\n" + HOST + b"\r\n", 200),
        (b"GET /\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03\r\n\r\n", 400),
        (request(b"GET /healthz", b"Upgrade: h2c"), 200),
        (request(b"CONNECT /healthz"), 405),
        (request(b"DELETE /api/review"), 403),
    ],
)
def test_the_right_status(port: int, sent: bytes, wanted: int) -> None:
    answer = raw(port, sent)
    assert status(answer) == wanted, answer[:200]


def test_requests_no_browser_would_send(port: int) -> None:
    refused = [
        b"GET / HTTP/1.1\r\n\r\n",  # no host
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: evil.example\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"X: a\rb\r\n\r\n",
        b"GET /\r\nX-Evil: 1 HTTP/1.1\r\n" + HOST + b"\r\n",
        b"POST /predict HTTP/1.1\r\n" + HOST + b"Content-Length: -5\r\n\r\n",
        b"POST /predict HTTP/1.1\r\n"
        + HOST
        + b"Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        b"POST /predict HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    ]
    for sent in refused:
        answer = raw(port, sent)
        assert answer.startswith(b"HTTP/1.1 400 "), (sent[:80], answer[:80])
    endless = b"GET / HTTP/1.1\r\n" + HOST + b"X: " + b"a" * 100_000
    assert raw(port, endless)[:13] in (b"", b"HTTP/1.1 400 ")  # cut off while still sending
    head = b"POST /health HTTP/1.1\r\n" + HOST + CLOSE
    both = b"Content-Length: 40\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
    smuggled = raw(port, head + both + b"GET /x HTTP/1.1\r\n")
    assert smuggled.count(b"HTTP/1.1 4") >= 1


def test_a_second_request_in_the_body_of_a_first_is_not_answered(port: int) -> None:
    inner = b"GET /api/review HTTP/1.1\r\n" + HOST + b"\r\n"
    head = b"POST /api/predict HTTP/1.1\r\n" + HOST
    lengths = b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" % (
        5 + len(inner)
    )
    answer = raw(port, head + lengths + inner)
    assert status(answer) == 400
    assert answer.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize("path", [b"/", b"/healthz", b"/api/review", b"/static/index.html"])
def test_head_is_get_without_a_body(port: int, path: bytes) -> None:
    with_body, without = (raw(port, request(method + path)) for method in (b"GET ", b"HEAD "))
    assert status(with_body) == status(without) == 200
    head, _, body = without.partition(b"\r\n\r\n")
    assert body == b""
    names = [line.split(b":")[0] for line in head.split(b"\r\n")]
    assert names == [line.split(b":")[0] for line in with_body.split(b"\r\n\r\n")[0].split(b"\r\n")]


def test_what_a_client_sends_is_not_echoed(port: int) -> None:
    for method in (b"TRACE", b"OPTIONS"):
        answer = raw(port, request(method + b" /healthz", b"X-Secret: xyzzy", b"Cookie: a=xyzzy"))
        assert status(answer) == 405
        assert b"xyzzy" not in answer  # no hexadecimal digits: fresh cookies have those


def test_no_protocol_is_changed(port: int) -> None:
    sent = b"GET /healthz HTTP/1.1\r\n" + HOST + b"Upgrade: websocket\r\n" + UPGRADE + b"\r\n"
    with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
        connection.sendall(sent)
        assert b" 200 " in connection.recv(4096)


def test_bodies_that_never_end_are_cut_off(
    opened: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Chunks, extensions of chunks, trailers, headers: one by one, for as long as it is allowed."""
    monkeypatch.setattr(protocol, "HEADER_SECONDS", 0.5)
    image = b"POST /api/predict HTTP/1.1\r\n" + HOST + b"Content-Type: image/png\r\n"
    begun = [
        (image + CHUNKED + b"\r\n\r\n", b"1\r\na\r\n", b" 408 "),
        (image + CHUNKED + b"\r\n\r\n1;", b"a", b" 408 "),
        (image + CHUNKED + b"\r\n\r\n0\r\n", b"X: a\r\n", b" 408 "),
        (image + b"Content-Length: 9999\r\n\r\n", b"a", b" 408 "),
        (b"GET / HTTP/1.1\r\n", b"X: a\r\n", b""),
        (b"GET /", b"a", b""),
    ]
    with listening(opened, tmp_path / "review.db") as (url, service):
        object.__setattr__(service.policy, "body_seconds", 0.5)
        port = int(url.rpartition(":")[2])
        ends: dict[int, tuple[bytes, float]] = {}

        def drip(number: int) -> None:
            head, piece, _ = begun[number]
            began = time.monotonic()
            with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
                try:
                    connection.sendall(head)
                    while time.monotonic() - began < 20:
                        connection.sendall(piece)
                        time.sleep(0.1)
                except ConnectionError:
                    pass
                ends[number] = received(connection), time.monotonic() - began

        threads = [threading.Thread(target=drip, args=(number,)) for number in range(len(begun))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert session(url).get("/healthz").status_code == 200
    for number, (_, _, told) in enumerate(begun):
        answer, seconds = ends[number]
        assert told in answer, begun[number]
        assert seconds < 15, begun[number]


def test_floods_of_headers_are_cut_off(port: int) -> None:
    flood = b"".join(b"X%d: %s\r\n" % (number, b"a" * 1_000) for number in range(2_000))
    for head in (b"GET / HTTP/1.1\r\n", b"POST /predict HTTP/1.1\r\n" + CHUNKED + b"\r\n\r\n0\r\n"):
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            with contextlib.suppress(ConnectionError):
                connection.sendall(head + HOST + flood)
            assert received(connection)[:13] in (b"", b"HTTP/1.1 400 ")


def test_a_token_with_other_letters(opened: Any, tmp_path: Path) -> None:
    """Programs send UTF-8; another encoding of it is another token."""
    with listening(opened, tmp_path / "review.db", token=TOKEN) as (url, _):
        for encoding, wanted in (("utf-8", 200), ("latin-1", 401)):
            shown = TOKEN.encode(encoding)
            for proof in (b"Bearer " + shown, b"Basic " + base64.b64encode(b"anna:" + shown)):
                sent = request(b"GET /api/review", b"Authorization: " + proof)
                assert status(raw(int(url.rpartition(":")[2]), sent)) == wanted


@pytest.mark.parametrize("photo", ["true", '"0"', "null", "[0]", "1.5", "-1"])
def test_a_photo_is_a_number(anna: Reviewer, photo: str) -> None:
    body = f'{{"decisions": [{{"photo": {photo}, "tag": "boat", "value": "yes"}}]}}'
    answer = anna.post(
        "/api/review/decisions", content=body, headers={"content-type": "application/json"}
    )
    assert answer.status_code == 422
    assert anna.get("/api/review/history").json() == []


def test_a_key_given_twice_counts_once(anna: Reviewer) -> None:
    decision = '{"photo": 0, "photo": 1, "tag": "boat", "value": "no", "value": "yes"}'
    kind = {"content-type": "application/json"}
    body = f'{{"decisions": [{decision}]}}'
    assert anna.post("/api/review/decisions", content=body, headers=kind).status_code == 200
    (line,) = json.loads(anna.get("/api/review/history").text)
    assert (line["photo"], line["value"]) == (1, 1)


def test_broken_forms_write_nothing_to_the_log(
    port: int, capfd: pytest.CaptureFixture[str]
) -> None:
    form = (b"Content-Type: multipart/form-data; boundary=x", b"Content-Length: 3")
    assert status(raw(port, request(b"POST /api/predict", *form, body=b"abc"))) == 400
    assert capfd.readouterr().err == ""


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
