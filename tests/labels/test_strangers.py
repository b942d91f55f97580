"""Label files of strangers: read as meant, or refused with a message that names the remedy."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from PIL import Image

from tagfill.cli.main import main
from tagfill.errors import TagfillError
from tagfill.image_files import find_images
from tagfill.labels import Dataset
from tagfill.labels.edit import save_changes
from tagfill.labels.formats import Absent, ReadOptions
from tagfill.labels.io import load_labels

WIDE = {"a.jpg": {"cat": 1, "dog": 0}, "b.jpg": {"cat": 0, "dog": 1}}
TAGS = {"a.jpg": {"cat": 1, "dog": 1}, "b.jpg": {"dog": 1}}


def known(dataset: Dataset) -> dict[str, dict[str, int]]:
    table = dataset.table
    return {
        image: {n: int(v) for n, v in zip(table.classes, row, strict=True) if v != -1}
        for image, row in zip(table.images, table.values, strict=True)
    }


def read(tmp_path: Path, text: str, name: str = "l.csv", absent: Absent | None = None) -> Dataset:
    (tmp_path / name).write_text(text, encoding="utf-8", newline="")
    return load_labels(tmp_path / name, options=ReadOptions(absent=absent))


@pytest.mark.parametrize(
    ("yes", "no"),
    [
        ("oui", "non"),
        ("VRAI", "FAUX"),
        ("sí", "no"),
        ("VERDADERO", "FALSO"),
        ("vero", "falso"),
        ("sim", "não"),
        ("ja", "nee"),
        ("да", "нет"),
        ("是", "否"),
        ("はい", "いいえ"),
        ("t", "f"),
        ("T", "F"),
    ],
)
def test_yes_and_no_in_many_languages(yes: str, no: str, tmp_path: Path) -> None:
    text = f"image,cat,dog\na.jpg,{yes},{no}\nb.jpg,{no},{yes}\n"
    assert known(read(tmp_path, text)) == WIDE


@pytest.mark.parametrize(
    "text",
    [
        "image cat dog\na.jpg 1 0\nb.jpg 0 1\n",
        "image     cat  dog\na.jpg     1    0  \nb.jpg     0    1\n",
        "2\ncat dog \na.jpg 1 0\nb.jpg 0 1\n",
        '"cat" "dog"\n"a.jpg" 1 0\n"b.jpg" 0 1\n',
        "| image | cat | dog |\n|---|:-:|---|\n| a.jpg | 1 | 0 |\n| b.jpg | 0 | 1 |\n",
        "'image','cat','dog'\n'a.jpg','1','0'\n'b.jpg','0','1'\n",
        "Unnamed: 0,image,cat,dog\n1,a.jpg,1,0\n2,b.jpg,0,1\n",
        "id,image,cat,dog\n1,a.jpg,1,0\n2,b.jpg,0,1\n",
        "image,cat,dog\na.jpg,1,<NA>\nb.jpg,n.a.,1\na.jpg,,0\nb.jpg,0,\n",
        "image,label,score\na.jpg,cat,1\na.jpg,dog,0\nb.jpg,cat,0\nb.jpg,dog,1\n",
    ],
    ids=[
        "blanks",
        "columns of one width",
        "CelebA",
        "R",
        "Markdown",
        "single quotes",
        "pandas index",
        "row numbers",
        "missing values",
        "scores of 1 and 0",
    ],
)
def test_tables_of_other_programs(text: str, tmp_path: Path) -> None:
    assert known(read(tmp_path, text)) == WIDE


@pytest.mark.parametrize(
    "text",
    [
        "Fichier;Mots-clés\na.jpg;cat, dog\nb.jpg;dog\n",
        "файл;теги\na.jpg;cat, dog\nb.jpg;dog\n",
        "图片,标签\na.jpg,cat、dog\nb.jpg,dog\n",
        '"image", "tags"\n"a.jpg", "cat, dog"\n"b.jpg", "dog"\n',
        "'image','tags'\n'a.jpg','cat;dog'\n'b.jpg','dog'\n",
        "image,tags\na.jpg,\"('cat', 'dog')\"\nb.jpg,\"('dog',)\"\n",
        'image,tags\na.jpg,"[[""cat"", ""dog""]]"\nb.jpg,"[[""dog""]]"\n',
        'image,tags\na.jpg,"[{""name"": ""cat""}, {""name"": ""dog""}]"\nb.jpg,dog\n',
        "image,tags\na.jpg,cat (2);dog (1)\nb.jpg,dog (3)\n",
        "image,tags\na.jpg,cat x2;dog x1\nb.jpg,dog x3\n",
        "Image Index,Finding Labels,Follow-up #,Patient Age\na.jpg,cat|dog,0,58\nb.jpg,dog,1,81\n",
        "image,class_id,class_name\na.jpg,0,cat\na.jpg,1,dog\nb.jpg,1,dog\n",
        "a.jpg,1,2,30,40,cat\na.jpg,1,2,30,40,dog\nb.jpg,5,6,70,80,dog\n",
        'image,id,choice,annotator,lead_time\na.jpg,1,"{""choices"": [""cat"", ""dog""]}",1,2.5\n'
        "b.jpg,2,dog,1,2.5\n",
    ],
    ids=[
        "French",
        "Russian",
        "Chinese",
        "blanks before quotes",
        "single quotes",
        "tuples",
        "nested lists",
        "lists of objects",
        "counts",
        "counts with x",
        "NIH",
        "numbers of classes",
        "boxes without header",
        "Label Studio CSV",
    ],
)
def test_lists_of_other_programs(text: str, tmp_path: Path) -> None:
    assert known(read(tmp_path, text)) == TAGS


def test_numbers_with_blanks_are_several_classes(tmp_path: Path) -> None:
    dataset = read(tmp_path, "Id,Target\nx1,16 0\nx2,7 1 2 0\nx3,5\nx4,1\n")
    assert known(dataset)["x1"] == {"16": 1, "0": 1}


def test_splits_in_a_table_without_header(tmp_path: Path) -> None:
    text = "TRAIN,gs://x/a.jpg,cat\nTRAIN,gs://x/b.jpg,dog\nTEST,gs://x/c.jpg,dog\n"
    dataset = read(tmp_path, text)
    assert dataset.table.classes == ("cat", "dog")
    assert dataset.splits["test"].tolist() == [2]


@pytest.mark.parametrize(
    ("absent", "expected"), [("negative", {"cat": 1, "dog": 0}), ("unknown", {"cat": 1})]
)
def test_minus_one_means_what_the_user_says(
    absent: Absent, expected: dict[str, int], tmp_path: Path
) -> None:
    rows = "".join(f"{n}.jpg,-1,1\n" for n in range(8))
    dataset = read(tmp_path, f"image,cat,dog\na.jpg,1,-1\n{rows}", absent=absent)
    assert known(dataset)["a.jpg"] == expected
    lines = [{"image": "a.jpg", "cat": 1, "dog": -1}, {"image": "b.jpg", "cat": -1, "dog": 1}]
    assert known(read(tmp_path, json.dumps(lines), "l.json", absent))["a.jpg"] == expected


def test_minus_one_beside_zero_is_never_taken_for_absent(tmp_path: Path) -> None:
    with pytest.raises(TagfillError, match="-1 and 0 cannot both mean absent"):
        read(tmp_path, "image,cat\na.jpg,1\nb.jpg,-1\nc.jpg,0\n", absent="negative")


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


def test_an_image_is_no_label_file(tmp_path: Path) -> None:
    Image.new("RGB", (4, 4)).save(tmp_path / "a.jpg")
    with pytest.raises(TagfillError, match="is an image, not labels"):
        load_labels(tmp_path / "a.jpg")


@pytest.mark.parametrize(
    "document",
    [
        {"by": "me", "images": [{"file": "a.jpg", "tags": ["cat", "dog"]}, {"file": "b.jpg"}]},
        [{"image": 1, "tags": ["cat", "dog", None, ""]}, {"image": 2, "tags": None}],
        [{"id": 1, "url": "http://x.org/a.jpg", "tags": [["cat", "dog"]]}],
        [{"image": {"path": "a.jpg", "bytes": None}, "tags": "cat, dog"}],
        [{"image": "a.jpg", "cat": "yes", "dog": "ja"}, {"image": "b.jpg", "cat": "", "dog": "?"}],
        [{"image": "a.jpg", "labels": [{"name": "cat", "score": 1}, {"name": "dog"}]}],
    ],
    ids=["wrapped", "numbers", "address", "object", "words", "certain"],
)
def test_json_of_other_programs(document: object, tmp_path: Path) -> None:
    dataset = read(tmp_path, json.dumps(document), "l.json")
    assert next(iter(known(dataset).values())) == {"cat": 1, "dog": 1}
    assert set(dataset.table.classes) == {"cat", "dog"}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([{"image": "a.jpg", "labels": [{"name": "cat", "score": 0.1}]}], "not a list of class"),
        ([{"image": "a.jpg", "labels": [1, 0, 1]}], "a list of 1 and 0 without names"),
        ([{"image_id": 1, "category_id": 1, "score": 0.3}], "the line has no image id"),
        ([{"image": "a.jpg", "cat": 0.1}, {"image": "b.jpg", "cat": 0.8}], "no key holds labels"),
        ({"images": [{"id": 1}], "annotations": [], "categories": []}, "has no file_name"),
    ],
)
def test_json_that_says_something_else_is_refused(
    document: object, message: str, tmp_path: Path
) -> None:
    with pytest.raises(TagfillError, match=message):
        read(tmp_path, json.dumps(document), "l.json")


def test_lines_of_json_with_commas(tmp_path: Path) -> None:
    text = '{"image": "a.jpg", "tags": ["cat", "dog"]},\n{"image": "b.jpg", "tags": ["dog"]},\n'
    assert known(read(tmp_path, text, "l.jsonl")) == TAGS


@pytest.mark.parametrize(
    "annotations",
    [
        [{"image_id": 1.0, "category_id": 1.0}, {"image_id": 2.0, "category_id": 2.0}],
        [{"image_id": 1, "category_ids": [1]}, {"image_id": 2, "category_ids": [2]}],
        [
            {"image_id": 1, "segments_info": [{"category_id": 1}]},
            {"image_id": 2, "segments_info": [{"category_id": 2}]},
        ],
    ],
    ids=["floats", "several categories", "panoptic"],
)
def test_coco_of_other_programs(annotations: list[object], tmp_path: Path) -> None:
    document = {
        "images": [{"id": 1, "file_name": "a.jpg"}, {"id": 2, "file_name": "b.jpg"}],
        "annotations": annotations,
        "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
    }
    assert known(read(tmp_path, json.dumps(document), "l.json")) == WIDE


@pytest.mark.parametrize("key", ["annotations", "completions"])
@pytest.mark.parametrize("single", [True, False])
def test_label_studio_tasks_of_all_ages(key: str, single: bool, tmp_path: Path) -> None:
    result = [{"from_name": "c", "type": "choices", "value": {"choices": ["cat", "dog"]}}]
    task = {"data": {"image": "a.jpg"}, key: [{"result": result}]}
    dataset = read(tmp_path, json.dumps(task if single else [task]), "l.json")
    assert known(dataset) == {"a.jpg": TAGS["a.jpg"]}


def write_parquet(path: Path, labels: pa.Array, images: list[object]) -> Path:
    pyarrow.parquet.write_table(pa.table({"image": images, "labels": labels}), path)
    return path


def test_parquet_with_objects_and_numbers_as_ids(tmp_path: Path) -> None:
    tags = pa.array([[{"name": "cat"}, {"name": "dog"}], [{"name": "dog"}]])
    dataset = load_labels(write_parquet(tmp_path / "l.parquet", tags, ["a.jpg", "b.jpg"]))
    assert known(dataset) == TAGS
    wide = pa.table({"image_id": [1, 2], "cat": [1, 0], "dog": [0, 1]})
    pyarrow.parquet.write_table(wide, tmp_path / "w.parquet")
    assert known(load_labels(tmp_path / "w.parquet"))["1"] == {"cat": 1, "dog": 0}


@pytest.mark.parametrize(
    "labels",
    [
        pa.array([[1, 0, 1], [0, 1, 0]]),
        pa.array([{"cat": 1, "dog": 0}, {"cat": 0, "dog": 1}]),
        pa.array([[("cat", 1)], [("cat", 0)]], pa.map_(pa.string(), pa.int8())),
        pa.array([[{"name": "cat", "score": 0.5}], [{"name": "dog", "score": 0.9}]]),
    ],
    ids=["multi-hot", "struct", "map", "scores"],
)
def test_parquet_that_says_more_than_tags_is_refused(labels: pa.Array, tmp_path: Path) -> None:
    path = write_parquet(tmp_path / "l.parquet", labels, ["a.jpg", "b.jpg"])
    with pytest.raises(TagfillError, match=r"more than tags|lists of 1 and 0"):
        load_labels(path)


def test_percent_signs_in_ids(tmp_path: Path) -> None:
    image = tmp_path / "my pics" / "a.jpg"
    image.parent.mkdir()
    Image.new("RGB", (4, 4)).save(image)
    assert find_images(tmp_path, ["my%20pics/a.jpg"]) == [image]


def test_a_no_to_a_counted_tag_removes_it(tmp_path: Path) -> None:
    dataset = read(tmp_path, "image,tags\na.jpg,cat (2);dog (1)\nb.jpg,dog (3)\n")
    values = dataset.table.values.copy()
    values[0, dataset.table.classes.index("dog")] = 0
    save_changes(dataset, dataset.table.with_values(values), tmp_path / "o.csv", ReadOptions())
    assert (tmp_path / "o.csv").read_text().splitlines()[1] == "a.jpg,cat (2)"


Folder = Callable[[Path], None]


def images(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8)).save(folder / name)


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


BOX = "0.5 0.5 0.2 0.2\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("classes.txt", "cat\ndog\n"),
        ("obj.names", "cat\ndog\n"),
        ("data.yaml", "train: x\nnc: 2\nnames: ['cat', \"dog\"]\n"),
        ("data.yaml", "path: .\nnames:\n  0: cat  # meow\n  1: dog\n"),
        ("data.yml", "names:\n- cat\n- dog\n"),
    ],
)
def test_yolo_beside_the_images(name: str, text: str, tmp_path: Path) -> None:
    images(tmp_path, "a.jpg", "b.jpg", "c.jpg", "d.jpg")
    write(tmp_path, a_txt=f"0 {BOX}1 {BOX}", b_txt="1 0.1 0.1 0.3 0.1 0.3 0.4\n", c_txt="")
    (tmp_path / name).write_text(text)
    dataset = load_labels(tmp_path)
    assert dataset.format == "yolo"
    assert known(dataset) == {
        "a.jpg": {"cat": 1, "dog": 1},
        "b.jpg": {"cat": 0, "dog": 1},
        "c.jpg": {"cat": 0, "dog": 0},
        "d.jpg": {},
    }
    assert dataset.boxes is not None
    assert dataset.boxes.xywh[2].tolist() == pytest.approx([0.1, 0.1, 0.2, 0.3])
    open_world = load_labels(tmp_path, options=ReadOptions(absent="unknown"))
    assert known(open_world)["b.jpg"] == {"dog": 1}


@pytest.mark.parametrize("by", ["{split}/{kind}/{name}", "{kind}/{split}/{name}"])
def test_yolo_folders_with_splits_are_no_classes(by: str, tmp_path: Path) -> None:
    for split, name, line in (("train", "a", f"0 {BOX}"), ("valid", "b", f"1 {BOX}")):
        images(tmp_path, by.format(split=split, kind="images", name=f"{name}.jpg"))
        file = tmp_path / by.format(split=split, kind="labels", name=f"{name}.txt")
        file.parent.mkdir(parents=True)
        file.write_text(line)
    (tmp_path / "data.yaml").write_text("names: [cat, dog]\n")
    for source in (tmp_path, tmp_path / "data.yaml"):
        dataset = load_labels(source)
        assert list(known(dataset).values()) == list(WIDE.values())
        assert {name: rows.tolist() for name, rows in dataset.splits.items()} == {
            "train": [0],
            "val": [1],
        }


def test_yolo_faults_name_file_and_row(tmp_path: Path) -> None:
    images(tmp_path, "a.jpg", "b.jpg")
    write(tmp_path, a_txt=f"0 {BOX}7 {BOX}", b_txt=f"1 {BOX}", classes_txt="cat\ndog\n")
    with pytest.raises(TagfillError, match=r"a\.txt, row 2: class 7 is not in the list of 2 names"):
        load_labels(tmp_path)


def voc(*names: str) -> str:
    box = "<bndbox><xmin>1</xmin><ymin>1</ymin><xmax>4</xmax><ymax>4</ymax></bndbox>"
    objects = "".join(f"<object><name>{name}</name>{box}</object>" for name in names)
    size = "<size><width>8</width><height>8</height></size>"
    return f"<annotation><filename>a.jpg</filename>{size}{objects}</annotation>"


@pytest.mark.parametrize(
    ("images_in", "labels_in"), [("", ""), ("images/", "annotations/"), ("JPEGImages/", "xmls/")]
)
def test_voc_files_without_a_devkit(images_in: str, labels_in: str, tmp_path: Path) -> None:
    images(tmp_path, *(f"{images_in}{name}.jpg" for name in "abc"))
    (tmp_path / labels_in).mkdir(exist_ok=True)
    for name, classes in {"a": ["cat", "dog"], "b": ["dog"]}.items():
        (tmp_path / labels_in / f"{name}.xml").write_text(voc(*classes))
    dataset = load_labels(tmp_path)
    assert dataset.format == "voc_xml"
    assert list(known(dataset).values()) == [{"cat": 1, "dog": 1}, {"cat": 0, "dog": 1}, {}]
    assert dataset.boxes is not None
    assert len(dataset.boxes) == 3


def test_one_annotation_alone_and_a_broken_one(tmp_path: Path) -> None:
    (tmp_path / "x.xml").write_text(voc("cat"))
    assert known(load_labels(tmp_path / "x.xml")) == {"a.jpg": {"cat": 1}}
    assert known(load_labels(tmp_path)) == {"a.jpg": {"cat": 1}}
    (tmp_path / "y.xml").write_text("<annotation><object>")
    with pytest.raises(TagfillError, match=r"y\.xml: not readable as a VOC annotation"):
        load_labels(tmp_path)


@pytest.mark.parametrize(
    "files",
    [
        {"a_txt": "cat, dog", "b_txt": "dog"},
        {"a_caption": "cat\ndog\n", "b_caption": "dog"},
        {"a_jpg_txt": "cat;dog", "b_jpg_txt": "dog", "README_txt": "my photos"},
        {"a_json": '{"tags": ["cat", "dog"], "id": 3}', "b_json": '{"tags": ["dog"]}'},
        {
            "a_json": '{"flags": {"cat": true}, "shapes": [{"label": "dog"}], "imagePath": ""}',
            "b_json": '{"flags": {}, "shapes": [{"label": "dog"}], "imagePath": ""}',
        },
        {
            "a_jpg_json": '{"photoTakenTime": {}, "people": [{"name": "cat"}, {"name": "dog"}]}',
            "b_jpg_json": '{"photoTakenTime": {}, "people": [{"name": "dog"}]}',
        },
    ],
    ids=["txt", "caption", "full names", "json", "labelme", "takeout"],
)
def test_files_of_tags_beside_images(files: dict[str, str], tmp_path: Path) -> None:
    images(tmp_path, "a.jpg", "b.jpg")
    write(tmp_path, **files)
    dataset = load_labels(tmp_path)
    assert dataset.format == "tag_files"
    assert known(dataset) == TAGS
    assert dataset.image_root == tmp_path


def test_files_of_tags_come_before_the_names_of_folders(tmp_path: Path) -> None:
    images(tmp_path, "10_cat/a.jpg", "10_cat/b.jpg")
    for name, tags in (("a", "cat, grass"), ("b", "cat")):
        (tmp_path / "10_cat" / f"{name}.txt").write_text(tags)
    assert load_labels(tmp_path).table.classes == ("cat", "grass")


def test_sentences_beside_images_are_no_tags(tmp_path: Path) -> None:
    images(tmp_path, "a.jpg", "b.jpg")
    write(tmp_path, a_txt="A cat sits on the mat.", b_txt="Two dogs run over a green field.")
    with pytest.raises(TagfillError, match="no tags are in files beside them"):
        load_labels(tmp_path)


XMP = (
    '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF'
    ' xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about=""'
    ' xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:lr="http://ns.adobe.com/lightroom/1.0/"'
    ' xmlns:acdsee="http://ns.acdsee.com/iptc/1.0/"'
    ' xmlns:ps="http://ns.adobe.com/photoshop/1.0/"'
    ' xmlns:mp="http://ns.iview-multimedia.com/mediapro/1.0/"'
    ' xmlns:ext="http://iptc.org/std/Iptc4xmpExt/2008-02-29/">{}</rdf:Description></rdf:RDF>'
    "</x:xmpmeta>"
)
CATEGORIES = (
    '<Categories><Category Assigned="0">animal<Category Assigned="1">cat</Category></Category>'
    '<Category Assigned="1">sea</Category></Categories>'
)


def bag(name: str, *items: str) -> str:
    listed = "".join(f"<rdf:li>{item}</rdf:li>" for item in items)
    return f"<{name}><rdf:Bag>{listed}</rdf:Bag></{name}>"


@pytest.mark.parametrize(
    ("body", "tags"),
    [
        (CATEGORIES.replace("<", "&lt;"), {"animal", "cat", "sea"}),
        (bag("acdsee:keywords", "cat", "sea"), {"cat", "sea"}),
        (bag("ps:SupplementalCategories", "cat"), {"cat"}),
        (bag("mp:CatalogSets", "animal|cat"), {"animal", "cat"}),
        (bag("ext:PersonInImage", "Ann"), {"Ann"}),
        (bag("dc:subject", "darktable|format|jpg", "cat"), {"cat"}),
        (bag("lr:hierarchicalSubject", "darktable|format|jpg", "animal|cat"), {"animal", "cat"}),
    ],
)
def test_keywords_of_other_programs(body: str, tags: set[str], tmp_path: Path) -> None:
    images(tmp_path, "a.jpg")
    if body.startswith("&lt;"):
        body = f"<acdsee:categories>{body}</acdsee:categories>"
    (tmp_path / "a.xmp").write_text(XMP.format(body))
    assert set(known(load_labels(tmp_path))["a.jpg"]) == tags


def test_keywords_with_commas_are_remarked_on(tmp_path: Path) -> None:
    images(tmp_path, "a.jpg")
    (tmp_path / "a.xmp").write_text(XMP.format(bag("dc:subject", "cat, dog")))
    assert any("--separator splits them" in note for note in load_labels(tmp_path).notes)
    parted = load_labels(tmp_path, options=ReadOptions(separator=","))
    assert known(parted)["a.jpg"] == {"cat": 1, "dog": 1}


def test_keywords_that_hold_several_are_taken_apart(tmp_path: Path) -> None:
    sets = ["cat, dog", "dog, sea", "sea, cat", "cat", "dog", "sea, dog, cat"]
    for number, text in enumerate(sets):
        images(tmp_path, f"{number}.jpg")
        (tmp_path / f"{number}.xmp").write_text(XMP.format(bag("dc:subject", text)))
    dataset = load_labels(tmp_path)
    assert set(dataset.table.classes) == {"cat", "dog", "sea"}
    assert known(dataset)["5.jpg"] == {"cat": 1, "dog": 1, "sea": 1}


def test_a_large_coco_file_is_detected_by_its_beginning(tmp_path: Path) -> None:
    listed = [{"id": n, "file_name": f"{n:012}.jpg", "license": 3} for n in range(25_000)]
    document = {
        "info": {"data": "2014"},
        "images": listed,
        "annotations": [{"image_id": 3, "category_id": 1}],
        "categories": [{"id": 1, "name": "cat"}],
    }
    dataset = read(tmp_path, json.dumps(document), "l.json")
    assert dataset.format == "coco"
    assert dataset.table.positives == 1


def test_a_remark_on_labels_is_no_list_of_tags(tmp_path: Path) -> None:
    text = 'image,cat,dog,label source\na.jpg,1,0,"ann, bob"\nb.jpg,0,1,ann\n'
    (tmp_path / "l.csv").write_text(text)
    dataset = load_labels(tmp_path / "l.csv", options=ReadOptions(ignore_columns=("label source",)))
    assert known(dataset) == WIDE
    with pytest.raises(TagfillError, match="'label source'"):
        load_labels(tmp_path / "l.csv")


def test_a_stray_text_file_does_not_turn_class_folders_into_tags(tmp_path: Path) -> None:
    images(tmp_path, *(f"{name}/{n}.jpg" for name in ("cat", "dog") for n in range(8)))
    (tmp_path / "cat" / "0.txt").write_text("taken in Rome")
    assert load_labels(tmp_path).format == "image_folder"


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
