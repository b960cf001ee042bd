"""The evidence against each challenger of a leader, and the one that has waited longest."""

from __future__ import annotations

import math
from typing import NamedTuple

from armature.families.kernels import of_arm, weighted_divergence
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import inlined, kernel
from armature.kernels.vectors import largest
from armature.policies.chance_of_evidence import (
    OWN,
    is_worth,
    log_tail,
    own_cost,
    shared_cost,
    single_evidence,
)
from armature.policies.policy import History
from armature.structures.oracles.leader import is_ahead
from armature.structures.oracles.model import (
    Model,
    challenger_bounds,
    challenger_costs,
    cost_of_moved,
    has_bounds,
    is_joint,
    most_ties,
    nearest_challenger,
)

SAME = 1e-10  # a difference of waits that is rounding


class ChallengerState(NamedTuple):
    """The arms that were checked; room for projection, costs, opponent and sample; the options."""

    looked: Floats  # into each arm, how often, by pulling another one
    begun: Ints  # [how many of the arms to begin with were handed out]
    start: Ints  # these arms
    projected: Floats
    costs: Floats
    bounds: Floats  # (2 K,): of what challengers cost; from which cost on that does not matter
    lam: Floats
    last: Floats  # of the opponent in `lam`: see `evidence_against`
    sample: Floats
    offset: Floats  # (K + 1,): `tangent_offset` of 0 (which is not asked for), 1, ...
    shared: bool  # whether the structure orders arms, so that "i is best" can tie many
    lone: bool  # whether one arm at most is above a level, which is
    level: float
    draw: int
    patience: float
    price: float
    share: float  # below 0: in proportion


@inlined
def waited(G: float, looks: float) -> float:
    """The logarithm of how many pulls of the leader a challenger has to wait for (as in IMED)."""
    return max(G, 0.0) + math.log(max(looks, 1.0))


@inlined
def replacing(
    model: Model, history: History, pr: Floats, level: float, j: int, i: int, G: float
) -> float:
    """The cost that i is the one arm above a level, and as good as the leader j seems.

    At least G, which it costs that i beats j. (It is nan where the rewards of two arms can't be of
    that level, and so is G.)
    """
    mu = history.means
    N = history.pulls
    arm = of_arm(model.family, i)
    alone = weighted_divergence(arm, N[i], mu[i], max(mu[i], pr[j]))
    alone -= weighted_divergence(arm, N[i], mu[i], level)
    if mu[j] > level:
        alone += weighted_divergence(of_arm(model.family, j), N[j], mu[j], level)
    return max(alone, G)


class Look(NamedTuple):
    """The common part of a look at all challengers of a leader."""

    leader: int
    base: float  # the cost of the projection
    joint: bool  # whether what challengers cost is in `state.costs`
    bounded: bool  # whether lower bounds of that are there, of what it adds
    size: float  # the largest mean


@kernel
def look_at_all(
    state: ChallengerState, model: Model, history: History, j: int, base: float, before: float
) -> Look:
    """Weigh all challengers of leader j, where that is one call; waits of `before` don't matter."""
    joint = is_joint(model)
    if joint:
        challenger_costs(model, history.means, history.pulls, j, base, state.costs, state.lam)
    state.last[0] = math.inf
    bounded = not joint and has_bounds(model)
    if bounded:
        K = state.projected.size
        for i in range(K):
            looks = waited(0.0, history.pulls[i] + state.looked[i])
            state.bounds[K + i] = before - looks
        challenger_bounds(model, history.means, history.pulls, j, state.projected, state.bounds)
    return Look(j, base, joint, bounded, largest(state.projected) if state.shared else 0.0)


@inlined
def is_clear(state: ChallengerState, ties: int, cost: float, own: float, matters: float) -> bool:
    """True if ties, at most so many, play no part where they cost so much: G counts, or enough."""
    left = matters - OWN * own
    if left <= 0.0 or ties <= 1:
        return True
    return own > 0.0 and left <= cost and is_worth(ties, state.offset[ties], cost, left)


@kernel
def evidence_against(
    state: ChallengerState, model: Model, history: History, look: Look, i: int, matters: float
) -> float:
    """The evidence against i; where it is no less than what matters, a number that is neither.

    Challengers that cost equally much often have one opponent, as those of a category have: the
    last one is kept in `state.lam`, its cost and the evidence that is as unlikely in `state.last`.
    """
    j = look.leader
    mu = history.means
    N = history.pulls
    lam = state.lam
    G = 0.0
    if look.joint:
        G = state.costs[i] - look.base
    elif look.bounded:
        G = state.bounds[i]
        if math.inf == G:
            return math.inf
    clear = True
    own = 0.0
    if state.shared:
        own = own_cost(model, history, i, state.projected[j], matters / OWN)
        cost = cost_of_moved(model, i, G + look.base, G)
        clear = is_clear(state, most_ties(model, i), cost, own, matters)
    if clear and not matters > G:
        return float(G)
    if not look.joint:
        G = nearest_challenger(model, mu, N, j, i, lam) - look.base
    if state.lone:
        G = replacing(model, history, state.projected, state.level, j, i, G)
    if not clear:
        last = state.last
        if not (look.joint and last[0] == G and lam[i] >= lam[j]):
            if look.joint:
                nearest_challenger(model, mu, N, j, i, lam)
            cost, ties = shared_cost(model, history, state.projected, lam, look.size)
            last[0] = G
            last[1] = cost
            last[2] = ties
            last[3] = -1.0
        ties = int(last[2])
        if ties > 1:
            if own == 0.0:
                return 0.0
            left = matters - OWN * own
            if not is_worth(ties, state.offset[ties], last[1], left):
                if last[3] < 0.0:
                    last[3] = single_evidence(log_tail(ties, last[1]))
                G = min(G, last[3] + OWN * own)
    return float(max(G, 0.0))


class Due(NamedTuple):
    """The challenger that has waited longest, or the leader where there is none."""

    arm: int
    evidence: float  # against it
    wait: float  # the logarithm of how many pulls of the leader it waits for


@kernel
def shortest_bound(state: ChallengerState, history: History, j: int) -> int:
    """Of the arms other than j, the one that may have the least wait, by its bounds."""
    first = 1 if j == 0 else 0
    least = math.inf  # of the arms before i
    for i in range(history.pulls.size):
        wait = waited(state.bounds[i], history.pulls[i] + state.looked[i])
        if i != j and wait < least:
            least = wait
            first = i
    return first


@kernel
def longest_waiting(
    state: ChallengerState, model: Model, history: History, j: int, base: float, before: float
) -> Due:
    """Of the challengers of leader j whose wait is less than `before`, the one with the least.

    Invariant: `due` has the least wait of the challengers before i, and of several that wait
    equally long the best own evidence (by their numbers only where that is equal, too).
    """
    N = history.pulls
    pr = state.projected
    look = look_at_all(state, model, history, j, base, before)
    due = Due(j, 0.0, before)
    late = before  # who waits as long as this is not due
    first = -1
    known = 0.0  # the evidence against that arm
    if look.bounded:
        first = shortest_bound(state, history, j)
        looks = waited(0.0, N[first] + state.looked[first])
        known = evidence_against(state, model, history, look, first, before - looks)
        late = min(before, known + looks + SAME)
    for i in range(N.size):
        looks = waited(0.0, N[i] + state.looked[i])
        if i == j or looks >= late:
            continue
        against = known
        if i != first:
            against = evidence_against(state, model, history, look, i, late - looks)
        wait = against + looks
        if not wait < late:
            continue
        sooner = due.arm == j or wait < due.wait - SAME
        if sooner or is_ahead(model.family, pr, history.means, N, i, due.arm):
            due = Due(i, against, wait)
            late = min(before, wait + SAME)
    return due
