"""Opening a database, and its transactions: SQLite with durable commits, or PostgreSQL.

The differences between the two are here and nowhere else: how a transaction begins and locks, whose
clock it is, how many rows are written at once, and what an unreachable database looks like.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from armature.errors import ArmatureError
from armature.service import metrics
from armature.service.db.sqlite import PATIENCE, Opened, SteadyClock
from armature.service.limits import Refused

DEFAULT = "sqlite:///armature.db"
# A process that stops in the middle of a transaction, and is not dead, loses its lock in the end.
_LIMITS = f"-c lock_timeout={int(PATIENCE)}s -c idle_in_transaction_session_timeout=120s"

log = logging.getLogger("armature.service")

Row = tuple[Any, ...]  # of a table, in the order of its columns


def open_database(storage: str) -> Engine:
    """An engine for "sqlite:///file" or "postgresql://user@host/name"."""
    url = _url(storage)
    try:
        return _sqlite(url) if url.drivername == "sqlite" else _postgresql(url)
    except (ArgumentError, OSError):
        raise ArmatureError(_wrong(storage)) from None


def file_of(storage: str) -> Path | None:
    """The file that a storage is; None if it is a PostgreSQL."""
    url = _url(storage)
    return Path(url.database or "") if url.drivername == "sqlite" else None


def _url(storage: str) -> sa.URL:
    try:
        url = make_url(storage)
        if url.drivername == "sqlite":
            _check_file(url)
            return url
        if url.drivername in ("postgresql", "postgres", "postgresql+psycopg"):
            return url.set(drivername="postgresql+psycopg")
    except ArmatureError:
        raise
    except (ArgumentError, ValueError, OSError):  # such as a port that is no number
        pass
    raise ArmatureError(_wrong(storage))


def _check_file(url: sa.URL) -> None:
    if not url.database or url.database == ":memory:" or url.host or url.query:
        raise ArmatureError("the storage must be a file, such as sqlite:///armature.db.")
    if not Path(url.database).resolve().parent.is_dir():
        raise ArmatureError(f"there is no folder for the file {url.database!r}: make it first.")


def _postgresql(url: sa.URL) -> Engine:
    try:
        return sa.create_engine(
            url,
            pool_pre_ping=True,
            pool_size=5,
            max_overflow=20,
            connect_args={"connect_timeout": 10, "options": _LIMITS},
        )
    except (NoSuchModuleError, ImportError) as error:
        raise ArmatureError(f"PostgreSQL can't be used here: {error}.") from None


def _wrong(storage: str) -> str:
    place = storage.rpartition("@")[2]  # the rest may have a password
    return (
        f"{place!r} is no storage: give {DEFAULT} (a file), or "
        "postgresql://user:password@host:5432/database (the port may be left out)."
    )


def _sqlite(url: sa.URL) -> Engine:
    opened = Opened(str(url.database), SteadyClock())
    engine = sa.create_engine(url, creator=opened.connect, pool_size=5)

    @sa.event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        opened.check()
        writing = connection.get_execution_options().get("writing", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")

    @sa.event.listens_for(engine, "engine_disposed")
    def close(engine: Engine) -> None:
        opened.close()

    return engine


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A connection in a transaction that may write: committed in the end, or undone by an error."""
    with engine.connect().execution_options(writing=True) as connection, connection.begin():
        yield connection


def try_to_write(engine: Engine) -> None:
    """Commit something that changes nothing: an error if that can't be stored."""
    with writing(engine) as connection:
        connection.exec_driver_sql(_TRIALS[connection.dialect.name])


_TRIALS = {  # both are written to the disk
    "sqlite": "PRAGMA user_version = 0",
    "postgresql": "SELECT version_num FROM alembic_version FOR UPDATE",
}


def reason_of(error: Exception) -> str:
    """The database's reason for an error, in one line."""
    lines = str(getattr(error, "orig", error)).strip().splitlines() or [type(error).__name__]
    return lines[0].rstrip(".")


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A connection in a transaction that sees the same database from its first query on."""
    with engine.connect() as connection:
        connection.begin()
        if engine.dialect.name == "postgresql":
            connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        yield connection


@dataclass(frozen=True)
class Failure:
    """A transaction that failed: why, and whether that was while it was committed."""

    error: Exception
    committing: bool  # then it is unknown whether it was stored

    @property
    def may_go_again(self) -> bool:
        """Whether the server may try it again by itself."""
        return not self.committing and isinstance(self.error, sa.exc.DBAPIError)

    def refusal(self) -> Refused:
        """The answer to a request that failed so."""
        advice = (
            "Whether it was done is not known: repeat the request with the same request_id."
            if self.committing
            else "Nothing was changed: try again."
        )
        return Refused(503, f"the database failed ({reason_of(self.error)}). {advice}")


class Session:
    """Writing transactions, one after the other, on one connection."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._connection: Connection | None = None

    def transact(self, body: Callable[[Connection], Any]) -> Failure | None:
        """Run the body in a transaction and commit it; what went wrong, if anything did."""
        committing = False
        try:
            if self._connection is None:
                self._connection = self._engine.connect().execution_options(writing=True)
            transaction = self._connection.begin()
            body(self._connection)
            committing = True
            transaction.commit()
        except Exception as error:
            if self._connection is not None:  # it may be broken
                with suppress(Exception):
                    self._connection.invalidate()
                with suppress(Exception):
                    self.close()
                self._connection = None
            return failed(error, committing)
        return None

    def close(self) -> None:
        """Give the connection back."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def failed(error: Exception, committing: bool = False) -> Failure:
    """A failure, counted and logged."""
    metrics.FAILURES.labels("commit" if committing else "before").inc()
    outcome = "its outcome is unknown" if committing else "nothing was changed"
    log.warning("a transaction failed, %s: %s", outcome, error)
    return Failure(error, committing)


def look_at(
    connection: Connection, experiments: Sequence[int], locking: Literal["", "wait", "skip"] = ""
) -> list[Row]:
    """The id, status and last event of each experiment, and the clock; rows locked on request.

    Locks end with the transaction. "skip" leaves out experiments that another process has locked.
    All processes lock in the same order, so that none waits for one that waits for it, and read the
    clock when they have the lock. On SQLite the transaction has the only lock that there is.
    """
    ending = {"": "", "wait": " FOR UPDATE", "skip": " FOR UPDATE SKIP LOCKED"}[locking]
    query = _looking(connection.dialect.name, len(experiments), ending)
    return fetch(connection, query, sorted(experiments))


@functools.cache
def _looking(dialect: str, n: int, ending: str) -> str:
    marks, ending = ", ".join("?" * n), ending if dialect == "postgresql" else ""
    rows = f"SELECT id, status, last_seq FROM experiment WHERE id IN ({marks}) ORDER BY id{ending}"
    return f"SELECT id, status, last_seq, {_CLOCKS[dialect]} FROM ({rows}) AS found"


def clock(connection: Connection) -> float:
    """The database's clock now, not when the transaction began: seconds since 1970."""
    query = f"SELECT {_CLOCKS[connection.dialect.name]}"
    return float(connection.exec_driver_sql(query).scalar_one())


_CLOCKS = {
    "sqlite": "armature_now()",  # this process's, for the file has none
    "postgresql": "extract(epoch FROM clock_timestamp())::float8",
}


@contextmanager
def _at_the_driver(connection: Connection, statement: str) -> Iterator[Any]:
    """A cursor of the driver, in the connection's transaction.

    What is done for every decision goes this way: the general one costs ten times as much.
    """
    cursor = connection.connection.cursor()
    try:
        yield cursor
    except connection.dialect.loaded_dbapi.Error as error:
        raise sa.exc.DBAPIError(statement, None, error) from error
    finally:
        cursor.close()


def write_rows(
    connection: Connection,
    inserts: Sequence[tuple[sa.Table, Sequence[Row]]],
    updates: Sequence[tuple[str, Sequence[Row]]],
    conflicts: Mapping[sa.Table, str],
) -> None:
    """Insert whole rows into tables, then run updates, of which each question mark is an entry.

    `conflicts` is how the statement of a table ends, if something may be there already. PostgreSQL
    gets a column at a time: as one statement, a row costs it a tenth.
    """
    postgresql = connection.dialect.name == "postgresql"
    for table, rows in inserts:
        if not rows:
            continue
        statement = _adding(connection.dialect.name, table, conflicts.get(table, ""))
        with _at_the_driver(connection, statement) as cursor:
            if postgresql:
                columns = zip(table.columns, zip(*rows, strict=True), strict=True)
                cursor.execute(statement, [_array(column.type, some) for column, some in columns])
            else:
                cursor.executemany(statement, rows)
    for update, rows in updates:
        if rows:
            statement = _with_marks(connection, update)
            with _at_the_driver(connection, statement) as cursor:
                cursor.executemany(statement, rows)


@functools.cache
def _adding(dialect: str, table: sa.Table, conflict: str) -> str:
    columns = list(table.columns)
    start = f"INSERT INTO {table.name} ({', '.join(column.name for column in columns)})"
    if dialect == "postgresql":
        arrays = ", ".join(f"%s::{_array_type(column.type)}" for column in columns)
        return f"{start} SELECT * FROM unnest({arrays}) {conflict}"
    return f"{start} VALUES ({', '.join('?' * len(columns))}) {conflict}"


def _array_type(kind: Any) -> str:
    names = {sa.Integer: "int4[]", sa.BigInteger: "int8[]", sa.Double: "float8[]"}
    return names.get(type(kind), "text[]")


def _array(kind: Any, values: Sequence[Any]) -> list[Any]:
    """A column; numbers that are not whole are all of one type, or the driver refuses them."""
    if isinstance(kind, sa.Double):
        return [None if value is None else float(value) for value in values]
    return list(values)


def fetch(connection: Connection, statement: str, parameters: Sequence[Any]) -> list[Row]:
    """Rows as the driver gives them; each question mark of the statement is a parameter."""
    statement = _with_marks(connection, statement)
    with _at_the_driver(connection, statement) as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())


def _with_marks(connection: Connection, statement: str) -> str:
    """A statement with the driver's marks for parameters."""
    return statement.replace("?", "%s") if connection.dialect.name == "postgresql" else statement


def insert(connection: Connection, table: sa.Table) -> Any:
    """An INSERT that can say what to do about a conflict, in the database's dialect."""
    if connection.dialect.name == "sqlite":
        from sqlalchemy.dialects import sqlite

        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql

    return postgresql.insert(table)
