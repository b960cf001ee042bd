"""Numba's cache of one kernel, kept by our own rules.

Numba keeps an index for each function: a file with all the types for which it was compiled. To read
it, all of them must be importable, those of a user's policy included. Here each signature has a
file of its own, found by a hash of what it depends on: the kernel's fingerprint, the types, the
compiler and the processor. Record classes are not written down but pointed to: they
are at hand where a signature is asked for.

Imported when the first kernel is needed, as it needs Numba.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import io
import pickle
import sys
from typing import Any, NamedTuple

import llvmlite
import numba
from numba.core import caching, compiler, serialize, sigutils
from numba.core.environment import lookup_environment

from armature.kernels.compiling import files, libraries, pipeline
from armature.kernels.compiling.fingerprint import Fingerprint, Indescribable
from armature.kernels.compiling.libraries import EntryLibrary, EntryPoint, KernelLibrary

PYTHON, ADDRESS = "Python", "address"  # who enters machine code
_SETTINGS = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "DEBUGINFO_DEFAULT", "BOUNDSCHECK")


class Place(NamedTuple):
    """The file of one signature, the signature's types, and the records it may point to."""

    name: str
    arguments: tuple[Any, ...]
    records: list[type]


class _KernelFiles(caching.NullCache):
    """Finds the file of a signature, and gets there and back."""

    def __init__(self, kernel: Any, kind: str) -> None:
        self._kernel, self._kind = kernel, kind
        self._missing: tuple[Any, Place | None] = None, None  # what was asked for last, in vain

    @property
    def cache_path(self) -> str | None:
        folder = files.directory()
        return None if folder is None else str(folder)

    def place(self, signature: Any, codegen: Any) -> Place | None:
        """The file of a signature; None if it can't be kept."""
        arguments, returned = sigutils.normalize_signature(signature)
        try:
            fingerprint = Fingerprint(self._kernel)
            texts = [fingerprint.type_text(argument) for argument in arguments]
            if returned is not None:
                texts.append("-> " + fingerprint.type_text(returned))
        except Indescribable as reason:
            files.log.info("%s is not kept: %s", self._kernel.__qualname__, reason)
            return None
        text = "\0".join([self._kind, fingerprint.digest, *texts, *_compiler_text(codegen)])
        digest = hashlib.sha256(text.encode()).hexdigest()[:40]
        plain = "".join(c if c.isalnum() else "_" for c in self._kernel.__name__)[:40]
        return Place(f"{plain}-{digest}", tuple(arguments), fingerprint.records)

    def has(self, signature: Any, target_context: Any) -> bool:
        """True if there is a file for a signature."""
        place = self.place(signature, target_context.codegen())
        return place is not None and files.exists(place.name)

    def load(self, signature: Any, target_context: Any) -> Any:
        """The compiled code of a signature; None if it has to be compiled."""
        place = self.place(signature, target_context.codegen())
        body = None if place is None else files.read(place.name)
        if place is None or body is None:
            self._missing = signature, place
            return None
        target_context.refresh()
        try:
            payload = _Unpickler(io.BytesIO(body), place.records).load()
            if tuple(payload[0].args) != place.arguments:
                raise ValueError("its types are others")
            return self._rebuild(target_context, *payload)
        except Exception as reason:  # whatever it is, compiling helps
            files.log.info("%s can't be used: %s; compiling anew", place.name, reason)
            return None

    def save(self, signature: Any, result: Any) -> None:
        """Keep what was compiled, if possible."""
        if any(not part.can_cache for part in result.lifted):
            return
        asked, place = self._missing
        if asked is not signature:
            place = self.place(signature, result.library.codegen)
        if place is None:
            return
        result.fndesc.typemap = result.fndesc.calltypes = None  # may not be picklable
        buffer = io.BytesIO()
        try:
            payload = self._reduce(result)
            if payload is None:
                return
            _Pickler(buffer, place.records).dump((result.signature, *payload))
        except Exception as reason:
            files.log.info("%s is not kept: %s", place.name, reason)
            return
        files.write(place.name, buffer.getvalue())

    def _reduce(self, result: Any) -> tuple[Any, ...] | None:
        raise NotImplementedError

    def _rebuild(self, target_context: Any, signature: Any, *payload: Any) -> Any:
        raise NotImplementedError


class KernelCache(_KernelFiles):
    """Of LLVM code, for other kernels to include."""

    def __init__(self, kernel: Any) -> None:
        super().__init__(kernel, "kernel")

    def _reduce(self, result: Any) -> tuple[Any, ...] | None:
        library = result.library
        library._ensure_finalized()
        if result.lifted or any(part.has_dynamic_globals for part in library.parts()):
            return None
        module = library.whole_module(exported=True)
        environments = referenced_environments(module)
        code = module.as_bitcode()
        return library.name, code, result.fndesc, result.environment, environments

    def _rebuild(self, target_context: Any, signature: Any, *payload: Any) -> Any:
        name, code, fndesc, environment, environments = payload
        library = KernelLibrary.from_bitcode(target_context.codegen(), name, code)
        return _result(target_context, signature, library, fndesc, environment, environments)


class EntryCache(_KernelFiles):
    """Of machine code."""

    def _reduce(self, result: Any) -> tuple[Any, ...] | None:
        library = result.library
        if library.has_dynamic_globals:
            return None
        code = library._get_compiled_object(), library.symbols()
        parts = result.fndesc, result.environment, result.lifted, result.referenced_envs
        return library.name, code, *parts

    def _rebuild(self, target_context: Any, signature: Any, *payload: Any) -> Any:
        name, (code, symbols), fndesc, environment, lifted, environments = payload
        codegen = target_context.codegen()
        library = EntryLibrary.from_machine_code(codegen, name, code, symbols)
        result = _result(target_context, signature, library, fndesc, environment, environments)
        for one in environments:
            codegen.set_env(one.env_name, one)
        if self._kind == ADDRESS:
            codegen.set_env(fndesc.env_name, environment)
            return result
        entry_point = target_context.get_executable(library, fndesc, environment)
        return result._replace(entry_point=entry_point, lifted=lifted)


def _result(
    target_context: Any,
    signature: Any,
    library: Any,
    fndesc: Any,
    environment: Any,
    environments: list[Any],
) -> Any:
    return compiler.compile_result(
        target_context=target_context,
        typing_context=target_context.typing_context,
        library=library,
        environment=environment,
        entry_point=EntryPoint(),
        fndesc=fndesc,
        signature=signature,
        objectmode=False,
        lifted=(),
        referenced_envs=environments,
        typing_error=None,
    )


def referenced_environments(module: Any) -> list[Any]:
    """The Python objects that code refers to."""
    names = [value.name for value in module.global_variables]
    found = [lookup_environment(name) for name in names if name.startswith("_ZN08NumbaEnv")]
    return [one for one in found if one is not None and one.can_cache()]


class _Pickler(serialize.NumbaPickler):
    """Writes record classes as their places in a list."""

    def __init__(self, file: io.BytesIO, records: list[type]) -> None:
        super().__init__(file, protocol=4)
        self._places = {record: place for place, record in enumerate(records)}

    def persistent_id(self, value: Any) -> int | None:
        return self._places.get(value) if isinstance(value, type) else None


class _Unpickler(pickle.Unpickler):
    """Reads them back."""

    def __init__(self, file: io.BytesIO, records: list[type]) -> None:
        super().__init__(file)
        self._records = records

    def persistent_load(self, place: int) -> type:
        return self._records[place]


def _compiler_text(codegen: Any) -> list[str]:
    """The settings by which the same source is compiled differently."""
    settings = [str(getattr(numba.config, name, "")) for name in _SETTINGS]
    versions = [sys.version, numba.__version__, llvmlite.__version__, _own_source()]
    return [*settings, *versions, *(str(part) for part in codegen.magic_tuple())]


@functools.cache
def _own_source() -> str:
    """The compiler settings, which kernels depend on too."""
    return "".join(inspect.getsource(module) for module in (libraries, pipeline))
