"""Rows that somebody judged, tags that deny all others, guesses of models, and text of Asia."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PIL import Image
from tests.labels.reading import TAGS, WIDE, known, read

from tagfill.errors import TagfillError
from tagfill.labels.edit import save_changes
from tagfill.labels.formats import ReadOptions
from tagfill.labels.io import load_labels

ONE = {"a.jpg": {"cat": 1}, "b.jpg": {"dog": 1}}


@pytest.mark.parametrize(
    ("lines", "labels"),
    [
        ("image,tag,status/a.jpg,cat,approved/a.jpg,dog,rejected/b.jpg,dog,Approved", ONE),
        ("image,label,decision/a.jpg,cat,accept/a.jpg,dog,reject/b.jpg,dog,accept", ONE),
        ("image,tag,is_deleted/a.jpg,cat,0/a.jpg,dog,1/b.jpg,dog,0", ONE),
        ("image,tags,review_status/a.jpg,cat;dog,approved/a.jpg,cow,rejected/b.jpg,dog,new", TAGS),
        ("image,cat,dog,Status/a.jpg,1,0,approved/b.jpg,0,1,pending/b.jpg,1,1,rejected", WIDE),
        (
            "image,tag,status/a.jpg,cat,present/a.jpg,dog,absent/b.jpg,cat,absent/b.jpg,dog,present",
            WIDE,
        ),
        (
            "HITId,WorkerId,AssignmentStatus,Input.image_url,Answer.category.label,Approve,Reject"
            "/1,A,Approved,a.jpg,cat,x,/2,B,Rejected,a.jpg,dog,,spam/3,A,Submitted,b.jpg,dog,,"
            "/3,B,Submitted,b.jpg,cat,,wrong",
            ONE,
        ),
    ],
    ids=["status", "decision", "deleted", "lists", "wide", "present or absent", "MTurk"],
)
def test_what_was_rejected_is_passed_over(
    lines: str, labels: dict[str, dict[str, int]], tmp_path: Path
) -> None:
    dataset = read(tmp_path, lines.replace("/", "\n") + "\n")
    assert known(dataset) == labels
    warned = any("was rejected" in problem.message for problem in dataset.problems)
    assert warned == ("absent" not in lines)


def test_rejected_rows_stay_in_the_file(tmp_path: Path) -> None:
    text = "image,tag,status\na.jpg,cat,approved\na.jpg,dog,rejected\nb.jpg,dog,approved\n"
    dataset = read(tmp_path, text)
    values = dataset.table.values.copy()
    values[1, 0] = 1
    save_changes(dataset, dataset.table.with_values(values), tmp_path / "o.csv", ReadOptions())
    assert "a.jpg,dog,rejected" in (tmp_path / "o.csv").read_text()
    assert known(load_labels(tmp_path / "o.csv"))["b.jpg"] == {"cat": 1, "dog": 1}


def test_a_column_of_rejects_alone_is_a_class(tmp_path: Path) -> None:
    dataset = read(tmp_path, "image,label\na.jpg,ok\nb.jpg,rejected\nc.jpg,ok\n")
    assert dataset.table.classes == ("ok", "rejected")


NONE = {"cat": 0, "dog": 0, "No Finding": 1}


@pytest.mark.parametrize(
    "text",
    [
        "image,tags\na.jpg,cat|dog\nb.jpg,dog\nc.jpg,No Finding\n",
        "image,label\na.jpg,cat\na.jpg,dog\nb.jpg,dog\nc.jpg,No Finding\n",
        "image_id,class_name,rad_id\na.jpg,cat,1\na.jpg,dog,2\nb.jpg,dog,1\nb.jpg,dog,2\n"
        "c.jpg,No Finding,1\nc.jpg,No Finding,2\n",
        '[{"image": "a.jpg", "tags": ["cat", "dog"]}, {"image": "b.jpg", "tags": ["dog"]},'
        ' {"image": "c.jpg", "tags": ["No Finding"]}]',
    ],
    ids=["lists", "rows", "raters", "JSON"],
)
def test_no_finding_denies_all_others(text: str, tmp_path: Path) -> None:
    dataset = read(tmp_path, text, "l.json" if text[0] == "[" else "l.csv")
    found = {image: {**tags, "No Finding": 0} for image, tags in TAGS.items()}
    assert known(dataset) == {**found, "c.jpg": NONE}
    assert any("that no other tag applies, such as 'No Finding'" in n for n in dataset.notes)


def test_raters_dispute_no_finding(tmp_path: Path) -> None:
    rows = ["a,cat,1", "a,No finding,2", "b,cat,1", "b,cat,2", "c,dog,1", "c,dog,2"]
    dataset = read(tmp_path, "\n".join(["image_id,class_name,rad_id", *rows]) + "\n")
    assert known(dataset)["a"] == {"dog": 0}


def test_no_finding_beside_others_denies_nothing(tmp_path: Path) -> None:
    dataset = read(tmp_path, "image,tags\na.jpg,cat;No finding\nb.jpg,dog\nc.jpg,dog\n")
    assert known(dataset)["a.jpg"] == {"cat": 1, "No finding": 1}
    assert any("1 of them say it beside other tags" in note for note in dataset.notes)


def test_a_class_list_keeps_no_finding_plain(tmp_path: Path) -> None:
    path = tmp_path / "l.csv"
    path.write_text("image,tags\na.jpg,cat\nb.jpg,No finding\n")
    dataset = load_labels(path, options=ReadOptions(classes=("cat", "No finding")))
    assert known(dataset) == {"a.jpg": {"cat": 1}, "b.jpg": {"No finding": 1}}


@pytest.mark.parametrize(
    ("lines", "blank"),
    [
        ("filename,genus,species,common_name/a.jpg,F,c,cat/b.jpg,,,Blank/c.jpg,C,l,dog", {"Blank"}),
        ("filename,is_blank,common_name/a.jpg,0,cat/b.jpg,1,/c.jpg,0,dog", set()),
        (
            "mediaID,observationType,scientificName/a.jpg,animal,cat/b.jpg,blank,"
            "/c.jpg,animal,dog/d.jpg,unclassified,",
            set(),
        ),
    ],
    ids=["Wildlife Insights", "flag", "Camtrap DP"],
)
def test_an_image_without_animals(lines: str, blank: set[str], tmp_path: Path) -> None:
    labels = known(read(tmp_path, lines.replace("/", "\n") + "\n"))
    assert labels["b.jpg"] == {"cat": 0, "dog": 0, **dict.fromkeys(blank, 1)}
    assert labels["a.jpg"] == {"cat": 1, **dict.fromkeys(blank, 0)}
    assert labels.get("d.jpg", {}) == {}


def test_blank_is_a_tag_elsewhere(tmp_path: Path) -> None:
    dataset = read(tmp_path, "image,tags\na.jpg,blank\nb.jpg,dog\n")
    assert known(dataset) == {"a.jpg": {"blank": 1}, "b.jpg": {"dog": 1}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("image,keywords,confidences\na.jpg,cat;dog,0.9;0.4\nb.jpg,dog,0.8\n", "'confidences'"),
        ("image,ai_tag,ai_score\na.jpg,cat,93\nb.jpg,dog,88\nc.jpg,dog,40\n", "'ai_score'"),
        ("image,predicted_class,prob\na.jpg,cat,0.9\nb.jpg,dog,0.8\nc.jpg,dog,0.4\n", "'prob'"),
        ("image,tag,yes,no\na.jpg,cat,3,0\na.jpg,dog,1,2\nb.jpg,dog,2,1\n", "'yes', 'no'"),
        ("image,tag1,conf1,tag2,conf2\na.jpg,cat,0.9,dog,0.4\nb.jpg,dog,0.8,cat,0.3\n", "'conf1'"),
        ("ID,Label\n1_cat,0\n1_dog,1\n2_cat,1\n2_dog,0\n", "'1_cat' end in the names of classes"),
        ("image,labels\na.jpg,0101\nb.jpg,1000\nc.jpg,0011\n", "lists of 1 and 0"),
        ("image,tags\na.jpg,+cat -dog\nb.jpg,+dog -cat\nc.jpg,+cat\n", "tags have signs"),
    ],
)
def test_guesses_and_votes_are_refused(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(TagfillError, match=message):
        read(tmp_path, text)


@pytest.mark.parametrize("scores", [{"confidence": 0.9}, {"scores": [0.9, 0.4]}])
def test_guesses_in_json_are_refused(scores: dict[str, object], tmp_path: Path) -> None:
    lines = [{"image": f"{n}.jpg", "tags": ["cat", "dog"], **scores} for n in range(3)]
    with pytest.raises(TagfillError, match="says how sure a model is"):
        read(tmp_path, json.dumps(lines), "l.json")


def test_rejected_objects_are_passed_over(tmp_path: Path) -> None:
    lines = [
        {"image": "a.jpg", "tags": ["cat", "dog"], "status": "approved"},
        {"image": "b.jpg", "tags": ["dog"], "status": "approved"},
        {"image": "c.jpg", "tags": ["cow"], "status": "rejected"},
    ]
    dataset = read(tmp_path, json.dumps(lines), "l.json")
    assert known(dataset) == TAGS
    assert any("1 object was rejected" in problem.message for problem in dataset.problems)


@pytest.mark.parametrize(
    "text",
    [
        "image,label,source\na.jpg,cat,human\na.jpg,dog,human\nb.jpg,dog,human\nb.jpg,cow,model\n",
        "image,common_name,identified_by\na.jpg,cat,Ann\na.jpg,dog,Tom\nb.jpg,dog,Ann\n"
        "b.jpg,cow,Computer vision\n",
        "mediaID,scientificName,classificationMethod,classificationProbability\na.jpg,cat,human,\n"
        "a.jpg,dog,human,\nb.jpg,dog,human,\nb.jpg,cow,machine,0.8\n",
        "image,human_tags,ai_tags\na.jpg,cat;dog,cow\nb.jpg,dog,cow;dog\n",
    ],
    ids=["source", "camera traps", "Camtrap DP", "columns"],
)
def test_what_a_model_says_is_left_out(text: str, tmp_path: Path) -> None:
    dataset = read(tmp_path, text)
    assert known(dataset) == TAGS
    said = [*dataset.notes, *(problem.message for problem in dataset.problems)]
    assert any("model" in sentence for sentence in said)


def test_tags_of_a_model_alone_are_remarked_on(tmp_path: Path) -> None:
    dataset = read(tmp_path, "image,AI Keywords\na.jpg,cat;dog\nb.jpg,dog\n")
    assert known(dataset) == TAGS
    assert any("tags of a model, which are no labels" in note for note in dataset.notes)


def test_a_confidence_in_words_is_left_out(tmp_path: Path) -> None:
    text = "image,tags,confidence\na.jpg,cat;dog,high\nb.jpg,dog,low\nc.jpg,cow,high\n"
    assert known(read(tmp_path, text))["b.jpg"] == {"dog": 1}


@pytest.mark.parametrize(
    ("encoding", "header", "rows"),
    [
        ("gbk", "图片,标签", ["海边.jpg,大海;沙滩", "城市1.jpg,行人;建筑"]),
        ("gb18030", "图片,标签", ["公园.jpg,树木;小鹿", "湖泊.jpg,水鸟;鸬鹚"]),
        ("cp932", "image,tags", ["1.jpg,猫;犬", "2.jpg,犬", "3.jpg,猫"]),
        ("cp932", "ファイル名,タグ", ["海岸.jpg,海;砂浜", "東京タワー.jpg,建物;人"]),
        ("euc_jp", "ファイル名,タグ", ["海岸.jpg,海;砂浜", "東京タワー.jpg,建物;人"]),
    ],
)
def test_tables_of_china_and_japan(
    encoding: str, header: str, rows: list[str], tmp_path: Path
) -> None:
    (tmp_path / "l.csv").write_bytes("\n".join([header, *rows, ""]).encode(encoding))
    dataset = load_labels(tmp_path / "l.csv")
    pairs = dict(row.split(",") for row in rows)
    assert known(dataset) == {i: dict.fromkeys(t.split(";"), 1) for i, t in pairs.items()}


@pytest.mark.parametrize(
    "content", ["파일,태그\n바다.jpg,바다;해변\n".encode("cp949"), "a.jpg,猫;狗\n".encode("gbk")]
)
def test_text_of_china_or_korea_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "l.csv").write_bytes(content)
    with pytest.raises(TagfillError, match="its encoding is unclear"):
        load_labels(tmp_path / "l.csv")


@pytest.mark.parametrize("encoding", ["cp1252", "mac_roman", "cp850"])
def test_western_text_is_not_taken_for_japanese(encoding: str, tmp_path: Path) -> None:
    birds = ["Möwe", "Grünfink", "Storch", "Bläßhuhn", "Kückenschnäpper", "Dompfaff"]
    lines = ["Bild;Tags", *(f"{n}.jpg;{bird}" for n, bird in enumerate(birds)), ""]
    (tmp_path / "l.csv").write_bytes("\n".join(lines).encode(encoding))
    assert list(load_labels(tmp_path / "l.csv").table.classes) == birds


def test_bands_of_satellites_are_no_classes(tmp_path: Path) -> None:
    for name in ("S2A_1", "S2A_2"):
        (tmp_path / name).mkdir()
        for band in ("B01", "B8A"):
            Image.new("L", (4, 4)).save(tmp_path / name / f"{name}_{band}.tif")
    with pytest.raises(TagfillError, match="hold the bands of one image each"):
        load_labels(tmp_path)


def test_names_of_files_beside_their_folders(tmp_path: Path) -> None:
    text = "Name;Path;Tags\na.jpg;/photos/2020;cat|dog\nb.jpg;/photos/2020;dog\n"
    assert known(read(tmp_path, text)) == TAGS


def test_categories_as_texts_are_no_coco(tmp_path: Path) -> None:
    text = (
        '{"filename": "a.jpg", "categories": ["cat", "dog"]}\n'
        '{"filename": "b.jpg", "categories": ["dog"]}\n'
    )
    assert known(read(tmp_path, text, "l.jsonl")) == TAGS


def test_what_a_model_drew_in_cvat_is_a_suggestion(tmp_path: Path) -> None:
    text = (
        "<annotations><image id='0' name='a.jpg'><tag label='cat' source='manual'/></image>"
        "<image id='1' name='b.jpg'><tag label='dog' source='auto'/></image></annotations>"
    )
    dataset = read(tmp_path, text, "annotations.xml")
    assert known(dataset) == {"a.jpg": {"cat": 1}, "b.jpg": {}}
    assert dataset.suggestions is not None
    assert len(dataset.suggestions) == 1
