"""Where training runs."""

from __future__ import annotations

import platform

import pytest

from tagfill.compat import keep_freed_memory
from tagfill.train.processes import make_accelerator


def test_a_second_run_may_want_another_precision() -> None:
    for precision in ("no", "bf16", "no"):
        assert make_accelerator(precision).mixed_precision == precision  # type: ignore[arg-type]


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="malloc of other systems")
def test_the_c_library_takes_the_setting_again_and_again() -> None:
    assert keep_freed_memory()
    assert keep_freed_memory()
