"""A method, a head, a metric and a command: each takes the files CONTRIBUTING names, no other."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]

METHOD = '''"""Assume negative.

    loss = mean of cross-entropy, unknown as negative
"""

from __future__ import annotations

from dataclasses import dataclass

from tagfill.losses import assume_negative
from tagfill.methods.base import ElementwiseMethod, Info, Method

INFO = Info(title="Toy", source="nobody 2026")


@dataclass(frozen=True)
class Config:
    """No hyper-parameters."""


def build(config: Config) -> Method:
    """Make the method."""
    return ElementwiseMethod("toy", assume_negative)
'''

HEAD = '''"""A head whose every class sees one random direction."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from tagfill.models.plain_heads import Head
from tagfill.models.output import Output


@dataclass(frozen=True)
class ToyConfig:
    """Settings.

    Args:
        scale: of the scores.
    """

    scale: float = 1.0


class ToyHead(Head):
    """Scores of pooled features."""

    reads = "pooled"

    def __init__(self, channels: int, classes: int, config: ToyConfig) -> None:
        super().__init__()
        self.config, self.classifier = config, nn.Linear(channels, classes)

    def forward(self, features: Tensor, maps: bool = False) -> Output:
        """Score features."""
        pooled = features if features.ndim == 2 else features.mean(dim=(2, 3))
        return Output(self.config.scale * self.classifier(pooled))

    def classifier_weights(self) -> tuple[Tensor, ...]:
        """The matrix of the scores."""
        return (self.classifier.weight,)
'''

METRIC = '''"""A metric."""

from __future__ import annotations

import numpy.typing as npt


def share_of_positive_scores(scores: npt.NDArray) -> float:
    """Share of the scores above zero."""
    return float((scores > 0).mean())
'''

COMMAND = '''"""`tagfill toy`: says what it was told."""

from __future__ import annotations


def toy(word: str, /, *, json: bool = False) -> None:
    """Say a word."""
    from tagfill.cli.output import console, print_json

    if json:
        print_json({"word": word})
    else:
        console.print(word)
'''


def named_files(wanted: str) -> set[str]:
    """The files that CONTRIBUTING names for an addition called toy."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (row,) = re.findall(rf"^\| {wanted} \|(.*)\|$", text, flags=re.MULTILINE)
    return {path.replace("NAME", "toy") for path in re.findall(r"`(src/[\w/.]+\.py)`", row)}


class Copy:
    """The source beside the test's files, to be added to."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.touched = folder, set[str]()
        shutil.copytree(ROOT / "src", folder / "src")  # with what is compiled already

    def write(self, path: str, text: str) -> None:
        assert not (self.folder / path).exists()
        (self.folder / path).write_text(text, encoding="utf-8")
        self.touched.add(path)

    def insert(self, path: str, *places: tuple[str, str]) -> None:
        """New lines, each after a line that is there."""
        text = (self.folder / path).read_text(encoding="utf-8")
        for after, line in places:
            assert text.count(after) == 1, after
            text = text.replace(after, f"{after}{line}")
        (self.folder / path).write_text(text, encoding="utf-8")
        self.touched.add(path)

    def run(self, *arguments: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(self.folder / "src")}
        command = [sys.executable, *arguments]
        done = subprocess.run(
            command, env=environment, cwd=self.folder, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


def save_features(folder: Path) -> Path:
    """Labels of 40 images with features, in the layout of the published code."""
    folder.mkdir()
    draw = np.random.default_rng(0)
    for split in ("train", "val"):
        features = draw.normal(size=(40, 6)).astype(np.float32)
        labels = (features[:, :3] > 0).astype(float)
        np.save(folder / f"formatted_{split}_labels.npy", labels)
        np.save(folder / f"formatted_{split}_labels_obs.npy", labels)
        np.save(
            folder / f"formatted_{split}_images.npy",
            np.array([f"{split}{row}" for row in range(40)]),
        )
        np.save(folder / f"{split}_features_toy.npy", features)
    return folder


def test_a_method(copy: Copy) -> None:
    copy.write("src/tagfill/methods/toy.py", METHOD)
    described = json.loads(copy.run("-m", "tagfill", "methods", "toy", "--json"))
    assert described["title"] == "Toy"
    assert copy.touched <= named_files("a method")


def test_a_head(copy: Copy) -> None:
    copy.write("src/tagfill/models/toy.py", HEAD)
    copy.insert(
        "src/tagfill/models/heads.py",
        ("from tagfill.errors import TagfillError\n", "from tagfill.models import toy\n"),
        ("HEADS: dict[str, HeadKind] = {\n", '    "toy": HeadKind(toy.ToyConfig, toy.ToyHead),\n'),
    )
    data = save_features(copy.folder / "data")
    options = ["--head", "toy", "--head.scale", "2", "--epochs", "1", "--out", "run"]
    always = ["--json", "--quiet", "--no-report"]
    trained = copy.run("-m", "tagfill", "train", str(data), *options, *always)
    assert json.loads(trained)["test"]["mAP"] > 0
    model = json.loads((copy.folder / "run" / "model" / "model.json").read_text())
    assert model["network"]["head"]["name"] == "toy"
    assert copy.touched == named_files("a head")


def test_a_metric(copy: Copy) -> None:
    copy.write("src/tagfill/evaluate/toy.py", METRIC)
    copy.insert(
        "src/tagfill/evaluate/metrics.py",
        (
            "from tagfill.errors import TagfillError\n",
            "from tagfill.evaluate.toy import share_of_positive_scores\n",
        ),
        ("    exact_match: float\n", "    positive_scores: float\n"),
        (
            "        exact_match=exact_match(decided, label_array),\n",
            "        positive_scores=share_of_positive_scores(score_array),\n",
        ),
    )
    script = (
        "from tagfill.evaluate import summary;"
        "print(summary([[1.0, -1.0], [2.0, 3.0]], [[1, 0], [0, 1]]).as_dict()['positive_scores'])"
    )
    assert copy.run("-c", script).strip() == "0.75"
    assert copy.touched == named_files("a metric")


def test_a_command(copy: Copy) -> None:
    copy.write("src/tagfill/cli/toy.py", COMMAND)
    copy.insert("src/tagfill/cli/main.py", ('    "Labels": {\n', '        "toy": "Say a word.",\n'))
    assert json.loads(copy.run("-m", "tagfill", "toy", "hello", "--json")) == {"word": "hello"}
    assert "Say a word." in copy.run("-m", "tagfill", "--help")
    assert copy.touched == named_files("a command")
