"""A call of a kernel as plain Python, on trial: counted, and given up where it takes too long.

Before the call, the arrays that it was given are copied: all that a kernel does, it does to them.
Where plain Python takes longer than `LONGEST`, or refuses what machine code answers (the logarithm
of 0 is an error in Python, and minus infinity by the rules for doubles), the arrays are put back as
they were, and machine code makes the call, for which the caller waits if it has to be compiled. A
thread beside others, as in a server, has it compiled by the helper process, so that it alone waits.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from armature.errors import ArmatureError
from armature.kernels.gears import Gear, current, using

if TYPE_CHECKING:
    from armature.kernels.kernel import Kernel

LONGEST = 2.0  # seconds of processor time of one call
PATIENCE = 0.5  # seconds of all calls of a kernel, after which machine code is made for it


class TooLong(BaseException):
    """A call on trial takes too long."""


class Outside(BaseException):
    """Plain Python that a kernel calls, such as a user's structure, has failed."""


class TimedCall:
    """A call on trial: what `gears.current` is meanwhile."""

    def __init__(self) -> None:
        self.began = time.thread_time()
        self.until = time.perf_counter() + LONGEST

    @property
    def spent(self) -> float:
        """Seconds of processor time so far: what other programs take is no reason to compile."""
        return time.thread_time() - self.began

    def check(self) -> None:
        """Give up where it takes too long."""
        if time.perf_counter() > self.until:
            left = LONGEST - self.spent
            if left < 0.0:
                raise TooLong
            self.until = time.perf_counter() + left


def on_trial(kernel: Kernel[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call a kernel as plain Python; by machine code where that is too slow or fails."""
    from armature.kernels.compiling import meanwhile  # which needs nothing of Numba

    before = copies_of((*args, *kwargs.values()))
    trial = TimedCall()
    token = current.set(trial)
    try:
        with np.errstate(all="ignore"):
            result = kernel.py_func(*args, **kwargs)
    except Outside as failure:
        raise failure.args[0] from None
    except ArmatureError:
        raise
    except (TooLong, ArithmeticError, ValueError):
        pass
    else:
        kernel.seconds += trial.spent
        if kernel.seconds > PATIENCE:
            meanwhile.compile_for(kernel, args, kwargs)
        return result
    finally:
        current.reset(token)
    put_back(before)
    if threading.current_thread() is not threading.main_thread():
        made = meanwhile.compile_for(kernel, args, kwargs)
        if made is not None:
            made.wait()
    with using(Gear.compiled):
        return kernel.by_machine_code(args, kwargs)


@contextmanager
def outside() -> Iterator[None]:
    """Around what a kernel calls in plain Python: its time is its own, and so are its errors."""
    trial = current.get()
    if not isinstance(trial, TimedCall):
        yield
        return
    began, began_by_the_clock = time.thread_time(), time.perf_counter()
    token = current.set(Gear.auto)
    try:
        yield
    except Exception as error:
        raise Outside(error) from error
    finally:
        current.reset(token)
        trial.began += time.thread_time() - began
        trial.until += time.perf_counter() - began_by_the_clock


Copies = list[tuple[Any, Any]]


def copies_of(values: Iterable[Any]) -> Copies:
    """The arrays that can be written to, in records and records of records, with copies."""
    found: Copies = []
    left = [iter(values)]
    while left:
        for value in left.pop():
            if isinstance(value, np.ndarray):
                if value.flags.writeable:
                    found.append((value, value.copy()))
            elif isinstance(value, tuple):
                left.append(iter(value))
    return found


def put_back(copies: Copies) -> None:
    """Let the arrays be as they were."""
    for array, copy in copies:
        array[...] = copy
