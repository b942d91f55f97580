"""Tables with a row per label: of animals, of questions, with a yes or no in each row."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.labels.reading import WIDE, known, read

from tagfill.errors import LabelError

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
    assert known(dataset)[first] == {"Red Fox": 1, "Roe Deer": 1}


def test_rows_of_one_image_are_statements_beside_columns_of_yes_and_no(tmp_path: Path) -> None:
    rows = ["a.jpg,cat,1,0", "a.jpg,dog,0,0", "b.jpg,dog,1,1"]
    dataset = read(tmp_path, ["image,label,truncated,occluded", *rows])
    assert known(dataset)["a.jpg"] == {"cat": 1, "dog": 1}


@pytest.mark.parametrize("header", ["photo,question,answer", "image,what,present"])
def test_rows_of_questions_and_answers(header: str, tmp_path: Path) -> None:
    rows = [f"{n}.jpg,{tag},{'yes' if n % 2 else 'no'}" for n in range(6) for tag in ("cat", "dog")]
    assert known(read(tmp_path, [header, *rows]))["1.jpg"] == {"cat": 1, "dog": 1}


def test_words_for_no_label_in_rows_of_their_own(tmp_path: Path) -> None:
    dataset = read(tmp_path, ["image,label", "a.jpg,cat", "b.jpg,none", "c.jpg,n/a", "d.jpg,cat"])
    assert dataset.table.classes == ("cat",)
    assert known(dataset)["b.jpg"] == {}


@pytest.mark.parametrize(
    ("header", "yes", "no"),
    [("Bild;Schlagwort;Wert", "ja", "nein"), ("image;keyword;present", "x", "0")],
)
def test_a_no_in_a_row_of_its_own_is_never_a_yes(
    header: str, yes: str, no: str, tmp_path: Path
) -> None:
    lines = [f"a.jpg;cat;{yes}", f"a.jpg;dog;{no}", f"b.jpg;cat;{no}", f"b.jpg;dog;{yes}"]
    dataset = read(tmp_path, [header, *lines], encoding="cp1252")
    assert known(dataset) == {"a.jpg": {"cat": 1, "dog": 0}, "b.jpg": {"cat": 0, "dog": 1}}


def test_yes_and_no_under_a_strange_name_are_remarked_on(tmp_path: Path) -> None:
    dataset = read(tmp_path, "image,label,seen by Ben\na.jpg,cat,yes\na.jpg,dog,no\n")
    assert any("'seen by Ben': yes and no" in note for note in dataset.notes)


def test_scores_of_one_and_zero_are_yes_and_no(tmp_path: Path) -> None:
    text = "image,label,score\na.jpg,cat,1\na.jpg,dog,0\nb.jpg,cat,0\nb.jpg,dog,1\n"
    assert known(read(tmp_path, text)) == WIDE


def test_splits_in_a_table_without_header(tmp_path: Path) -> None:
    text = "TRAIN,gs://x/a.jpg,cat\nTRAIN,gs://x/b.jpg,dog\nTEST,gs://x/c.jpg,dog\n"
    dataset = read(tmp_path, text)
    assert dataset.table.classes == ("cat", "dog")
    assert dataset.splits["test"].tolist() == [2]


def test_many_problems_of_one_kind_are_shown_as_one(tmp_path: Path) -> None:
    rows = "".join(f"{n}.jpg,cat,1\n{n}.jpg,cat,0\n" for n in range(50))
    with pytest.raises(LabelError) as caught:
        read(tmp_path, "image,label,value\n" + rows)
    assert len(caught.value.problems) == 50
    assert len(str(caught.value).splitlines()) == 1
    assert "(50 such, also in rows 5, 7 ...)" in str(caught.value)
