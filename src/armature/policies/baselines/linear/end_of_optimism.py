"""The algorithm of "The End of Optimism?" (Lattimore and Szepesvári, 2017)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from armature.bounds.allocation import CERTIFIED, Solution, Task, allocate
from armature.bounds.tableau import Tableau, make_tableau
from armature.families import Family, Gaussian
from armature.families.kernels import of_arm
from armature.kernels.arrays import Floats, Ints
from armature.kernels.checks import check_horizon, check_number
from armature.kernels.kernel import kernel
from armature.kernels.streams import Stream
from armature.policies.policy import CompiledPolicy, History, Policy
from armature.policies.records import argmax, mark_exploration
from armature.solver.least_squares import Ridge, estimate, fit_ridge, make_ridge
from armature.structures import Linear, Structure
from armature.structures.oracles.model import Model

RIDGE = 1e-9
ACCURACY = 1e-4
STEPS = 1000
WARM_UP, SUCCESS, RECOVERY = 0.0, 1.0, 2.0


class EndOfOptimismState(NamedTuple):
    """The stage of the algorithm, and the results of the warm-up."""

    phase: Floats  # (1,): warm-up, success or recovery
    means: Floats  # the estimates after the warm-up
    targets: Floats  # how often to pull each arm, by the allocation for these
    tolerance: Floats  # (1,): eps_n
    estimates: Floats
    gaps: Floats
    bounds: Floats
    tableau: Tableau
    spanner: Ints
    ridge: Ridge
    warm_pulls: float
    f: float


@kernel
def write_estimates(state: EndOfOptimismState, history: History, out: Floats) -> float:
    """Least squares estimates of the means; the largest |x| in the inverse Gram norm."""
    fit_ridge(state.ridge, history.means, history.pulls, RIDGE)
    widest = 0.0
    for k in range(out.size):
        out[k], norm = estimate(state.ridge, k)
        widest = max(widest, norm)
    return widest


@kernel
def plan(state: EndOfOptimismState, model: Model, history: History) -> None:
    """After the warm-up: the allocation for its estimates."""
    widest = write_estimates(state, history, state.means)
    state.tolerance[0] = widest * math.sqrt(model.family.proxy * state.f)
    best = argmax(state.means)
    for k in range(state.means.size):
        state.gaps[k] = state.means[best] - state.means[k]
        state.targets[k] = 0.0
    task = Task(state.means, state.gaps, best, ACCURACY, STEPS)
    solution = Solution(state.targets, state.bounds, state.tableau)
    outcome = allocate(model, task, solution)
    for k in range(state.means.size):
        state.targets[k] *= 0.5 * state.f
    state.phase[0] = SUCCESS if outcome <= CERTIFIED + 1 else RECOVERY


@kernel
def choose(state: EndOfOptimismState, model: Model, history: History, stream: Stream) -> int:
    """Warm up; then the allocation while the estimates hold; then UCB."""
    N = history.pulls
    if state.phase[0] == WARM_UP:
        for a in range(state.spanner.size):  # those before a have their pulls
            if N[state.spanner[a]] < state.warm_pulls:
                mark_exploration(history)
                return int(state.spanner[a])
        plan(state, model, history)
    if state.phase[0] == SUCCESS:
        write_estimates(state, history, state.estimates)
        for k in range(N.size):
            if abs(state.estimates[k] - state.means[k]) > 2.0 * state.tolerance[0]:
                state.phase[0] = RECOVERY
        if state.phase[0] == SUCCESS:
            for k in range(N.size):  # the arms before k have reached their targets
                if N[k] < state.targets[k]:
                    mark_exploration(history)
                    return k
            return argmax(state.estimates)
    for k in range(N.size):  # estimates: upper confidence bounds of the arms before k
        if N[k] == 0.0:
            return k
        variance = of_arm(model.family, k).parameter
        radius = math.sqrt(2.0 * variance * math.log(history.clock[0] + 1.0))
        state.estimates[k] = history.means[k] + radius / math.sqrt(N[k])
    return argmax(state.estimates)


@dataclass(frozen=True)
class EndOfOptimism(CompiledPolicy):
    """A short warm-up, the allocation that it asks for, and UCB if the estimates move.

    The arms of a barycentric spanner are pulled ceil(warm_up sqrt(ln n)) times each, where n is the
    horizon. The lower bound's allocation for the estimated means, times f / 2, is then pulled, and
    after it the best arm, with f = 2 (1 + 1 / ln n) ln n + c d ln(d ln n). If an estimate ever
    leaves its interval about that of the warm-up, of half-width 2 max |x| sigma sqrt(f) in the norm
    of the warm-up's inverse Gram matrix, UCB takes over.

    Parameters
    ----------
    c : float
        The weight of the lower-order term of f. The authors' proof has one that it does not name.
        The default, 0, makes the allocation that of ln n + 1, next to what OSSB asks for.
    warm_up : float
        The length of the warm-up in multiples of the authors' sqrt(ln n); the proof holds for every
        constant. With theirs, `EndOfOptimism(c=1.0, warm_up=1.0)`, the plan rests on four pulls of
        each arm at n = 10,000, and the regret is more than twice that of the default, 8.
    horizon : int, optional
        The number of rounds; a simulation tells it.

    Guarantee
    ---------
    Asymptotically optimal for linear structures with Gaussian rewards (the authors' theorem, for a
    large enough c). The allocation is within 1e-4 of the bound's value. O(K d^2 + d^3) a round.

    >>> import armature as am
    >>> bandit = am.Bandit(am.EndOfOptimism(horizon=1000), am.Linear(np.eye(2)))
    >>> for _ in range(100):
    ...     arm = bandit.ask()
    ...     bandit.tell(arm, [1.0, 0.0][arm])
    >>> bandit.pulls.tolist()  # the warm-up is 22 pulls of each
    [78, 22]

    Limits
    ------
    Gaussian rewards only. It needs the horizon. Its regret was not compared with anything.

    References
    ----------
    Lattimore and Szepesvári (2017), "The End of Optimism? An Asymptotic Analysis of Finite-Armed
    Linear Bandits".
    Paper: Section 3, End of Optimism.
    """

    c: float = 0.0
    warm_up: float = 8.0
    horizon: int | None = None

    weighs_by_pulls: ClassVar[bool] = False
    structures: ClassVar = (Linear,)
    families: ClassVar = (Gaussian,)
    needs_horizon: ClassVar[bool] = True
    starts_with_each_arm: ClassVar[bool] = False
    tells_exploration_apart: ClassVar[bool] = True
    keeps_pairs: ClassVar[bool] = True
    oracles: ClassVar = ("nearest",)
    saved: ClassVar = ("phase", "means", "targets", "tolerance")
    choose: ClassVar = choose

    def __post_init__(self) -> None:
        check_number(self, "c")
        check_number(self, "warm_up", 0.0, 1e6, above=True)
        check_horizon(self)

    @classmethod
    def examples(cls) -> tuple[Policy, ...]:
        return (cls(horizon=1000),)

    def init(self, structure: Structure, family: Family) -> EndOfOptimismState:
        assert isinstance(structure, Linear)
        K, d = structure.features.shape
        log = math.log(max(self.horizon or 3, 3))
        vectors = np.zeros((4, K))
        return EndOfOptimismState(
            np.zeros(1),
            vectors[0].copy(),
            vectors[1].copy(),
            np.zeros(1),
            vectors[2].copy(),
            vectors[3].copy(),
            np.zeros(2),
            make_tableau(K),
            barycentric_spanner(structure.features),
            make_ridge(structure.features),
            math.ceil(self.warm_up * math.sqrt(log)),
            2.0 * (1.0 + 1.0 / log) * log + self.c * d * math.log(max(math.e, d * log)),
        )


def barycentric_spanner(features: Floats) -> Ints:
    """Arms in whose features all others have coordinates in [-1, 1] (Awerbuch and Kleinberg).

    >>> barycentric_spanner(np.array([[1.0, 0.0], [0.1, 0.1], [0.0, 2.0], [1.0, 1.0]])).tolist()
    [0, 2]
    """
    # In coordinates of the features' own span, so that what is collinear does not matter.
    left, size, _ = np.linalg.svd(features, full_matrices=False)
    points = left[:, size > 1e-12 * size[0]] * size[size > 1e-12 * size[0]]
    r = points.shape[1]
    chosen: list[int] = []
    for _ in range(r):  # the point furthest from the span so far
        basis = np.linalg.qr(points[chosen].T)[0] if chosen else np.zeros((r, 0))
        rest = np.linalg.norm(points - points @ basis @ basis.T, axis=1)
        chosen.append(int(rest.argmax()))
    swapped = True
    while swapped:
        swapped = False
        coordinates = points @ np.linalg.inv(points[chosen])
        arm, place = np.unravel_index(np.abs(coordinates).argmax(), coordinates.shape)
        if abs(coordinates[arm, place]) > 1.0 + 1e-9:
            chosen[int(place)] = int(arm)
            swapped = True
    return np.array(sorted(chosen), dtype=np.int64)
