"""A process of its own that compiles, so that nobody waits for it: it fills the cache and ends.

It has a low priority, works after other helpers on the machine rather than beside them, and ends
with the process that has started it, however that ends: then nobody holds the other end of its
standard input any more.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator

LENGTH = struct.Struct("<Q")
DONE = b"done"
START = "import sys; sys.path[:] = {path!r}; from {module} import main; main()"


def start() -> subprocess.Popen[bytes]:
    """A helper that waits for an order; an OSError where no process can be started."""
    if not sys.executable:
        raise OSError("it is not known where Python is")
    code = START.format(path=[path for path in sys.path if isinstance(path, str)], module=__name__)
    return subprocess.Popen(
        [sys.executable, "-P", "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        env={**os.environ, "ARMATURE_QUIET": "1", "ARMATURE_GEAR": "compiled"},
    )


def send(process: subprocess.Popen[bytes], order: bytes) -> str:
    """Have an order carried out; what went wrong, or nothing."""
    assert process.stdin is not None
    assert process.stdout is not None
    left = memoryview(LENGTH.pack(len(order)) + order)
    with contextlib.suppress(BrokenPipeError):
        while left:
            left = left[process.stdin.write(left) or 0 :]
    answer = process.stdout.read()
    return "" if answer == DONE else answer.decode(errors="replace") or "it has ended"


def main() -> None:
    """Carry out one order."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it is for the program that has started this
    if hasattr(os, "nice"):
        with contextlib.suppress(OSError):
            os.nice(10)
    order = _read(_read_length())
    threading.Thread(target=_end_with_the_other, daemon=True).start()
    try:
        from armature.kernels.compiling.orders import Order

        found = pickle.loads(order)
        assert isinstance(found, Order)
        with _one_at_a_time():
            found.carry_out()
        answer = DONE
    except BaseException as error:
        answer = f"{type(error).__name__}: {error}".encode()
    os.write(1, answer)
    os._exit(0)


@contextlib.contextmanager
def _one_at_a_time() -> Iterator[None]:
    from armature.kernels.compiling import files

    folder = files.directory()
    assert folder is not None
    place = folder.parent / files.LOCKS
    place.mkdir(parents=True, exist_ok=True)
    with files.locked(place / "helper.lock"):
        yield


def _read_length() -> int:
    length: int = LENGTH.unpack(_read(LENGTH.size))[0]
    return length


def _read(size: int) -> bytes:
    found = b""
    while len(found) < size:
        part = os.read(0, size - len(found))
        if not part:
            os._exit(0)
        found += part
    return found


def _end_with_the_other() -> None:
    _read(1)  # never comes
