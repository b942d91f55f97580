"""Databases that are damaged, of another program, or about other photos."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tagfill.cli.main import main
from tagfill.serve.database import Database

LINE = (1.0, "anna", "b1", "answer", "photo", "a.jpg", "tree", 1, "model", 0.5, None)
DAMAGED = {
    "text for a number": "UPDATE decisions SET value = 'yes'",
    "a label that is none": "UPDATE decisions SET value = 7",
    "bytes for a tag": "UPDATE decisions SET tag = x'ff00'",
    "bytes for a photo": "UPDATE decisions SET image = x'ff00'",
    "no tag": "UPDATE decisions SET tag = ''",
    "no kind": "UPDATE decisions SET kind = 'eat'",
    "a rename to nothing": "UPDATE decisions SET kind = 'rename'",
    "text for a probability": "UPDATE decisions SET probability = 'much'",
    "an infinite probability": "UPDATE decisions SET probability = 9e999",
    "a huge number": "UPDATE decisions SET id = 9000000000",
    "no table": "DROP TABLE decisions",
    "no version": "DELETE FROM alembic_version",
}


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database with one decision, and the labels it is about."""
    (tmp_path / "labels.csv").write_text("image,tree,house\na.jpg,,1\nb.jpg,1,\n")
    path = tmp_path / "review.db"
    Database(f"sqlite:///{path}").close()
    with sqlite3.connect(path) as connection:
        names = "at, who, batch, kind, view, image, tag, value, model, probability, target"
        connection.execute(f"INSERT INTO decisions ({names}) VALUES ({', '.join('?' * 11)})", LINE)
    connection.close()
    return path


def change(database: Path, statement: str) -> None:
    with sqlite3.connect(database) as connection:
        connection.execute(statement)
    connection.close()


def applied(source: str | Path) -> int:
    place = Path(source.removeprefix("sqlite:///") if isinstance(source, str) else source).parent
    return main(["apply", str(source), str(place / "labels.csv"), str(place / "out.csv")])


def test_a_sound_database_is_applied(database: Path) -> None:
    assert applied(database) == 0
    assert "a.jpg,1,1" in (database.parent / "out.csv").read_text()


@pytest.mark.parametrize("how", DAMAGED)
def test_damage_is_named(how: str, database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    change(database, DAMAGED[how])
    assert applied(database) == 2
    told = capsys.readouterr().err
    assert "review.db: " in told
    assert "Traceback" not in told
    assert not (database.parent / "out.csv").exists()


@pytest.mark.parametrize("kept", [0.05, 0.5])
def test_a_truncated_database_is_refused(kept: float, database: Path) -> None:
    content = database.read_bytes()
    database.write_bytes(content[: int(kept * len(content))])
    assert applied(database) == 2


def test_the_database_of_another_program_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("image,tree\na.jpg,1\n")
    path = tmp_path / "birds.db"
    change(path, "CREATE TABLE birds (name TEXT)")
    before = path.read_bytes()
    assert applied(path) == 2
    assert main(["serve", str(tmp_path), "--database", str(path)]) == 2
    assert path.read_bytes() == before


def test_apply_makes_no_database(tmp_path: Path) -> None:
    (tmp_path / "labels.csv").write_text("image,tree\na.jpg,1\n")
    assert applied(f"sqlite:///{tmp_path / 'typo.db'}") == 2
    assert not (tmp_path / "typo.db").exists()
    (tmp_path / "empty.db").touch()
    assert applied(tmp_path / "empty.db") == 2
    assert (tmp_path / "empty.db").read_bytes() == b""


def test_decisions_about_other_photos_are_reported(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change(
        database,
        "INSERT INTO decisions (at, who, batch, kind, view, image, tag, value, model)"
        " VALUES (1, 'anna', 'b2', 'answer', 'photo', 'z.jpg', 'tree', 1, 'model')",
    )
    assert applied(database) == 0
    assert "'z.jpg'" in capsys.readouterr().err
    change(database, "DELETE FROM decisions WHERE image = 'a.jpg'")
    assert main(["apply", str(database), str(database.parent / "labels.csv"), "o.csv"]) == 2
    assert "'z.jpg'" in capsys.readouterr().err


def test_a_locked_database_is_told(
    database: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tagfill.serve.database.PATIENCE", 0.1)
    holder = sqlite3.connect(database, isolation_level=None)
    holder.execute("PRAGMA journal_mode=DELETE")
    holder.execute("BEGIN EXCLUSIVE")
    assert applied(database) == 2
    assert "locked" in capsys.readouterr().err
    holder.close()
