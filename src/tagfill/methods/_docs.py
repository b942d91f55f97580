"""Docs from docstrings: ``python -m tagfill.methods._docs`` writes methods.md and losses.md."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from tagfill import losses
from tagfill.files import write_text
from tagfill.methods import own_names
from tagfill.methods._describe import Description, describe

MADE = "<!-- Generated from docstrings by `python -m tagfill.methods._docs`; edit those. -->"

METHODS = f"""# Methods

{MADE}

A method decides how to train on missing tags. `tagfill train DATA --method role` chooses one,
`--method.k 1.5` sets a hyper-parameter, `--method.preset published` takes the values of the
published code where they differ from the paper's. `tagfill methods` lists all of them with their
settings, `tagfill methods role` explains one.

In all formulas z is an observed label (1 positive, 0 negative, or unknown), y the true one, p the
predicted probability, K the number of classes.

A method of your own is one Python file: `tagfill train DATA --method path/to/mine.py`, or a package
that declares it in the entry-point group `tagfill.methods`. It defines `INFO`, `Config` and
`build(config)`, as every file in `src/tagfill/methods` does; `base.py` there explains the protocol.
"""

LOSSES = f"""# Losses

{MADE}

The losses are pure functions of logits and labels, for use in any training loop. Labels are a
[N, K] tensor of 1 (positive), 0 (negative) and -1 (unknown). Most losses return one term per entry,
unreduced; those defined on a whole batch return scalars. All take raw logits and are stable for
any of them.

```python
import torch

from tagfill.losses import entropy_maximization

model = torch.nn.Linear(4, 3)
optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
images = torch.eye(4)
tags = torch.tensor([[1, -1, -1], [-1, 1, -1], [-1, -1, 1], [1, -1, 0]])

for _ in range(50):
    loss = entropy_maximization(model(images), tags, alpha=0.2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
```

Formulas and papers are in the docstrings. What a method adds to a loss (schedules, pseudo-labels,
estimates of the missing tags) is in [methods](methods.md).
"""


def pages() -> dict[str, str]:
    """The text of each file."""
    return {"methods.md": methods_page(), "losses.md": losses_page()}


def losses_page() -> str:
    """What every public loss is, by its docstring."""
    rows = []
    for name in losses.__all__:
        function = getattr(losses, name)
        summary, _, _ = (inspect.getdoc(function) or "").partition("\n\n")
        rows.append((f"`{name}`", summary, f"`{function.__module__}`"))
    return f"{LOSSES}\n{_table(('loss', '', 'module'), rows)}"


def methods_page() -> str:
    """All methods in a table, then one section each."""
    described = [describe(name) for name in own_names()]
    rows = [
        (f"[`{one.name}`](#{one.name})", _title(one), one.source, ", ".join(one.needs) or "-")
        for one in described
    ]
    parts = [METHODS, _table(("method", "", "source", "needs"), rows)]
    return "\n".join([*parts, *map(_section, described)])


def _section(method: Description) -> str:
    parts = [f"## {method.name}\n", f"**{_title(method)}.** {method.source}.\n", f"{method.text}\n"]
    if method.needs:
        needs = "\n".join(f"- `{need}`: {words}" for need, words in method.needs.items())
        parts.append(f"Needs:\n\n{needs}\n")
    if method.settings:
        rows = [
            (f"`{setting.name}`", setting.type, f"`{setting.default}`", setting.doc)
            for setting in method.settings
        ]
        parts.append(_table(("setting", "takes", "default", ""), rows))
    for preset, values in method.presets.items():
        changes = ", ".join(f"`{name} = {value}`" for name, value in values.items())
        parts.append(f"Preset `{preset}`: {changes or 'the defaults'}.\n")
    return "\n".join(parts)


def _title(method: Description) -> str:
    return f"{method.title}; alias of `{method.alias_of}`" if method.alias_of else method.title


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    escaped = ([" ".join(text.split()).replace("|", "\\|") for text in line] for line in lines)
    return "\n".join(f"| {' | '.join(line)} |" for line in escaped) + "\n"


if __name__ == "__main__":
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "docs")
    for file, text in pages().items():
        write_text(folder / file, text)
