"""Challenger: pull the leader, and check the arm that has waited longest."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from armature.errors import ArmatureError
from armature.families import Family
from armature.families.kernels import divergence, draw_means, of_arm, variance
from armature.kernels.arrays import Floats
from armature.kernels.checks import check_choice, check_flag, check_number
from armature.kernels.kernel import kernel
from armature.kernels.streams import Stream, next_unit
from armature.kernels.vectors import fill, largest
from armature.policies.challenges import (
    SAME,
    ChallengerState,
    evidence_against,
    longest_waiting,
    look_at_all,
    waited,
)
from armature.policies.chance_of_evidence import UNMOVED, tangent_offset
from armature.policies.policy import Belief, CompiledPolicy, History, Policy
from armature.policies.projected_thompson import random_argmax
from armature.policies.records import draw_index, mark_exploration
from armature.structures import Structure
from armature.structures.oracles.leader import is_ahead, leader_of
from armature.structures.oracles.model import Model, nearest_challenger, projection
from armature.structures.segments.whole import project_sample
from armature.words import Arm, Sentence

NEGLIGIBLE = 38.0  # beyond this a weight is lost beside the leader's 1, in double precision
TINY = 1e-100  # the least regret to divide by
DRAWS = ("none", "sample", "tail")
NONE, SAMPLE, TAIL = range(3)


@kernel
def weigh_by_tails(
    state: ChallengerState, model: Model, history: History, j: int, base: float
) -> float:
    """state.costs = the weights erfc(sqrt(E)) / 2, the leader having 1; their sum."""
    q = state.costs
    look = look_at_all(state, model, history, j, base, math.inf)
    total = 0.0  # invariant: of the weights before i
    for i in range(q.size):
        E = evidence_against(state, model, history, look, i, NEGLIGIBLE) if i != j else 0.0
        q[i] = 0.5 * math.erfc(math.sqrt(E)) if E < NEGLIGIBLE else 0.0
        if i == j:
            q[i] = 1.0
        total += q[i]
    return total


@kernel
def due_arm(state: ChallengerState, model: Model, history: History, j: int, base: float) -> int:
    """The arm that is due; the leader if there is none."""
    if state.patience == math.inf:
        return j
    late = waited(0.0, history.pulls[j]) - state.patience
    return longest_waiting(state, model, history, j, base, late).arm


@kernel
def opponent(
    state: ChallengerState, model: Model, history: History, j: int, base: float, stream: Stream
) -> int:
    """The arm to check: one that is due, or one that is drawn; the leader if there is none."""
    i = due_arm(state, model, history, j, base)
    if i != j or state.draw == NONE:
        return i
    if state.draw == TAIL:
        total = weigh_by_tails(state, model, history, j, base)
        drawn = draw_index(state.costs, total, stream)
        return drawn if drawn >= 0 else j
    draw_means(model.family, history.pulls, history.sums, history.means, stream, state.sample)
    project_sample(model, state.sample, history.pulls, stream, state.lam)
    return random_argmax(state.lam, stream)


class EitherArm(NamedTuple):
    """The one of two arms that is pulled because of a challenger, the first with a probability."""

    first: int
    second: int  # the same where there is no choice
    share: float


@kernel
def answer_to(state: ChallengerState, model: Model, history: History, j: int, i: int) -> EitherArm:
    """The challenger i, or what tells most per regret against lam, the opponent that it stands for.

    Between the two, in proportion to information per squared regret. Of several arms that tell
    most, i if it is one of them, else the one with the best own evidence.
    """
    N = history.pulls
    mu = history.means
    pr = state.projected
    lam = state.lam
    nearest_challenger(model, mu, N, j, i, lam)
    if abs(lam[i] - pr[i]) <= UNMOVED * largest(pr):
        return EitherArm(i, i, 1.0)  # pulling it is the one way to learn more about it
    noise = variance(of_arm(model.family, j), pr[j])
    least = max(TINY, math.sqrt(noise / (N[j] + 1.0)))
    # Invariant: of the arms before a, k tells most per regret, `most`; it is i where none tells.
    k = i
    most = 0.0
    for a in range(pr.size):
        if a != j and lam[a] != pr[a]:
            regret = max(pr[j] - pr[a], least)
            gain = divergence(of_arm(model.family, a), pr[a], lam[a]) / regret**state.price
            if most > 0.0 and most * (1.0 - SAME) <= gain <= most * (1.0 + SAME):
                better = k != i and (a == i or is_ahead(model.family, pr, mu, N, a, k))
            else:
                better = gain > most
            if better:
                most = gain
                k = a
    if k == i or most == math.inf:
        return EitherArm(k, k, 1.0)
    share = state.share
    if share < 0.0:
        gap = max(pr[j] - pr[i], least)
        own = divergence(of_arm(model.family, i), pr[i], lam[i])
        own /= gap * gap
        gap = max(pr[j] - pr[k], least)
        other = divergence(of_arm(model.family, k), pr[k], lam[k])
        other /= gap * gap
        share = own / (own + other)
    return EitherArm(i, k, share)


@kernel
def next_to_begin(state: ChallengerState, history: History) -> int:
    """The next of the arms to begin with that has no rewards; -1: it has begun."""
    while state.begun[0] < state.start.size:  # invariant: those before it have been handed out
        first = state.start[state.begun[0]]
        state.begun[0] += 1
        if history.pulls[first] == 0.0:
            return int(first)
    return -1


@kernel
def choose(state: ChallengerState, model: Model, history: History, stream: Stream) -> int:
    """The leader, unless another arm has to be checked; then the pull that checks it best."""
    first = next_to_begin(state, history)
    if first >= 0:
        return first
    base = projection(model, history.means, history.pulls, state.projected)
    j = leader_of(model.family, state.projected, history.means, history.pulls)
    i = opponent(state, model, history, j, base, stream)
    if i == j:
        return j
    mark_exploration(history)
    found = answer_to(state, model, history, j, i)
    k = found.first
    if found.second != k and next_unit(stream) >= found.share:
        k = found.second
    if k != i:
        state.looked[i] += 1.0
    return k


@kernel
def add_answer(
    state: ChallengerState, model: Model, history: History, j: int, i: int, p: float, out: Floats
) -> None:
    """Add to out with which probability each arm is pulled, where i is answered with p."""
    if i == j:
        out[j] += p
        return
    found = answer_to(state, model, history, j, i)
    out[found.first] += p * found.share
    out[found.second] += p * (1.0 - found.share)


@kernel
def probabilities(state: ChallengerState, model: Model, history: History, out: Floats) -> bool:
    """out = with which probability `choose` would pull each arm; False: only draws can tell."""
    fill(out, 0.0)
    first = next_to_begin(state, history)
    if first >= 0:
        out[first] = 1.0
        return True
    base = projection(model, history.means, history.pulls, state.projected)
    j = leader_of(model.family, state.projected, history.means, history.pulls)
    i = due_arm(state, model, history, j, base)
    if i != j or state.draw == NONE:
        add_answer(state, model, history, j, i, 1.0, out)
        return True
    if state.draw == SAMPLE:
        return False
    weights = state.costs
    total = weigh_by_tails(state, model, history, j, base)
    for k in range(weights.size):  # out: by the draws of challengers before k
        if weights[k] > 0.0:
            add_answer(state, model, history, j, k, weights[k] / total, out)
    return True


@dataclass(frozen=True)
class Challenger(CompiledPolicy):
    """Pull the leader, until a challenger is due; then what tells most about it per regret.

    The paper's game with other players. Pull each arm once; where the means of some arms determine
    all others, as in a linear structure, only these. Then let pr be the projection of the means
    onto M, with weights N, and j its best arm, the leader. For every other arm i, let it cost G_i
    more than pr that i beats j, at the mean vector lam^i, and let n_i count the pulls of i and the
    rounds in which i was looked into by pulling another arm (1 where there is none).

    * If E_i + ln n_i + `patience` >= ln N_j for all i, pull j, E_i being the evidence against i:
      see below. (Without a structure and with patience 0, this is IMED.)
    * Else look into the i with the least E_i + ln n_i. Of the arms other than j, let k be the one
      with the most information per regret, d(pr_k, lam^i_k) / g_k, where g_k is the larger of
      pr_j - pr_k and sd / sqrt(N_j + 1), sd being the standard deviation of rewards of mean pr_j.
      Pull i or k, with probabilities in proportion to d(pr, lam^i) / g^2. Where lam^i leaves i
      where it was, pull i.
    * Of challengers that wait equally long, and of arms k that tell as much, the one whose own
      rewards speak most for it goes first, as with the leader; i goes before other k.

    **The evidence.** Where "i beats j" ties at most two arms, and where the structure does not
    order arms, E_i = G_i. Where it ties many, each of them costs something by chance alone, so that
    the cost is turned into its chance. Take the arms with rewards that lam^i moves from pr: let
    them cost C at lam^i, and let there be m more of them than values that they have there. Half a
    chi-squared variable of m degrees of freedom exceeds C with some probability; let e be the
    evidence of a single arm that is as unlikely, P(chi2_1 / 2 > e) = P(chi2_m / 2 > C). With own =
    N_i d(mean_i, pr_j) where mean_i < pr_j, what counts is E_i = min(G_i, e + 4 own); and where the
    own mean of i is no less than pr_j, E_i = 0: nobody is dismissed on the word of others alone.
    With m <= 1, E_i = G_i whatever follows.

    "i beats j" reads lam_i >= lam_j, but in a union of pieces (one peak, categories) it asks
    besides that i can be the best arm there: that the peak is at i, that its category is on top.
    Where one arm alone can be above a level (`Sparse` with a support of 1), all that lam_i >= lam_j
    says is that j is not that arm, and about i nothing: there it reads that i is the one, and
    lam_i >= pr_j.

    The options are there to see what each part is worth.

    Parameters
    ----------
    patience : float
        How long an arm may wait to be checked, >= 0. Less explores more.
    draw : {"none", "sample", "tail"}
        Which arm may be checked before it is due: none; the best arm of a posterior sample that
        is projected onto M (as in `ProjectedThompson`); or an arm drawn by the weights
        erfc(sqrt(E_i)) / 2, the leader having 1. With a large patience, only what is drawn.
    price : float
        The power of the regret by which k is found, at least 0.
    share : float, optional
        How often i is pulled where k is another arm; None: in proportion, as above.
    randomised : bool
        Who is looked into is drawn in every round by these weights, and there is no date. So every
        arm that is still possible is pulled with a positive probability, which is known: for logs
        from which other policies are to be judged.

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
    That regret grows as the lower bound does is proved without structure and for one peak
    (`docs/theory.md`), with Gaussian rewards. It has heavy tails on hard instances;
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
    randomised: bool = False

    starts_with_each_arm: ClassVar[bool] = False
    tells_exploration_apart: ClassVar[bool] = True
    oracles: ClassVar = ("project", "challenger_min", "challenger_costs", "challenger_bounds")
    saved: ClassVar = ("looked", "begun")
    fades: ClassVar = ("looked",)
    choose: ClassVar = choose
    probabilities: ClassVar = probabilities

    def could_be(self, state: ChallengerState) -> bool:
        return bool(0 <= state.begun[0] <= state.start.size)

    def __post_init__(self) -> None:
        check_number(self, "patience")
        check_choice(self, "draw", DRAWS)
        check_number(self, "price", high=4.0)
        check_number(self, "share", high=1.0, what="a probability", optional=True)
        check_flag(self.randomised, "randomised")
        object.__setattr__(self, "randomised", bool(self.randomised))
        if self.randomised and self.draw != "none":
            raise ArmatureError(f"randomised=True draws by itself: leave draw={self.draw!r} out.")

    @classmethod
    def examples(cls) -> tuple[Policy, ...]:
        return (
            cls(),
            cls(draw="sample", patience=50.0, price=2.0),
            cls(draw="tail", patience=0.0, share=0.2),
            cls(randomised=True),
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
        if self.randomised and due.arm != j:
            return Sentence(
                "{leader} leads. Each arm is drawn by how little speaks against it: the evidence "
                "against {arm} is {evidence:.2f}, with {pulls:pull}.",
                **said,
            )
        if due.wait < waited.py_func(0.0, history.pulls[j]) - self.patience:
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
            start=np.arange(K) if self.draw == "sample" else structure.spanning_arms,
            projected=np.zeros(K),
            costs=np.zeros(K),
            bounds=np.zeros(2 * K),
            lam=np.zeros(K),
            last=np.zeros(4),
            sample=np.zeros(K),
            offset=np.array([tangent_offset(max(m, 1)) for m in range(K + 1)]),
            shared=structure.is_ordering,
            lone=level is not None,
            level=0.0 if level is None else level,
            draw=TAIL if self.randomised else DRAWS.index(self.draw),
            patience=math.inf if self.randomised else float(self.patience),
            price=float(self.price),
            share=-1.0 if self.share is None else float(self.share),
        )
