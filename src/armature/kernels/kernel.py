"""Compiling kernels: on first use, cached on disk, never stale.

A *kernel* is a plain Python function over numbers and arrays, marked with `@kernel`. Nothing is
compiled, and Numba is not even imported, until a kernel is first called; from then on it runs as
machine code and releases the interpreter lock.

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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, ParamSpec, TypeVar

from armature.errors import ArmatureError, short

P = ParamSpec("P")
R = TypeVar("R")


_interpreted: ContextVar[bool] = ContextVar("interpreted", default=False)


@contextmanager
def interpreted() -> Iterator[None]:
    """Kernels that are called from Python run as plain Python meanwhile."""
    token = _interpreted.set(True)
    try:
        yield
    finally:
        _interpreted.reset(token)


class Kernel(Generic[P, R]):
    """A function that is compiled when it is first called.

    `kernel.py_func` is the plain Python function. Kernels may call each other, and under
    `NUMBA_DISABLE_JIT=1` all of them run interpreted, with the same results.
    """

    stands_for: Kernel[..., Any] | None = None  # the kernel that it only wraps, if it does

    def __init__(self, py_func: Callable[P, R], **options: bool) -> None:
        functools.update_wrapper(self, py_func)
        self.py_func, self.options = py_func, {"nogil": True, "_nrt": False, **options}

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if _interpreted.get():
            return self.py_func(*args, **kwargs)
        return self.dispatcher(*args, **kwargs)  # type: ignore[no-any-return]

    @functools.cached_property
    def dispatcher(self) -> Any:
        """What Python calls (made now if it is not there yet)."""
        return self._made("dispatcher")

    @functools.cached_property
    def callee(self) -> Any:
        """What other kernels call."""
        return self._made("callee")

    @functools.cached_property
    def addresses(self) -> Any:
        """What is called by address: `addresses.of(signature)`."""
        return self._made("addresses")

    def _made(self, face: str) -> Any:
        """One of these, the same in all threads."""
        with _making:
            if face not in self.__dict__:
                self.__dict__[face] = _make(self, face)
            return self.__dict__[face]


_making = threading.RLock()


def _make(kernel: Kernel[..., Any], face: str) -> Any:
    import numba

    config: Any = numba.config
    if config.DISABLE_JIT:
        return kernel.py_func
    _teach_numba_about_kernels()
    from armature.kernels.compiling import dispatchers

    faces = {
        "dispatcher": dispatchers.Entry,
        "callee": dispatchers.Callee,
        "addresses": dispatchers.Addresses,
    }
    return faces[face](kernel)


def kernel(py_func: Callable[P, R]) -> Kernel[P, R]:
    """Mark a function as a kernel: compiled by Numba on first use, cached on disk."""
    if not inspect.isfunction(py_func):
        raise ArmatureError(f"kernel is for a function, as in @am.kernel; got {short(py_func)}.")
    return Kernel(py_func)


def inlined(py_func: Callable[P, R]) -> Kernel[P, R]:
    """Mark a small kernel for inner loops: its code is put wherever it is called."""
    return Kernel(py_func, forceinline=True)


def callback(py_func: Callable[P, R]) -> Kernel[P, R]:
    """Mark a kernel that calls plain Python, for which it holds the interpreter lock."""
    return Kernel(py_func, nogil=False, _nrt=True)


_lessons: list[Callable[[], None]] = []


def before_compiling(lesson: Callable[[], None]) -> Callable[[], None]:
    """Mark a function that extends Numba, to be called before the first kernel is compiled."""
    _lessons.append(lesson)
    return lesson


@functools.cache
def _teach_numba_about_kernels() -> None:
    """Let compiled code call a `Kernel` by name, as if it were its dispatcher."""
    import numba
    from numba.extending import typeof_impl

    @typeof_impl.register(Kernel)
    def _typeof_kernel(value: Kernel[..., Any], context: Any) -> Any:
        return numba.types.Dispatcher(value.callee)

    for lesson in _lessons:
        lesson()
