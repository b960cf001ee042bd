"""A structure and a reward family as policies and bounds see them: one record, six functions.

A `Model` holds the addresses of the oracles, so that what uses it is compiled once for all
structures. A structure written in plain Python takes part too: its model's oracles call back.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from armature._compile import before_compiling, kernel
from armature._pointers import address_of, function_at, is_compiling, make_caller
from armature.families import Family, FamilyRecord
from armature.structures._records import Floats, Ints, Oracle, Query, Shape, Work
from armature.structures._structure import CompiledStructure, Structure
from armature.structures._types import oracle_signature


class Model(NamedTuple):
    """A structure and a family, with room to compute in: not to be shared between threads."""

    shape: Shape
    family: FamilyRecord
    work: Work
    support: Ints  # no support: all 0
    joint: bool  # whether `challengers` weighs all of them in one call
    project: int
    alt_min: int
    nearest: int
    cell_min: int
    challengers: int


def oracle_at(address: int) -> Callable[..., float]:
    """The oracle at an address."""
    return function_at(address)


@before_compiling
def _teach_oracle_at() -> None:
    from numba.extending import overload

    caller = make_caller(oracle_signature())

    @overload(oracle_at)
    def _oracle_at(address: Any) -> Any:
        def call(address: Any) -> Any:
            return caller(address)

        return call


@kernel
def projection(model: Model, mu: Floats, w: Floats, lam: Floats) -> float:
    """lam = the nearest point of M; its cost."""
    query = Query(-1, -1, -1, model.support)
    return oracle_at(model.project)(model.shape, model.family, mu, w, query, lam, model.work)


@kernel
def nearest_with(
    model: Model, mu: Floats, w: Floats, best: int, challenger: int, lam: Floats
) -> float:
    """lam = the nearest point of M with lam[challenger] >= lam[best]; its cost."""
    query = Query(best, challenger, -1, model.support)
    return oracle_at(model.alt_min)(model.shape, model.family, mu, w, query, lam, model.work)


@kernel
def nearest_alternative(model: Model, mu: Floats, w: Floats, best: int, lam: Floats) -> float:
    """lam = the nearest point of `not best`; its cost."""
    query = Query(best, -1, -1, model.support)
    return oracle_at(model.nearest)(model.shape, model.family, mu, w, query, lam, model.work)


@kernel
def nearest_in_cell(model: Model, mu: Floats, w: Floats, query: Query, lam: Floats) -> float:
    """lam = the nearest point of a cell; its cost."""
    return oracle_at(model.cell_min)(model.shape, model.family, mu, w, query, lam, model.work)


@kernel
def nearest_challenger(
    model: Model, mu: Floats, w: Floats, best: int, challenger: int, lam: Floats
) -> float:
    """lam = the nearest point of M in which a challenger beats `best`; its cost."""
    query = Query(best, challenger, -1, model.support)
    return oracle_at(model.challengers)(model.shape, model.family, mu, w, query, lam, model.work)


@kernel
def challenger_costs(
    model: Model, mu: Floats, w: Floats, best: int, base: float, costs: Floats, lam: Floats
) -> None:
    """costs[i] = what it costs that i beats `best`; at `best`, `base`, the projection's cost."""
    if model.joint:
        query = Query(best, -1, -1, model.support)
        oracle_at(model.challengers)(model.shape, model.family, mu, w, query, costs, model.work)
    else:
        for i in range(mu.size):
            if i != best:
                costs[i] = nearest_challenger(model, mu, w, best, i, lam)
    costs[best] = base


@kernel
def unused(
    shape: Shape,
    family: FamilyRecord,
    mu: Floats,
    w: Floats,
    query: Query,
    lam: Floats,
    work: Work,
) -> float:
    """What stands for an oracle that was not asked for."""
    if mu.size > 0:
        raise RuntimeError("this oracle is not among those that the model was made for")
    return 0.0


def make_model(
    structure: Structure, family: Family, oracles: Sequence[str] = Oracle._fields
) -> Model:
    """The model of a structure and a family; only the oracles that are named get compiled."""
    if isinstance(structure, CompiledStructure):
        structure.checked_family(family)
        shape, work, kernels = structure.shape, structure.workspace(), structure.oracle
    else:
        from armature.structures import _callbacks

        number = _callbacks.number_of(structure, family)
        shape = Shape(np.empty(0), np.array([number], dtype=np.int64))
        work = Work(np.empty(0), np.empty(0, dtype=np.int64))
        kernels = _callbacks.ORACLE
    support = np.zeros(structure.n_arms, dtype=np.int64)
    joint = kernels.challengers is not None
    return Model(shape, family.record, work, support, joint, *_addresses(kernels, tuple(oracles)))


@functools.cache
def _addresses(kernels: Oracle, oracles: tuple[str, ...]) -> tuple[int, ...]:
    signature = oracle_signature() if is_compiling() else None
    return tuple(
        address_of((oracle or kernels.alt_min) if name in oracles else unused, signature)
        for name, oracle in kernels._asdict().items()
    )
