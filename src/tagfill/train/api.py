"""Training in one call, for Python."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, cast

from tagfill.train.config import DataConfig
from tagfill.train.resolve import Mode, Request
from tagfill.train.run import Run
from tagfill.train.run import fit as fit_request

_DATA = {each.name for each in dataclasses.fields(DataConfig)} - {"labels"}


def fit(
    labels: str | Path,
    *,
    method: str = "auto",
    mode: str = "auto",
    out: str | Path | None = None,
    method_settings: dict[str, Any] | None = None,
    **settings: Any,
) -> Run:
    """Train a tagger from a label file; the same as ``tagfill train``.

    Args:
        labels: label file or folder.
        method: name of a method, or auto.
        mode: auto, linear, finetune, linear_init or two_stage.
        out: the run folder; by default a new one under ``tagfill-runs``.
        method_settings: hyper-parameters of the method.
        settings: any option of ``tagfill train``, with underscores: ``images``, ``val``,
            ``epochs``, ``backbone``, ``protocol``, ``preset`` ...
    """
    data = {name: settings.pop(name) for name in list(settings) if name in _DATA}
    named = {name: settings.pop(name, None) for name in ("protocol", "preset", "method_preset")}
    request = Request(
        data=DataConfig(labels=str(labels), **{name: _text(each) for name, each in data.items()}),
        mode=cast(Mode, mode),
        method=method,
        method_settings=method_settings or {},
        overrides=settings,
        **named,
    )
    return fit_request(request, None if out is None else Path(out))


def _text(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value
