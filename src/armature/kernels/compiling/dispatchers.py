"""A kernel as Numba sees it: called by other kernels, called from Python, called by address."""

from __future__ import annotations

from typing import Any

from numba.core import compiler, errors, sigutils, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

from armature.kernels.compiling import notice
from armature.kernels.compiling.cache import (
    ADDRESS,
    PYTHON,
    EntryCache,
    KernelCache,
    referenced_environments,
)
from armature.kernels.compiling.libraries import EntryLibrary, EntryPoint
from armature.kernels.compiling.pipeline import KernelCompiler
from armature.kernels.gears import Gear, current
from armature.kernels.kernel import NotCompiled

_NumbaDispatcher: Any = CPUDispatcher  # of which the types say little


class _Dispatcher(_NumbaDispatcher):
    """Compiles by looking into a cache first, and counts how often that helped."""

    def __init__(self, kernel: Any, **more: Any) -> None:
        options = {"nopython": True, "boundscheck": None, "error_model": "numpy", **kernel.options}
        super().__init__(kernel.py_func, targetoptions=options, **more)
        self.kernel = kernel

    def compile(self, signature: Any) -> Any:
        """The record that stands for the compiled code of a signature."""
        arguments, returned = sigutils.normalize_signature(signature)
        with global_compiler_lock, self._compiling_counter:
            existing = self.overloads.get(tuple(arguments))
            if existing is not None:
                return existing.entry_point
            result = self._cache.load(signature, self.targetctx)
            if result is not None:
                self._cache_hits[signature] += 1
            else:
                self._cache_misses[signature] += 1
                with notice.compiling(self.kernel):
                    result = self._make(signature, tuple(arguments), returned)
            self.add_overload(result)
            return result.entry_point

    def _make(self, signature: Any, arguments: tuple[Any, ...], returned: Any) -> Any:
        raise NotImplementedError


class Callee(_Dispatcher):
    """A kernel for other kernels to include: LLVM code, not optimised."""

    def __init__(self, kernel: Any) -> None:
        super().__init__(kernel, pipeline_class=KernelCompiler)
        self.targetoptions.update(no_cpython_wrapper=True, no_cfunc_wrapper=True)
        self._cache = KernelCache(kernel)

    def _make(self, signature: Any, arguments: tuple[Any, ...], returned: Any) -> Any:
        result = self._compiler.compile(arguments, returned)._replace(entry_point=EntryPoint())
        self._cache.save(signature, result)
        return result

    def get_call_template(self, arguments: Any, keywords: Any) -> Any:
        """The template by which to call it with these types.

        Numba has a type for each number that is written out in a call, and would compile the kernel
        for each of them. Here it is compiled for numbers, unless it can't be.
        """
        plain = tuple(map(_without_value, arguments))
        named = {name: _without_value(argument) for name, argument in keywords.items()}
        try:
            return super().get_call_template(plain, named)
        except errors.TypingError:
            if plain == tuple(arguments) and named == dict(keywords):
                raise
            return super().get_call_template(arguments, keywords)

    def add_overload(self, result: Any) -> None:
        """Known to other kernels, not to Python."""
        self.targetctx.insert_user_function(result.entry_point, result.fndesc, [result.library])
        self.overloads[tuple(result.signature.args)] = result


def _without_value(argument: Any) -> Any:
    return types.unliteral(argument) if isinstance(argument, types.Literal) else argument


class Entry(_Dispatcher):
    """A kernel for Python to call: machine code."""

    def __init__(self, kernel: Any) -> None:
        super().__init__(kernel)
        self._cache = EntryCache(kernel, PYTHON)

    def _compile_for_args(self, *args: Any, **kwargs: Any) -> Any:
        """Called for types that were not compiled yet: then plain Python answers, if it may."""
        if current.get() is Gear.auto:
            self._types_active_call.clear()
            raise NotCompiled
        return super()._compile_for_args(*args, **kwargs)

    def get_call_template(self, arguments: Any, keywords: Any) -> Any:
        """Functions that Numba compiles include the callee."""
        return self.kernel.callee.get_call_template(arguments, keywords)

    def get_overload(self, signature: Any) -> Any:
        """The same."""
        return self.kernel.callee.get_overload(signature)

    def is_kept(self, signature: Any) -> bool:
        """True if it is there already, or in the cache."""
        there = self.overloads.get(tuple(signature)) is not None
        return there or self._cache.has(signature, self.targetctx)

    def _make(self, signature: Any, arguments: tuple[Any, ...], returned: Any) -> Any:
        kernel = self.kernel.callee
        kernel.compile(signature)
        result = kernel.overloads[arguments]
        flags = compiler.Flags()
        self.targetdescr.options.parse_as_flags(flags, self.targetoptions)
        context = compiler._make_subtarget(self.targetctx, flags)
        library = EntryLibrary(context.codegen(), result.library.name)
        with context.push_code_library(library):
            context.create_cpython_wrapper(
                library, result.fndesc, result.environment, None, release_gil=flags.release_gil
            )
        library.include(result.library, exported=False)
        code = context.get_executable(library, result.fndesc, result.environment)
        result = _with_environments(result._replace(library=library, entry_point=code))
        self._cache.save(signature, result)
        return result


class Addresses:
    """A kernel that is called by its address: machine code that Python can't call."""

    def __init__(self, kernel: Any) -> None:
        self.kernel = kernel
        self._cache = EntryCache(kernel, ADDRESS)
        self._results: dict[Any, Any] = {}

    def of(self, signature: Any) -> int:
        """The address of the code for a signature."""
        with global_compiler_lock:
            if signature not in self._results:
                self._results[signature] = self._load(signature) or self._make(signature)
            result = self._results[signature]
            return int(result.library.get_pointer_to_function(result.fndesc.llvm_func_name))

    def is_kept(self, signature: Any) -> bool:
        """True if it is there already, or in the cache."""
        there = signature in self._results
        return there or self._cache.has(signature, self.kernel.callee.targetctx)

    def _load(self, signature: Any) -> Any:
        return self._cache.load(signature, self.kernel.callee.targetctx)

    def _make(self, signature: Any) -> Any:
        with notice.compiling(self.kernel):
            return self._compile(signature)

    def _compile(self, signature: Any) -> Any:
        callee = self.kernel.callee
        callee.compile(signature)
        result = callee.overloads[tuple(signature.args)]
        library = EntryLibrary(result.library.codegen, result.library.name)
        library.include(result.library, exported=True)
        library.finalize()
        library.codegen.set_env(result.fndesc.env_name, result.environment)
        result = _with_environments(result._replace(library=library, entry_point=EntryPoint()))
        self._cache.save(signature, result)
        return result


def _with_environments(result: Any) -> Any:
    """The same, with the Python objects that the code of all callees refers to."""
    environments = referenced_environments(result.library._final_module)
    for environment in environments:
        result.library.codegen.set_env(environment.env_name, environment)
    return result._replace(referenced_envs=environments)
