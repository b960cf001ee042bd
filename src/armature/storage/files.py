"""Writing files: whole or not at all, with the permissions that a user expects.

The one place in the package where a file is opened for writing. What is written goes to a file
beside its place, is flushed to the disk, and takes its place by being renamed: at any moment, a
reader finds the old content or the new one, and two programs that write the same file at once both
succeed. A new file gets the permissions that the user's umask says; one that is there keeps its
own. Text is UTF-8, whatever the locale.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from armature.errors import ArmatureError, short

StrPath = str | os.PathLike[str]
PREFIX, MARK = ".armature-", ".tmp"  # what the name of an unfinished file begins with and contains
DAY = 86_400.0


@contextlib.contextmanager
def replacing(path: StrPath) -> Iterator[Path]:
    r"""A path to write to, whose file takes the place of `path` when the block ends well.

    It is in the same folder and ends in the same suffix. After an error it is removed, and what
    was at `path` stays. A link is followed: the file that it points to is replaced.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     target = Path(folder) / "numbers.csv"
    ...     with replacing(target) as beside:
    ...         _ = beside.write_text("1,2\n")
    ...     target.read_text()
    '1,2\n'
    """
    target = Path(os.path.realpath(checked_path(path)))
    before = _status(target, path)
    beside = _make_beside(target, path)
    try:
        yield beside
        _flush(beside)
        if before is not None:
            _take_over(beside, before)
        os.replace(beside, target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    _flush_folder(target.parent)


def checked_path(path: Any) -> Path:
    """A path that can be the name of a file."""
    if not isinstance(path, (str, os.PathLike)) or "\0" in str(path):
        raise ArmatureError(f"a path is a string or a pathlib.Path; got {short(path)}.")
    return Path(path)


def create_private(path: StrPath) -> None:
    """Make an empty file that its owner alone may read, if there is none and one can be made.

    A file that is there is not opened: a program that holds locks on it would lose them when the
    file is closed.
    """
    with contextlib.suppress(OSError):
        os.close(os.open(os.path.realpath(path), os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def write_bytes(path: StrPath, content: bytes) -> None:
    """Write a file of bytes."""
    with replacing(path) as beside:
        beside.write_bytes(content)


def write_text(path: StrPath, text: str) -> None:
    """Write a file of text: UTF-8, with the line ends that are in the text."""
    write_bytes(path, text.encode())


def read_text(path: StrPath) -> str:
    """The text of a UTF-8 file, with or without a byte order mark; refused where it is none."""
    try:
        return checked_path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ArmatureError(
            f"{os.fspath(path)!r} is not a text file in UTF-8 (byte {error.start})."
        ) from None


def read_regular(path: StrPath, most: int) -> bytes | None:
    """The content of an ordinary file of at most `most` bytes; None if it is anything else.

    A pipe is not waited for, and a device not read, also where a link leads to one.
    """
    with _opened(path) as file:
        if file is None or os.fstat(file.fileno()).st_size > most:
            return None
        content = file.read(most + 1)
    return content if len(content) <= most else None


def first_line(path: StrPath, most: int) -> bytes:
    """The first line of an ordinary file, or as many bytes of it; nothing of another thing."""
    with _opened(path) as file:
        return b"" if file is None else file.readline(most)


@contextlib.contextmanager
def _opened(path: StrPath) -> Iterator[BinaryIO | None]:
    """An ordinary file to be read; None where the path, or what it links to, is another thing."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        yield None
        return
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(handle, "rb") as file:  # it may have become another thing since
        yield file if stat.S_ISREG(os.fstat(handle).st_mode) else None


@contextlib.contextmanager
def passing_folder() -> Iterator[Path]:
    """A folder that is there for as long as it is needed."""
    with tempfile.TemporaryDirectory(prefix="armature-") as name:
        yield Path(name)


def set_aside(path: Path) -> Path | None:
    """Give a damaged file another name, so that it is not met again; None if it was gone."""
    aside = path.with_name(path.name + ".damaged")
    try:
        os.replace(path, aside)
    except OSError:
        return None
    return aside


def remove_leftovers(folder: Path) -> None:
    """Delete unfinished files of killed programs that are older than a day."""
    limit = time.time() - DAY
    for path in folder.glob(f"{PREFIX}*{MARK}*"):
        with contextlib.suppress(OSError):  # another program may have deleted it
            if path.stat().st_mtime <= limit:
                path.unlink()


def _status(target: Path, path: StrPath) -> os.stat_result | None:
    """The file that is there, or None; refused where it is no ordinary file, or protected."""
    try:
        found = target.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    if not stat.S_ISREG(found.st_mode):
        kind = "a folder" if stat.S_ISDIR(found.st_mode) else "no ordinary file"
        raise ArmatureError(f"{os.fspath(path)!r} is {kind}: give the name of a file.")
    if not os.access(target, os.W_OK):  # renaming would not ask
        raise ArmatureError(f"{os.fspath(path)!r} is write-protected: give another name.")
    return found


def _make_beside(target: Path, path: StrPath) -> Path:
    """An empty file in the target's folder, with the permissions of a new file."""
    if not target.parent.is_dir():
        raise ArmatureError(
            f"{os.fspath(path)!r} can't be written: there is no folder {str(target.parent)!r}."
        )
    while True:
        beside = target.with_name(f"{PREFIX}{secrets.token_hex(8)}{MARK}{target.suffix}")
        with contextlib.suppress(FileExistsError):
            os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            return beside


def _take_over(beside: Path, before: os.stat_result) -> None:
    """Give the new file the permissions, and where that is allowed the owner, of the old one."""
    now = beside.stat()
    if hasattr(os, "chown") and (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid):
        with contextlib.suppress(PermissionError):
            os.chown(beside, before.st_uid, before.st_gid)
    os.chmod(beside, stat.S_IMODE(before.st_mode))


def _flush(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    """Make the new name last; not every system can do that for a folder."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def checksum(*pieces: Mapping[str, Any] | bytes) -> str:
    """The checksum of plain data and of bytes, one behind the other: 64 hexadecimal digits.

    >>> checksum({"name": "a"}, b"12", b"3") == checksum({"name": "a"}, b"123")
    True
    """
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece if isinstance(piece, bytes) else _as_bytes(piece))
    return digest.hexdigest()


def _as_bytes(data: Mapping[str, Any]) -> bytes:
    return json.dumps(data, sort_keys=True).encode()


def sealed(about: Mapping[str, Any], content: bytes) -> bytes:
    r"""The bytes in their envelope.

    >>> unsealed(sealed({"name": "a"}, b"123"))
    ({'name': 'a'}, b'123')
    >>> unsealed(sealed({"name": "a"}, b"123") + b"4") is None
    True
    """
    return json.dumps({**about, "sha256": checksum(about, content)}).encode() + b"\n" + content


def unsealed(whole: bytes) -> tuple[dict[str, Any], bytes] | None:
    """The content of an envelope; None where it is not as it was written."""
    line, _, content = whole.partition(b"\n")
    try:
        about = json.loads(line)
        intact = about.pop("sha256") == checksum(about, content)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return (dict(about), content) if intact else None
