"""The way of a kernel through Numba's front end.

Numba's own way, but for two things. It ends with LLVM code (`KernelLibrary`) instead of machine
code: to make machine code of every kernel would take more than twice as long.

Functions have names that mean the same in every process. Numba tells apart the functions that one
definition makes, such as the `f` of `def make(c): def f(x): return x * c`, by numbers, in the order
in which they are compiled. Two processes give the same number to different functions; and where a
third loads what both have kept, the linker takes one for the other.
"""

from __future__ import annotations

import contextlib
import secrets
from collections.abc import Iterator
from typing import Any

from numba.core import compiler, typed_passes
from numba.core.bytecode import FunctionIdentity
from numba.core.compiler_machinery import register_pass

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
        with lasting_names():
            return super().compile_extra(function)

    def _compile_core(self) -> Any:
        state = self.state  # of a function, or of what is left of it without calls of plain Python
        state.library = KernelLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
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
