"""SPk: the game with a learner for the arms (the paper's Algorithm 1)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple

import numpy as np

from armature.bounds.learners import AdaHedgeState, adahedge_update, adahedge_weights, track
from armature.families import Family, FamilyRecord
from armature.families.kernels import of_arm
from armature.kernels.arrays import Floats
from armature.kernels.checks import check_choice
from armature.kernels.kernel import inlined, kernel
from armature.kernels.streams import Stream
from armature.policies.game import (
    GameOptions,
    Room,
    SaddlePointPolicy,
    clipped_divergence,
    exploit_or_candidate,
    make_room,
    price,
    write_intervals,
)
from armature.policies.policy import History, Policy
from armature.structures import Structure
from armature.structures.oracles.model import Model, nearest_alternative


class SPkState(NamedTuple):
    """A learner for each candidate j for the best arm, and how far tracking is behind."""

    explored: Floats  # n_j: exploration rounds in which j was the candidate
    losses: Floats  # (K, K): row j is the state of j's AdaHedge
    mixability: Floats  # (K, 1)
    ahead: Floats  # N - W, over the rounds that are tracked; minus W, where all pulls count
    shares: Floats  # of the regret: the learner's weights
    room: Room
    options: GameOptions
    all_pulls: bool  # whether tracking counts all pulls


@inlined
def optimistic_gain(
    family: FamilyRecord,
    own: bool,
    epsilon: float,
    top: float,
    low: float,
    high: float,
    lam: float,
) -> float:
    """UCB_k: the most information per regret about an arm, for a mean in [low, high].

    `top` is the upper end of the candidate, `own` whether this is the candidate.

    Paper: Eq. (17); Appendix C.4, kink.
    """
    gain = max(
        clipped_divergence(family, low, lam) / price(own, epsilon, top, low),
        clipped_divergence(family, high, lam) / price(own, epsilon, top, high),
    )
    kink = top - epsilon
    if not own and low < kink < high:
        gain = max(gain, clipped_divergence(family, kink, lam) / epsilon)
    return gain


@kernel
def track_all(pulls: Floats, ahead: Floats, w: Floats) -> int:
    """The arm to pull for proportions w, where all pulls so far count; `ahead` is minus W.

    Paper: Algorithm 1, lines 10 to 16.
    """
    pulled = 0  # invariant: of the arms before k, the first that is furthest behind
    for k in range(w.size):
        ahead[k] -= w[k]
        if pulls[k] + ahead[k] < pulls[pulled] + ahead[pulled]:
            pulled = k
    return pulled


@kernel
def choose(state: SPkState, model: Model, history: History, stream: Stream) -> int:
    """Exploit if the test says so; else the candidate, and a step of its game, in turns.

    Paper: Algorithm 1; Algorithm 1, lines 10 to 16.
    """
    options = state.options
    room = state.room
    K = history.pulls.size
    arm, j, n = exploit_or_candidate(options, model, history, state.explored, room)
    if arm >= 0:
        return arm
    epsilon = options.epsilon / n**options.decay
    write_intervals(options, model.family, history, n, room)
    learner = AdaHedgeState(state.losses[j], state.mixability[j])
    adahedge_weights(learner, state.shares)
    low = room.low
    high = room.high
    lam = room.lam
    w = room.w
    gains = room.gains
    top = high[j]
    total = 0.0
    for k in range(K):
        w[k] = state.shares[k] / price(k == j, epsilon, top, high[k])
        total += w[k]
    for k in range(K):
        w[k] /= total
    if nearest_alternative(model, history.means, w, j, lam) == math.inf:
        return j  # nothing tells against it
    # The regret of w is sum_k w_k gap_k = (sum_k shares_k) / total.
    for k in range(K):
        own = of_arm(model.family, k)
        gain = optimistic_gain(own, k == j, epsilon, top, low[k], high[k], lam[k])
        gains[k] = -gain / total
    adahedge_update(learner, state.shares, gains)
    if state.all_pulls:
        return track_all(history.pulls, state.ahead, w)
    return track(state.ahead, w)


@dataclass(frozen=True)
class SPk(SaddlePointPolicy):
    """An online learner picks shares of regret, the nearest alternative answers, pulls follow.

    `SPk.published()` is the paper's algorithm to the letter; `SPk()` is the library's variant. They
    differ in two things: when they exploit (`test`, "raw" in the paper), and which pulls tracking
    counts (`tracking`, "pulls" in the paper).

    The lower bound is the value of a game between pulls and mean vectors with another best arm, and
    playing it is exploring. As long as the data do not tell the best arm apart, AdaHedge weighs the
    arms by the information per regret that they gave, the nearest alternative answers, and the arm
    that is furthest behind its share is pulled, in turns with the best arm; else the best arm.

    Parameters
    ----------
    test : {"glr", "raw"}
        "glr" exploits once the data are better explained with the leader than without it; "raw" is
        the paper's test, which counts the misfit of the data to the structure as evidence as well.
        On random instances of 16 to 20 arms it can exploit too early.
    threshold : {"practical", "theory"}
        How much evidence is enough: "practical" is ln(1 + t), as in the paper's experiments;
        "theory" is the proof's, which explores for longer.
    confidence : {"practical", "theory"}
        The level of the confidence bounds in the game: "practical" is ln n, likewise; "theory" is
        the proof's.
    epsilon : float
        The least gap is epsilon / n**decay in the n-th exploration round; positive.
    decay : float
        See there; positive, at most 10. `docs/studies/defaults.md` has what each option was
        measured to be worth.
    tracking : {"game", "pulls"}
        Which pulls count against the learner's shares: "game" those that tracking itself chose, as
        in the paper's theorem on tracking; "pulls" all of an arm's, as its Algorithm 1 is printed,
        where the candidate, which has most of them, is hardly ever behind.

    Guarantee
    ---------
    Asymptotically it explores no more than the instance-dependent lower bound asks for, whatever
    the structure (the paper's Theorem 3, for sub-Gaussian rewards and its own options). At small
    horizons it is close to UCB, and may lose more. One projection and at most two nearest
    alternatives a round.

    >>> import armature as am
    >>> bandit = am.Bandit(am.SPk(), am.Unimodal(3))
    >>> for _ in range(50):
    ...     arm = bandit.ask()
    ...     bandit.tell(arm, [0.0, 1.0, 9.0][arm])
    >>> bandit.pulls.tolist()  # arm 1 is the only neighbour of the peak, and much worse
    [1, 1, 48]

    Limits
    ------
    The guarantee is asymptotic. At T = 10,000 the mean regret is above UCB's on eight of the twelve
    problems in `docs/studies/defaults.md`, and in two examples (pricing, features). The defaults
    are not the paper's; `SPk.published()` is. With Bernoulli rewards decisions were compared on
    four structures only: on the others rounding decides.

    References
    ----------
    Degenne, Shao and Koolen (2020), "Structure Adaptive Algorithms for Stochastic Bandits".
    Paper: Algorithm 1; Theorem 3.
    """

    tracking: Literal["game", "pulls"] = "game"

    keeps_pairs: ClassVar[bool] = True
    oracles: ClassVar = ("project", "nearest")
    saved: ClassVar = ("explored", "losses", "mixability", "ahead")
    choose: ClassVar = choose

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self, "tracking", ("game", "pulls"))

    @classmethod
    def published(cls) -> SPk:
        """The paper's Algorithm 1 to the letter, with the settings of its experiments.

        The test is Eq. (15); tracking counts all pulls; the threshold is ln(1 + t), intervals go by
        ln n, and the least gap is 1 / n. (The paper says of the threshold "about ln t", of the gap
        "proportional to 1 / n".)
        """
        return cls(test="raw", tracking="pulls")

    @classmethod
    def examples(cls) -> tuple[Policy, ...]:
        return *super().examples(), cls.published()

    def init(self, structure: Structure, family: Family) -> SPkState:
        K = structure.n_arms
        return SPkState(
            np.zeros(K),
            np.zeros((K, K)),
            np.zeros((K, 1)),
            np.zeros(K),
            np.zeros(K),
            make_room(K),
            self.game_options,
            self.tracking == "pulls",
        )
