"""LLVM code on its way: what other kernels include, and what becomes machine code.

Numba optimises every function, makes machine code of it, and then optimises it again inside each
function that calls it. Most kernels are only ever called by other kernels. So a kernel's own code
is kept as it came from the front end (`KernelLibrary`), and is optimised and turned into machine
code only where it is entered from outside, by Python or by address (`EntryLibrary`).
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding as llvm
from numba.core.codegen import JITCodeLibrary


class EntryPoint:
    """The stand-in by which Numba knows a kernel where there is no machine code."""


class KernelLibrary(JITCodeLibrary):
    """A kernel's own code, and the libraries of what it calls."""

    def finalize(self) -> None:
        """Nothing can be added from now on."""
        self._raise_if_finalized()
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """There is no machine code here: so no kernel can be passed to another as a value."""
        raise NotImplementedError("a kernel can't be passed as a value: pass its address.")

    @classmethod
    def from_bitcode(cls, codegen: Any, name: str, code: bytes) -> KernelLibrary:
        """The library that was kept, with all that it calls in it."""
        library = cls(codegen, name)
        library._final_module = llvm.parse_bitcode(code)
        library.finalize()
        return library

    def parts(self) -> list[Any]:
        """This library and all that it calls, each once, and after all that call it.

        The order matters: LLVM links nothing that nobody has asked for yet.
        """
        begun: set[Any] = set()
        finished: list[Any] = []

        def visit(library: Any) -> None:
            if library not in begun:
                begun.add(library)
                if isinstance(library, KernelLibrary):
                    for called in library._linking_libraries:
                        visit(called)
                finished.append(library)

        visit(self)
        return finished[::-1]

    def whole_module(self, exported: bool) -> Any:
        """One module of everything; if exported, its own functions can be called from outside."""
        whole = self._final_module.clone()
        for library in self.parts()[1:]:
            if isinstance(library, KernelLibrary):
                module = super(KernelLibrary, library)._get_module_for_linking()
            else:
                module = library._get_module_for_linking()
            whole.link_in(module, preserve=True)
        if not exported:
            for function in whole.functions:
                if not function.is_declaration and function.linkage == llvm.Linkage.external:
                    function.linkage = "linkonce_odr"
        return whole

    def _get_module_for_linking(self) -> Any:
        """For functions that Numba compiles in its own way, but which call kernels."""
        self._ensure_finalized()
        return self.whole_module(exported=False)


class EntryLibrary(JITCodeLibrary):
    """Machine code of a kernel and all that it calls."""

    def __init__(self, codegen: Any, name: str) -> None:
        super().__init__(codegen, name)
        self.enable_object_caching()

    def _optimize_final_module(self) -> None:
        """Once. Numba's first, cheap round is for counting references, which kernels do not."""
        made = self._codegen._module_pass_manager()
        if isinstance(made, tuple):
            manager, builder = made
            manager.run(self._final_module, builder)
        else:  # Numba 0.61
            made.run(self._final_module)

    def include(self, kernel: KernelLibrary, exported: bool) -> None:
        """Put a kernel into it; if exported, one can ask for its address."""
        for library in kernel.parts():
            if hasattr(self, "_reload_init"):  # Numba 0.61 has none
                self._reload_init.update(library._reload_init)
        module = kernel.whole_module(exported)
        missing = [f.name for f in module.functions if f.is_declaration and f.name[:3] == "_ZN"]
        if missing:
            raise RuntimeError(f"{self.name} calls what is not there: {missing}")
        self._final_module.link_in(module)
        for function in self._final_module.functions:  # nobody else is to share it
            if not function.is_declaration and function.linkage == llvm.Linkage.linkonce_odr:
                function.linkage = "internal"

    def symbols(self) -> set[str]:
        """The names of what is defined in it."""
        module = self._final_module
        return {
            value.name
            for values in (module.functions, module.global_variables)
            for value in values
            if not value.is_declaration
        }

    @classmethod
    def from_machine_code(cls, codegen: Any, name: str, code: bytes, symbols: set[str]) -> Any:
        """The library that was kept."""
        library = cls(codegen, name)
        library._set_compiled_object(code)
        library._finalize_final_module()
        codegen._engine._defined_symbols |= symbols
        return library
