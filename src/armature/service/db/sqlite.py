"""The file of a SQLite database, as this process has it open, and a clock for it.

What is written into a file that was replaced or deleted meanwhile is gone with the next start. So
each transaction begins, and each commit ends, with a check that the files are still those that were
opened: a commit that went elsewhere is an error, and is not answered as if it were stored.

A file has no clock. `SteadyClock` reads the time of day once and then counts the seconds that pass,
so a window closes after its length even if somebody sets the machine's clock in between.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from armature.storage.files import create_private

PATIENCE = 30.0  # seconds to wait for another process's transaction
BESIDE = ("-wal", "-shm")  # files that belong to a database, and to no other
JUMP = 5.0  # seconds between the machine's clock and this one that are worth a warning

log = logging.getLogger("armature.service")

Identity = tuple[int, int] | None  # a file's device and inode; None if there is no file


class Moved(SQLAlchemyError):  # noqa: N818
    """The database that is open is no longer the one that its path names."""


class Opened:
    """A database file and those beside it; the first connection stays open until `close`.

    That one keeps the files' inodes from being given to other files, and the files beside the
    database from being made anew.
    """

    def __init__(self, path: str, clock: Callable[[], float]) -> None:
        self._path, self._clock = Path(path).absolute(), clock
        self._lock = threading.Lock()
        self._first: sqlite3.Connection | None = None
        self._files: list[Identity] = []

    def connect(self) -> sqlite3.Connection:
        """One more connection, with durable commits."""
        with self._lock:
            if self._first is None:
                # SQLite gives the files beside it the same mode, and says why it can't be made.
                create_private(self._path)
                first = self._connect()
                self._files, self._first = self._look(), first
        self.check()
        return self._connect()

    def close(self) -> None:
        """Close the files."""
        with self._lock:
            first, self._first = self._first, None
        if first is not None:
            first.close()

    def check(self) -> None:
        """Raise if the files are no longer those that were opened, or were emptied."""
        if self._first is None:
            return
        if self._look() != self._files or os.path.getsize(self._path) == 0:
            raise Moved(
                f"{self._path.name}, or its -wal or -shm, was replaced, moved, deleted or emptied "
                "while it was open: nothing is stored any more. Stop all servers that use it, put "
                "the right file there with `armature experiments restore`, and start them again"
            )

    def _look(self) -> list[Identity]:
        beside = os.path.realpath(self._path)
        return [_identity(self._path), *(_identity(beside + suffix) for suffix in BESIDE)]

    def _connect(self) -> sqlite3.Connection:
        made = sqlite3.connect(
            self._path,
            timeout=PATIENCE,
            isolation_level=None,  # transactions begin and end where we say so
            check_same_thread=False,
            factory=_Checked,
        )
        try:
            made.opened = self
            made.create_function("armature_now", 0, self._clock)
            _use_wal(made)
            made.execute("PRAGMA synchronous = FULL")  # a commit that was answered is on the disk
            made.execute("PRAGMA foreign_keys = ON")
            made.execute("SELECT count(*) FROM sqlite_master").fetchall()  # opens the other files
        except BaseException:
            made.close()
            raise
        return made


class _Checked(sqlite3.Connection):
    """A connection whose commits fail if the files were replaced."""

    opened: Opened

    def commit(self) -> None:
        """Commit; raise if the file it went to is no longer the database."""
        super().commit()
        self.opened.check()


def _identity(path: Any) -> Identity:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _use_wal(connection: sqlite3.Connection) -> None:
    """Readers and a writer side by side: once for a file, and it stays so.

    While several processes do that at once, SQLite says "locked" without waiting.
    """
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def passing() -> float:
    """Seconds that pass, those of a suspended machine included where it counts them."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class SteadyClock:
    """Seconds since 1970 by the time of day when it was made, and what has passed since."""

    def __init__(
        self, wall: Callable[[], float] = time.time, passing: Callable[[], float] = passing
    ) -> None:
        self._wall, self._passing = wall, passing
        self._start = wall() - passing()
        self._noticed = 0.0

    def __call__(self) -> float:
        """The time now."""
        now = self._start + self._passing()
        ahead = self._wall() - now
        if abs(ahead - self._noticed) > JUMP:
            self._noticed = ahead
            log.warning(
                "the machine's clock was changed: it is %+.0f s from the clock of this server, "
                "which keeps the old time. Restart the server if the new time is right.",
                ahead,
            )
        return now
