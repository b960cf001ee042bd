"""Kernels as numbers: the address of a compiled function, and calling what is at an address.

A policy must be able to call the oracles of any structure, without being compiled anew for each.
So a record holds the oracles' addresses, and `oracle_at(address)` is a function again. (Numba has
function pointers of its own, but passing one from Python costs 0.1 ms, and a dispatcher passed as
an ordinary argument defeats the cache on disk.)

Without compilation (`NUMBA_DISABLE_JIT=1`) an "address" is a place in a table of Python functions.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from armature.kernels.kernel import Kernel

_FUNCTIONS: list[Callable[..., Any]] = []


def is_compiling() -> bool:
    """Whether kernels are compiled at all."""
    import numba

    config: Any = numba.config
    return not config.DISABLE_JIT


@functools.cache
def address_of(kernel: Kernel[..., Any], signature: Any) -> int:
    """Where the kernel's machine code for a signature is (compiled now if need be)."""
    if not is_compiling():
        _FUNCTIONS.append(kernel.py_func)
        return len(_FUNCTIONS) - 1
    address: int = kernel.addresses.of(signature)
    return address


def function_at(address: int) -> Callable[..., Any]:
    """The function at an address, without compilation."""
    return _FUNCTIONS[address]


@functools.cache
def make_caller(signature: Any) -> Any:
    """A Numba intrinsic that makes a function of a given signature from an address."""
    import numba.core
    from numba.extending import intrinsic

    core: Any = numba.core
    cgutils, types = core.cgutils, core.types
    function_type = types.FunctionType(signature)

    def at(typing_context: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
            function = cgutils.create_struct_proxy(function_type)(context, builder)
            pointer = context.get_value_type(types.voidptr)
            function.c_addr = cgutils.get_null_value(pointer)
            function.py_addr = cgutils.get_null_value(pointer)
            function.jit_addr = builder.inttoptr(arguments[0], pointer)
            return function._getvalue()

        return function_type(types.int64), generate

    return intrinsic(at)


def teach_address(function: Callable[..., Any], signature: Any) -> None:
    """Let compiled code know `function(address)`: a function of a given signature."""
    from numba.extending import overload

    caller = make_caller(signature)

    @overload(function)
    def _at(address: Any) -> Any:
        def call(address: Any) -> Any:
            return caller(address)

        return call
