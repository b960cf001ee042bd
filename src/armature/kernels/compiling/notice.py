"""Messages while kernels are compiled and somebody waits, and a count of them.

After a second of compiling, the log `armature.compile` gets a sentence at INFO, once, and so does
`on_wait`. By default that writes it to the standard error, if that is a terminal; `silence()` or
the environment variable `ARMATURE_QUIET` prevent it.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from armature.kernels.compiling import files

PATIENCE = 1.0  # seconds
IN_THE_BACKGROUND = "compile"  # the name of the thread for which nobody waits
KINDS = {"structures": "oracles", "policies": "policy", "families": "formulas"}


def tell_terminal(sentence: str) -> None:
    """One line on the standard error, if that is a terminal."""
    stream = sys.stderr
    if stream is not None and stream.isatty() and not os.environ.get("ARMATURE_QUIET"):
        stream.write(sentence + "\n")
        stream.flush()


on_wait: Callable[[str], None] | None = tell_terminal
count = 0  # how many kernels this process has compiled, rather than found

_said = False
_subjects: list[Any] = []  # the kernels being compiled, the outermost first
_spent = 0.0  # seconds, on those that are finished
_began = 0.0  # when the outermost was begun


def silence() -> None:
    """Say nothing from now on."""
    global on_wait
    on_wait = None


@contextlib.contextmanager
def compiling(kernel: Any) -> Iterator[None]:
    """To be entered around each compilation, under the compiler's lock."""
    global count, _spent, _began
    count += 1
    if not _subjects:
        _began = time.monotonic()
    _subjects.append(kernel)
    _speak_if_it_is_time()
    try:
        yield
    finally:
        _subjects.pop()
        if not _subjects:
            _spent += time.monotonic() - _began


def _speak_if_it_is_time() -> None:
    global _said
    if _said or _spent + time.monotonic() - _began < PATIENCE:
        return
    if threading.current_thread().name == IN_THE_BACKGROUND:  # nobody waits
        return
    _said = True
    kept = "kept for the next time" if files.is_writable() else "the cache can't be written"
    sentence = f"compiling {subject(_subjects[0])}, once; {kept}"
    files.log.info(sentence)
    if on_wait is not None:
        on_wait(sentence)


def subject(kernel: Any) -> str:
    """The name of the part that a kernel belongs to, in words.

    >>> from armature.structures.oracles import one_peak
    >>> subject(one_peak.project)
    'the one peak oracles'
    """
    kernel = getattr(kernel, "stands_for", None) or kernel
    package, _, module = kernel.__module__.rpartition(".")
    name = module.strip("_").replace("_", " ")
    kind = KINDS.get((package + "..").split(".")[1])
    if kernel.__module__.partition(".")[0] != "armature":
        return f"{kernel.__name__} of {kernel.__module__}"
    if kind is None:
        return f"what {name} needs"
    return f"the {name} {kind}"
