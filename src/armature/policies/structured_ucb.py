"""M-UCB: optimism inside the structure."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from armature._compile import kernel
from armature.families import Bernoulli, Family, Gaussian
from armature.families.kernels import GAUSSIAN, lower, upper
from armature.policies._optimism import (
    box_rows,
    categorised_bounds,
    lipschitz_bounds,
    polyhedral_bounds,
    simplex_bounds,
    sparse_bounds,
    unimodal_bounds,
)
from armature.policies._policy import CompiledPolicy
from armature.policies._records import History, argmax
from armature.policies.lin_ucb import LinUCBState, make_least_squares, write_linear_bounds
from armature.streams import Stream
from armature.structures import (
    Categorised,
    Linear,
    Lipschitz,
    PolyhedralStructure,
    Simplex,
    Sparse,
    Structure,
    Unconstrained,
    Unimodal,
)
from armature.structures._quadratic import Rows
from armature.structures._records import Floats, Ints
from armature.structures.model import Model

UNCONSTRAINED, UNIMODAL, CATEGORISED, SPARSE, LINEAR, LIPSCHITZ, SIMPLEX, POLYHEDRAL = range(8)
KINDS: dict[type[Structure], int] = {
    Unconstrained: UNCONSTRAINED,
    Unimodal: UNIMODAL,
    Categorised: CATEGORISED,
    Sparse: SPARSE,
    Linear: LINEAR,
    Lipschitz: LIPSCHITZ,
    Simplex: SIMPLEX,
    PolyhedralStructure: POLYHEDRAL,
}


class StructuredUCBState(NamedTuple):
    """Room for the box and the bounds; what the linear, Lipschitz and polyhedral kinds need."""

    kind: int
    low: Floats
    high: Floats
    bounds: Floats
    linear: LinUCBState
    constant: float
    positions: Floats
    rows: Rows
    real: Floats
    integer: Ints


@kernel
def write_bounds(state: StructuredUCBState, model: Model, history: History) -> bool:
    """The highest mean of each arm inside of the box and of M; False where there is no point."""
    if state.kind == UNIMODAL:
        return unimodal_bounds(state.low, state.high, state.bounds)
    if state.kind == CATEGORISED:
        return categorised_bounds(model.shape, state.low, state.high, state.bounds)
    if state.kind == SPARSE:
        return sparse_bounds(model.shape, state.low, state.high, state.bounds)
    if state.kind == LIPSCHITZ:
        return lipschitz_bounds(
            state.constant, state.positions, state.low, state.high, state.bounds
        )
    if state.kind == SIMPLEX:
        return simplex_bounds(state.low, state.high, state.bounds)
    if state.kind == POLYHEDRAL:
        return polyhedral_bounds(
            state.rows, state.low, state.high, state.bounds, state.real, state.integer
        )
    return False


@kernel
def choose(state: StructuredUCBState, model: Model, history: History, stream: Stream) -> int:
    """The arm with the highest bound; without regard to M where that leaves nothing."""
    level = math.log(history.clock[0] + 1.0)
    if state.kind == LINEAR:
        variance = model.family.variance if model.family.code == GAUSSIAN else 0.25
        write_linear_bounds(state.linear, history, math.sqrt(2.0 * variance * level))
        return argmax(state.linear.bounds)
    for k in range(history.pulls.size):
        state.low[k] = lower(model.family, history.means[k], level / history.pulls[k])
        state.high[k] = upper(model.family, history.means[k], level / history.pulls[k])
    if write_bounds(state, model, history):
        return argmax(state.bounds)
    return argmax(state.high)


@dataclass(frozen=True)
class StructuredUCB(CompiledPolicy):
    """The arm with the highest mean that some vector of M has inside all intervals N d <= ln t.

    The paper calls it M-UCB. On a linear structure it is `LinUCB`. A linear program for each arm
    and round where the structure is a general polyhedron, closed forms elsewhere.
    """

    structures: ClassVar = tuple(KINDS)
    choose: ClassVar = choose

    def _objection(self, structure: Structure, family: Family) -> str | None:
        if isinstance(structure, Linear) and not isinstance(family, (Gaussian, Bernoulli)):
            return "StructuredUCB on a Linear structure is for Gaussian or Bernoulli rewards."
        return super()._objection(structure, family)

    def init(self, structure: Structure, family: Family) -> StructuredUCBState:
        K = structure.n_arms
        kind = next(code for cls, code in KINDS.items() if isinstance(structure, cls))
        features = structure.features if isinstance(structure, Linear) else np.zeros((K, 1))
        general = structure if isinstance(structure, PolyhedralStructure) else Lipschitz(2, 1.0)
        return StructuredUCBState(
            kind,
            np.zeros(K),
            np.zeros(K),
            np.zeros(K),
            make_least_squares(features, 1.0, 1.0),
            structure.constant if isinstance(structure, Lipschitz) else 0.0,
            structure.positions.copy() if isinstance(structure, Lipschitz) else np.zeros(K),
            *box_rows(general),
        )
