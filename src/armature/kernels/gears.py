"""The two gears: a kernel runs as plain Python, or as machine code. Both give the same bits.

Plain Python answers at once; machine code is a hundred times faster and takes seconds to make. So a
kernel starts as plain Python, and machine code takes over once it is ready
(`armature.kernels.kernel`, `armature.kernels.compiling.meanwhile`). What takes long anyway, such as
a simulation, goes `straight_to_machine_code`.

The environment variable `ARMATURE_GEAR` forces a gear: `python` (breakpoints inside kernels work),
`compiled` (from the first call on) or `auto`. `NUMBA_DISABLE_JIT=1` is the same as `python`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from enum import StrEnum
from typing import Any

from armature.errors import ArmatureError


class Gear(StrEnum):
    """The gear: compiled or plain Python, in which calls from Python into kernels are run."""

    python = "python"
    compiled = "compiled"
    auto = "auto"


def chosen_gear() -> Gear:
    """The gear that the environment asks for."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        return Gear.python
    name = os.environ.get("ARMATURE_GEAR") or Gear.auto.value
    if name not in list(Gear):
        raise ArmatureError(f"ARMATURE_GEAR must be one of {', '.join(Gear)}; got {name!r}.")
    return Gear(name)


changed = 0  # how many kernels Python calls as machine code by now

# Where a kernel runs as plain Python on trial, what stands here is the trial (`plain.TimedCall`).
USUAL = chosen_gear()
current: ContextVar[Any] = ContextVar("gear", default=USUAL)


@contextmanager
def using(gear: Any) -> Iterator[None]:
    """Kernels that are called from Python run in this gear meanwhile."""
    token = current.set(gear)
    try:
        yield
    finally:
        current.reset(token)


@contextmanager
def straight_to_machine_code() -> Iterator[None]:
    """For long work: kernels are compiled before their first call, unless Python is forced."""
    with using(Gear.compiled if may_compile() else Gear.python):
        yield


def may_compile() -> bool:
    """True if kernels may become machine code here."""
    return current.get() in (Gear.auto, Gear.compiled)


def interpreted() -> Any:
    """Kernels that are called from Python run as plain Python meanwhile, however long it takes."""
    return using(Gear.python)
