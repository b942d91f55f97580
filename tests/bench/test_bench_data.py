from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tagfill.bench.data import Opened, make_variant, open_source
from tagfill.bench.recipe import LabelChoice, ReviewOrder, Source
from tagfill.errors import TagfillError
from tagfill.recover.choose import Amount, choose
from tagfill.recover.posterior import posterior
from tagfill.train.data import TrainingData, prepare

pytestmark = pytest.mark.usefixtures("quick_choices")
FEATURES = Source("scenes", inputs="features", count=40, pixels=32)
IMAGES = Source("scenes", count=40, pixels=32)
VOC = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "voc2012"


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("bench")


def seen(opened: Opened, labels: LabelChoice, out: Path) -> TrainingData:
    return prepare(make_variant(opened, labels, out).config)


@pytest.mark.parametrize("source", [FEATURES, IMAGES])
def test_training_labels_are_hidden_and_no_others(source: Source, out: Path) -> None:
    opened = open_source(source, Path("none"), out)
    data = seen(opened, LabelChoice(), out)
    assert data.regime == "single_positive"
    assert data.train.truth is not None
    np.testing.assert_array_equal(data.train.truth, opened.dataset.split("train").values)
    for name in ("val", "test"):
        split = data.splits[name]
        assert (split.table.values >= 0).all()
        np.testing.assert_array_equal(split.eval_labels, opened.dataset.split(name).values)
        assert split.table.images == opened.dataset.split(name).images


def test_features_stay_with_their_images(out: Path) -> None:
    opened = open_source(FEATURES, Path("none"), out)
    assert opened.features is not None
    for share in (1.0, 0.5):
        data = seen(opened, LabelChoice(images=share), out)
        for split in data.splits.values():
            rows = [opened.dataset.table.row_of[image] for image in split.table.images]
            assert split.features is not None
            np.testing.assert_array_equal(split.features, opened.features[rows])


def test_smaller_shares_are_parts_of_larger_ones(out: Path) -> None:
    opened = open_source(FEATURES, Path("none"), out)
    shares = [seen(opened, LabelChoice(images=share), out) for share in (0.2, 0.6, 1.0)]
    small, middle, whole = (set(data.train.table.images) for data in shares)
    assert small < middle < whole
    assert len(middle) == round(0.6 * len(whole))
    assert len({data.test.table.images for data in shares if data.test is not None}) == 1


@pytest.mark.parametrize("order", ["gain", "likely", "uncertain", "random"])
def test_reviews_are_answered_rightly_and_recorded(order: ReviewOrder, out: Path) -> None:
    opened = open_source(FEATURES, Path("none"), out)
    before = seen(opened, LabelChoice(), out).train
    after = seen(opened, LabelChoice(reviewed=25, order=order), out).train
    changed = before.table.values != after.table.values
    assert changed.sum() == 25
    assert (before.table.values[changed] == -1).all()
    assert after.truth is not None
    np.testing.assert_array_equal(after.table.values[changed], after.truth[changed])
    np.testing.assert_array_equal(after.table.reviewed, changed)


def test_gain_is_the_order_in_which_recover_asks(out: Path) -> None:
    opened = open_source(FEATURES, Path("none"), out)
    train = seen(opened, LabelChoice(), out).train
    assert train.features is not None
    probability = posterior(train.features, train.table.values).unknown
    first = choose(probability, train.table.values == -1, Amount(budget=25))
    reviewed = seen(opened, LabelChoice(reviewed=25, order="gain"), out).train.table.reviewed
    assert reviewed is not None
    assert reviewed[first.rows, first.columns].all()


def test_the_same_labels_are_the_same_variant(out: Path) -> None:
    opened = open_source(FEATURES, Path("none"), out)
    assert make_variant(opened, LabelChoice(), out) == make_variant(opened, LabelChoice(), out)
    identities = {
        make_variant(opened, labels, out).identity
        for labels in (
            LabelChoice(),
            LabelChoice(seed=1),
            LabelChoice(regime="full"),
            LabelChoice(images=0.5),
        )
    }
    assert len(identities) == 4


def test_a_backbone_computes_features_of_scenes(out: Path) -> None:
    source = replace(FEATURES, count=8, backbone="efficientnet_lite0")
    opened = open_source(source, Path("none"), out)
    assert opened.features is not None
    assert opened.features.shape == (8, 1280)
    assert len({row.tobytes() for row in opened.features}) == 8


def test_missing_data_are_named(out: Path) -> None:
    with pytest.raises(TagfillError, match=r"mlspl.*--data"):
        open_source(Source("mlspl", inputs="features"), Path("none"), out)


@pytest.mark.voc
def test_the_published_draw_is_the_published_one(out: Path) -> None:
    if not VOC.is_dir():
        pytest.skip("needs ../shared/data/voc2012, the real PASCAL VOC 2012")
    opened = open_source(Source("mlspl", inputs="features"), VOC, out)
    ours = seen(opened, LabelChoice(), out).train.table.values
    published = np.load(VOC / "mlspl" / "formatted_train_labels_obs.npy")
    rows = np.load(VOC / "mlspl" / "split_train_index.npy")
    np.testing.assert_array_equal(ours == 1, published[rows] == 1)
    assert (ours != 0).all()
