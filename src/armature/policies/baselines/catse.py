"""CATSE (Jedor, Louëdec and Perchet, 2019), for strong dominance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from armature.families import Family
from armature.families.kernels import of_arm
from armature.kernels.arrays import Floats, Ints
from armature.kernels.checks import check_horizon, check_number
from armature.kernels.kernel import kernel
from armature.kernels.streams import Stream
from armature.policies.policy import CompiledPolicy, History, Policy
from armature.structures import Categorised, Structure
from armature.structures.oracles.model import Model


class CATSEState(NamedTuple):
    """The categories that are still in, and a place for their bounds."""

    active: Ints  # (C,)
    category: Ints  # (K,)
    low: Floats  # (C,)
    high: Floats  # (C,)
    values: Floats  # (K,)
    log_delta: float  # ln(C / delta)


@kernel
def clipped_level(values: Floats, radius: float) -> float:
    """The nu with |(values - nu)_+| = radius: the most that a unit sum of values is sure to reach.

    It is max over x in the simplex of <x, values> - radius |x|. Newton's method, from below.
    """
    nu = -math.inf
    for i in range(values.size):
        nu = max(nu, values[i] - radius)
    while True:  # invariant: nu is at most the solution, as the function is convex, and grows
        square = 0.0
        total = 0.0
        for i in range(values.size):
            excess = max(0.0, values[i] - nu)
            square += excess * excess
            total += excess
        if total == 0.0:
            return nu  # next to the values, the radius is nothing
        step = (square - radius * radius) / (2.0 * total)
        if not step > 1e-13 * (abs(nu) + radius):
            return nu
        nu += step


@kernel
def bound_categories(state: CATSEState, history: History, variance: float, n: float) -> None:
    """Confidence bounds on the best convex combinations of each active category's means."""
    for c in range(state.active.size):  # low, high: set for the categories before c
        m = 0  # invariant: of the arms before k, how many are in c; values[:m] are their means
        for k in range(state.category.size):
            if state.category[k] == c:
                state.values[m] = history.means[k]
                m += 1
        e = math.sqrt(2.0 * variance / n * (m * math.log(2.0) + state.log_delta))
        values = state.values[:m]
        state.low[c] = clipped_level(values, e)
        for i in range(m):
            values[i] = -values[i]
        state.high[c] = -clipped_level(values, e)


@kernel
def eliminate(state: CATSEState) -> None:
    """Drop the categories that another one is sure to beat.

    Rewards that the confidence bounds do not account for can make a category's own bounds cross,
    and every category one that is beaten: the one with the highest upper bound always stays.
    """
    best = -math.inf  # invariant: of the active categories before c, the highest lower bound,
    highest = -1  # and the category with the highest upper bound
    for c in range(state.active.size):
        if state.active[c] == 1:
            best = max(best, state.low[c])
            if highest < 0 or state.high[c] > state.high[highest]:
                highest = c
    for c in range(state.active.size):
        if best > state.high[c] and c != highest:
            state.active[c] = 0


@kernel
def choose(state: CATSEState, model: Model, history: History, stream: Stream) -> int:
    """Active categories in turns, each arm once a turn; UCB inside of the last one."""
    N = history.pulls
    variance = model.family.proxy  # the largest
    least = -1  # invariant: of the arms before k that are in, the first with the fewest pulls,
    most = 0.0  # and the most pulls of any
    for k in range(N.size):
        if state.active[state.category[k]] == 1:
            most = max(most, N[k])
            if least < 0 or N[k] < N[least]:
                least = k
    left = 0
    for c in range(state.active.size):
        left += state.active[c]
    if left > 1 and N[least] == most:
        bound_categories(state, history, variance, most)
        eliminate(state)
        left = 0
        for c in range(state.active.size):
            left += state.active[c]
    chosen = -1  # invariant: of the arms before k that are in, the one with the highest bound
    highest = -math.inf
    for k in range(N.size):
        if state.active[state.category[k]] == 0:
            continue
        if left == 1:
            bound = history.means[k] + math.sqrt(
                2.0 * of_arm(model.family, k).proxy * math.log(history.clock[0] + 1.0) / N[k]
            )
        else:
            bound = -N[k]
        if bound > highest:
            highest = bound
            chosen = k
    return chosen


@dataclass(frozen=True)
class CATSE(CompiledPolicy):
    """Successive elimination of categories, then UCB: for one category that dominates.

    Every mean of one category is at least every mean of the others (strong dominance). The arms of
    all categories that are still in take turns. With n pulls each, e = sigma sqrt(2 / n (m ln 2 +
    ln(C / delta))) bounds the errors of a category of m arms in all directions at once; its best
    convex combination is then at least max <x, mean> - e |x| and its worst at most
    min <x, mean> + e |x|, over x in the simplex. A category is out once another's lower bound is
    above its upper one; in the last one, UCB.

    Parameters
    ----------
    delta : float, optional
        How likely the bounds of a turn may fail; 1 / sqrt(horizon) unless given. A wrong
        elimination takes two categories whose bounds fail at once: the difference of two means has
        twice the variance, not four times, so that this makes it as unlikely as 1 / horizon. The
        authors have 1 / horizon itself, as in `CATSE(delta=1e-4)` for 10,000 rounds, which loses
        more than one and a half times as much on the paper's panels. With 0.1, single runs drop the
        best category.
    horizon : int, optional
        The number of rounds, for delta; a simulation tells it.

    Guarantee
    ---------
    In a given turn, all bounds hold with probability at least 1 - delta. Regret of order ln T with
    delta = 1 / T. There is always a category left. O(K) a round, but for the turns' ends.

    >>> import armature as am
    >>> instance = am.Instance(am.Categorised("aab"), [2.0, 1.5, 0.0])
    >>> results = am.simulate(instance, [am.CATSE(), am.CATSE(delta=1e-3)], 1000, 20)
    >>> ours, authors = (results.regret(name)[:, -1].mean() for name in results.names)
    >>> bool(ours < authors)
    True

    Limits
    ------
    Strong dominance only; Gaussian and Bernoulli rewards only. It needs the horizon or `delta`.

    References
    ----------
    Jedor, Louëdec and Perchet (2019), "Categorized Bandits".
    Paper: Section 3, CATSE; Appendix G.1, CATSE.
    """

    delta: float | None = None
    horizon: int | None = None

    structures: ClassVar = (Categorised,)
    needs_sub_gaussian: ClassVar[bool] = True
    needs_horizon: ClassVar[bool] = True
    saved: ClassVar = ("active",)
    choose: ClassVar = choose

    def __post_init__(self) -> None:
        check_number(self, "delta", 0.0, 1.0, "a probability", above=True, optional=True)
        check_horizon(self)

    @classmethod
    def examples(cls) -> tuple[Policy, ...]:
        return cls(horizon=1000), cls(delta=0.1)

    def with_horizon(self, horizon: int | None) -> Policy:
        return self if self.delta is not None else super().with_horizon(horizon)

    def init(self, structure: Structure, family: Family) -> CATSEState:
        assert isinstance(structure, Categorised)
        C = len(structure.labels)
        delta = self.delta
        if delta is None:
            delta = 1.0 / math.sqrt(max(self.horizon or 2, 2))
        return CATSEState(
            np.ones(C, dtype=np.int64),
            np.array([structure.labels.index(c) for c in structure.categories]),
            np.zeros(C),
            np.zeros(C),
            np.zeros(structure.n_arms),
            math.log(C / delta),
        )
