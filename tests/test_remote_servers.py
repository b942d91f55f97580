"""Web servers that fail, lie, stay silent or want a password: one sentence that is true."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tagfill import remote
from tagfill.cli.main import main

pytest.importorskip("aiohttp")
LABELS = b"image,a,b\nx.jpg,1,0\ny.jpg,0,1\n"
OVER = threading.Event()


class Server(BaseHTTPRequestHandler):
    """Does what the address says."""

    def do_GET(self) -> None:
        name = self.path.partition("?")[0].strip("/").removesuffix(".csv")
        if name == "silent":
            OVER.wait(30)
            return
        self.send_response(
            {"missing": 404, "closed": 401, "broken": 500, "moved": 302}.get(name, 200)
        )
        if name == "moved":
            self.send_header("Location", "file:///etc/passwd")
        self.send_header("Content-Length", str({"cut": 10**6}.get(name, len(LABELS))))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(LABELS)

    do_HEAD = do_GET

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def place() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        OVER.set()
        server.shutdown()


@pytest.fixture(autouse=True)
def fresh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAGFILL_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(remote, "_named", set())
    monkeypatch.setattr(remote, "PAUSE", 0.0)
    monkeypatch.setattr(remote, "ATTEMPTS", 2)
    monkeypatch.setattr(remote, "SILENCE", 0.5)


def test_labels_of_a_web_server(place: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", f"http://{place}/good.csv"]) == 0
    assert "2" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("missing", "no such file"),
        ("closed", "may not be read"),
        ("broken", "cannot be downloaded after 2 attempts (500"),
        ("moved", "cannot be downloaded after 2 attempts"),
        ("cut", "cannot be downloaded after 2 attempts"),
        ("silent", "cannot be downloaded after 2 attempts"),
    ],
)
def test_what_is_wrong_is_said_without_the_password(
    name: str, told: str, place: str, capsys: pytest.CaptureFixture[str]
) -> None:
    word = "secret"
    assert main(["inspect", f"http://anna:{word}@{place}/{name}.csv?key={word}"]) == 2
    seen = capsys.readouterr().err
    assert f"tagfill: http://anna:***@{place}/{name}.csv?***: {told}" in seen
    assert "secret" not in seen
    assert "Traceback" not in seen


def test_a_file_of_this_machine_is_no_address(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "file:///etc/passwd"]) == 2
    assert "write it as a plain path" in capsys.readouterr().err
