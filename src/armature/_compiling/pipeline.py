"""How a kernel gets through Numba's front end.

Numba's own way, but it ends with LLVM code (`KernelLibrary`) instead of machine code.
"""

from __future__ import annotations

from typing import Any

from numba.core import compiler

from armature._compiling.libraries import KernelLibrary
from armature._compiling.names import lasting_names
from armature._compiling.shortcuts import KernelFlags, quick_typing


class KernelCompiler(compiler.Compiler):
    """Leaves the code of a kernel in a `KernelLibrary`."""

    def compile_extra(self, function: Any) -> Any:
        """Compile a Python function."""
        state = self.state
        state.library = KernelLibrary(state.targetctx.codegen(), function.__qualname__)
        state.flags = KernelFlags(state.flags)
        state.flags.no_compile = True
        with lasting_names(), quick_typing(state.typingctx):
            return super().compile_extra(function)
