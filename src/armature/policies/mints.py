"""MINTS: arms with the probability of how well the data fit their being best."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from armature._compile import kernel
from armature.families import Family, FamilyRecord
from armature.families.kernels import GAUSSIAN, total_divergence
from armature.policies._best_arm import (
    ORDERED,
    PLAIN,
    SPARSE,
    BestArmRows,
    make_rows,
    rows_of,
    sparse_best_cost,
)
from armature.policies._policy import CompiledPolicy
from armature.policies._records import History, argmax
from armature.streams import Stream, next_unit
from armature.structures import Structure
from armature.structures._convex import domain_high, domain_low, minimise, whole_domain
from armature.structures._quadratic import make_state
from armature.structures._records import Floats
from armature.structures.model import Model, nearest_with, projection


class MINTSState(NamedTuple):
    """What it takes to compute the cost of each arm's being best."""

    rows: BestArmRows
    costs: Floats
    lam: Floats


@kernel
def best_arm_cost(
    state: MINTSState, model: Model, mu: Floats, w: Floats, leader: int, base: float, j: int
) -> float:
    """min of sum_k w_k d(mu_k, lam_k) over lam in M in which arm j is best."""
    rows = state.rows
    if j == leader and rows.kind != ORDERED:
        return base  # (an arm that leads by a tie may be best elsewhere only)
    if rows.kind == PLAIN:
        return nearest_with(model, mu, w, leader, j, state.lam)
    if rows.kind == SPARSE:
        return sparse_best_cost(model, mu, w, j, rows.real)
    K = mu.size
    n = rows.basis.shape[1] if rows.basis.shape[0] > 0 else K
    own = rows_of(rows, j)
    # Orders alone: the minimiser is the same for every family, so take the simplest.
    family = FamilyRecord(GAUSSIAN, 1.0) if rows.kind == ORDERED else model.family
    solver = make_state(rows.real, rows.integer, n, K, own.right.size)
    limits = whole_domain(family, rows.scratch, K, -1, -1)
    scratch = rows.scratch[2 * K :]
    minimise(family, mu, w, own, limits, rows.basis, state.lam, solver, scratch)
    if math.isnan(state.lam[0]):
        return math.inf
    for k in range(K):  # rounding must not leave the domain
        state.lam[k] = min(max(state.lam[k], domain_low(model.family)), domain_high(model.family))
    return total_divergence(model.family, w, mu, state.lam)


@kernel
def choose(state: MINTSState, model: Model, history: History, stream: Stream) -> int:
    """Draw an arm with probability proportional to exp(-cost)."""
    K = history.pulls.size
    base = projection(model, history.means, history.pulls, state.lam)
    leader = argmax(state.lam)
    total = 0.0
    for j in range(K):
        cost = best_arm_cost(state, model, history.means, history.pulls, leader, base, j)
        state.costs[j] = math.exp(-max(0.0, cost - base))
        total += state.costs[j]
    target = next_unit(stream) * total
    for j in range(K):
        target -= state.costs[j]
        if target < 0.0:
            return j
    return leader


@dataclass(frozen=True)
class MINTS(CompiledPolicy):
    """Draw arm j with probability proportional to exp(-C_j).

    C_j is the least sum_k N_k d(mean_k, lam_k) over the lam in M in which arm j is best: a profile
    likelihood in place of a posterior. It takes a convex program for each arm and round.

    (For a structure in plain Python, "best" reads "at least as good as the projection's best arm",
    which is what such a structure can be asked.)
    """

    oracles: ClassVar = ("project", "alt_min")
    choose: ClassVar = choose

    def init(self, structure: Structure, family: Family) -> MINTSState:
        K = structure.n_arms
        return MINTSState(make_rows(structure), np.zeros(K), np.zeros(K))
