"""The way of a kernel through Numba's front end.

Numba's own way, but for three things. It ends with LLVM code (`KernelLibrary`) instead of machine
code.

Functions have names that mean the same in every process. Numba tells apart the functions that one
definition makes, such as the `f` of `def make(c): def f(x): return x * c`, by numbers, in the order
in which they are compiled. Two processes give the same number to different functions; and where a
third loads what both have kept, the linker takes one for the other.

And two questions are answered once, which Numba's type inference answers anew thousands of times a
kernel: which options are in force (a dictionary is made of them for each comparison), and what the
type of `x * y` is (all the things that `*` may mean are tried in turn, arrays and strings
included). The answers are kept for as long as a kernel is compiled: nothing changes for what else
Numba does.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from typing import Any

from numba.core import compiler, typed_passes, types
from numba.core.bytecode import FunctionIdentity
from numba.core.compiler_machinery import register_pass
from numba.core.targetconfig import ConfigStack

from armature.kernels.compiling.fingerprint import Fingerprint, Indescribable
from armature.kernels.compiling.libraries import KernelLibrary


@register_pass(mutates_CFG=True, analysis_only=False)
class KernelLowering(typed_passes.NativeLowering):
    """Makes LLVM code and stops there."""

    _name = "kernel_lowering"

    def run_pass(self, state: Any) -> bool:
        """Not for what is compiled on the way, such as a call of plain Python: that is needed."""
        state.flags.no_compile = True
        return bool(super().run_pass(state))


class KernelCompiler(compiler.Compiler):
    """Leaves the code of a kernel in a `KernelLibrary`."""

    def compile_extra(self, function: Any) -> Any:
        """Compile a Python function."""
        with lasting_names(), quick_typing(self.state.typingctx):
            return super().compile_extra(function)

    def _compile_core(self) -> Any:
        state = self.state  # of a function, or of what is left of it without calls of plain Python
        state.library = KernelLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags = KernelFlags(state.flags)
        return super()._compile_core()

    def define_pipelines(self) -> list[Any]:
        """Numba's passes, but for the last."""
        pipelines = super().define_pipelines()
        for pipeline in pipelines:
            pipeline.passes = [
                (KernelLowering if one is typed_passes.NativeLowering else one, title)
                for one, title in pipeline.passes
            ]
            pipeline.finalize()
        return list(pipelines)


@contextlib.contextmanager
def lasting_names() -> Iterator[None]:
    """Number functions by what they do, or else at random, instead of in turn.

    To be entered under the compiler's lock.
    """
    original = vars(FunctionIdentity)["from_function"]

    def from_function(cls: Any, function: Any) -> Any:
        identity = original.__func__(cls, function)
        identity.unique_id = _number_of(identity.func)
        identity.unique_name = f"{identity.func_qualname}${identity.unique_id}"
        return identity

    identities: Any = FunctionIdentity
    identities.from_function = classmethod(from_function)
    try:
        yield
    finally:
        identities.from_function = original


def _number_of(function: Any) -> int:
    try:
        return int(Fingerprint(function).digest[:16], 16)
    except Indescribable:
        return secrets.randbits(64)


class KernelFlags(compiler.Flags):
    """Compiler options that are compared quickly."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        self.__dict__.pop("_all", None)

    def discard(self, name: str) -> None:
        """Back to the default."""
        super().discard(name)
        self.__dict__.pop("_all", None)

    def values(self) -> dict[str, Any]:
        """All options, by name."""
        if "_all" not in self.__dict__:
            self.__dict__["_all"] = super().values()
        known: dict[str, Any] = self.__dict__["_all"]
        return known

    def __hash__(self) -> int:
        return _HASH

    def __eq__(self, other: object) -> bool:
        return self is other or bool(super().__eq__(other))


_HASH = hash(compiler.Flags())  # of the names of the options: the same for all
_PLAIN = (
    types.Number,
    types.Boolean,
    types.NoneType,
    types.Array,
    types.BaseTuple,
    types.SliceType,
)
_answers: dict[tuple[Any, ...], tuple[Any, Any]] = {}


@contextlib.contextmanager
def quick_typing(context: Any) -> Iterator[None]:
    """Remember what functions of plain numbers and arrays return.

    To be entered under the compiler's lock.
    """
    if "resolve_function_type" in vars(context):
        yield
        return
    original = context.resolve_function_type

    def resolve(function: Any, arguments: Any, keywords: Any) -> Any:
        known = function
        if not isinstance(function, types.Function):
            known = context._lookup_global(function)
        if (
            keywords
            or not isinstance(known, types.Function)
            or not all(isinstance(argument, _PLAIN) for argument in arguments)
        ):
            return original(function, arguments, keywords)
        key = (id(known), tuple(arguments), ConfigStack.top_or_none())
        if key not in _answers:
            signature = original(function, arguments, keywords)
            if signature is None:
                return None
            _answers[key] = known, signature  # `known` is kept, so that its id stays its own
        return _answers[key][1]

    context.resolve_function_type = resolve
    try:
        yield
    finally:
        del context.resolve_function_type
