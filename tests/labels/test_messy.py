"""Tables as people really keep them: read as meant, or refused with a remedy that harms nothing."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import pyarrow.parquet
import pytest
from PIL import Image

from tagfill.cli.main import main
from tagfill.errors import TagfillError
from tagfill.image_files import find_image, find_images
from tagfill.images import check_images
from tagfill.labels import Dataset
from tagfill.labels.edit import save_changes
from tagfill.labels.formats import ReadOptions
from tagfill.labels.formats._ticks import column_kind
from tagfill.labels.io import load_labels

KNOWN = {"a.jpg": {"cat": 1, "dog": 1}, "b.jpg": {"dog": 1}, "c.jpg": {}}


def read(path: Path, text: str, encoding: str = "utf-8") -> Dataset:
    path.write_bytes(text.encode(encoding))
    return load_labels(path)


def known(dataset: Dataset) -> dict[str, dict[str, int]]:
    table = dataset.table
    return {
        image: {n: int(v) for n, v in zip(table.classes, row, strict=True) if v != -1}
        for image, row in zip(table.images, table.values, strict=True)
    }


@pytest.mark.parametrize(
    "text",
    [
        "photo,tags\na.jpg,#cat #dog\nb.jpg,#dog\nc.jpg,\n",
        'photo,tags\na.jpg,"#cat, #dog"\nb.jpg,#dog\nc.jpg,\n',
        "photo,tags\na.jpg,cat;dog\nphoto,tags\nb.jpg,dog\nc.jpg,none\n",
        'SourceFile,Subject,Keywords\na.jpg,"cat, dog",cat\nb.jpg,dog,-\nc.jpg,-,-\n',
        "My photos\n\nDatei;Stichworte\na.jpg;cat, dog\nb.jpg;dog\nc.jpg;keine\n",
        '{"images": [{"file": "a.jpg", "tags": ["cat", "dog"]}, {"file": "b.jpg", "tags": ["dog"]},'
        ' {"file": "c.jpg", "tags": []}]}',
        "photo,tags,,\na.jpg,cat,dog,\nb.jpg,,,dog\nc.jpg,,,\n",
        "photo,primary tag,secondary tag\na.jpg,cat,dog\nb.jpg,dog,\nc.jpg,,\n",
        "photo,tags\na.jpg,['cat' 'dog']\nb.jpg,['dog']\nc.jpg,[]\n",
        'photo,tags\na.jpg,"""cat"", \'dog\'"\nb.jpg,dog\nc.jpg,\n',
        'photo,tags\na.jpg,"{""choices"": [""cat"", ""dog""]}"\nb.jpg,dog\nc.jpg,\n',
        "photo,tag\na.jpg,cat\n,dog\n,cat\nb.jpg,dog\nc.jpg,\n",
        "a.jpg: cat, dog\nb.jpg: dog\nc.jpg: \n",
        "a.jpg cat dog\nb.jpg dog\nc.jpg\n",
        "photo,tags\na.jpg,cat;dog\nb.jpg,dog\nc.jpg,\nTotal,2\n",
    ],
    ids=[
        "hashtags",
        "hashtags with commas",
        "headers",
        "exiftool",
        "title",
        "wrapped JSON",
        "nameless columns",
        "columns in order",
        "numpy",
        "quotes",
        "Label Studio",
        "merged entries",
        "colon",
        "blanks",
        "sum",
    ],
)
def test_shapes_people_use(text: str, tmp_path: Path) -> None:
    suffix = ".json" if text.startswith("{") else ".csv"
    assert known(read(tmp_path / f"labels{suffix}", text)) == KNOWN


@pytest.mark.parametrize(
    "text",
    [
        ",animals,\nimage,cat,dog\na.jpg,1,0\nb.jpg,0,1\n",
        "image,animals,\n,cat,dog\na.jpg,1,0\nb.jpg,0,1\n",
        "image,cat,dog\na.jpg,present,absent\nb.jpg,absent,present\n",
        "image,cat,dog\na.jpg,✔️,✗\nb.jpg,✘,✔\n",
    ],
    ids=["groups", "two lines", "words", "emoji"],
)
def test_wide_tables_people_use(text: str, tmp_path: Path) -> None:
    dataset = read(tmp_path / "l.csv", text)
    assert known(dataset) == {"a.jpg": {"cat": 1, "dog": 0}, "b.jpg": {"cat": 0, "dog": 1}}
    values = dataset.table.values.copy()
    values[0, 1] = 1
    save_changes(dataset, dataset.table.with_values(values), tmp_path / "o.csv", ReadOptions())
    assert known(load_labels(tmp_path / "o.csv"))["a.jpg"] == {"cat": 1, "dog": 1}
    heads = [(tmp_path / name).read_text().split("\na.jpg")[0] for name in ("l.csv", "o.csv")]
    assert heads[0] == heads[1]


def test_split_names_in_any_case(tmp_path: Path) -> None:
    text = "image,cat,split\na.jpg,1,Train\nb.jpg,0,TEST\nc.jpg,1,Validation\n"
    assert set(read(tmp_path / "l.csv", text).splits) == {"train", "test", "val"}


@pytest.mark.parametrize("text", ['a.jpg,"cat\nb.jpg,dog\n', 'a.jpg,"cat\nb.jpg,dog"\nc.jpg,cat\n'])
def test_a_quote_that_is_never_closed_swallows_no_rows(text: str, tmp_path: Path) -> None:
    with pytest.raises(TagfillError, match=r"row 2: .*is a quote opened there"):
        read(tmp_path / "l.csv", "image,tags\n" + text)


def test_minus_one_is_refused_as_it_has_two_meanings(tmp_path: Path) -> None:
    with pytest.raises(TagfillError, match="-1 and 0 cannot both mean absent"):
        read(tmp_path / "l.csv", "image,cat\na.jpg,1\nb.jpg,-1\nc.jpg,0\n")


@pytest.mark.parametrize(
    "ids",
    [
        ("A.JPG", "SUB/b.JPG", "000"),
        ("a.jpeg", "b.jpg", "00000"),
        ("8f3ab2c1-a.jpg", "photos/sub/b.jpg", "0.0"),
        ("//nas/share/a.jpg", "//nas/share/sub/b.jpg", "//nas/share/0.jpg"),
        ("C:\\pics\\a.jpg", "D:\\x\\sub\\b.jpg", "0"),
        ("file:///home/me/my%20pics/a.jpg", "file:///home/me/my%20pics/sub/b.jpg", "0.png"),
        ("a.CR2", "Bä/../sub/b.jpg", "0"),
    ],
)
def test_images_are_found_in_other_spellings(ids: tuple[str, ...], tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("a.jpg", "sub/b.jpg", "0.jpg")]
    files[1].parent.mkdir()
    for file in files:
        Image.new("RGB", (4, 4)).save(file)
    rows = zip(ids, ("cat", "dog", "cat;dog"), strict=True)
    text = "image,tags\n" + "".join(f"{image},{tags}\n" for image, tags in rows)
    dataset = read(tmp_path / "l.csv", text)
    assert dataset.image_root == tmp_path
    assert find_images(tmp_path, dataset.table.images) == files


def folder_of(tmp_path: Path, *names: str) -> Path:
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (4, 4)).save(tmp_path / name, "JPEG")
    return tmp_path


def test_folders_of_servers_and_containers_are_no_classes(tmp_path: Path) -> None:
    names = ("images/cat/1.jpg", "images/Cat/2.jpg", "images/@eaDir/1.jpg", "__MACOSX/cat/1.jpg")
    dataset = load_labels(folder_of(tmp_path, *names, "images/dog/3.jpg", "images/dog/4.jpg"))
    assert sorted(dataset.table.classes, key=str.lower) in (["cat", "dog"], ["Cat", "dog"])
    assert len(dataset.table) == 4


def test_folders_in_class_folders_are_classes_on_request(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "animal/cat/1.jpg", "animal/dog/2.jpg", "car/3.jpg")
    dataset = load_labels(folder)
    assert dataset.table.classes == ("animal", "car")
    assert any("--hierarchy / makes them classes" in note for note in dataset.notes)
    deep = load_labels(folder, options=ReadOptions(hierarchy="/"))
    assert known(deep)["animal/cat/1.jpg"] == {"animal": 1, "cat": 1}
    assert deep.hierarchy == {"cat": ("animal",), "dog": ("animal",)}


def test_capitalized_splits_above_class_folders(tmp_path: Path) -> None:
    dataset = load_labels(folder_of(tmp_path, "Training/cat/1.jpg", "Test/dog/2.jpg"))
    assert dataset.table.classes == ("cat", "dog")
    assert set(dataset.splits) == {"train", "test"}


JSON_LISTS = [
    [{"file": "a.jpg", "labels": [{"name": "cat", "score": 1}, {"name": "dog"}]}],
    [{"file": "a.jpg", "cat": 1, "dog": True, "width": 640}, {"file": "b.jpg", "width": 480}],
    [{"file": "a.jpg", "cat": 1.0, "dog": 1, "sea": float("nan")}],
]


@pytest.mark.parametrize("lines", JSON_LISTS, ids=["objects", "sizes", "not a number"])
def test_json_that_programs_write(lines: list[dict[str, object]], tmp_path: Path) -> None:
    dataset = read(tmp_path / "l.json", json.dumps(lines))
    assert known(dataset)["a.jpg"] == {"cat": 1, "dog": 1}


@pytest.mark.parametrize(
    ("key", "value", "names"),
    [
        ("label", 0, ["0"]),
        ("labels", [0, 2], ["0", "2"]),
        ("Keywords", [2020, "cat"], ["2020", "cat"]),
    ],
)
def test_numbers_in_json_are_names_of_tags(
    key: str, value: object, names: list[str], tmp_path: Path
) -> None:
    """Else the number of a class would be a yes or a no, and exiftool's 2020 an error."""
    path = tmp_path / "l.json"
    lines = [{"file": "a.jpg", key: value}, {"file": "b.jpg", "tags": ["sea"]}]
    dataset = read(path, json.dumps(lines))
    assert sorted(known(dataset)["a.jpg"]) == sorted(names)
    values = dataset.table.values.copy()
    values[0, dataset.table.classes.index("sea")] = 1
    save_changes(dataset, dataset.table.with_values(values), tmp_path / "o.json", ReadOptions())
    assert sorted(known(load_labels(tmp_path / "o.json"))["a.jpg"]) == sorted([*names, "sea"])


def test_boxes_of_label_studio_are_refused_by_name(tmp_path: Path) -> None:
    result = [{"type": "rectanglelabels", "value": {"rectanglelabels": ["cat"]}}]
    tasks = [{"data": {"image": "a.jpg"}, "annotations": [{"result": result}]}]
    with pytest.raises(TagfillError, match=r"hold rectanglelabels, but no choices.*as COCO"):
        read(tmp_path / "l.json", json.dumps(tasks))


def test_invisible_characters_make_no_class(tmp_path: Path) -> None:
    dataset = read(tmp_path / "l.csv", "image,tags\na.jpg,cat\u200b\nb.jpg,\ufeffcat\u00a0\n")
    assert dataset.table.classes == ("cat",)


def test_paths_with_arrows(tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text("image,tags\na.jpg,animal > cat\nb.jpg,animal > dog\n")
    read_as = load_labels(tmp_path / "l.csv", options=ReadOptions(hierarchy=">"))
    assert known(read_as)["a.jpg"] == {"cat": 1, "animal": 1}


def test_no_image_is_taken_for_another(tmp_path: Path) -> None:
    for name in ("x/a.jpg", "y/a.jpg", "b.jpg", "Bä.jpg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.new("RGB", (4, 4)).save(tmp_path / name)
    ids = ["a.jpg", "z/a.jpg", "B.jpg", "b.jpg", "Ba\u0308.jpg", "Ba.jpg"]
    found = find_images(tmp_path, ids)
    assert found == [None, None, None, tmp_path / "b.jpg", tmp_path / "Bä.jpg", None]
    (problem, *_) = check_images(ids, tmp_path).problems
    assert "1 image was found under another spelling" in problem.message


@pytest.mark.parametrize(
    ("header", "yes", "no"),
    [("Bild;Schlagwort;Wert", "ja", "nein"), ("image;keyword;present", "x", "0")],
)
def test_a_no_in_a_row_of_its_own_is_never_a_yes(
    header: str, yes: str, no: str, tmp_path: Path
) -> None:
    lines = [f"a.jpg;cat;{yes}", f"a.jpg;dog;{no}", f"b.jpg;cat;{no}", f"b.jpg;dog;{yes}"]
    dataset = read(tmp_path / "l.csv", "\n".join([header, *lines]) + "\n", "cp1252")
    assert known(dataset) == {"a.jpg": {"cat": 1, "dog": 0}, "b.jpg": {"cat": 0, "dog": 1}}


def test_yes_and_no_under_a_strange_name_are_remarked_on(tmp_path: Path) -> None:
    dataset = read(tmp_path / "l.csv", "image,label,seen by Ben\na.jpg,cat,yes\na.jpg,dog,no\n")
    assert any("'seen by Ben': yes and no" in note for note in dataset.notes)


def test_words_for_nothing_are_tags_where_a_class_list_has_them(tmp_path: Path) -> None:
    dataset = read(tmp_path / "l.csv", "image,tags\n,cat;none\na.jpg,none\nb.jpg,cat\n")
    assert known(dataset) == {"a.jpg": {"none": 1}, "b.jpg": {"cat": 1}}


def test_tags_that_recur_in_other_entries_are_taken_apart(tmp_path: Path) -> None:
    pairs = [
        "cat dog",
        "dog sea",
        "sea cat",
        "cat tree",
        "tree dog",
        "tree sea",
        "sea dog",
        "dog cat",
    ]
    lines = [f"{n}.jpg,{pair.replace(' ', '/')}" for n, pair in enumerate(pairs)]
    dataset = read(tmp_path / "l.csv", "\n".join(["image,tags", *lines]) + "\n")
    assert set(dataset.table.classes) == {"cat", "dog", "sea", "tree"}


def test_a_no_written_as_a_tag_is_remarked_on_and_never_taken_for_a_typo(tmp_path: Path) -> None:
    lines = [f"{n}.jpg,horses" for n in range(20)] + ["x.jpg,-horses", "y.jpg,cats"]
    dataset = read(tmp_path / "l.csv", "\n".join(["image,tags", *lines]) + "\n")
    assert any("looks like a negation" in note for note in dataset.notes)
    assert not any("like others" in note for note in dataset.notes)


def test_a_line_of_odd_values_is_named_with_a_remedy_that_loses_nothing(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_text("image,cat,dog\na.jpg,1,0\nb.jpg,0,1\nc.jpg,1,1\nd.jpg,2,2\n")
    with pytest.raises(TagfillError, match=r"row 5: 2 entries.*delete the row if it holds sums"):
        load_labels(path)


@pytest.mark.parametrize(
    "text",
    [
        "image,cat,dog\na.jpg,1,0\nb.jpg,0,1\nTotal,1,1\n",
        "image,cat,dog\na.jpg,1,0\nb.jpg,0,1\nSumme:,17,3\n",
        "image,cat,dog\na.jpg,1,0\nimage,cat,dog\nb.jpg,0,1\n",
        "image;label;value\na.jpg;cat;1\na.jpg;dog;0\nb.jpg;cat;0\nb.jpg;dog;1\nGesamt;4;2\n",
    ],
)
def test_sums_and_repeated_headers_are_no_images(text: str, tmp_path: Path) -> None:
    dataset = read(tmp_path / "l.csv", text)
    assert known(dataset) == {"a.jpg": {"cat": 1, "dog": 0}, "b.jpg": {"cat": 0, "dog": 1}}
    assert "passed over" in str(dataset.problems[0])


def test_confirmed_tags_of_absolute_ids_are_written_beside_a_sum(tmp_path: Path) -> None:
    text = "image,tags\nC:\\x\\a.jpg,cat\nC:\\x\\b.jpg,dog\nimage,tags\nTotal,2\n"
    dataset = read(tmp_path / "l.csv", text)
    values = dataset.table.values.copy()
    values[0, 1] = 1
    save_changes(dataset, dataset.table.with_values(values), tmp_path / "o.csv", ReadOptions())
    assert (tmp_path / "o.csv").read_text() == text.replace("a.jpg,cat", "a.jpg,cat;dog")


def test_a_sum_stays_in_the_file_that_apply_writes(tmp_path: Path) -> None:
    dataset = read(tmp_path / "l.csv", "image,tags\na.jpg,cat\nb.jpg,dog\nTotal,2\n")
    values = dataset.table.values.copy()
    values[0, 1] = 1
    save_changes(dataset, dataset.table.with_values(values), tmp_path / "o.csv", ReadOptions())
    assert (tmp_path / "o.csv").read_text() == "image,tags\na.jpg,cat;dog\nb.jpg,dog\nTotal,2\n"


def test_images_are_found_without_their_suffix(tmp_path: Path) -> None:
    for name in ("a.JPG", "b.v2.png"):
        Image.new("RGB", (4, 4)).save(tmp_path / name)
    path = tmp_path / "l.csv"
    path.write_text("image,tags\na,cat\nb.v2,dog\n")
    dataset = load_labels(path)
    assert dataset.image_root == tmp_path
    assert find_image(tmp_path, "a") == tmp_path / "a.JPG"
    assert find_image(tmp_path, "b.v2") == tmp_path / "b.v2.png"
    assert find_image(tmp_path, "c") is None


@pytest.mark.parametrize(
    ("before", "after"),
    [("#cat", "#cat #dog"), ("none", "dog"), ("#cat #sea", "#cat #sea #dog"), ("cat", "cat;dog")],
)
def test_confirmed_tags_fit_the_entry(before: str, after: str, tmp_path: Path) -> None:
    labels, answers, out = (tmp_path / name for name in ("l.csv", "s.csv", "o.csv"))
    labels.write_text(f"image,tags\na.jpg,{before}\nb.jpg,dog;sea\n")
    answers.write_text("image,tag,decision\na.jpg,dog,yes\n")
    assert main(["apply", str(answers), str(labels), str(out), "--json"]) == 0
    assert out.read_text().splitlines()[1] == f"a.jpg,{after}"
    expected = known(load_labels(labels))
    expected["a.jpg"]["dog"] = 1
    assert known(load_labels(out)) == expected


def test_inspect_lists_what_was_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "l.csv"
    path.write_text("image,tags\na.jpg,cat\nimage,tags\nb.jpg,-\n")
    assert main(["inspect", str(path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert "the header stands here again" in json.dumps(told["problems"])
    assert "1 entry says '-'" in " ".join(told["notes"])


def test_the_file_is_named_where_columns_have_one_name(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_text("image,cat,cat\na.jpg,1,0\n")
    with pytest.raises(TagfillError, match=r"l\.csv, row 1: columns 2 and 3 are both called 'cat'"):
        load_labels(path)


@pytest.mark.parametrize("header", ["image;rejected tag\r\n", ""])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "cp1252", "utf-16"])
def test_rejections_that_a_spreadsheet_saved_are_kept(
    header: str, encoding: str, tmp_path: Path
) -> None:
    path = tmp_path / "l.csv"
    path.write_text("image,tags\na.jpg,cat\nb.jpg,Bär\nc.jpg,cat;Bär\n", encoding="utf-8")
    rejected = tmp_path / "l.csv.rejected.csv"
    rejected.write_bytes(f"{header}a.jpg;Bär\r\nb.jpg;cat\r\n;\r\n".encode(encoding))
    assert known(load_labels(path))["a.jpg"] == {"cat": 1, "Bär": 0}
    assert known(load_labels(path))["b.jpg"] == {"cat": 0, "Bär": 1}


def test_labels_of_a_table_without_header_are_changed(tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_text("a.jpg,1,0\nb.jpg,1\nc.jpg,,1\n")
    options = ReadOptions(classes=("cat", "dog"))
    dataset = load_labels(tmp_path / "l.csv", options=options)
    values = dataset.table.values.copy()
    values[1, 1] = 0
    save_changes(dataset, dataset.table.with_values(values), tmp_path / "o.csv", options)
    assert (tmp_path / "o.csv").read_text() == "a.jpg,1,0\nb.jpg,1,0\nc.jpg,,1\n"


def test_a_class_without_any_label_is_changed_in_parquet(tmp_path: Path) -> None:
    columns = {"image": ["a.jpg", "b.jpg"], "cat": [1, 0], "dog": [None, None]}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "l.parquet")
    dataset = load_labels(tmp_path / "l.parquet")
    out = tmp_path / "o.parquet"
    save_changes(dataset, dataset.table.with_values([[1, 1], [0, -1]]), out, ReadOptions())
    assert known(load_labels(out)) == {"a.jpg": {"cat": 1, "dog": 1}, "b.jpg": {"cat": 0}}


def test_json_with_half_a_letter_is_written_again(tmp_path: Path) -> None:
    task = {"image": "/data/upload/1/8f3ab2c1-a.jpg", "annotator": "\ud800", "tags": ["cat"]}
    (tmp_path / "l.json").write_text(json.dumps([task]))
    dataset = load_labels(tmp_path / "l.json")
    save_changes(dataset, dataset.table.with_values([[0]]), tmp_path / "o.json", ReadOptions())
    assert known(load_labels(tmp_path / "o.json")) == {"a.jpg": {"cat": 0}}


@pytest.mark.parametrize("name", ["l.csv", "l.parquet"])
def test_a_class_called_split_is_changed(name: str, tmp_path: Path) -> None:
    columns = {"image": ["a.jpg", "b.jpg"], "cat": [1, 0], "split": [1, 0]}
    if name == "l.csv":
        (tmp_path / name).write_text("image,cat,split\na.jpg,1,1\nb.jpg,0,0\n")
    else:
        pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / name)
    dataset = load_labels(tmp_path / name)
    out = tmp_path / f"o{name}"
    save_changes(dataset, dataset.table.with_values([[1, 0], [0, 1]]), out, ReadOptions())
    assert known(load_labels(out)) == {
        "a.jpg": {"cat": 1, "split": 0},
        "b.jpg": {"cat": 0, "split": 1},
    }


def test_equally_frequent_kinds_do_not_depend_on_the_process() -> None:
    """Sets of texts have another order in every process: no tie may be broken by it."""
    texts = {"date": "2020-01-31", "image": "a.jpg", "number": "-7", "size": "3 MB", "text": "cat"}
    for first, second in combinations(sorted(texts), 2):
        assert column_kind([texts[first], "1", texts[second]]) == second


def test_open_images_in_other_files_than_csv(tmp_path: Path) -> None:
    columns = {
        "ImageID": ["a1", "a1", "b2"],
        "Source": ["verification", "verification", "machine"],
        "LabelName": ["/m/cat", "/m/dog", "/m/cat"],
        "Confidence": [1.0, 0.0, 0.7],
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "labels.parquet")
    table = load_labels(tmp_path / "labels.parquet").table
    assert (table.images, table.classes) == (("a1.jpg", "b2.jpg"), ("/m/cat", "/m/dog"))
    assert table.values.tolist() == [[1, 0], [-1, -1]]
    rows = [list(columns), *zip(*columns.values(), strict=True)]
    cells = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    (tmp_path / "labels.html").write_text(f"<table>{cells}</table>")
    dataset = load_labels(tmp_path / "labels.html")
    assert dataset.table == table
    with pytest.raises(TagfillError, match=r"cannot be edited .*--to csv_wide"):
        save_changes(dataset, table.with_values([[1, 1], [1, 1]]), tmp_path / "o", ReadOptions())


@pytest.mark.parametrize("name", ["labels.jsonl", "labels.parquet", "tasks.json"])
def test_edits_of_images_whose_ids_were_respelled(name: str, tmp_path: Path) -> None:
    file, images = tmp_path / name, [r".\photos\a.jpg", "photos//b.jpg"]
    if name == "labels.parquet":
        table = pyarrow.table({"image": images, "cat": [1, 0], "dog": [0, None]})
        pyarrow.parquet.write_table(table, file)
    elif name == "labels.jsonl":
        lines = [
            {"file_name": image, "positives": ["cat"], "negatives": ["dog"]} for image in images
        ]
        file.write_text("\n".join(map(json.dumps, lines)) + "\n")
    else:
        result = [{"from_name": "tags", "type": "choices", "value": {"choices": ["cat", "dog"]}}]
        file.write_text(
            json.dumps(
                [{"data": {"image": i}, "annotations": [{"result": result}]} for i in images]
            )
        )
    dataset = load_labels(file)
    assert dataset.table.images == ("photos/a.jpg", "photos/b.jpg")
    out = tmp_path / f"out{file.suffix}"
    save_changes(dataset, dataset.table.with_values([[0, 1], [1, 0]]), out, ReadOptions())
    edited = load_labels(out).table.with_classes(dataset.table.classes)
    assert edited.values.tolist() == [[0, 1], [1, 0]]


def test_parquet_with_one_row_per_statement_is_not_edited(tmp_path: Path) -> None:
    file, out = tmp_path / "labels.parquet", tmp_path / "out.parquet"
    columns = {"image": ["a.jpg", "a.jpg", "b.jpg"], "label": ["cat", "dog", "cat"]}
    pyarrow.parquet.write_table(pyarrow.table(columns), file)
    dataset = load_labels(file)
    with pytest.raises(TagfillError, match=r"one row per statement .*--to csv_wide"):
        save_changes(dataset, dataset.table.with_values([[1, 1], [1, 1]]), out, ReadOptions())
    assert not out.exists()


def test_datumaro_without_label(tmp_path: Path) -> None:
    content = {
        "categories": {"label": {"labels": [{"name": "cat"}, {"name": "dog"}]}},
        "items": [
            {"id": "a", "image": {"path": "a.jpg"}, "annotations": [{"label_id": -1}]},
            {"id": "b", "image": {"path": "b.jpg"}, "annotations": [{"label_id": 0}]},
        ],
    }
    (tmp_path / "a.json").write_text(json.dumps(content))
    table = load_labels(tmp_path / "a.json").table
    assert (table.classes, table.values.tolist()) == (("cat",), [[-1], [1]])


def test_yolo_names_with_comments_between_them(tmp_path: Path) -> None:
    (tmp_path / "data.yaml").write_text("names:\n  0: cat  # a pet\n  # wild ones\n  1: fox\n")
    Image.new("RGB", (8, 8)).save(tmp_path / "a.jpg")
    (tmp_path / "a.txt").write_text("1 0.5 0.5 0.2 0.2\n")
    table = load_labels(tmp_path).table
    assert (table.classes, table.values.tolist()) == (("cat", "fox"), [[0, 1]])


@pytest.mark.parametrize("name", ["labels.csv", "labels.parquet"])
def test_edits_of_listed_classes_without_a_column(name: str, tmp_path: Path) -> None:
    file, out = tmp_path / name, tmp_path / f"out{Path(name).suffix}"
    options = ReadOptions(classes=("dog", "eel", "cat"))
    if name == "labels.csv":
        file.write_text("image,cat,dog\na.jpg,1,0\nb.jpg,0,1\n")
    else:
        columns = {"image": ["a.jpg", "b.jpg"], "cat": [1, 0], "dog": [0, 1]}
        pyarrow.parquet.write_table(pyarrow.table(columns), file)
    dataset = load_labels(file, options=options)
    save_changes(dataset, dataset.table.with_values([[0, 1, 1], [1, -1, 0]]), out, options)
    edited = load_labels(out).table
    assert edited.classes == ("cat", "dog", "eel")
    assert edited.values.tolist() == [[1, 0, 1], [0, 1, -1]]


def test_json_with_tags_called_classes(tmp_path: Path) -> None:
    """In our own files that key lists all classes; in others it has the tags of an image."""
    lines = [{"image": "a.jpg", "classes": ["cat", "dog"]}, {"image": "b.jpg", "classes": ["dog"]}]
    (tmp_path / "a.json").write_text(json.dumps(lines))
    dataset = load_labels(tmp_path / "a.json")
    assert dataset.table.values.tolist() == [[1, 1], [-1, 1]]
    out = tmp_path / "b.json"
    save_changes(dataset, dataset.table.with_values([[1, -1], [1, 1]]), out, ReadOptions())
    assert load_labels(out).table.values.tolist() == [[1, -1], [1, 1]]
    both = [{"image": "a.jpg", "tags": ["cat"], "classes": ["cat", "dog"]}]
    (tmp_path / "c.json").write_text(json.dumps(both))
    assert load_labels(tmp_path / "c.json").table.positives == 1
    images = tmp_path / "photos"
    images.mkdir()
    for name, tags in (("a", ["cat"]), ("b", ["dog"])):
        Image.new("RGB", (8, 8)).save(images / f"{name}.jpg")
        (images / f"{name}.json").write_text(json.dumps({"classes": tags}))
    assert load_labels(images).table.values.tolist() == [[1, -1], [-1, 1]]


def test_edits_of_parquet_with_an_image_in_two_rows(tmp_path: Path) -> None:
    file, out = tmp_path / "labels.parquet", tmp_path / "out.parquet"
    columns = {"image": ["a.jpg", "b.jpg", "a.jpg"], "cat": [1, 1, None], "dog": [None, 0, 1]}
    pyarrow.parquet.write_table(pyarrow.table(columns), file)
    dataset = load_labels(file)
    save_changes(dataset, dataset.table.with_values([[0, 1], [1, 0]]), out, ReadOptions())
    assert load_labels(out).table.values.tolist() == [[0, 1], [1, 0]]
