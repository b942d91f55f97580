"""A scripted person who answers suggestions through the server, then trains again.

python benchmarks/serve_reviewer.py tagfill-demo/runs/auto-seed0 [--answers 1000] [--write]

Prints the rows, or writes the table of docs/results/serve.md. Nothing is written beside the run.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from pages import show_rows
from serving import PAGE, circumstances, percentiles, serving
from tagfill.api.run import Run


class Person:
    """Knows the truth, and says it one tag at a time."""

    def __init__(self, url: str, run: Path) -> None:
        self.client = httpx.Client(base_url=url, timeout=600)
        self.client.headers["x-csrf-token"] = self.client.get("/api/session").json()["csrf"]
        self.truth: dict[str, set[str]] = {}
        for split in Run.open(run).data.splits.values():
            assert split.truth is not None, "the reviewer needs data whose truth is known"
            for image, row in zip(split.table.images, split.truth, strict=True):
                present = zip(split.table.classes, row, strict=True)
                self.truth[image] = {tag for tag, value in present if value == 1}

    def answer(self, count: int) -> tuple[list[float], int]:
        """Seconds of every answer, and how many tags were found."""
        seconds: list[float] = []
        tags = 0
        while len(seconds) < count:
            cards = self._ask("POST", "/api/review/next", json={"view": "photo", "count": 4})
            if not cards["photos"]:
                break
            for card in cards["photos"]:
                for asked in card["suggestions"]:
                    right = asked["tag"] in self.truth[card["name"]]
                    value = "yes" if right else "no"
                    decision = {"photo": card["photo"], "tag": asked["tag"], "value": value}
                    began = time.perf_counter()
                    self._ask("POST", "/api/review/decisions", json={"decisions": [decision]})
                    seconds.append(time.perf_counter() - began)
                    tags += right
        return seconds, tags

    def train_again(self) -> dict[str, Any]:
        """Metrics before and after on the same held-out photos."""
        served = self._ask("GET", "/api/session")["model"]
        job = self._ask("POST", "/api/jobs")
        while job["state"] == "running":
            time.sleep(1)
            job = self._ask("GET", f"/api/jobs/{job['id']}")
        if job["state"] != "done":
            raise SystemExit(job["message"])
        both: dict[str, Any] = self._ask("GET", f"/api/runs/{served}/compare/{job['run']}")
        return both

    def _ask(self, method: str, path: str, **body: Any) -> Any:
        answer = self.client.request(method, path, **body)
        answer.raise_for_status()
        return answer.json()


def rows(run: Path, answers: int) -> Iterator[tuple[str, str]]:
    """What a review of a run was, and what it brought."""
    with (
        tempfile.TemporaryDirectory(prefix="tagfill-reviewer-") as folder,
        serving(shutil.copytree(run, Path(folder, run.name)), Path(folder, "review.db")) as url,
    ):
        person = Person(url, run)
        seconds, tags = person.answer(answers)
        middle, slow = percentiles(seconds)
        yield circumstances()
        yield "answers, one request each", f"{len(seconds):,}"
        yield "tags found by them", str(tags)
        yield "time of the server per answer", f"p50 {middle:.0f} ms, p95 {slow:.0f} ms"
        began = time.perf_counter()
        both = person.train_again()
        yield "training again", f"{time.perf_counter() - began:.0f} s"
        before, after = (trained["mAP"] for trained in both["runs"])
        held_out = f"mAP on {both['photos']} {both['split']} photos, before and after"
        yield held_out, f"{before:.1f}, {after:.1f}"


def main() -> None:
    """Print the rows, or write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--answers", type=int, default=1000)
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    found = rows(given.run, given.answers)
    show_rows(("review", ""), found, PAGE if given.write else None, "reviewer")


if __name__ == "__main__":
    main()
