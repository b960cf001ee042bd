"""GameSampling: the paper's game with all gaps 1."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from armature.bounds.learners import AdaHedgeState, adahedge_update, adahedge_weights, track
from armature.families import Family
from armature.families.kernels import of_arm
from armature.kernels.arrays import Floats
from armature.kernels.checks import check_choice
from armature.kernels.kernel import kernel
from armature.kernels.streams import Stream
from armature.policies.game import GameOptions, Room, clipped_divergence, make_room, write_intervals
from armature.policies.policy import Belief, CompiledPolicy, History, Policy
from armature.policies.records import least_pulled
from armature.structures import Structure
from armature.structures.oracles.leader import leader_of
from armature.structures.oracles.model import Model, nearest_alternative, projection
from armature.words import Arm, Sentence

CONFIDENCE = ("practical", "none")


class GameSamplingState(NamedTuple):
    """A learner for each candidate j for the best arm, and how far tracking is behind."""

    played: Floats  # n_j: rounds in which j was the candidate
    losses: Floats  # (K, K): row j is the state of j's AdaHedge
    mixability: Floats  # (K, 1)
    ahead: Floats  # N - W, over the rounds that are tracked
    shares: Floats  # the learner's weights
    room: Room
    options: GameOptions
    optimistic: bool


@kernel
def write_gains(state: GameSamplingState, model: Model, history: History, n: float) -> None:
    """room.gains = less the most information about lam that each arm may give, a loss."""
    room = state.room
    if state.optimistic:
        write_intervals(state.options, model.family, history, n, room)
    for k in range(history.pulls.size):
        own = of_arm(model.family, k)
        gain = clipped_divergence(own, room.projected[k], room.lam[k])
        if state.optimistic:
            gain = max(gain, clipped_divergence(own, room.low[k], room.lam[k]))
            gain = max(gain, clipped_divergence(own, room.high[k], room.lam[k]))
        room.gains[k] = -gain


@kernel
def choose(state: GameSamplingState, model: Model, history: History, stream: Stream) -> int:
    """A step of the candidate's game, and the arm that is furthest behind its share."""
    room = state.room
    if projection(model, history.means, history.pulls, room.projected) == math.inf:
        return least_pulled(history)
    j = leader_of(model.family, room.projected, history.means, history.pulls)
    state.played[j] += 1.0
    learner = AdaHedgeState(state.losses[j], state.mixability[j])
    adahedge_weights(learner, state.shares)
    if nearest_alternative(model, room.projected, state.shares, j, room.lam) == math.inf:
        return least_pulled(history)
    write_gains(state, model, history, state.played[j])
    adahedge_update(learner, state.shares, room.gains)
    return track(state.ahead, state.shares)


@dataclass(frozen=True)
class GameSampling(CompiledPolicy):
    """An online learner picks shares of the samples, the nearest alternative answers.

    1 / T* is the value of a game between shares of the samples and mean vectors with another best
    arm: the paper's game with all gaps 1, and playing it is sampling. Pull each arm once. Then the
    candidate is the best arm of the projection; its AdaHedge gives the shares w; lam is the nearest
    alternative to the projected means with weights w; an arm's gain is the most information
    d(x, lam_k) for x its fitted mean or in its confidence interval, N d(mean, .) <= ln n in the
    n-th round of the candidate; and the arm is pulled whose pulls are furthest behind the sum of
    all w.

    Parameters
    ----------
    confidence : {"practical", "none"}
        "practical" is as above; "none" takes the fitted means for the truth.

    Guarantee
    ---------
    Asymptotically optimal: the mean stopping time over ln(1 / delta) goes to T* (Degenne, Koolen
    and Ménard, 2019, for sub-Gaussian rewards and wider intervals than these). One projection and
    one nearest alternative a round.

    >>> import armature as am
    >>> bandit = am.Bandit(am.GameSampling(), am.Unconstrained(2))
    >>> bandit.tell([0, 1], [0.0, 1.0])
    >>> [bandit.ask() for _ in range(4)]
    [0, 1, 1, 0]

    Limits
    ------
    Made to find the best arm, at any regret. Its intervals are narrower than the proof's.

    References
    ----------
    Degenne, Koolen and Ménard (2019), "Non-Asymptotic Pure Exploration by Solving Games".
    Paper: Section 2.4, pure exploration.
    """

    confidence: str = "practical"

    weighs_by_pulls: ClassVar[bool] = False
    identifies: ClassVar[bool] = True
    keeps_pairs: ClassVar[bool] = True
    oracles: ClassVar = ("project", "nearest")
    saved: ClassVar = ("played", "losses", "mixability", "ahead")
    choose: ClassVar = choose

    def __post_init__(self) -> None:
        check_choice(self, "confidence", CONFIDENCE)

    @classmethod
    def examples(cls) -> tuple[Policy, ...]:
        return cls(), cls(confidence="none")

    def init(self, structure: Structure, family: Family) -> GameSamplingState:
        K = structure.n_arms
        return GameSamplingState(
            played=np.zeros(K),
            losses=np.zeros((K, K)),
            mixability=np.zeros((K, 1)),
            ahead=np.zeros(K),
            shares=np.zeros(K),
            room=make_room(K),
            options=GameOptions(True, False, False, 1.0, 1.0),
            optimistic=self.confidence == "practical",
        )

    def explain(self, belief: Belief) -> Sentence:
        return Sentence(
            "{policy} plays a step of the game that separates {leader}, the leader, from all "
            "other arms; the evidence for it is {evidence:.2f}.",
            policy=self.name,
            leader=Arm(belief.leader),
            evidence=belief.evidence,
        )
