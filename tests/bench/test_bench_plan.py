from __future__ import annotations

from dataclasses import replace

import pytest
from tests.bench.small_recipe import recipe

from tagfill import methods
from tagfill.bench.plan import Cell, cell_key, choose, plan
from tagfill.errors import TagfillError
from tagfill.train.config import RunConfig

METHOD = 'title = "AN"\nmethod = "an"'


def cells_of(*changes: tuple[str, str]) -> list[Cell]:
    made = recipe(*changes)
    return plan(made, made.sizes["smoke"])


def config(cell: Cell) -> RunConfig:
    checked = cell.check()
    assert checked is not None
    return checked


def first(*changes: tuple[str, str]) -> RunConfig:
    return config(cells_of(*changes)[0])


def test_rows_columns_and_seeds() -> None:
    cells = cells_of()
    assert [cell.place for cell in cells[:3]] == [
        "an / one / seed 0",
        "an / one / seed 1",
        "an / known / seed 0",
    ]
    assert len(cells) == 8  # what nobody can rebuild is not run
    assert [config(cell).seed for cell in cells[:2]] == [0, 1]


def test_a_size_may_run_less() -> None:
    made = recipe(("seeds = 2", 'seeds = 2\ncolumn_rows.known = ["em"]\ncolumn_seeds.known = 1'))
    places = [cell.place for cell in plan(made, made.sizes["smoke"])]
    assert places == [
        "an / one / seed 0",
        "an / one / seed 1",
        "em / one / seed 0",
        "em / one / seed 1",
        "em / known / seed 0",
    ]


def test_settings_of_rows_win_over_columns_and_sizes() -> None:
    row = f"{METHOD}\nsettings = {{ batch_size = 4 }}"
    column = 'title = "one positive"\nsettings = { batch_size = 8, learning_rate = 0.5 }'
    stage = first((METHOD, row), ('title = "one positive"', column)).stages[0]
    assert (stage.batch_size, stage.learning_rate, stage.epochs) == (4, 0.5, 1)


def test_labels_of_a_row_are_those_of_the_images_of_its_column() -> None:
    row = f'{METHOD}\nlabels = {{ regime = "k_positives_m_negatives" }}'
    column = 'title = "one positive"\nlabels = { images = 0.5 }'
    labels = cells_of((METHOD, row), ('title = "one positive"', column))[0].labels
    assert (labels.regime, labels.images) == ("k_positives_m_negatives", 0.5)


def test_a_row_may_review_in_another_order_than_its_column() -> None:
    column = 'title = "one positive"\nlabels = { reviewed = 9, order = "gain" }'
    row = f'{METHOD}\norder = "random"'
    cells = cells_of((METHOD, row), ('title = "one positive"', column))
    orders = {cell.row: cell.labels.order for cell in cells if cell.column == "one"}
    assert orders == {"an": "random", "em": "gain"}


def test_settings_of_another_head_do_not_carry_over() -> None:
    row = f'{METHOD}\nsettings = {{ head = "cam", head_multiplier = 2.0 }}'
    column = (
        'title = "one positive"\n'
        'settings = { head = "lem", "head.hidden" = 16, head_preset = "published" }'
    )
    cell = cells_of((METHOD, row), ('title = "one positive"', column))[0]
    assert {key: cell.settings[key] for key in cell.settings if "head" in key} == {
        "head": "cam",
        "head_multiplier": 2.0,
    }


def test_the_size_has_the_last_word_on_a_column() -> None:
    row = f"{METHOD}\nsettings = {{ batch_size = 4 }}"
    size = "seeds = 2\ncolumn_settings.one = { batch_size = 2 }"
    assert first((METHOD, row), ("seeds = 2", size)).stages[0].batch_size == 2


def test_the_size_may_change_a_row_but_columns_are_above_it() -> None:
    row = f"{METHOD}\nsettings = {{ batch_size = 4, learning_rate = 0.1 }}"
    of_row = "seeds = 2\nrow_settings.an = { batch_size = 2, learning_rate = 0.2 }"
    stage = first((METHOD, row), ("seeds = 2", of_row)).stages[0]
    assert (stage.batch_size, stage.learning_rate) == (2, 0.2)
    of_both = f"{of_row}\ncolumn_settings.one = {{ batch_size = 3 }}"
    stage = first((METHOD, row), ("seeds = 2", of_both)).stages[0]
    assert (stage.batch_size, stage.learning_rate) == (3, 0.2)
    with pytest.raises(TagfillError, match="no row 'none'"):
        first(("seeds = 2", "seeds = 2\nrow_settings.none = { epochs = 2 }"))


def test_a_column_names_presets_of_the_methods_that_have_them() -> None:
    changed = ('title = "one positive"', 'title = "one positive"\npreset = "coco"')
    by_row = {cell.row: config(cell) for cell in cells_of(changed) if cell.column == "one"}
    assert by_row["em"].stages[0].method.preset == "coco"
    assert by_row["an"].stages[0].method.preset is None


def test_a_size_replaces_presets_that_rows_name() -> None:
    named = ('method = "em"', 'method = "em"\nsettings = { preset = "voc" }')
    size = ("seeds = 2", 'seeds = 2\npresets = { voc = "coco" }')
    by_row = {cell.row: config(cell) for cell in cells_of(named, size)}
    assert by_row["em"].stages[0].method.preset == "coco"
    assert {config(cell).stages[0].method.preset for cell in cells_of(size)} == {None}
    with pytest.raises(TagfillError, match=r"no 'nus' in sizes\.smoke\.data"):
        first(("seeds = 2", 'seeds = 2\npresets = { nus = "nus" }'))


def test_a_size_adds_to_the_regimes_of_its_columns() -> None:
    drop = ('title = "one positive"', 'title = "one positive"\nlabels = { regime = "full" }')
    cells = cells_of(drop, ("seeds = 2", "seeds = 2\nregime_settings = { published = true }"))
    known = next(cell.labels for cell in cells if cell.column == "known")
    assert dict(known.settings) == {"proportion": 0.3, "published": True}


def test_method_and_head_settings_in_both_spellings() -> None:
    flat = first((METHOD, 'title = "AN"\nmethod = "dw"\nsettings = { "method.w" = 0.3 }'))
    nested = first((METHOD, 'title = "AN"\nmethod = "dw"\nsettings.method = { w = 0.3 }'))
    assert flat == nested
    assert flat.stages[0].method.settings == {"w": 0.3}


def test_unknown_settings_are_errors() -> None:
    with pytest.raises(TagfillError, match="unknown setting epoch"):
        first((METHOD, f"{METHOD}\nsettings = {{ epoch = 4 }}"))
    with pytest.raises(TagfillError, match=r"unknown setting model\.x"):
        first((METHOD, f'{METHOD}\nsettings = {{ "model.x" = 4 }}'))


def test_masks_vary_where_the_recipe_says_so() -> None:
    made = recipe(('paper = "nobody"', 'paper = "nobody"\nvary = "mask"'))
    cells = [cell for cell in plan(made, made.sizes["smoke"]) if cell.row == "an"]
    assert [cell.labels.seed for cell in cells if cell.column == "one"] == [1200, 1201]
    assert {config(cell).seed for cell in cells} == {0}


def test_the_key_knows_data_settings_and_seed_but_no_names() -> None:
    plain = first()
    assert cell_key(plain, "data") == cell_key(first(), "data")
    assert cell_key(plain, "data") != cell_key(plain, "other")
    assert cell_key(plain, "data") != cell_key(replace(plain, seed=1), "data")
    longer = first((METHOD, f"{METHOD}\nsettings = {{ epochs = 2 }}"))
    assert cell_key(plain, "data") != cell_key(longer, "data")
    moved = replace(plain, data=replace(plain.data, labels="elsewhere"), workers=7, threads=1)
    assert cell_key(plain, "data") == cell_key(moved, "data")


def test_the_key_sees_through_presets_and_aliases() -> None:
    def key(method: str, settings: str = "") -> str:
        text = f'title = "AN"\nmethod = "{method}"\nsettings = {{ {settings} }}'
        return cell_key(first((METHOD, text)), "data")

    assert key("ls") == key("an_ls")
    assert key("an_ls", 'preset = "published"') == key("an_ls", '"method.eps" = 0.2')
    assert key("an_ls", 'preset = "published"') != key("an_ls")


def test_choosing_rows_methods_and_columns() -> None:
    made = recipe()
    cells = plan(made, made.sizes["smoke"], seeds=1)
    assert [cell.place for cell in choose(cells, made, ["em"], ["known"])] == [
        "em / known / seed 0"
    ]
    with pytest.raises(TagfillError, match="--only: there is no 'emm'"):
        choose(cells, made, ["emm"], [])
    with pytest.raises(TagfillError, match="--columns: there is no 'two'"):
        choose(cells, made, [], ["two"])
    with pytest.raises(TagfillError, match="at least one seed"):
        plan(made, made.sizes["smoke"], seeds=0)


def test_auto_is_checked_as_the_method_it_means() -> None:
    (auto, *_) = cells_of((METHOD, 'title = "AN"\nmethod = "auto"'))
    checked = auto.check()
    assert checked is not None
    assert checked.stages[-1].method.name == methods.AUTO
    wrong = 'title = "AN"\nmethod = "auto"\nsettings = { method.alhpa = 1 }'
    with pytest.raises(TagfillError, match="no setting 'alhpa'"):
        cells_of((METHOD, wrong))[0].check()
