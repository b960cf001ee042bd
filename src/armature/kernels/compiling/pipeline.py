"""How a kernel gets through Numba's front end.

Numba's own way, but it ends with LLVM code (`KernelLibrary`) instead of machine code.
"""

from __future__ import annotations

from typing import Any

from numba.core import compiler, typed_passes
from numba.core.compiler_machinery import register_pass

from armature.kernels.compiling.libraries import KernelLibrary
from armature.kernels.compiling.names import lasting_names
from armature.kernels.compiling.shortcuts import KernelFlags, quick_typing


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
