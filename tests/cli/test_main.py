"""What every command does the same way: closed pipes, users' mistakes, settings with dots."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from tagfill.cli.main import COMMANDS, main, spelled_out
from tagfill.errors import TagfillError


@pytest.mark.parametrize("options", [["methods"], ["methods", "--json"], ["--help"]])
def test_a_reader_that_has_seen_enough_is_no_error(options: list[str]) -> None:
    command = [sys.executable, "-m", "tagfill", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()  # before anything is written: as `| head -0`
        errors = process.stderr.read()
    assert (process.returncode, errors) == (0, b"")


def test_a_process_ends_with_the_code_after_what_is_left_to_do() -> None:
    program = """
import atexit, threading, time
from tagfill.cli import main as cli
def command():
    atexit.register(print, "cleaned up")
    threading.Thread(target=lambda: (time.sleep(0.2), print("thread done"))).start()
    return 3
cli.main = command
cli.run()
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (3, "")
    assert done.stdout == "thread done\ncleaned up\n"


def test_an_unexpected_error_is_code_one_with_a_traceback() -> None:
    program = "from tagfill.cli import main as cli; cli.main = lambda: 1 / 0; cli.run()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr


def test_closed_output_is_no_error() -> None:
    command = f"{sys.executable} -m tagfill methods >&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_mistake_is_one_line_and_exit_code_two(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "no_such_file.csv", "--quiet"]) == 2
    told = capsys.readouterr()
    assert told.err.startswith("tagfill: ")
    assert told.err.count("\n") == 1
    assert not told.out
    with pytest.raises(TagfillError):
        main(["--debug", "train", "no_such_file.csv", "--quiet"])


def test_dotted_options_are_settings() -> None:
    assert spelled_out(["--method.k", "1.5", "--head.layers=2", "--seed", "1"]) == [
        *("--set", "method.k=1.5", "--set", "head.layers=2", "--seed", "1")
    ]
    with pytest.raises(TagfillError, match=r"--method\.k needs a value"):
        spelled_out(["--method.k", "--seed"])


@pytest.mark.parametrize("command", ["train", "tune", "fill", "inspect"])
def test_commands_with_shared_options_can_be_called(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, "nowhere.csv"]) == 2
    assert "no such file" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["train", "tune"])
def test_options_of_all_groups_are_taken(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--images", "photos", "--tags-column", "tags", "--head", "linear", "--no-pretrained"]
    words += ["--epochs", "2", "--linear-epochs", "1", "--seed", "3", "--select", "last"]
    assert main([command, "no_such_file.csv", *words, "--method.k", "1", "--quiet"]) == 2
    assert "no_such_file.csv: " in capsys.readouterr().err


@pytest.mark.parametrize("name", [name for group in COMMANDS.values() for name in group])
def test_help_of_a_command_begins_with_its_line_in_the_list(name):
    module = name.replace("-", "_")
    command = getattr(importlib.import_module(f"tagfill.cli.{module}"), module)
    line = next(group[name] for group in COMMANDS.values() if name in group)
    assert command.__doc__.splitlines()[0] == line


def test_help_of_a_command_shows_all_of_its_docstring(capsys):
    assert main(["fill", "--help"]) == 0
    assert "Run the same command again" in " ".join(capsys.readouterr().out.split())


def test_flags_have_no_negative_in_the_help(capsys):
    assert main(["convert", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "--json" in shown
    assert "--no-json" not in shown
    assert "--no-merge-case" in shown
