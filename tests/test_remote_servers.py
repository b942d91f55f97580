"""Web servers that fail, lie, stay silent or want a password: one sentence that is true."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path, PurePosixPath

import pytest

from tagfill import patience, remote
from tagfill.cli.main import main
from tagfill.errors import TagfillError

pytest.importorskip("aiohttp")
LABELS = b"image,a,b\nx.jpg,1,0\ny.jpg,0,1\n"
OVER = threading.Event()


class Server(BaseHTTPRequestHandler):
    """Does what the address says."""

    def do_GET(self) -> None:
        if self.command == "GET" and "/never/" in self.path:
            self.never_end()
            return
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

    def never_end(self) -> None:
        """Headers, bytes or links without end, slowly or quickly."""
        what = PurePosixPath(self.path).stem
        with suppress(OSError):
            if what == "headers":
                self.wfile.write(b"HTTP/1.1 200 OK\r\n")
                self.repeat(b"X: a\r\n", 0.1)
                return
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            if what == "drip":
                self.repeat(b"a", 0.1)
            elif what == "flood":
                self.repeat(b"a" * 100_000, 0)
            elif what == "tags":
                self.wfile.write(b"<a " * 300_000)
            else:
                self.wfile.write(b'<a href="deeper/">x</a>')

    def repeat(self, piece: bytes, pause: float) -> None:
        while not OVER.wait(pause):
            self.wfile.write(piece)

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
    monkeypatch.setattr(patience, "SILENCE", 0.5)


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
        ("silent", "cannot be downloaded after 2 attempts (it does not answer)"),
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


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, limit in {
        "HEADER_SECONDS": 1.0,
        "SLOW_SECONDS": 1.0,
        "LARGEST_UNTOLD": 10**7,
        "LARGEST_IMAGE": 10**7,
        "LARGEST_IN_MEMORY": 10**7,
    }.items():
        monkeypatch.setattr(patience, name, limit)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("drip", "arrives too slowly"),
        ("flood", "is larger than 10,000,000 bytes"),
        ("headers", "cannot be downloaded after 2 attempts (it does not answer)"),
    ],
)
def test_servers_that_never_end_are_given_up(
    name: str, told: str, place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As a file of labels, as an image of a table, and as an image to tag."""
    began = time.monotonic()
    assert main(["inspect", f"http://{place}/never/{name}.csv"]) == 2
    assert told in capsys.readouterr().err
    table = tmp_path / "labels.csv"
    table.write_text(f"image,a,b\n{name}.jpg,1,0\n")
    assert main(["inspect", str(table), "--images", f"http://{place}/never"]) == 2
    assert told in capsys.readouterr().err
    with pytest.raises(TagfillError, match=re.escape(told)):
        remote.RemoteFile(f"http://{place}/never/{name}.jpg").read()
    assert time.monotonic() - began < 40
    assert not [file for file in tmp_path.rglob("*") if file.stat().st_size > 10**6]


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("links", "links to too many folders"),
        ("flood", "is larger than 10,000,000 bytes"),
        ("tags", None),
    ],
)
def test_lists_of_files_that_never_end_are_given_up(
    name: str, told: str | None, place: str
) -> None:
    remote.allow(url := f"http://{place}/never/{name}")
    began = time.monotonic()
    if told is None:
        assert list(remote.remote_files(url, [".jpg"])) == []
    else:
        with pytest.raises(TagfillError, match=told):
            list(remote.remote_files(url, [".jpg"]))
    assert time.monotonic() - began < 40


def test_a_file_of_this_machine_is_no_address(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "file:///etc/passwd"]) == 2
    assert "write it as a plain path" in capsys.readouterr().err
