"""Attacks on every door: what is refused, and with which status."""

from __future__ import annotations

import asyncio
import json
import threading
import time
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
from tests.serve.test_predict import photo
from tests.serve.test_security import TOKEN, client_of

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


def test_json_made_to_break_the_reader(anna: Reviewer) -> None:
    kind = {"content-type": "application/json"}
    for body in (b"[" * 200_000, b'{"a":' * 50_000, b"\xff", b"9" * 10_000, b'{"decisions": NaN}'):
        answer = anna.post("/api/review/decisions", content=body, headers=kind)
        assert answer.status_code in (400, 422), answer.text
    digits = json.dumps({"photo": 10**400, "yes": []})
    assert anna.post("/api/review/complete", content=digits, headers=kind).status_code in (404, 422)
