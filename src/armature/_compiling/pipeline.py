"""How kernels are compiled: Numba's own way, with names that mean the same in every process."""

from __future__ import annotations

from typing import Any

from numba.core import bytecode, compiler, untyped_passes

from armature._compiling.fingerprint import Fingerprint, Indescribable


class KernelCompiler(compiler.Compiler):
    """Names machine code after the kernel's fingerprint.

    Numba tells apart the functions that one definition makes, such as the `f` of
    `def make(c): def f(x): return x * c`, by numbers, in the order in which they are compiled. Two
    processes give the same number to different functions; and where a third loads what both have
    kept, the linker takes one for the other.
    """

    def compile_extra(self, function: Any) -> Any:
        """Compile a Python function."""
        identity = bytecode.FunctionIdentity.from_function(function)
        try:
            identity.unique_id = int(Fingerprint(function).digest[:16], 16)
            identity.unique_name = f"{identity.func_qualname}${identity.unique_id}"
        except Indescribable:
            pass  # it is not kept for another process either
        self.state.func_id = identity
        untyped_passes.ExtractByteCode().run_pass(self.state)
        self.state.lifted = ()
        self.state.lifted_from = None
        return self._compile_bytecode()
