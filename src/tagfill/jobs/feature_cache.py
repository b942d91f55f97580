"""Features of a run's images, computed by a cluster into the cache that every command reads."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tagfill.jobs.engines import EngineName, in_blocks, run_blocks
from tagfill.jobs.folder import BLOCK
from tagfill.jobs.work import FeatureWork, matrix_of, shape_of
from tagfill.train.cache import content_hashes
from tagfill.train.data import prepare
from tagfill.train.extract import plain_extractor
from tagfill.train.trained import TrainedRun


def fill_features(
    run: TrainedRun,
    engine: EngineName,
    *,
    actors: int | None = None,
    block: int = BLOCK,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Compute the features that the cache does not have; returns how many images had none.

    Every block is kept as it comes, so that an interrupted job continues where it stopped.
    """
    splits = prepare(run.config.data).splits.values()
    paths = [path for split in splits for path in split.paths or ()]
    network = run.model.network
    store = plain_extractor(network, run.device).store()
    path_of = dict(zip(content_hashes(paths), paths, strict=True))
    missing = store.missing(list(path_of))
    names = in_blocks(missing, block)
    files = {
        number: [str(path_of[name].resolve()) for name in part] for number, part in names.items()
    }
    work = FeatureWork(str(run.folder.model.resolve()), network.head.reads)
    done = 0
    for number, table in run_blocks(engine, work, files, actors=actors):
        matrix, rows = matrix_of(table)
        if rows:
            features = matrix.reshape(len(rows), *shape_of(table))
            store.add([names[number][row] for row in rows], np.ascontiguousarray(features))
        done += len(table)
        if progress is not None:
            progress(done, len(missing))
    return len(missing)
