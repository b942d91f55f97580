from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from tests.predict.tiny import (
    CLASSES,
    PLATT,
    STEPS,
    by_hand,
    feature_bundle,
    image_bundle,
    pictures,
)

import tagfill
from tagfill.errors import TagfillError


@pytest.mark.parametrize("calibration", [None, PLATT, STEPS])
def test_probabilities_are_calibrated_and_thresholds_decide(calibration, tmp_path):
    bundle = image_bundle(calibration=calibration)
    paths = pictures(tmp_path)
    expected = by_hand(bundle, paths)
    loaded = tagfill.load(bundle.save(tmp_path / "model"))
    predictions = loaded.predict(paths, batch_size=2)
    assert [prediction.image for prediction in predictions] == [str(path) for path in paths]
    np.testing.assert_allclose(
        [prediction.probabilities for prediction in predictions], expected, atol=1e-5
    )
    for prediction, row in zip(predictions, expected, strict=True):
        given = {name for name, p, t in zip(CLASSES, row, bundle.thresholds, strict=True) if p >= t}
        assert set(prediction.tags) == given
        assert list(prediction.tags.values()) == sorted(prediction.tags.values(), reverse=True)


def test_paths_pil_images_and_arrays_give_the_same(tmp_path):
    bundle = image_bundle()
    path = pictures(tmp_path)[1]  # a PNG: decoding loses nothing
    image = Image.open(path).convert("RGB")
    array = np.asarray(image)
    forms = [path, str(path), image, array, array[None], array / 255.0, [path]]
    predictions = [bundle.predict(form) for form in forms]
    assert all(len(prediction) == 1 for prediction in predictions)
    for prediction in predictions[1:]:
        np.testing.assert_allclose(
            prediction[0].probabilities, predictions[0][0].probabilities, atol=1e-6
        )


def test_top_and_threshold_replace_the_fitted_thresholds(tmp_path):
    bundle = image_bundle()
    (path,) = pictures(tmp_path)[:1]
    all_tags = bundle.predict(path, threshold=0.0)[0].tags
    assert len(all_tags) == 3
    best = max(all_tags, key=all_tags.get)
    assert list(bundle.predict(path, top=1)[0].tags) == [best]
    assert bundle.predict(path, threshold=1.0)[0].tags == {}
    assert len(bundle.predict(path, top=2, threshold=0.0)[0].tags) == 2


def test_features_are_read_by_a_model_of_features():
    bundle = feature_bundle()
    features = np.random.default_rng(0).normal(size=(7, 5))
    predictions = bundle.predict(features, batch_size=3)
    assert [prediction.image for prediction in predictions] == [str(number) for number in range(7)]
    again = bundle.predict(features[4:5])[0]
    np.testing.assert_allclose(predictions[4].probabilities, again.probabilities, atol=1e-6)


@pytest.mark.parametrize(
    ("images", "message"),
    [
        (np.zeros((4, 4)), "array"),
        (np.zeros((4, 4, 3), dtype=np.int64), "uint8"),
        (np.full((4, 4, 3), 2.0), "0..1"),
        ([3], "int is not a picture"),
        ("nowhere.jpg", "no such file"),
    ],
)
def test_what_is_not_a_picture_is_refused(images, message):
    with pytest.raises(TagfillError, match=message):
        image_bundle().predict(images)


def test_mistakes_about_tags_and_features():
    with pytest.raises(TagfillError, match="at least 1"):
        image_bundle().predict([], top=0)
    with pytest.raises(TagfillError, match="not in 0 to 1"):
        image_bundle().predict([], threshold=3)
    with pytest.raises(TagfillError, match="trained on given features"):
        feature_bundle().predict("a.jpg")
    with pytest.raises(TagfillError, match=r"shape \[images, 5\]"):
        feature_bundle().predict(np.zeros((2, 6)))
