"""Suggestion files: written, filled in by people, read back, and refused where they are wrong."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from tagfill.cli.main import main
from tagfill.errors import Problems, TagfillError
from tagfill.labels import Dataset, LabelTable
from tagfill.labels.io import load_labels, save_labels
from tagfill.recover.choose import Entries
from tagfill.recover.decisions import apply_decisions, read_decisions
from tagfill.recover.files import check_target, write_suggestions, write_suspects

TABLE = LabelTable(
    ("a.jpg", "b c.jpg", "d.jpg"),
    ("cat", "dog", "big, red bus"),
    np.array([[1, -1, -1], [-1, 0, -1], [-1, 1, -1]]),
)
ENTRIES = Entries(
    rows=np.array([0, 1, 2]),
    columns=np.array([1, 2, 0]),
    probability=np.array([0.95, 0.8, 0.6]),
    gain=np.array([3.0, 2.0, 1.0]),
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    path = tmp_path / "labels.csv"
    save_labels(Dataset(TABLE, path, "csv_wide"), path, format="csv_wide")
    return path


def decided(path: Path, *answers: object) -> Path:
    """Fill in the decision column of a suggestion file."""
    if path.suffix == ".csv":
        rows = list(csv.DictReader(path.open(encoding="utf-8")))
        for row, answer in zip(rows, answers, strict=False):
            row["decision"] = str(answer)
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    elif path.suffix == ".jsonl":
        records = [json.loads(line) for line in path.read_text().splitlines()]
        for record, answer in zip(records, answers, strict=False):
            record["decision"] = answer
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    else:
        import pyarrow as pa
        from pyarrow import parquet

        table = parquet.read_table(path)
        column = pa.array([str(answer) for answer in answers])
        place = table.column_names.index("decision")
        parquet.write_table(table.set_column(place, "decision", column), path)
    return path


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_answers_return_into_the_labels(suffix: str, data: Path, tmp_path: Path) -> None:
    suggestions = tmp_path / f"s{suffix}"
    write_suggestions(ENTRIES, TABLE, "estimate", suggestions)
    decided(suggestions, "yes", "No", "")
    out = tmp_path / "out.csv"
    assert main(["apply", str(suggestions), str(data), str(out)]) == 0
    changed = load_labels(out).table
    assert changed.values.tolist() == [[1, 1, -1], [-1, 0, 0], [-1, 1, -1]]


def test_untouched_suggestions_change_nothing(data: Path, tmp_path: Path) -> None:
    suggestions, out = tmp_path / "s.csv", tmp_path / "out.csv"
    write_suggestions(ENTRIES, TABLE, "estimate", suggestions)
    assert main(["apply", str(suggestions), str(data), str(out)]) == 0
    assert load_labels(out).table == TABLE


@pytest.mark.parametrize(
    ("word", "value"),
    [
        *(("y", 1), ("TRUE", 1), (1, 1), (True, 1), ("ja", 1), ("✓", 1)),
        *(("n", 0), ("0.0", 0), (False, 0), ("FALSCH", 0), (" ", -1)),
    ],
)
def test_words_people_and_spreadsheets_write(word: object, value: int, tmp_path: Path) -> None:
    suggestions = tmp_path / "s.jsonl"
    write_suggestions(ENTRIES, TABLE, "estimate", suggestions)
    assert read_decisions(decided(suggestions, word), TABLE)[0].value == value


def test_rows_are_in_review_order_with_all_columns(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    write_suggestions(ENTRIES, TABLE, "out_of_fold", path)
    rows = list(csv.DictReader(path.open(encoding="utf-8")))
    assert list(rows[0]) == ["image", "tag", "probability", "evidence", "gain", "decision", "row"]
    assert [row["tag"] for row in rows] == ["dog", "big, red bus", "cat"]
    assert {row["evidence"] for row in rows} == {"out_of_fold"}
    assert [row["row"] for row in rows] == ["1 of 3", "2 of 3", "3 of 3"]


def errors_of(lines: list[str], data: Path, tmp_path: Path) -> str:
    suggestions = tmp_path / "s.csv"
    suggestions.write_text("image,tag,decision\n" + "\n".join(lines), encoding="utf-8")
    dataset = load_labels(data)
    with pytest.raises(TagfillError) as error:
        apply_decisions(dataset, read_decisions(suggestions, dataset.table), suggestions)
    return str(error.value)


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["a.jpg,dog,yes", "zebra.jpg,dog,yes"], "row 3: image 'zebra.jpg' is not in"),
        (["a.jpg,zebra,no"], "row 2: tag 'zebra' is not in"),
        (["a.jpg,dog,often"], "row 2: the decision 'often' is not understood"),
        (["a.jpg,dog,yes", "a.jpg,dog,no"], "row 3: no for 'dog' of image 'a.jpg', and yes in row"),
        (["a.jpg,cat,no"], "row 2: no for 'cat' of image 'a.jpg', which the labels state as yes"),
        (["b c.jpg,dog,yes"], "which the labels state as no"),
    ],
)
def test_mistakes_are_named_with_their_row(
    lines: list[str], message: str, data: Path, tmp_path: Path
) -> None:
    assert message in errors_of(lines, data, tmp_path)


def test_all_mistakes_are_listed_at_once(data: Path, tmp_path: Path) -> None:
    told = errors_of(["x.jpg,dog,yes", "y.jpg,dog,yes"], data, tmp_path)
    assert "row 2" in told
    assert "row 3" in told


def test_a_missing_column_is_named(data: Path, tmp_path: Path) -> None:
    suggestions = tmp_path / "s.csv"
    suggestions.write_text("image,decision\na.jpg,yes\n")
    with pytest.raises(TagfillError, match="no 'tag' column"):
        read_decisions(suggestions, TABLE)


@pytest.mark.parametrize("header", ["image,tag,decision,Decision", "image,decision,tag,decision"])
def test_two_columns_of_decisions_are_refused(header: str, tmp_path: Path) -> None:
    suggestions = tmp_path / "s.csv"
    suggestions.write_text(f"{header}\na.jpg,dog,yes,no\n")
    with pytest.raises(TagfillError, match=r"row 1: there are 2 'decision' columns.*each once"):
        read_decisions(suggestions, TABLE)
    suggestions = tmp_path / "s.jsonl"
    suggestions.write_text('{"image": "a", "tag": "b", "decision": "yes", "Decision": "no"}\n')
    with pytest.raises(TagfillError, match="there are 2 'decision' columns"):
        read_decisions(suggestions, TABLE)


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        ("a\\été.jpg", "a/été.jpg"),
        ("./a/e\u0301te\u0301.jpg", "a/été.jpg"),
        ("A/Été.JPG", "a/été.jpg"),
        ("b.JPG", "b.JPG"),
        ("B.jpg", None),
        ("été.jpg", None),
    ],
)
def test_ids_that_a_program_spelled_otherwise_are_known(
    given: str, meant: str | None, tmp_path: Path
) -> None:
    images = ("a/été.jpg", "b.jpg", "b.JPG")
    table = LabelTable(images, ("cat",), np.full((3, 1), -1))
    suggestions = tmp_path / "s.jsonl"
    suggestions.write_text(json.dumps({"IMAGE": given, "tag": "Cat", "decision": "YES"}))
    (decision,) = read_decisions(suggestions, table)
    assert (decision.image, decision.tag, decision.value) == (meant or given, "cat", 1)


def test_a_file_cut_off_below_its_header_is_remarked_on(answered: Path) -> None:
    answered.write_text(answered.read_text().partition("\n")[0] + "\n")
    problems = Problems()
    assert read_decisions(answered, NOTHING_KNOWN, problems) == []
    assert "there are no rows" in str(next(iter(problems)))


def test_the_command_answers_a_mistake_with_one_message(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    suggestions, out = tmp_path / "s.csv", tmp_path / "out.csv"
    suggestions.write_text("image,tag,decision\nzebra.jpg,dog,yes\n")
    assert main(["apply", str(suggestions), str(data), str(out)]) == 2
    assert "zebra.jpg" in capsys.readouterr().err
    assert not out.exists()


def test_a_suspected_label_may_be_overruled(data: Path, tmp_path: Path) -> None:
    suspects = Entries(np.array([0]), np.array([0]), np.array([0.01]), np.array([0.99]))
    path = tmp_path / "suspects.csv"
    write_suspects(suspects, TABLE, path)
    dataset = load_labels(data)
    decisions = read_decisions(decided(path, "no"), dataset.table)
    applied = apply_decisions(dataset, decisions, path)
    assert applied.dataset.table.values[0, 0] == 0
    assert (applied.no, applied.changed) == (1, 1)


def test_a_spreadsheet_with_semicolons_is_read(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("\ufeffimage;tag;decision\nb c.jpg;big, red bus;yes\n", encoding="utf-8")
    (decision,) = read_decisions(path, TABLE)
    assert (decision.image, decision.tag, decision.value) == ("b c.jpg", "big, red bus", 1)


def test_label_studio_gets_ticked_tasks_and_gives_full_answers(data: Path, tmp_path: Path) -> None:
    path = tmp_path / "tasks.json"
    write_suggestions(ENTRIES, TABLE, "estimate", path)
    tasks = json.loads(path.read_text())
    ticked = {
        name
        for result in tasks[0]["predictions"][0]["result"]
        for name in result["value"]["choices"]
    }
    assert ticked == {"cat", "dog"}
    assert not any(task["annotations"] for task in tasks)
    assert read_decisions(path, TABLE) == []
    result = tasks[0]["predictions"][0]["result"]
    tasks[0]["annotations"] = [{"was_cancelled": False, "result": result}]
    path.write_text(json.dumps(tasks))
    applied = apply_decisions(load_labels(data), read_decisions(path, TABLE), path)
    assert applied.dataset.table.values.tolist() == [[1, 1, 0], [-1, 0, -1], [-1, 1, -1]]


def test_files_of_no_known_kind_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TagfillError, match=r"use one of \.csv"):
        check_target(tmp_path / "s.xlsx", force=False)
    (tmp_path / "s.csv").touch()
    with pytest.raises(TagfillError, match="exists already"):
        check_target(tmp_path / "s.csv", force=False)


MANY = Entries(
    rows=np.arange(3).repeat(3),
    columns=np.tile(np.arange(3), 3),
    probability=np.linspace(0.9, 0.1, 9),
    gain=np.linspace(9.0, 1.0, 9),
)
NOTHING_KNOWN = TABLE.with_values(np.full((3, 3), -1))


@pytest.fixture
def answered(tmp_path: Path) -> Path:
    """Nine suggestions, each answered with yes."""
    path = tmp_path / "answered.csv"
    write_suggestions(MANY, NOTHING_KNOWN, "out_of_fold", path)
    return decided(path, *["yes"] * 9)


def test_no_cut_of_a_suggestion_file_goes_unnoticed(answered: Path, tmp_path: Path) -> None:
    whole = answered.read_bytes()
    last_line = len(whole.rstrip())
    for length in range(whole.index(b"\n") + 2, last_line):
        cut = tmp_path / "cut.csv"
        cut.write_bytes(whole[:length])
        problems = Problems()
        try:
            decisions = read_decisions(cut, NOTHING_KNOWN, problems)
        except TagfillError as error:
            assert "breaks off" in str(error)  # noqa: PT017
            continue
        assert len(decisions) < 9
        assert f"the first {len(decisions)} of 9 rows" in str(next(iter(problems)))
    for length in (0, 5, whole.index(b"\n") - 8):
        cut.write_bytes(whole[:length])
        with pytest.raises(TagfillError, match=r"empty|no '.*' column"):
            read_decisions(cut, NOTHING_KNOWN)


def test_a_cut_in_json_lines_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    write_suggestions(MANY, NOTHING_KNOWN, "out_of_fold", path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) * 2 // 3])
    with pytest.raises(TagfillError, match="breaks off"):
        read_decisions(path, NOTHING_KNOWN)
    path.write_bytes(b"".join(whole.splitlines(keepends=True)[:4]))
    problems = Problems()
    assert len(read_decisions(path, NOTHING_KNOWN, problems)) == 4
    assert "the first 4 of 9" in str(next(iter(problems)))


def as_excel_saves(path: Path, keep: list[int], encoding: str, mark: str) -> None:
    """Rows in another order, some gone, with other marks between fields and at line ends."""
    header, *rows = csv.reader(path.open(encoding="utf-8"))
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.writer(file, delimiter=mark, lineterminator="\r\n")
        writer.writerows([header, *(rows[number] for number in keep)])


@pytest.mark.parametrize(
    ("encoding", "mark"), [("utf-8-sig", ";"), ("utf-16", "\t"), ("cp1252", ";")]
)
@pytest.mark.parametrize("keep", [[8, 2, 5], [2, 5, 8], [0], list(range(9))[::-1]])
def test_what_a_person_does_in_a_spreadsheet_is_read(
    answered: Path, encoding: str, mark: str, keep: list[int]
) -> None:
    as_excel_saves(answered, keep, encoding, mark)
    decisions = read_decisions(answered, NOTHING_KNOWN)
    assert [decision.value for decision in decisions] == [1] * len(keep)


def test_a_line_added_by_hand_is_read(answered: Path) -> None:
    with answered.open("a", encoding="utf-8") as file:
        file.write("d.jpg,dog,,,,no")
    assert len(read_decisions(answered, NOTHING_KNOWN)) == 10


def test_missing_rows_are_remarked_on_by_the_command(
    answered: Path, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    header, first, *_ = answered.read_text().splitlines(keepends=True)
    answered.write_text(header + first)
    assert main(["apply", str(answered), str(data), str(tmp_path / "out.csv")]) == 0
    assert "holds the first 1 of 9 rows" in capsys.readouterr().err


def test_decisions_in_a_workbook_are_read(tmp_path: Path) -> None:
    from tests.labels.workbooks import xlsx

    path = tmp_path / "s.xlsx"
    rows = [["image", "tag", "decision", "row"], ["a.jpg", "dog", "yes", "1 of 1"]]
    path.write_bytes(xlsx(rows))
    (decision,) = read_decisions(path, TABLE)
    assert (decision.image, decision.tag, decision.value) == ("a.jpg", "dog", 1)


def test_earlier_decisions_are_written_again(tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    decided = {("a.jpg", "dog"): "yes", ("d.jpg", "big, red bus"): "no"}
    write_suggestions(ENTRIES, TABLE, "out_of_fold", path, decided)
    answers = {(d.image, d.tag): d.value for d in read_decisions(path, TABLE) if d.value >= 0}
    assert answers == {("a.jpg", "dog"): 1, ("d.jpg", "big, red bus"): 0}
