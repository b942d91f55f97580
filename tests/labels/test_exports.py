"""Exports of known programs and published data sets: read as meant without an option."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tagfill.errors import TagfillError
from tagfill.labels import Dataset
from tagfill.labels.edit import save_changes
from tagfill.labels.formats import ReadOptions, _lists
from tagfill.labels.formats._builder import LabelBuilder
from tagfill.labels.formats._splitter import blanks_separate
from tagfill.labels.formats.base import Source
from tagfill.labels.io import load_labels

PLANET = ("haze", "primary", "agriculture", "clear", "water", "road", "blow_down", "cloudy")


def known(dataset: Dataset, image: str) -> dict[str, int]:
    table = dataset.table
    row = table.values[table.images.index(image)].tolist()
    return {name: value for name, value in zip(table.classes, row, strict=True) if value != -1}


def read(tmp_path: Path, lines: Sequence[str], name: str = "labels.csv") -> Dataset:
    (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return load_labels(tmp_path / name)


def images(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, 8)).save(folder / name)


def sets(words: Sequence[str], count: int, most: int = 4) -> list[list[str]]:
    draw = random.Random(7)
    return [draw.sample(words, 1 + number % most) for number in range(count)]


@pytest.mark.parametrize("words", [PLANET, ("sunset", "beach", "nikon", "sea", "sand", "sky")])
def test_tags_with_blanks_between_them(words: Sequence[str], tmp_path: Path) -> None:
    drawn = sets(words, 60)
    rows = [f"train_{n},{' '.join(tags)}" for n, tags in enumerate(drawn)]
    dataset = read(tmp_path, ["image_name,tags", *rows])
    assert set(dataset.table.classes) == set(words)
    assert set(known(dataset, "train_7")) == set(drawn[7])
    assert any("separated by blanks" in note for note in dataset.notes)
    whole = load_labels(tmp_path / "labels.csv", options=ReadOptions(separator=";"))
    assert "separated by blanks" not in str(whole.notes)
    assert len(whole.table.classes) > len(words)


@pytest.mark.parametrize(
    "names",
    [
        ["polar bear", "black bear", "brown bear", "black bird", "sea bird", "sea lion", "lion"],
        [f"{a} {b}" for a in ("Ann", "Bob", "Eve", "Tom") for b in ("Lee", "Kim", "Roy", "Fox")],
        [f"{a} {b}" for a in ("red", "blue", "green") for b in ("shirt", "dress", "shirt dress")],
        ["a dog on a beach", "a cat on a mat", "two dogs on a beach", "a cat in the sun", "a dog"],
        ["Vulpes vulpes", "Parus major", "Parus ater", "Turdus merula", "Sus scrofa"],
    ],
)
def test_tags_of_several_words_stay_whole(names: list[str]) -> None:
    assert not blanks_separate(names * 5)


def test_blanks_in_files_of_tags_and_in_json(tmp_path: Path) -> None:
    drawn = sets(PLANET, 24)
    for number, tags in enumerate(drawn):
        images(tmp_path / "txt", f"{number}.jpg")
        (tmp_path / "txt" / f"{number}.txt").write_text(" ".join(tags))
        images(tmp_path / "json", f"{number}.jpg")
        line = {"id": number, "tag_string": " ".join(tags), "rating": "g"}
        (tmp_path / "json" / f"{number}.jpg.json").write_text(json.dumps(line))
    lines = [{"file": f"{n}.jpg", "tags": " ".join(tags)} for n, tags in enumerate(drawn)]
    (tmp_path / "l.json").write_text(json.dumps(lines))
    for source in ("txt", "json", "l.json"):
        dataset = load_labels(tmp_path / source)
        assert set(dataset.table.classes) == set(PLANET)
        assert set(known(dataset, "7.jpg")) == set(drawn[7])


def test_answers_keep_the_blanks(tmp_path: Path) -> None:
    rows = [f"{n}.jpg,{' '.join(tags)}" for n, tags in enumerate(sets(PLANET, 60))]
    dataset = read(tmp_path, ["image,tags", *rows])
    before = known(dataset, "2.jpg")
    gone, added = next(iter(before)), next(name for name in PLANET if name not in before)
    values = dataset.table.values.copy()
    values[2, dataset.table.classes.index(gone)] = 0
    values[2, dataset.table.classes.index(added)] = 1
    save_changes(dataset, dataset.table.with_values(values), tmp_path / "o.csv", ReadOptions())
    kept = [name for name in rows[2].split(",")[1].split() if name != gone]
    assert (tmp_path / "o.csv").read_text().splitlines()[3] == f"2.jpg,{' '.join([*kept, added])}"
    again = load_labels(tmp_path / "o.csv")
    assert known(again, "2.jpg") == {**dict.fromkeys([*kept, added], 1), gone: 0}


def test_a_given_separator_holds_for_answers(tmp_path: Path) -> None:
    path, options = tmp_path / "l.csv", ReadOptions(separator=";")
    path.write_text('image,tags\na.jpg,"Paris, France;tower;sea"\nb.jpg,tower;sea\n')
    dataset = load_labels(path, options=options)
    values = dataset.table.values.copy()
    values[0, dataset.table.classes.index("tower")] = 0
    save_changes(dataset, dataset.table.with_values(values), tmp_path / "o.csv", options)
    again = load_labels(tmp_path / "o.csv", options=options)
    assert known(again, "a.jpg") == {"Paris, France": 1, "sea": 1, "tower": 0}


def test_findings_of_chest_x_rays(tmp_path: Path) -> None:
    header = (
        "Image Index,Finding Labels,Follow-up #,Patient ID,Patient Age,Patient Gender,"
        "View Position,OriginalImage[Width,Height],OriginalImagePixelSpacing[x,y],"
    )
    found = ["Mass|Nodule", "No Finding", "Effusion", "Mass", "No Finding", "Effusion|Mass"]
    rows = [
        f"{n:08}_000.png,{found[n % 6]},{n % 3},{n},{20 + n},{'FFM'[n % 3]},PA,2682,2749,0.1,0.1,"
        for n in range(24)
    ]
    dataset = read(tmp_path, [header, *rows])
    assert set(dataset.table.classes) == {"Mass", "Nodule", "Effusion", "No Finding"}
    assert known(dataset, "00000005_000.png") == {"Effusion": 1, "Mass": 1, "No Finding": 0}


def test_minus_one_beside_all_other_values_is_doubt(tmp_path: Path) -> None:
    rows = [f"p{n}.jpg,Male,{20 + n},{['1.0', '', '0.0', '-1.0'][n % 4]},1.0" for n in range(20)]
    dataset = read(tmp_path, ["Path,Sex,Age,Edema,Fracture", *rows])
    assert dataset.table.classes == ("Edema", "Fracture")
    assert known(dataset, "p2.jpg") == {"Edema": 0, "Fracture": 1}
    assert known(dataset, "p3.jpg") == {"Fracture": 1}
    assert any("-1.0 beside 1, 0 and empty" in note for note in dataset.notes)


TIMELAPSE = "File,RelativePath,DateTime,DeleteFlag,Species,Count,Sex,Dark"
WILDLIFE = (
    "deployment_id,image_id,location,is_blank,class,order,family,genus,species,common_name,"
    "number_of_objects,highlighted"
)
INATURALIST = "id,observed_on,user_login,image_url,latitude,scientific_name,common_name,captive"
CAMTRAP = "observationID,deploymentID,mediaID,observationType,scientificName,count,sex"


@pytest.mark.parametrize(
    ("header", "row", "first"),
    [
        (TIMELAPSE, "I{n}.JPG,site,2021-06-01 03:12:11,false,{animal},{one},{sex},true", "I0.JPG"),
        (
            WILDLIFE,
            "d1,{n}-aa,gs://wi/I{n}.jpg,0,Mammalia,Carnivora,Canidae,Vulpes,vulpes,{animal},1,FALSE",
            "0-aa",
        ),
        (
            INATURALIST,
            "{n},2021-05-01,me,https://x.org/photos/{n}/medium.jpg?17,5.1,V v,{animal},false",
            "https://x.org/photos/0/medium.jpg?17",
        ),
        (CAMTRAP, "o{n}{animal},d1,m{n},animal,{animal},{one},", "m0"),
    ],
    ids=["Timelapse", "Wildlife Insights", "iNaturalist", "Camtrap DP"],
)
def test_one_row_per_animal(header: str, row: str, first: str, tmp_path: Path) -> None:
    animals = ["Red Fox", "Roe Deer", "Jay"]
    rows = [
        row.format(n=n, animal=animals[(n + k) % 3], one=n % 2, sex="MF"[n % 2])
        for n in range(20)
        for k in range(1 + (n == 0))
    ]
    dataset = read(tmp_path, [header, *rows])
    assert set(dataset.table.classes) == set(animals)
    assert known(dataset, first) == {"Red Fox": 1, "Roe Deer": 1}


def test_rows_of_one_image_are_statements_beside_columns_of_yes_and_no(tmp_path: Path) -> None:
    rows = ["a.jpg,cat,1,0", "a.jpg,dog,0,0", "b.jpg,dog,1,1"]
    dataset = read(tmp_path, ["image,label,truncated,occluded", *rows])
    assert known(dataset, "a.jpg") == {"cat": 1, "dog": 1}


@pytest.mark.parametrize(
    "name", ["Summe: 8 Fotos", "Total: 8", "Anzahl Bilder 8", "8 photos total"]
)
def test_rows_of_sums(name: str, tmp_path: Path) -> None:
    rows = [f"{n}.jpg,1,0" for n in range(8)]
    dataset = read(tmp_path, ["image,cat,dog", *rows, f"{name},8,0"])
    assert len(dataset.table) == 8
    assert any("is taken for a sum" in str(problem) for problem in dataset.problems)
    tagged = read(tmp_path, ["image,tags", *(f"{n}.jpg,cat" for n in range(8)), f"{name},"])
    assert len(tagged.table) == 8


def test_decimals_are_ticks(tmp_path: Path) -> None:
    dataset = read(tmp_path, ["Bild;Hund;Katze", "a.jpg;1,00;0,000", "b.jpg;0.00;1.0"])
    assert known(dataset, "a.jpg") == {"Hund": 1, "Katze": 0}
    assert known(dataset, "b.jpg") == {"Hund": 0, "Katze": 1}


def test_addresses_with_a_query_are_images(tmp_path: Path) -> None:
    rows = [f"shirt-{n},Shirt {n},summer,https://x.org/{n}.jpg?v=12,1" for n in range(6)]
    dataset = read(tmp_path, ["Handle,Title,Tags,Image Src,Image Position", *rows])
    assert dataset.table.images[0] == "https://x.org/0.jpg?v=12"


def test_a_catalog_names_the_columns_to_choose(tmp_path: Path) -> None:
    rows = [f"{n}.jpg,{['red', 'blue'][n % 2]},wool,{n}.99" for n in range(12)]
    with pytest.raises(TagfillError, match="--tags-column 'color,material'"):
        read(tmp_path, ["image,color,material,price", *rows])
    options = ReadOptions(tags_columns=("color,material",))
    chosen = load_labels(tmp_path / "labels.csv", options=options)
    assert known(chosen, "1.jpg") == {"blue": 1, "wool": 1}


def test_text_of_exiftool_is_no_table(tmp_path: Path) -> None:
    shots = [f"======== ./{n}.jpg\nSubject   : dog, sea\nRating    : 3" for n in range(4)]
    with pytest.raises(TagfillError):
        read(tmp_path, shots, "meta.txt")


REGION = {"shape_attributes": {"name": "rect"}, "region_attributes": {"type": "cat"}}
ATTRIBUTES = {"caption": "", "public_domain": "no", "scene": {"park": True, "street": False}}


@pytest.mark.parametrize("regions", [[REGION], {"0": REGION}])
@pytest.mark.parametrize("project", [True, False])
def test_json_of_via(regions: object, project: bool, tmp_path: Path) -> None:
    files = {
        f"{n}.jpg99": {"filename": f"{n}.jpg", "regions": regions, "file_attributes": ATTRIBUTES}
        for n in range(3)
    }
    document = {"_via_settings": {}, "_via_img_metadata": files} if project else files
    (tmp_path / "via.json").write_text(json.dumps(document))
    dataset = load_labels(tmp_path / "via.json")
    assert dataset.format == "via"
    assert known(dataset, "1.jpg") == {"cat": 1, "park": 1}


def test_csv_of_via(tmp_path: Path) -> None:
    header = (
        "filename,file_size,file_attributes,region_count,region_id,region_shape_attributes,"
        "region_attributes"
    )
    rows = [
        f'{n}.jpg,12,"{{}}",2,{k},"{{""name"":""rect""}}","{{""type"":""{name}""}}"'
        for n in range(3)
        for k, name in enumerate(["cat", "dog"])
    ]
    dataset = read(tmp_path, [header, *rows])
    assert known(dataset, "1.jpg") == {"cat": 1, "dog": 1}
    with pytest.raises(TagfillError, match="no attribute of a region or file names a class"):
        read(tmp_path, [header, 'a.jpg,12,"{}",0,0,"{}","{}"'])
    with pytest.raises(TagfillError, match="row 2: not readable as JSON"):
        read(tmp_path, [header, 'a.jpg,12,"{}",0,0,"{}","{x"'])


@pytest.mark.parametrize("kind", ["csv", "coco"])
def test_a_folder_with_labels_in_each_split(kind: str, tmp_path: Path) -> None:
    for split in ("train", "valid"):
        names = [f"{split}{n}.jpg" for n in range(4)]
        images(tmp_path / split, *names)
        if kind == "csv":
            rows = [f"{name}, {n % 2}, {(n + 1) % 2}" for n, name in enumerate(names)]
            text = "\n".join(["filename, cat, dog", *rows]) + "\n"
            (tmp_path / split / "_classes.csv").write_text(text)
            continue
        document = {
            "images": [{"id": n, "file_name": name} for n, name in enumerate(names)],
            "annotations": [{"image_id": n, "category_id": 2 - n % 2} for n in range(4)],
            "categories": [{"id": 1, "name": "cat"}, {"id": 2, "name": "dog"}],
        }
        (tmp_path / split / "_annotations.coco.json").write_text(json.dumps(document))
    dataset = load_labels(tmp_path)
    assert {name: len(rows) for name, rows in dataset.splits.items()} == {"train": 4, "val": 4}
    assert known(dataset, "train/train1.jpg") == {"cat": 1, "dog": 0}
    assert dataset.image_root == tmp_path


def test_people_in_google_takeout(tmp_path: Path) -> None:
    long = "a_photo_with_a_very_long_name_2021.jpg"
    for name in ("a.jpg", long):
        images(tmp_path, f"Photos from 2021/{name}")
        text = json.dumps({"photoTakenTime": {"timestamp": "1"}, "people": [{"name": "Ann"}]})
        file = f"{name}.supplemental-metadata"[:46] + ".json"
        (tmp_path / "Photos from 2021" / file).write_text(text)
    dataset = load_labels(tmp_path)
    assert dataset.table.classes == ("Ann",)
    assert dataset.table.positives == 2


def test_a_table_in_a_folder_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images(tmp_path, "a.jpg", "b.jpg")
    (tmp_path / "labels.csv").write_text("image,tags\na.jpg,cat\nb.jpg,dog\nc.jpg,\n")
    reads: list[Path] = []

    class Counted(LabelBuilder):
        def __init__(self, source: Source, **named: Any) -> None:
            reads.append(source.path)
            super().__init__(source, **named)

    monkeypatch.setattr(_lists, "LabelBuilder", Counted)
    assert load_labels(tmp_path).table.classes == ("cat", "dog")
    assert reads == [tmp_path / "labels.csv"]


@pytest.mark.parametrize(
    "name", ["2021/2021-05-01/a.jpg", "Photos from 2019/a.jpg", "100CANON/a.jpg"]
)
def test_folders_of_cameras_are_no_classes(name: str, tmp_path: Path) -> None:
    images(tmp_path, name)
    with pytest.raises(TagfillError, match="--format image_folder takes any folders as classes"):
        load_labels(tmp_path)
    assert len(load_labels(tmp_path, format="image_folder").table.classes) == 1


def test_ones_and_zeros_called_label_are_remarked_on(tmp_path: Path) -> None:
    dataset = read(tmp_path, ["image,label", *(f"{n}.jpg,{n % 2}" for n in range(9))])
    assert dataset.table.classes == ("0", "1")
    assert any("if they are yes and no to a tag" in note for note in dataset.notes)


@pytest.mark.parametrize(
    "mark", ["+", " & ", "~", "/", " - ", " und ", ", and ", "•", " > ", "::", "\t", ". "]
)
def test_other_marks_separate_if_the_parts_recur(mark: str, tmp_path: Path) -> None:
    words = ("sunset", "beach", "nikon", "sea", "sand", "sky")
    drawn = sets(words, 40)
    rows = [f'{n}.jpg,"{mark.join(tags)}"' for n, tags in enumerate(drawn)]
    dataset = read(tmp_path, ["image,tags", *rows])
    assert set(dataset.table.classes) == set(words)
    assert set(known(dataset, "7.jpg")) == set(drawn[7])
    before = dict(known(dataset, "7.jpg"))
    values = dataset.table.values.copy()
    added = next(name for name in words if name not in before)
    values[7, dataset.table.classes.index(added)] = 1
    values[7, dataset.table.classes.index(drawn[7][0])] = 0
    save_changes(dataset, dataset.table.with_values(values), tmp_path / "o.csv", ReadOptions())
    again = known(load_labels(tmp_path / "o.csv"), "7.jpg")
    assert again == {**before, added: 1, drawn[7][0]: 0}


@pytest.mark.parametrize(
    "names",
    [
        ["black & white", "rock & roll", "salt & pepper", "cat", "dog", "bread & butter"],
        ["Crossbreed/Mixed", "Pointer/Setter", "Collie/Shepherd", "cat", "dog"],
        ["and/or", "TCP/IP", "input/output", "km/h", "C++", "LGBTQ+", "18+"],
        ["Jean-Luc", "St. Moritz", "Dr. No", "e.g.", "5:1", "a.b"],
    ],
)
def test_marks_in_names_separate_nothing(names: list[str], tmp_path: Path) -> None:
    rows = [f"{n}.jpg,{names[n % len(names)]}" for n in range(24)]
    assert set(read(tmp_path, ["image,tags", *rows]).table.classes) == set(names)


def test_paths_of_tags_imply_their_parents(tmp_path: Path) -> None:
    tags = ["Animals/Birds/Robin", "Animals/Dogs", "Animals/Birds", "Places/Rome", "Places/Paris"]
    rows = [f"{n}.jpg,{tags[n % 5]}; {tags[(n + 3) % 5]}" for n in range(10)]
    dataset = read(tmp_path, ["image,tags", *rows])
    assert dict(dataset.hierarchy)["Robin"] == ("Birds",)
    assert set(known(dataset, "0.jpg")) == {"Animals", "Birds", "Robin", "Places", "Rome"}
    values = dataset.table.values.copy()
    values[0, dataset.table.classes.index("Rome")] = 0
    save_changes(dataset, dataset.table.with_values(values), tmp_path / "o.csv", ReadOptions())
    assert (tmp_path / "o.csv").read_text().splitlines()[1] == "0.jpg,Animals/Birds/Robin"
    assert known(load_labels(tmp_path / "o.csv"), "0.jpg")["Rome"] == 0


def test_tags_that_may_be_one_or_several_are_refused(tmp_path: Path) -> None:
    rows = ["a.jpg,dog/beach", "b.jpg,cat/sofa", "c.jpg,horse/tree", "d.jpg,sunset/sea"]
    with pytest.raises(TagfillError, match=r"one tag or several — --separator '/' takes"):
        read(tmp_path, ["image,tags", *rows])
    whole = load_labels(tmp_path / "labels.csv", options=ReadOptions(separator=";"))
    assert len(whole.table.classes) == 4
    apart = load_labels(tmp_path / "labels.csv", options=ReadOptions(separator="/"))
    assert len(apart.table.classes) == 8


def test_numbers_of_classes_with_scores_are_refused(tmp_path: Path) -> None:
    rows = [f"https://x.org/{n}.jpg\t5193:0.9\t9413:1" for n in range(9)]
    with pytest.raises(TagfillError, match="followed by values"):
        read(tmp_path, rows, "l.txt")


def test_tags_as_objects_of_custom_vision(tmp_path: Path) -> None:
    tags = [{"tagId": "1", "tagName": "cat"}, {"tagId": "2", "tagName": "dog"}]
    lines = [{"id": "7", "originalImageUri": f"https://x.org/{n}.jpg", "tags": tags} for n in "ab"]
    (tmp_path / "l.json").write_text(json.dumps(lines))
    dataset = load_labels(tmp_path / "l.json")
    assert known(dataset, "https://x.org/a.jpg") == {"cat": 1, "dog": 1}


def test_unknown_lines_of_json_are_called_so(tmp_path: Path) -> None:
    rows = [json.dumps({"row": {"id": n}, "projects": {"p": {}}}) for n in range(3)]
    with pytest.raises(TagfillError, match="no list of images with tags"):
        read(tmp_path, rows, "l.ndjson")


@pytest.mark.parametrize("form", ["- {}", "• {}", "* {}"])
def test_lists_with_bullets(form: str, tmp_path: Path) -> None:
    rows = [f'{n}.jpg,"' + "\n".join(map(form.format, tags)) + '"' for n, tags in ROWS]
    dataset = read(tmp_path, ["image,tags", *rows])
    assert set(dataset.table.classes) == {"cat", "dog", "polar bear"}


ROWS = [(n, [["cat"], ["dog", "cat"], ["polar bear", "dog"]][n % 3]) for n in range(9)]


@pytest.mark.parametrize(
    "entry",
    [
        lambda tags: "; ".join(f"{n}. {tag}" for n, tag in enumerate(tags, 1)),
        lambda tags: f"({', '.join(tags)})",
        lambda tags: ", ".join(tag.replace(" ", "\u00a0") for tag in tags),
        lambda tags: "".join(f"{tag}،" for tag in tags),
        lambda tags: ", ".join(tags) + ", n/a",
        lambda tags: ", ".join(tags).replace("cat", "c&#97;t"),
    ],
)
def test_entries_as_people_write_them(entry: Any, tmp_path: Path) -> None:
    dataset = read(tmp_path, ["image,tags", *(f'{n}.jpg,"{entry(tags)}"' for n, tags in ROWS)])
    assert set(dataset.table.classes) == {"cat", "dog", "polar bear"}
    assert known(dataset, "2.jpg") == {"polar bear": 1, "dog": 1}


@pytest.mark.parametrize("form", ["{} (0.93)", "{} 93%", "{}: 93 %", "({}:1.2)", "{}=.5"])
def test_tags_with_scores_are_refused(form: str, tmp_path: Path) -> None:
    rows = [f'{n}.jpg,"' + ", ".join(map(form.format, tags)) + '"' for n, tags in ROWS]
    with pytest.raises(TagfillError, match="followed by values"):
        read(tmp_path, ["image,tags", *rows])


@pytest.mark.parametrize("mark", [":", " ->", " -", " =", " →", " =>"])
def test_typed_lists(mark: str, tmp_path: Path) -> None:
    rows = [f"my-photo {n}.jpg{mark} {', '.join(tags)}" for n, tags in ROWS]
    dataset = read(tmp_path, rows, "l.txt")
    assert known(dataset, "my-photo 2.jpg") == {"polar bear": 1, "dog": 1}
    values = dataset.table.values.copy()
    values[0, dataset.table.classes.index("dog")] = 1
    save_changes(dataset, dataset.table.with_values(values), tmp_path / "o.txt", ReadOptions())
    assert (tmp_path / "o.txt").read_text().splitlines()[0] == f"my-photo 0.jpg{mark} cat, dog"


@pytest.mark.parametrize("encoding", ["cp1252", "mac_roman", "cp850"])
def test_western_encodings_are_told_apart(encoding: str, tmp_path: Path) -> None:
    text = "Bild;Schlagwörter\na.jpg;Bäume, Käfer\nb.jpg;Grüße, Möwe\n"
    (tmp_path / "l.csv").write_bytes(text.encode(encoding))
    assert load_labels(tmp_path / "l.csv").table.classes == ("Bäume", "Käfer", "Grüße", "Möwe")


def test_words_for_no_label_in_rows_of_their_own(tmp_path: Path) -> None:
    dataset = read(tmp_path, ["image,label", "a.jpg,cat", "b.jpg,none", "c.jpg,n/a", "d.jpg,cat"])
    assert dataset.table.classes == ("cat",)
    assert known(dataset, "b.jpg") == {}


def test_uploads_of_label_studio_in_a_table(tmp_path: Path) -> None:
    rows = [f"/data/upload/1/8f3ab2c{n}-{n}.jpg,cat" for n in range(3)]
    assert read(tmp_path, ["image,choice", *rows]).table.images == ("0.jpg", "1.jpg", "2.jpg")


def test_attachments_of_airtable(tmp_path: Path) -> None:
    rows = [f"Photo {n},{n}.jpg (https://x.com/v3/{n}),cat" for n in range(3)]
    dataset = read(tmp_path, ["Name,Attachment,Tags", *rows])
    assert dataset.table.images == ("0.jpg", "1.jpg", "2.jpg")


def test_a_legend_below_the_table_is_no_image(tmp_path: Path) -> None:
    rows = [f"{n}.jpg,cat;dog" for n in range(6)]
    dataset = read(tmp_path, ["Photo,Tags", *rows, "", "Legend,Meaning", "cat,any cat"])
    assert dataset.table.images == tuple(f"{n}.jpg" for n in range(6))
    assert dataset.table.classes == ("cat", "dog")
    assert "'Legend' stands below the table" in str(dataset.problems[0])


def test_blank_rows_between_images_lose_none(tmp_path: Path) -> None:
    dataset = read(tmp_path, ["Photo,cat,dog", "a.jpg,1,0", "", "", "b.jpg,0,1", "", "c.jpg,1,1"])
    assert dataset.table.images == ("a.jpg", "b.jpg", "c.jpg")


def test_a_second_line_names_columns_that_share_a_name(tmp_path: Path) -> None:
    lines = [",file,labels,labels", ",,cat,dog", "0,a.jpg,1,0", "1,b.jpg,0,1"]
    assert known(read(tmp_path, lines), "b.jpg") == {"cat": 0, "dog": 1}


def test_files_of_one_name_in_several_folders(tmp_path: Path) -> None:
    rows = [f"day {n // 3};{n % 3}.jpg;{'cat' if n % 2 else 'dog, cat'}" for n in range(9)]
    dataset = read(tmp_path, ["Folder;File;Keywords", *rows])
    assert len(dataset.table) == 9
    assert known(dataset, "day 1/0.jpg") == {"cat": 1}
    values = dataset.table.values.copy()
    values[3, dataset.table.classes.index("dog")] = 1
    save_changes(dataset, dataset.table.with_values(values), tmp_path / "o.csv", ReadOptions())
    assert (tmp_path / "o.csv").read_text().splitlines()[4] == "day 1;0.jpg;cat, dog"


@pytest.mark.parametrize("header", ["photo,question,answer", "image,what,present"])
def test_rows_of_questions_and_answers(header: str, tmp_path: Path) -> None:
    rows = [f"{n}.jpg,{tag},{'yes' if n % 2 else 'no'}" for n in range(6) for tag in ("cat", "dog")]
    assert known(read(tmp_path, [header, *rows]), "1.jpg") == {"cat": 1, "dog": 1}


def test_images_listed_by_tag(tmp_path: Path) -> None:
    rows = ["cat,a.jpg; b.jpg; c.jpg", 'dog,"b.jpg, d.jpg"', "tree,e.jpeg|a.jpg"]
    dataset = read(tmp_path, ["tag,images", *rows])
    assert known(dataset, "b.jpg") == {"cat": 1, "dog": 1}
    assert known(dataset, "a.jpg") == {"cat": 1, "tree": 1}


def test_doubts_are_unknown(tmp_path: Path) -> None:
    dataset = read(tmp_path, ["image,tags", "a.jpg,cat; dog?", "b.jpg,dog", "c.jpg,what now?"])
    assert known(dataset, "a.jpg") == {"cat": 1}
    assert set(dataset.table.classes) == {"cat", "dog", "what now?"}
    assert any("'dog?', were left unknown" in note for note in dataset.notes)


def test_garbled_tags_are_remarked_on(tmp_path: Path) -> None:
    notes = read(tmp_path, ["image,tags", "a.jpg,KÃ¤fer", "b.jpg,Hund"]).notes
    assert any("'KÃ¤fer' for 'Käfer'" in note for note in notes)


def test_tables_of_web_pages(tmp_path: Path) -> None:
    rows = "".join(f"<tr><td>{n}.jpg<td>cat<br>polar&nbsp;bear</tr>" for n in range(3))
    head = "<tr><th>Photo</th><th>Tags</th></tr>"
    page = f"<html><table><tr><td>menu</table><table border=1>{head}{rows}</table></html>"
    (tmp_path / "photos.xls").write_text(page)
    dataset = load_labels(tmp_path / "photos.xls")
    assert known(dataset, "2.jpg") == {"cat": 1, "polar bear": 1}
    (tmp_path / "page.html").write_text("<html><p>no table</p></html>")
    with pytest.raises(TagfillError, match="is a web page"):
        load_labels(tmp_path / "page.html")


@pytest.mark.parametrize(
    ("yes", "no"),
    [("on", "off"), ("[x]", "[ ]"), ("☑", "☐"), ("👍", "👎"), ("pos", "neg"), ("100%", "0%")],
)
def test_more_ticks(yes: str, no: str, tmp_path: Path) -> None:
    rows = [f"{n}.jpg,{yes},{no}," for n in range(4)]
    assert known(read(tmp_path, ["image,cat,dog,sea", *rows]), "2.jpg") == {"cat": 1, "dog": 0}


def test_the_name_of_the_class_is_a_tick(tmp_path: Path) -> None:
    rows = [f"{n}.jpg,{'cat' if n % 2 else ''},{'Dog' if n % 3 else ''}" for n in range(12)]
    dataset = read(tmp_path, ["image,cat,dog", *rows])
    assert known(dataset, "1.jpg") == {"cat": 1, "dog": 1}
    assert known(dataset, "3.jpg") == {"cat": 1}


def test_dashes_mean_what_the_user_says(tmp_path: Path) -> None:
    rows = [f"{n}.jpg,{'x' if n % 4 else '-'},{'-' if n % 3 else 'x'}" for n in range(12)]
    with pytest.raises(TagfillError, match="--absent negative or --absent unknown"):
        read(tmp_path, ["image,cat,dog", *rows])
    told = load_labels(tmp_path / "labels.csv", options=ReadOptions(absent="negative"))
    assert known(told, "1.jpg") == {"cat": 1, "dog": 0}


def test_many_columns_of_scores_are_one_message(tmp_path: Path) -> None:
    names = [f"class {n}" for n in range(40)]
    rows = [",".join([f"{n}.jpg", *["0.25", "0.5"] * 20]) for n in range(9)]
    with pytest.raises(TagfillError, match=r"and 35 more columns\) — if these are prob") as caught:
        read(tmp_path, [",".join(["image", *names]), *rows])
    assert len(str(caught.value)) < 700


@pytest.mark.parametrize("form", ["“{}”", "«{}»", "<{}>", "„{}“"])
def test_tags_in_other_quotes(form: str, tmp_path: Path) -> None:
    rows = [f'{n}.jpg,"' + ", ".join(map(form.format, tags)) + '"' for n, tags in ROWS]
    dataset = read(tmp_path, ["image,tags", *rows])
    assert set(dataset.table.classes) == {"cat", "dog", "polar bear"}


def test_commas_in_names(tmp_path: Path) -> None:
    people = ["Lee, Ann", "Roy, Tom", "Fox, Eve"]
    rows = [f'{n}.jpg,"{people[n % 3]}; {people[(n + 1) % 3]}"' for n in range(9)]
    dataset = read(tmp_path, ["image,tags", *rows])
    assert set(dataset.table.classes) == set(people)
    mixed = [f'{n}.jpg,"cat, dog; tree"' if n % 2 else f'{n}.jpg,"dog; cat"' for n in range(9)]
    assert set(read(tmp_path, ["image,tags", *mixed]).table.classes) == {"cat", "dog", "tree"}


@pytest.mark.parametrize("item", ["- {}.jpg: {}", "{0}. {0}.jpg: {1}", "* {}.jpg -> {}"])
def test_lists_of_images_with_bullets(item: str, tmp_path: Path) -> None:
    dataset = read(tmp_path, [item.format(n, ", ".join(tags)) for n, tags in ROWS], "l.md")
    assert known(dataset, "2.jpg") == {"polar bear": 1, "dog": 1}


def test_columns_that_blanks_line_up(tmp_path: Path) -> None:
    rows = [f"{f'{n}.jpg':<12}{', '.join(tags)}" for n, tags in ROWS]
    dataset = read(tmp_path, [f"{'image':<12}tags", *rows], "l.txt")
    assert known(dataset, "2.jpg") == {"polar bear": 1, "dog": 1}


def test_statements_of_sql_are_no_table(tmp_path: Path) -> None:
    lines = ["INSERT INTO photos (file, tags) VALUES", "('a.jpg','cat'),", "('b.jpg','dog');"]
    with pytest.raises(TagfillError, match="statements of SQL"):
        read(tmp_path, lines, "l.sql")


def test_the_column_of_lists_among_other_texts(tmp_path: Path) -> None:
    found = ["Effusion; Edema", "No finding", "Edema"]
    rows = [f"P{n // 2},2021-01-01,p{n}.png,{found[n % 3]}" for n in range(12)]
    dataset = read(tmp_path, ["PatientID,StudyDate,ImagePath,Findings", *rows])
    assert known(dataset, "p3.png") == {"Effusion": 1, "Edema": 1, "No finding": 0}


@pytest.mark.parametrize(
    "header",
    ["present,absent", "positive_tags,negative_tags", "tags,not tags", "Tags,rejected tags"],
)
def test_columns_of_tags_that_are_not_there(header: str, tmp_path: Path) -> None:
    rows = [f'{n}.jpg,"{", ".join(tags)}","{"dog" if n % 3 == 0 else ""}"' for n, tags in ROWS]
    dataset = read(tmp_path, [f"image,{header}", *rows])
    assert known(dataset, "0.jpg") == {"cat": 1, "dog": 0}
    assert known(dataset, "1.jpg") == {"cat": 1, "dog": 1}
    values = dataset.table.values.copy()
    values[0, dataset.table.classes.index("dog")] = 1
    save_changes(dataset, dataset.table.with_values(values), tmp_path / "o.csv", ReadOptions())
    assert known(load_labels(tmp_path / "o.csv"), "0.jpg") == {"cat": 1, "dog": 1}
    assert known(load_labels(tmp_path / "o.csv"), "3.jpg") == {"cat": 1, "dog": 0}


@pytest.mark.parametrize("form", ['"=""{}"""', "'{}"])
def test_ids_that_spreadsheets_keep_as_text(form: str, tmp_path: Path) -> None:
    rows = [f"{form.format(f'{n}.jpg')},cat" for n in range(3)]
    assert read(tmp_path, ["image,tags", *rows]).table.images == ("0.jpg", "1.jpg", "2.jpg")
