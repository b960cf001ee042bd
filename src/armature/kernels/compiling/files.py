"""The folder of compiled kernels: one checked file for each kernel and signature.

A file begins with a checksum of all that follows, and is not looked at any further if that is
wrong: a file that was cut off, damaged or put there by something else counts as missing. Files are
written beside their place and renamed, so that any number of processes may fill the same folder;
those that start together on a machine can let one of them compile (`once_on_this_machine`).
Nothing here raises because of the disk: a folder that can't be read or written is as good as none.
"""

from __future__ import annotations

import contextlib
import logging
import os
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

from armature.storage.files import checksum

FOLDER = "kernels-1"  # the number is that of the format
HEADER = b"armature kernel\n"
DAY = 86_400.0
KEPT_DAYS = 60.0  # what was not used for so long is removed
KEPT_BYTES = 1 << 30
log = logging.getLogger("armature.compile")


def directory() -> Path | None:
    """The folder of compiled kernels, which need not exist yet; None: there is no place for it."""
    root = os.environ.get("ARMATURE_CACHE_DIR")
    if not root:
        root = os.path.join(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "armature")
    try:
        return Path(root).expanduser() / FOLDER
    except RuntimeError:  # there is no home
        return None


def is_writable() -> bool:
    """True if kernels can be kept."""
    folder = directory()
    if folder is None:
        return False
    there = next(path for path in (folder, *folder.parents) if path.exists())
    return there.is_dir() and os.access(there, os.W_OK)


def exists(name: str) -> bool:
    """True if there is something under a name."""
    folder = directory()
    return folder is not None and (folder / name).is_file()


def read(name: str) -> bytes | None:
    """The bytes that were written under a name; None where there are none, or damaged ones."""
    folder = directory()
    if folder is None:
        return None
    path = folder / name
    try:
        content = path.read_bytes()
    except OSError:
        return None
    body = unwrapped(content, name)
    if body is None:
        log.info("%s is damaged: compiling anew", path)
        return None
    _touch(path)
    return body


def write(name: str, body: bytes) -> bool:
    """Keep something under a name, if that is possible; whether it was."""
    folder = directory()
    if folder is None:
        return False
    temporary = folder / f".{name}.{uuid.uuid4().hex}.tmp"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # not `tempfile`: the file should have the permissions that the user's umask says
        with open(temporary, "xb") as file:
            file.write(wrapped(body, name))
        os.replace(temporary, folder / name)
    except OSError as error:
        log.info("the compiled kernel is not kept: %s", error)
        return False
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
    _prune_once(folder)
    return True


def wrapped(body: bytes, name: str) -> bytes:
    """The content of a file."""
    return HEADER + _checksum(body, name) + body


def unwrapped(content: bytes, name: str) -> bytes | None:
    """The bytes in a file; None if they are not those written under this name."""
    body = content[len(HEADER) + 32 :]
    return body if content == wrapped(body, name) else None


def _checksum(body: bytes, name: str) -> bytes:
    return bytes.fromhex(checksum(name.encode(), b"\0", body))


def _touch(path: Path) -> None:
    """Note that a file was used, once a day."""
    with contextlib.suppress(OSError):
        if time.time() - path.stat().st_mtime > DAY:
            os.utime(path)


_pruned: set[Path] = set()


def _prune_once(folder: Path) -> None:
    if folder not in _pruned:
        _pruned.add(folder)
        prune(folder)


def prune(folder: Path, kept_bytes: int = KEPT_BYTES) -> None:
    """Remove what was not used for long, and the least recently used of what is too much."""
    found = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                status = entry.stat()
                found.append((status.st_mtime, status.st_size, entry.path))
    now, total = time.time(), 0
    for used, size, path in sorted(found, reverse=True):
        abandoned = path.endswith(".tmp") and now - used > DAY
        total += size
        if abandoned or now - used > KEPT_DAYS * DAY or total > kept_bytes:
            with contextlib.suppress(OSError):
                os.unlink(path)


LOCKS = "nodes"  # a folder beside the kernels


def once_on_this_machine(kind: str, compile_it: Callable[[], None]) -> None:
    """Call `compile_it`; the first time for this kind, one process after the other.

    The first process holds a lock; the others wait for it and then load what it has kept. Where
    nothing can be kept, every process compiles.
    """
    folder = directory()
    if folder is not None and is_writable():
        mark = folder.parent / LOCKS / f"{kind}.ready"
        if not mark.is_file():
            mark.parent.mkdir(parents=True, exist_ok=True)
            with locked(mark.with_suffix(".lock")):
                if not mark.is_file():
                    compile_it()
                    mark.touch()
    compile_it()


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold a lock on a file; it ends with the process, however that ends."""
    try:
        import fcntl
    except ImportError:  # there is none on this system: everyone compiles
        yield
        return
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
