"""Files that are no labels, or would be read wrongly: refused with the remedy."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image
from tests.labels.reading import read

from tagfill.cli.main import main
from tagfill.errors import TagfillError
from tagfill.labels.io import load_labels


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"SQLite format 3\0", "SQLite database"),
        (b"PK\x03\x04abc", "zip archive"),
        (b"\x1f\x8b\x08", "compressed"),
        (b"%PDF-1.4\n\xe2", "PDF"),
        (b"\x80\x04\x95", "pickle"),
        (b"ARROW1\0\0", "save the table as parquet"),
        (b"\x93NUMPY\x01\0", "NumPy array"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n", "git lfs pull"),
        (b"<!DOCTYPE html><html>404</html>", "web page"),
        (b"[{'image': 'a.jpg', 'tags': ['cat']}]", "Python list"),
        (b'{"type": "FeatureCollection", "features": []}', "no list of images with tags"),
        (b'[{"x": 1}\n, {"x": ]', "row 2: not readable as JSON"),
        (b"\n \n", "nothing but blanks"),
        (b'"image,tags"\nfoo\n', "no known label format"),
        (b"\x7fELF\x02\x01\x01\x00\x00\x00", "is not a text file"),
    ],
)
def test_other_files_are_called_by_their_name(
    content: bytes, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "labels.csv"
    path.write_bytes(content)
    assert main(["inspect", str(path)]) == 2
    told = capsys.readouterr().err
    assert message in told
    assert "Traceback" not in told


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("l.yaml", "a.jpg:\n  - cat\n  - dog\nb.jpg:\n  - dog\n", "holds YAML"),
        (".picasa.ini", "[a.jpg]\nstar=yes\nkeywords=cat,dog\n", r"holds settings \(INI\)"),
        ("l.xml", "<photos><photo><file>a.jpg</file><tag>cat</tag></photo></photos>", "holds XML"),
    ],
)
def test_other_languages_are_called_by_their_name(
    name: str, text: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(TagfillError, match=f"{message}.*CSV or JSON"):
        load_labels(tmp_path / name)


def test_an_image_is_no_label_file(tmp_path: Path) -> None:
    Image.new("RGB", (4, 4)).save(tmp_path / "a.jpg")
    with pytest.raises(TagfillError, match="is an image, not labels"):
        load_labels(tmp_path / "a.jpg")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("image,tags\na.jpg,dog:0.9;cat:0.3\nb.jpg,dog:0.2\n", "followed by values, such as 'dog"),
        ("image,tags\na.jpg,dog=1;cat=0\nb.jpg,dog=0\n", "followed by values"),
        (
            "image,tags\na.jpg,\"{'dog': 0.9, 'cat': 0.1}\"\nb.jpg,dog\n",
            "row 2: an entry is a list",
        ),
        ('image,tags\na.jpg,"[{""name"": ""cat"", ""score"": 0.2}]"\n', "holds more than tags"),
        ('image,labels\na.jpg,"[1, 0, 1]"\nb.jpg,"[0, 1, 0]"\n', "lists of 1 and 0"),
        ("image,labels\na.jpg,1 0 1\nb.jpg,0 1 0\n", "lists of 1 and 0"),
        ("image,label,confidence\na.jpg,cat,0.9\na.jpg,dog,0.2\n", "--ignore-columns 'confidence'"),
        ("image,cat\na.jpg,0.91\nb.jpg,0.05\n", "by a threshold that you choose"),
        ("image,cat\na.jpg,x\nb.jpg,-\n", "- may mean absent or unknown"),
        ("images,cat\na.jpg;b.jpg,1\nc.jpg,0\n", "'a.jpg;b.jpg' names several images"),
        ("image,tags\n1.2E+11,cat\n1.3E+11,dog\n", "a spreadsheet rounded"),
        ("class,a.jpg,b.jpg\ncat,1,0\ndog,0,1\n", "exchange rows and columns"),
        (
            "filename,label,is_male,dangerous\na.jpg,cat,1,0\nb.jpg,dog,0,1\n",
            "column 'label' names tags, such as 'cat' (row 2) and 'dog' (row 3), beside",
        ),
        (
            "image,tags,,image,tags\na.jpg,cat,,c.jpg,dog\nb.jpg,dog,,d.jpg,sea\n",
            "columns 1 and 4 are both called 'image'",
        ),
    ],
)
def test_what_would_be_read_wrongly_is_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(TagfillError) as caught:
        read(tmp_path, text)
    assert message in str(caught.value)


def test_statements_of_sql_are_no_table(tmp_path: Path) -> None:
    lines = ["INSERT INTO photos (file, tags) VALUES", "('a.jpg','cat'),", "('b.jpg','dog');"]
    with pytest.raises(TagfillError, match="statements of SQL"):
        read(tmp_path, lines, "l.sql")


def test_text_of_exiftool_is_no_table(tmp_path: Path) -> None:
    shots = [f"======== ./{n}.jpg\nSubject   : dog, sea\nRating    : 3" for n in range(4)]
    with pytest.raises(TagfillError):
        read(tmp_path, shots, "meta.txt")
