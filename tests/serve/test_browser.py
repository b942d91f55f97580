"""The pages in a real browser: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import re
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.serve.live import Process, listening

from tagfill.labels.io import load_labels
from tagfill.serve.database import leases
from tagfill.serve.model import open_run
from tagfill.serve.service import Service

sync_api = pytest.importorskip("playwright.sync_api")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed (make services)"),
]
QUIET = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")
QUIET += ("--disable-component-update", "--disable-sync")
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
Open = Callable[..., Any]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield browser
        browser.close()


@pytest.fixture
def site(opened: Any, tmp_path: Path) -> Iterator[tuple[str, Service]]:
    with listening(opened, tmp_path / "review.db") as served:
        yield served


@pytest.fixture
def visit(chromium: Any, site: tuple[str, Service]) -> Iterator[Open]:
    """Open a page as somebody new, or in a context that is open; script errors fail the test.

    Errors in the console that hold the expected text do not.
    """
    contexts, faults = [], []

    def go(path: str, context: Any = None, expected: str | None = None, **options: Any) -> Any:
        if context is None:
            context = chromium.new_context(locale="en-US", **options)
            context.set_default_timeout(30_000)
            contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda line: noted(line, expected))
        page.goto(site[0] + path)
        page.wait_for_selector("main:not([aria-busy])")
        return page

    def noted(line: Any, expected: str | None) -> None:
        if line.type == "error" and (expected is None or expected not in line.text):
            faults.append(line.text)

    yield go
    for context in contexts:
        context.close()
    assert faults == []


def busiest(service: Service) -> str:
    states = [service.queue.status(column) for column in range(len(service.queue._names))]
    return max(states, key=lambda state: state.open).tag


def decisions(service: Service) -> dict[tuple[str, str], int]:
    service.refresh()
    names = service.ledger.columns.names
    return {
        (entry.image, names[column]): entry.value for _, column, entry in service.ledger.current()
    }


def saved(page: Any, service: Service, count: int) -> dict[tuple[str, str], int]:
    """All decisions, once so many have been made."""
    for _ in range(300):
        stored = decisions(service)
        if len(stored) == count:
            return stored
        page.wait_for_timeout(50)
    raise AssertionError(f"{len(stored)} decisions instead of {count}")


def test_ten_answers_by_keyboard_photo_by_photo(visit: Open, site: Any) -> None:
    _, service = site
    page = visit("/review?view=photo")
    keys = "ynynynyny?"
    for place, key in enumerate(keys):
        page.keyboard.press(key)
        saved(page, service, place + 1)
    values = list(decisions(service).values())
    assert (values.count(1), values.count(0), values.count(-1)) == (5, 4, 1)
    page.keyboard.press("u")
    page.wait_for_selector(".toast")
    saved(page, service, 9)
    page.keyboard.press("u")
    kept = saved(page, service, 8)
    page.reload()
    page.wait_for_selector("main:not([aria-busy])")
    assert decisions(service) == kept
    photo = page.locator("img.photo").get_attribute("alt")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("name => document.querySelector('img.photo').alt !== name", arg=photo)
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("name => document.querySelector('img.photo').alt === name", arg=photo)
    assert decisions(service) == kept


def test_a_page_of_one_tag_by_keyboard_and_mouse(visit: Open, site: Any) -> None:
    _, service = site
    tag = busiest(service)
    page = visit(f"/review?view=tag&tag={tag}")
    tiles = page.locator(".tile")
    count = tiles.count()
    assert count >= 10
    page.keyboard.press("x")
    tiles.nth(1).click()  # yes
    tiles.nth(4).click(modifiers=["Shift"])  # and up to here
    page.keyboard.press("ArrowRight")
    page.keyboard.press(" ")  # the sixth too
    page.keyboard.press("ArrowRight")
    page.keyboard.press("?")
    marks = [tiles.nth(place).get_attribute("data-value") for place in range(8)]
    assert marks == ["no", "yes", "yes", "yes", "yes", "yes", "unsure", "no"]
    page.keyboard.press("Enter")
    values = list(saved(page, service, count).values())
    assert (values.count(1), values.count(-1)) == (5, 1)
    page.wait_for_selector(".grid[aria-busy=false]")
    page.keyboard.press("u")
    saved(page, service, 0)
    page.wait_for_selector(".grid[aria-busy=false]")
    page.keyboard.press("a")
    page.keyboard.press("Enter")
    saved(page, service, count)


def test_unlikely_photos_of_a_tag_are_shown_and_called_so(
    chromium: Any, careful: Any, tmp_path: Path
) -> None:
    with listening(careful, tmp_path / "review.db") as (url, service):
        page = chromium.new_page(locale="en-US")
        page.goto(f"{url}/review")
        first = page.locator(".tagrow").first
        assert re.search(r"at most \d %", first.inner_text())
        first.click()
        page.wait_for_selector(".tile")
        tiles = page.locator(".tile")
        shown = [float(text.rstrip(" %")) for text in tiles.locator(".chance").all_inner_texts()]
        assert len(shown) == 24
        assert shown == sorted(shown, reverse=True)
        assert {tile.get_attribute("data-value") for tile in tiles.all()} == {"no"}
        assert "probably do not show" in page.locator(".remark").inner_text()
        page.keyboard.press("Enter")
        assert set(saved(page, service, 24).values()) == {0}
        page.click(".remark:has-text('All suggestions of') a:has-text('Next')")
        page.wait_for_selector("h1:has-text('Does it show')")
        page.close()


def test_the_number_of_columns_is_adjusted_and_kept(visit: Open, site: Any) -> None:
    path = f"/review?view=tag&tag={busiest(site[1])}"
    page = visit(path)
    columns = lambda: page.evaluate(  # noqa: E731
        "() => getComputedStyle(document.querySelector('.grid')).gridTemplateColumns"
        ".split(' ').length"
    )
    assert (columns(), page.locator(".tile").count()) == (6, 24)
    slider = page.locator("label.columns input")
    slider.focus()
    page.keyboard.press("ArrowLeft")  # the slider, not the photos
    assert columns() == 5
    box = slider.bounding_box()
    page.mouse.click(box["x"] + 2, box["y"] + box["height"] / 2)
    assert columns() == 2
    page.keyboard.press("ArrowDown")  # photos again: one row is two photos
    assert page.locator(".tile").nth(2).evaluate("tile => tile === document.activeElement")
    page.keyboard.press("Enter")
    page.wait_for_selector(".grid[aria-busy=false]")
    assert page.locator(".tile").count() == 8
    page = visit(path, page.context)
    assert (columns(), page.locator(".tile").count()) == (2, 8)


def test_two_people_at_once_get_different_cards(visit: Open, site: Any) -> None:
    _, service = site
    tag = busiest(service)
    names = [
        {tile.get_attribute("aria-label") for tile in visit(path).locator(".tile").all()}
        for path in [f"/review?view=tag&tag={tag}"] * 2
    ]
    assert names[0]
    assert not names[0] & names[1]


def test_a_complete_photo_and_a_tag_of_ones_own(visit: Open, site: Any) -> None:
    _, service = site
    page = visit("/review?view=photo&guided=1")
    name = page.locator("img.photo").get_attribute("alt")
    page.keyboard.press("t")
    page.keyboard.type("dragon")
    page.keyboard.press("Enter")
    page.wait_for_selector("li.chip:has-text('dragon')")
    page.keyboard.press("Escape")
    page.keyboard.press("c")
    page.wait_for_function("name => document.querySelector('img.photo')?.alt !== name", arg=name)
    service.refresh()
    row = service.library.table.row_of[name]
    assert service.ledger.is_complete(row)
    assert (service.ledger.values[row] != -1).all()
    assert "dragon" in service.tags_of(row, 1)


def test_the_guided_start_ends_with_measured_metrics(visit: Open, site: Any) -> None:
    _, service = site
    page = visit("/review?view=photo&guided=1")
    while page.locator("img.photo").count():
        name = page.locator("img.photo").get_attribute("alt")
        page.keyboard.press("c")
        page.wait_for_function("n => document.querySelector('img.photo')?.alt !== n", arg=name)
    assert all(map(service.queue.is_complete, service.queue.guided.tolist()))
    assert page.locator(".toast").count() == 1  # they do not pile up
    page.click("a:has-text('How good is the model?')")
    page.wait_for_selector("text=photos labeled in full")
    assert page.locator("main a:has-text('Label 50 photos')").count() == 0


def test_a_known_tag_is_taken_away_and_brought_back(visit: Open, site: Any) -> None:
    _, service = site
    page = visit("/review?view=photo")
    tag = page.locator("li.chip span").first.inner_text()
    page.locator("li.chip button").first.click()
    assert [(key[1], value) for key, value in saved(page, service, 1).items()] == [(tag, 0)]
    page.wait_for_selector(f"li.chip:has-text('{tag}')", state="detached")
    page.click(".toast button:has-text('Undo')")
    page.wait_for_selector(f"li.chip:has-text('{tag}')")
    saved(page, service, 0)


def test_the_next_photo_is_there_before_it_is_asked_for(visit: Open) -> None:
    page = visit("/review?view=photo")
    page.wait_for_load_state("networkidle")
    loaded = page.evaluate("performance.getEntriesByType('resource').map((entry) => entry.name)")
    first = page.locator("img.photo").get_attribute("alt")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("name => document.querySelector('img.photo').alt !== name", arg=first)
    assert page.locator("img.photo").evaluate("photo => photo.src") in loaded


def test_heat_map_and_zoom(visit: Open) -> None:
    page = visit("/review?view=photo")
    page.keyboard.press("h")
    page.wait_for_function(
        "() => { const heat = document.querySelector('.heat');"
        " return !heat.hidden && heat.naturalWidth > 0; }"
    )
    page.keyboard.press("h")
    page.keyboard.press("z")
    assert "zoomed" in page.locator(".stage").get_attribute("class")


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


def test_leaving_a_page_gives_its_cards_to_others(visit: Open, site: Any) -> None:
    _, service = site
    path = f"/review?view=tag&tag={busiest(service)}"
    names = []
    for _ in range(2):
        page = visit(path)
        names.append([tile.get_attribute("aria-label") for tile in page.locator(".tile").all()])
        page.goto(f"{site[0]}/login")
        for _ in range(300):
            with service.database.read() as connection:
                if not connection.execute(leases.select()).all():
                    break
            page.wait_for_timeout(50)
    assert names[0] == names[1]


def test_a_tag_without_photos_left_has_nothing_to_confirm(visit: Open, site: Any) -> None:
    _, service = site
    tag = min(
        service.queue._names, key=lambda name: len(service.queue.tag_order(service.column(name)))
    )
    page = visit(f"/review?view=tag&tag={tag}")
    while page.locator(".tile").count():
        page.keyboard.press("Enter")
        page.wait_for_selector(".grid[aria-busy=false]")
    assert page.locator("aside button:visible").all_inner_texts() == ["Undo\nU"]
    assert "NaN" not in page.locator("dl.numbers").inner_text()


def test_undo_of_a_rename_while_reviewing_photos(visit: Open) -> None:
    page = visit("/tags")
    page.locator("tr:has(a:text-is('boat')) button").click()
    page.fill("#new-name", "vessel")
    page.click("dialog button:has-text('Save')")
    page.wait_for_selector("td a:has-text('vessel')")
    page = visit("/review?view=photo", page.context)
    page.keyboard.press("y")
    page.wait_for_selector(".tally:has-text('1 answered, 1 found')")
    page.wait_for_selector(".progress:has-text('1 labels known from review')")
    for left in ("0 answered, 0 found", "0 answered, 0 found"):
        with page.expect_response("**/api/review/undo"):
            page.keyboard.press("u")
        page.wait_for_selector(f".tally:has-text('{left}')")
    names = "[...document.querySelectorAll('#add-tag-names option')].map((each) => each.value)"
    page.wait_for_function(f"() => {names}.includes('boat') && !{names}.includes('vessel')")
    assert page.locator("[data-kind=error]").count() == 0


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


def test_swipes_on_a_phone(visit: Open, site: Any) -> None:
    _, service = site
    page = visit("/review?view=photo", **PHONE)
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 390
    swipe = """([from, to]) => {
      const stage = document.querySelector('.stage');
      const send = (type, x) => stage.dispatchEvent(new PointerEvent(type,
        { pointerType: 'touch', clientX: x, clientY: 200, bubbles: true }));
      send('pointerdown', from); send('pointermove', to); send('pointerup', to);
    }"""
    page.evaluate(swipe, [60, 260])
    assert list(saved(page, service, 1).values()) == [1]
    page.evaluate(swipe, [260, 60])
    assert sorted(saved(page, service, 2).values()) == [0, 1]
    page.evaluate(swipe, [100, 120])
    page.wait_for_timeout(200)
    assert len(decisions(service)) == 2


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


def test_the_server_is_killed_between_two_answers(
    chromium: Any, run: Path, opened: Any, tmp_path: Path
) -> None:
    database = tmp_path / "review.db"
    server = Process(run, database)
    page = chromium.new_page()
    page.goto(f"{server.url}/review?view=photo")
    page.wait_for_selector("img.photo")
    for key in ("y", "n", "y"):
        with page.expect_response("**/api/review/decisions") as answer:
            page.keyboard.press(key)
        assert answer.value.ok
    server.kill()
    asked = page.locator(".question").inner_text()
    page.keyboard.press("y")
    page.wait_for_selector("#toasts [data-kind=error]")  # what is not saved is said
    assert page.locator(".question").inner_text() == asked
    with listening(opened, database) as (url, _):
        page.goto(f"{url}/review?view=photo")
        page.wait_for_selector("img.photo")
        history = page.evaluate("() => fetch('/api/review/history').then((reply) => reply.json())")
        assert [line["value"] for line in reversed(history)] == [1, 0, 1]
        page.close()


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
