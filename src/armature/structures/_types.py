"""The one signature that all oracles have, as Numba sees it."""

from __future__ import annotations

import functools
from typing import Any

from armature.families import FamilyRecord
from armature.structures._records import Query, Shape, Work


@functools.cache
def oracle_signature() -> Any:
    """(shape, family, mu, w, query, lam, work) -> cost."""
    import numba

    types: Any = numba.types
    reals, integers = types.float64[::1], types.int64[::1]
    return types.float64(
        types.NamedTuple([reals, integers], Shape),
        types.NamedTuple([types.int64, types.float64], FamilyRecord),
        reals,
        reals,
        types.NamedTuple([types.int64] * 3 + [integers], Query),
        reals,
        types.NamedTuple([reals, integers], Work),
    )
