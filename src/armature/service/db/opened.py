"""The files of a SQLite database, as this process has them open.

What is written into a file that was replaced or deleted meanwhile is gone with the next start. So
each transaction begins, and each commit ends, with a look whether the files are still those that
were opened: a commit that went elsewhere is an error, and not answered as if it were stored.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

PATIENCE = 30.0  # seconds to wait for another process's transaction
BESIDE = ("-wal", "-shm")  # files that belong to a database, and to no other

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
                create(self._path)
                first = self._connect()
                self._files, self._first = self._look(), first
        self.check()
        return self._connect()

    def close(self) -> None:
        """Let go of the files."""
        with self._lock:
            first, self._first = self._first, None
        if first is not None:
            first.close()

    def check(self) -> None:
        """Refuse to go on if the files are others than those that were opened."""
        if self._first is not None and self._look() != self._files:
            raise Moved(
                f"{self._path.name}, or its -wal or -shm, was replaced, moved or deleted while it "
                "was open: nothing is stored any more. Stop all servers that use it, put the right "
                "file there with `armature experiments restore`, and start them again"
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
    """A connection that has not committed anything unless the files are still there."""

    opened: Opened

    def commit(self) -> None:
        """Commit, and say so only if it went where it can be found again."""
        super().commit()
        self.opened.check()


def _identity(path: Any) -> Identity:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def create(path: Path) -> None:
    """Make an empty file that its owner alone may read, unless there is one.

    SQLite gives the files beside it the same mode. A file that is there is not opened: closing it
    would release the locks that SQLite has on it.
    """
    with suppress(OSError):  # SQLite says why it can't be made
        os.close(os.open(os.path.realpath(path), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


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
