"""A structure and a reward family as policies and bounds see them: one record, a few functions.

A `Model` holds the numbers of the oracles, so that what uses it is compiled once for all
structures. A structure written in plain Python takes part too: its model's oracles call back.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from armature.families import Family, FamilyRecord
from armature.families.kernels import (
    divide_by_variances,
    unit_gaussian,
    with_variance,
)
from armature.kernels.addresses import (
    Address,
    Signature,
    address_of,
    function_at,
    teach_address,
)
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import Kernel, before_compiling, inlined, kernel
from armature.solver.pooling import pair_cost as pair_cost
from armature.solver.pooling import pooled_mean as pooled_mean
from armature.structures.oracles.records import (
    DEAREST,
    ENTRIES,
    PARTS,
    TIES,
    USUAL,
    OracleProblem,
    Shape,
    Work,
    numba_problem,
)
from armature.structures.oracles.table import COMPARING
from armature.structures.structure import Structure

# Places in `Model.table`: for each entry the number of its kernel (0: there is none), then for each
# entry whether it is derived from the pieces; where the arrays of what is derived begin; whether it
# is a row of a table; the marks.
(PROJECT, ALT_MIN, NEAREST, CELLS, CELL_MIN, CHALLENGER_MIN, CHALLENGER_COSTS,
 CHALLENGER_BOUNDS, BEST_MIN, HIGHEST, OPTIMISTIC) = range(len(ENTRIES))  # fmt: skip
DERIVED = len(ENTRIES)
ORIGIN = 2 * len(ENTRIES)  # of shape.real, shape.integer, work.real, work.integer
IN_TABLE = ORIGIN + 4
MARKS = ORIGIN + 5


class Model(NamedTuple):
    """A structure and a family, with room to compute in: not to be shared between threads."""

    family: FamilyRecord
    shape: Shape
    work: Work
    table: Ints
    weights: Floats  # (K,): room for weights per variance, where arms have variances of their own

    def numbers_of_kernels(self) -> list[Address]:
        """The oracles' numbers."""
        return self.table[:DERIVED].tolist()  # type: ignore[no-any-return]


def oracle_at(address: Address) -> Callable[[OracleProblem, int, int, Floats], float]:
    """The oracle at an address."""
    return function_at(address)


def cells_at(address: Address) -> Callable[[OracleProblem, int, Ints], int]:
    """The oracle `cells` at an address."""
    return function_at(address)


def highest_at(address: Address) -> Callable[[Shape, Work, Floats, Floats, Floats], float]:
    """The oracle `highest` at an address."""
    return function_at(address)


def optimistic_at(address: Address) -> Callable[[OracleProblem, float, Floats], float]:
    """The oracle `optimistic` at an address."""
    return function_at(address)


SIGNED = {name: name for name in ("cells", "highest", "optimistic")}  # by a signature of its own


@functools.cache
def signatures() -> dict[str, Any]:
    """The signatures of the oracles, as Numba sees them; most have the one under ""."""
    import numba as _numba

    types: Any = _numba.types
    reals, integers = types.float64[::1], types.int64[::1]
    shape, work = (types.NamedTuple([reals, integers], record) for record in (Shape, Work))
    problem = numba_problem()
    return {
        "": USUAL(),
        "cells": types.int64(problem, types.int64, integers),
        "highest": types.float64(shape, work, reals, reals, reals),
        "optimistic": types.float64(problem, types.float64, reals),
    }


@before_compiling
def _teach_oracles() -> None:
    known = signatures()
    teach_address(oracle_at, known[""])
    teach_address(cells_at, known["cells"])
    teach_address(highest_at, known["highest"])
    teach_address(optimistic_at, known["optimistic"])


@inlined
def problem_for(model: Model, entry: int, mu: Floats, w: Floats) -> OracleProblem:
    """The problem that an entry is asked, with the arrays that are its.

    Gaussian rewards with a variance for each arm are those of variance 1 with weights w_k / v_k.
    """
    table = model.table
    marks = table[MARKS:]
    family = model.family
    if model.weights.size > 0:
        divide_by_variances(family, w, model.weights)
        w = model.weights
        family = unit_gaussian(family)
    if table[DERIVED + entry] == 0:
        return OracleProblem(family, mu, w, model.shape, model.work, marks)
    return OracleProblem(family, mu, w, derived_shape(model), derived_work(model), marks)


@inlined
def with_estimate(model: Model, variance: float) -> Model:
    """The model with an estimate of the rewards' variance."""
    family = with_variance(model.family, variance)
    return Model(family, model.shape, model.work, model.table, model.weights)


@inlined
def derived_shape(model: Model) -> Shape:
    """The numbers derived from the pieces that kernels read."""
    table = model.table
    return Shape(model.shape.real[table[ORIGIN] :], model.shape.integer[table[ORIGIN + 1] :])


@inlined
def derived_work(model: Model) -> Work:
    """Their scratch space."""
    table = model.table
    return Work(model.work.real[table[ORIGIN + 2] :], model.work.integer[table[ORIGIN + 3] :])


@inlined
def ask(
    model: Model, entry: int, mu: Floats, w: Floats, first: int, second: int, out: Floats
) -> float:
    """Ask one of the oracles that minimise."""
    problem = problem_for(model, entry, mu, w)
    return oracle_at(model.table[entry])(problem, first, second, out)


@kernel
def projection(model: Model, mu: Floats, w: Floats, lam: Floats) -> float:
    """lam = the nearest point of M; its cost."""
    return ask(model, PROJECT, mu, w, -1, -1, lam)


@kernel
def nearest_with(
    model: Model, mu: Floats, w: Floats, best: int, challenger: int, lam: Floats
) -> float:
    """lam = the nearest point of `not best` with lam[challenger] >= lam[best]; its cost."""
    return ask(model, ALT_MIN, mu, w, best, challenger, lam)


@kernel
def nearest_alternative(model: Model, mu: Floats, w: Floats, best: int, lam: Floats) -> float:
    """lam = the nearest point of `not best`; its cost.

    Paper: Eq. (9).
    """
    return ask(model, NEAREST, mu, w, best, -1, lam)


@kernel
def nearest_in_cell(
    model: Model, mu: Floats, w: Floats, best: int, cell: int, lam: Floats
) -> float:
    """lam = the nearest point of a cell of `not best`; its cost."""
    return ask(model, CELL_MIN, mu, w, best, cell, lam)


@kernel
def nearest_challenger(
    model: Model, mu: Floats, w: Floats, best: int, challenger: int, lam: Floats
) -> float:
    """lam = the nearest point of M in which a challenger beats `best`; its cost."""
    return ask(model, CHALLENGER_MIN, mu, w, best, challenger, lam)


@kernel
def nearest_with_best(model: Model, mu: Floats, w: Floats, arm: int, lam: Floats) -> float:
    """lam = the nearest point of M in which an arm is best; its cost."""
    return ask(model, BEST_MIN, mu, w, arm, -1, lam)


@kernel
def list_cells(model: Model, mu: Floats, w: Floats, best: int, out: Ints) -> int:
    """out = the numbers of the cells of `not best`; how many there are."""
    problem = problem_for(model, CELLS, mu, w)
    return cells_at(model.table[CELLS])(problem, best, out)


@inlined
def is_row(model: Model) -> bool:
    """True if other segments tell something of these arms."""
    return bool(model.table[IN_TABLE] == 1)


@inlined
def is_joint(model: Model) -> bool:
    """True if all challengers are weighed in one call."""
    return bool(model.table[CHALLENGER_COSTS] != 0)


@inlined
def most_ties(model: Model, arm: int) -> int:
    """All challengers weighed: how many ties there are at most where an arm beats the best one."""
    noted = model.table[MARKS + arm]
    return int(noted % TIES) if noted > 0 else model.table.size - MARKS - 1


@inlined
def cost_of_moved(model: Model, arm: int, cost: float, extra: float) -> float:
    """After that: what the arms cost at least that move where an arm beats the best.

    Its opponent costs `cost`, by `extra` more than the projection: at least that, and more where
    it is noted what the other arms cost (used with Gaussian rewards, whose means are seldom tied).
    """
    noted = model.table[MARKS + arm]
    if noted <= 0 or not model.family.gaussian or noted >= TIES * PARTS * int(DEAREST):
        return extra
    return max(extra, cost - float(noted // TIES) / PARTS)


@kernel
def challenger_costs(
    model: Model, mu: Floats, w: Floats, best: int, base: float, costs: Floats, lam: Floats
) -> None:
    """costs[i] = what it costs that i beats `best`; at `best`, `base`, the projection's cost."""
    if is_joint(model):
        ask(model, CHALLENGER_COSTS, mu, w, best, -1, costs)
    else:
        for i in range(mu.size):  # costs: set for the arms before i
            if i != best:
                costs[i] = nearest_challenger(model, mu, w, best, i, lam)
    costs[best] = base


@inlined
def has_bounds(model: Model) -> bool:
    """True if the structure bounds what challengers cost."""
    return bool(model.table[CHALLENGER_BOUNDS] != 0)


@kernel
def challenger_bounds(
    model: Model, mu: Floats, w: Floats, best: int, projected: Floats, out: Floats
) -> None:
    """out[i] = how much more than the projection it costs at least that i beats `best`.

    out[K + i] says from which cost on that does not matter: a lower bound of more need not be good.
    """
    for i in range(projected.size):
        out[i] = projected[i]
    ask(model, CHALLENGER_BOUNDS, mu, w, best, -1, out)


@kernel
def highest_means(model: Model, low: Floats, high: Floats, out: Floats) -> bool:
    """out = the highest mean of each arm in M and the box; False where there is no such point."""
    highest = highest_at(model.table[HIGHEST])
    if model.table[DERIVED + HIGHEST] == 0:
        return highest(model.shape, model.work, low, high, out) > 0.0
    return highest(derived_shape(model), derived_work(model), low, high, out) > 0.0


@inlined
def has_optimism(model: Model) -> bool:
    """True if the structure says itself what is plausible at a level."""
    return bool(model.table[OPTIMISTIC] != 0)


@kernel
def optimistic_means(model: Model, mu: Floats, w: Floats, level: float, out: Floats) -> bool:
    """out = the highest plausible mean of each arm, where the structure says what is plausible."""
    problem = problem_for(model, OPTIMISTIC, mu, w)
    return optimistic_at(model.table[OPTIMISTIC])(problem, level, out) > 0.0


@kernel
def unused(problem: OracleProblem, first: int, second: int, out: Floats) -> float:
    """A placeholder for an oracle that was not asked for."""
    if out.size > 0:
        raise RuntimeError("this oracle is not among those that the model was made for")
    return 0.0


def make_model(structure: Structure, family: Family, oracles: Sequence[str] = ENTRIES) -> Model:
    """The model of a structure and a family; only the oracles that are named get compiled."""
    if structure.own_methods:
        from armature.structures.oracles import callbacks

        return callbacks.make_model(structure, family, oracles)
    record = structure.checked_family(family)
    entries = structure.entries(family)
    derived = [own and name in oracles for (_, own), name in zip(entries, ENTRIES, strict=True)]
    kernels = tuple(kernel for kernel, _ in entries)
    shape, work = structure.own_side(family)
    weighs = record.gaussian and not record.alike
    return assemble(record, shape, work, kernels, derived, oracles, structure, weighs)


def assemble(
    record: FamilyRecord,
    shape: Shape,
    work: Work,
    kernels: tuple[Kernel[..., Any] | None, ...],
    derived: Sequence[bool],
    oracles: Sequence[str],
    structure: Structure,
    weighs: bool,
) -> Model:
    """Put a model together, with what is derived from the pieces behind what is the structure's.

    `weighs` says whether oracles get weights per variance: see `problem_for`.
    """
    origin = [shape.real.size, shape.integer.size, work.real.size, work.integer.size]
    if any(derived):
        asked = {name for name, own in zip(ENTRIES, derived, strict=True) if own}
        more_shape, more_work = structure.derived_side(bool(asked & COMPARING))
        shape = Shape(
            np.concatenate([shape.real, more_shape.real]),
            np.concatenate([shape.integer, more_shape.integer]),
        )
        work = Work(  # untouched zeros: what the dense solver alone needs takes no memory
            np.zeros(work.real.size + more_work.real.size),
            np.zeros(work.integer.size + more_work.integer.size, dtype=np.int64),
        )
    addresses = entry_addresses(kernels, tuple(oracles))
    table = [*addresses, *derived, *origin, structure.in_table, *[0] * structure.n_arms]
    weights = np.empty(structure.n_arms if weighs else 0)
    return Model(record, shape, work, np.array(table, dtype=np.int64), weights)


@functools.cache
def entry_addresses(
    kernels: tuple[Kernel[..., Any] | None, ...], oracles: tuple[str, ...]
) -> tuple[Address, ...]:
    """The kernels' numbers; 0 where there is none."""
    found = []
    for name, entry in zip(ENTRIES, kernels, strict=True):
        if entry is None:
            found.append(0)
        elif name in oracles:
            found.append(address_of(entry, Signature(signatures, SIGNED.get(name, ""))))
        else:
            found.append(address_of(unused, Signature(signatures, "")))
    return tuple(found)
