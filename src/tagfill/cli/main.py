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
    "demo": "The whole story on embedded data, offline: one tag per image in, a tagger out.",
    "fill": "From photos or a label file to the missing tags: train, recover, report.",
    "inspect": "What is in a label file: counts, unknowns, co-occurrence, regime, every problem.",
    "convert": "Write labels in another format; says what the target cannot hold.",
    "prepare": "Official downloads (VOC, COCO, NUS-WIDE, CUB) as label tables, split as published.",
    "train": "From a label file to a model; can be interrupted and resumed.",
    "predict": "Tags for new images: files, folders, patterns or names on standard input.",
    "features": "Features of images as parquet files, here or on a Ray cluster.",
    "tune": "Search learning rate, batch size and the method's hyper-parameters.",
    "bench": "The papers' tables, each by one command: methods x regimes x seeds.",
    "export": "A model as one ONNX or torch.export file, compared with the original.",
    "push": "A model, or completed labels with Croissant metadata, on the Hugging Face hub.",
    "report": "A run, or several side by side, as one HTML file.",
    "recover": "The tags images have and nobody wrote: suggestions, completed labels, suspects.",
    "explain": "Where in an image a tag is seen: heat maps, and how often they hit.",
    "analyze": "Figures that look into runs: hidden labels, losses, gains by class, attention.",
    "serve": "The web app: try the model, review the missing tags, train again.",
    "apply": "Answers to suggestions, back into the labels or the photos.",
    "untag": "Take suggested tags out of photos again.",
    "cache": "What extracted features take up on disk; old ones can be deleted.",
    "mask": "Hide labels as a regime would: single positive, partial, biased and others.",
    "scenes": "Draw the embedded picture-book data set.",
    "methods": "Methods that can be named, or all about one: formula, paper, settings.",
    "backbones": "Backbones that can be named, or what is known of one.",
    "import-weights": "Turn released checkpoints into model folders.",
    "evaluate": "Every metric of a model's scores against labels; unknown entries are left out.",
}
ALIASES = {"analyze": "analyse"}  # codespell:ignore analyse

app = App(
    name="tagfill",
    help="Train multi-label image classifiers from incomplete labels and fill in the missing tags.",
    version_flags=["--version"],
    help_epilogue="`--debug` with any command shows the traceback of an error. `--trust-code` lets"
    " the Python file run that a run folder, a configuration or a recipe names as its method.",
)
for _name, _help in COMMANDS.items():
    _module = _name.replace("-", "_")
    _alias = ALIASES.get(_name)
    app.command(f"tagfill.cli.{_module}:{_module}", name=_name, help=_help, alias=_alias)


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
    """Run a command; users' mistakes become one message on stderr and exit code 2."""
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
