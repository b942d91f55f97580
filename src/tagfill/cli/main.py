"""Entry point: commands are imported only when called, so `tagfill --help` stays fast."""

from __future__ import annotations

import os
import sys

from cyclopts import App, CycloptsError

from tagfill.compat import keep_freed_memory
from tagfill.console import printable
from tagfill.errors import TagfillError
from tagfill.remote import allow
from tagfill.train.limits import Interrupted
from tagfill.trust import trust_everything

COMMANDS = {
    "demo": "A complete example on built-in data, offline: from one tag per image to a tagger.",
    "fill": "Find the missing tags of photos or a label file: train, recover, report.",
    "inspect": "Describe a label file: counts, unknowns, co-occurrence, regime, every problem.",
    "convert": "Write labels in another format; reports what the target cannot hold.",
    "prepare": "Make label tables of official downloads (VOC, COCO, NUS-WIDE, CUB).",
    "train": "Train a model from a label file; can be interrupted and resumed.",
    "predict": "Tag new images: files, folders, patterns or names on standard input.",
    "features": "Extract features of images to parquet files, here or on a Ray cluster.",
    "tune": "Search learning rate, batch size and the method's hyper-parameters.",
    "bench": "Run a paper's table with one command: methods x regimes x seeds.",
    "export": "Export a model to one ONNX or torch.export file and compare it with the original.",
    "push": "Upload a model, or completed labels with Croissant metadata, to the Hugging Face hub.",
    "report": "Write a report of one run, or of several side by side, as one HTML file.",
    "recover": "Find missing tags: suggestions, completed labels, suspicious labels.",
    "explain": "Show where in an image the model sees a tag: heat maps, and how often they hit.",
    "analyze": "Draw figures of runs: hidden labels, losses, gains by class, attention.",
    "serve": "Start the web app: try the model, review the missing tags, train again.",
    "apply": "Write answers to suggestions back into the labels or the photos.",
    "untag": "Remove suggested tags from photos.",
    "cache": "Show the disk space of extracted features; delete old ones.",
    "mask": "Hide labels by a regime: single positive, partial, biased and others.",
    "scenes": "Draw the built-in picture-book data set.",
    "methods": "List the methods, or describe one: formula, paper, settings.",
    "backbones": "List the backbones, or describe one.",
    "import-weights": "Turn released checkpoints into model folders.",
    "evaluate": "Compute every metric of a model's scores; unknown entries are left out.",
}
ALIASES = {"analyze": "analyse"}  # codespell:ignore analyse

app = App(
    name="tagfill",
    help="Train multi-label image classifiers from incomplete labels and fill in the missing tags.",
    version_flags=["--version"],
    help_format="plaintext",  # Markdown takes a third of the time of `tagfill --help`
    help_epilogue="--debug shows the traceback of an error. --trust-code allows running the"
    " Python file that a run folder, a configuration or a recipe names as its method. Both work"
    " with any command.",
)
for _name, _help in COMMANDS.items():
    _module = _name.replace("-", "_")
    _alias = ALIASES.get(_name)
    app.command(
        f"tagfill.cli.{_module}:{_module}",
        name=_name,
        help=_help,
        alias=_alias,
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
        result = app(tokens, exit_on_error=False, print_error=False, result_action="return_value")
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (TagfillError, CycloptsError) as error:
        if debug:
            raise
        print(printable(f"tagfill: {error}"), file=sys.stderr)
        return 2
    except OSError as error:
        if debug:
            raise
        print(f"tagfill: {error.filename or ''}: {error.strerror or error}", file=sys.stderr)
        return 2
    except Interrupted as stop:
        print(f"tagfill: stopped; continue with: {stop}", file=sys.stderr)
        return 130
    except KeyboardInterrupt:
        print("tagfill: interrupted", file=sys.stderr)
        return 130
    return result if isinstance(result, int) else 0


if __name__ == "__main__":
    sys.exit(main())
