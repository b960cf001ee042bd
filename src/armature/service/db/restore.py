"""Putting a backup in the place of a SQLite database.

It is written into the file, in one transaction, with the file locked: whatever kills the restore,
the file has all of the old content or all of the new; none of the old file's -wal is left over to
be taken for the new one's; and a server that has the file open keeps it from beginning.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from armature.errors import ArmatureError
from armature.service.db.database import file_of
from armature.service.db.opened import BESIDE, create
from armature.service.db.schema import REVISION


def restore(backup: Path, storage: str) -> int:
    """Make a storage what its backup is; how many experiments that has."""
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
    """How many experiments a backup has, if it is whole, ours, and not of a newer release."""
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
    """The database, which nobody else has open, and nobody else can open meanwhile."""
    if not file.exists():
        for suffix in BESIDE:
            Path(f"{file}{suffix}").unlink(missing_ok=True)
        create(file)
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
