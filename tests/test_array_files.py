"""Array files of anybody: numbers, or one sentence; no pickle, no pipe, no more than the file."""

from __future__ import annotations

import os
import pickle
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.predict.tiny import feature_bundle

from tagfill.array_files import read_array, read_parquet, release_pages
from tagfill.cli.main import main
from tagfill.errors import TagfillError
from tagfill.evaluate.scores import load_scores
from tagfill.labels import LabelTable
from tagfill.labels.dataset import load_features
from tagfill.labels.formats.parquet import FORMAT
from tagfill.labels.io import load_labels
from tagfill.linear.basis import blocks
from tagfill.linear.stream import gathered

MATRIX = np.arange(20, dtype=np.float32).reshape(4, 5)
IMAGES = [f"{number}.jpg" for number in range(len(MATRIX))]


def npy(header: str, content: bytes = MATRIX.tobytes()) -> bytes:
    """A file with any header."""
    text = header.encode() + b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(text)) + text + content


def plain(shape: str, kind: str = "'<f4'") -> bytes:
    return npy(f"{{'descr': {kind}, 'fortran_order': False, 'shape': {shape}}}")


BROKEN: dict[str, bytes] = {
    "empty": b"",
    "magic": b"\x93NUMPY",
    "version": b"\x93NUMPY\x09\0" + bytes(200),
    "pickle": pickle.dumps(MATRIX),
    "objects": plain("(4, 5)", "'|O'"),
    "times": plain("(4, 5)", "'<M8[s]'"),
    "code": plain("(4, 5)", "__import__('os').abort()"),
    "deep": npy("(" * 9000),
    "bools": plain("(True, 5)"),
    "negative": plain("(4, -5)"),
    "huge": plain("(4, 99999999999)"),
    "cut": plain("(4, 50)"),
    "wide_type": plain("(4, 5)", "('<f4', (1000000000,))"),
}


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("name", BROKEN)
def test_broken_files_are_refused(name: str, mapped: bool, tmp_path: Path) -> None:
    file = tmp_path / "x.npy"
    file.write_bytes(BROKEN[name])
    with pytest.raises(TagfillError, match=r"x\.npy: is not a readable \.npy file"):
        read_array(file, mapped=mapped)


PLACES: dict[str, Callable[[Path], object]] = {
    "pipe": os.mkfifo,
    "device": lambda file: file.symlink_to("/dev/zero"),
    "folder": Path.mkdir,
    "circle": lambda file: file.symlink_to(file),
    "nothing": lambda file: None,
}


@pytest.mark.parametrize("name", PLACES)
def test_only_regular_files_are_opened(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.npy"
    PLACES[name](file)
    feature_bundle().save(tmp_path / "model")
    assert main(["predict", str(tmp_path / "model"), str(file)]) == 2
    assert "Traceback" not in capsys.readouterr().err
    with pytest.raises(TagfillError, match=r"x\.npy: (is not a regular file|no such file)"):
        load_features([file], IMAGES)


@pytest.mark.parametrize(
    "matrix",
    [
        np.asfortranarray(MATRIX),
        MATRIX.astype(">f4"),
        MATRIX.astype("<f2"),
        MATRIX.astype(np.longdouble),
        MATRIX.astype(np.int64),
    ],
    ids=["fortran", "big_endian", "half", "long", "whole"],
)
def test_every_layout_of_numbers_gives_the_same_tags(
    matrix: np.ndarray, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    feature_bundle().save(tmp_path / "model")
    told = []
    for name, content in (("x.npy", MATRIX), ("x.npy", matrix)):
        np.save(tmp_path / name, content)
        assert main(["predict", str(tmp_path / "model"), str(tmp_path / name)]) == 0
        told.append(capsys.readouterr().out)
    assert told[0] == told[1]
    assert load_features([tmp_path / "x.npy"], IMAGES).tolist() == MATRIX.tolist()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300, -1e19])
def test_rows_that_are_no_usual_numbers_are_named(
    value: float, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.npy"
    matrix = MATRIX.astype(np.float64)
    matrix[2, 1] = value
    np.save(file, matrix)
    with pytest.raises(TagfillError, match=r"1 rows of features .* first: '2\.jpg'"):
        load_features([file], IMAGES)
    if abs(value) < 3e38:
        return
    feature_bundle().save(tmp_path / "model")
    assert main(["predict", str(tmp_path / "model"), str(file)]) == 1
    seen = capfd.readouterr()
    assert seen.out.count("#") == len(MATRIX) - 1
    assert "nan" not in seen.out
    assert "x.npy#2: the features hold NaN" in seen.err
    assert "Warning" not in seen.err


@pytest.mark.parametrize("matrix", [np.float32(3), MATRIX[0], MATRIX[:, :3], MATRIX[..., None]])
def test_shapes_that_do_not_fit_the_model(
    matrix: np.ndarray, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "x.npy", matrix)
    feature_bundle().save(tmp_path / "model")
    assert main(["predict", str(tmp_path / "model"), str(tmp_path / "x.npy")]) == 2
    assert "the model reads features of shape [images, 5]" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["x.npz", "x.parquet", "toy"])
def test_features_that_are_no_array_file(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "x.npz", MATRIX)
    labels = tmp_path / "labels.csv"
    labels.write_text("image,a,b\n" + "".join(f"{image},1,\n" for image in IMAGES))
    words = ["train", labels, "--features", tmp_path / name, "--out", tmp_path / "run"]
    assert main([str(word) for word in words]) == 2
    told = capsys.readouterr().err
    assert "there is no feature set" in told
    assert ".npy file with one row per image" in told


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="resident pages: Linux only")
def test_what_was_read_of_a_mapped_file_does_not_stay_in_memory(tmp_path: Path) -> None:
    path, megabytes = tmp_path / "many.npy", 64
    np.lib.format.open_memmap(path, "w+", np.float16, (megabytes << 10, 512)).flush()
    features = read_array(path, mapped=True)
    before = resident_file_pages()
    for _ in blocks(features, "plain"):
        assert resident_file_pages() - before < megabytes / 4
    spread = np.arange(0, len(features), 2)
    assert gathered(features, spread).shape == (len(spread), 512)
    assert resident_file_pages() - before < megabytes / 4


def test_released_pages_are_read_again_and_changes_are_kept(tmp_path: Path) -> None:
    np.save(tmp_path / "few.npy", MATRIX)
    for mode in ("r", "r+", "c"):
        mapped = np.load(tmp_path / "few.npy", mmap_mode=mode)
        if mode != "r":
            mapped[0] += 1
        expected = mapped.copy()
        release_pages(mapped)
        assert np.array_equal(mapped, expected)
    release_pages(MATRIX)


def resident_file_pages() -> float:
    """Megabytes of mapped files in memory."""
    lines = Path("/proc/self/status").read_text().splitlines()
    sizes = dict(line.split(":", 1) for line in lines)
    return sum(int(sizes[name].split()[0]) for name in ("RssFile", "RssShmem")) / 1024


def test_a_small_file_that_unpacks_to_gigabytes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tagfill.array_files.MOST_UNPACKED", 1_000_000)
    monkeypatch.setattr("tagfill.array_files.MOST_TIMES", 10)
    rows, text = 2_000_000, pa.array(["a" * 10_000])
    tables = {
        "equal.parquet": pa.table({"image": pa.array(np.zeros(rows, dtype=np.int8))}),
        "texts.parquet": pa.table({"image": pa.DictionaryArray.from_arrays([0] * 1_000, text)}),
    }
    labels = LabelTable(("a.jpg",), ("cat",), np.full((1, 1), -1))
    for name, table in tables.items():
        file = tmp_path / name
        parquet.write_table(table, file)
        assert file.stat().st_size < 10_000
        for read in (read_parquet, load_labels, lambda file: load_scores(file, labels)):
            with pytest.raises(TagfillError, match=f"{name}: unpacks to more than"):
                read(file)
    packed = pa.ipc.IpcWriteOptions(compression="zstd")
    folder = tmp_path / "saved"
    folder.mkdir()
    (folder / "dataset_info.json").write_text("{}")
    with pa.OSFile(str(folder / "data-0.arrow"), "wb") as sink:
        schema = tables["equal.parquet"].schema
        with pa.ipc.new_stream(sink, schema, options=packed) as stream:
            stream.write_table(tables["equal.parquet"], max_chunksize=100_000)
    with pytest.raises(TagfillError, match=r"data-0\.arrow: unpacks to more than"):
        load_labels(folder)


def test_equal_images_do_not_fill_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tagfill.array_files.MOST_UNPACKED", 1_000_000)
    monkeypatch.setattr("tagfill.array_files.MOST_TIMES", 10)
    images = [{"path": f"{number}.jpg", "bytes": b"a" * 10_000} for number in range(200)]
    file = tmp_path / "images.parquet"
    parquet.write_table(pa.table({"image": images, "tags": [["cat"]] * 200}), file)
    assert FORMAT.images is not None
    with pytest.raises(TagfillError, match="unpacks to more than"):
        list(FORMAT.images(file))
