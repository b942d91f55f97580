"""Browse, bulk changes, renames, suspects, accepting the rest."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import hypergeom
from tests.serve.conftest import Reviewer

from tagfill.serve.queue import LIKELY
from tagfill.serve.service import Service
from tagfill.serve.stopping import rest_in_order, rest_of


class Namesake:
    """A run under another name."""

    def __init__(self, run: Any, name: str) -> None:
        self._run, self.name = run, name

    def __getattr__(self, name: str) -> Any:
        return getattr(self._run, name)


def test_photos_are_found_by_tag_state_and_words(anna: Reviewer, service: Service) -> None:
    table = service.library.table
    column = int(np.argmax((table.values == 1).sum(axis=0)))
    tag = table.classes[column]
    for state, value in (("yes", 1), ("no", 0), ("unknown", -1)):
        answer = anna.get("/api/photos", params={"tag": tag, "state": state, "size": 500}).json()
        assert answer["total"] == (table.values[:, column] == value).sum()
        answer = anna.get("/api/photos", params={"state": state, "size": 500}).json()
        assert answer["total"] == (table.values == value).any(axis=1).sum()  # of any tag
    suggested = anna.get("/api/photos", params={"tag": tag, "state": "suggested"}).json()
    assert suggested["total"] == service.queue.status(column).open
    shown = [photo["probability"] for photo in suggested["photos"]]
    chances = np.where(table.values == -1, service.queue.probability, 0)[:, column]
    assert shown == pytest.approx(np.sort(chances)[: -len(shown) - 1 : -1], abs=1e-4)
    named = anna.get("/api/photos", params={"q": table.images[3]}).json()
    assert [photo["photo"] for photo in named["photos"]] == [3]
    tagged = anna.get("/api/photos", params={"q": tag}).json()
    assert tagged["total"] == (table.values[:, column] == 1).sum()
    first, second = (
        anna.get("/api/photos", params={"size": 5, "page": page}).json()["photos"]
        for page in (0, 1)
    )
    assert [photo["photo"] for photo in first + second] == list(range(10))


def test_one_tag_for_many_photos_and_back(anna: Reviewer) -> None:
    photos = [1, 2, 3, 4]
    anna.post("/api/labels", json={"photos": photos, "tag": "holiday", "value": "yes"})
    answer = anna.get("/api/photos", params={"tag": "holiday", "state": "yes"}).json()
    assert [photo["photo"] for photo in answer["photos"]] == photos
    anna.post("/api/labels", json={"photos": [2], "tag": "holiday", "value": "no"})
    assert "holiday" in anna.get("/api/photos/2").json()["no"]
    anna.post("/api/review/undo")
    anna.post("/api/review/undo")
    answer = anna.get("/api/photos", params={"tag": "holiday", "state": "yes"})
    assert answer.json()["total"] == 0


def test_merged_tags_are_one_until_taken_back(anna: Reviewer, service: Service) -> None:
    before = {entry["tag"]: entry for entry in anna.get("/api/tags").json()}
    anna.post("/api/tags/rename", json={"tag": "boat", "to": "car"})
    merged = {entry["tag"]: entry for entry in anna.get("/api/tags").json()}
    values, classes = service.library.table.values, service.library.table.classes
    either = (values[:, [classes.index("boat"), classes.index("car")]] == 1).any(axis=1).sum()
    assert "boat" not in merged
    assert merged["car"]["yes"] == either
    anna.say(0, "boat")  # the old name is understood
    assert "car" in anna.get("/api/photos/0").json()["yes"]
    anna.post("/api/review/undo")
    anna.post("/api/review/undo")
    assert {entry["tag"]: entry for entry in anna.get("/api/tags").json()} == before


def test_renames_go_on_from_renames(anna: Reviewer) -> None:
    for old, new in (("boat", "ship"), ("ship", "vessel")):
        assert anna.post("/api/tags/rename", json={"tag": old, "to": new}).status_code == 200
    names = [entry["tag"] for entry in anna.get("/api/tags").json()]
    assert "vessel" in names
    assert not {"boat", "ship"} & set(names)
    again = anna.post("/api/tags/rename", json={"tag": "vessel", "to": "boat"})
    assert again.status_code == 200
    assert "boat" in [entry["tag"] for entry in anna.get("/api/tags").json()]
    assert anna.post("/api/tags/rename", json={"tag": "nothing", "to": "x"}).status_code == 404
    assert anna.post("/api/tags/rename", json={"tag": "boat", "to": "boat"}).status_code == 409


def test_suspects_are_written_tags_and_go_when_answered(
    anna: Reviewer, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, column = map(int, np.argwhere(service.library.table.values == 1)[0])
    tag = service.library.table.classes[column]
    doubted = [(row, tag, 0.001), (row, tag, 0.002)]
    monkeypatch.setattr(type(service.model), "suspects", lambda _: doubted)
    listed = anna.get("/api/suspects").json()
    assert (listed[0]["photo"], listed[0]["tag"]) == (row, tag)
    anna.say(row, tag, "no", view="suspects")
    assert tag not in anna.get(f"/api/photos/{row}").json()["yes"]
    assert anna.get("/api/suspects").json() == []


def test_suspects_of_the_run_are_written_tags(anna: Reviewer, service: Service) -> None:
    for suspect in anna.get("/api/suspects").json():
        assert suspect["tag"] in anna.get(f"/api/photos/{suspect['photo']}").json()["yes"]


def test_tags_together_count_photos_with_both(anna: Reviewer, service: Service) -> None:
    anna.post("/api/labels", json={"photos": [1, 2, 3], "tag": "boat", "value": "yes"})
    anna.post("/api/labels", json={"photos": [2, 3, 4], "tag": "car", "value": "yes"})
    answer = anna.get("/api/tags/together", params={"count": 60}).json()
    one, other = answer["tags"].index("boat"), answer["tags"].index("car")
    values, classes = service.ledger.values, service.library.table.classes
    both = (values[:, [classes.index("boat"), classes.index("car")]] == 1).all(axis=1).sum()
    assert answer["counts"][one][other] == both >= 2


def test_the_rest_is_offered_when_answers_say_it_is_right(anna: Reviewer, service: Service) -> None:
    tag = service.library.table.classes[0]
    service.queue.probability[:, 0] = 0.9
    assert anna.post("/api/review/accept", json={"tag": tag}).status_code == 409
    for _ in range(40):
        if anna.get(f"/api/review/tags/{tag}").json()["acceptable"]:
            break
        for card in anna.cards(view="tag", tag=tag, count=4)["grid"]:
            anna.say(card["photo"], tag, "yes", view="tag")
    state = anna.get(f"/api/review/tags/{tag}").json()
    assert state["acceptable"]
    assert state["rest"]["low"] >= 0.8
    assert state["rest"]["expected"] >= 0.95
    assert 0 < state["left"] < 60
    saved = anna.post("/api/review/accept", json={"tag": tag}).json()["saved"]
    assert saved == state["rest"]["count"] == state["left"]
    assert anna.get(f"/api/review/tags/{tag}").json()["left"] == 0
    anna.post("/api/review/undo")
    assert anna.get(f"/api/review/tags/{tag}").json() == state


def test_pages_of_a_tag_are_a_random_sample_of_the_likely(service: Service) -> None:
    column = int(np.argmax(service.queue.askable.sum(axis=0)))
    service.queue.probability[:, column] = np.linspace(0.99, 0.51, len(service.library))
    service.queue._drawn.clear()
    order = service.queue.tag_order(column)
    chances = service.queue.probability[order, column]
    assert (chances >= LIKELY).all()
    assert not (np.diff(chances) <= 0).all()


@pytest.mark.parametrize("share", [0.8, 0.9, 0.97])
def test_bounds_on_the_rest_are_ever_wrong_in_few_cases(share: float) -> None:
    draw, population, error = np.random.default_rng(0), 120, 0.1
    right = round(share * population)
    wrong_ever = 0
    for _ in range(150):
        answers = draw.permutation(np.arange(population) < right)
        for seen in range(1, population, 6):
            yes = int(answers[:seen].sum())
            rest = rest_of(population, yes, seen - yes, error)
            truth = (right - yes) / (population - seen)
            if not rest.low - 1e-4 <= truth <= rest.high + 1e-4:
                wrong_ever += 1
                break
    assert wrong_ever <= 150 * error


def test_answers_picked_by_people_do_not_make_the_rest_look_better() -> None:
    """Easy ones, answered photo by photo, are all right; of the others half are."""
    draw, wrong_ever = np.random.default_rng(1), 0
    for _ in range(100):
        easy = draw.permutation(np.arange(200) < 120)
        right = easy | (draw.random(200) < 0.5)
        known = np.zeros(200, dtype=bool)
        for step in range(40):
            known[np.flatnonzero(~known)[:3]] = True  # the next ones of the random order
            known[np.flatnonzero(~known & easy)[: 3 * (step > 9)]] = True  # and some by photo
            rest = rest_in_order(right, known)
            truth = right[~known].mean() if (~known).any() else 0
            assert rest.count == (~known).sum()
            if rest.count and not rest.low - 1e-4 <= truth <= rest.high + 1e-4:
                wrong_ever += 1
                break
    assert wrong_ever <= 5
    assert rest_in_order(np.ones(300, bool), np.arange(300) < 100).low > 0.9
    skipped = np.arange(300) % 3 > 0  # every third was left out: there is no sample
    assert rest_in_order(np.ones(300, bool), skipped).low == 0


def test_answers_under_an_earlier_model_are_no_sample_of_the_next(
    anna: Reviewer, service: Service
) -> None:
    column = int(np.argmax(service.queue.askable.sum(axis=0)))
    tag = service.library.table.classes[column]
    service.queue.probability[:, column] = 0.9
    service.queue._drawn.clear()
    for card in anna.cards(view="tag", tag=tag, count=8)["grid"]:
        anna.say(card["photo"], tag, "yes", view="tag")
    before = service.queue.status(column)
    assert before.rest.sampled == before.yes == 8
    service.queue.model = replace(service.model, run=Namesake(service.model.run, "next"))
    after = service.queue.status(column)
    assert (after.rest.sampled, after.rest.low) == (0, 0)
    assert after.rest.count == after.left == before.left


def test_expected_share_is_the_mean_of_the_posterior() -> None:
    population, yes, no = 20, 6, 1
    totals = np.arange(population + 1)
    weight = hypergeom.pmf(yes, population, totals, yes + no)
    expected = ((totals - yes) * weight).sum() / weight.sum() / (population - yes - no)
    assert rest_of(population, yes, no).expected == pytest.approx(expected, abs=1e-4)
    assert rest_of(10, 8, 2).count == 0
