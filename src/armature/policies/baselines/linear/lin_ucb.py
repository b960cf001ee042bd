"""LinUCB (Auer, 2002; Li, Chu, Langford and Schapire, 2010)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from armature.families import Family, FamilyRecord
from armature.families.kernels import of_arm
from armature.kernels.arrays import Floats
from armature.kernels.checks import check_number
from armature.kernels.kernel import kernel
from armature.kernels.streams import Stream
from armature.policies.policy import CompiledPolicy, History
from armature.policies.records import argmax
from armature.solver.least_squares import Ridge, make_ridge, write_ridge_bounds
from armature.structures import Linear, Structure
from armature.structures.oracles.model import Model


class LinUCBState(NamedTuple):
    """Room for least squares."""

    ridge: Ridge
    bounds: Floats  # (K,)
    weights: Floats  # (K,): pulls, those of a noisier arm for less
    width: float
    penalty: float


@kernel
def write_weights(history: History, family: FamilyRecord, weights: Floats) -> None:
    """weights = the pulls; a pull of a noisier arm counts for less."""
    for k in range(history.pulls.size):
        weights[k] = history.pulls[k]
        if not family.alike:
            weights[k] *= family.proxy / of_arm(family, k).proxy


@kernel
def choose(state: LinUCBState, model: Model, history: History, stream: Stream) -> int:
    """The highest bound at alpha = sigma sqrt(2 ln t)."""
    family = model.family
    alpha = math.sqrt(2.0 * family.proxy * math.log(history.clock[0] + 1.0))
    write_weights(history, family, state.weights)
    write_ridge_bounds(
        state.ridge, history.means, state.weights, state.penalty, state.width * alpha, state.bounds
    )
    return argmax(state.bounds)


@dataclass(frozen=True)
class LinUCB(CompiledPolicy):
    """Ridge regression, and the arm with the highest upper confidence bound under it.

    With the features x_k of the arms, G = ridge I + sum of x x' over the pulls and theta =
    G^-1 (sum of x times reward), the bound of an arm is
    x'theta + width sigma sqrt(2 ln t) |x|, in the norm of G^-1. Where the arms' noise differs,
    sigma is the largest, and a pull of arm k counts sigma^2 / sigma_k^2 times.

    Parameters
    ----------
    width : float
        Scale of the bounds, >= 0; with 0 the policy is greedy. The default, 1, is UCB where the
        features are orthogonal. The radius of Abbasi-Yadkori et al., which covers all directions at
        once, is about `width=2.0` for d = 2 and T = 10,000, and loses nearly twice as much on the
        paper's panel; 0.5 loses half as much there, and several times as much in the worst runs of
        other problems.
    ridge : float
        The weight of the prior at 0; 1 unless given, as is usual. From 0.01 to 1 it makes no
        difference that can be told from noise there.

    Guarantee
    ---------
    With the larger radius, regret of order d sqrt(T) ln T for all instances; it is not
    asymptotically optimal for one. O(K d^2 + d^3) a round.

    >>> import armature as am
    >>> bandit = am.Bandit(am.LinUCB(), am.Linear([[1.0], [-1.0]]))
    >>> bandit.ask()
    0
    >>> bandit.tell(0, -1.0)
    >>> bandit.ask()  # a bad reward of one is a good one of the other
    1

    Limits
    ------
    Gaussian and Bernoulli rewards only. Its regret was not compared with anything.

    References
    ----------
    Auer (2002), "Using Confidence Bounds for Exploitation-Exploration Trade-offs".
    Li, Chu, Langford and Schapire (2010), "A Contextual-Bandit Approach to Personalized News
    Article Recommendation".
    Abbasi-Yadkori, Pál and Szepesvári (2011), "Improved Algorithms for Linear Stochastic Bandits".
    Paper: Section 3, LinUCB.
    """

    width: float = 1.0
    ridge: float = 1.0

    structures: ClassVar = (Linear,)
    needs_sub_gaussian: ClassVar[bool] = True
    starts_with_each_arm: ClassVar[bool] = False
    choose: ClassVar = choose

    def __post_init__(self) -> None:
        check_number(self, "width")
        check_number(self, "ridge", 1e-12, what="a positive number")

    def init(self, structure: Structure, family: Family) -> LinUCBState:
        assert isinstance(structure, Linear)
        return LinUCBState(
            ridge=make_ridge(structure.features),
            bounds=np.zeros(structure.n_arms),
            weights=np.zeros(structure.n_arms),
            width=float(self.width),
            penalty=float(self.ridge),
        )
