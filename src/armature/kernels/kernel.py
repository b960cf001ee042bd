"""Kernels: plain Python at first, machine code once they are worth it.

A *kernel* is a plain Python function over numbers and arrays, marked with `@kernel`. Called from
Python, it runs as it stands until it has cost half a second; then it is compiled in another process
(`armature.kernels.compiling.meanwhile`), and from the next call on it runs as machine code, which
releases the interpreter lock. The bits are the same. Numba is not even imported before. Long work,
such as a simulation, is compiled at once (`armature.kernels.gears`).

Kernels allocate nothing: the caller brings all arrays. So they are compiled without reference
counting (Numba's `_nrt` option), which makes calls between them two to three times cheaper. The
compiler refuses a kernel that allocates, or that returns an array (a record of arrays is fine).

The compiled code is kept on disk, by a hash of all that it depends on: an edit to a kernel, or to
anything that it refers to, in whatever file, compiles anew what is concerned and nothing else
(`armature.kernels.compiling`). It is kept in the user's cache directory; the environment variable
`ARMATURE_CACHE_DIR` moves it.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar

from armature.errors import ArmatureError, short
from armature.kernels import addresses, gears
from armature.kernels.addresses import numbers_in, waiting
from armature.kernels.gears import Gear, current
from armature.kernels.plain import on_trial

P = ParamSpec("P")
R = TypeVar("R")

AUTO, COMPILED, PYTHON = Gear.auto, Gear.compiled, Gear.python


class NotCompiled(Exception):  # noqa: N818 (plain Python answers then)
    """There is no machine code for these types."""


class Kernel(Generic[P, R]):
    """A function that runs as plain Python or as machine code, with the same results.

    `kernel.py_func` is the plain Python function. Kernels may call each other: what is called by
    plain Python runs as plain Python.
    """

    stands_for: Kernel[..., Any] | None = None  # the kernel that it only wraps, if it does
    recipe: tuple[Callable[..., Any], tuple[Any, ...]] | None = None  # what made it, of what
    machine_code: Callable[..., Any] | None = None  # once there is any
    seconds = 0.0  # that it has cost as plain Python

    def __init__(self, py_func: Callable[P, R], **options: bool) -> None:
        functools.update_wrapper(self, py_func)
        self.name = f"{py_func.__module__}.{py_func.__qualname__}"
        self.py_func, self.options = py_func, {"nogil": True, "_nrt": False, **options}

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        gear = current.get()
        if gear is AUTO:
            code = self.machine_code
            if code is not None and (not waiting or waiting.isdisjoint(self.numbers(args, kwargs))):
                try:
                    return code(*args, **kwargs)  # type: ignore[no-any-return]
                except NotCompiled:
                    pass
            return on_trial(self, args, kwargs)  # type: ignore[no-any-return]
        if gear is COMPILED:
            return self.by_machine_code(args, kwargs)  # type: ignore[no-any-return]
        if gear is not PYTHON:
            gear.check()
        return self.py_func(*args, **kwargs)

    def by_machine_code(self, args: Any, kwargs: Any) -> Any:
        """Call it, compiled now if need be, as is what it calls by number."""
        code = self.dispatcher
        result = code(*args, **kwargs)
        if self.machine_code is None:
            self.machine_code = code
            gears.changed += 1
        return result

    def numbers(self, args: Any, kwargs: Any) -> set[int]:
        """The numbers of the kernels that it may call if it is called with these."""
        found = numbers_in((*args, *kwargs.values()))
        found.update(args[place] for place in self._given if place < len(args))
        return found

    @functools.cached_property
    def _given(self) -> list[int]:
        """The parameters that are numbers of kernels."""
        names = inspect.signature(self.py_func).parameters.values()
        return [place for place, one in enumerate(names) if one.annotation == "Address"]

    dispatcher: Any  # the function that Python calls
    callee: Any  # the function that other kernels call
    addresses: Any  # called by address: `addresses.of(signature)`

    def __getattr__(self, face: str) -> Any:
        """One of these, made when it is asked for first, the same in all threads.

        Numba's lock comes first: who compiles holds it, and asks for the faces of other kernels.
        """
        if face not in FACES:
            raise AttributeError(f"a kernel has no attribute {face!r}")
        from numba.core.compiler_lock import global_compiler_lock

        with global_compiler_lock, _making:
            if face not in self.__dict__:
                self.__dict__[face] = _make(self, face)
            return self.__dict__[face]

    @property
    def called_as(self) -> Kernel[..., R]:
        """The kernel that others get where they call this one."""
        return self


FACES = ("dispatcher", "callee", "addresses")
_making = threading.RLock()


def _make(kernel: Kernel[..., Any], face: str) -> Any:
    _teach_numba_about_kernels()
    from armature.kernels.compiling import dispatchers

    faces = {
        "dispatcher": dispatchers.Entry,
        "callee": dispatchers.Callee,
        "addresses": dispatchers.Addresses,
    }
    return faces[face](kernel)


def kernel(py_func: Callable[P, R]) -> Kernel[P, R]:
    """Mark a function as a kernel: compiled by Numba once it is worth it, cached on disk."""
    if not inspect.isfunction(py_func):
        raise ArmatureError(f"kernel is for a function, as in @am.kernel; got {short(py_func)}.")
    return Kernel(py_func)


def inlined(py_func: Callable[P, R]) -> Kernel[P, R]:
    """Mark a small kernel for inner loops: its code is put wherever it is called."""
    return Kernel(py_func, forceinline=True)


def callback(py_func: Callable[P, R]) -> Kernel[P, R]:
    """Mark a kernel that calls plain Python, for which it holds the interpreter lock."""
    return Kernel(py_func, nogil=False, _nrt=True)


M = TypeVar("M", bound="Kernel[..., Any] | None")


def maker(factory: Callable[..., M]) -> Callable[..., M]:
    """Mark a function that makes kernels: the same one for the same arguments.

    What it was made of is noted, so that another process can make it as well.
    """

    @functools.cache
    def make(*parts: Any) -> M:
        made = factory(*parts)
        if made is not None and made.recipe is None:
            made.recipe = made_by, parts
        return made

    @functools.wraps(factory)
    def made_by(*parts: Any) -> M:
        return make(*parts)

    return made_by


_lessons: list[Callable[[], None]] = []


def before_compiling(lesson: Callable[[], None]) -> Callable[[], None]:
    """Mark a function that extends Numba, to be called before the first kernel is compiled.

    Or at once, where that has been already.
    """
    _lessons.append(lesson)
    if _teach_numba_about_kernels.cache_info().currsize:
        lesson()
    return lesson


@functools.cache
def _teach_numba_about_kernels() -> None:
    """Let compiled code call a `Kernel` by name, as if it were its dispatcher."""
    import numba
    from numba.extending import typeof_impl

    @typeof_impl.register(Kernel)
    def _typeof_kernel(value: Kernel[..., Any], context: Any) -> Any:
        return numba.types.Dispatcher(value.called_as.callee)

    addresses.name_table()
    for lesson in _lessons:
        lesson()
