"""Bringing a database's schema up to date, whoever else tries the same at the same moment."""

from __future__ import annotations

from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.engine import Connection, Engine

from armature.errors import ArmatureError
from armature.service.db.database import writing
from armature.service.db.schema import REVISION

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
    """Whether there is a database of the service; looking makes none."""
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
