"""Who is let in, and what is refused."""

from __future__ import annotations

import base64
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.serve.conftest import Reviewer

from tagfill.cli.main import main
from tagfill.errors import TagfillError
from tagfill.serve.app import create_app
from tagfill.serve.server import Options, build_service
from tagfill.serve.service import Service

TOKEN = "a-long-enough-token"
DECISION = {"decisions": [{"photo": 0, "tag": "boat", "value": "yes"}]}
CHANGES = (
    ("POST", "/api/review/decisions", DECISION),
    ("POST", "/api/review/undo", None),
    ("POST", "/api/labels", {"photos": [1], "tag": "boat", "value": "yes"}),
    ("POST", "/api/tags/rename", {"tag": "boat", "to": "ship"}),
    ("POST", "/api/jobs", None),
    ("PUT", "/api/runs/served", {"run": "first"}),
)


def client_of(opened: Any, folder: Path, **options: Any) -> Reviewer:
    service = build_service(*opened, Options(database=str(folder / "review.db"), **options))
    return Reviewer(create_app(service), base_url="http://127.0.0.1:8731")


def png(size: tuple[int, int] = (8, 8)) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", size, "gray").save(stream, "PNG")
    return stream.getvalue()


@pytest.mark.parametrize(("method", "path", "body"), CHANGES)
def test_changes_need_the_csrf_token_of_the_session(
    service: Service, method: str, path: str, body: Any
) -> None:
    client = Reviewer(create_app(service), base_url="http://127.0.0.1:8731")
    assert client.request(method, path, json=body).status_code == 403
    client.get("/api/session")
    assert client.request(method, path, json=body).status_code == 403
    wrong = {"x-csrf-token": "0" * 64}
    assert client.request(method, path, json=body, headers=wrong).status_code == 403
    assert not len(service.ledger)


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_requests_from_other_sites_are_refused(
    anna: Reviewer, service: Service, headers: dict[str, str]
) -> None:
    assert anna.post("/api/review/decisions", json=DECISION, headers=headers).status_code == 403
    files = {"images": ("a.png", png(), "image/png")}
    assert anna.post("/api/predict", files=files, headers=headers).status_code == 403
    assert anna.get("/api/photos/0/picture", headers=headers).status_code == 403
    assert not len(service.ledger)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8731", "127.0.0.1.evil.example", "", "a b", "[::1"]
)
def test_other_host_names_are_refused(anna: Reviewer, host: str) -> None:
    for path in ("/", "/api/session", "/api/review", "/static/js/main.js", "/healthz"):
        assert anna.get(path, headers={"host": host}).status_code == 400


def test_this_machine_by_its_usual_names(anna: Reviewer) -> None:
    for host in ("localhost", "LOCALHOST:8731", "127.0.0.1", "[::1]:8731"):
        assert anna.get("/api/session", headers={"host": host}).status_code == 200


def test_session_cookies_stay_with_this_site(service: Service) -> None:
    client = Reviewer(create_app(service), base_url="http://127.0.0.1:8731")
    cookie = client.get("/").headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    forged = {"cookie": "tagfill_8731=" + "0" * 32 + "." + "0" * 64}
    other = Reviewer(create_app(service), base_url="http://127.0.0.1:8731")
    assert other.get("/api/session", headers=forged).json()["name"] != "guest-0000"


def test_every_answer_has_the_headers_that_protect_it(anna: Reviewer) -> None:
    for path in ("/", "/api/review", "/api/nothing", "/static/js/main.js", "/api/photos/0/picture"):
        headers = anna.get(path).headers
        policy = headers["content-security-policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert "access-control-allow-origin" not in headers


def test_pages_hold_no_inline_script_or_style() -> None:
    from tagfill.serve.app import STATIC

    page = (STATIC / "index.html").read_text()
    assert "<script>" not in page
    assert "style=" not in page
    for file in Path(str(STATIC)).rglob("*.js"):
        text = file.read_text()
        assert "innerHTML" not in text, file
        assert "http://" not in text.replace("http://www.w3.org", ""), file
        assert "https://" not in text, file


def test_every_text_is_there_in_both_languages() -> None:
    from tagfill.serve.app import STATIC

    def keys(language: str) -> dict[str, set[str]]:
        text = (STATIC / "js" / "strings" / f"{language}.js").read_text()
        pairs = re.findall(r'^  "?([\w.{}]+)"?: "(.*)",$', text, re.MULTILINE)
        return {key: set(re.findall(r"\{(\w+)\}", value)) for key, value in pairs}

    english, german = keys("en"), keys("de")
    assert len(english) > 150
    assert english == german  # the same keys, with the same places for values
    scripts = [path.read_text() for path in Path(str(STATIC / "js")).rglob("*.js")]
    used = {key for text in scripts for key in re.findall(r'\bt\("([^"]+)"', text)}
    assert used <= set(english)


def test_a_token_is_needed_where_one_is_set(opened: Any, tmp_path: Path) -> None:
    client = client_of(opened, tmp_path, host="0.0.0.0", token=TOKEN)
    right = {"authorization": f"Bearer {TOKEN}"}
    password = base64.b64encode(f"user:{TOKEN}".encode()).decode()
    assert client.get("/healthz").status_code == 200
    for path in ("/api/review", "/api/photos/0/picture", "/metrics", "/api/openapi.json"):
        assert client.get(path).status_code == 401
        assert client.get(path, headers={"authorization": "Bearer wrong"}).status_code == 401
        assert client.get(path, headers={"authorization": "Basic !!"}).status_code == 401
        assert client.get(path, headers=right).status_code == 200
    basic = {"authorization": f"Basic {password}"}
    assert client.get("/api/review", headers=basic).status_code == 200
    answer = client.post("/api/review/decisions", json=DECISION, headers=right)
    assert answer.status_code == 200
    assert client.get("/api/review/history", headers=right).json()[0]["who"] == "api"
    page = client.get("/", headers={"accept": "text/html"}, follow_redirects=False)
    assert (page.status_code, page.headers["location"]) == (303, "/login?next=/")
    page = client.get("/data?q=red+boat", headers={"accept": "text/html"}, follow_redirects=False)
    assert page.headers["location"] == "/login?next=/data%3Fq%3Dred%2Bboat"


def test_signing_in_with_the_token_begins_a_session(opened: Any, tmp_path: Path) -> None:
    client = client_of(opened, tmp_path, token=TOKEN)
    assert client.post("/login", data={"token": "wrong-token"}).status_code == 401
    assert client.get("/api/review").status_code == 401
    assert client.post("/login", data={"token": TOKEN}).status_code == 200
    client.begin().say(0, "boat")
    again = client_of(opened, tmp_path, token=TOKEN + "2")
    again.cookies = client.cookies
    assert again.get("/api/review").status_code == 401


def test_a_page_that_does_not_exist_says_so_to_people_and_programs(anna: Reviewer) -> None:
    page = anna.get("/nothing", headers={"accept": "text/html"})
    assert (page.status_code, page.headers["content-type"][:9]) == (404, "text/html")
    assert anna.get("/nothing").json() == {"detail": "Not Found"}
    assert anna.get("/api/nothing", headers={"accept": "text/html"}).json()["detail"]


def test_read_only_servers_change_nothing(opened: Any, tmp_path: Path) -> None:
    client = client_of(opened, tmp_path, read_only=True).begin()
    for method, path, body in CHANGES:
        assert client.request(method, path, json=body).status_code == 403
    assert client.get("/api/review").status_code == 200
    files = {"images": ("a.png", png(), "image/png")}
    assert client.post("/api/predict", files=files).status_code == 200


def test_other_addresses_need_a_token(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", str(run), "--host", "0.0.0.0"]) == 2
    assert "--token" in capsys.readouterr().err
    with pytest.raises(TagfillError, match="short"):
        Options(token="short")


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/static/..%2f..%2fserver.py",
        "/static//etc/passwd",
        "/api/photos/../../etc/passwd/picture",
        "/api/photos/-1/picture",
        "/api/photos/999999999999/picture",
        "/api/photos/0/heat?tag=../../etc/passwd",
        "/api/runs/..%2f..%2f..",
        "/api/runs/%2e%2e",
        "/api/runs/first/compare/..%2f..",
        "/api/jobs/..%2f..",
        "/api/review/tags/..%2f..%2fetc",
    ],
)
def test_no_path_leads_out(anna: Reviewer, path: str) -> None:
    answer = anna.get(path)
    assert answer.status_code in (400, 404, 422)
    assert "root:" not in answer.text


@pytest.mark.parametrize("text", ["' OR 1=1 --", "boat'; DROP TABLE decisions; --", "<b>x</b>"])
def test_odd_tags_are_only_text(anna: Reviewer, service: Service, text: str) -> None:
    anna.say(0, text)
    assert text in anna.get("/api/photos/0").json()["yes"]
    assert anna.get("/api/review/tags/" + text).json()["tag"] == text
    assert anna.get("/api/photos", params={"q": text}).json()["total"] == 1
    assert len(service.ledger) == 1


@pytest.mark.parametrize("tag", ["", "  ", "a\nb", "a\0b", "\ud800", "x" * 201])
def test_tags_that_are_no_text_are_refused(anna: Reviewer, tag: str) -> None:
    body = json.dumps({"decisions": [{"photo": 0, "value": "yes", "tag": tag}]})
    answer = anna.post(
        "/api/review/decisions", content=body, headers={"content-type": "application/json"}
    )
    assert answer.status_code == 422


def test_bodies_that_are_too_large_are_refused(anna: Reviewer, service: Service) -> None:
    limit = service.policy.body_bytes
    large = {"content-type": "application/json"}
    answer = anna.post("/api/review/decisions", content=b" " * (limit + 1), headers=large)
    assert answer.status_code == 413

    def pieces() -> Any:  # without a content length
        for _ in range(limit // 100_000 + 2):
            yield b" " * 100_000

    assert anna.post("/api/review/decisions", content=pieces(), headers=large).status_code == 413
