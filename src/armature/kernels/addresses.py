"""Kernels as numbers, and calling the kernel that a number stands for.

A policy must be able to call the oracles of any structure, without being compiled anew for each.
So a record holds the oracles' numbers, and `oracle_at(number)` is a function again. (Numba has
function pointers of its own, but passing one from Python costs 0.1 ms, and a dispatcher passed as
an ordinary argument defeats the cache on disk.)

Plain Python finds the function in one table, and compiled code its machine code in another, so that
records are the same in both gears. The machine code is put there when it is wanted (`fill`): until
then the number is *waiting*. Compiled code that comes upon it has it filled, which may take long,
so that calls from Python look first. A record says which numbers it holds by a method
`numbers_of_kernels`; where a kernel is given one by itself, the parameter is annotated as
`Address`. Large kernels are numbers too (`armature.kernels.apart`): one waits until all that it may
call is there as well.
"""

from __future__ import annotations

import _thread
import contextlib
import ctypes
import functools
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from armature.errors import ArmatureError
from armature.kernels.gears import Gear, may_compile, using

if TYPE_CHECKING:
    from armature.kernels.kernel import Kernel

Address: TypeAlias = int

MOST = 1 << 16  # kernels that are called by number
FIXED = 1 << 12  # of these are the same number in every process
TABLE, FILLER = "armature_machine_code", "armature_fill"  # as compiled code calls them
_machine_code = (ctypes.c_int64 * MOST)()  # where it is; 0: not there yet
_kernels: list[tuple[Kernel[..., Any], Any] | None] = [None] * FIXED  # 0: no kernel
_numbering = threading.Lock()
waiting: set[Address] = set()


class Signature(NamedTuple):
    """A signature as Numba sees it: by its name in a table that is made when it is needed."""

    table: Callable[[], dict[Any, Any]]
    name: Any

    def __call__(self) -> Any:
        return self.table()[self.name]


@functools.cache
def address_of(kernel: Kernel[..., Any], signature: Callable[[], Any]) -> Address:
    """The number of a kernel that is called with a signature."""
    with _numbering:
        number = len(_kernels)
        if number == MOST:
            raise ArmatureError(f"there are more than {MOST:,} kernels that are called by number.")
        waiting.add(number)
        _kernels.append((kernel, signature))
    return number


def fix_address(seed: int, kernel: Kernel[..., Any], signature: Signature) -> Address:
    """A kernel's number that is the same in every process, as it follows from the seed."""
    number = 1 + seed % (FIXED - 1)
    with _numbering:
        known = _kernels[number]
        if known is not None:
            raise ArmatureError(
                f"{kernel.name} needs another name: {known[0].name} has its number."
            )
        waiting.add(number)
        _kernels[number] = kernel, signature
    return number


def function_at(number: Address) -> Callable[..., Any]:
    """The plain Python function that a number stands for."""
    return kernel_at(number)[0].py_func


def kernel_at(number: Address) -> tuple[Kernel[..., Any], Callable[[], Any]]:
    """The kernel that a number stands for, and what tells its signature."""
    known = _kernels[number]
    if known is None:
        raise ArmatureError("a kernel was called that is not there.")
    return known


def fill(numbers: Iterable[Address]) -> None:
    """Have the machine code of these kernels ready, compiled now if need be and if it may be."""
    for number in sorted(waiting.intersection(numbers)) if may_compile() else ():
        _put(number)
        if all(_machine_code[one] for one in reached_from(number)):
            waiting.discard(number)


def fill_all(numbers: Iterable[Address]) -> None:
    """Of these kernels and of all that they may call."""
    chosen = waiting.intersection(numbers)
    fill(chosen.union(*map(reached_from, chosen)))
    fill(chosen)


def _put(number: Address) -> None:
    if not _machine_code[number]:
        kernel, signature = kernel_at(number)
        _machine_code[number] = kernel.addresses.of(signature())


@functools.cache
def reached_from(number: Address) -> frozenset[Address]:
    """The kernels that one may call, directly or not, by numbers of their own."""
    from armature.kernels.compiling.fingerprint import numbers_reached

    return numbers_reached(kernel_at(number)[0])


def numbers_in(values: Iterable[Any]) -> set[Address]:
    """The numbers that records hold, and those of records in them."""
    found: set[Address] = set()
    left = [value for value in values if isinstance(value, tuple)]
    while left:
        record = left.pop()
        own = getattr(record, "numbers_of_kernels", None)
        if own is not None:
            found.update(own())
        left += [value for value in record if isinstance(value, tuple)]
    return found


def _fill_one(number: int) -> int:
    """For machine code, which can't be left by an exception: an interruption waits for its end."""
    with using(Gear.compiled), _interrupted_later():
        fill([number])
    return int(_machine_code[number])


@contextlib.contextmanager
def _interrupted_later() -> Iterator[None]:
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    came: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if came:
            threading.Timer(0.1, _thread.interrupt_main).start()


_filler = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(_fill_one)


def name_table() -> None:
    """Let compiled code find the table, and what fills it."""
    import llvmlite.binding as llvm

    llvm.add_symbol(TABLE, ctypes.addressof(_machine_code))
    llvm.add_symbol(FILLER, ctypes.cast(_filler, ctypes.c_void_p).value)


@functools.cache
def make_caller(signature: Any) -> Any:
    """A Numba intrinsic that makes a function of a given signature from a number."""
    import llvmlite.ir as ir
    import numba.core
    from numba.extending import intrinsic

    core: Any = numba.core
    cgutils, types = core.cgutils, core.types
    function_type = types.FunctionType(signature)

    def at(typing_context: Any, number: Any) -> Any:
        def generate(context: Any, builder: Any, _: Any, arguments: Any) -> Any:
            function = cgutils.create_struct_proxy(function_type)(context, builder)
            pointer = context.get_value_type(types.voidptr)
            word, module = ir.IntType(64), builder.module
            table = module.globals.get(TABLE)
            if table is None:
                table = ir.GlobalVariable(module, ir.ArrayType(word, MOST), TABLE)
            place = builder.gep(table, [word(0), arguments[0]])
            code = cgutils.alloca_once_value(builder, builder.load(place))
            is_missing = builder.icmp_signed("==", builder.load(code), word(0))
            with builder.if_then(is_missing, likely=False):
                filling = ir.FunctionType(word, [word])
                filler = cgutils.get_or_insert_function(module, filling, FILLER)
                builder.store(builder.call(filler, arguments), code)
            function.c_addr = cgutils.get_null_value(pointer)
            function.py_addr = cgutils.get_null_value(pointer)
            function.jit_addr = builder.inttoptr(builder.load(code), pointer)
            return function._getvalue()

        return function_type(types.int64), generate

    return intrinsic(at)


def teach_address(function: Callable[..., Any], signature: Any) -> None:
    """Let compiled code know `function(number)`: a function of a given signature."""
    from numba.extending import overload

    caller = make_caller(signature)

    @overload(function)
    def _at(address: Any) -> Any:
        def call(address: Any) -> Any:
            return caller(address)

        return call
