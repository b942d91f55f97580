"""The ML backend protocol of Label Studio."""

from __future__ import annotations

import base64
import json

import httpx
import pytest
from tests.serve.conftest import Reviewer

from tagfill.serve.api.studio import find_photo
from tagfill.serve.service import Service

CONFIG = """<View><Image name="picture" value="$image"/>
<Choices name="things" toName="picture" choice="multiple">{}</Choices></View>"""


def config(service: Service) -> str:
    choices = (f'<Choice value="{name}"/>' for name in service.model.bundle.classes)
    return CONFIG.format("".join(choices))


def predicted(client: Reviewer, service: Service, *images: str) -> list[dict]:
    tasks = [{"id": n, "data": {"image": image}} for n, image in enumerate(images)]
    body = {"tasks": tasks, "label_config": config(service), "project": "1.2", "params": {}}
    answer = client.post("/predict", json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()["results"]


def test_health_and_setup(anna: Reviewer) -> None:
    assert anna.get("/health").json()["status"] == "UP"
    body = {"project": "1.1", "schema": "<View/>", "hostname": "http://x", "access_token": "t"}
    assert "first" in anna.post("/setup", json=body).json()["model_version"]
    assert anna.post("/webhook", json={"action": "ANNOTATION_CREATED"}).status_code == 200


def test_tasks_are_found_by_name_and_get_the_models_tags(anna: Reviewer, service: Service) -> None:
    image, path = service.library.table.images[0], service.library.paths[0]
    content = base64.b64encode(path.read_bytes()).decode()
    expected = set(service.model.bundle.predict(path)[0].tags)
    addresses = [
        image,
        f"/data/upload/3/8f3ab2c1-{path.name}",
        f"/data/local-files/?d={image}",
        f"http://studio.example/{path.name}",
        f"data:image/jpeg;base64,{content}",
    ]
    for result in predicted(anna, service, *addresses):
        (choices,) = result["result"]
        assert set(choices["value"]["choices"]) == expected
        assert (choices["from_name"], choices["to_name"]) == ("things", "picture")
        assert 0 <= result["score"] <= 1


@pytest.mark.parametrize(
    "address",
    ["http://127.0.0.1:1/x.jpg", "file:///etc/passwd", "../../etc/passwd", "data:image/png,@", ""],
)
def test_addresses_are_never_fetched(anna: Reviewer, service: Service, address: str) -> None:
    assert find_photo(service, address) is None
    assert predicted(anna, service, address)[0]["result"] == []


def test_label_studio_accepts_the_predictions(anna: Reviewer, service: Service) -> None:
    reason = "label-studio-sdk is not installed (pip install --no-deps -r tests/serve/studio.txt)"
    interface = pytest.importorskip("label_studio_sdk.label_interface", reason=reason)
    checks = interface.LabelInterface(config(service))
    sent: list[dict] = []

    def studio(request: httpx.Request) -> httpx.Response:
        sent.append(json.loads(request.content))
        return httpx.Response(201, json={"id": len(sent), **sent[-1]})

    from label_studio_sdk.client import LabelStudio

    client = LabelStudio(
        base_url="http://studio.example",
        api_key="0" * 40,
        httpx_client=httpx.Client(transport=httpx.MockTransport(studio)),
    )
    for number, result in enumerate(predicted(anna, service, *service.library.table.images[:5])):
        assert checks.validate_prediction(result, return_errors=True) == []
        (choices,) = result["result"]
        other = {**result, "result": [{**choices, "value": {"choices": ["no such tag"]}}]}
        assert checks.validate_prediction(other, return_errors=True)
        kept = client.predictions.create(task=number, **result)
        assert kept.result == result["result"]
        assert sent[-1] == {"task": number, **result}


RESULT = {
    "type": "object",
    "required": ["model_version", "score", "result"],
    "properties": {
        "model_version": {"type": "string"},
        "score": {"type": "number", "minimum": 0, "maximum": 1},
        "result": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["from_name", "to_name", "type", "value"],
                "properties": {
                    "type": {"const": "choices"},
                    "value": {
                        "type": "object",
                        "required": ["choices"],
                        "additionalProperties": False,
                        "properties": {"choices": {"type": "array", "items": {"type": "string"}}},
                    },
                },
            },
        },
    },
}
"""What Label Studio's documentation says a prediction is."""


def test_answers_have_the_form_label_studio_documents(anna: Reviewer, service: Service) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    for result in predicted(anna, service, *service.library.table.images[:5], "nothing.jpg"):
        jsonschema.validate(result, RESULT)
