"""What a worker does with a block of files: features or tags, as a table."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from tagfill.arrays import Numbers
from tagfill.console import quote_name
from tagfill.errors import TagfillError
from tagfill.images import open_image, read_ahead
from tagfill.models.graphs import FeatureKind
from tagfill.remote import RemoteFile, allow, url_of

Do = Callable[[Sequence[str]], pa.Table]
"""Turns a block of files into a table with one row per file."""
IMAGE, FEATURES, ERROR = "image", "features", "error"
_BATCH = 16
_SHAPE = b"shape"


class Work(Protocol):
    """Plain settings that travel to the workers; each opens its own model."""

    def open(self) -> Do:
        """Load what is needed; called once in every worker."""

    def about(self) -> dict[str, Any]:
        """What the results depend on."""


@dataclass(frozen=True)
class FeatureWork:
    """Features of a frozen backbone.

    Args:
        source: a backbone's name, or the model folder of a run.
        kind: pooled or maps; maps are flattened.
        size: side of the input, for a backbone by name.
    """

    source: str
    kind: FeatureKind = "pooled"
    size: int | None = None
    threads: int = 2

    def about(self) -> dict[str, Any]:
        """All settings but the number of threads."""
        return {"work": "features", "source": self.source, "kind": self.kind, "size": self.size}

    def open(self) -> Do:
        import torch

        from tagfill.models.bundle import load
        from tagfill.models.factory import build_backbone
        from tagfill.models.graphs import feature_engine
        from tagfill.models.preprocess import eval_transform

        folder = Path(self.source)
        backbone = (
            load(folder).network.backbone
            if folder.is_dir()
            else build_backbone(self.source, size=self.size)
        )
        view = eval_transform(backbone.spec)
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        engine = feature_engine(backbone.eval(), self.kind, device)

        def read(file: str) -> Numbers | str:
            try:
                source = _file(file)
                content = source.read() if isinstance(source, RemoteFile) else source
                return view(open_image(content, backbone.spec.size)).numpy()
            except TagfillError as error:
                return error.message

        def features_of(files: Sequence[str]) -> pa.Table:
            inputs = read_ahead(read, files, workers=self.threads, ahead=3 * _BATCH)
            rows: list[Numbers | None] = []
            errors: list[str | None] = []
            while chunk := list(islice(inputs, _BATCH)):
                readable = [item for item in chunk if not isinstance(item, str)]
                computed = iter(engine.run(np.stack(readable)) if readable else ())
                rows += [None if isinstance(item, str) else next(computed) for item in chunk]
                errors += [item if isinstance(item, str) else None for item in chunk]
            return feature_table(files, rows, errors)

        return features_of


def feature_table(
    files: Sequence[str], rows: Sequence[Numbers | None], errors: Sequence[str | None]
) -> pa.Table:
    """One row per file: its name, its features in half precision, or why there are none."""
    halves = [None if row is None else row.astype(np.float16).reshape(-1) for row in rows]
    shape = next((row.shape for row in rows if row is not None), ())
    columns = {
        IMAGE: pa.array([quote_name(file) for file in files], pa.string()),
        FEATURES: pa.array(halves, pa.list_(pa.float16())),
        ERROR: pa.array(errors, pa.string()),
    }
    return pa.table(columns, metadata={_SHAPE: json.dumps(shape)})


def shape_of(table: pa.Table) -> list[int]:
    """Of one image's features: [D], or [D, H, W]."""
    return list(json.loads(table.schema.metadata[_SHAPE]))


def matrix_of(table: pa.Table) -> tuple[np.ndarray[Any, np.dtype[np.float16]], list[int]]:
    """Features [n, D] of the rows that have them, and which rows those are."""
    column = table.column(FEATURES).combine_chunks()
    rows = np.flatnonzero(np.asarray(column.is_valid())).tolist()
    flat = column.flatten().to_numpy(zero_copy_only=False).astype(np.float16, copy=False)
    return flat.reshape(len(rows), -1), rows


@dataclass(frozen=True)
class PredictWork:
    """Tags and probabilities, the columns that ``tagfill predict`` writes to parquet.

    Args:
        model: a run folder, a model folder or an exported file.
        top, threshold: which tags are given.
    """

    model: str
    top: int | None = None
    threshold: float | None = None
    threads: int = 2

    def about(self) -> dict[str, Any]:
        """All settings but the number of threads."""
        chosen = {"model": self.model, "top": self.top, "threshold": self.threshold}
        return {"work": "predict", **chosen}

    def open(self) -> Do:
        from tagfill.models.engines import open_engine
        from tagfill.models.tagging import TagRule
        from tagfill.predict.sources import Unreadable
        from tagfill.predict.stream import predict_stream
        from tagfill.predict.writers import ParquetWriter

        engine = open_engine(Path(self.model), None)
        rule = TagRule.of(engine.metadata, top=self.top, threshold=self.threshold)

        def tags_of(files: Sequence[str]) -> pa.Table:
            sources = [_file(file) for file in files]
            stream = io.BytesIO()
            writer = ParquetWriter(stream, engine.metadata.classes)
            reasons: list[str | None] = []
            for item in predict_stream(engine, sources, rule, workers=self.threads):
                if isinstance(item, Unreadable):
                    reasons.append(item.reason)
                else:
                    reasons.append(None)
                    writer.write(item)
            writer.close(())
            return _with_errors(parquet.read_table(stream), files, reasons)

        return tags_of


def _with_errors(table: pa.Table, files: Sequence[str], reasons: Sequence[str | None]) -> pa.Table:
    """One row per file; an unreadable file has a reason and nothing else."""
    rows, place = [], 0
    for reason in reasons:
        rows.append(place if reason is None else None)
        place += reason is None
    names = pa.array([quote_name(file) for file in files], pa.string())
    whole = table.take(pa.array(rows, pa.int64())).set_column(0, IMAGE, names)
    return whole.append_column(ERROR, pa.array(reasons, pa.string()))


def _file(file: str) -> Path | RemoteFile:
    url = url_of(file)
    allow(file)  # the user named it: the list of files comes from the command line
    return Path(file) if url is None else RemoteFile(url)
