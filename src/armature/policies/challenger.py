"""Challenger: draw the opponent, answer it with the most information per regret."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from armature._compile import inlined, kernel
from armature.arrays import Floats
from armature.families import Family
from armature.families.kernels import divergence, of_arm, variance
from armature.policies._explanation import Belief
from armature.policies._options import check_choice, check_flag, check_number
from armature.policies._policy import CompiledPolicy, Policy
from armature.policies.records import History, argmax, mark_exploration
from armature.streams import Stream, next_unit, next_units
from armature.structures import Structure
from armature.structures.model import (
    Model,
    challenger_costs,
    is_joint,
    nearest_challenger,
    projection,
)
from armature.structures.vectors import largest

NEGLIGIBLE = 38.0  # beyond this a weight is lost beside the leader's 1, in double precision
UNMOVED = 1e-11  # a difference that is rounding, relative to the largest mean
TINY = 1e-100  # the least regret to divide by


class ChallengerOptions(NamedTuple):
    """The policy's options as its kernels see them."""

    tail: bool
    share: float
    patience: float
    floor: bool
    leader: bool
    projected: bool


class ChallengerState(NamedTuple):
    """Room for the projection, the weights of the draw, and the opponent."""

    projected: Floats
    weights: Floats
    solved: Floats  # 1 where a weight is known, 0 where it is a bound
    lam: Floats
    convex: bool  # whether M is
    options: ChallengerOptions


@inlined
def weight(tail: bool, G: float) -> float:
    """How likely a challenger is that costs G more than the projection, the leader having 1."""
    if not G < NEGLIGIBLE:
        return 0.0
    return 0.5 * math.erfc(math.sqrt(max(G, 0.0))) if tail else math.exp(-max(G, 0.0))


@kernel
def drawn(weights: Floats, j: int, u: float) -> int:
    """The arm in whose part of the weights the share u of their total lies, j's being the first."""
    total = 0.0
    for i in range(weights.size):
        total += weights[i]
    target = u * total - weights[j]
    if target < 0.0:
        return j
    for i in range(weights.size):
        if i != j:
            target -= weights[i]
            if target < 0.0:
                return i
    return j


@inlined
def waited(G: float, pulls: float) -> float:
    """The logarithm of how many pulls of the leader a challenger has to wait for (as in IMED)."""
    return max(G, 0.0) + math.log(max(pulls, 1.0))


@kernel
def draw(
    state: ChallengerState, model: Model, history: History, j: int, base: float, stream: Stream
) -> int:
    """The leader or a challenger, from the costs of all: the one most overdue, or any at random."""
    N = history.pulls
    q = state.weights
    challenger_costs(model, history.means, N, j, base, q, state.lam)
    overdue = j
    least = waited(0.0, N[j]) - state.options.patience
    for i in range(q.size):
        if i == j:
            q[i] = 1.0
            continue
        G = q[i] - base
        if G < least:  # noqa: SIM300 (the letters are the paper's)
            wait = waited(G, N[i])
            if wait < least:
                least = wait
                overdue = i
        q[i] = weight(state.options.tail, G)
    return overdue if overdue != j else drawn(q, j, next_unit(stream))


@kernel
def draw_by_bounds(
    state: ChallengerState, model: Model, history: History, j: int, base: float, stream: Stream
) -> int:
    """The same draw, with few costs computed: for Gaussian rewards and a convex M.

    From a projection pr onto a convex set, every lam of the set is at least
    sum_k N_k (lam_k - pr_k)^2 / (2 sigma^2) further than pr is; and if i beats j in lam, that is at
    least (pr_j - pr_i)^2 / (2 sigma^2 (1 / N_i + 1 / N_j)). So draw from the weights of these
    bounds, which are too large, and keep what is drawn with the probability that makes up for it;
    else draw again. Who may be overdue by its bound is solved.
    """
    N = history.pulls
    pr = state.projected
    q = state.weights
    tail = state.options.tail
    overdue = j
    least = waited(0.0, N[j]) - state.options.patience
    for i in range(q.size):
        gap = max(0.0, pr[j] - pr[i])
        G = gap * gap / (2.0 * model.family.parameter * (1.0 / N[i] + 1.0 / N[j]))
        state.solved[i] = 0.0
        if i != j and waited(G, N[i]) < least:
            G = nearest_challenger(model, history.means, N, j, i, state.lam) - base
            state.solved[i] = 1.0
            if waited(G, N[i]) < least:
                least = waited(G, N[i])
                overdue = i
        q[i] = weight(tail, G) if i != j else 1.0
    if overdue != j:
        return overdue
    state.solved[j] = 1.0
    while True:
        u, v = next_units(stream)
        i = drawn(q, j, u)
        if state.solved[i] == 1.0:
            return i
        cost = nearest_challenger(model, history.means, N, j, i, state.lam)
        exact = weight(tail, cost - base)
        if v * q[i] < exact:
            return i
        q[i] = exact
        state.solved[i] = 1.0


@kernel
def best_response(state: ChallengerState, model: Model, history: History, j: int, i: int) -> int:
    """The arm with the most information per regret against lam, the opponent of challenger i."""
    options = state.options
    lam = state.lam
    pr = state.projected
    x = pr if options.projected else history.means
    if abs(lam[i] - x[i]) <= UNMOVED * largest(pr):
        return i  # pulling it is the one way to learn more about it
    least = TINY
    if options.floor:
        own = variance(of_arm(model.family, j), pr[j])
        least = max(least, math.sqrt(own / (history.pulls[j] + 1.0)))
    chosen = i
    most = 0.0
    for k in range(pr.size):
        if k != j or options.leader:
            gain = divergence(of_arm(model.family, k), x[k], lam[k]) / max(pr[j] - pr[k], least)
            if gain > most:
                most = gain
                chosen = k
    return chosen


@kernel
def choose(state: ChallengerState, model: Model, history: History, stream: Stream) -> int:
    """The leader if it is drawn; else the challenger itself, or the best response to it."""
    base = projection(model, history.means, history.pulls, state.projected)
    j = argmax(state.projected)
    family = model.family
    if state.convex and family.gaussian and family.alike and not is_joint(model):
        i = draw_by_bounds(state, model, history, j, base, stream)
    else:
        i = draw(state, model, history, j, base, stream)
    if i == j:
        return j
    mark_exploration(history)
    if next_unit(stream) < state.options.share:
        return i
    nearest_challenger(model, history.means, history.pulls, j, i, state.lam)
    return best_response(state, model, history, j, i)


@dataclass(frozen=True)
class Challenger(CompiledPolicy):
    """Draw who might be best in place of the leader; pull what tells most about it per regret.

    The paper's game with other players. Let pr be the projection of the means onto M, with weights
    N, and j its best arm. The opponent is drawn as posterior sampling would: if it costs G_i more
    than pr that i beats j, at the mean vector lam^i, then i has weight erfc(sqrt(G_i)) / 2, and j
    has 1. A draw leaves it to chance when an arm that had bad luck is looked at again, so there is
    a date as well: if G_i + ln N_i + `patience` < ln N_j for some i, the i with the least left side
    is taken without a draw (with patience 0 this is IMED's rule).

    If j is drawn, pull it. Else pull i with probability `share`, or else the arm k != j with the
    most d(pr_k, lam^i_k) / max(pr_j - pr_k, sd / sqrt(N_j + 1)), where sd is the standard deviation
    of rewards of mean pr_j; where lam^i leaves i where it was, pull i.

    "i beats j" reads lam_i >= lam_j, but in the unimodal structure "the peak is at i", and in the
    categorised one "i's category is on top", besides.

    The options are there to see what each part is worth.

    Parameters
    ----------
    draw : {"tail", "exp"}
        "tail" as above; "exp" has weights exp(-G_i).
    share : float
        How often a drawn challenger is pulled itself, from 0 to 1.
    patience : float
        How long a challenger may wait, at least 0; a large number leaves all to the draw.
    floor : bool
        False leaves out the least regret sd / sqrt(N_j + 1).
    leader : bool
        True lets the leader be the best response.
    projected : bool
        False measures information from the empirical means instead of pr.

    Guarantee
    ---------
    There is no proof of a regret bound. Its regret is heavy-tailed on hard instances;
    `docs/challenger.md` has what was measured. All challengers' costs are asked for at once where
    the structure knows how, else one oracle call for each that may be drawn.

    >>> import armature as am
    >>> bandit = am.Bandit(am.Challenger(), am.Unimodal(3))
    >>> bandit.tell([0, 1, 2], [0.0, 50.0, 100.0])
    >>> bandit.ask()  # at these means, no challenger is drawn
    2

    References
    ----------
    None: this docstring defines it. The game is that of Degenne, Shao and Koolen (2020), "Structure
    Adaptive Algorithms for Stochastic Bandits".
    """

    draw: str = "tail"
    share: float = 0.5
    patience: float = 1.0
    floor: bool = True
    leader: bool = False
    projected: bool = True

    tells_exploration_apart: ClassVar[bool] = True
    oracles: ClassVar = ("project", "challenger_min", "challenger_costs")
    choose: ClassVar = choose

    def __post_init__(self) -> None:
        check_choice(self, "draw", ("tail", "exp"))
        check_number(self, "share", high=1.0, what="a probability")
        check_number(self, "patience")
        for name in ("floor", "leader", "projected"):
            check_flag(self, name)

    @classmethod
    def examples(cls) -> tuple[Policy, ...]:
        return (
            cls(),
            cls(draw="exp", share=0.2, floor=False, patience=0.0),
            cls(leader=True, projected=False, patience=50.0),
        )

    def explain(self, belief: Belief) -> str:
        j = belief.leader
        costs = belief.structure.challenger_costs(belief.means, belief.pulls, j, belief.family)
        G = np.full(len(costs), math.inf)  # of a challenger that no mean vector of M allows
        possible = np.isfinite(costs)
        G[possible] = np.maximum(costs[possible] - belief.misfit, 0.0)
        wait = G + np.log(np.maximum(belief.pulls, 1.0))
        wait[j] -= self.patience
        i = int(np.argmin(wait))
        if i != j:
            return (
                f"{self.name} looks into arm {i}, which is overdue: {belief.pulls[i]:.0f} pulls, "
                f"and evidence of no more than {G[i]:.2f} against it."
            )
        q = np.array([weight.py_func(self.draw == "tail", g) for g in G])
        q[j] = 1.0
        q /= q.sum()
        rivals = [int(i) for i in np.argsort(-q, kind="stable") if i != j and q[i] >= 0.005][:3]
        likely = ", then ".join(f"arm {i} ({q[i]:.2f})" for i in rivals)
        return (
            f"{self.name} pulls arm {j} with probability {q[j]:.2f}, as it leads; else it looks "
            f"into a challenger, {'most likely ' + likely if rivals else 'each of them unlikely'}."
        )

    def init(self, structure: Structure, family: Family) -> ChallengerState:
        K = structure.n_arms
        return ChallengerState(
            np.zeros(K),
            np.zeros(K),
            np.zeros(K),
            np.zeros(K),
            structure.is_convex,
            ChallengerOptions(
                self.draw == "tail",
                float(self.share),
                float(self.patience),
                bool(self.floor),
                bool(self.leader),
                bool(self.projected),
            ),
        )
