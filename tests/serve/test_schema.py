"""The interface keeps to its own description: schemathesis against /api/openapi.json."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from tests.serve.conftest import Reviewer

from tagfill.serve.app import create_app
from tagfill.serve.server import Options, build_service

schemathesis = pytest.importorskip("schemathesis")
TOKEN = "a-long-enough-token"
HEADERS = {"authorization": f"Bearer {TOKEN}", "host": "127.0.0.1"}
ASIDE = ("/api/jobs", "/api/explain", "/api/runs/served")
"""Trainings are not started a dozen times; explain reads the same bodies as predict."""

NOT_NOW = {"/api/review/accept": 409, "/api/runs/served": 404, "/api/session": 400}
"""Sound requests that are refused here: too few answers, no such run, a program's name."""


@pytest.fixture
def app(opened: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder: Path = tmp_path_factory.mktemp("schema")
    service = build_service(*opened, Options(database=str(folder / "r.db"), token=TOKEN))
    yield create_app(service)
    service.close()


def test_every_operation_keeps_to_its_description(app: Any) -> None:
    client = Reviewer(app, base_url="http://127.0.0.1")
    document = client.get("/api/openapi.json", headers=HEADERS).json()
    for path in ASIDE:
        document["paths"].pop(path, None)
    schema = schemathesis.openapi.from_dict(document)
    schema.app = app
    assert sum(len(_statuses(operation.ok())) for operation in schema.get_all_operations()) > 100


def _statuses(operation: Any) -> list[int]:
    """Try an operation with what its description allows, and with what it does not.

    That a text is the base64 of a picture is beyond what a schema can say, so valid requests may
    be refused.
    """
    statuses: list[int] = []

    @settings(
        max_examples=6,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        derandomize=True,
        database=None,
    )
    @given(case=operation.as_strategy())
    def keeps(case: Any) -> None:
        response = case.call(headers=HEADERS, base_url="http://127.0.0.1")
        statuses.append(response.status_code)
        case.validate_response(response, excluded_checks=[positive_data_acceptance])

    from schemathesis.specs.openapi.checks import positive_data_acceptance

    keeps()
    assert statuses, operation.path
    return statuses


def test_the_description_has_examples_and_names_all_that_is_promised(app: Any) -> None:
    document = (
        Reviewer(app, base_url="http://127.0.0.1").get("/api/openapi.json", headers=HEADERS).json()
    )
    promised = {"/api/predict", "/api/explain", "/api/labels", "/api/review", "/api/runs"}
    promised |= {"/api/jobs", "/healthz", "/readyz", "/metrics", "/predict", "/setup", "/health"}
    assert promised <= set(document["paths"])
    body = document["paths"]["/api/predict"]["post"]["requestBody"]["content"]
    assert set(body) == {"multipart/form-data", "application/json"}
    assert body["application/json"]["example"]


def test_every_body_has_an_example_that_is_accepted(app: Any) -> None:
    client = Reviewer(app, base_url="http://127.0.0.1", headers=HEADERS)
    document = client.get("/api/openapi.json").json()
    schemas, tried = document["components"]["schemas"], 0
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            body = operation.get("requestBody", {}).get("content", {}).get("application/json")
            if body is None:
                continue
            schema = body["schema"].get("anyOf", [body["schema"]])[0]
            name = schema.get("$ref", "").rpartition("/")[2]
            example = body.get("example") or schemas[name]["examples"][0]
            answer = client.request(method, path, json=example)
            assert answer.status_code == NOT_NOW.get(path, 200), (path, answer.text)
            tried += 1
    assert tried >= 13
