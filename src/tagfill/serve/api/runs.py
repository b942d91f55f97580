"""/api/runs: available models, their metrics, and which one is served."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Depends, HTTPException, Query

from tagfill.errors import TagfillError
from tagfill.serve.api.answers import Compared, Curve, Measured, RunBrief
from tagfill.serve.api.schema import RunRequest
from tagfill.serve.measure import compared, measured, precision_curve
from tagfill.serve.model import class_metrics, is_run, run_summary
from tagfill.serve.responses import refusing
from tagfill.serve.service import Served, Service

router = APIRouter(prefix="/api/runs", tags=["runs"])

_METRICS = (
    *("images", "positives", "negatives", "unknowns", "mAP", "ranking"),
    *("at_fitted_thresholds", "calibrated"),
)


def _folders(service: Service) -> list[Path]:
    """Folders that can be named: only those beside the served run."""
    return sorted(path for path in service.home.iterdir() if path.is_dir() and is_run(path))


def _folder(service: Served, name: str) -> Path:
    for path in _folders(service):
        if path.name == name:
            return path
    raise HTTPException(404, "no such run")


RunPath = Annotated[Path, Depends(_folder)]
"""The run that is named in the address."""


@router.get("")
def listed(service: Served) -> list[RunBrief]:
    """Runs beside the served one."""
    return [_brief(service, path) for path in _folders(service)]


@router.get("/measured")
def on_complete_photos(service: Served) -> Measured:
    """Metrics of the served model on photos people have labeled in full."""
    with service.current():
        return measured(service)


@router.put("/served")
def switch(service: Served, wanted: RunRequest) -> RunBrief:
    """Serve another model from now on."""
    path = _folder(service, wanted.run)
    with refusing(409):
        service.switch(path)
    return _brief(service, path)


@router.get("/{name}")
def one(service: Served, path: RunPath) -> dict[str, Any]:
    """Metrics, training curve and every class of a run."""
    summary = run_summary(path)
    metrics = summary.pop("metrics") or {}
    splits = {
        split: {
            **{key: metrics[split].get(key) for key in _METRICS},
            "per_class": _classes(path, split, metrics[split]["per_class"]),
        }
        for split in ("val", "test")
        if metrics.get(split)
    }
    return {
        **summary,
        "splits": splits,
        "criterion": metrics.get("criterion"),
        "best_score": metrics.get("best_score"),
        "served": path.resolve() == service.model.path,
    }


@router.get("/{name}/compare/{other}")
def compare(service: Served, path: RunPath, other: str) -> Compared:
    """Two runs on the same held-out photos, with the labels as they are now."""
    with refusing(409):
        return compared(service, path, _folder(service, other))


@router.get("/{name}/curve")
def curve(
    service: Served, path: RunPath, tag: Annotated[str | None, Query(max_length=200)] = None
) -> Curve:
    """Precision at every recall on held-out photos: of one tag or all tags."""
    with refusing(409):
        return precision_curve(service, path, tag)


def _classes(path: Path, split: str, noted: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every class at the run's thresholds; what the run noted of it if its photos are gone."""
    try:
        return class_metrics(path, split)
    except TagfillError:
        undecided = {"threshold": None, "precision": None, "recall": None, "f1": None}
        return [{**metrics, **undecided} for metrics in noted]


def _brief(service: Service, path: Path) -> RunBrief:
    """A run, or why it cannot be read: one broken folder must not hide the others."""
    try:
        summary = run_summary(path)
    except TagfillError as error:
        unread: dict[str, Any] = {"method": None, "started": None, "mAP": {}, "served": False}
        return RunBrief(name=path.name, finished=False, problem=error.message, **unread)
    metrics = summary["metrics"] or {}
    return RunBrief(
        **{key: summary[key] for key in ("name", "finished", "method")},
        started=None if summary["started"] is None else str(summary["started"]),
        mAP={split: metrics[split].get("mAP") for split in ("val", "test") if metrics.get(split)},
        served=path.resolve() == service.model.path,
    )
