"""Review in a real browser: Debian's Chromium, driven by Playwright."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.serve.browser import PHONE, Open, busiest, decisions, in_chromium, saved
from tests.serve.live import Process, listening

from tagfill.serve.database import leases

pytestmark = in_chromium


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
