"""Oracles that call a structure written in plain Python.

Each is a kernel like the oracles of the library's structures, and leaves compiled code for the one
call. Imported only when there is such a structure, as it needs Numba at once.
"""

from __future__ import annotations

import numba

from armature._compile import callback
from armature.families import Family, FamilyRecord
from armature.structures._records import Floats, Oracle, Query, Shape, Work
from armature.structures._structure import Structure


@callback
def call_project(
    shape: Shape,
    family: FamilyRecord,
    mu: Floats,
    w: Floats,
    query: Query,
    lam: Floats,
    work: Work,
) -> float:
    """`project` of a structure in plain Python."""
    number = shape.integer[0]
    best = query.best
    first = query.first
    with numba.objmode(cost="float64"):
        cost = _answer(number, "project", mu, w, best, first, lam)
    return cost


@callback
def call_alt_min(
    shape: Shape,
    family: FamilyRecord,
    mu: Floats,
    w: Floats,
    query: Query,
    lam: Floats,
    work: Work,
) -> float:
    """`alt_min` of a structure in plain Python."""
    number = shape.integer[0]
    best = query.best
    first = query.first
    with numba.objmode(cost="float64"):
        cost = _answer(number, "alt_min", mu, w, best, first, lam)
    return cost


@callback
def call_nearest(
    shape: Shape,
    family: FamilyRecord,
    mu: Floats,
    w: Floats,
    query: Query,
    lam: Floats,
    work: Work,
) -> float:
    """`nearest_alternative` of a structure in plain Python."""
    number = shape.integer[0]
    best = query.best
    first = query.first
    with numba.objmode(cost="float64"):
        cost = _answer(number, "nearest_alternative", mu, w, best, first, lam)
    return cost


# The structures in plain Python that models refer to, by their place in this list.
_STRUCTURES: list[tuple[Structure, Family]] = []


def number_of(structure: Structure, family: Family) -> int:
    for number, (known, known_family) in enumerate(_STRUCTURES):
        if known is structure and known_family == family:
            return number
    _STRUCTURES.append((structure, family))
    return len(_STRUCTURES) - 1


def _answer(
    number: int, method: str, mu: Floats, w: Floats, best: int, first: int, lam: Floats
) -> float:
    """Ask a structure in plain Python, which gets copies: the arrays are the caller's."""
    structure, family = _STRUCTURES[number]
    arms = {"project": (), "nearest_alternative": (best,)}.get(method, (best, first))
    fit = getattr(structure, method)(mu.copy(), w.copy(), *arms, family)
    lam[:] = fit.means
    return float(fit.cost)


ORACLE = Oracle(call_project, call_alt_min, call_nearest, call_alt_min)
