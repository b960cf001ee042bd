"""Compiling once on a machine, where many processes start at the same time."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from armature.kernels.compiling.files import directory, is_writable

LOCKS = "nodes"  # a folder beside the kernels


def once_on_this_machine(kind: str, compile_it: Callable[[], None]) -> None:
    """Call `compile_it`; but where nobody has yet done so for this kind, one after the other.

    Whoever is first holds a lock, and the others wait for it and then load what it has kept. Where
    nothing can be kept, everyone compiles.
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
