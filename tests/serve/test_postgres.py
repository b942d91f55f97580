"""Decisions in PostgreSQL: a server of Debian's package, started by the test."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.config import Config
from sqlalchemy import inspect, text
from tests.postgres import Cluster, needs_postgres
from tests.serve.conftest import Reviewer

from tagfill.cli.main import main
from tagfill.errors import TagfillError
from tagfill.labels.io import load_labels
from tagfill.serve.app import create_app
from tagfill.serve.database import Database
from tagfill.serve.server import Options, build_service

pytest.importorskip("pg8000")
pytestmark = [pytest.mark.slow, needs_postgres]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    running = Cluster()
    yield running
    running.stop()


def test_review_with_postgresql(opened: Any, cluster: Cluster) -> None:
    options = Options(database=cluster.url)
    one, other = (build_service(*opened, options) for _ in range(2))
    anna, ben = (
        Reviewer(create_app(server), base_url="http://127.0.0.1:8731").begin(name)
        for server, name in ((one, "Anna"), (other, "Ben"))
    )
    anna.say(3, "boat")
    anna.say(4, 'it\'s "odd"; DROP TABLE decisions')
    assert "boat" in ben.get("/api/photos/3").json()["yes"]
    mine = {card["photo"] for card in anna.cards(view="photo", count=5)["photos"]}
    theirs = {card["photo"] for card in ben.cards(view="photo", count=5)["photos"]}
    assert not mine & theirs
    anna.post("/api/review/complete", json={"photo": 5, "yes": ["car"]})
    anna.post("/api/review/undo")
    assert not ben.get("/api/photos/5").json()["complete"]
    for service in (one, other):
        service.close()


def test_decisions_survive_a_killed_postgresql(opened: Any, cluster: Cluster) -> None:
    service = build_service(*opened, Options(database=cluster.url))
    anna = Reviewer(create_app(service), base_url="http://127.0.0.1:8731").begin("Anna")
    for photo in range(10, 20):
        anna.say(photo, "kite")
    cluster.kill()
    cluster.start_again()
    for photo in range(10, 20):
        assert "kite" in anna.get(f"/api/photos/{photo}").json()["yes"]
    anna.say(21, "kite")
    service.close()


def test_apply_reads_postgresql(opened: Any, cluster: Cluster, tmp_path: Path) -> None:
    service = build_service(*opened, Options(database=cluster.url))
    anna = Reviewer(create_app(service), base_url="http://127.0.0.1:8731").begin("Anna")
    anna.say(30, "comet")
    out, labels = tmp_path / "out.csv", str(service.library.source)
    assert main(["apply", cluster.url, labels, str(out), "--to", "csv_wide"]) == 0
    table = load_labels(out).table
    row = table.row_of[service.library.table.images[30]]
    assert table.values[row, table.classes.index("comet")] == 1
    service.close()


def test_tables_are_migrated_there_and_back(cluster: Cluster, tmp_path: Path) -> None:
    for url in (cluster.url, f"sqlite:///{tmp_path / 'review.db'}"):
        config = Config()
        config.set_main_option("script_location", str(files("tagfill.serve") / "migrations"))
        database = Database(url)
        with database.engine.connect() as connection:
            assert {"decisions", "leases", "jobs"} <= set(inspect(connection).get_table_names())
            config.attributes["connection"] = connection
            command.downgrade(config, "base")
            connection.commit()
            assert "decisions" not in inspect(connection).get_table_names()
        database.close()
        again = Database(url)  # an empty database is migrated on start
        assert again.setting("secret", "new") == "new"
        with again.write() as connection:
            connection.execute(text("UPDATE alembic_version SET version_num = 'later'"))
        again.close()
        with pytest.raises(TagfillError, match="newer version"):
            Database(url)


def test_a_database_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(TagfillError, match="--database") as error:
        Database("postgresql://user:secret@127.0.0.1:1/none")  # pragma: allowlist secret
    assert "secret" not in str(error.value)
    with pytest.raises(TagfillError, match="not supported"):
        Database("mysql://localhost/x")
    broken = tmp_path / "broken.db"
    broken.write_bytes(b"this is no database" * 100)
    with pytest.raises(TagfillError, match="cannot be opened"):
        Database(f"sqlite:///{broken}")
