"""The example in docs/losses.md and those in docstrings work as they stand."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest
import torch

from tagfill import losses

PAGE = Path(__file__).resolve().parents[2] / "docs" / "losses.md"


def test_example_trains():
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    torch.manual_seed(0)
    names: dict[str, object] = {}
    exec(code, names)
    scores, tags = names["model"](names["images"]).sigmoid(), names["tags"]
    assert (scores[tags == 1] > 0.9).all()
    assert (scores[tags == 0] < 0.1).all()
    assert (scores[tags == -1] - 0.5).abs().max() < 0.45


def test_every_public_loss_exists_and_is_documented():
    text = PAGE.read_text(encoding="utf-8")
    for name in losses.__all__:
        assert callable(getattr(losses, name))
        assert f"`{name}`" in text


@pytest.mark.parametrize("name", [info.name for info in pkgutil.iter_modules(losses.__path__)])
def test_examples_in_docstrings(name):
    module = importlib.import_module(f"tagfill.losses.{name}")
    assert doctest.testmod(module).failed == 0
