"""Tables and typed lists of tags, in the shapes people and programs give them."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.labels.reading import LISTED, ROWS, TAGS, known, read

from tagfill.labels.edit import save_changes
from tagfill.labels.formats import ReadOptions
from tagfill.labels.io import load_labels

TAG_LISTS = {
    "english": "file,keywords\na.jpg,cat;dog\nb.jpg,dog\nc.jpg,\n",
    "photo": "Photo,Subject\na.jpg,cat;dog\nb.jpg,dog\nc.jpg,\n",
    "german": "Dateiname;Schlagwörter\na.jpg;cat,dog\nb.jpg;dog\nc.jpg;\n",
    "german without umlauts": "Bild;Stichworte\na.jpg;cat|dog\nb.jpg;dog\nc.jpg;\n",
    "exiftool": 'SourceFile,Keywords,Subject\n./a.jpg,"cat, dog","cat, dog"\n./b.jpg,dog,\n'
    "./c.jpg,,\n",
    "groups": "SourceFile,XMP:Subject\na.jpg,cat;dog\nb.jpg,dog\nc.jpg,\n",
    "other columns": "File Name,Title,Rating,Keywords,Date\n"
    "a.jpg,My cat,3,cat;dog,2020-01-02\nb.jpg,,5,dog,2021-03-04\nc.jpg,,,,\n",
    "no header": "a.jpg,cat;dog\nb.jpg,dog\nc.jpg,\n",
    "no header, one tag a column": "a.jpg,cat,dog\nb.jpg,dog\nc.jpg\n",
    "numbered columns": "image,tag1,tag2\na.jpg,cat,dog\nb.jpg,dog,\nc.jpg,,\n",
    "unknown names": "Nr;Inhalt\na.jpg;cat,dog\nb.jpg;dog\nc.jpg;\n",
    "tags first": "Inhalt;Nr\ncat,dog;a.jpg\ndog;b.jpg\n;c.jpg\n",
    "tabs": "image\ttags\na.jpg\tcat;dog\nb.jpg\tdog\nc.jpg\t\n",
    "excel hint": "sep=;\nimage;tags\na.jpg;cat,dog\nb.jpg;dog\nc.jpg;\n",
    "title above": "My photos,\n,\nimage,tags\na.jpg,cat;dog\nb.jpg,dog\nc.jpg,\n",
    "row numbers": ",image,tags\n0,a.jpg,cat;dog\n1,b.jpg,dog\n2,c.jpg,\n",
    "pandas lists": "image,tags\na.jpg,\"['cat', 'dog']\"\nb.jpg,['dog']\nc.jpg,[]\n",
    "json lists": 'image,tags\na.jpg,"[""cat"", ""dog""]"\nb.jpg,"[""dog""]"\nc.jpg,[]\n',
    "hashtags": "image,tags\na.jpg,#cat #dog\nb.jpg,dog\nc.jpg,\n",
    "blank rows": "image,tags\n\na.jpg,cat;dog\n,\nb.jpg,dog\nc.jpg,\n,\n",
    "lists under label": "image,label\na.jpg,cat;dog\nb.jpg,dog\nc.jpg,\n",
    "blanks around": " image , tags \n a.jpg , cat ; dog \n b.jpg , dog \n c.jpg , \n",
    "commas without quotes": "image,tags\na.jpg,cat,dog\nb.jpg,dog\nc.jpg,\n",
    "tags twice": "image,tags,tags\na.jpg,cat,dog\nb.jpg,dog,\nc.jpg,,\n",
    "windows paths": "Pfad;Tags\nC:\\My\\a.jpg;cat,dog\nC:\\My\\b.jpg;dog\nC:\\My\\c.jpg;\n",
    "old mac lines": "image,tags\ra.jpg,cat;dog\rb.jpg,dog\rc.jpg,\r",
    "comment above": "# my photos\nimage,tags\na.jpg,cat;dog\nb.jpg,dog\nc.jpg,\n",
    "three separators": 'image,tags\na.jpg,"cat, dog"\nb.jpg,dog|\nc.jpg,;\n',
}


@pytest.mark.parametrize("text", TAG_LISTS.values(), ids=TAG_LISTS)
def test_tag_lists(tmp_path: Path, text: str) -> None:
    dataset = read(tmp_path, text)
    assert dataset.format == "tag_list"
    assert known(dataset) == LISTED


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
    assert known(read(tmp_path, text, f"labels{suffix}")) == LISTED


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


@pytest.mark.parametrize("mark", [":", " ->", " -", " =", " →", " =>"])
def test_typed_lists(mark: str, tmp_path: Path) -> None:
    rows = [f"my-photo {n}.jpg{mark} {', '.join(tags)}" for n, tags in ROWS]
    dataset = read(tmp_path, rows, "l.txt")
    assert known(dataset)["my-photo 2.jpg"] == {"polar bear": 1, "dog": 1}
    values = dataset.table.values.copy()
    values[0, dataset.table.classes.index("dog")] = 1
    save_changes(dataset, dataset.table.with_values(values), tmp_path / "o.txt", ReadOptions())
    assert (tmp_path / "o.txt").read_text().splitlines()[0] == f"my-photo 0.jpg{mark} cat, dog"


@pytest.mark.parametrize("item", ["- {}.jpg: {}", "{0}. {0}.jpg: {1}", "* {}.jpg -> {}"])
def test_lists_of_images_with_bullets(item: str, tmp_path: Path) -> None:
    dataset = read(tmp_path, [item.format(n, ", ".join(tags)) for n, tags in ROWS], "l.md")
    assert known(dataset)["2.jpg"] == {"polar bear": 1, "dog": 1}


def test_columns_that_blanks_line_up(tmp_path: Path) -> None:
    rows = [f"{f'{n}.jpg':<12}{', '.join(tags)}" for n, tags in ROWS]
    dataset = read(tmp_path, [f"{'image':<12}tags", *rows], "l.txt")
    assert known(dataset)["2.jpg"] == {"polar bear": 1, "dog": 1}


def test_images_listed_by_tag(tmp_path: Path) -> None:
    rows = ["cat,a.jpg; b.jpg; c.jpg", 'dog,"b.jpg, d.jpg"', "tree,e.jpeg|a.jpg"]
    dataset = read(tmp_path, ["tag,images", *rows])
    assert known(dataset)["b.jpg"] == {"cat": 1, "dog": 1}
    assert known(dataset)["a.jpg"] == {"cat": 1, "tree": 1}


@pytest.mark.parametrize(
    "header",
    ["present,absent", "positive_tags,negative_tags", "tags,not tags", "Tags,rejected tags"],
)
def test_columns_of_tags_that_are_not_there(header: str, tmp_path: Path) -> None:
    rows = [f'{n}.jpg,"{", ".join(tags)}","{"dog" if n % 3 == 0 else ""}"' for n, tags in ROWS]
    dataset = read(tmp_path, [f"image,{header}", *rows])
    assert known(dataset)["0.jpg"] == {"cat": 1, "dog": 0}
    assert known(dataset)["1.jpg"] == {"cat": 1, "dog": 1}
    values = dataset.table.values.copy()
    values[0, dataset.table.classes.index("dog")] = 1
    save_changes(dataset, dataset.table.with_values(values), tmp_path / "o.csv", ReadOptions())
    assert known(load_labels(tmp_path / "o.csv"))["0.jpg"] == {"cat": 1, "dog": 1}
    assert known(load_labels(tmp_path / "o.csv"))["3.jpg"] == {"cat": 1, "dog": 0}
