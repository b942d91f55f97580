"""torchvision beside a torch its C++ library does not fit, and optional extras."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType

import pytest

from tagfill import compat
from tagfill.errors import TagfillError


def run(script: str, *, path: Path | None = None) -> str:
    code = textwrap.dedent(script)
    if path is not None:
        code = f"import sys; sys.path.insert(0, {str(path)!r})\n{code}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.slow
def test_timm_and_transforms_import_in_a_fresh_process_once_mended() -> None:
    out = run(
        """
        from tagfill.compat import mend_torchvision
        mended = mend_torchvision()
        import timm, torchvision
        from torchvision.transforms import v2
        assert not mend_torchvision(), "nothing is left to mend"
        print(len(timm.list_models()) > 1000, v2.__name__)
        """
    )
    assert out == "True torchvision.transforms.v2"


@pytest.mark.slow
def test_nothing_is_declared_beside_a_healthy_torchvision(tmp_path: Path) -> None:
    package = tmp_path / "torchvision"
    package.mkdir()
    (package / "__init__.py").write_text("")
    out = run(
        """
        import torch
        healthy = torch.library.Library("torchvision", "DEF")
        healthy.define("nms(Tensor boxes, Tensor scores, float threshold) -> Tensor")
        from tagfill.compat import mend_torchvision
        print(mend_torchvision(), hasattr(torch.ops.torchvision, "qnms"))
        """,
        path=tmp_path,
    )
    assert out == "False False"


def test_an_imported_torchvision_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torchvision", ModuleType("torchvision"))
    monkeypatch.setattr(compat, "_library", None)
    monkeypatch.setattr(compat, "_torchvision_library_loads", lambda: False)
    assert compat.mend_torchvision() is False


def test_the_extra_that_brings_a_missing_module_is_named() -> None:
    with pytest.raises(TagfillError, match=r"needs no_such_library.*pip install .*\.\[hf\]"):
        compat.optional("no_such_library.part", "hf")
    assert compat.optional("json", "hf").loads("1") == 1
