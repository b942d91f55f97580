"""Labels and images behind URLs: an S3 server of the test's own, a flaky network, strangers."""

from __future__ import annotations

import csv
import io
import json
import tarfile

import fsspec
import pyarrow as pa
import pytest
from PIL import Image
from pyarrow import parquet
from tests.predict.tiny import image_bundle

from tagfill import remote
from tagfill.cli.main import main
from tagfill.errors import Problems, TagfillError
from tagfill.labels.io import load_labels
from tagfill.labels.packed import unpacked
from tagfill.train.config import DataConfig
from tagfill.train.data import prepare

CLASSES = ("sky", "sea")
NAMES = tuple(f"{number:02}.png" for number in range(10))
LABELS = "image,sky,sea\n" + "".join(
    f"{name},{number % 2},{'' if number % 3 else 1}\n" for number, name in enumerate(NAMES)
)


def picture(number: int) -> bytes:
    content = io.BytesIO()
    Image.new("RGB", (40, 30), (20 * number, 90, 200)).save(content, "PNG")
    return content.getvalue()


FILES = {"labels.csv": LABELS.encode()} | {
    f"images/{name}": picture(number) for number, name in enumerate(NAMES)
}


@pytest.fixture(autouse=True)
def fresh(tmp_path, monkeypatch):
    """Nothing fetched, nothing named, no waiting."""
    monkeypatch.setenv("TAGFILL_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("TAGFILL_REMOTE", raising=False)
    monkeypatch.setattr(remote, "_named", set())
    monkeypatch.setattr(remote, "PAUSE", 0.0)


@pytest.fixture(scope="module")
def bucket():
    """A bucket on a server of our own."""
    server = pytest.importorskip("moto.server").ThreadedMotoServer(port=0, verbose=False)
    pytest.importorskip("s3fs")
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", "test")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        system = fsspec.filesystem("s3")
        system.mkdir("photos")
        for name, content in FILES.items():
            system.pipe_file(f"photos/set/{name}", content)
        yield "s3://photos/set"
    server.stop()


@pytest.fixture
def memory():
    system = fsspec.filesystem("memory")
    for name, content in FILES.items():
        system.pipe_file(f"/set/{name}", content)
    yield "memory://set"
    system.rm("/set", recursive=True)


@pytest.fixture
def local(tmp_path):
    folder = tmp_path / "set"
    (folder / "images").mkdir(parents=True)
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    return folder


def test_a_run_sees_the_same_labels_and_images_in_a_bucket(bucket, local):
    remote.allow(bucket)
    here = prepare(DataConfig(labels=str(local / "labels.csv")))
    there = prepare(DataConfig(labels=f"{bucket}/labels.csv").absolute())
    assert there.content_hash == here.content_hash
    assert [path.read_bytes() for path in there.train.paths] == [
        path.read_bytes() for path in here.train.paths
    ]


def packed() -> dict[str, bytes]:
    """The same images and labels in two tar shards, and in a parquet file."""
    shards = {"shards/0.tar": io.BytesIO(), "shards/1.tar": io.BytesIO()}
    rows = list(csv.DictReader(io.StringIO(LABELS)))
    for start, shard in enumerate(shards.values()):
        with tarfile.open(fileobj=shard, mode="w") as archive:
            for number, row in list(enumerate(rows))[start::2]:
                name = row.pop("image")
                labels = {tag: int(value) for tag, value in row.items() if value}
                members = {name: picture(number), name.replace("png", "json"): labels}
                for member, content in members.items():
                    data = (
                        content
                        if isinstance(content, bytes)
                        else json.dumps({"labels": content}).encode()
                    )
                    info = tarfile.TarInfo(member)
                    info.size = len(data)
                    archive.addfile(info, io.BytesIO(data))
    images = [{"bytes": picture(number), "path": name} for number, name in enumerate(NAMES)]
    tags = [[tag for tag in CLASSES if row[tag] == "1"] for row in rows]
    file = io.BytesIO()
    parquet.write_table(pa.table({"image": images, "tags": tags}), file)
    return {name: shard.getvalue() for name, shard in shards.items()} | {
        "data.parquet": file.getvalue()
    }


@pytest.mark.parametrize("name", ["shards", "shards/0.tar", "data.parquet"])
def test_images_inside_of_shards_are_data_here_and_in_a_bucket(bucket, local, name):
    (local / "shards").mkdir()
    for path, content in packed().items():
        (local / path).write_bytes(content)
        fsspec.filesystem("s3").pipe_file(f"photos/set/{path}", content)
    remote.allow(bucket)
    expected = {file: picture(number) for number, file in enumerate(NAMES)}
    for source in (f"{local}/{name}", f"{bucket}/{name}"):
        data = prepare(DataConfig(labels=source, val_fraction=0.2).absolute())
        for split in data.splits.values():
            for image, path in zip(split.table.images, split.paths, strict=True):
                assert path.read_bytes() == expected[image]
        assert sum(data.sizes.values()) == (5 if name.endswith("0.tar") else 10)
        values = dict(zip(data.train.table.images, data.train.table.values, strict=True))
        column = data.classes.index("sky")
        for image, labels in values.items():
            assert (labels[column] == 1) == (int(image[:2]) % 2 == 1)


def test_images_are_unpacked_once_and_not_outside(local, monkeypatch):
    (local / "shards").mkdir()
    for path, content in packed().items():
        (local / path).write_bytes(content)
    with tarfile.open(local / "shards" / "2.tar", "w") as archive:
        for name in ("../../evil.png", "../../evil.json"):
            info = tarfile.TarInfo(name)
            info.size = 2
            archive.addfile(info, io.BytesIO(b"{}"))
    dataset = load_labels(local / "shards", problems=Problems())
    folder = unpacked(dataset)
    assert sorted(path.name for path in folder.glob("*.png")) == sorted(NAMES)
    assert not list(local.parent.rglob("evil*"))
    monkeypatch.setattr("tagfill.labels.packed.atomic_path", None)
    assert unpacked(dataset) == folder
    remote.prune(-1)
    assert not folder.exists()
    assert unpacked(load_labels(local / "labels.csv")) is None


def test_a_remote_folder_without_shards_is_one_message(memory):
    remote.allow(memory)
    with pytest.raises(TagfillError, match="it has no file"):
        load_labels(f"{memory}/images")


def test_inspect_opens_what_the_user_names(bucket, capsys):
    words = ["inspect", f"{bucket}/labels.csv", "--images", f"{bucket}/images", "--json"]
    assert main(words) == 0
    files = json.loads(capsys.readouterr().out)["image_files"]
    assert (files["checked"], files["missing"], files["unreadable"]) == (len(NAMES), [], [])


def test_changed_labels_are_fetched_again(memory):
    remote.allow(memory)
    before = load_labels(f"{memory}/labels.csv").table
    fsspec.filesystem("memory").pipe_file("/set/labels.csv", LABELS.replace(",1,", ",0,").encode())
    assert load_labels(f"{memory}/labels.csv").table.positives < before.positives


def test_a_network_that_fails_twice_is_asked_again(memory, monkeypatch):
    remote.allow(memory)
    system, asked = type(fsspec.filesystem("memory")), []
    fetch = system.get_file

    def flaky(self, url, *rest, **options):
        asked.append(url)
        if asked.count(url) <= 2:
            raise ConnectionResetError("reset by peer")
        return fetch(self, url, *rest, **options)

    monkeypatch.setattr(system, "get_file", flaky)
    assert len(load_labels(f"{memory}/labels.csv").table) == len(NAMES)
    assert len(asked) == 3
    monkeypatch.setattr(remote, "ATTEMPTS", 2)
    with pytest.raises(
        TagfillError, match=r"cannot be downloaded after 2 attempts .*check address"
    ):
        remote.local_images(remote.Path(f"{memory}/images"), NAMES)


def test_what_was_fetched_is_read_without_the_network(memory, monkeypatch):
    remote.allow(memory)
    config = DataConfig(labels=f"{memory}/labels.csv", images=f"{memory}/images")
    hash_then = prepare(config).content_hash
    monkeypatch.setattr(remote, "_named", set())
    monkeypatch.setattr(remote._Store, "of", lambda url: pytest.fail(f"asked for {url}"))
    assert prepare(config).content_hash == hash_then


def test_a_url_that_only_a_file_names_is_not_followed(memory, local, monkeypatch):
    monkeypatch.setattr(remote._Store, "of", lambda url: pytest.fail(f"asked for {url}"))
    with pytest.raises(TagfillError, match=r"not downloaded .*TAGFILL_REMOTE=memory://set"):
        prepare(DataConfig(labels=f"{memory}/labels.csv"))
    with pytest.raises(TagfillError, match="not downloaded"):
        prepare(DataConfig(labels=str(local / "labels.csv"), images=f"{memory}/images"))
    remote.allow("memory://elsewhere/x.csv")
    with pytest.raises(TagfillError, match="not downloaded"):
        load_labels(f"{memory}/labels.csv")


def test_image_names_lead_nowhere_else(memory, tmp_path):
    remote.allow(memory)
    names = ["00.png", "../labels.csv", "memory://set/labels.csv", "/etc/passwd", "gone.png"]
    folder = remote.local_images(remote.Path(f"{memory}/images"), names)
    assert [path.name for path in folder.rglob("*") if path.is_file()] == ["00.png"]


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("memory://set/gone.csv", "no such file"),
        ("nosuch://set/labels.csv", "not an address that can be opened"),
    ],
)
def test_a_bad_address_is_one_message(url, told, memory, capsys):
    assert main(["inspect", url]) == 2
    message = capsys.readouterr().err
    assert told in message
    assert url in message


def test_predict_streams_a_bucket_and_keeps_nothing(bucket, local, tmp_path, capsys):
    model = str(image_bundle().save(tmp_path / "run" / "model").parent)
    tags = {}
    for place in (f"{bucket}/images", str(local / "images")):
        assert main(["predict", model, place, "--format", "jsonl", "--quiet"]) == 0
        lines = map(json.loads, capsys.readouterr().out.splitlines())
        tags[place] = [(line["image"].removeprefix(place), line["tags"]) for line in lines]
    assert tags[f"{bucket}/images"] == tags[str(local / "images")]
    assert len(tags[str(local / "images")]) == len(NAMES)
    assert not (tmp_path / "cache" / "remote").exists()
