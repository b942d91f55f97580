"""Small finished runs to look into."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.train.given import write_given_features

from tagfill.analyze.subject import RunView, open_runs
from tagfill.train.config import DataConfig
from tagfill.train.resolve import Request
from tagfill.train.run import fit


def train_runs(folder: Path, *methods: str, **overrides: Any) -> list[RunView]:
    """Linear runs on given features, one a method."""
    data = DataConfig(labels=str(write_given_features(folder / "data")))
    paths = []
    for method in methods:
        settings = {"k": 2.0} if method == "role" else {}
        request = Request(
            data,
            mode="linear",
            method=method,
            method_settings=settings,
            overrides={"epochs": 4, **overrides},
        )
        paths.append(fit(request, folder / method).path)
    return open_runs(paths)
