"""`tagfill cache`: size of extracted features; delete old ones."""

from __future__ import annotations

import time
from typing import Any

from tagfill.cli.options import Json
from tagfill.cli.output import log, print_json, say, show_table
from tagfill.compat import cache_root
from tagfill.errors import TagfillError
from tagfill.train import cache as store_cache


def cache(*, prune: float | None = None, json: Json = False) -> None:
    """List cached features, and delete old ones.

    Args:
        prune: Delete features not used for this many days; 0 deletes all.
    """
    if prune is not None and not prune >= 0:
        raise TagfillError(f"--prune takes a number of days, 0 or more, got {prune:g}")
    deleted = [] if prune is None else store_cache.prune(prune)
    stores = list(store_cache.stores())
    if json:
        listed = {"stores": [*map(_metadata, stores)], "deleted": [*map(_metadata, deleted)]}
        print_json({"root": cache_root(), **listed})
        return
    for store in deleted:
        log.print(f"deleted {store.path} ({store.bytes / 1e6:.1f} MB)")
    rows = [
        [
            store.about.get("backbone"),
            store.about.get("input_size"),
            f"{store.about.get('kind')} {store.about.get('view')}",
            store.images,
            f"{store.bytes / 1e6:.1f} MB",
            f"{max(time.time() - store.used, 0) / 86_400:.1f} days ago",
        ]
        for store in stores
    ]
    graphs = list((cache_root() / "graphs").glob("*.onnx"))
    columns = ["backbone", "size", "what", "images", "on disk", "used"]
    show_table(f"features in {cache_root()}", columns, rows)
    if graphs:
        size = sum(file.stat().st_size for file in graphs) / 1e6
        say(f"and {len(graphs)} backbones as ONNX graphs, {size:.1f} MB")


def _metadata(store: store_cache.StoreInfo) -> dict[str, Any]:
    counted = {"images": store.images, "bytes": store.bytes, "last_used": store.used}
    return {"path": store.path, **store.about, **counted}
