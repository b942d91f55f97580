from __future__ import annotations

import json

import numpy as np
import pytest

from tagfill.cli.main import main
from tagfill.evaluate import summary

LABELS = "image,cat,dog,cow,split\na.jpg,1,0,0,train\nb.jpg,0,1,0,test\nc.jpg,1,,0,test\n"
SCORES = "image,cat,dog,cow\nc.jpg,0.7,0.6,0.1\na.jpg,0.9,0.2,0.2\nb.jpg,0.8,0.7,0.3\n"
VALUES = np.array([[1, 0, 0], [0, 1, 0], [1, -1, 0]])
MATRIX = np.array([[0.9, 0.2, 0.2], [0.8, 0.7, 0.3], [0.7, 0.6, 0.1]])


@pytest.fixture
def files(tmp_path):
    (tmp_path / "labels.csv").write_text(LABELS)
    (tmp_path / "scores.csv").write_text(SCORES)
    np.save(tmp_path / "logits.npy", np.log(MATRIX / (1 - MATRIX)))
    return tmp_path


def evaluated(capsys, *arguments):
    assert main(["evaluate", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_json_has_every_metric(files, capsys):
    result = evaluated(capsys, files / "scores.csv", files / "labels.csv")
    expected = summary(MATRIX, VALUES, ["cat", "dog", "cow"]).as_dict()
    assert {name: result[name] for name in expected} == expected
    assert result["classes_without_positives"] == ["cow"]
    assert result["unknowns"] == 1
    assert "all splits together (train 1, test 2): --split NAME" in result["notes"][-1]


def test_split_and_options(files, capsys):
    result = evaluated(
        capsys, files / "scores.csv", files / "labels.csv", "--split", "test",
        "--threshold", "0.65", "--average-precision", "eleven_point", "--bootstrap", "20",
    )  # fmt: skip
    expected = summary(MATRIX[1:], VALUES[1:], threshold=0.65, definition="eleven_point")
    assert result["images"] == 2
    assert not any("--split" in note for note in result["notes"])
    assert result["mAP"] == pytest.approx(expected.mAP)
    assert result["at_threshold"]["overall_f1"] == pytest.approx(expected.at_threshold.overall_f1)
    assert result["intervals"]["mAP"]["resamples"] == 20


def test_logits_give_the_metrics_of_their_probabilities(files, capsys):
    from_logits = evaluated(capsys, files / "logits.npy", files / "labels.csv", "--logits")
    plain = evaluated(capsys, files / "scores.csv", files / "labels.csv")
    assert from_logits["mAP"] == plain["mAP"]
    assert from_logits["at_threshold"] == plain["at_threshold"]
    assert from_logits["calibration"]["brier_score"] == pytest.approx(
        plain["calibration"]["brier_score"]
    )


def test_table_for_people(files, capsys):
    assert main(["evaluate", str(files / "scores.csv"), str(files / "labels.csv")]) == 0
    shown = capsys.readouterr().out
    mean = summary(MATRIX, VALUES).mAP
    for text in (f"mAP {mean:.2f}", "OF1", "left out: cow", "ranking loss", "Brier", "dog"):
        assert text in shown


@pytest.mark.parametrize(
    ("scores", "arguments", "message"),
    [
        ("logits.npy", [], "add --logits"),
        ("none.csv", [], "no such run, model folder or score file"),
        (".", [], "this folder has no model"),
        ("scores.csv", ["--split", "val"], "no split 'val'"),
        ("scores.csv", ["--average-precision", "trapezoid"], "non_interpolated"),
        ("scores.csv", ["--threshold", "nan"], "finite"),
        ("scores.csv", ["--bootstrap", "-1"], "from 0 to 1,000,000"),
        ("scores.csv", ["--bootstrap", "9" * 20], "from 0 to 1,000,000"),
        ("scores.csv", ["--bootstrap", "9", "--seed", "-1"], "--seed must be 0 or more"),
    ],
)
def test_mistakes_are_one_message_and_exit_code_2(files, capsys, scores, arguments, message):
    code = main(["evaluate", str(files / scores), str(files / "labels.csv"), *arguments])
    captured = capsys.readouterr()
    assert code == 2
    assert message in captured.err
    assert captured.out == ""


def test_the_command_needs_no_torch(files):
    import subprocess
    import sys

    program = (
        "import sys; from tagfill.cli.main import main;"
        f"main(['evaluate', {str(files / 'scores.csv')!r}, {str(files / 'labels.csv')!r}]);"
        "sys.exit('torch' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
