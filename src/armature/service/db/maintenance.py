"""Maintenance of a database: bring its schema up to date, restore a backup.

A backup is restored into the file, in one transaction, with the file locked. So whatever kills the
restore, the file has all of the old content or all of the new; nothing of the old -wal is left to
be taken for the new file's; and a server that has the file open keeps the restore from beginning.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from armature.errors import ArmatureError
from armature.service.db.database import file_of, writing
from armature.service.db.schema import REVISION
from armature.service.db.sqlite import BESIDE
from armature.storage.files import create_private

LOCK = 0x61726D61  # any number that means nothing to other programs of the same server


def migrate(engine: Engine) -> None:
    """Make the tables, or change them to what this release needs; nothing if all is well.

    The transaction begins with a lock, so that of several first starts one makes the tables and
    the others find them.
    """
    with engine.connect() as connection:
        if revision_of(connection) == REVISION:
            return
    with writing(engine) as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
        found = revision_of(connection)
        if found is not None and found > REVISION:
            raise ArmatureError(
                f"the database is of a newer release (schema {found}; this one knows {REVISION}): "
                "upgrade armature-bandits."
            )
        if found != REVISION:
            _upgrade(connection)


def is_there(engine: Engine) -> bool:
    """Whether there is a database of the service; this creates none."""
    if engine.dialect.name == "sqlite" and not Path(str(engine.url.database)).exists():
        return False
    with engine.connect() as connection:
        return revision_of(connection) is not None


def revision_of(connection: Connection) -> str | None:
    """Which schema the database has; None if it is empty."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    return connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()


def _upgrade(connection: Connection) -> None:
    from alembic import command  # a quarter of a second, which a database up to date need not pay
    from alembic.config import Config

    config = Config()
    folder = Path(__file__).parent / "migrations"
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, REVISION)


def restore(backup: Path, storage: str) -> int:
    """Replace a storage by a backup; return how many experiments it has."""
    file = file_of(storage)
    if file is None:
        raise ArmatureError(
            "only a file is restored here. For PostgreSQL stop the servers, and use "
            "psql --single-transaction or pg_restore."
        )
    if not backup.is_file():
        raise ArmatureError(f"there is no file {str(backup)!r}.")
    if file.exists() and os.path.samefile(file, backup):
        raise ArmatureError("the backup and the storage are the same file.")
    with closing(_read_only(backup)) as source:
        count = _checked(source, backup)
        with _alone(file) as target:
            source.backup(target)
    return count


def _read_only(backup: Path) -> sqlite3.Connection:
    """The backup, with its -wal if it has one; nothing is written beside it if it has none."""
    has_more = Path(f"{backup}{BESIDE[0]}").exists()
    options = "mode=ro" if has_more else "immutable=1"
    return sqlite3.connect(f"{backup.resolve().as_uri()}?{options}", uri=True)


def _checked(source: sqlite3.Connection, backup: Path) -> int:
    """Check that a backup is whole, ours and not newer; return its number of experiments."""
    try:
        ((found,),) = source.execute("PRAGMA integrity_check(1)").fetchall()
        if found != "ok":
            raise ArmatureError(f"{str(backup)!r} is damaged: {found}.")
        ((revision,),) = source.execute("SELECT version_num FROM alembic_version").fetchall()
        ((count,),) = source.execute("SELECT count(*) FROM experiment").fetchall()
    except (sqlite3.Error, ValueError) as error:
        if isinstance(error, ArmatureError):
            raise
        raise ArmatureError(f"{str(backup)!r} is no copy of a storage: {error}.") from None
    if revision > REVISION:
        raise ArmatureError(
            f"{str(backup)!r} is of a newer release (schema {revision}; this one knows "
            f"{REVISION}): upgrade armature-bandits."
        )
    return int(count)


@contextmanager
def _alone(file: Path) -> Iterator[sqlite3.Connection]:
    """The database, locked: no other process has it open, nor can open it."""
    if not file.exists():
        for suffix in BESIDE:
            Path(f"{file}{suffix}").unlink(missing_ok=True)
        create_private(file)
    with closing(sqlite3.connect(file, timeout=1.0, isolation_level=None)) as connection:
        try:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            # Each connection of a server reads under a lock that it keeps: this one needs it alone.
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("BEGIN EXCLUSIVE")
            connection.execute("COMMIT")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise _unusable(file, error) from None
            raise ArmatureError(
                f"{str(file)!r} is open elsewhere: stop all servers that use it, and try again."
            ) from None
        except sqlite3.DatabaseError as error:
            raise _unusable(file, error) from None
        try:
            yield connection
        except sqlite3.Error as error:
            raise ArmatureError(
                f"{str(file)!r} could not be written ({error}); it is as it was before."
            ) from None


def _unusable(file: Path, error: Exception) -> ArmatureError:
    beside = " and ".join(f"{file.name}{suffix}" for suffix in BESIDE)
    return ArmatureError(
        f"{str(file)!r} can't be opened ({error}). With all servers stopped, move it, {beside} out "
        "of the way, and try again."
    )
