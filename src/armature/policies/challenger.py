"""Challenger: look into whoever is overdue, where that tells most per regret."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from armature.families import Family
from armature.families.kernels import divergence, draw_means, of_arm, variance, weighted_divergence
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import inlined, kernel
from armature.kernels.streams import Stream, next_unit
from armature.kernels.vectors import largest
from armature.policies.chance_of_evidence import (
    OWN,
    UNMOVED,
    enough_for,
    own_cost,
    shared_evidence,
)
from armature.policies.options import check_choice, check_number
from armature.policies.policy import Belief, CompiledPolicy, Policy
from armature.policies.projected_thompson import random_argmax
from armature.policies.records import History, mark_exploration, spanning_arms
from armature.structures import Structure
from armature.structures.oracles.leader import leader_of, own_evidence
from armature.structures.oracles.model import (
    Model,
    challenger_costs,
    is_joint,
    nearest_challenger,
    projection,
)
from armature.words import Arm, Sentence

NEGLIGIBLE = 38.0  # beyond this a weight is lost beside the leader's 1, in double precision
SAME = 1e-10  # a difference of waits that is rounding, and of gains relative to the gain
TINY = 1e-100  # the least regret to divide by
DRAWS = ("none", "sample", "tail")
NONE, SAMPLE, TAIL = range(3)


class ChallengerState(NamedTuple):
    """Who was looked into; room for projection, costs, opponent and sample; the options."""

    looked: Floats  # into each arm, how often, by pulling another one
    begun: Ints  # [how many of the arms to begin with were handed out]
    start: Ints  # these arms
    projected: Floats
    costs: Floats
    lam: Floats
    last: Floats  # of the last opponent: see `evidence_against`
    sample: Floats
    convex: bool  # whether M is
    shared: bool  # whether "i is best" can tie many arms
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
def least_cost(model: Model, history: History, pr: Floats, j: int, i: int) -> float:
    """At most what it costs more than the projection that i beats j: Gaussian rewards, convex M.

    From a projection pr onto a convex set, every lam of the set is at least
    sum_k N_k (lam_k - pr_k)^2 / (2 variance) further than pr is, and where i beats j, arms i and j
    alone make up for this much of it.
    """
    N = history.pulls
    if N[i] == 0.0 or N[j] == 0.0:
        return 0.0
    gap = max(0.0, pr[j] - pr[i])
    noise = variance(of_arm(model.family, i), pr[i]) / N[i]
    noise += variance(of_arm(model.family, j), pr[j]) / N[j]
    return float(gap * gap / (2.0 * noise))


@inlined
def replacing(
    model: Model, history: History, pr: Floats, level: float, j: int, i: int, G: float
) -> float:
    """What it costs that i is the one arm above a level, and as good as the leader j seems.

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
    """What a look at all challengers of a leader has in common."""

    leader: int
    base: float  # the cost of the projection
    joint: bool  # whether what challengers cost is in `state.costs`
    bounded: bool  # whether it is easily bounded from below
    size: float  # the largest mean


@kernel
def look_at_all(
    state: ChallengerState, model: Model, history: History, j: int, base: float
) -> Look:
    """Weigh all challengers of leader j, where that is one call."""
    joint = is_joint(model)
    if joint:
        challenger_costs(model, history.means, history.pulls, j, base, state.costs, state.lam)
    state.last[0] = math.inf
    bounded = not joint and state.convex and model.family.gaussian
    return Look(j, base, joint, bounded, largest(state.projected) if state.shared else 0.0)


@inlined
def is_clear(
    state: ChallengerState, history: History, i: int, G: float, own: float, matters: float
) -> bool:
    """Whether who shares in a cost of at least G plays no part: what counts is G, or enough."""
    left = matters - OWN * own
    if left <= 0.0:
        return True
    return own > 0.0 and left <= G and enough_for(history.pulls.size - 1, left) <= G


@kernel
def evidence_against(
    state: ChallengerState, model: Model, history: History, look: Look, i: int, matters: float
) -> float:
    """What speaks against i; where that is no less than what matters, a number that is neither.

    Challengers that cost equally much often have one opponent, as those of a category have: the
    last one is kept in `state.lam`, its cost and the evidence that is as unlikely in `state.last`.
    """
    j = look.leader
    mu = history.means
    N = history.pulls
    lam = state.lam
    G = state.costs[i] - look.base
    if look.bounded:
        G = least_cost(model, history, state.projected, j, i)
    elif not look.joint:
        G = 0.0
    clear = True
    own = 0.0
    if state.shared:
        own = own_cost(model, history, i, state.projected[j], matters / OWN)
        clear = is_clear(state, history, i, G, own, matters)
    if clear and not matters > G:
        return G
    if not look.joint:
        G = nearest_challenger(model, mu, N, j, i, lam) - look.base
    if state.lone:
        G = replacing(model, history, state.projected, state.level, j, i, G)
    if not clear:
        if not (look.joint and state.last[0] == G and lam[i] >= lam[j]):
            if look.joint:
                nearest_challenger(model, mu, N, j, i, lam)
            state.last[0] = G
            state.last[1] = shared_evidence(model, history, state.projected, lam, look.size)
        if state.last[1] < math.inf:
            G = 0.0 if own == 0.0 else min(G, state.last[1] + OWN * own)
    return max(G, 0.0)


@inlined
def is_ahead(model: Model, history: History, pr: Floats, one: int, other: int) -> bool:
    """Of two arms that nothing else tells apart, whether the first has the better own evidence."""
    mu = history.means
    N = history.pulls
    first = own_evidence(model.family, one, N[one], mu[one], pr[one])
    return first > own_evidence(model.family, other, N[other], mu[other], pr[other])


class Due(NamedTuple):
    """The challenger that has waited longest, or the leader where there is none."""

    arm: int
    evidence: float  # against it
    wait: float  # the logarithm of how many pulls of the leader it waits for


@kernel
def longest_waiting(
    state: ChallengerState, model: Model, history: History, j: int, base: float, before: float
) -> Due:
    """Of the challengers of leader j whose wait is less than `before`, the one with the least.

    Invariant: `due` has the least wait of the challengers before i, and of several that wait
    equally long the best own evidence (by their numbers only where that is equal, too).
    """
    pr = state.projected
    look = look_at_all(state, model, history, j, base)
    due = Due(j, 0.0, before)
    late = before  # who waits as long as this is not due
    for i in range(pr.size):
        looks = waited(0.0, history.pulls[i] + state.looked[i])
        if i == j or looks >= late:
            continue
        against = evidence_against(state, model, history, look, i, late - looks)
        wait = against + looks
        if wait >= late:
            continue
        if due.arm == j or wait < due.wait - SAME or is_ahead(model, history, pr, i, due.arm):
            due = Due(i, against, wait)
            late = min(before, wait + SAME)
    return due


@inlined
def latest(state: ChallengerState, history: History, j: int) -> float:
    """A challenger of leader j whose wait is less than this is due."""
    return waited(0.0, history.pulls[j]) - state.patience


@kernel
def draw_by_tails(
    state: ChallengerState, model: Model, history: History, j: int, base: float, stream: Stream
) -> int:
    """An arm by the weights erfc(sqrt(G)) / 2, the leader having 1."""
    q = state.costs
    look = look_at_all(state, model, history, j, base)
    total = 0.0
    for i in range(q.size):  # q has weights before i, and maybe costs from i on
        G = evidence_against(state, model, history, look, i, NEGLIGIBLE) if i != j else 0.0
        q[i] = 0.5 * math.erfc(math.sqrt(G)) if G < NEGLIGIBLE else 0.0
        if i == j:
            q[i] = 1.0
        total += q[i]
    target = next_unit(stream) * total
    for i in range(q.size):
        target -= q[i]
        if target < 0.0:
            return i
    return j


@kernel
def opponent(
    state: ChallengerState, model: Model, history: History, j: int, base: float, stream: Stream
) -> int:
    """Who is overdue, or who is drawn; the leader where it is nobody."""
    i = longest_waiting(state, model, history, j, base, latest(state, history, j)).arm
    if i != j or state.draw == NONE:
        return i
    if state.draw == TAIL:
        return draw_by_tails(state, model, history, j, base, stream)
    draw_means(model.family, history.pulls, history.sums, history.means, stream, state.sample)
    projection(model, state.sample, history.pulls, state.lam)
    return random_argmax(state.lam, stream)


@kernel
def answer(
    state: ChallengerState, model: Model, history: History, j: int, i: int, stream: Stream
) -> int:
    """The challenger i, or what tells most per regret against lam, the opponent that it stands for.

    Between the two, in proportion to information per squared regret. Of several arms that tell
    most, i if it is one of them, else the one with the best own evidence.
    """
    pr = state.projected
    lam = state.lam
    nearest_challenger(model, history.means, history.pulls, j, i, lam)
    if abs(lam[i] - pr[i]) <= UNMOVED * largest(pr):
        return i  # pulling it is the one way to learn more about it
    noise = variance(of_arm(model.family, j), pr[j])
    least = max(TINY, math.sqrt(noise / (history.pulls[j] + 1.0)))
    k = i
    most = 0.0
    for a in range(pr.size):
        if a != j and lam[a] != pr[a]:
            regret = max(pr[j] - pr[a], least)
            gain = divergence(of_arm(model.family, a), pr[a], lam[a]) / regret**state.price
            if most > 0.0 and most * (1.0 - SAME) <= gain <= most * (1.0 + SAME):
                better = k != i and (a == i or is_ahead(model, history, pr, a, k))
            else:
                better = gain > most
            if better:
                most = gain
                k = a
    if k == i or most == math.inf:
        return k
    share = state.share
    if share < 0.0:
        own = divergence(of_arm(model.family, i), pr[i], lam[i])
        own /= max(pr[j] - pr[i], least) ** 2
        other = divergence(of_arm(model.family, k), pr[k], lam[k])
        other /= max(pr[j] - pr[k], least) ** 2
        share = own / (own + other)
    return i if next_unit(stream) < share else k


@kernel
def next_to_begin(state: ChallengerState, history: History) -> int:
    """The next of the arms to begin with that has no rewards; -1: it has begun."""
    while state.begun[0] < state.start.size:
        first = state.start[state.begun[0]]
        state.begun[0] += 1
        if history.pulls[first] == 0.0:
            return int(first)
    return -1


@kernel
def choose(state: ChallengerState, model: Model, history: History, stream: Stream) -> int:
    """The leader, unless somebody challenges it; then the answer to that."""
    first = next_to_begin(state, history)
    if first >= 0:
        return first
    base = projection(model, history.means, history.pulls, state.projected)
    j = leader_of(model.family, state.projected, history.means, history.pulls)
    i = opponent(state, model, history, j, base, stream)
    if i == j:
        return j
    mark_exploration(history)
    k = answer(state, model, history, j, i, stream)
    if k != i:
        state.looked[i] += 1.0
    return k


@dataclass(frozen=True)
class Challenger(CompiledPolicy):
    """Pull the leader, until a challenger is due; then what tells most about it per regret.

    The paper's game with other players. Pull each arm once; where the means of some arms determine
    all others, as in a linear structure, only these. Then let pr be the projection of the means
    onto M, with weights N, and j its best arm, the leader. For every other arm i, let it cost G_i
    more than pr that i beats j, at the mean vector lam^i, and let n_i count the pulls of i and the
    rounds in which i was looked into by pulling another arm (1 where there is none).

    * If G_i + ln n_i + `patience` >= ln N_j for all i, pull j. (Without a structure and with
      patience 0, this is IMED.)
    * Else look into the i with the least G_i + ln n_i. Of the arms other than j, let k be the one
      with the most information per regret, d(pr_k, lam^i_k) / g_k, where g_k is the larger of
      pr_j - pr_k and sd / sqrt(N_j + 1), sd being the standard deviation of rewards of mean pr_j.
      Pull i or k, with probabilities in proportion to d(pr, lam^i) / g^2. Where lam^i leaves i
      where it was, pull i.
    * Of challengers that wait equally long, and of arms k that tell as much, the one whose own
      rewards speak most for it goes first, as with the leader; i goes before other k.

    "i beats j" reads lam_i >= lam_j, but in a union of pieces (one peak, categories) it asks
    besides that i can be the best arm there: that the peak is at i, that its category is on top.
    Where one arm alone can be above a level (`Sparse` with a support of 1), all that lam_i >= lam_j
    says is that j is not that arm, and about i nothing: there it reads that i is the one, and
    lam_i >= pr_j.

    The options are there to see what each part is worth.

    Parameters
    ----------
    patience : float
        How long a challenger may wait, at least 0. Less explores more.
    draw : {"none", "sample", "tail"}
        Who may challenge before the date: nobody; the best arm of a posterior sample that is
        projected onto M (as in `ProjectedThompson`); or an arm drawn by the weights
        erfc(sqrt(G_i)) / 2, the leader having 1. With a large patience, only who is drawn.
    price : float
        The power of the regret by which k is found, at least 0.
    share : float, optional
        How often i is pulled where k is another arm; None: in proportion, as above.

    Guarantee
    ---------
    `docs/studies/challenger.md` has what is proved and what was measured. The costs of all
    challengers come from one call where the structure has a kernel for that, else from one oracle
    call for each that may be due.

    >>> import armature as am
    >>> bandit = am.Bandit(am.Challenger(), am.Unimodal(3))
    >>> bandit.tell([0, 1, 2], [0.0, 50.0, 100.0])
    >>> bandit.ask()  # at these means, no challenger is due
    2

    Limits
    ------
    A regret bound is proved without structure only. Regret has heavy tails on hard instances;
    `docs/studies/challenger.md` has these and other failures.

    References
    ----------
    None: this docstring defines it. The game is that of Degenne, Shao and Koolen (2020), "Structure
    Adaptive Algorithms for Stochastic Bandits"; the date is that of Honda and Takemura (2015),
    "Non-asymptotic Analysis of a New Bandit Algorithm for Semi-bounded Rewards".
    """

    patience: float = 1.0
    draw: str = "none"
    price: float = 1.0
    share: float | None = None

    starts_with_each_arm: ClassVar[bool] = False
    tells_exploration_apart: ClassVar[bool] = True
    oracles: ClassVar = ("project", "challenger_min", "challenger_costs")
    saved: ClassVar = ("looked", "begun")
    choose: ClassVar = choose

    def could_be(self, state: ChallengerState) -> bool:
        return bool(0 <= state.begun[0] <= state.start.size)

    def __post_init__(self) -> None:
        check_number(self, "patience")
        check_choice(self, "draw", DRAWS)
        check_number(self, "price", high=4.0)
        check_number(self, "share", high=1.0, what="a probability", optional=True)

    @classmethod
    def examples(cls) -> tuple[Policy, ...]:
        return (
            cls(),
            cls(draw="sample", patience=50.0, price=2.0),
            cls(draw="tail", patience=0.0, share=0.2),
        )

    def explain(self, belief: Belief) -> Sentence:
        state, history = belief.state, belief.history
        coming = [k for k in state.start[state.begun[0] :] if history.pulls[k] == 0.0]
        if coming:
            return Sentence("Pulled once first: {arms}.", arms=[Arm(int(k)) for k in coming])
        state.projected[:], j = belief.projected, belief.leader
        due = longest_waiting(state, belief.known, history, j, belief.misfit, math.inf)
        said = {
            "leader": Arm(j),
            "led": float(history.pulls[j]),
            "arm": Arm(due.arm),
            "drawn": "" if self.draw == "none" else " (or an arm drawn at random)",
            "pulls": float(history.pulls[due.arm]),
            "evidence": due.evidence,
            "due": math.exp(min(due.wait + self.patience, 700.0)),
        }
        if due.wait < latest.py_func(state, history, j):
            return Sentence(
                "{leader} leads, with {led:pull}. Right now {arm}{drawn} is being checked: "
                "{pulls:pull} and evidence of {evidence:.2f} against it are too little to rule it "
                "out.",
                **said,
            )
        if due.arm == j:
            alone = "{leader} is pulled: no other arm can be as good as it seems so far."
            return Sentence(alone, leader=Arm(j))
        return Sentence(
            "{leader} leads and is pulled{drawn}. The next to be checked is {arm} ({pulls:pull}, "
            "evidence of {evidence:.2f} against it), when {leader} has more than {due:.3g} pulls.",
            **said,
        )

    def init(self, structure: Structure, family: Family) -> ChallengerState:
        K = structure.n_arms
        level = structure.lone_level
        return ChallengerState(
            looked=np.zeros(K),
            begun=np.zeros(1, dtype=np.int64),
            start=np.arange(K) if self.draw == "sample" else spanning_arms(structure),
            projected=np.zeros(K),
            costs=np.zeros(K),
            lam=np.zeros(K),
            last=np.zeros(2),
            sample=np.zeros(K),
            convex=structure.is_convex,
            shared=not structure.ties_one_pair,
            lone=level is not None,
            level=0.0 if level is None else level,
            draw=DRAWS.index(self.draw),
            patience=float(self.patience),
            price=float(self.price),
            share=-1.0 if self.share is None else float(self.share),
        )
