"""Where jobs run: in this process, or on the workers of a Ray cluster."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import pyarrow as pa

from tagfill.compat import optional
from tagfill.errors import TagfillError
from tagfill.jobs.work import Work

EngineName = Literal["local", "ray"]
Blocks = Mapping[int, Sequence[str]]
"""Files by block number."""


def in_blocks(files: Sequence[str], size: int) -> dict[int, Sequence[str]]:
    """Files cut into blocks, by number."""
    return dict(enumerate(files[start : start + size] for start in range(0, len(files), size)))


def run_blocks(
    engine: EngineName, work: Work, blocks: Blocks, *, actors: int | None = None
) -> Iterator[tuple[int, pa.Table]]:
    """Tables of blocks as they are done, not always in order.

    Args:
        engine: local, or ray: the cluster of ``$RAY_ADDRESS``, or one on this machine.
        actors: workers of a cluster; by default one a processor.

    Raises:
        TagfillError: the work fails again and again; blocks that are done have been given.
    """
    if not blocks:
        return
    if engine == "ray":
        yield from _on_ray(work, blocks, actors)
        return
    do = work.open()
    for number, files in blocks.items():
        yield number, do(files)


class _Worker:
    """An actor that opens the model once and processes block after block."""

    def __init__(self, work: Work) -> None:
        self.do = work.open()

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        tables = [_packed(self.do(json.loads(files))) for files in batch["files"]]
        return {"block": batch["block"], "table": tables}


def _on_ray(work: Work, blocks: Blocks, actors: int | None) -> Iterator[tuple[int, pa.Table]]:
    """Ray Data distributes the blocks, restarts dead workers and repeats their blocks."""
    ray = _connected()
    resources = ray.cluster_resources()
    count = actors or max(1, int(resources.get("GPU") or resources.get("CPU", 1)))
    items = [
        {"block": number, "files": json.dumps(list(files))} for number, files in blocks.items()
    ]
    results = ray.data.from_items(items, override_num_blocks=len(items)).map_batches(
        _Worker,
        fn_constructor_args=(work,),
        batch_size=1,
        compute=ray.data.ActorPoolStrategy(size=min(count, len(items))),
        num_gpus=1 if resources.get("GPU") else 0,
    )
    try:
        for row in results.iter_rows():
            yield int(row["block"]), _unpacked(row["table"])
    except ray.exceptions.RayError as error:
        cause = str(getattr(error, "cause", None) or error).strip().splitlines()[-1]
        raise TagfillError(
            f"the cluster gave up: {cause}",
            remedy="finished blocks are kept: run the same command again",
        ) from error


def _connected() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing about the user leaves
    ray = optional("ray", "ray")
    optional("ray.data", "ray")
    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=False, logging_level="ERROR")
    ray.data.DataContext.get_current().enable_progress_bars = False
    return ray


def _packed(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _unpacked(content: bytes) -> pa.Table:
    with pa.ipc.open_stream(content) as reader:
        return reader.read_all()
