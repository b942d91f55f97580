"""Pictures of every page of the web app: desktop and phone, light and dark, English or German.

python benchmarks/serve_pictures.py tagfill-demo/runs/auto-seed0 --out pictures
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

from serving import serving
from tagfill.api.run import Run

QUIET = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")
SIZES: dict[str, dict[str, Any]] = {
    "desktop": {"viewport": {"width": 1280, "height": 800}},
    "phone": {
        "viewport": {"width": 390, "height": 844},
        "has_touch": True,
        "is_mobile": True,
        "device_scale_factor": 2,
    },
}
Act = Callable[[Any], None]


def nothing(page: Any) -> None:
    """Leave the page as it is."""


def heat(page: Any) -> None:
    """Show where a tag is seen."""
    page.keyboard.press("h")
    page.wait_for_function("() => document.querySelector('.heat')?.naturalWidth > 0")


def pages(run: Run, other: str | None) -> dict[str, tuple[str, Act]]:
    """What to take pictures of: name, address, and what to do there first."""
    photo = str(run.split("test").paths[3])

    def pick(page: Any) -> None:
        page.set_input_files("#pick", photo)
        page.wait_for_selector(".bars")

    listed = {
        "home": ("/", nothing),
        "review": ("/review", nothing),
        "tag": ("/review?view=tag&tag={tag}", nothing),
        "photo": ("/review?view=photo", heat),
        "try": ("/try", pick),
        "try-empty": ("/try", nothing),
        "data": ("/data", nothing),
        "data-none": ("/data?q=nothing+like+this", nothing),
        "tags": ("/tags", nothing),
        "runs": ("/runs", nothing),
        "train": ("/train", nothing),
        "login": ("/login", nothing),
    }
    if other is not None:
        listed["compare"] = (f"/runs?run={run.name}&other={other}", nothing)
    return listed


def answer_some(page: Any, url: str) -> str:
    """Make decisions, so that the pages have something to show; gives the busiest tag."""
    page.goto(f"{url}/review?view=photo")
    page.wait_for_selector("img.photo")
    for key in "yynyny?ynyyn":
        page.keyboard.press(key)
        page.wait_for_timeout(250)
    tags = page.evaluate("async () => (await (await fetch('/api/review')).json()).tags")
    page.goto(f"{url}/review?view=tag&tag={tags[0]['tag']}")
    page.wait_for_selector(".tile")
    page.keyboard.press("Enter")
    page.wait_for_selector(".grid[aria-busy=false]")
    return str(tags[0]["tag"])


def take(
    browser: Any, url: str, wanted: dict[str, tuple[str, Act]], out: Path, language: str
) -> None:
    """Visit every page in every size and color."""
    tag = answer_some(browser.new_page(), url)
    for size, options in SIZES.items():
        for scheme in ("light", "dark"):
            context = browser.new_context(locale=language, color_scheme=scheme, **options)
            page = context.new_page()
            for name, (path, act) in wanted.items():
                page.goto(url + path.format(tag=tag))
                page.wait_for_selector("main:not([aria-busy])")
                act(page)
                page.wait_for_load_state("networkidle")
                page.screenshot(path=out / f"{name}-{size}-{scheme}.png")
            context.close()


def main() -> None:
    """Serve a run, take the pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--out", type=Path, default=Path("pictures"))
    parser.add_argument("--language", default="en", choices=("en", "de"))
    parser.add_argument("--other", help="a run beside it to compare with")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(given.run, Path(folder, "review.db")) as url,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(executable_path=chromium, args=list(QUIET))
        take(browser, url, pages(Run.open(given.run), given.other), given.out, given.language)
        browser.close()


if __name__ == "__main__":
    main()
