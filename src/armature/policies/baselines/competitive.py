"""UCB-C and TS-C (Gupta, Chaudhari, Mukherjee, Joshi and Yağan, 2021)."""

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
from armature.kernels.streams import Stream, fill_normals
from armature.kernels.vectors import fill
from armature.policies.policy import CompiledPolicy, History
from armature.structures import Finite, Structure
from armature.structures.oracles.model import Model


class CompetitiveState(NamedTuple):
    """The rows, the best mean of each, and which arms are the best of a plausible row."""

    rows: Floats  # (n_rows, K)
    top: Floats  # (n_rows,)
    competitive: Floats  # (K,): 1 or 0
    sample: Floats  # (K,)
    width: float  # alpha
    spread: float  # beta


@kernel
def radius(family: FamilyRecord, history: History, width: float, k: int) -> float:
    """sigma sqrt(2 alpha ln t / N)."""
    level = 2.0 * width * math.log(history.clock[0] + 1.0)
    return math.sqrt(level * of_arm(family, k).proxy / history.pulls[k])


@kernel
def mark_competitive(state: CompetitiveState, model: Model, history: History) -> None:
    """Mark the best arms of the rows inside of all intervals; all arms where there is none."""
    K = history.pulls.size
    fill(state.competitive, 0.0)
    plausible = False
    for r in range(state.top.size):
        inside = True  # invariant: row r is inside of the intervals of the arms before k
        k = 0
        while inside and k < K:
            off = abs(state.rows[r, k] - history.means[k])
            inside = off <= radius(model.family, history, state.width, k)
            k += 1
        if inside:
            plausible = True
            for i in range(K):
                if state.rows[r, i] == state.top[r]:
                    state.competitive[i] = 1.0
    if not plausible:
        fill(state.competitive, 1.0)


@kernel
def choose_by_bound(state: CompetitiveState, model: Model, history: History, stream: Stream) -> int:
    """The competitive arm with the highest upper confidence bound."""
    mark_competitive(state, model, history)
    chosen = -1  # invariant: of the competitive arms before k, the first with the highest bound
    highest = -math.inf
    for k in range(history.pulls.size):
        bound = history.means[k] + radius(model.family, history, state.width, k)
        if state.competitive[k] > 0.0 and bound > highest:
            highest = bound
            chosen = k
    return chosen


@kernel
def choose_by_sample(
    state: CompetitiveState, model: Model, history: History, stream: Stream
) -> int:
    """The competitive arm with the highest sample."""
    mark_competitive(state, model, history)
    fill_normals(stream, state.sample)
    chosen = -1  # invariant: of the competitive arms before k, the one with the highest sample
    highest = -math.inf
    for k in range(history.pulls.size):
        if state.competitive[k] > 0.0:
            variance = state.spread * of_arm(model.family, k).proxy / (history.pulls[k] + 1.0)
            sample = history.means[k] + math.sqrt(variance) * state.sample[k]
            if sample > highest:
                highest = sample
                chosen = k
    return chosen


def _initial(structure: Structure, width: float, spread: float) -> CompetitiveState:
    assert isinstance(structure, Finite)
    rows = np.array(structure.rows, order="C")
    return CompetitiveState(
        rows=rows,
        top=rows.max(axis=1),
        competitive=np.zeros(structure.n_arms),
        sample=np.zeros(structure.n_arms),
        width=float(width),
        spread=float(spread),
    )


@dataclass(frozen=True)
class UCBC(CompiledPolicy):
    """UCB among the arms that are best in some scenario which the rewards leave possible.

    A row of the structure is possible if each arm's mean is within sigma sqrt(2 alpha ln t / N) of
    it. The best arms of possible rows are competitive. Of these, pull the one with the highest mean
    + sigma sqrt(2 alpha ln t / N). Where no row is possible, every arm is competitive.

    Parameters
    ----------
    alpha : float
        The width of the intervals, > 0.

    Guarantee
    ---------
    Arms that are not competitive at the true means are pulled a bounded number of times, others of
    the order ln T (the authors' theorem, for alpha large enough). O(rows K) a round.

    >>> import armature as am
    >>> seasons = am.Finite([[0.9, 0.5, 0.1], [0.2, 0.7, 0.3], [0.1, 0.4, 0.8]])
    >>> bandit = am.Bandit(am.UCBC(), seasons, am.Gaussian(0.1))
    >>> bandit.tell([0, 1, 2], [0.9, 0.5, 0.1])
    >>> bandit.ask()
    0

    Limits
    ------
    `Finite` only: means that depend on a parameter become rows, one for each point of a grid.

    References
    ----------
    Gupta, Chaudhari, Mukherjee, Joshi and Yağan (2021), "A Unified Approach to Translate Classical
    Bandit Algorithms to the Structured Bandit Setting", arXiv 1810.08164.
    """

    alpha: float = 3.0

    structures: ClassVar = (Finite,)
    needs_sub_gaussian: ClassVar[bool] = True
    choose: ClassVar = choose_by_bound

    def __post_init__(self) -> None:
        check_number(self, "alpha", 1e-12, what="a positive number")

    def init(self, structure: Structure, family: Family) -> CompetitiveState:
        return _initial(structure, self.alpha, 1.0)


@dataclass(frozen=True)
class TSC(CompiledPolicy):
    """Thompson sampling among the arms that are best in some scenario which is still possible.

    Competitive arms are those of `UCBC`. Of these, pull the one with the highest sample, normal
    around the mean with variance beta sigma^2 / (N + 1).

    Parameters
    ----------
    alpha : float
        The width of the intervals that say which rows are possible, > 0.
    beta : float
        The size of the samples' variance, > 0.

    Guarantee
    ---------
    Arms that are not competitive at the true means are pulled a bounded number of times, others of
    the order ln T (the authors' theorem, for alpha and beta large enough). O(rows K) a round.

    >>> import armature as am
    >>> seasons = am.Finite([[0.9, 0.5, 0.1], [0.2, 0.7, 0.3], [0.1, 0.4, 0.8]])
    >>> bandit = am.Bandit(am.TSC(), seasons, am.Gaussian(0.1))
    >>> bandit.tell([0, 1, 2], [0.9, 0.5, 0.1])
    >>> bandit.ask()
    0

    Limits
    ------
    `Finite` only: means that depend on a parameter become rows, one for each point of a grid.

    References
    ----------
    Gupta, Chaudhari, Mukherjee, Joshi and Yağan (2021), "A Unified Approach to Translate Classical
    Bandit Algorithms to the Structured Bandit Setting", arXiv 1810.08164.
    """

    alpha: float = 3.0
    beta: float = 1.0

    structures: ClassVar = (Finite,)
    needs_sub_gaussian: ClassVar[bool] = True
    choose: ClassVar = choose_by_sample

    def __post_init__(self) -> None:
        check_number(self, "alpha", 1e-12, what="a positive number")
        check_number(self, "beta", 1e-12, what="a positive number")

    def init(self, structure: Structure, family: Family) -> CompetitiveState:
        return _initial(structure, self.alpha, self.beta)
