"""Images that are sent: tags, heat maps, limits."""

from __future__ import annotations

import base64
import io
import threading
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tests.serve.conftest import Reviewer

from tagfill.errors import TagfillError
from tagfill.models.bundle import Bundle
from tagfill.models.deploy import METADATA
from tagfill.serve import uploads
from tagfill.serve.app import create_app
from tagfill.serve.batcher import Batcher, QueueFullError
from tagfill.serve.server import Options, build_service, open_service
from tagfill.serve.service import Service


def photo(service: Service, row: int = 0) -> bytes:
    return service.library.paths[row].read_bytes()


def bomb(side: int = 30_000) -> bytes:
    """A small PNG that claims to be very large."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        check = zlib.crc32(kind + data).to_bytes(4, "big")
        return len(data).to_bytes(4, "big") + kind + data + check

    header = side.to_bytes(4, "big") * 2 + bytes([8, 0, 0, 0, 0])
    rows = zlib.compress(b"\0" * 1_000_000, 9)
    signature = b"\x89PNG\r\n\x1a\n"
    return signature + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def test_the_same_tags_as_the_command_line(anna: Reviewer, service: Service) -> None:
    expected = service.model.bundle.predict(service.library.paths[0])[0].tags
    answer = anna.post(
        "/api/predict", files={"images": ("../../etc/x.jpg", photo(service), "image/jpeg")}
    ).json()
    tags = {entry["tag"]: entry["probability"] for entry in answer["predictions"][0]["tags"]}
    assert tags == pytest.approx(expected, abs=2e-3)
    assert answer["predictions"][0]["name"] == "../../etc/x.jpg"  # shown, never opened


def test_forms_json_and_plain_images_give_the_same(anna: Reviewer, service: Service) -> None:
    content = photo(service)
    text = base64.b64encode(content).decode()
    several = [("images", (f"{n}.jpg", photo(service, n), "image/jpeg")) for n in range(3)]
    form = anna.post("/api/predict?top=3", files=several).json()["predictions"]
    plain = {"content-type": "image/jpeg"}
    answers = [
        anna.post("/api/predict?top=3", json={"images": [text]}),
        anna.post("/api/predict?top=3", json={"image": f"data:image/jpeg;base64,{text}"}),
        anna.post("/api/predict?top=3", content=content, headers=plain),
    ]
    assert len(form) == 3
    for answer in answers:
        tags = answer.json()["predictions"][0]["tags"]
        assert [entry["tag"] for entry in tags] == [entry["tag"] for entry in form[0]["tags"]]


def test_one_broken_image_does_not_spoil_the_others(anna: Reviewer, service: Service) -> None:
    files = [
        ("images", ("a.jpg", photo(service), "image/jpeg")),
        ("images", ("b.jpg", b"nothing", "image/jpeg")),
    ]
    good, bad = anna.post("/api/predict", files=files).json()["predictions"]
    assert good["error"] is None
    assert bad["error"]
    assert bad["tags"] == []


@pytest.mark.parametrize(
    ("content", "status"),
    [(b"nothing", 415), (b"", 415), (bomb(), 413), (b"\xff\xd8\xff" + b"\0" * 50, 415)],
)
def test_what_is_no_image_is_refused(anna: Reviewer, content: bytes, status: int) -> None:
    for path in ("/api/predict", "/api/explain"):
        answer = anna.post(path, files={"images": ("x.png", content, "image/png")})
        assert answer.status_code == status, answer.text


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"[" * 100_000, 400),
        (b"{}", 422),
        (b'{"images": 3}', 422),
        (b'{"images": ["@@"]}', 422),
        (b'{"images": []}', 422),
        (b"\xff\xfe", 400),
    ],
)
def test_malformed_json_is_refused(anna: Reviewer, body: bytes, status: int) -> None:
    headers = {"content-type": "application/json"}
    assert anna.post("/api/predict", content=body, headers=headers).status_code == status


def test_malformed_forms_are_refused(anna: Reviewer) -> None:
    for kind in ("multipart/form-data", "multipart/form-data; boundary=x", "text/plain", ""):
        headers = {"content-type": kind}
        answer = anna.post("/api/predict", content=b"--x\r\nfoo", headers=headers)
        assert answer.status_code in (400, 415, 422)


def test_too_many_images_are_refused(anna: Reviewer, service: Service) -> None:
    files = [("images", (f"{n}", b"x", "image/png")) for n in range(uploads.MOST_IMAGES + 1)]
    assert anna.post("/api/predict", files=files).status_code in (400, 413)


def test_explanations_show_where_and_what_was_alike(anna: Reviewer, service: Service) -> None:
    row = int(service.library.splits["train"][0])
    files = {"images": ("x.jpg", photo(service, row), "image/jpeg")}
    answer = anna.post("/api/explain?top=2&nearest=3", files=files).json()
    chances = [entry["probability"] for entry in answer["tags"]]
    assert len(chances) == len(service.model.bundle.classes)
    assert chances == sorted(chances, reverse=True)
    heat = base64.b64decode(answer["tags"][0]["heat"].partition(",")[2])
    assert Image.open(io.BytesIO(heat)).format == "JPEG"
    assert all(0 <= place <= 1 for place in answer["tags"][0]["peak"])
    assert answer["tags"][2]["heat"] is None
    assert answer["nearest"][0]["photo"] == row
    assert answer["nearest"][0]["similarity"] == pytest.approx(1, abs=0.01)


def test_the_first_explanation_does_not_wait_for_features(opened: Any, tmp_path: Path) -> None:
    library, model = opened
    fresh = replace(model)
    service = build_service(library, fresh, Options(database=str(tmp_path / "review.db")))
    assert "_training" not in vars(fresh)
    service.warm()
    service._explainer.submit(lambda: None).result(120)
    assert "_training" in vars(fresh)
    service.close()


def test_heat_maps_of_served_photos(anna: Reviewer, service: Service) -> None:
    tag = service.model.bundle.classes[0]
    answer = anna.get("/api/photos/0/heat", params={"tag": tag})
    assert Image.open(io.BytesIO(answer.content)).format == "JPEG"
    assert anna.get("/api/photos/0/heat", params={"tag": "nothing"}).status_code == 404


def test_pictures_are_encoded_again_without_metadata(
    anna: Reviewer, service: Service, tmp_path: Any
) -> None:
    picture = Image.open(io.BytesIO(anna.get("/api/photos/0/picture?size=160").content))
    assert picture.format == "JPEG"
    assert max(picture.size) <= 160
    assert not picture.getexif()
    assert anna.get("/api/photos/0/picture?size=5000").status_code == 422


class Slow:
    """An engine that waits to be let go."""

    class metadata:
        size = 2

    def __init__(self) -> None:
        self.go, self.batches = threading.Event(), []

    def probabilities(self, inputs: np.ndarray) -> np.ndarray:
        self.go.wait(10)
        self.batches.append(len(inputs))
        return inputs[:, 0, 0, :1]


def test_what_waits_goes_through_the_model_together() -> None:
    engine = Slow()
    batcher = Batcher(lambda: engine, most=4, room=8)  # type: ignore[arg-type, return-value]
    images = [np.full((3, 2, 2), n, dtype=np.float32) for n in range(9)]
    first = batcher.submit(images[0])
    while batcher._queue.qsize():
        pass
    rest = [batcher.submit(image) for image in images[1:]]
    with pytest.raises(QueueFullError):
        batcher.submit(images[0])
    engine.go.set()
    assert [float(future.result(5)[0]) for future in (first, *rest)] == [float(n) for n in range(9)]
    batcher.close()
    assert sum(engine.batches) == 9
    assert max(engine.batches) == 4


def test_a_full_queue_says_when_to_come_back(
    anna: Reviewer, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(image: Any) -> Any:
        raise QueueFullError

    monkeypatch.setattr(service.batcher, "submit", full)
    files = {"images": ("x.jpg", photo(service), "image/jpeg")}
    answer = anna.post("/api/predict", files=files)
    assert answer.status_code == 429
    assert int(answer.headers["retry-after"]) >= 1


def test_many_clients_get_their_own_answers(anna: Reviewer, service: Service) -> None:
    def ask(row: int) -> list[str]:
        files = {"images": ("x.jpg", photo(service, row), "image/jpeg")}
        tags = anna.post("/api/predict?top=5", files=files).json()["predictions"][0]["tags"]
        return [entry["tag"] for entry in tags]

    alone = [ask(row) for row in range(6)]
    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(ask, range(6))) == alone


def brightness(path: Path, bundle: Bundle) -> None:
    """An export that calls every tag as likely as the picture is bright."""
    onnx = pytest.importorskip("onnx")
    helper, metadata = onnx.helper, bundle.metadata
    size, count = metadata.size, len(metadata.classes)
    weights = np.full((3, count), 1 / 3, dtype=np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("GlobalAveragePool", ["pixels"], ["pooled"]),
            helper.make_node("Flatten", ["pooled"], ["flat"]),
            helper.make_node("MatMul", ["flat", "weights"], ["probabilities"]),
            helper.make_node("Identity", ["probabilities"], ["logits"]),
        ],
        "brightness",
        [helper.make_tensor_value_info("pixels", 1, ["batch", 3, size, size])],
        [
            helper.make_tensor_value_info(name, 1, ["batch", count])
            for name in ("probabilities", "logits")
        ],
        [onnx.numpy_helper.from_array(weights, "weights")],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    helper.set_model_props(made, {METADATA: metadata.to_json()})
    onnx.save(made, path)


def test_an_exported_file_answers_in_place_of_torch(run: Path, opened: Any, tmp_path: Path) -> None:
    brightness(tmp_path / "model.onnx", opened[1].bundle)
    options = Options(database=str(tmp_path / "r.db"), engine=tmp_path / "model.onnx")
    service = open_service(run, options)
    client = Reviewer(create_app(service), base_url="http://127.0.0.1:8731").begin()
    stream = io.BytesIO()
    Image.new("RGB", (40, 30), (51, 51, 51)).save(stream, "PNG")
    files = {"images": ("gray.png", stream.getvalue(), "image/png")}
    tags = client.post("/api/predict?threshold=0", files=files).json()["predictions"][0]["tags"]
    assert {tag["tag"] for tag in tags} == set(service.model.bundle.classes)
    assert [tag["probability"] for tag in tags] == pytest.approx([0.2] * len(tags), abs=1e-3)
    service.close()
    others = replace(opened[1].bundle, classes=opened[1].bundle.classes[::-1])
    brightness(tmp_path / "other.onnx", others)
    with pytest.raises(TagfillError, match="not an export"):
        open_service(run, replace(options, engine=tmp_path / "other.onnx"))
