"""The Numba types of the records, for kernels that are passed to other kernels as pointers."""

from __future__ import annotations

import functools
from typing import Any

from armature.families import FamilyRecord
from armature.structures._records import Query, Shape, Work


@functools.cache
def numba_types() -> dict[str, Any]:
    """The types by name; `oracle` is that of a pointer to any kernel of an `Oracle`."""
    import numba

    types: Any = numba.types

    reals, integers = types.float64[::1], types.int64[::1]
    named = {
        "reals": reals,
        "integers": integers,
        "table": types.float64[:, ::1],
        "real": types.float64,
        "integer": types.int64,
        "shape": types.NamedTuple([reals, integers], Shape),
        "work": types.NamedTuple([reals, integers], Work),
        "family": types.NamedTuple([types.int64, types.float64], FamilyRecord),
        "query": types.NamedTuple([types.int64] * 3 + [integers], Query),
    }
    signature = types.float64(
        named["shape"],
        named["family"],
        reals,
        reals,
        named["query"],
        reals,
        named["work"],
    )
    return {**named, "oracle_signature": signature, "oracle": types.FunctionType(signature)}
