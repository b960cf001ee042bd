"""The oracle that calls a structure written in plain Python.

It is a kernel like those of the library's structures, and leaves compiled code for the one call.
Imported only when there is such a structure, as it needs Numba at once.
"""

from __future__ import annotations

import numba

from armature._compile import callback
from armature.families import Family, FamilyRecord
from armature.structures._records import Floats, Oracle, Query, Shape, Work
from armature.structures._structure import Structure


@callback
def call(
    shape: Shape,
    family: FamilyRecord,
    mu: Floats,
    w: Floats,
    query: Query,
    lam: Floats,
    work: Work,
) -> float:
    """Any oracle of a structure in plain Python: the query says which."""
    number = shape.integer[0]
    best = query.best
    first = query.first
    with numba.objmode(cost="float64"):
        cost = _answer(number, mu, w, best, first, lam)
    return cost


# The structures in plain Python that models refer to, by their place in this list.
_STRUCTURES: list[tuple[Structure, Family]] = []


def number_of(structure: Structure, family: Family) -> int:
    for number, (known, known_family) in enumerate(_STRUCTURES):
        if known is structure and known_family == family:
            return number
    _STRUCTURES.append((structure, family))
    return len(_STRUCTURES) - 1


def _answer(number: int, mu: Floats, w: Floats, best: int, first: int, lam: Floats) -> float:
    """Ask a structure in plain Python, which gets copies: the arrays are the caller's."""
    structure, family = _STRUCTURES[number]
    means, weights = mu.copy(), w.copy()
    if best < 0:
        fit = structure.project(means, weights, family)
    elif first < 0:
        fit = structure.nearest_alternative(means, weights, best, family)
    else:
        fit = structure.alt_min(means, weights, best, first, family)
    lam[:] = fit.means
    return float(fit.cost)


ORACLE = Oracle(call, call, call, call)
