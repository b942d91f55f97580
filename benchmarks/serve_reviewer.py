"""A scripted person who answers suggestions through the server, then trains again.

python benchmarks/serve_reviewer.py tagfill-demo/runs/auto-seed0 --answers 1000
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx

from serving import percentiles, serving
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


def main() -> None:
    """Print what came out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--answers", type=int, default=1000)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="tagfill-reviewer-"))
    with serving(options.run, folder / "review.db") as url:
        person = Person(url, options.run)
        seconds, tags = person.answer(options.answers)
        middle, slow = percentiles(seconds)
        print(f"{len(seconds)} answers, {tags} tags found")
        print(f"time of the server per answer: p50 {middle:.1f} ms, p95 {slow:.1f} ms")
        both = person.train_again()
        before, after = (run["mAP"] for run in both["runs"])
        print(f"mAP on {both['photos']} {both['split']} photos: {before:.1f} -> {after:.1f}")


if __name__ == "__main__":
    main()
