"""How a kernel gets through Numba's front end.

Numba's own way, but it ends with LLVM code (`KernelLibrary`) instead of machine code; and names
mean the same in every process.
"""

from __future__ import annotations

from typing import Any

from numba.core import bytecode, compiler, untyped_passes

from armature._compiling.fingerprint import Fingerprint, Indescribable
from armature._compiling.libraries import KernelLibrary
from armature._compiling.shortcuts import KernelFlags, quick_typing


class KernelCompiler(compiler.Compiler):
    """Names code after the kernel's fingerprint, and leaves it in a `KernelLibrary`.

    Numba tells apart the functions that one definition makes, such as the `f` of
    `def make(c): def f(x): return x * c`, by numbers, in the order in which they are compiled. Two
    processes give the same number to different functions; and where a third loads what both have
    kept, the linker takes one for the other.
    """

    def compile_extra(self, function: Any) -> Any:
        """Compile a Python function."""
        state = self.state
        identity = bytecode.FunctionIdentity.from_function(function)
        try:
            identity.unique_id = int(Fingerprint(function).digest[:16], 16)
            identity.unique_name = f"{identity.func_qualname}${identity.unique_id}"
        except Indescribable:
            pass  # it is not kept for another process either
        state.func_id = identity
        state.library = KernelLibrary(state.targetctx.codegen(), identity.func_qualname)
        state.flags = KernelFlags(state.flags)
        state.flags.no_compile = True
        untyped_passes.ExtractByteCode().run_pass(state)
        state.lifted = ()
        state.lifted_from = None
        with quick_typing(state.typingctx):
            return self._compile_bytecode()
