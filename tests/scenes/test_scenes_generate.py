"""Scenes depend on seed, number, size and difficulty, and on nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from tagfill import scenes
from tagfill.errors import TagfillError
from tagfill.scenes.plan import ENVIRONMENTS
from tagfill.scenes.scene import Scene
from tagfill.scenes.things import THINGS

SMALL = 64


@pytest.fixture(scope="module")
def many() -> list[Scene]:
    return list(scenes.generate(600, size=SMALL))


def pixels(scene: Scene) -> bytes:
    return scene.image.tobytes()


def test_same_arguments_give_the_same_bytes():
    first, second = (list(scenes.generate(12, size=96, seed=3)) for _ in range(2))
    assert [pixels(scene) for scene in first] == [pixels(scene) for scene in second]
    assert [scene.boxes for scene in first] == [scene.boxes for scene in second]


def test_a_scene_does_not_depend_on_count_or_start():
    sequence = list(scenes.generate(9, size=SMALL, seed=1))
    (alone,) = scenes.generate(1, size=SMALL, seed=1, start=6)
    assert alone.index == 6
    assert pixels(alone) == pixels(sequence[6])
    assert np.array_equal(alone.labels, sequence[6].labels)


def test_another_seed_gives_other_pictures():
    (one,), (two,) = (scenes.generate(1, size=SMALL, seed=seed) for seed in (0, 1))
    assert pixels(one) != pixels(two)


def test_size_changes_resolution_not_content():
    small, large = (next(scenes.generate(1, size=size, seed=5)) for size in (128, 256))
    assert small.image.size == (128, 128)
    assert large.image.size == (256, 256)
    assert small.environment == large.environment
    shrunk = np.asarray(large.image.reduce(2), dtype=float)
    assert np.abs(shrunk - np.asarray(small.image, dtype=float)).mean() < 20


def test_difficulty_shrinks_things_and_adds_noise():
    easy = list(scenes.generate(120, size=SMALL, difficulty=0.0))
    hard = list(scenes.generate(120, size=SMALL, difficulty=1.0))

    def mean_area(drawn: list[Scene]) -> float:
        return float(np.mean([box.area for scene in drawn for box in scene.boxes]))

    def roughness(drawn: list[Scene]) -> float:
        gray = (np.asarray(scene.image.convert("L"), dtype=float) for scene in drawn)
        return float(np.mean([np.median(np.abs(np.diff(picture))) for picture in gray]))

    assert mean_area(hard) < 0.6 * mean_area(easy)
    assert roughness(hard) > 2 * roughness(easy)


def test_every_scene_has_a_label_and_boxes_agree(many: list[Scene]):
    for scene in many:
        named = {scenes.CLASSES[column] for column in np.flatnonzero(scene.labels)}
        assert named
        assert named == {box.name for box in scene.boxes}


def test_labels_are_natural(many: list[Scene]):
    share = np.mean([scene.labels for scene in many], axis=0)
    assert len(scenes.CLASSES) >= 20
    assert (share > 0).all(), "every class occurs"
    assert 3.0 <= share.sum() <= 4.2
    assert (share < 0.02).any(), "some classes are rare"
    assert (share > 0.2).any(), "some classes are common"


def test_things_live_where_they_belong(many: list[Scene]):
    settings_by_class = {
        name: {
            (scene.environment, scene.hour)
            for scene in many
            for box in scene.boxes
            if box.name == name
        }
        for name in scenes.CLASSES
    }
    assert {place for place, _ in settings_by_class["fish"]} <= {"sea", "reef"}
    assert {place for place, _ in settings_by_class["car"] | settings_by_class["bus"]} == {"street"}
    assert {place for place, _ in settings_by_class["snowman"]} == {"snow"}
    assert {hour for _, hour in settings_by_class["moon"] | settings_by_class["star"]} == {"night"}
    assert {hour for _, hour in settings_by_class["sun"]} == {"day", "dusk"}


def test_every_home_of_a_thing_is_an_environment_with_room_for_it():
    spans = {environment.name: environment.spans for environment in ENVIRONMENTS}
    for thing in THINGS:
        for home in thing.lives:
            assert home in spans
            assert thing.place in ("heaven", "far", "sky") or thing.place in spans[home]


def test_album_gives_the_same_labels_boxes_and_pictures():
    album = scenes.dataset(6, size=SMALL, seed=2)
    drawn = list(scenes.generate(6, size=SMALL, seed=2))
    assert np.array_equal(album.table.values, np.stack([scene.labels for scene in drawn]))
    assert len(album.boxes) == sum(len(scene.boxes) for scene in drawn)
    assert album.images[4].tobytes() == pixels(drawn[4])
    assert [picture.tobytes() for picture in album.images[1:3]] == [
        pixels(scene) for scene in drawn[1:3]
    ]
    first = drawn[0].boxes[0]
    assert album.table.classes[album.boxes.label[0]] == first.name
    assert np.allclose(
        album.boxes.xywh[0] * SMALL, (first.left, first.top, first.width, first.height)
    )


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"count": 0}, "count"),
        ({"count": 1, "size": 8}, "size"),
        ({"count": 1, "size": 5000}, "size"),
        ({"count": 1, "seed": -1}, "seed"),
        ({"count": 1, "difficulty": 1.5}, "difficulty"),
        ({"count": 1, "difficulty": float("nan")}, "difficulty"),
        ({"count": 1, "start": -3}, "start"),
    ],
)
def test_bad_arguments_are_refused_at_once(arguments: dict, word: str):
    with pytest.raises(TagfillError, match=word):
        scenes.generate(**arguments)
