"""A small recipe on drawn scenes for the tests of bench."""

from __future__ import annotations

from pathlib import Path

from tagfill.bench.recipe import Recipe, parse

TEXT = """
title = "A table"
paper = "nobody"
shows = "that it works"
expected = "numbers"
baseline = "an"

[columns.one]
title = "one positive"
[columns.known]
title = "30 % known"
labels = { regime = "known_proportion", seed = 0, settings = { proportion = 0.3 } }

[rows.an]
title = "AN"
method = "an"
paper = { one = 70.0 }
[rows.em]
title = "EM"
method = "em"
paper = { one = 71.5 }
code = { one = 71.0 }
[rows.lost]
title = "Lost"
paper = { one = 60.1 }
note = "nobody can rebuild it"

[sizes.smoke]
seeds = 2
settings = { mode = "linear", epochs = 1 }
data.voc = { labels = "scenes", inputs = "features", count = 40, pixels = 32 }
[sizes.voc]
columns = ["one"]
data.voc = { labels = "mlspl", inputs = "features" }
"""


def recipe(*changes: tuple[str, str], name: str = "mine") -> Recipe:
    """The recipe with some of its text replaced."""
    text = TEXT
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return parse(text, Path(f"{name}.toml"))
