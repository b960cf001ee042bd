"""The types of what the large solvers are given: they are compiled apart from their callers."""

from __future__ import annotations

import functools
from typing import Any

from armature.families.record import numba_record
from armature.kernels.addresses import Signature


def signed(name: str) -> Signature:
    """The signature of a solver."""
    return Signature(_signatures, name)


@functools.cache
def _signatures() -> dict[str, Any]:
    import numba as _numba

    from armature.solver.program import Cost, Limits, Region, Rows
    from armature.solver.quadratic import State

    types: Any = _numba.types
    real, number = types.float64, types.int64
    reals, numbers, square = real[::1], number[::1], real[:, ::1]
    cost = types.NamedTuple([numba_record(), reals, reals], Cost)
    rows = types.NamedTuple([numbers, numbers, reals, reals, number], Rows)
    limits = types.NamedTuple([reals, reals, *[number] * 4], Limits)
    region = types.NamedTuple([rows, limits, square], Region)
    vectors, places = [reals] * 3, [numbers] * 3
    state = types.NamedTuple([square, square, *vectors, *places, square, reals], State)
    return {
        "minimise": real(cost, region, reals, state, reals),
        "nearest_of": real(cost, region, number, numbers, reals, state, state, reals),
        "farthest": real(region, number, reals, state, reals),
    }
