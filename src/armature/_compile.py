"""Compiling kernels: on first use, cached on disk, never stale.

A *kernel* is a plain Python function over numbers and arrays, marked with `@kernel`. Nothing is
compiled, and Numba is not even imported, until a kernel is first called; from then on it runs as
machine code and releases the interpreter lock.

Kernels allocate nothing: the caller brings all arrays. So they are compiled without reference
counting (Numba's `_nrt` option), which makes calls between them two to three times cheaper. The
compiler refuses a kernel that allocates, or that returns an array (a record of arrays is fine).

The compiled code is kept in a folder whose name contains a hash of all of the package's sources.
(Numba's own cache looks only at the file that a kernel is defined in: an edit to a kernel that it
*calls* would go unnoticed.) The folder is in the user's cache directory; the environment variable
`ARMATURE_CACHE_DIR` moves it.
"""

from __future__ import annotations

import functools
import hashlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Generic, ParamSpec, TypeVar

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

    def __init__(self, py_func: Callable[P, R], **options: bool) -> None:
        functools.update_wrapper(self, py_func)
        self.py_func, self.options = py_func, {"nogil": True, "_nrt": False, **options}

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if _interpreted.get():
            return self.py_func(*args, **kwargs)
        return self.dispatcher(*args, **kwargs)  # type: ignore[no-any-return]

    @functools.cached_property
    def dispatcher(self) -> Any:
        """The Numba dispatcher (made now if it is not there yet)."""
        _teach_numba_about_kernels()
        import numba

        # Numba reads CACHE_DIR when the dispatcher is made. Put the user's value back at once:
        # their own compiled functions are none of our business.
        config: Any = numba.config
        previous = config.CACHE_DIR
        config.CACHE_DIR = str(cache_directory())
        compiler: Any = functools.partial(numba.njit, error_model="numpy", **self.options)
        try:
            return compiler(cache=True)(self.py_func)
        except RuntimeError:  # written at a prompt: there is no file to keep a cache for
            return compiler()(self.py_func)
        finally:
            config.CACHE_DIR = previous


def kernel(py_func: Callable[P, R]) -> Kernel[P, R]:
    """Mark a function as a kernel: compiled by Numba on first use, cached on disk."""
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
        return numba.types.Dispatcher(value.dispatcher)

    for lesson in _lessons:
        lesson()


@functools.cache
def source_hash() -> str:
    """Sixteen hexadecimal digits that change when a source file with kernels or records does."""
    package = Path(__file__).parent
    digest = hashlib.sha256(sys.version.encode())
    for path in sorted(package.rglob("*.py")):
        source = path.read_bytes()
        if b"_compile" in source or b"NamedTuple" in source:  # kernels, or what they are made of
            digest.update(path.relative_to(package).as_posix().encode())
            digest.update(source)
    return digest.hexdigest()[:16]


@functools.cache
def cache_directory() -> Path:
    """The folder in which this version's compiled kernels are kept (made if it is missing)."""
    root = os.environ.get("ARMATURE_CACHE_DIR")
    if root is None:
        root = os.path.join(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "armature")
    directory = Path(root).expanduser() / source_hash()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        writable = os.access(directory, os.W_OK)
    except OSError:
        writable = False
    if not writable:
        directory = Path(tempfile.mkdtemp(prefix="armature-"))
    return directory
