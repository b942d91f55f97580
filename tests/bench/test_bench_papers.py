"""Size paper of the recipes: what the papers have for each data set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tagfill import methods
from tagfill.bench.plan import Cell, plan
from tagfill.bench.recipe import load_recipe
from tagfill.train.config import MethodConfig, StageConfig

K = {"voc": 1.5, "coco": 2.9, "nus": 1.9, "cub": 31.4}


def cells(recipe: str, row: str) -> dict[str, Cell]:
    """The cells of a row by column."""
    loaded = load_recipe(recipe)
    planned = plan(loaded, loaded.sizes["paper"], seeds=1)
    return {cell.column: cell for cell in planned if cell.row == row}


def stages(cell: Cell) -> tuple[StageConfig, ...]:
    config = cell.check()
    assert config is not None
    return config.stages


def settings(method: MethodConfig) -> Any:
    return methods.configure(method.name, method.settings, method.preset)


def of_each_data_set(recipe: str, row: str) -> Iterator[tuple[str, Cell]]:
    for column, cell in cells(recipe, row).items():
        yield column.rpartition("_")[2], cell


@pytest.mark.parametrize(
    ("recipe", "row"),
    [
        *(("003_table1", row) for row in ("epr", "role", "role_linear_init")),
        *(("003_table2", row) for row in ("epr", "role")),
        *(("000_table2", "role"), ("001_table2", "role"), ("001_table2", "epr")),
        *(("004_table1", "role"), ("004_table1", "role_linear_init")),
    ],
)
def test_k_is_the_papers(recipe: str, row: str) -> None:
    read = dict(of_each_data_set(recipe, row))
    assert read
    for data, cell in read.items():
        for stage in stages(cell):
            method = settings(stage.method)
            assert (method.k, method.per_class) == (K[data], True)


def test_rows_that_name_no_preset_keep_their_own_terms() -> None:
    for cell in cells("003_table1", "role_equation").values():
        assert not settings(stages(cell)[0].method).per_class


@pytest.mark.parametrize(
    ("row", "rate", "batches"),
    [
        ("an_ls_linear_init", 1e-4, {"voc": 8, "coco": 8, "nus": 16, "cub": 8}),
        ("role_linear_init", 1e-3, {"voc": 16, "coco": 16, "nus": 16, "cub": 8}),
    ],
)
def test_linear_start_of_mlspl(row: str, rate: float, batches: dict[str, int]) -> None:
    for data, cell in of_each_data_set("003_table1", row):
        start = stages(cell)[0]
        assert (start.learning_rate, start.batch_size) == (rate, batches[data])


@pytest.mark.parametrize("recipe", ["002_table1", "002_table1_coco", "002_ablations", "002_batch"])
def test_pu_mlc_has_the_published_draw_terms_and_statistics_of_two_gpus(recipe: str) -> None:
    row = "full" if recipe == "002_ablations" else "pu_mlc"
    columns = cells(recipe, row)
    assert columns
    for cell in columns.values():
        method = settings(stages(cell)[0].method)
        assert (method.shares, method.tempered_factor, method.eps) == (2, True, 1e-10)
        assert cell.labels.settings["published"]


@pytest.mark.parametrize("recipe", ["002_table1", "002_table1_coco"])
def test_partial_bce_weighs_images_as_durand(recipe: str) -> None:
    for cell in cells(recipe, "partial_bce").values():
        assert settings(stages(cell)[0].method).weighting == "durand"


def test_the_queue_of_lac_grows_with_the_sum_of_the_paper() -> None:
    swept = [cell for column, cell in cells("001_figures", "lac").items() if "queue" in column]
    methods_of_stage_two = [settings(stages(cell)[-1].method) for cell in swept]
    assert [method.queue for method in methods_of_stage_two] == [512, 1024, 2048, 4096, 8192]
    assert {method.pairs for method in methods_of_stage_two} == {"sum"}


@pytest.mark.parametrize("recipe", ["002_table1", "002_table1_coco"])
@pytest.mark.parametrize(
    ("row", "own"), [("sst", {"joint": 512, "hidden": 1024, "examples": 100}), ("sarb", {})]
)
def test_sst_and_sarb_are_trained_as_their_code_does(
    recipe: str, row: str, own: dict[str, Any]
) -> None:
    columns = cells(recipe, row)
    assert columns
    for cell in columns.values():
        config = cell.check()
        assert config is not None
        stage = config.stages[0]
        assert (stage.optimizer, stage.learning_rate, stage.weight_decay) == ("adam", 1e-5, 5e-4)
        assert (stage.epochs, stage.batch_size, stage.schedule) == (20, 8, "step")
        assert stage.augment == "crops"
        assert not stage.ema
        model = config.model
        assert (model.head, model.head_preset, model.freeze_stages) == ("ssgrl", "published", 4)
        extras = (model.lgconv, model.freeze_batchnorm, model.freeze_statistics)
        assert not any(extras)
        method = settings(stage.method)
        assert {name: getattr(method, name) for name in own} == own
