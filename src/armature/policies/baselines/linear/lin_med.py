"""LinMED (Balagopalan and Jun, 2025)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from armature.families import Family
from armature.kernels.arrays import Floats
from armature.kernels.checks import check_number
from armature.kernels.kernel import kernel
from armature.kernels.streams import Stream
from armature.kernels.vectors import copy, fill
from armature.policies.baselines.linear.radius import Ellipsoid, fit, make_ellipsoid
from armature.policies.baselines.linear.solid import distance
from armature.policies.policy import CompiledPolicy, History, Policy
from armature.policies.records import argmax, draw_index
from armature.solver.least_squares import Ridge, factor, make_ridge, solve_lower
from armature.structures import Linear, Structure
from armature.structures.oracles.model import Model

FAINT = 1e-9  # the least weight in the design: of less, no share could be told from none
STEADY = 1e-12  # a ridge on the design, relative to its largest entry
CLOSE = 1.25  # a design is good where no arm is worth more than so many times the dimension
MOST = 1000  # steps to a design


class LinMEDState(NamedTuple):
    """Least squares, a weight for each arm, and room for the design."""

    room: Ellipsoid
    weights: Floats  # (K,)
    shares: Floats  # (K,): of the design
    leverages: Floats  # (K,): how much each arm would add to it
    design: Ridge
    best: float


@kernel
def write_design(design: Ridge, weights: Floats, shares: Floats, leverages: Floats) -> None:
    """shares = nearly those with the largest det of the sum of share weight x x'.

    Each step multiplies an arm's share by its leverage over the dimension, which keeps their sum
    and raises the determinant; at the best design no leverage is above the dimension.
    """
    X = design.features
    K, d = X.shape
    fill(shares, 1.0 / K)
    for _ in range(MOST):
        for a in range(d):
            fill(design.gram[a], 0.0)
        for k in range(K):
            size = shares[k] * max(weights[k], FAINT)
            for a in range(d):
                for b in range(a + 1):
                    design.gram[a, b] += size * X[k, a] * X[k, b]
        widest = 0.0
        for a in range(d):
            widest = max(widest, design.gram[a, a])
        for a in range(d):
            design.gram[a, a] += STEADY * widest
        factor(design.gram)
        largest = 0.0
        for k in range(K):
            copy(X[k], design.half)
            solve_lower(design.gram, design.half)
            leverages[k] = 0.0
            for a in range(d):
                leverages[k] += design.half[a] * design.half[a]
            leverages[k] *= max(weights[k], FAINT)
            largest = max(largest, leverages[k])
        if largest <= CLOSE * d:
            return
        total = 0.0
        for k in range(K):
            shares[k] *= leverages[k] / d
            total += shares[k]
        for k in range(K):
            shares[k] /= total


@kernel
def weigh(state: LinMEDState, model: Model, history: History) -> float:
    """state.weights = how likely each arm is, up to their sum, which is returned."""
    beta = fit(state.room, model.family, history)
    K = state.weights.size
    leader = argmax(state.room.means)
    for k in range(K):
        gap = state.room.means[leader] - state.room.means[k]
        apart = distance(state.room.halves, leader, k)
        state.weights[k] = math.exp(-gap * gap / (beta * apart)) if apart > 0.0 else 1.0
    write_design(state.design, state.weights, state.shares, state.leverages)
    rest = 0.5 * (1.0 - state.best)
    total = 0.0
    for k in range(K):
        share = rest * state.shares[k] + rest / K
        if k == leader:
            share += state.best
        state.weights[k] *= share
        total += state.weights[k]
    return total


@kernel
def choose(state: LinMEDState, model: Model, history: History, stream: Stream) -> int:
    """Draw an arm with probability proportional to its weight."""
    total = weigh(state, model, history)
    drawn = draw_index(state.weights, total, stream)
    return drawn if drawn >= 0 else argmax(state.room.means)


@kernel
def probabilities(state: LinMEDState, model: Model, history: History, out: Floats) -> bool:
    """out = with which probability `choose` would pull each arm."""
    total = weigh(state, model, history)
    for k in range(out.size):
        out[k] = state.weights[k] / total
    return True


@dataclass(frozen=True)
class LinMED(CompiledPolicy):
    """Maillard sampling for linear structures: every probability is positive and known.

    With theta, V and beta as in `LinIMED`, the leader j the arm with the best x'theta, draw arm k
    with probability proportional to q_k f_k, f_k = exp(-gap_k^2 / (beta |x_k - x_j|^2)), in the
    norm of V^-1. Of q, a part `best` is the leader's, half of the rest is even, and the other half
    is a design: the shares that tell most of the features sqrt(f_k) x_k.

    Parameters
    ----------
    best : float
        The leader's part of q, above 0 and at most 1. The authors try 0.5, 0.9 and 0.99. The last
        has rare very bad runs (`docs/field.md`).
    norm : float
        A bound on the length of the parameter, > 0.
    delta : float
        With which probability the ellipsoid may miss it, between 0 and 1.

    Guarantee
    ---------
    Regret of order d sqrt(T) up to logarithms, and of order d^2 / (smallest gap) up to logarithms
    for one instance (the authors' theorems). The design's leverages are at most 1.25 d, their
    constant but for a factor. O(K d^2 + d^3) a step of it, mostly a few.

    >>> import armature as am
    >>> bandit = am.Bandit(am.LinMED(best=0.5), am.Linear([[1.0, 0.0], [0.0, 1.0]]))
    >>> bandit.probabilities().values  # nothing is known: arm 0 has the leader's part
    array([0.75, 0.25])

    Limits
    ------
    Gaussian and Bernoulli rewards only. The design is started anew in every round.

    References
    ----------
    Balagopalan and Jun (2025), "Minimum Empirical Divergence for Sub-Gaussian Linear Bandits",
    AISTATS.
    """

    best: float = 0.9
    norm: float = 1.0
    delta: float = 0.01

    structures: ClassVar = (Linear,)
    needs_sub_gaussian: ClassVar[bool] = True
    starts_with_each_arm: ClassVar[bool] = False
    choose: ClassVar = choose
    probabilities: ClassVar = probabilities

    def __post_init__(self) -> None:
        check_number(self, "best", high=1.0, what="a probability", above=True)
        check_number(self, "norm", 1e-12, what="a positive number")
        check_number(self, "delta", high=0.5, what="a probability", above=True)

    @classmethod
    def examples(cls) -> tuple[Policy, ...]:
        return cls(), cls(best=0.5, norm=2.0)

    def init(self, structure: Structure, family: Family) -> LinMEDState:
        assert isinstance(structure, Linear)
        K = structure.n_arms
        return LinMEDState(
            room=make_ellipsoid(structure.features, self.norm, self.delta),
            weights=np.zeros(K),
            shares=np.zeros(K),
            leverages=np.zeros(K),
            design=make_ridge(structure.features),
            best=float(self.best),
        )
