"""Files are there whole or not at all."""

from __future__ import annotations

import os
import resource
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tagfill import files
from tagfill.errors import TagfillError
from tagfill.files import (
    atomic_folder,
    atomic_open,
    atomic_path,
    remove_leftovers,
    write_bytes,
    write_csv,
    write_json,
    write_text,
)


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "a.csv"
    write_text(target, "old")
    with pytest.raises(ZeroDivisionError), atomic_open(target) as file:
        file.writelines(("new", str(1 / 0)))
    assert target.read_text() == "old"
    assert names(tmp_path) == ["a.csv"]


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    write_text(tmp_path / "deep" / "a.txt", "ä\r\n")
    assert (tmp_path / "deep" / "a.txt").read_bytes() == "ä\r\n".encode()
    write_bytes(tmp_path / "b", b"\0\1")
    assert (tmp_path / "b").read_bytes() == b"\0\1"
    write_json(tmp_path / "c.json", {"path": Path("x")}, default=str)
    assert (tmp_path / "c.json").read_text() == '{\n  "path": "x"\n}\n'
    write_csv(tmp_path / "d.csv", ["a", "b"], [(1, "x,y"), (2, "")])
    assert (tmp_path / "d.csv").read_text() == 'a,b\n1,"x,y"\n2,\n'


def test_a_full_disk_costs_the_new_file_only(tmp_path: Path) -> None:
    target = tmp_path / "a.bin"
    write_bytes(target, b"old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, before[1]))
    try:
        with pytest.raises(TagfillError, match=r"a\.bin: cannot be written .*unchanged"):
            write_bytes(target, bytes(10_000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
    assert target.read_bytes() == b"old"
    assert names(tmp_path) == ["a.bin"]


def test_a_killed_writer_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    write_text(target, "old")
    code = (
        "import sys; from tagfill.files import atomic_open\n"
        "with atomic_open(sys.argv[1]) as file:\n"
        "    file.write('new'); file.flush(); print('ready', flush=True); input()"
    )
    command = [sys.executable, "-c", code, str(target)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        writer.kill()
    assert target.read_text() == "old"
    assert len(names(tmp_path)) == 2
    write_text(target, "next")
    assert names(tmp_path) == ["a.txt"], "the next try removes what the killed one left"


def test_temporary_files_of_libraries_are_removed_too(tmp_path: Path) -> None:
    """safetensors writes to a file with a name of its own beside the checkpoint, and renames it."""
    checkpoint = tmp_path / "last.safetensors"
    code = (
        "import os, sys; from pathlib import Path; from tagfill.train import save\n"
        "def killed(tensors, file, metadata):\n"
        "    (Path(file).parent / '.tmpA1b2C3').write_bytes(bytes(9)); os.kill(os.getpid(), 9)\n"
        "save.save_file = killed; save.save_checkpoint(Path(sys.argv[1]), {}, {})"
    )
    subprocess.run([sys.executable, "-c", code, str(checkpoint)])
    assert not checkpoint.exists()
    assert len(list(tmp_path.rglob("*"))) > 1, "something was left"
    assert remove_leftovers(tmp_path, older_than=0) == 1
    assert list(tmp_path.rglob("*")) == []


def test_a_replaced_folder_that_was_not_deleted_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        with monkeypatch.context() as killed, atomic_folder(tmp_path / "model") as draft:
            (draft / "weights").write_bytes(bytes(9))
            killed.setattr(files.shutil, "rmtree", lambda *_, **__: None)
    left = [name for name in names(tmp_path) if name != "model"]
    assert left
    monkeypatch.setattr(files, "_is_running", lambda process: False)
    assert remove_leftovers(tmp_path) == len(left)
    assert names(tmp_path) == ["model"]


def test_drafts_of_running_processes_are_kept(tmp_path: Path) -> None:
    with atomic_path(tmp_path / "a.txt") as draft:
        draft.write_text("mine")
        assert remove_leftovers(tmp_path, older_than=0) == 0
        write_text(tmp_path / "a.txt", "another thread's")
    assert (tmp_path / "a.txt").read_text() == "mine"


def test_a_folder_left_by_a_killed_process_is_removed(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        pass
    with atomic_folder(tmp_path / "model") as draft:
        number = f"{os.getpid():08x}"
        left = draft.with_name(draft.name.replace(number, f"{gone.pid:08x}"))
        left.mkdir()
        (left / "weights").write_bytes(bytes(9))
    assert remove_leftovers(tmp_path) == 1
    assert names(tmp_path) == ["model"]


def test_only_old_drafts_are_leftovers(tmp_path: Path) -> None:
    write_text(tmp_path / "notes.part.txt", "mine")
    write_text(tmp_path / ".hidden.part", "mine")
    with atomic_path(tmp_path / "a.png") as draft:
        assert draft.suffix == ".png"
        draft.write_text("x")
    for name in ("old", "new"):
        elsewhere = "0" * 8 + draft.name.split(".")[2][8:]  # made by another machine
        kept = tmp_path / f".{name}.{elsewhere}.part.png"
        kept.write_text("left")
    hours = time.time() - 7_200
    os.utime(tmp_path / f".old.{elsewhere}.part.png", (hours, hours))
    assert remove_leftovers(tmp_path) == 1
    kept.unlink()
    assert names(tmp_path) == [".hidden.part", "a.png", "notes.part.txt"]


def test_links_and_permissions_stay(tmp_path: Path) -> None:
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    write_text(real, "old")
    real.chmod(0o640)
    link.symlink_to(real)
    write_text(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_a_pipe_or_device_is_written_to(tmp_path: Path) -> None:
    write_text("/dev/null", "x")
    assert not Path("/dev/null").is_file()


def test_a_folder_is_replaced_as_a_whole(tmp_path: Path) -> None:
    target = tmp_path / "model"
    with atomic_folder(target) as draft:
        (draft / "old").write_text("1")
    with pytest.raises(ZeroDivisionError), atomic_folder(target) as draft:
        (draft / "new").write_text(str(1 / 0))
    assert names(target) == ["old"]
    with atomic_folder(target) as draft:
        (draft / "new").write_text("2")
    assert names(target) == ["new"]
    assert names(tmp_path) == ["model"]


def test_an_error_about_another_file_is_not_ours(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), atomic_open(tmp_path / "a") as file:
        file.write((tmp_path / "absent").read_text())


def test_a_folder_that_fails_leaves_nothing_and_its_own_error(tmp_path: Path) -> None:
    def fail() -> None:
        with atomic_path(tmp_path / "a") as draft:
            draft.mkdir()
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        fail()
    assert names(tmp_path) == []


def test_a_name_that_would_end_a_line_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TagfillError, match="carriage return"):
        write_csv(tmp_path / "a.csv", ["image", "a\rb"], [])
    assert names(tmp_path) == []
