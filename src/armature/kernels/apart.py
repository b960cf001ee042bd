"""Large kernels that are compiled by themselves: once, when they are first called.

A kernel is optimised together with everything it calls. So a large one would be optimised again in
each of its callers, and compiled where it is there for a rare case only. One that is *apart* has a
number that follows from its name, and other kernels call it by that
(`armature.kernels.addresses`). An edit to it compiles no caller anew.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from armature.kernels.addresses import Address, Signature, fix_address, make_caller
from armature.kernels.kernel import Kernel, inlined

P = ParamSpec("P")
R = TypeVar("R")


class Apart(Kernel[P, R]):
    """A kernel that other kernels call by a number of its own."""

    def __init__(self, py_func: Callable[P, R], signature: Signature) -> None:
        super().__init__(py_func)
        self.signature = signature
        self.number: Address = fix_address(zlib.crc32(self.name.encode()), self, signature)

    @functools.cached_property
    def called_as(self) -> Kernel[..., R]:
        """The kernel that others call in its place: by the number."""
        by_number, number = make_caller(self.signature()), self.number

        def call(*arguments: Any) -> Any:
            return by_number(number)(*arguments)

        return inlined(call)


def apart(signature: Signature) -> Callable[[Callable[P, R]], Apart[P, R]]:
    """Mark a large kernel that is to be compiled by itself, with these types."""

    def mark(py_func: Callable[P, R]) -> Apart[P, R]:
        return Apart(py_func, signature)

    return mark
