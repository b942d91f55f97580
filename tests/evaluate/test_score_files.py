from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from tagfill.errors import TagfillError
from tagfill.evaluate.scores import load_scores
from tagfill.labels import LabelTable

TABLE = LabelTable(("a.jpg", "b c/é.jpg"), ("cat", "dog"), np.array([[1, 0], [0, -1]]))
EXPECTED = [[0.9, 0.2], [0.1, 0.7]]


def written(tmp_path, text, name="scores.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_csv_is_matched_by_image_and_class(tmp_path):
    path = written(tmp_path, "image,dog,cat\nb c/é.jpg,0.7,0.1\na.jpg,0.2,0.9\n")
    loaded = load_scores(path, TABLE)
    np.testing.assert_array_equal(loaded.scores, EXPECTED)
    assert loaded.notes == ()


def test_image_column_may_stand_anywhere_or_come_first_under_any_name(tmp_path):
    for text in ("cat,image,dog\n0.9,a.jpg,0.2\n0.1,b c/é.jpg,0.7\n",
                 "file,cat,dog\n./a.jpg,0.9,0.2\nb c\\é.jpg,0.1,0.7\n"):  # fmt: skip
        np.testing.assert_array_equal(load_scores(written(tmp_path, text), TABLE).scores, EXPECTED)


def test_byte_order_mark_and_windows_line_ends(tmp_path):
    path = written(tmp_path, "\ufeffimage,cat,dog\r\na.jpg,0.9,0.2\r\nb c/é.jpg,0.1,0.7\r\n")
    np.testing.assert_array_equal(load_scores(path, TABLE).scores, EXPECTED)


def test_numbers_as_image_ids(tmp_path):
    table = LabelTable(("007", "8"), ("cat",), np.array([[1], [0]]))
    path = written(tmp_path, "image,cat\n8,0.1\n007,0.9\n")
    np.testing.assert_array_equal(load_scores(path, table).scores, [[0.9], [0.1]])


def test_what_is_not_used_is_noted(tmp_path):
    path = written(
        tmp_path, "image,cat,dog,cow\na.jpg,0.9,0.2,x\nz.jpg,1,1,x\nb c/é.jpg,0.1,0.7,x\n"
    )
    loaded = load_scores(path, TABLE)
    np.testing.assert_array_equal(loaded.scores, EXPECTED)
    images, columns = loaded.notes
    assert "images" in images
    assert "columns" in columns


def test_parquet_and_matrix(tmp_path):
    content = pa.table({"image": TABLE.images[::-1], "cat": [0.1, 0.9], "dog": [0.7, 0.2]})
    parquet.write_table(content, tmp_path / "scores.parquet")
    np.save(tmp_path / "scores.npy", np.array(EXPECTED, np.float32))
    for name in ("scores.parquet", "scores.npy"):
        np.testing.assert_allclose(load_scores(tmp_path / name, TABLE).scores, EXPECTED)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("image,cat,dog\na.jpg,0.9,0.2\n", "1 of 2 images .* 'b c/é.jpg'"),
        ("image,cat\na.jpg,0.9\nb c/é.jpg,0.1\n", "1 of 2 classes .* 'dog'"),
        ("image,cat,dog\na.jpg,0.9,0.2\nb c/é.jpg,0.1,\n", "row 3: .*'b c/é.jpg', class 'dog'"),
        ("image,cat,dog\na.jpg,nan,0.2\nb c/é.jpg,0.1,1\n", "row 2: .*not finite"),
        ("image,cat,dog\na.jpg,inf,0.2\nb c/é.jpg,0.1,1\n", "row 2: .*not finite"),
        ("image,cat,dog\na.jpg,high,0.2\nb c/é.jpg,0.1,1\n", "'high'"),
        ("image,cat,dog\na.jpg,1,0\nb c/é.jpg,0,0\na.jpg,1,1\n", "row 4: image 'a.jpg' .*twice"),
        ("image,cat,dog\na.jpg,1\n", "columns"),
        ("image,cat,cat,dog\na.jpg,1,1,1\nb c/é.jpg,1,1,1\n", "'cat' .*twice"),
        ("", "[Ee]mpty"),
    ],
)
def test_bad_csv_is_refused_with_its_place(tmp_path, text, message):
    with pytest.raises(TagfillError, match=message) as caught:
        load_scores(written(tmp_path, text), TABLE)
    assert str(caught.value.file).endswith("scores.csv")


def test_text_that_is_not_utf8_is_refused(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_bytes("image,cat,dog\na.jpg,1,0\nb c/é.jpg,0,0\n".encode("latin-1"))
    with pytest.raises(TagfillError, match="UTF"):
        load_scores(path, TABLE)


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.zeros((2, 3)), r"\(2, 3\).*\(2, 2\)"),
        (np.array([["a", "b"], ["c", "d"]]), "numbers"),
        (np.array([[0.1, np.nan], [0, 0]]), "image 'a.jpg', class 'dog'"),
    ],
)
def test_bad_matrix_is_refused(tmp_path, matrix, message):
    np.save(tmp_path / "scores.npy", matrix)
    with pytest.raises(TagfillError, match=message):
        load_scores(tmp_path / "scores.npy", TABLE)


def test_pickled_matrix_is_refused(tmp_path):
    np.save(tmp_path / "scores.npy", np.array([[None]]), allow_pickle=True)
    with pytest.raises(TagfillError, match="matrix"):
        load_scores(tmp_path / "scores.npy", TABLE)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(TagfillError, match="no such"):
        load_scores(tmp_path / "scores.csv", TABLE)
    with pytest.raises(TagfillError, match=r"\.parquet"):
        load_scores(written(tmp_path, "x", "scores.txt"), TABLE)
    with pytest.raises(TagfillError, match="parquet"):
        load_scores(written(tmp_path, "x", "scores.parquet"), TABLE)


def test_parquet_with_text_for_scores_is_refused(tmp_path):
    content = pa.table({"image": TABLE.images, "cat": ["x", "y"], "dog": [0.7, 0.2]})
    parquet.write_table(content, tmp_path / "scores.parquet")
    with pytest.raises(TagfillError, match="'cat' are not numbers"):
        load_scores(tmp_path / "scores.parquet", TABLE)
