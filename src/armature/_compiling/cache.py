"""Numba's cache of one kernel, kept by our own rules.

Numba keeps an index for each function: a file with all the types for which it was compiled. To read
it, all of them must be importable, those of a user's policy included. Here each signature has a
file of its own, found by a hash of what it depends on: the kernel's fingerprint, the types, the
compiler and the processor. Record classes are not written down but pointed to: whoever asks for a
signature has them at hand.

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

from armature._compiling import files, pipeline
from armature._compiling.fingerprint import Fingerprint, Indescribable

_SETTINGS = ("OPT", "LOOP_VECTORIZE", "SLP_VECTORIZE", "DEBUGINFO_DEFAULT", "BOUNDSCHECK")


class Entry(NamedTuple):
    """The file of one signature, the signature's types, and the records it may point to."""

    name: str
    arguments: tuple[Any, ...]
    records: list[type]


class KernelCache(caching._Cache):
    """What `Dispatcher.compile` asks before compiling, and tells afterwards."""

    def __init__(self, kernel: Any) -> None:
        self._kernel = kernel

    @property
    def cache_path(self) -> str | None:
        folder = files.directory()
        return None if folder is None else str(folder)

    def enable(self) -> None: ...

    def disable(self) -> None: ...

    def flush(self) -> None: ...

    def entry(self, signature: Any, codegen: Any) -> Entry | None:
        """Where a signature is kept; None: it can't be."""
        arguments, returned = sigutils.normalize_signature(signature)
        try:
            fingerprint = Fingerprint(self._kernel)
            texts = [fingerprint.type_text(argument) for argument in arguments]
            if returned is not None:
                texts.append("-> " + fingerprint.type_text(returned))
        except Indescribable as reason:
            files.log.info("%s is not kept: %s", self._kernel.__qualname__, reason)
            return None
        settings = [str(getattr(numba.config, name, "")) for name in _SETTINGS]
        versions = [sys.version, numba.__version__, llvmlite.__version__, _pipeline_source()]
        target = [str(part) for part in codegen.magic_tuple()]
        text = "\0".join([fingerprint.digest, *texts, *settings, *versions, *target])
        digest = hashlib.sha256(text.encode()).hexdigest()[:40]
        plain = "".join(c if c.isalnum() else "_" for c in self._kernel.__name__)[:40]
        return Entry(f"{plain}-{digest}", tuple(arguments), fingerprint.records)

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """The compiled kernel; None if it has to be compiled."""
        target_context.refresh()
        entry = self.entry(signature, target_context.codegen())
        body = None if entry is None else files.read(entry.name)
        if entry is None or body is None:
            return None
        try:
            payload = _Unpickler(io.BytesIO(body), entry.records).load()
            if tuple(payload[3].args) != entry.arguments:
                raise ValueError("its types are others")
            return compiler.CompileResult._rebuild(target_context, *payload)
        except Exception as reason:  # whatever it is, compiling helps
            files.log.info("%s can't be used: %s; compiling anew", entry.name, reason)
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep a compiled kernel, if possible."""
        lifted = any(not part.can_cache for part in result.lifted)
        if lifted or result.library.has_dynamic_globals:
            return
        entry = self.entry(signature, result.library.codegen)
        if entry is None:
            return
        buffer = io.BytesIO()
        try:
            _Pickler(buffer, entry.records).dump(result._reduce())
        except Exception as reason:
            files.log.info("%s is not kept: %s", entry.name, reason)
            return
        files.write(entry.name, buffer.getvalue())


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


@functools.cache
def _pipeline_source() -> str:
    """How kernels are compiled is part of what they depend on."""
    return inspect.getsource(pipeline)
