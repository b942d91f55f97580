"""Storage of decisions: SQLite with a write-ahead log, or PostgreSQL."""

from __future__ import annotations

import getpass
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine, make_url

from tagfill.compat import optional
from tagfill.errors import TagfillError


def _table(name: str, *columns: str) -> sa.TableClause:
    """A table with its columns, which ``migrations`` documents."""
    return sa.table(name, *(sa.column(column) for column in columns))


decisions = _table(
    "decisions",
    *("id", "at", "who", "batch", "kind", "view", "image", "tag", "value"),
    *("model", "probability", "target"),
)
leases = _table("leases", "image", "tag", "who", "expires")
people = _table("people", "session", "name")
settings = _table("settings", "name", "value")
jobs = _table("jobs", "id", "at", "who", "state", "pid", "folder", "run", "message")

PATIENCE = 30
"""Seconds to wait for another program that writes to the same file."""
_POSTGRES = "postgresql+pg8000"
_TABLES = {table.name for table in (decisions, leases, people, settings, jobs)}


class Database:
    """An open database whose tables are up to date.

    Args:
        url: an SQLAlchemy address, such as ``sqlite:///review.db`` or
            ``postgresql://user@host/name``.
        create: make the tables if there are none, instead of refusing.
    """

    def __init__(self, url: str, *, create: bool = True) -> None:
        self.engine = _engine(url, create=create)
        self.is_sqlite = self.engine.dialect.name == "sqlite"
        self.name = self.engine.url.render_as_string(hide_password=True)
        with self.named_errors():
            with self.read() as connection:
                self._check(connection, create=create)
            with self.engine.connect() as connection:
                if self.is_sqlite:
                    raw: Any = connection.connection.driver_connection
                    raw.execute("PRAGMA journal_mode=WAL")
                _migrate(connection)

    def _check(self, connection: Connection, *, create: bool) -> None:
        """Refuse a database of another program, and a file that holds other tables."""
        tables = set(sa.inspect(connection).get_table_names())
        version = sa.text("SELECT version_num FROM alembic_version")
        ours = "alembic_version" in tables and connection.execute(version).first() is not None
        others = tables - {"alembic_version"} if self.is_sqlite else tables & _TABLES
        if ours and not tables >= _TABLES:
            missing = ", ".join(sorted(_TABLES - tables))
            raise TagfillError(
                f"tables of the database are missing ({missing})",
                file=self.name,
                remedy="restore a copy of it, or name another database",
            )
        if not ours and (others or not create):
            raise TagfillError(
                "this is not a database of tagfill serve",
                file=self.name,
                remedy="name another database",
            )

    @contextmanager
    def named_errors(self) -> Iterator[None]:
        """Errors of the database as one message with its name."""
        try:
            yield
        except (sa.exc.DBAPIError, OSError) as error:
            cause = getattr(error, "orig", None) or error
            raise TagfillError(
                f"the database cannot be opened ({cause})",
                file=self.name,
                remedy="check its address (--database of serve),"
                " and that no other program keeps it locked",
            ) from error

    @contextmanager
    def read(self) -> Iterator[Connection]:
        with self.engine.execution_options(writes=False).connect() as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction; writers wait for each other, so that ids appear in order."""
        with self.engine.begin() as connection:
            if not self.is_sqlite:
                connection.execute(sa.text("LOCK TABLE decisions IN SHARE ROW EXCLUSIVE MODE"))
            yield connection

    def setting(self, name: str, default: str) -> str:
        """A value in the database; stores the default if there is none."""
        chosen = sa.select(settings.c.value).where(settings.c.name == name)
        with self.write() as connection:
            value = connection.scalar(chosen)
            if value is None:
                connection.execute(settings.insert().values(name=name, value=default))
            return default if value is None else str(value)

    def replace(self, table: sa.TableClause, key: str, **row: str) -> None:
        """Write a row in place of the one with the same key, if there is one."""
        with self.write() as connection:
            connection.execute(table.delete().where(table.c[key] == row[key]))
            connection.execute(table.insert().values(**row))

    def close(self) -> None:
        self.engine.dispose()


def database_url(text: str | None, default: Path) -> str:
    """The address of a database: as given, a file name, or by default a file."""
    if text is not None and "://" in text:
        return text
    return f"sqlite:///{Path(text or default).absolute()}"


def _engine(url: str, *, create: bool) -> Engine:
    try:
        address = make_url(url)
    except sa.exc.ArgumentError as error:
        raise TagfillError("this is not a database address", file=url) from error
    if address.drivername in ("postgresql", "postgres"):
        address = address.set(drivername=_POSTGRES)
    if address.drivername == _POSTGRES:
        optional("pg8000", "postgres")
        address = address.set(username=address.username or getpass.getuser())  # as psql does
        return sa.create_engine(address, pool_pre_ping=True, pool_size=8)
    if address.drivername != "sqlite":
        raise TagfillError(
            f"{address.drivername} is not supported", remedy="use sqlite:///FILE or postgresql://"
        )
    if address.database:
        file = Path(address.database)
        if not create and not file.is_file():
            raise TagfillError("no such file", file=file)
        file.parent.mkdir(parents=True, exist_ok=True)
    engine = sa.create_engine(
        address, connect_args={"timeout": PATIENCE, "check_same_thread": False}
    )

    @sa.event.listens_for(engine, "connect")
    def prepare(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # transactions are begun below
        connection.execute("PRAGMA synchronous=FULL").close()

    @sa.event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes", True)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _migrate(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(files("tagfill.serve") / "migrations"))
    config.attributes["connection"] = connection
    try:
        command.upgrade(config, "head")
    except CommandError as error:  # it does not know the tables' version
        raise TagfillError(
            "the database was written by a newer version of tagfill",
            file=connection.engine.url.render_as_string(hide_password=True),
            remedy="install that version, or name another --database",
        ) from error
    connection.commit()
