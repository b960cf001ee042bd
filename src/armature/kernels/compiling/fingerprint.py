"""One hash of everything that a kernel's machine code depends on.

A kernel is compiled together with everything that it refers to by name: other kernels, constants,
records. Its fingerprint is a hash over the byte code of all of them, and over the values of the
constants, so that it changes when any of them does, in whatever file, and with nothing else: not
with a comment, an annotation, or another kernel in the same file.

Plain Python functions can't be called by compiled code, unless Numba was taught how
(`numba.extending.overload`, `intrinsic`). Then the code that teaches is part of the fingerprint,
with all the Python functions that it calls.

What can't be described (an open file as a constant, say) raises `Indescribable`: such a kernel is
compiled in each process.
"""

from __future__ import annotations

import dis
import enum
import functools
import hashlib
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis))
_MISSING = object()


class Indescribable(Exception):  # noqa: N818 (not an error: it is compiled without a cache)
    """A value that may be another one in another process."""


class Fingerprint:
    """The hash of a kernel, and the record classes that it refers to, in a fixed order."""

    def __init__(self, kernel: Any) -> None:
        self.records: list[type] = []
        self._places: dict[int, int] = {}
        self._functions: list[tuple[Any, bool]] = []  # (function, whether it runs while compiling)
        digest = hashlib.sha256(self._refer_to(kernel, False).encode())
        done = 0
        while done < len(self._functions):
            text = self._describe_function(*self._functions[done])
            digest.update(text.encode(errors="surrogatepass") + b"\0")
            done += 1
        self.digest = digest.hexdigest()

    def type_text(self, numba_type: Any) -> str:
        """A Numba type in words that say all about it; its record classes are noted."""
        import numba

        nb: Any = numba.types
        if isinstance(numba_type, nb.BaseNamedTuple):
            parts = ", ".join(self.type_text(t) for t in numba_type.types)
            return f"{self._record_text(numba_type.instance_class)}({parts})"
        if isinstance(numba_type, nb.BaseTuple):
            return f"({', '.join(self.type_text(t) for t in numba_type.types)},)"
        if isinstance(numba_type, nb.FunctionType):
            return f"function{self._signature_text(numba_type.signature)}"
        if isinstance(numba_type, nb.ExternalFunction):  # found by name in every process
            return f"external {numba_type.symbol}{self._signature_text(numba_type.sig)}"
        if isinstance(numba_type, nb.Type) and numba_type.key == numba_type.name:
            return f"{type(numba_type).__name__} {numba_type.name}"
        if isinstance(numba_type, nb.Array) and isinstance(numba_type.dtype, nb.Number):
            return str(numba_type.name)
        if isinstance(numba_type, nb.Optional):
            return f"optional {self.type_text(numba_type.type)}"
        if isinstance(numba_type, (nb.Omitted, nb.Literal)):
            value = getattr(numba_type, "value", _MISSING)
            if value is _MISSING:
                value = getattr(numba_type, "literal_value", _MISSING)
            return f"{type(numba_type).__name__} {self._describe(value, False)}"
        raise Indescribable(f"the type {numba_type}")

    def _signature_text(self, signature: Any) -> str:
        arguments = ", ".join(self.type_text(argument) for argument in signature.args)
        return f"({arguments} -> {self.type_text(signature.return_type)})"

    def _refer_to(self, function: Any, while_compiling: bool) -> str:
        """The place of a function (or kernel) in the list of those to describe."""
        place = self._places.setdefault(id(function), len(self._functions))
        if place == len(self._functions):
            self._functions.append((function, while_compiling))
        return f"function {place}"

    def _describe_function(self, function: Any, while_compiling: bool) -> str:
        """Its name, options, byte code, defaults, and what it refers to."""
        options = getattr(function, "options", None) or getattr(function, "targetoptions", {})
        function = getattr(function, "py_func", function)
        text, _ = _read_code(function.__code__)
        parts = [f"{function.__module__}:{function.__qualname__}", text]
        parts += sorted(f"{name}={value!r}" for name, value in options.items())
        for default in function.__defaults__ or ():
            parts.append(self._describe(default, while_compiling))
        for name, default in sorted((function.__kwdefaults__ or {}).items()):
            parts.append(f"{name}={self._describe(default, while_compiling)}")
        for name, value in _references_of(function):
            parts.append(f"{name}: {self._describe(value, while_compiling)}")
        return "\n".join(parts)

    def _describe(self, value: Any, while_compiling: bool) -> str:
        """A value in words that are the same in every process."""
        if value is _MISSING:
            return "missing"
        if type(value) in _PLAIN:
            return f"{type(value).__name__} {value!r}"
        if isinstance(value, enum.Enum):
            return f"{_name_of(type(value))}.{value.name} {value.value!r}"
        if isinstance(value, type):
            return self._describe_class(value)
        if isinstance(value, (tuple, list)):
            items = ", ".join(self._describe(item, while_compiling) for item in value)
            return f"{self._describe(type(value), while_compiling)}({items})"
        value = getattr(value, "called_as", value)
        if hasattr(value, "py_func"):  # a kernel, or a function compiled by Numba itself
            return self._refer_to(value, while_compiling)
        if isinstance(getattr(value, "_defn", None), types.FunctionType):  # a Numba intrinsic
            return "intrinsic " + self._refer_to(value._defn, True)
        if callable(value) and hasattr(value, "__name__"):
            return self._describe_callable(value, while_compiling)
        return self._describe_other(value, while_compiling)

    def _describe_callable(self, value: Any, while_compiling: bool) -> str:
        """A function that is not a kernel: what Numba was taught about it, or what it does."""
        text = _name_of(value)
        for lesson in _lessons_about(value):
            text += ", taught by " + self._refer_to(lesson, True)
        if while_compiling and isinstance(value, types.FunctionType) and not _is_versioned(value):
            text += ", " + self._refer_to(value, True)
        return text

    def _describe_class(self, value: type) -> str:
        if issubclass(value, tuple) and hasattr(value, "_fields"):
            return self._record_text(value)
        return _name_of(value)

    def _record_text(self, record: Any) -> str:
        if record not in self.records:
            self.records.append(record)
        defaults = sorted(getattr(record, "_field_defaults", {}).items())
        values = [f"{name}={self._describe(value, False)}" for name, value in defaults]
        return f"record {_name_of(record)} {record._fields} {values}"

    def _describe_other(self, value: Any, while_compiling: bool) -> str:
        import numba
        import numpy as np

        if isinstance(value, np.generic | np.ndarray) and not value.dtype.hasobject:
            content = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
            return f"{type(value).__name__} {value.dtype.descr} {value.shape} {content}"
        if isinstance(value, numba.types.Type):
            return self.type_text(value)
        if type(value).__module__ == "numba.core.withcontexts":  # `objmode`
            return _name_of(type(value))
        if while_compiling:  # it may be anything that Python can use: its kind must do
            return f"a {_name_of(type(value))} {getattr(value, '__name__', '')}"
        raise Indescribable(f"a {_name_of(type(value))} as a constant")


def numbers_reached(kernel: Any) -> frozenset[int]:
    """The numbers of the kernels apart that one may call, directly or not."""
    seen, left = {id(kernel)}, [kernel]
    found = set()
    while left:
        for _, value in _references_of(left.pop().py_func):
            if hasattr(value, "py_func") and id(value) not in seen:
                seen.add(id(value))
                left.append(value)
                found.add(getattr(value, "number", None))
    return frozenset(number for number in found if number is not None)


def _references_of(function: Any) -> Iterator[tuple[str, Any]]:
    """The values that a function refers to, with names; attributes of modules are looked up."""
    code = function.__code__
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    for name, *attributes in _read_code(code)[1]:
        value = _look_up(name, cells, function.__globals__)
        while attributes and isinstance(value, types.ModuleType):
            value = getattr(value, attributes.pop(0), _MISSING)
        yield name, value


def _look_up(name: str, cells: dict[str, Any], namespace: dict[str, Any]) -> Any:
    if name in cells:
        try:
            return cells[name].cell_contents
        except ValueError:  # not set yet
            return _MISSING
    builtins = namespace.get("__builtins__", {})
    known = builtins if isinstance(builtins, dict) else vars(builtins)
    return namespace.get(name, known.get(name, _MISSING))


def _name_of(value: Any) -> str:
    """The module of a definition, with the version of its package where it states one."""
    module = getattr(value, "__module__", None) or ""
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", "")
    version = getattr(sys.modules.get(module.partition(".")[0]), "__version__", "")
    return f"{module}:{name} {version if _is_versioned(value) else ''}"


def _is_versioned(value: Any) -> bool:
    """True if it comes with Python or a package that kernels are written against."""
    package = (getattr(value, "__module__", None) or "builtins").partition(".")[0]
    known = {"numba", "numpy", "llvmlite", "scipy"}
    return package in known or (package in sys.stdlib_module_names and package != "__main__")


def _lessons_about(function: Any) -> Iterator[Callable[..., Any]]:
    """The functions, not Numba's own, that tell Numba what to compile for a plain function."""
    from numba.core.typing.templates import builtin_registry

    for _, numba_type in _taught(len(builtin_registry.globals)).get(id(function), ()):
        for template in getattr(numba_type, "templates", ()):
            lesson = getattr(template, "_overload_func", None)
            if isinstance(lesson, types.FunctionType) and not _is_versioned(lesson):
                yield lesson


@functools.lru_cache(maxsize=1)
def _taught(count: int) -> dict[int, list[tuple[Any, Any]]]:
    """All that Numba knows by name, by what is named; `count` of them, to notice new ones."""
    from numba.core.typing.templates import builtin_registry

    known: dict[int, list[tuple[Any, Any]]] = {}
    for pair in builtin_registry.globals:
        known.setdefault(id(pair[0]), []).append(pair)
    return known


@functools.cache
def _read_code(code: types.CodeType) -> tuple[str, tuple[tuple[str, ...], ...]]:
    """The byte code as text, and what it refers to: a global name and the attributes that follow.

    Functions inside it are read as well. Line numbers are left out.
    """
    constants: list[str] = []
    references: list[tuple[str, ...]] = []
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner, found = _read_code(constant)
            constants.append(inner)
            references += found
        elif isinstance(constant, frozenset):
            constants.append(f"frozenset {sorted(map(repr, constant))}")
        else:
            constants.append(repr(constant))
    references += _references(code)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    arguments = (code.co_argcount, code.co_kwonlyargcount, code.co_posonlyargcount, code.co_flags)
    text = f"{arguments} {names} {code.co_code.hex()} {constants}"
    return text, tuple(dict.fromkeys(references))


def _references(code: types.CodeType) -> Iterator[tuple[str, ...]]:
    chain: list[str] = []
    for instruction in dis.get_instructions(code):
        if instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and chain:
            chain.append(instruction.argval)
            continue
        if chain:
            yield tuple(chain)
        chain = []
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME") or (
            instruction.opname in ("LOAD_DEREF", "LOAD_CLOSURE")
            and instruction.argval in code.co_freevars
        ):
            chain = [instruction.argval]
    if chain:
        yield tuple(chain)
