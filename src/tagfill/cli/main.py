"""Entry point: commands are imported only when called, so `tagfill --help` stays fast."""

from __future__ import annotations

import atexit
import os
import sys
from contextlib import suppress
from typing import NoReturn

from cyclopts import App, CycloptsError, Group

from tagfill.compat import keep_freed_memory
from tagfill.console import PlainConsole, printable
from tagfill.errors import TagfillError
from tagfill.remote import allow
from tagfill.train.limits import Interrupted
from tagfill.trust import trust_everything

COMMANDS = {
    "Tag photos": {
        "demo": "Run a complete example on built-in data, offline.",
        "fill": "Find the missing tags of photos or of a label file.",
        "serve": "Review missing tags, try the model and train again in a web app.",
        "apply": "Write reviewed suggestions into the labels or the photos.",
        "untag": "Remove the tags from photos that tagfill wrote.",
        "predict": "Tag new images.",
    },
    "Labels": {
        "inspect": "Describe labels: counts, unknowns, co-occurrence, every problem.",
        "convert": "Write labels in another format.",
        "prepare": "Make label tables from official downloads (VOC, COCO, NUS-WIDE, CUB).",
        "mask": "Hide labels by a regime, such as a single positive per image.",
        "scenes": "Draw the built-in data set of picture-book scenes.",
    },
    "Models": {
        "train": "Train a model from a label file.",
        "recover": "Find the missing tags of a run's training images.",
        "evaluate": "Compute all metrics of a model; unknown labels are left out.",
        "report": "Write a report of a run, or a comparison of several, as one HTML file.",
        "explain": "Draw where in an image the model sees a tag.",
        "export": "Export a model to one ONNX or torch.export file, checked against the original.",
        "push": "Upload a model or labels to the Hugging Face Hub.",
        "features": "Extract features of images to parquet files.",
        "cache": "List cached features, and delete old ones.",
        "backbones": "List the backbones, or describe one.",
        "import-weights": "Turn a released checkpoint into a model folder.",
    },
    "Research": {
        "methods": "List the methods, or describe one: formula, paper, settings.",
        "tune": "Search learning rate, batch size and hyperparameters of the method.",
        "bench": "Run a table of a paper: methods x regimes x seeds.",
        "analyze": "Draw figures of runs: hidden labels, losses, gains by class, attention.",
    },
}
ALIASES = {"analyze": "analyse"}  # codespell:ignore analyse

app = App(
    name="tagfill",
    help="Train multi-label image classifiers from incomplete labels and fill in the missing tags.",
    version_flags=["--version"],
    group_commands=Group("Other", sort_key=len(COMMANDS)),
    console=PlainConsole(),
    help_format="plaintext",  # Markdown takes a third of the time of `tagfill --help`
    help_epilogue="--debug shows the traceback of an error. --trust-code allows running the"
    " Python file that a run folder, a configuration or a recipe names as its method. Both work"
    " with any command.",
)
for _number, (_title, _commands) in enumerate(COMMANDS.items()):
    _group = Group(_title, sort_key=_number)
    for _place, (_name, _help) in enumerate(_commands.items()):
        _module = _name.replace("-", "_")
        app.command(
            f"tagfill.cli.{_module}:{_module}",
            name=_name,
            help=_help,
            alias=ALIASES.get(_name),
            group=_group,
            sort_key=_place,
            help_format="markdown",
        )


def spelled_out(tokens: list[str]) -> list[str]:
    """Write `--method.k 1.5` and `--head.layers=2` as `--set method.k=1.5 --set head.layers=2`."""
    spelled, rest = [], iter(tokens)
    for token in rest:
        if not token.startswith(("--method.", "--head.")):
            spelled.append(token)
            continue
        key, equals, value = token[2:].partition("=")
        if not equals:
            value = next(rest, "")
            if not value or value.startswith("--"):
                raise TagfillError(f"--{key} needs a value")
        spelled += ["--set", f"{key}={value}"]
    return spelled


def show_docstring(tokens: list[str]) -> None:
    """Let the help of a command be its whole docstring, not only its line in the list."""
    if {"--help", "-h"}.intersection(tokens[1:]) and tokens[0] in app:
        app[tokens[0]].help = None


def message_of(error: Exception) -> str:
    """The message of an error; of the system's, with the file."""
    if not isinstance(error, OSError):
        return str(error)
    reason = error.strerror or str(error)
    return f"{error.filename}: {reason}" if error.filename else reason


def main(arguments: list[str] | None = None) -> int:
    """Run a command; user errors become one message on stderr and exit code 2."""
    tokens = list(sys.argv[1:] if arguments is None else arguments)
    debug = "--debug" in tokens
    if debug:
        tokens.remove("--debug")
    if "--trust-code" in tokens:
        tokens.remove("--trust-code")
        trust_everything()
    keep_freed_memory()
    allow(*tokens, *(token.partition("=")[2] for token in tokens))
    try:
        tokens = spelled_out(tokens)
        show_docstring(tokens)
        result = app(tokens, exit_on_error=False, print_error=False, result_action="return_value")
        print(end="", flush=True)  # stdout may be None
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (TagfillError, CycloptsError, OSError) as error:
        if debug:
            raise
        print(printable(f"tagfill: {message_of(error)}"), file=sys.stderr)
        return 2
    except MemoryError:
        if debug:
            raise
        print("tagfill: there is not enough memory for this", file=sys.stderr)
        return 2
    except Interrupted as stop:
        print(printable(f"tagfill: stopped; continue with: {stop}"), file=sys.stderr)
        return 130
    except KeyboardInterrupt:
        print("tagfill: interrupted", file=sys.stderr)
        return 130
    return result if isinstance(result, int) else 0


def run() -> NoReturn:
    """The command `tagfill`. Its process ends at once.

    Python's cleanup of modules takes up to a second where torch is loaded. It is skipped; threads
    are joined before, and what the command registered with ``atexit`` is called.
    """
    code = 1  # of an error that nobody expected

    def end() -> None:
        with suppress(OSError, ValueError):  # a closed pipe
            print(end="", flush=True)
        os._exit(code)

    atexit.register(end)  # called last
    code = main()
    sys.exit(code)


if __name__ == "__main__":
    run()
