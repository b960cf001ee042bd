"""Orders to compile, as bytes that another process understands.

An order is a call: a kernel with its arguments, and the kernels that it may call by number. Types
are all that matters of arrays, so they are sent empty. Kernels are sent by name, or by the function
that makes them and its arguments. What belongs to a script or a notebook has a name in no other
process: such an order can't be sent.
"""

from __future__ import annotations

import inspect
import io
import pickle
import sys
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from armature.kernels import gears
from armature.kernels.addresses import Address, address_of, fill_all, kernel_at, reached_from
from armature.kernels.compiling.fingerprint import numbers_reached
from armature.kernels.kernel import Kernel

Called = tuple[Kernel[..., Any], Callable[[], Any]]  # by number: a kernel, and its signature


class Order(NamedTuple):
    """A call for which machine code is wanted."""

    kernel: Kernel[..., Any]
    args: tuple[Any, ...]
    called: tuple[Called, ...]

    @property
    def signature(self) -> tuple[Any, ...]:
        """The types of the arguments, for Numba."""
        import numba

        typeof: Any = numba.typeof
        return tuple(typeof(value) for value in self.args)

    @property
    def numbers(self) -> frozenset[Address]:
        """Of the kernels that it calls by number."""
        given = {address_of(kernel, signature) for kernel, signature in self.called}
        return numbers_reached(self.kernel) | given

    def is_kept(self) -> bool:
        """True if all of it is in the cache."""
        numbers = self.numbers
        called = map(kernel_at, numbers.union(*map(reached_from, numbers)))
        return all(kernel.addresses.is_kept(signature()) for kernel, signature in called) and bool(
            self.kernel.dispatcher.is_kept(self.signature)
        )

    def carry_out(self) -> None:
        """Load all of it from the cache, or compile it."""
        fill_all(self.numbers)
        code = self.kernel.dispatcher
        code.compile(self.signature)
        if self.kernel.machine_code is None:
            self.kernel.machine_code = code
            gears.changed += 1

    def as_bytes(self) -> bytes:
        """The order for another process; raises whatever where that can't be."""
        buffer = io.BytesIO()
        _Pickler(buffer, protocol=5).dump(self)
        return buffer.getvalue()


def make_order(kernel: Kernel[..., Any], args: Any, kwargs: Any) -> Order:
    """The order of all that a call of a kernel needs."""
    if kwargs:
        args = inspect.signature(kernel.py_func).bind(*args, **kwargs).args
    numbers = sorted(number for number in kernel.numbers(args, {}) if number > 0)
    return Order(kernel, tuple(args), tuple(map(kernel_at, numbers)))


def kinds_of(value: Any) -> Any:
    """A key that tells apart arguments of different types; it needs nothing of Numba."""
    if isinstance(value, np.ndarray):
        flags = value.flags
        layout = flags.c_contiguous, flags.f_contiguous, flags.writeable
        return value.dtype, value.ndim, layout
    if isinstance(value, tuple):
        return type(value), *map(kinds_of, value)
    return type(value)


class _Pickler(pickle.Pickler):
    """Sends arrays empty, and kernels by what they are known by."""

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return empty_array, (value.dtype.str, value.ndim, *kinds_of(value)[2])
        if getattr(value, "__module__", "") == "__main__":
            raise pickle.PicklingError("it belongs to a script or a notebook")
        if isinstance(value, Kernel):
            if value.recipe is not None:
                return value.recipe
            place = value.py_func.__module__, value.py_func.__qualname__
            if named(*place) is not value:
                raise pickle.PicklingError(f"{value.name} can't be found by its name")
            return named, place
        if isinstance(value, types.ModuleType):
            raise pickle.PicklingError("modules are not sent")
        return NotImplemented


def named(module: str, name: str) -> Any:
    """The object of a name in a module; None if there is none."""
    if module not in sys.modules:
        __import__(module)
    found: Any = sys.modules[module]
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def empty_array(dtype: str, ndim: int, is_c: bool, is_fortran: bool, writeable: bool) -> Any:
    """An array of the same type."""
    if is_c or is_fortran:
        made = np.zeros((2,) * ndim, dtype, order="C" if is_c else "F")
    else:
        made = np.zeros((4,) * ndim, dtype)[(slice(None, None, 2),) * ndim]
    made.flags.writeable = writeable
    return made
