"""Slow and broken clients, and a database that is down, do no harm."""

from __future__ import annotations

import socket
import time
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError
from tests.serve.conftest import Reviewer
from tests.serve.live import listening, session

from tagfill.cli.main import main
from tagfill.serve import protocol
from tagfill.serve.service import Service


def test_clients_that_never_finish_are_cut_off(
    opened: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "HEADER_SECONDS", 0.3)
    with listening(opened, tmp_path / "review.db") as (url, service):
        object.__setattr__(service.policy, "body_seconds", 0.3)
        port = int(url.rpartition(":")[2])
        halves = [
            b"",
            b"GET /healthz HTTP/1.1\r\nHost: 127.0",
            b"POST /api/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: image/png\r\n"
            b"Content-Length: 1000\r\n\r\nabc",
        ]
        slow = []
        for half in halves:
            connection = socket.create_connection(("127.0.0.1", port), timeout=10)
            connection.sendall(half)
            slow.append(connection)
        began = time.monotonic()
        answers = [connection.recv(4096) for connection in slow]
        assert time.monotonic() - began < 5
        assert answers[:2] == [b"", b""]
        assert b" 408 " in answers[2]
        assert session(url).get("/healthz").status_code == 200


def test_a_refused_client_may_go_on_after_the_rest_of_its_request(
    opened: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time for its next request begins when the refused one has ended."""
    monkeypatch.setattr(protocol, "HEADER_SECONDS", 1.0)
    with listening(opened, tmp_path / "review.db") as (url, service):
        object.__setattr__(service.policy, "body_bytes", 100)
        port = int(url.rpartition(":")[2])
        chunk = b"c8\r\n" + b"x" * 200 + b"\r\n"
        csrf, cookie = credentials(url)
        with socket.create_connection(("127.0.0.1", port), timeout=10) as connection:
            connection.sendall(
                f"POST /api/review/undo HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: {cookie}\r\n"
                f"X-CSRF-Token: {csrf}\r\nContent-Type: application/json\r\n"
                "Transfer-Encoding: chunked\r\n\r\n".encode()
                + chunk
            )
            answer = b""
            while not answer.endswith(b"}"):
                more = connection.recv(4096)
                assert more, "closed before it had answered"
                answer += more
            assert b" 413 " in answer
            for piece in (chunk, chunk, b"0\r\n\r\n"):
                connection.sendall(piece)
                time.sleep(0.3)
            time.sleep(0.4)
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert b" 200 " in connection.recv(4096)


def credentials(url: str) -> tuple[str, str]:
    """The CSRF token of a new session, and its cookie."""
    client = session(url)
    ((name, value),) = client.cookies.items()
    return client.headers["x-csrf-token"], f"{name}={value}"


def test_silent_clients_make_room_for_new_ones(
    opened: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(protocol, "MOST_CONNECTIONS", 3)
    with listening(opened, tmp_path / "review.db") as (url, _):
        port = int(url.rpartition(":")[2])
        clients = [HTTPConnection("127.0.0.1", port, timeout=10) for _ in range(6)]
        for client in clients:
            assert healthy(client)
        assert [client.sock.recv(1) for client in clients[:3]] == [b"", b"", b""]
        assert healthy(clients[5])
        for client in clients:
            client.close()


def healthy(client: HTTPConnection) -> bool:
    client.request("GET", "/healthz")
    answer = client.getresponse()
    answer.read()
    return answer.status == 200


def test_requests_cut_off_half_way_leave_the_server_well(opened: Any, tmp_path: Path) -> None:
    with listening(opened, tmp_path / "review.db") as (url, _):
        port = int(url.rpartition(":")[2])
        for _ in range(20):
            connection = socket.create_connection(("127.0.0.1", port), timeout=10)
            connection.sendall(
                b"POST /api/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999\r\n"
                b"Content-Type: multipart/form-data; boundary=x\r\n\r\n--x\r\nContent-"
            )
            connection.close()
        for junk in (b"\0\0\0\0\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\x16\x03\x01" * 50):
            connection = socket.create_connection(("127.0.0.1", port), timeout=10)
            connection.sendall(junk)
            connection.close()
        metrics = session(url).get("/metrics").text
        assert 'status="500"' not in metrics


def test_a_port_that_is_taken_is_told_before_anything_is_loaded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert main(["serve", str(tmp_path / "no run"), "--port", port]) == 2
    told = capsys.readouterr().err
    assert f"cannot listen on 127.0.0.1, port {port}" in told
    assert "another --port" in told
    assert main(["serve", str(tmp_path), "--host", "no.such.host.invalid", "--token", "x" * 9]) == 2
    assert "cannot listen on no.such.host.invalid" in capsys.readouterr().err


def test_without_a_database_requests_are_refused_for_now(
    anna: Reviewer, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down() -> Any:
        raise OperationalError("SELECT", {}, OSError("gone"))

    monkeypatch.setattr(service.database, "read", down)
    for path in ("/api/review", "/readyz", "/api/photos/0"):
        assert anna.get(path).status_code == 503
