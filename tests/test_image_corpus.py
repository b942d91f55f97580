"""Every kind of image file: decoded as it looks, or passed over with its name; within bounds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.image_corpus import Kind, corpus

from tagfill.errors import TagfillError
from tagfill.images import check_images, open_image

CORPUS = list(corpus())


def test_there_are_many_kinds() -> None:
    assert len(CORPUS) >= 80
    assert len({kind.name for kind in CORPUS}) == len(CORPUS)


@pytest.mark.parametrize("size", [None, 24])
@pytest.mark.parametrize("kind", CORPUS, ids=lambda kind: kind.name)
def test_decoded_as_it_looks_or_named(kind: Kind, size: int | None, tmp_path: Path) -> None:
    path = tmp_path / kind.name
    path.write_bytes(kind.content)
    if kind.quarters is None:
        with pytest.raises(TagfillError, match=kind.name):
            open_image(path, size)
        return
    image = open_image(path, size)
    assert image.mode == "RGB"
    quarters = np.asarray(image.resize((2, 2), Image.Resampling.BOX), dtype=int).reshape(4, 3)
    assert np.abs(quarters - np.array(kind.quarters)).max() <= kind.tolerance


def test_a_folder_of_all_kinds_is_checked(tmp_path: Path) -> None:
    for kind in CORPUS:
        (tmp_path / kind.name).write_bytes(kind.content)
    check = check_images([kind.name for kind in CORPUS], tmp_path)
    assert set(check.unreadable) == {kind.name for kind in CORPUS if kind.quarters is None}
    assert not check.missing


def test_memory_is_bounded(tmp_path: Path) -> None:
    """All kinds within 1.5 GB of address space, in a process of its own, and no stray words."""
    for kind in CORPUS:
        (tmp_path / kind.name).write_bytes(kind.content)
    script = """
import resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_AS, (1_500_000_000, 1_500_000_000))
from tagfill.errors import TagfillError
from tagfill.images import open_image
count = 0
for path in sorted(Path(sys.argv[1]).iterdir()):
    try:
        open_image(path)
        count += 1
    except TagfillError:
        pass
print(count)
"""
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    assert int(done.stdout) == sum(kind.quarters is not None for kind in CORPUS)
