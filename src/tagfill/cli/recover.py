"""`tagfill recover`: missing tags of the training images."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from tagfill.cli.features import image_progress
from tagfill.cli.labels import counts, save, target_format
from tagfill.cli.options import Force, Json, Quiet
from tagfill.cli.output import emit, log, say, show_table
from tagfill.files import refuse_existing
from tagfill.labels import LabelTable
from tagfill.recover.choose import DEFAULT_PRECISION, Amount
from tagfill.recover.evaluate import cuts, train_map
from tagfill.train.events import Terminal

if TYPE_CHECKING:
    from tagfill.recover.recovery import Recovery
    from tagfill.train.trained import TrainedRun

TABULAR = (".csv", ".jsonl", ".parquet")


def recover(
    run: Path,
    /,
    *,
    out: Path,
    amount: Annotated[Amount, Parameter(name="*")] = Amount(),  # noqa: B008 - frozen
    completed: Path | None = None,
    suspects: Path | None = None,
    folds: int | None = None,
    engine: Literal["local", "ray"] = "local",
    force: Force = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Find the missing tags of a run's training images.

    The suggestions are in review order: the most useful answers first. Fill in their column
    `decision` (yes, no or blank) and write them into the labels with `tagfill apply`.

    Args:
        run: Folder of a finished run.
        out: File of the suggestions: .csv, .jsonl, .parquet, or .json for Label Studio.
        completed: Also write the labels, filled in as far as the precision allows.
        suspects: Also write the positives that look wrong.
        folds: Number of heads, each trained without the images it scores; 5 by default, or 2 where
            there are very many images.
        engine: Where features that are not cached are computed: in this process, or by the
            workers of a Ray cluster ($RAY_ADDRESS, else one on this machine).
    """
    from tagfill.recover.files import check_target, write_suggestions, write_suspects
    from tagfill.recover.recovery import recover as recover_run
    from tagfill.train.trained import TrainedRun

    check_target(out, force=force)
    if suspects is not None:
        check_target(suspects, force=force, suffixes=TABULAR)
    if completed is not None:
        refuse_existing(completed, force=force)
    opened = TrainedRun.open(run)
    if engine == "ray":
        from tagfill.jobs.feature_cache import fill_features

        with image_progress("features, ray", quiet=quiet) as progress:
            fill_features(opened, "ray", progress=progress)
    recovery = recover_run(opened, folds=folds, sinks=[] if quiet else [Terminal(log)])
    entries = recovery.suggest(amount)
    write_suggestions(entries, recovery.table, recovery.evidence.kind, out)
    result = _summary(recovery) | {
        "out": str(out),
        "suggestions": len(entries),
        "expected_precision": entries.expected_precision,
    }
    if completed is not None:
        filled = recovery.complete(amount.precision or DEFAULT_PRECISION)
        result["completed"] = _save_completed(opened, filled, completed, force=force)
    if suspects is not None:
        doubtful = recovery.suspects()
        write_suspects(doubtful, recovery.table, suspects)
        result["suspects"] = {"out": str(suspects), "positives": len(doubtful)}
    emit(result, _show, json=json)


def _summary(recovery: Recovery) -> dict[str, Any]:
    truth = recovery.truth
    return {
        "run": str(recovery.run),
        "method": recovery.method,
        "evidence": recovery.evidence.kind,
        "notes": list(recovery.evidence.how),
        "images": len(recovery.table),
        "unknown": int(recovery.unknown.sum()),
        "expected_missing": recovery.expected_missing,
        "missing": None if truth is None else int((truth[recovery.unknown] == 1).sum()),
        "train_mAP": None if truth is None else train_map(recovery.probability, truth),
        "cuts": [asdict(cut) for cut in cuts(recovery.probability, recovery.unknown, truth)],
    }


def _save_completed(
    run: TrainedRun, filled: LabelTable, out: Path, *, force: bool
) -> dict[str, Any]:
    """Write the complete label file of the run with its training images filled in."""
    dataset = run.data.sources[run.config.data.labels]
    values = dataset.table.values.copy()
    values[[dataset.table.row_of[image] for image in filled.images]] = filled.values
    filled_in = replace(
        dataset, table=dataset.table.with_values(values), truth=None, features={}, boxes=None
    )
    lost = save(filled_in, out, target_format(dataset, out), force=force)
    return {"out": str(out), **counts(filled), "not_held": lost}


def _show(result: dict[str, Any]) -> None:
    say(*result["notes"])
    known = result["missing"] is not None
    actually = f" (actually {result['missing']:,})" if known else ""
    expected, images = result["expected_missing"], result["images"]
    say(f"about {expected:,.0f} tags are missing in {images:,} images{actually}")
    columns = ["expected precision", "tags", "expected recall"]
    columns += ["precision", "recall"] if known else []
    rows = [list(cut.values())[: len(columns)] for cut in result["cuts"]]
    show_table("what can be recovered", columns, rows)
    reached = result["expected_precision"]
    expected = "" if reached is None else f", {reached:.0%} of them expected to be right"
    say(f"{result['out']}: {result['suggestions']:,} suggestions{expected}")
    for name in ("completed", "suspects"):
        if name in result:
            numbers = [f"{n:,} {key}" for key, n in result[name].items() if type(n) is int]
            say(f"{result[name]['out']}: {', '.join(numbers)}")
