"""Flawed label files: a clear error with its row, or a reported harmless handling."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tagfill.errors import LabelError, Problems, TagfillError
from tagfill.labels.formats import ReadOptions
from tagfill.labels.io import load_labels


def make(folder: Path, text: str | bytes, name: str = "labels.csv") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def errors(path: Path, **options: object) -> list[tuple[int | None, str]]:
    with pytest.raises(LabelError) as caught:
        load_labels(path, options=ReadOptions(**options))  # type: ignore[arg-type]
    assert all(problem.file == str(path) for problem in caught.value.problems)
    return [(problem.row, problem.message) for problem in caught.value.problems]


def warnings(path: Path, **options: object) -> list[tuple[int | None, str]]:
    dataset = load_labels(path, options=ReadOptions(**options))  # type: ignore[arg-type]
    return [(problem.row, problem.message) for problem in dataset.problems]


GOOD = {
    "csv_wide": "image,cat,dog\na.jpg,1,0\n",
    "csv_long": "image,label,value\na.jpg,cat,1\na.jpg,dog,0\n",
    "tag_list": "image,tags\na.jpg,cat;dog\n",
    "jsonl": '{"file_name": "a.jpg", "tags": ["cat", "dog"]}\n',
}


@pytest.mark.parametrize(("name", "text"), GOOD.items())
class TestEveryTextFormat:
    def test_unknown_class(self, tmp_path: Path, name: str, text: str) -> None:
        ((row, message),) = errors(make(tmp_path, text), classes=("cat",))
        assert "class 'dog' is not in the class list" in message
        assert row == {"csv_wide": 1, "csv_long": 3, "tag_list": 2, "jsonl": 1}[name]

    def test_class_list_gives_order_and_extra_classes(
        self, tmp_path: Path, name: str, text: str
    ) -> None:
        path = make(tmp_path, text)
        table = load_labels(path, options=ReadOptions(classes=("dog", "eel", "cat"))).table
        assert table.classes == ("dog", "eel", "cat")
        assert table.values[0, 2] == 1
        assert table.values[0, 1] == -1

    def test_two_encodings_in_one_file_name_the_row(
        self, tmp_path: Path, name: str, text: str
    ) -> None:
        both = text.replace("cat", "Löwe").encode() + text.splitlines()[-1].encode() + b"caf\xe9\n"
        with pytest.raises(TagfillError, match="not UTF-8") as caught:
            load_labels(make(tmp_path, both))
        assert caught.value.row == len(text.splitlines()) + 1
        assert "UTF-8" in str(caught.value.remedy)

    @pytest.mark.parametrize(
        ("encoding", "spoken"),
        [
            ("cp1252", "Windows-1252"),
            ("latin-1", "Windows-1252"),
            ("utf-16", "UTF-16"),
            ("utf-16-le", "UTF-16-LE"),
            ("utf-16-be", "UTF-16-BE"),
            ("utf-32", "UTF-32"),
        ],
    )
    def test_other_encodings_are_read_and_named(
        self, tmp_path: Path, name: str, text: str, encoding: str, spoken: str
    ) -> None:
        dataset = load_labels(make(tmp_path, text.replace("cat", "Löwe").encode(encoding)))
        assert dataset.format == name
        assert dataset.table.classes == ("Löwe", "dog")
        assert any(spoken in note for note in dataset.notes)

    @pytest.mark.parametrize("mark", [b"\xef\xbb\xbf", b""])
    @pytest.mark.parametrize("line_end", ["\n", "\r\n"])
    def test_byte_order_mark_and_line_ends(
        self, tmp_path: Path, name: str, text: str, mark: bytes, line_end: str
    ) -> None:
        path = make(tmp_path, mark + text.replace("\n", line_end).encode())
        dataset = load_labels(path)
        assert dataset.format == name
        assert dataset.table.images == ("a.jpg",)
        assert dataset.table.classes == ("cat", "dog")

    def test_empty_file(self, tmp_path: Path, name: str, text: str) -> None:
        for content in ("", "\n"):
            with pytest.raises(TagfillError, match=r"empty|no image|no columns"):
                load_labels(make(tmp_path, content), format=name)

    def test_absent_negative(self, tmp_path: Path, name: str, text: str) -> None:
        more = {"csv_wide": "b.jpg,,\n", "csv_long": "b.jpg,,\n", "tag_list": "b.jpg,\n"}
        path = make(tmp_path, text + more.get(name, '{"file_name": "b.jpg", "tags": []}\n'))
        assert load_labels(path).table.values[1].tolist() == [-1, -1]
        dataset = load_labels(path, options=ReadOptions(absent="negative"))
        assert dataset.table.values[1].tolist() == [0, 0]
        assert any("count as negative" in note for note in dataset.notes)


@pytest.mark.parametrize(
    ("text", "row", "column"),
    [
        ("image,cat,dog\na.jpg,1,\nb.jpg,2,0\n", 3, "cat"),
        ("image,cat,dog\na.jpg,1,often\n", 2, "dog"),
        ("image,cat,dog\na.jpg,1,-1\n", 2, "dog"),
        ("image,cat,dog\na.jpg,1,0.5\n", 2, "dog"),
        ('image,cat,dog\n"two\nlines.jpg",1,0\nb.jpg,très,0\n', 4, "cat"),
        ("image,cat,dog\n\na.jpg,1,0\n\n\nb.jpg,très,0\n", 6, "cat"),
    ],
)
def test_bad_value_in_wide_csv(tmp_path: Path, text: str, row: int, column: str) -> None:
    ((reported_row, message),) = errors(make(tmp_path, text))
    assert reported_row == row
    assert f"column {column!r} is not 1, 0 or empty" in message


def test_every_bad_value_is_named_and_left_unknown_when_collecting(tmp_path: Path) -> None:
    problems = Problems()
    path = make(tmp_path, "image,cat,dog\na.jpg,often,1\nb.jpg,1,7\n")
    table = load_labels(path, problems=problems).table
    assert [problem.row for problem in problems.errors] == [2, 3]
    assert table.values.tolist() == [[-1, 1], [1, -1]]


def test_a_column_that_is_no_class_is_left_out_and_named(tmp_path: Path) -> None:
    rows = "".join(f"{n}.jpg,text {n},1\n" for n in range(50))
    dataset = load_labels(make(tmp_path, "image,caption,cat\n" + rows))
    assert dataset.table.classes == ("cat",)
    (note,) = [note for note in dataset.notes if "caption" in note]
    assert "left out" in note
    assert "50 values such as 'text 0' (row 2), 'text 1' (row 3) and 'text 2' (row 4)" in note


def test_pandas_floats_are_labels(tmp_path: Path) -> None:
    table = load_labels(make(tmp_path, "image,cat,dog\na.jpg,1.0,\nb.jpg,0.0,1.0\n")).table
    assert table.values.tolist() == [[1, -1], [0, 1]]


def test_bad_value_in_long_csv(tmp_path: Path) -> None:
    text = "image,label,value\na.jpg,cat,1\nb.jpg,cat,often\n"
    ((row, message),) = errors(make(tmp_path, text))
    assert row == 3
    assert "'often'" in message


def test_bad_value_in_json_lines(tmp_path: Path) -> None:
    text = (
        '{"file_name": "a.jpg", "labels": {"cat": 1}}\n{"file_name": "b", "labels": {"cat": 3}}\n'
    )
    ((row, message),) = errors(make(tmp_path, text, "metadata.jsonl"))
    assert row == 2
    assert "class 'cat' is not 1, 0 or null" in message


CONTRADICTIONS = {
    "wide": ("image,cat,dog\na.jpg,1,\nb.jpg,1,0\na.jpg,0,1\n", 4, "contradicts row 2 on 'cat'"),
    "long": ("image,label,value\na.jpg,cat,1\nb.jpg,cat,1\na.jpg,cat,0\n", 4, "rows 2 and 4"),
    "json": (
        '{"file_name": "a", "labels": {"cat": 1}}\n{"file_name": "a", "labels": {"cat": 0}}\n',
        2,
        "contradicts row 1 on 'cat'",
    ),
}


@pytest.mark.parametrize(("text", "row", "words"), CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_contradicting_duplicates_name_both_rows(
    tmp_path: Path, text: str, row: int, words: str
) -> None:
    ((reported_row, message),) = errors(make(tmp_path, text))
    assert reported_row == row
    assert words in message
    problems = Problems()
    table = load_labels(tmp_path / "labels.csv", problems=problems).table
    assert table.values[table.row_of[table.images[0]], 0] == -1


def test_the_contradicted_row_is_the_one_that_says_otherwise(tmp_path: Path) -> None:
    path = make(tmp_path, "image,cat\na.jpg,\na.jpg,1\na.jpg,0\n")
    ((row, message),) = errors(path)
    assert (row, "contradicts row 3" in message) == (4, True)


def test_tag_lists_of_one_image_contradict_only_if_absence_is_negative(tmp_path: Path) -> None:
    path = make(tmp_path, "image,tags\na.jpg,cat\na.jpg,dog\n")
    assert load_labels(path).table.values.tolist() == [[1, 1]]
    ((row, message),) = errors(path, absent="negative")
    assert (row, "contradicts row 2" in message) == (3, True)


def test_agreeing_duplicates_are_merged_with_a_warning(tmp_path: Path) -> None:
    path = make(tmp_path, "image,cat,dog\na.jpg,1,\nb.jpg,1,1\na.jpg,1,0\n")
    assert load_labels(path).table.values.tolist() == [[1, 0], [1, 1]]
    ((row, message),) = warnings(path)
    assert row == 4
    assert "agrees with row 2" in message


def test_repeated_statements_are_merged_with_a_warning(tmp_path: Path) -> None:
    path = make(tmp_path, "image,label\na.jpg,cat\na.jpg,cat\n")
    assert load_labels(path).table.positives == 1
    ((row, message),) = warnings(path)
    assert row == 3
    assert "stated more than once" in message


def test_one_image_in_two_splits(tmp_path: Path) -> None:
    text = "image,cat,split\na.jpg,1,train\na.jpg,1,test\n"
    ((row, message),) = errors(make(tmp_path, text))
    assert (row, "by row 2" in message) == (3, True)
    long = "image,label,split\na.jpg,cat,train\na.jpg,dog,test\n"
    ((row, message),) = errors(make(tmp_path, long))
    assert (row, "'train' before" in message) == (3, True)


def test_zero_classes(tmp_path: Path) -> None:
    with pytest.raises(TagfillError, match="no class"):
        load_labels(make(tmp_path, "image\na.jpg\n"))
    with pytest.raises(TagfillError, match="no class"):
        load_labels(make(tmp_path, "image,tags\na.jpg,\n"))


@pytest.mark.parametrize("text", ["image,cat\n", "image,label\n", "image,tags\n"])
def test_header_only(tmp_path: Path, text: str) -> None:
    with pytest.raises(TagfillError, match=r"no image|no class"):
        load_labels(make(tmp_path, text))


def test_class_without_positive(tmp_path: Path) -> None:
    ((_, message),) = warnings(make(tmp_path, "image,cat,dog,eel\na.jpg,1,0,\n"))
    assert message == "2 of 3 classes have no positive: 'dog', 'eel'"


@pytest.mark.parametrize(
    "image", ["with space.jpg", "été/日本.jpg", "a/b/c.jpg", "..odd.jpg", "a,b"]
)
def test_unusual_ids_are_kept(tmp_path: Path, image: str) -> None:
    dataset = load_labels(make(tmp_path, f'image,cat\n"{image}",1\n'))
    assert dataset.table.images == (image,)
    assert dataset.problems == ()


@pytest.mark.parametrize("image", ["../x.jpg", "/x.jpg", "a/../../x.jpg", "C:\\x.jpg", ".."])
def test_ids_outside_the_image_folder(tmp_path: Path, image: str) -> None:
    path = make(tmp_path, f"image,cat\na.jpg,1\n{image},1\n")
    ((row, message),) = errors(path)
    assert row == 3
    assert "not below an image folder" in message
    ((row, message),) = errors(path, image_root=tmp_path / "images")
    assert "outside the image folder" in message


def test_ids_inside_the_image_folder_become_relative(tmp_path: Path) -> None:
    root = tmp_path / "images"
    (tmp_path / "labels").mkdir()
    text = f"image,cat\n{root}/sub/a.jpg,1\n../images/b.jpg,1\n"
    path = make(tmp_path / "labels", text)
    dataset = load_labels(path, options=ReadOptions(image_root=root))
    assert dataset.table.images == ("sub/a.jpg", "b.jpg")
    (problem,) = dataset.problems
    assert "2 image ids were respelled" in problem.message
    assert dataset.image_root == root


def test_windows_and_roundabout_paths_are_simplified(tmp_path: Path) -> None:
    path = make(tmp_path, "image,cat\nsub\\a.jpg,1\n./b.jpg,1\nx/../c.jpg,0\n")
    dataset = load_labels(path)
    assert dataset.table.images == ("sub/a.jpg", "b.jpg", "c.jpg")
    assert [problem.row for problem in dataset.problems] == [2]


def test_missing_id(tmp_path: Path) -> None:
    for text in ("image,cat\na.jpg,1\n,1\n", "image,label\na.jpg,cat\n,cat\n"):
        ((row, message),) = errors(make(tmp_path, text))
        assert (row, message) == (3, "the image id is missing")


@pytest.mark.parametrize("row", ["b.jpg,1", "b.jpg,1,0,1", "b.jpg"])
def test_ragged_rows(tmp_path: Path, row: str) -> None:
    path = make(tmp_path, f"image,cat,dog\na.jpg,1,0\n{row}\nc.jpg,1,0\n")
    ((reported_row, message),) = errors(path)
    assert reported_row == 3
    assert "where the header has 3" in message
    table = load_labels(path, problems=Problems()).table
    assert table.images == ("a.jpg", "b.jpg", "c.jpg")
    assert table.values[1].tolist() == [-1, -1]


def test_fields_beyond_the_tags_are_more_tags(tmp_path: Path) -> None:
    path = make(tmp_path, "image,tags\na.jpg,cat\nb.jpg,cat,dog\n")
    assert load_labels(path).table.values.tolist() == [[1, -1], [1, 1]]
    ((row, message),) = warnings(path)
    assert (row, "taken as more tags" in message) == (3, True)
    ((row, message),) = errors(make(tmp_path, "image,tags,n\na.jpg,cat,1\nb.jpg,cat,dog,1\n"))
    assert (row, "left out" in message) == (3, True)


def test_duplicate_and_nameless_columns(tmp_path: Path) -> None:
    with pytest.raises(TagfillError, match="columns 2 and 4 are both called 'cat'"):
        load_labels(make(tmp_path, "image,cat,dog, cat\na.jpg,1,0,1\n"))
    with pytest.raises(TagfillError, match="column 1 has no name") as caught:
        load_labels(make(tmp_path, ",image,cat\n1,a.jpg,1\n1,b.jpg,0\n"))
    assert "--ignore-columns 1" in str(caught.value.remedy)
    assert load_labels(make(tmp_path, ",image,cat\n0,a.jpg,1\n")).table.classes == ("cat",)


def test_unclosed_quote(tmp_path: Path) -> None:
    path = make(tmp_path, 'image,label\na.jpg,cat\n"b.jpg,dog\n' + "c.jpg,cat\n" * 20_000)
    with pytest.raises(TagfillError, match="not readable as CSV") as caught:
        load_labels(path)
    assert caught.value.row == 3


def test_broken_json(tmp_path: Path) -> None:
    with pytest.raises(TagfillError, match="not readable as JSON") as caught:
        load_labels(make(tmp_path, '{"file_name": "a", "tags": ["x"]}\n{"file_name": \n'))
    assert caught.value.row == 2
    with pytest.raises(TagfillError, match="not readable as JSON"):
        load_labels(make(tmp_path, '{"images": [], "annotations": [', "c.json"))


def test_missing_and_unknown_sources(tmp_path: Path) -> None:
    with pytest.raises(TagfillError, match="no such file"):
        load_labels(tmp_path / "nothing.csv")
    with pytest.raises(TagfillError, match="no known label format"):
        load_labels(make(tmp_path, "Just a sentence\n", "readme.txt"))
    with pytest.raises(TagfillError, match="no known label format"):
        load_labels(make(tmp_path, bytes(range(256)), "noise.bin"))
    with pytest.raises(TagfillError, match="unknown label format"):
        load_labels(make(tmp_path, "image,cat\na,1\n"), format="csv")


@pytest.mark.parametrize("classes", [(), ("cat", "cat "), ("cat", "")])
def test_class_list_itself(classes: tuple[str, ...]) -> None:
    with pytest.raises(TagfillError, match="unique names"):
        ReadOptions(classes=classes)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("csv_long", "image,cat\na,1\n"),
        ("csv_long", "label,value\ncat,1\n"),
        ("csv_long", "image,label,class\na,cat,dog\n"),
        ("tag_list", "image,cat\na,1\n"),
        ("open_images", "ImageID,Label\na,cat\n"),
        ("csv_long", "image,label,value,value\na,cat,1,0\n"),
    ],
)
def test_named_format_that_the_header_does_not_fit(tmp_path: Path, name: str, text: str) -> None:
    with pytest.raises(TagfillError, match=r"the header needs|two columns") as caught:
        load_labels(make(tmp_path, text), format=name)
    assert caught.value.row == 1


@pytest.mark.parametrize(
    "name", ["csv_wide", "csv_long", "tag_list", "jsonl", "parquet", "coco", "label_studio"]
)
def test_file_formats_named_for_a_folder_and_the_reverse(tmp_path: Path, name: str) -> None:
    with pytest.raises(TagfillError):
        load_labels(tmp_path, format=name)
    path = make(tmp_path, "image,cat\na,1\n")
    for folder_format in ("voc", "cub", "nuswide", "mlspl", "image_folder"):
        with pytest.raises(TagfillError):
            load_labels(path, format=folder_format)


@pytest.mark.parametrize("name", ["csv_wide", "jsonl", "coco", None])
def test_a_pipe_or_device_is_not_a_label_file(name: str | None, tmp_path: Path) -> None:
    pipe = tmp_path / "labels.csv"
    os.mkfifo(pipe)
    for source in (pipe, Path("/dev/zero")):
        with pytest.raises(TagfillError, match="neither a regular file nor a folder"):
            load_labels(source, format=name)
