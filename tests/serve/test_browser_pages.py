"""All other pages in a real browser, on a phone and in German too."""

from __future__ import annotations

import re
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any

import pytest
from tests.serve.browser import PHONE, Open, busiest, in_chromium, saved
from tests.serve.live import listening

from tagfill.labels.io import load_labels
from tagfill.serve.model import open_run
from tagfill.serve.service import Service

pytestmark = in_chromium


def test_try_an_image(visit: Open, site: Any) -> None:
    _, service = site
    page = visit("/try")
    page.set_input_files("#pick", str(service.library.paths[0]))
    page.wait_for_selector(".bars")
    page.locator(".cut input").fill("0")
    assert page.locator(".bar").count() == len(service.model.bundle.classes)
    page.locator(".cut input").fill("1")
    page.wait_for_selector(".bars .faint")
    assert page.locator(".alikes img").count() == 6
    page.locator(".cut input").fill("0")
    page.locator(".bar").first.hover()
    page.wait_for_function("() => !document.querySelector('.heat').hidden")


@pytest.mark.parametrize("way", ["drop", "paste"])
def test_images_are_dropped_and_pasted(visit: Open, way: str) -> None:
    page = visit("/try")
    page.evaluate(
        """async (way) => {
          const image = await (await fetch('/api/photos/1/picture')).blob();
          const held = new DataTransfer();
          held.items.add(new File([image], 'mine.jpg', { type: 'image/jpeg' }));
          const event = way === 'drop'
            ? new DragEvent('drop', { dataTransfer: held, bubbles: true, cancelable: true })
            : new ClipboardEvent('paste', { clipboardData: held, bubbles: true });
          document.querySelector('.drop').dispatchEvent(event);
        }""",
        way,
    )
    page.wait_for_selector("h2:has-text('mine.jpg')")
    page.wait_for_selector(".alikes img")


def test_bulk_add_search_and_export(visit: Open, site: Any, tmp_path: Path) -> None:
    _, service = site
    page = visit("/data")
    boxes = page.locator(".pick input")
    boxes.nth(0).click()
    boxes.nth(3).click(modifiers=["Shift"])
    page.fill("#bulk-tag", "holiday <b>")
    page.keyboard.press("Enter")
    stored = saved(page, service, 4)
    assert set(stored.values()) == {1}
    page.click(".toast button:has-text('Undo')")  # the way back is where the action is reported
    saved(page, service, 0)
    page.fill("#bulk-tag", "holiday <b>")
    page.keyboard.press("Enter")
    saved(page, service, 4)
    page.fill("#q", "holiday")
    page.wait_for_function("() => document.querySelectorAll('.thing').length === 4")
    assert page.locator(".thing b").count() == 0
    page.click("summary:has-text('Export')")
    page.select_option("#format", "xmp")
    command = page.locator(".hint code").inner_text()
    assert command.startswith("tagfill apply ")
    assert str(tmp_path / "review.db") in command
    page.select_option("#format", "csv_wide")
    page.wait_for_selector(".hint code", state="detached")
    with page.expect_download() as download:
        page.click("text=Download")
    file = tmp_path / "labels.csv"
    download.value.save_as(file)
    table = load_labels(file).table
    assert (table.values[:, table.classes.index("holiday <b>")] == 1).sum() == 4


def test_an_export_that_fails_says_why(visit: Open, site: Any) -> None:
    page = visit("/data", expected="409")
    page.locator(".pick input").nth(0).click()
    page.fill("#bulk-tag", "animal/bird")
    page.keyboard.press("Enter")
    saved(page, site[1], 1)
    page.click("summary:has-text('Export')")
    page.select_option("#format", "image_folder")
    page.click("text=Download")
    page.wait_for_selector("[data-kind=error]:has-text('animal/bird')")
    page.click("text=Undo")
    saved(page, site[1], 0)
    with page.expect_download() as download:
        page.click("text=Download")
    assert download.value.suggested_filename == "labels-image_folder.zip"


def test_tags_that_occur_together_are_shaded(visit: Open) -> None:
    page = visit("/tags")
    shades = page.locator(".heatcell").evaluate_all(
        "cells => cells.map((cell) => getComputedStyle(cell).backgroundColor)"
    )
    assert len(set(shades)) > 2


def test_rename_and_undo(visit: Open) -> None:
    page = visit("/tags")
    page.locator("tr:has-text('boat') button").click()
    page.fill("#new-name", "vessel")
    page.click("dialog button:has-text('Save')")
    page.wait_for_selector("td a:has-text('vessel')")
    page.click("main button:has-text('Undo')")
    page.wait_for_selector("td a:has-text('boat')")


def test_pages_fit_a_phone_and_speak_german(visit: Open, site: Any) -> None:
    page = visit("/", **PHONE)
    for path in ("/", "/review", "/try", "/data", "/tags", "/runs", "/train"):
        page.goto(site[0] + path)
        page.wait_for_selector("main:not([aria-busy])")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
    page.select_option("header select", "de")
    page.wait_for_function("() => document.documentElement.lang === 'de'")
    page.wait_for_selector("nav a:has-text('Prüfen')")
    page.goto(f"{site[0]}/train")
    active = page.locator("nav [aria-current]")
    active.wait_for()
    box = active.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= 390
    page.goto(f"{site[0]}/tags")
    page.wait_for_selector("main:not([aria-busy])")
    table = page.locator("section:has(.tagtable)")
    assert table.evaluate("card => card.scrollWidth <= card.clientWidth")  # nothing is cut off
    page.set_viewport_size({"width": 1280, "height": 800})
    tag = busiest(site[1])
    for path in ("/", "/try", "/data", "/tags", "/runs", "/train", f"/review?view=tag&tag={tag}"):
        page.goto(site[0] + path)
        page.wait_for_selector("main:not([aria-busy])")
        assert english_texts(page) == [], path
    page.goto(f"{site[0]}/review?view=photo")
    page.wait_for_selector("main:not([aria-busy])")
    assert english_texts(page) == []
    panel = page.locator("aside.panel")
    assert panel.evaluate("node => node.scrollWidth <= node.clientWidth")


def english_texts(page: Any) -> list[str]:
    """Texts and names on a page that are the English ones, where the German ones differ."""
    return page.evaluate(
        r"""async () => {
          const { en } = await import('/static/js/strings/en.js');
          const { de } = await import('/static/js/strings/de.js');
          const german = new Set(Object.values(de));
          const english = new Set(Object.values(en).filter((text) => !german.has(text)));
          const all = [...document.querySelectorAll('body *')].flatMap((node) => [
            ...[...node.childNodes].filter((child) => child.nodeType === 3).map(({ data }) => data),
            node.getAttribute('aria-label'), node.title, node.placeholder,
          ]);
          return all.filter((text) => text && english.has(text.trim()));
        }"""
    )


@pytest.fixture(scope="module")
def axe(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("axe")
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed, so axe-core cannot be fetched")
    fetched = subprocess.run(
        [npm, "pack", "axe-core@4", "--silent"], cwd=folder, capture_output=True, timeout=90
    )
    archives = list(folder.glob("*.tgz"))
    if fetched.returncode or not archives:
        pytest.skip("axe-core cannot be fetched from the npm registry")
    with tarfile.open(archives[0]) as archive:
        return archive.extractfile("package/axe.min.js").read().decode()


def test_no_serious_accessibility_faults(visit: Open, site: Any, axe: str) -> None:
    tag = busiest(site[1])
    first = visit("/")
    review = ["/review", f"/review?view=tag&tag={tag}", "/review?view=photo"]
    others = ["/", "/try", "/data", "/tags", "/runs", "/train", "/login"]
    faults = []
    for scheme, paths in {"light": review + others, "dark": [*review, "/tags"]}.items():
        first.emulate_media(color_scheme=scheme)
        for path in paths:
            first.goto(site[0] + path)
            first.wait_for_selector("main:not([aria-busy])")
            first.evaluate(axe)
            result = first.evaluate("() => axe.run({ resultTypes: ['violations'] })")
            faults += [
                (scheme, path, fault["id"], fault["nodes"][0]["html"][:120])
                for fault in result["violations"]
                if fault["impact"] in ("serious", "critical")
            ]
    assert faults == []


def test_train_again_and_see_the_new_model_answer(
    chromium: Any, run: Path, tmp_path: Path, quick_training: None
) -> None:
    shutil.copytree(run, tmp_path / "runs" / "first")
    opened = open_run(tmp_path / "runs" / "first")
    with listening(opened, tmp_path / "review.db") as (url, service):
        page = chromium.new_page()
        page.set_default_timeout(240_000)
        page.goto(f"{url}/review?view=photo")
        page.wait_for_selector("img.photo")
        page.keyboard.press("y")
        saved(page, service, 1)
        page.goto(f"{url}/train")
        page.click("text=Train from the decisions")
        page.wait_for_selector(".job[data-state=running]")
        page.reload()  # training goes on
        page.wait_for_selector(".job p:has-text('so far')")
        page.wait_for_selector(".job[data-state=done]")
        page.wait_for_selector("tr.total")
        page.click("text=Serve this model")
        page.wait_for_selector("text=This model is served now.")
        assert service.model.name == "first-review-1"
        page.goto(f"{url}/try")
        page.set_input_files("#pick", str(service.library.paths[0]))
        page.wait_for_selector(".bars")
        compare_and_switch_back(page, url, service)
        page.close()


def compare_and_switch_back(page: Any, url: str, service: Service) -> None:
    """Both runs side by side as the server says, then the first one serves again."""
    page.goto(f"{url}/runs?run=first")
    page.click("tr:has-text('first-review-1') >> text=Compare")
    page.wait_for_selector("tr.total")
    assert page.locator("th:text-is('first')").count() == 1
    assert page.locator("th:text-is('first-review-1')").count() == 1
    told = page.evaluate(
        "() => fetch('/api/runs/first/compare/first-review-1').then((reply) => reply.json())"
    )
    scores = [run["mAP"] for run in told["runs"]]
    shown = page.locator("tr.total td").all_inner_texts()
    assert shown[1:3] == [f"{score:.1f}" for score in scores]
    change = float(re.sub("^[^+0-9]", "-", shown[3]))
    assert change == pytest.approx(scores[1] - scores[0], abs=0.051)
    assert page.locator(".curve .legend span").all_inner_texts() == ["first", "first-review-1"]
    served = "tr:has-text('{}') .badge:has-text('served')"
    assert page.locator(served.format("first-review-1")).count() == 1
    page.locator("tr:has(a:text-is('first'))").get_by_role("button", name="Serve").click()
    page.wait_for_selector("tr:has(a:text-is('first')) .badge")
    assert service.model.name == "first"
    assert page.locator(served.format("first-review-1")).count() == 0
    page.goto(f"{url}/train")
    page.click("text=Serve this model")
    page.click("text=Switch back to first")  # with before and after still in view
    page.wait_for_selector("text=Serve this model")
    assert service.model.name == "first"
    assert page.locator("tr.total td").all_inner_texts() == shown
