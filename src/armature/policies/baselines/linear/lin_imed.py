"""LinIMED (Bian and Tan, 2024)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from armature.families import Family
from armature.kernels.arrays import Floats
from armature.kernels.checks import check_flag, check_number
from armature.kernels.kernel import kernel
from armature.kernels.streams import Stream
from armature.policies.baselines.linear.radius import Ellipsoid, fit, make_ellipsoid, square
from armature.policies.policy import CompiledPolicy, History, Policy
from armature.policies.records import argmax
from armature.structures import Linear, Structure
from armature.structures.oracles.model import Model

NOTHING = 1e-100  # the least squared length to divide by
CAP = 30.0  # the authors' C, of the leader's index in LinIMED-3


class LinIMEDState(NamedTuple):
    """Least squares, what each arm is worth, and how sure that is."""

    room: Ellipsoid
    worth: Floats  # (K,)
    spread: Floats  # (K,): beta |x|^2
    optimistic: bool


@kernel
def choose(state: LinIMEDState, model: Model, history: History, stream: Stream) -> int:
    """argmin of gap^2 / (beta |x|^2) - ln(beta |x|^2)."""
    beta = fit(state.room, model.family, history)
    worst = math.inf
    for k in range(state.worth.size):
        state.spread[k] = max(beta * square(state.room, k), NOTHING)
        state.worth[k] = state.room.means[k]
        if state.optimistic:
            state.worth[k] += math.sqrt(state.spread[k])
        worst = min(worst, state.worth[k])
    leader = argmax(state.worth)
    chosen = leader  # invariant: of the arms so far, the first with the least index, `least`
    least = -math.log(state.spread[leader])
    widest = state.worth[leader] - worst
    if state.optimistic and widest > 0.0:
        least = min(least, math.log(CAP / (widest * widest)))
    for k in range(state.worth.size):
        gap = state.worth[leader] - state.worth[k]
        index = gap * gap / state.spread[k] - math.log(state.spread[k])
        if k != leader and index < least:
            least = index
            chosen = k
    return chosen


@dataclass(frozen=True)
class LinIMED(CompiledPolicy):
    """IMED for linear structures: least squares in place of means, an ellipsoid in place of pulls.

    With theta and V of ridge regression (the ridge is sigma^2 / norm^2), beta the squared radius of
    the ellipsoid around theta that has the parameter at all times with probability 1 - delta, and
    s_k = beta |x_k|^2 in the norm of V^-1, pull the arm with the least gap_k^2 / s_k - ln s_k. The
    gap is that of x'theta to the best (the authors' LinIMED-1); with `optimistic`, that of
    x'theta + sqrt(s), and the leader's index is at most ln(30 / the largest gap squared) (their
    LinIMED-3).

    Parameters
    ----------
    optimistic : bool
        Whether gaps are those of upper confidence bounds.
    norm : float
        A bound on the length of the parameter, > 0.
    delta : float
        With which probability the ellipsoid may miss it, between 0 and 1.

    Guarantee
    ---------
    Regret of order d sqrt(T) ln T for LinIMED-3, times sqrt(ln T) for LinIMED-1 (the authors'
    theorems); not asymptotically optimal. O(K d^2 + d^3) a round.

    >>> import armature as am
    >>> bandit = am.Bandit(am.LinIMED(), am.Linear([[1.0], [-1.0]]))
    >>> bandit.tell([0, 1], [-1.0, 1.0])
    >>> bandit.ask()
    1

    Limits
    ------
    Gaussian and Bernoulli rewards only. The radius is by the determinant of V, where the authors
    take its bound by d and t. LinIMED-2, which needs the horizon, is not here.

    References
    ----------
    Bian and Tan (2024), "Indexed Minimum Empirical Divergence-Based Algorithms for Linear Bandits",
    arXiv 2405.15200.
    """

    optimistic: bool = False
    norm: float = 1.0
    delta: float = 0.01

    structures: ClassVar = (Linear,)
    needs_sub_gaussian: ClassVar[bool] = True
    starts_with_each_arm: ClassVar[bool] = False
    choose: ClassVar = choose

    def __post_init__(self) -> None:
        check_flag(self.optimistic, "optimistic")
        object.__setattr__(self, "optimistic", bool(self.optimistic))
        check_number(self, "norm", 1e-12, what="a positive number")
        check_number(self, "delta", high=0.5, what="a probability", above=True)

    @classmethod
    def examples(cls) -> tuple[Policy, ...]:
        return cls(), cls(optimistic=True, norm=2.0)

    def init(self, structure: Structure, family: Family) -> LinIMEDState:
        assert isinstance(structure, Linear)
        return LinIMEDState(
            room=make_ellipsoid(structure.features, self.norm, self.delta),
            worth=np.zeros(structure.n_arms),
            spread=np.zeros(structure.n_arms),
            optimistic=self.optimistic,
        )
