"""SPLambda: the game with a learner for the alternatives (the paper's second algorithm)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from armature.bounds.learners import AdaHedgeState, adahedge_update, adahedge_weights
from armature.families import Family, FamilyRecord
from armature.families.kernels import of_arm
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import kernel
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
from armature.policies.policy import History
from armature.structures import Structure
from armature.structures.oracles.model import Model, list_cells, nearest_in_cell


class SPLambdaState(NamedTuple):
    """A learner over the cells of `not j` for each candidate j for the best arm."""

    explored: Floats  # n_j: exploration rounds in which j was the candidate
    weights: Floats  # (K, K): row j counts the pulls that j's game has chosen
    losses: Floats  # (K, C): row j is the state of j's AdaHedge over the cells
    mixability: Floats  # (K, 1)
    awake: Ints  # the cells that take part in a round
    leaders: Floats  # (C, K): the leaders in these cells
    experts: Floats  # (3, C): their losses so far, weights and losses in this round
    room: Room
    options: GameOptions


@kernel
def wake_leaders(state: SPLambdaState, model: Model, history: History, j: int) -> int:
    """The leaders in all cells that have any; how many there are."""
    cells = list_cells(model, history.means, history.pulls, j, state.awake)
    n = 0  # invariant: of the cells before `place`, so many have a leader, the first n of `awake`
    for place in range(cells):
        cell = state.awake[place]
        leader = state.leaders[n]
        if nearest_in_cell(model, history.means, state.weights[j], j, cell, leader) < math.inf:
            state.awake[n] = cell
            state.experts[0, n] = state.losses[j, cell]
            n += 1
    return n


@kernel
def expected(family: FamilyRecord, q: Floats, leaders: Floats, k: int, xi: float) -> float:
    """The information on arm k, of mean xi, from an alternative drawn with probabilities q."""
    total = 0.0
    for c in range(q.size):  # total: over the cells before c
        if q[c] > 0.0:
            total += q[c] * clipped_divergence(of_arm(family, k), xi, leaders[c, k])
    return total


@kernel
def best_response(
    family: FamilyRecord, room: Room, j: int, epsilon: float, q: Floats, leaders: Floats
) -> int:
    """The arm with the most information per regret, for some mean in its interval.

    Paper: Eq. (17).
    """
    best = 0  # invariant: of the arms before k, the first with the most gain, `most`
    most = -math.inf
    top = room.high[j]
    kink = top - epsilon
    for k in range(room.low.size):
        low = room.low[k]
        high = room.high[k]
        gain = max(
            expected(family, q, leaders, k, low) / price(k == j, epsilon, top, low),
            expected(family, q, leaders, k, high) / price(k == j, epsilon, top, high),
        )
        if k != j and low < kink < high:
            gain = max(gain, expected(family, q, leaders, k, kink) / epsilon)
        if gain > most:
            most = gain
            best = k
    return best


@kernel
def choose(state: SPLambdaState, model: Model, history: History, stream: Stream) -> int:
    """Exploit if the test says so; else the candidate, and a step of its game, in turns.

    Paper: Section 2.4, SP_λ.
    """
    options = state.options
    room = state.room
    arm, j, n = exploit_or_candidate(options, model, history, state.explored, room)
    if arm >= 0:
        return arm
    epsilon = options.epsilon / n**options.decay
    write_intervals(options, model.family, history, n, room)
    awake = wake_leaders(state, model, history, j)
    if awake == 0:
        return j  # nothing tells against it
    q = state.experts[1, :awake]
    loss = state.experts[2, :awake]
    learner = AdaHedgeState(state.experts[0, :awake], state.mixability[j])
    adahedge_weights(learner, q)
    pulled = best_response(model.family, room, j, epsilon, q, state.leaders)
    least = math.inf
    for c in range(awake):
        loss[c] = clipped_divergence(
            of_arm(model.family, pulled), history.means[pulled], state.leaders[c, pulled]
        )
        least = min(least, loss[c])
    average = least  # exactly so where all are equal
    for c in range(awake):
        average += q[c] * (loss[c] - least)
    adahedge_update(learner, q, loss)
    # Cells that do not take part do as well as the learner.
    for c in range(state.losses.shape[1]):
        state.losses[j, c] += average
    for c in range(awake):
        state.losses[j, state.awake[c]] = state.experts[0, c]
    state.weights[j, pulled] += 1.0
    return pulled


@dataclass(frozen=True)
class SPLambda(SaddlePointPolicy):
    """A leader in each convex cell of the alternatives, AdaHedge over the cells, best response.

    `SPLambda.published()` is the paper's algorithm to the letter; `SPLambda()` is the library's
    variant. They differ in when they exploit (`test`, "raw" in the paper). Nothing is tracked.

    The game of `SPk` with the learner on the other side: it is the alternatives that are learnt,
    and the pull is the arm with the most information per regret against them.

    Parameters
    ----------
    test : {"glr", "raw"}
        When to exploit: as in `SPk`, and so are the others.
    threshold : {"practical", "theory"}
        How much evidence is enough.
    confidence : {"practical", "theory"}
        The level of the confidence bounds in the game.
    epsilon : float
        The least gap is epsilon / n**decay in the n-th exploration round; positive.
    decay : float
        See there; positive, at most 10.

    Guarantee
    ---------
    That of `SPk` (the paper's Theorem 3), but for the sparse structure, for which the paper has no
    such algorithm. A round of exploration costs one oracle call for each cell: K - 1 for most
    structures, up to K s for the sparse one, whose cells follow the best support so far.

    >>> import armature as am
    >>> bandit = am.Bandit(am.SPLambda(), am.Unimodal(3))
    >>> for _ in range(50):
    ...     arm = bandit.ask()
    ...     bandit.tell(arm, [0.0, 1.0, 9.0][arm])
    >>> bandit.pulls.tolist()
    [1, 1, 48]

    Limits
    ------
    As `SPk`. One oracle call for each cell and round. The paper has no such algorithm for the
    sparse structure; here the cells change with the best support so far.

    References
    ----------
    Degenne, Shao and Koolen (2020), "Structure Adaptive Algorithms for Stochastic Bandits".
    Paper: Section 2.4, SP_λ; Theorem 3.
    """

    keeps_pairs: ClassVar[bool] = True
    oracles: ClassVar = ("project", "nearest", "cells", "cell_min")
    saved: ClassVar = ("explored", "weights", "losses", "mixability")
    choose: ClassVar = choose

    def could_be(self, state: SPLambdaState) -> bool:
        return bool(np.isfinite(state.weights).all())

    @classmethod
    def published(cls) -> SPLambda:
        """The paper's SP_lambda to the letter, with the settings of its experiments.

        As in `SPk.published`. (For the sparse structure the paper has no such algorithm.)
        """
        return cls(test="raw")

    def init(self, structure: Structure, family: Family) -> SPLambdaState:
        K, C = structure.n_arms, structure.n_cells_for(family)
        return SPLambdaState(
            explored=np.zeros(K),
            weights=np.zeros((K, K)),
            losses=np.zeros((K, C)),
            mixability=np.zeros((K, 1)),
            awake=np.zeros(C, dtype=np.int64),
            leaders=np.zeros((C, K)),
            experts=np.zeros((3, C)),
            room=make_room(K),
            options=self.game_options,
        )
