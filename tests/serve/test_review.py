"""Review over HTTP: cards, answers, undo, leases, export."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from tests.serve.conftest import Reviewer

from tagfill.labels import POSITIVE, UNKNOWN, LabelTable
from tagfill.recover.choose import expected_gain
from tagfill.serve import queue as queues
from tagfill.serve.app import create_app
from tagfill.serve.ledger import Ledger
from tagfill.serve.library import Library
from tagfill.serve.model import ServedModel
from tagfill.serve.server import Options, build_service
from tagfill.serve.service import Service

Browsers = Callable[..., Reviewer]


def busiest(client: Reviewer) -> str:
    return client.get("/api/review").json()["tags"][0]["tag"]


def test_cards_ask_only_about_unknown_tags_the_likeliest_first(
    anna: Reviewer, service: Service
) -> None:
    cards = anna.cards(view="photo", count=5)["photos"]
    assert len(cards) == 5
    for card in cards:
        chances = [suggestion["probability"] for suggestion in card["suggestions"]]
        assert chances == sorted(chances, reverse=True)
        written = service.library.table.values[card["photo"]]
        for suggestion in card["suggestions"]:
            assert written[service.library.table.classes.index(suggestion["tag"])] == -1
    grid = anna.cards(view="tag", tag=busiest(anna), count=12)["grid"]
    chances = [card["probability"] for card in grid]
    assert chances == sorted(chances, reverse=True)


def test_the_most_useful_photo_is_first(anna: Reviewer, service: Service) -> None:
    first = anna.cards(view="photo", count=1)["photos"][0]
    queue = service.queue
    chance = np.nan_to_num(queue.probability)
    gain = np.where(queue._on_cards, expected_gain(chance, queue.ledger.values == -1), 0)
    most = gain.sum(axis=1)
    gains = [most[card["photo"]] for card in anna.cards(view="photo", count=40)["photos"]]
    assert first["photo"] == anna.cards(view="photo", count=1)["photos"][0]["photo"]
    assert gains[0] == most.max() > gains[-1]
    assert gains == sorted(gains, reverse=True)
    for suggestion in first["suggestions"]:
        anna.say(first["photo"], suggestion["tag"])
    second = anna.cards(view="photo", count=1)["photos"][0]
    assert second["photo"] != first["photo"]  # what is left to ask of the first one is worth less


def test_suggested_are_the_likeliest_photos_as_many_as_expected() -> None:
    chance = np.array([[0.3, 0.6, 0.01], [0.4, 0.6, 0.0], [0.1, 0.6, 0.02], [0.35, 0.7, 0.0]])
    suggested = queues.as_many_as_expected(chance)  # 1.15, 2.5 and 0.03 are expected
    assert np.flatnonzero(suggested[:, 0]).tolist() == [1, 3]
    assert suggested[:, 1].all()  # each is rather likely
    assert np.flatnonzero(suggested[:, 2]).tolist() == [2]


def test_a_model_that_finds_nothing_likely_is_reviewed_all_the_same(
    careful: tuple[Library, ServedModel], tmp_path: Path
) -> None:
    service = build_service(*careful, Options(database=str(tmp_path / "review.db")))
    anna = Reviewer(create_app(service), base_url="http://127.0.0.1:8731").begin("Anna")
    assert (service.queue.probability < queues.POSSIBLE).all()
    overview = anna.get("/api/review").json()
    unknown = service.library.table.values == UNKNOWN
    assert overview["totals"]["left"] == unknown.sum()
    assert all(tag["open"] > 0 and tag["likeliest"] < 0.1 for tag in overview["tags"])
    order = [tag["open"] for tag in overview["tags"]]
    assert order == sorted(order, reverse=True)
    tag = overview["tags"][0]["tag"]
    column = service.column(tag)
    chances = np.sort(service.queue.probability[unknown[:, column], column])[::-1]
    seen = []
    while grid := anna.cards(view="tag", tag=tag, count=20)["grid"]:
        seen += [card["probability"] for card in grid]
        for card in grid:
            anna.say(card["photo"], tag, "no", view="tag")
    assert seen == pytest.approx(chances, abs=1e-4)  # all of them, the likeliest first
    state = anna.get(f"/api/review/tags/{tag}").json()
    assert (state["open"], state["left"], state["no"]) == (0, 0, len(seen))
    assert not state["acceptable"]
    cards = anna.cards(view="photo", count=100)["photos"]
    assert len(cards) == unknown.any(axis=1).sum()
    assert all(card["suggestions"] for card in cards)
    service.close()


def test_an_answer_is_kept_with_who_when_model_and_probability(
    anna: Reviewer, service: Service
) -> None:
    card = anna.cards(view="photo", count=1)["photos"][0]
    asked = card["suggestions"][0]
    anna.say(card["photo"], asked["tag"], "no")
    line = anna.get("/api/review/history").json()[0]
    assert line["who"] == "Anna"
    assert line["image"] == card["name"]
    assert (line["tag"], line["value"]) == (asked["tag"], 0)
    assert line["model"] == "first"
    assert line["probability"] == asked["probability"]
    assert line["at"] > 1_600_000_000
    again = anna.get(f"/api/photos/{card['photo']}").json()
    assert asked["tag"] in again["no"]
    assert asked["tag"] not in [suggestion["tag"] for suggestion in again["suggestions"]]


def test_decisions_survive_a_new_server_on_the_same_database(
    anna: Reviewer, service: Service, tmp_path: Path
) -> None:
    anna.say(3, "boat")
    anna.say(4, "boat", "no")
    anna.say(5, "boat")
    anna.post("/api/review/undo")
    again = Ledger(service.database, service.library)
    column = again.columns.find("boat")
    assert [int(again.values[row, column]) for row in (3, 4)] == [1, 0]
    assert again.values[5, column] == service.library.table.values[5, column]


def test_two_servers_on_one_database_see_each_others_decisions(opened, tmp_path: Path) -> None:
    options = Options(database=str(tmp_path / "shared.db"))
    one, other = (build_service(*opened, options) for _ in range(2))
    first, second = (
        Reviewer(create_app(server), base_url="http://127.0.0.1") for server in (one, other)
    )
    first.begin("Anna").say(2, "car")
    second.begin("Ben")
    assert "car" in second.get("/api/photos/2").json()["yes"]
    mine = {card["photo"] for card in first.cards(view="photo", count=6)["photos"]}
    theirs = {card["photo"] for card in second.cards(view="photo", count=6)["photos"]}
    assert len(mine) == len(theirs) == 6
    assert not mine & theirs
    with ThreadPoolExecutor(2) as pool:  # both write at the same time: nothing acknowledged is lost
        rows = range(10, 34)
        said = pool.map(lambda row: (first, second)[row % 2].say(row, "boat"), rows)
        assert all(said)
    for client in (first, second):
        photos = [client.get(f"/api/photos/{row}").json() for row in range(10, 34)]
        assert all("boat" in photo["yes"] for photo in photos)


def test_undo_is_unlimited_and_only_takes_back_ones_own(browser: Browsers) -> None:
    anna, ben = browser("Anna"), browser("Ben")
    before = anna.get("/api/photos/7").json()
    anna.say(7, "boat")
    ben.say(8, "boat")
    anna.say(7, "boat", "no")
    assert anna.post("/api/review/undo").json()[0]["value"] == 0
    assert "boat" in anna.get("/api/photos/7").json()["yes"]
    assert anna.post("/api/review/undo").json()[0]["value"] == 1
    assert anna.get("/api/photos/7").json() == before
    assert anna.post("/api/review/undo").json() == []
    assert "boat" in anna.get("/api/photos/8").json()["yes"]


def test_a_certain_action_is_undone_once_and_by_its_author_only(browser: Browsers) -> None:
    anna, ben = browser("Anna"), browser("Ben")
    first = {"batch": anna.say(7, "boat")["batch"]}
    anna.say(8, "boat")
    assert ben.post("/api/review/undo", json=first).json() == []
    assert [line["photo"] for line in anna.post("/api/review/undo", json=first).json()] == [7]
    assert anna.post("/api/review/undo", json=first).json() == []
    assert "boat" not in anna.get("/api/photos/7").json()["yes"]
    assert "boat" in anna.get("/api/photos/8").json()["yes"]


def test_nobody_gets_a_card_somebody_else_is_looking_at(
    browser: Browsers, monkeypatch: pytest.MonkeyPatch
) -> None:
    anna, ben = browser("Anna"), browser("Ben")
    tag = busiest(anna)
    mine = {card["photo"] for card in anna.cards(view="tag", tag=tag, count=4)["grid"]}
    theirs = {card["photo"] for card in ben.cards(view="tag", tag=tag, count=200)["grid"]}
    assert len(mine) == 4
    assert not mine & theirs
    photos = {card["photo"] for card in ben.cards(view="photo", count=200)["photos"]}
    assert photos
    assert not mine & photos
    later = queues.time.time() + queues.LEASE_SECONDS + 1
    monkeypatch.setattr(queues.time, "time", lambda: later)
    assert mine <= {card["photo"] for card in ben.cards(view="tag", tag=tag, count=200)["grid"]}


def test_people_of_the_same_name_get_different_cards(browser: Browsers) -> None:
    mine, theirs = (
        {card["photo"] for card in browser("Anna").cards(view="photo", count=4)["photos"]}
        for _ in range(2)
    )
    assert len(mine) == len(theirs) == 4
    assert not mine & theirs


def test_a_clock_that_was_put_back_keeps_no_card_from_others(
    browser: Browsers, monkeypatch: pytest.MonkeyPatch
) -> None:
    anna, ben = browser("Anna"), browser("Ben")
    real = queues.time.time()
    monkeypatch.setattr(queues.time, "time", lambda: real + 86_400)
    mine = {card["photo"] for card in anna.cards(view="photo", count=3)["photos"]}
    monkeypatch.setattr(queues.time, "time", lambda: real)
    assert mine == {card["photo"] for card in ben.cards(view="photo", count=3)["photos"]}


def test_released_cards_go_to_others_at_once(browser: Browsers) -> None:
    anna, ben = browser("Anna"), browser("Ben")
    mine = {card["photo"] for card in anna.cards(view="photo", count=3)["photos"]}
    anna.post("/api/review/release")
    assert mine == {card["photo"] for card in ben.cards(view="photo", count=3)["photos"]}


def test_a_page_gives_back_its_own_cards_only(browser: Browsers) -> None:
    anna, ben = browser("Anna"), browser("Ben")
    mine = [card["photo"] for card in anna.cards(view="photo", count=3)["photos"]]
    answer = anna.post("/api/review/release", json={"photos": mine[:1]})
    assert answer.json() == {"released": 1}
    assert ben.post("/api/review/release", json={"photos": mine}).json() == {"released": 0}
    theirs = {card["photo"] for card in ben.cards(view="photo", count=30)["photos"]}
    assert theirs & set(mine) == set(mine[:1])


def test_a_complete_photo_has_no_unknown_tags(anna: Reviewer, service: Service) -> None:
    written = anna.get("/api/photos/9").json()["yes"]
    anna.post("/api/review/complete", json={"photo": 9, "yes": ["car"]})
    card = anna.get("/api/photos/9").json()
    assert card["complete"]
    assert set(card["yes"]) == {*written, "car"}
    assert len(card["yes"]) + len(card["no"]) == len(service.library.table.classes)
    assert card["suggestions"] == []
    anna.post("/api/review/undo")
    assert anna.get("/api/photos/9").json()["yes"] == written


def test_a_tag_thought_of_later_stays_unknown_on_complete_photos(anna: Reviewer) -> None:
    anna.post("/api/review/complete", json={"photo": 9, "yes": []})
    anna.say(10, "unicorn")
    card = anna.get("/api/photos/9").json()
    assert "unicorn" not in card["no"]
    anna.post("/api/review/complete", json={"photo": 11, "yes": []})
    assert "unicorn" in anna.get("/api/photos/11").json()["no"]


def test_the_guided_start_is_a_fixed_sample_of_held_out_photos(
    anna: Reviewer, service: Service
) -> None:
    wanted = service.queue.guided
    assert set(wanted) <= set(range(len(service.library)))
    done = service.library.fully_labeled[wanted]
    cards = anna.cards(view="photo", count=3, guided=True)["photos"]
    assert {card["photo"] for card in cards} <= set(wanted.tolist())
    anna.post("/api/review/complete", json={"photo": cards[0]["photo"], "yes": []})
    assert anna.get("/api/review").json()["totals"]["guided"]["done"] == done.sum() + 1


def test_the_guided_start_has_every_written_tag_as_often_as_all_photos() -> None:
    written = np.random.default_rng(2).permutation(np.repeat(range(5), (400, 300, 160, 100, 40)))
    table = LabelTable(
        tuple(f"{row}.jpg" for row in range(1000)),
        ("sky", "tree", "dog", "boat", "swan"),
        np.where(written[:, None] == np.arange(5), POSITIVE, UNKNOWN),
    )
    library = Library(table, (), {}, Path("labels.csv"))
    queue = SimpleNamespace(ledger=SimpleNamespace(library=library))
    sample = queues.Queue.guided.func(queue)
    assert len(sample) == len(set(sample.tolist())) == 50
    assert np.bincount(written[sample]).tolist() == pytest.approx([20, 15, 8, 5, 2], abs=1)


def test_the_guided_start_asks_nothing_about_photos_with_complete_labels(
    anna: Reviewer, service: Service
) -> None:
    complete = set(np.flatnonzero(service.library.fully_labeled).tolist())
    assert complete == set(service.library.splits["test"].tolist())
    cards = anna.cards(view="photo", count=100, guided=True)["photos"]
    assert cards
    assert not complete & {card["photo"] for card in cards}
    assert all(anna.get(f"/api/photos/{row}").json()["complete"] for row in complete)


def test_undo_of_a_new_tag_removes_it(anna: Reviewer, service: Service) -> None:
    before = [tag["tag"] for tag in anna.get("/api/tags").json()]
    anna.say(0, "draggon")
    anna.say(1, "dragon")
    anna.say(2, "dragon")
    anna.post("/api/review/undo", json={})
    anna.post("/api/review/undo", json={})
    assert [tag["tag"] for tag in anna.get("/api/tags").json()] == [*before, "draggon"]
    anna.post("/api/review/undo", json={})
    assert [tag["tag"] for tag in anna.get("/api/tags").json()] == before
    anna.say(1, "dragon")
    assert service.tags_of(1, POSITIVE)[-1] == "dragon"
