"""`solve_precisely`: quadratic programs with 32 digits, out of compiled code.

Few programs need it, and it takes long to compile. So compiled code does not contain it: it calls
back into Python, where the kernel is compiled (or read from the cache) once it is needed.
"""

from __future__ import annotations

import ctypes
import importlib
from typing import Any

import numpy as np

from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import before_compiling
from armature.solver.precise import precise_program
from armature.solver.program import Limits, Region, Rows
from armature.solver.quadratic import STUCK, State, make_state, state_size

SYMBOL = "armature_solve_precisely"
N_ARGUMENTS = 24


def solve_precisely(
    region: Region, y: Floats, lam: Floats, g: Floats, h: Floats, state: State, size: float
) -> int:
    """Minimise sum_i g_i p_i + h_i p_i^2 / 2 with p = (the state's lam) - lam and lam = B y."""
    return precise_program(region, y, lam, g, h, state, size)


def _floats(address: int, *shape: int) -> Floats:
    if 0 in shape:
        return np.empty(shape)
    buffer: Any = (ctypes.c_double * int(np.prod(shape))).from_address(address)
    return np.frombuffer(buffer, dtype=np.float64).reshape(shape)


def _integers(address: int, size: int) -> Ints:
    if size == 0:
        return np.empty(0, dtype=np.int64)
    buffer: Any = (ctypes.c_int64 * size).from_address(address)
    return np.frombuffer(buffer, dtype=np.int64)


def _answer(size: float, *arguments: int) -> int:
    """Put the arrays together again and solve; 1 more than the outcome."""
    n, K, m, n_entries, dimension, equalities, j, k, i, top = arguments[:10]
    start, indices, values, right, low, high, basis, y, lam, g, h, real, integer = arguments[10:]
    n_real, n_integer = state_size.py_func(n, K, m)
    rows = Rows(
        _integers(start, m + 1),
        _integers(indices, n_entries),
        _floats(values, n_entries),
        _floats(right, m),
        equalities,
    )
    limits = Limits(_floats(low, K), _floats(high, K), j, k, i, top)
    outcome = precise_program(
        Region(rows, limits, _floats(basis, K, n) if dimension else np.empty((0, 0))),
        _floats(y, n),
        _floats(lam, K),
        _floats(g, K),
        _floats(h, K),
        make_state.py_func(_floats(real, n_real), _integers(integer, n_integer), n, K, m),
        size,
    )
    return 1 + outcome


_entry = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_double, *[ctypes.c_int64] * (N_ARGUMENTS - 1))(
    _answer
)


@before_compiling
def _teach_solve_precisely() -> None:
    import numba
    from numba.extending import overload

    types: Any = numba.types
    address = ctypes.cast(_entry, ctypes.c_void_p).value
    importlib.import_module("llvmlite.binding").add_symbol(SYMBOL, address)
    signature = types.int64(types.float64, *[types.int64] * (N_ARGUMENTS - 1))
    answer = types.ExternalFunction(SYMBOL, signature)

    @overload(solve_precisely)
    def _solve_precisely(
        region: Any, y: Any, lam: Any, g: Any, h: Any, state: Any, size: Any
    ) -> Any:
        def call(region: Any, y: Any, lam: Any, g: Any, h: Any, state: Any, size: Any) -> Any:
            rows = region.rows
            limits = region.limits
            basis = region.basis
            outcome = answer(
                size,
                y.size,
                lam.size,
                rows.right.size,
                rows.indices.size,
                basis.shape[0],
                rows.equalities,
                limits.j,
                limits.k,
                limits.i,
                limits.top,
                rows.start.ctypes.data,
                rows.indices.ctypes.data,
                rows.values.ctypes.data,
                rows.right.ctypes.data,
                limits.low.ctypes.data,
                limits.high.ctypes.data,
                basis.ctypes.data,
                y.ctypes.data,
                lam.ctypes.data,
                g.ctypes.data,
                h.ctypes.data,
                state.columns.ctypes.data,  # the first of its numbers
                state.length.ctypes.data,  # the first of its integers
            )
            return outcome - 1 if outcome > 0 else STUCK

        return call
