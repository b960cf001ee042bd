"""A function of which Python and compiled code have two versions that differ in the last bit."""

from __future__ import annotations

import ctypes
import math
from typing import Any

from armature.kernels.kernel import before_compiling


def _of_the_c_library() -> Any:
    """The function that compiled code calls; Python's own where no such library is found."""
    try:
        found = ctypes.CDLL(None).lgamma
    except (AttributeError, OSError, TypeError):
        return math.lgamma
    found.restype, found.argtypes = ctypes.c_double, [ctypes.c_double]
    return found


_lgamma = _of_the_c_library()


def log_gamma(x: float) -> float:
    """ln Gamma(x), by the C library in both gears.

    >>> log_gamma(5.0) == math.log(24.0)
    True
    """
    return float(_lgamma(x))


@before_compiling
def _teach_log_gamma() -> None:
    from numba.extending import overload

    @overload(log_gamma)
    def _log_gamma(x: Any) -> Any:
        def call(x: Any) -> Any:
            return math.lgamma(x)

        return call
