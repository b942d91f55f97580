"""Models and labels on a hub: against a small server that speaks the hub's protocol."""

from __future__ import annotations

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from PIL import Image

from tagfill.cli.main import main
from tagfill.models.bundle import Bundle
from tagfill.models.network import build_network


class Hub(ThreadingHTTPServer):
    """Takes repositories and commits; refuses those without the right token."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.created, self.files = [], {}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Authorization") != "Bearer hf_right":
            self.answer({"error": "who are you?"}, 401)
        elif self.path == "/api/repos/create":
            request = json.loads(body)
            self.server.created.append(request)
            host = f"http://127.0.0.1:{self.server.server_port}"
            self.answer({"url": f"{host}/me/{request['name']}"})
        elif self.path == "/api/validate-yaml":
            self.answer({"errors": [], "warnings": []})
        elif "/preupload/" in self.path:
            files = json.loads(body)["files"]
            modes = [
                {"path": file["path"], "uploadMode": "regular", "shouldIgnore": False}
                for file in files
            ]
            self.answer({"files": modes})
        elif "/commit/" in self.path:
            for line in body.splitlines():
                entry = json.loads(line)
                if entry["key"] == "file":
                    value = entry["value"]
                    self.server.files[value["path"]] = base64.b64decode(value["content"])
            address = "http://127.0.0.1/me/it/commit/1"
            self.answer({"commitUrl": address, "commitOid": "1", "pullRequestUrl": None})
        else:
            self.answer({"error": self.path}, 404)

    def do_GET(self):
        self.answer({"sha": "0", "siblings": [], "id": "me/it", "name": "me", "type": "user"})

    def answer(self, content, status=200):
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *words):
        pass


@pytest.fixture
def hub(monkeypatch):
    server = Hub()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    monkeypatch.setenv("HF_TOKEN", "hf_right")
    yield server
    server.shutdown()
    server.server_close()


def test_a_model_is_pushed_with_its_card(hub, tmp_path, capsys):
    network = build_network("test_resnet", "linear", classes=2, size=64, pretrained=False)
    Bundle(network, ("cat", "dog")).save(tmp_path / "model")
    assert main(["push", str(tmp_path / "model"), "me/tagger", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "model"
    assert hub.created[0]["visibility"] == "private"
    assert hub.files["model.safetensors"] == (tmp_path / "model/model.safetensors").read_bytes()
    card = hub.files["README.md"].decode()
    assert card.startswith('---\nlibrary_name: "tagfill"')
    assert "`cat`, `dog`" in card
    assert not (tmp_path / "model" / "README.md").exists(), "the run stays as it is"


def test_labels_are_pushed_with_croissant_metadata(hub, tmp_path):
    labels = tmp_path / "done.csv"
    labels.write_text("image,cat,a dog\nx.jpg,1,0\ny.jpg,,1\n")
    assert main(["push", str(labels), "me/pets", "--public"]) == 0
    assert hub.created[0]["visibility"] == "public"
    assert hub.files["labels.csv"].decode().splitlines()[1] == "x.jpg,1,0"
    described = json.loads(hub.files["croissant.json"])
    assert described["conformsTo"] == "http://mlcommons.org/croissant/1.0"
    fields = described["recordSet"][0]["field"]
    assert [field["source"]["extract"]["column"] for field in fields] == ["image", "cat", "a dog"]
    assert len({field["@id"] for field in fields}) == 3


def test_images_are_pushed_with_their_labels(hub, tmp_path, capsys):
    photos = tmp_path / "photos" / "sub"
    photos.mkdir(parents=True)
    Image.new("RGB", (4, 4), "red").save(photos / "x.jpg")
    labels = tmp_path / "done.csv"
    labels.write_text("image,cat,=dog\nsub/x.jpg,1,0\n")
    words = ["push", str(labels), "me/pets", "--images", str(tmp_path / "photos")]
    assert main(words) == 0
    assert hub.files["data/sub/x.jpg"] == (photos / "x.jpg").read_bytes()
    line = json.loads(hub.files["data/metadata.jsonl"].decode().splitlines()[0])
    assert (line["file_name"], line["positives"], line["negatives"]) == (
        "sub/x.jpg",
        ["cat"],
        ["=dog"],
    )
    columns = json.loads(hub.files["croissant.json"])["recordSet"][0]["field"]
    header = hub.files["labels.csv"].decode().splitlines()[0].split(",")
    assert [column["source"]["extract"]["column"] for column in columns] == header
    assert columns[2]["name"] == "=dog"
    (photos / "x.jpg").unlink()
    assert main(words) == 2
    assert "1 images are not there, first: 'sub/x.jpg'" in capsys.readouterr().err


@pytest.mark.parametrize("token", ["hf_wrong", ""])
def test_a_refusal_is_one_sentence(token, hub, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", token)
    labels = tmp_path / "done.csv"
    labels.write_text("image,cat\nx.jpg,1\ny.jpg,0\n")
    assert main(["push", str(labels), "me/pets"]) == 2
    assert "HF_TOKEN" in capsys.readouterr().err
    assert not hub.files


def test_a_hub_that_is_not_there_is_one_sentence(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("HF_TOKEN", "hf_right")
    labels = tmp_path / "done.csv"
    labels.write_text("image,cat\nx.jpg,1\ny.jpg,0\n")
    assert main(["push", str(labels), "me/pets"]) == 2
    assert "the hub refused me/pets" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["me", "no such/name/at all", "me/", "me/my birds"])
def test_a_wrong_name_is_refused_before_anything_else(name, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    labels = tmp_path / "done.csv"
    labels.write_text("image,cat\nx.jpg,often\n")
    assert main(["push", str(labels), name]) == 2
    assert "use owner/name" in capsys.readouterr().err


def test_convert_describes_its_columns(tmp_path, capsys):
    labels = tmp_path / "tags.csv"
    labels.write_text("file,tags\nx.jpg,cat;dog\n")
    out = tmp_path / "wide.csv"
    assert main(["convert", str(labels), str(out), "--to", "jsonl", "--croissant"]) == 2
    assert main(["convert", str(labels), str(out), "--to", "csv_wide", "--croissant"]) == 0
    described = json.loads((tmp_path / "croissant.json").read_text())
    assert described["distribution"][0]["contentUrl"] == "wide.csv"
