from __future__ import annotations

from pathlib import Path

import pytest
from tests.bench.small_recipe import TEXT, recipe

from tagfill.bench.plan import plan
from tagfill.bench.recipe import LabelChoice, load_recipe, parse, recipe_names
from tagfill.errors import TagfillError

PAPERS = {"000": 2, "001": 3, "002": 4, "003": 7, "004": 5}


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('title = "A table"', 'titel = "A table"', "unknown key titel"),
        ('title = "AN"', 'titel = "AN"', "unknown key rows.an.titel"),
        ('title = "A table"\n', "", "the key title is missing"),
        ("seeds = 2", 'seeds = "two"', "sizes.smoke.seeds = 'two' does not fit"),
        ("seeds = 2", "seeds = true", "sizes.smoke.seeds = True does not fit"),
        ('baseline = "an"', 'baseline = "ann"', "there is no row 'ann'"),
        ("paper = { one = 70.0 }", "paper = { two = 70.0 }", "there is no column 'two'"),
        ("paper = { one = 70.0 }", 'paper = { one = "x" }', "rows.an.paper.one = 'x'"),
        ("[sizes.voc]", "[sizes.large]", "sizes are smoke, voc, paper"),
        ('columns = ["one"]', 'columns = ["two"]', "there is no column 'two'"),
        ('expected = "numbers"', 'expected = "numbers"\nmetrics = ["MAP"]', "unknown metric 'MAP'"),
        ("proportion = 0.3", "share = 0.3", "known_proportion has no setting 'share'"),
        ('"known_proportion"', '"known"', "unknown regime 'known'"),
        ("count = 40", 'count = 40, inputs = "maps"', "not valid TOML"),
        ('inputs = "features", count', 'inputs = "maps", count', "inputs = 'maps' does not fit"),
    ],
)
def test_mistakes_name_file_and_key(old: str, new: str, told: str) -> None:
    with pytest.raises(TagfillError) as caught:
        recipe((old, new))
    assert "mine.toml" in str(caught.value)
    assert told in str(caught.value)


def test_a_size_needs_the_data_of_its_columns() -> None:
    with pytest.raises(TagfillError, match="there is no 'coco'"):
        recipe(('title = "30 % known"', 'title = "30 % known"\ndata = "coco"'))


def test_shares_of_images_are_checked() -> None:
    with pytest.raises(TagfillError, match="above 0 and at most 1"):
        LabelChoice(images=0)


def test_recipes_of_ones_own_are_files(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(TEXT)
    assert load_recipe(str(path)).name == "own"
    with pytest.raises(TagfillError, match="no such file"):
        load_recipe(str(tmp_path / "other.toml"))
    with pytest.raises(TagfillError, match="--list"):
        load_recipe("own")


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_has_all_sizes_and_can_be_configured(name: str) -> None:
    """Also the cells that need a GPU and data nobody has here."""
    recipe = load_recipe(name)
    assert set(recipe.sizes) == {"smoke", "voc", "paper"}
    for size in recipe.sizes.values():
        for cell in plan(recipe, size):
            cell.check()
    assert recipe.kind != "runs" or plan(recipe, recipe.sizes["smoke"])
    assert recipe.kind != "runs" or plan(recipe, recipe.sizes["paper"])


@pytest.mark.parametrize("name", recipe_names())
def test_headers_tell_result_and_time_and_no_machine(name: str) -> None:
    import importlib.resources

    text = (importlib.resources.files("tagfill.bench") / "recipes" / f"{name}.toml").read_text()
    head = text.split("title =")[0]
    assert head.startswith("# Expected at size voc")
    assert "Time:" in head
    assert "/work" not in text
    assert "/tmp" not in text


def test_the_papers_are_covered() -> None:
    names = recipe_names()
    for paper, number in PAPERS.items():
        assert sum(name.startswith(paper) for name in names) >= number
    assert {"neighbors", "choosing"} <= set(names)


def test_neighbors_has_every_method() -> None:
    from tagfill import methods

    used = {row.method for row in load_recipe("neighbors").rows.values()}
    aliases = {name for name in methods.names() if methods.find(name).INFO.alias_of}
    assert set(methods.names()) - aliases == used


def test_quoted_text_is_not_parsed_as_toml() -> None:
    with pytest.raises(TagfillError, match="not valid TOML"):
        parse("title = ", Path("broken.toml"))


def test_the_recipe_of_the_manual_works() -> None:
    import re

    page = Path(__file__).resolve().parents[2] / "docs" / "bench.md"
    match = re.search(r"```toml\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    assert match is not None
    made = parse(match[1], Path("manual.toml"))
    cells = plan(made, made.sizes["smoke"])
    assert len(cells) == 12
    for cell in cells:
        cell.check()
