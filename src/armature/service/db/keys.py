"""Keys: bearer tokens, of which only hashes are stored, and what each may do."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.engine import Engine

from armature.errors import ArmatureError
from armature.service.db.database import clock, insert, writing
from armature.service.db.schema import api_key
from armature.service.limits import checked_name

SCOPES = ("decide", "reward", "read", "admin")  # admin may do everything
PREFIX = "arm_"


@dataclass(frozen=True)
class Key:
    """The data of a key, without the key itself."""

    name: str
    scopes: frozenset[str]
    created_at: float
    expires_at: float | None

    def may(self, scope: str) -> bool:
        """Whether the key allows a scope."""
        return scope in self.scopes or "admin" in self.scopes


def hash_of(token: str) -> str:
    """The hash that is stored of a token; it has 256 random bits, so it needs no salt."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def make_key(
    engine: Engine,
    name: str,
    scopes: Iterable[str],
    seconds: float | None = None,
    show: Callable[[str], None] = lambda token: None,
) -> str:
    """Store a new key that expires after `seconds`, and return it; it can't be read again.

    `show` is called before the key is stored, so that no key is stored that could not be shown.
    """
    wanted = set(scopes)
    if not wanted or not wanted <= set(SCOPES):
        raise ArmatureError(f"scopes are some of {', '.join(SCOPES)}.")
    if seconds is not None and not seconds > 0.0:
        raise ArmatureError("the lifetime of a key must be a positive number.")
    token = PREFIX + secrets.token_urlsafe(32)
    with writing(engine) as connection:
        now = clock(connection)
        row = {
            "hash": hash_of(token),
            "name": checked_name(name),
            "scopes": " ".join(scope for scope in SCOPES if scope in wanted),
            "created_at": now,
            "expires_at": None if seconds is None else now + seconds,
        }
        adding = insert(connection, api_key).on_conflict_do_nothing(index_elements=["name"])
        if connection.execute(adding.returning(api_key.c.name), row).scalar() is None:
            raise ArmatureError(f"there is a key {name!r} already: choose another name.")
        show(token)
    return token


def revoke_key(engine: Engine, name: str) -> None:
    """Delete a key."""
    with writing(engine) as connection:
        if connection.execute(sa.delete(api_key).where(api_key.c.name == name)).rowcount != 1:
            raise ArmatureError(f"there is no key {name!r}.")


def read_keys(engine: Engine) -> tuple[dict[str, Key], float]:
    """All keys by their hashes, and the database's clock."""
    with engine.connect() as connection:
        rows = connection.execute(sa.select(api_key).order_by(api_key.c.name)).all()
        now = clock(connection)
    keys = {
        row.hash: Key(row.name, frozenset(row.scopes.split()), row.created_at, row.expires_at)
        for row in rows
    }
    return keys, now
