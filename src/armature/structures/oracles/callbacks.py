"""The oracles that call a structure with methods of its own, in plain Python.

They are kernels like those of the library's structures, and leave compiled code for the one call.
"""

from __future__ import annotations

import contextlib
import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from armature.errors import ArmatureError, short
from armature.families import Family
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import Kernel, before_compiling, callback, maker
from armature.kernels.plain import outside
from armature.structures.oracles.derived_bounds import bounds_of_pairs
from armature.structures.oracles.model import Model, assemble
from armature.structures.oracles.records import ENTRIES, Cell, Fit, OracleProblem, Shape, Work
from armature.structures.structure import Structure, check_highest


def _stay(**types: str) -> Any:
    return contextlib.nullcontext()


objmode: Any = _stay  # out of compiled code; plain Python has nothing to leave


@before_compiling
def _know_objmode() -> None:
    global objmode
    import numba

    objmode = numba.objmode


# What minimises, by entry: the method, of (structure, means, weights, first, second, family).
METHODS: dict[str, Callable[..., Fit]] = {
    "project": lambda M, mu, w, first, second, family: M.project(mu, w, family),
    "alt_min": lambda M, mu, w, first, second, family: M.alt_min(mu, w, first, second, family),
    "nearest": lambda M, mu, w, first, second, family: M.nearest_alternative(mu, w, first, family),
    "cell_min": lambda M, mu, w, first, second, family: M.cell_min(
        mu, w, Cell(first, second), family
    ),
    "challenger_min": lambda M, mu, w, first, second, family: M.challenger_min(
        mu, w, first, second, family
    ),
    "best_min": lambda M, mu, w, first, second, family: M.nearest_with_best(mu, w, first, family),
}


@maker
def asking(entry: str) -> Kernel[[OracleProblem, int, int, Floats], float]:
    """The oracle that asks one of the methods."""
    place = list(METHODS).index(entry)

    def ask(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
        method = place
        number = problem.shape.integer[0]
        variance = problem.family.parameter
        mu = problem.mu
        w = problem.w
        with objmode(cost="float64"):
            cost = _answer(method, number, variance, mu, w, first, second, lam)
        return cost

    return callback(ask)


@callback
def cells(problem: OracleProblem, first: int, out: Ints) -> int:
    """Ask for the cells."""
    number = problem.shape.integer[0]
    variance = problem.family.parameter
    mu = problem.mu
    w = problem.w
    with objmode(n="int64"):
        n = _list_cells(number, variance, mu, w, first, out)
    return n


@callback
def highest(shape: Shape, work: Work, low: Floats, high: Floats, out: Floats) -> float:
    """Ask for the highest means in a box."""
    number = shape.integer[0]
    with objmode(possible="float64"):
        possible = _highest(number, low, high, out)
    return possible


KERNELS: dict[str, Kernel[..., Any]] = {
    **{entry: asking(entry) for entry in METHODS},
    "cells": cells,
    "highest": highest,
}

# The structures with methods of their own that models refer to, by number, while they are in use.
_STRUCTURES: dict[int, tuple[weakref.ref[Structure], Family]] = {}
_NUMBERS = itertools.count()


def number_of(structure: Structure, family: Family) -> int:
    """The number of a structure and a family; it is given back when the structure goes."""
    for number, (reference, known_family) in _STRUCTURES.items():
        if reference() is structure and known_family == family:
            return number
    number = next(_NUMBERS)
    _STRUCTURES[number] = weakref.ref(structure), family
    weakref.finalize(structure, _STRUCTURES.pop, number, None)
    return number


def _asked(number: int, variance: float) -> tuple[Structure, Family]:
    """The kernel that a number stands for, with an estimate where the variance is not known."""
    reference, family = _STRUCTURES.get(number, (lambda: None, None))
    structure = reference()
    if structure is None or family is None:
        raise ArmatureError("the structure that this model is about is gone: keep it as long.")
    return structure, family.estimate(variance) if family.estimated else family


def _answer(
    method: int,
    number: int,
    variance: float,
    mu: Floats,
    w: Floats,
    first: int,
    second: int,
    lam: Floats,
) -> float:
    """Ask a structure in plain Python, which gets copies: the arrays are the caller's."""
    structure, family = _asked(number, variance)
    ask = list(METHODS.values())[method]
    with outside():
        fit = ask(structure, mu.copy(), w.copy(), first, second, family)
    if not isinstance(fit, Fit):
        raise ArmatureError(
            f"{type(structure).__name__}: {list(METHODS)[method]} must return am.Fit(means, cost); "
            f"got {short(fit)}."
        )
    lam[:] = fit.means
    return float(fit.cost)


def _list_cells(number: int, variance: float, mu: Floats, w: Floats, best: int, out: Ints) -> int:
    structure, family = _asked(number, variance)
    with outside():
        found = structure.cells(best, mu.copy(), w.copy(), family)
    if any(cell.marks for cell in found):
        raise ArmatureError(
            f"the cells of {type(structure).__name__} depend on the means, which a structure with "
            "methods of its own can't have."
        )
    out[: len(found)] = [cell.number for cell in found]
    return len(found)


def _highest(number: int, low: Floats, high: Floats, out: Floats) -> float:
    structure, _ = _asked(number, 1.0)
    with outside():
        found = structure.highest(low.copy(), high.copy())
    out[:] = -np.inf if found is None else found
    return 0.0 if found is None else 1.0


def make_model(structure: Structure, family: Family, oracles: Sequence[str]) -> Model:
    """The model of a structure that must be asked through its methods."""
    if "highest" in oracles:
        check_highest(structure)
    shape = Shape(np.empty(0), np.array([number_of(structure, family)], dtype=np.int64))
    work = Work(np.empty(0), np.empty(0, dtype=np.int64))
    bounds = {"challenger_bounds": bounds_of_pairs} if structure.is_convex else {}
    kernels = tuple({**KERNELS, **bounds}.get(entry) for entry in ENTRIES)
    derived = [False] * len(ENTRIES)
    record = structure.checked_family(family)
    return assemble(record, shape, work, kernels, derived, oracles, structure, False)
