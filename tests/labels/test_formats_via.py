"""Projects and exports of VIA, the VGG Image Annotator."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.labels.reading import known, read

from tagfill.errors import TagfillError
from tagfill.labels.io import load_labels

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
    assert known(dataset)["1.jpg"] == {"cat": 1, "park": 1}


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
    assert known(dataset)["1.jpg"] == {"cat": 1, "dog": 1}
    with pytest.raises(TagfillError, match="no attribute of a region or file names a class"):
        read(tmp_path, [header, 'a.jpg,12,"{}",0,0,"{}","{}"'])
    with pytest.raises(TagfillError, match="row 2: not readable as JSON"):
        read(tmp_path, [header, 'a.jpg,12,"{}",0,0,"{}","{x"'])
