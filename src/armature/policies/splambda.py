"""SPLambda: the game with a learner for the alternatives (the paper's second algorithm)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from armature._compile import kernel
from armature.families import Family, FamilyRecord
from armature.learners.adahedge import AdaHedgeState, adahedge_update, adahedge_weights
from armature.policies._game import (
    GameOptions,
    Room,
    exploit_or_candidate,
    make_room,
    price,
    telling,
    write_intervals,
)
from armature.policies._records import History
from armature.policies._saddle_point import SaddlePointPolicy
from armature.streams import Stream
from armature.structures import Sparse, Structure
from armature.structures._records import Floats, Ints, Query
from armature.structures.model import Model, nearest_in_cell
from armature.structures.sparse import gains


class SPLambdaState(NamedTuple):
    """A learner over the cells of `not j` for each candidate j for the best arm."""

    explored: Floats  # n_j: exploration rounds in which j was the candidate
    weights: Floats  # (K, K): row j counts the pulls that j's game has chosen
    losses: Floats  # (K, C): row j is the state of j's AdaHedge over the cells
    mixability: Floats  # (K, 1)
    cells: npt.NDArray[np.int64]  # (K, C, 2): first and second of each cell; first is -1 for none
    support: Ints  # the sparse structure's best support with j in it
    awake: Ints  # the cells that take part in a round
    leaders: Floats  # (C, K): the leaders in these cells
    experts: Floats  # (3, C): their losses so far, weights and losses in this round
    room: Room
    options: GameOptions


@kernel
def find_support(model: Model, history: History, j: int, support: Ints, gain: Floats) -> None:
    """The best support that contains arm j, for the sparse structure."""
    gains(model.shape, model.family, history.means, history.pulls, gain)
    gain[j] = math.inf
    for k in range(support.size):
        support[k] = 0
    for _ in range(model.shape.integer[0]):
        best = -1
        for k in range(support.size):
            if support[k] == 0 and (best < 0 or gain[k] > gain[best]):
                best = k
        support[best] = 1


@kernel
def is_cell(support: Ints, j: int, first: int, second: int) -> bool:
    """Whether the sparse structure has this cell: see its class for what they are."""
    if support[first] == 0:
        return False
    return first != j if first == second else support[second] == 0


@kernel
def wake_leaders(state: SPLambdaState, model: Model, history: History, j: int) -> int:
    """The leaders in all cells that have any; how many there are."""
    sparse = state.support.size > 0
    if sparse:
        find_support(model, history, j, state.support, state.room.lam)
    support = state.support if sparse else model.support
    n = 0
    for c in range(state.cells.shape[1]):
        first = state.cells[j, c, 0]
        second = state.cells[j, c, 1]
        if first < 0 or (sparse and not is_cell(state.support, j, first, second)):
            continue
        query = Query(j, first, second, support)
        leader = state.leaders[n]
        if nearest_in_cell(model, history.means, state.weights[j], query, leader) < math.inf:
            state.awake[n] = c
            state.experts[0, n] = state.losses[j, c]
            n += 1
    return n


@kernel
def expected(family: FamilyRecord, q: Floats, leaders: Floats, k: int, xi: float) -> float:
    """What an alternative drawn with probabilities q tells about arm k if its mean is xi."""
    total = 0.0
    for c in range(q.size):
        if q[c] > 0.0:
            total += q[c] * telling(family, xi, leaders[c, k])
    return total


@kernel
def best_response(
    family: FamilyRecord, room: Room, j: int, epsilon: float, q: Floats, leaders: Floats
) -> int:
    """The arm with the most information per regret, for some mean in its interval."""
    best = 0
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
    """Exploit if the test says so; else the candidate, and a step of its game, in turns."""
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
        loss[c] = telling(model.family, history.means[pulled], state.leaders[c, pulled])
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

    Options and guarantee are those of `SPk`. A round costs one oracle call for each cell: K - 1 for
    most structures, up to K s for the sparse one, whose cells follow the best support so far.
    """

    oracles: ClassVar = ("project", "nearest", "cell_min")
    saved: ClassVar = ("explored", "weights", "losses", "mixability")
    choose: ClassVar = choose

    def init(self, structure: Structure, family: Family) -> SPLambdaState:
        K = structure.n_arms
        cells = _cell_table(structure)
        C = cells.shape[1]
        return SPLambdaState(
            np.zeros(K),
            np.zeros((K, K)),
            np.zeros((K, C)),
            np.zeros((K, 1)),
            cells,
            np.zeros(K if isinstance(structure, Sparse) else 0, dtype=np.int64),
            np.zeros(C, dtype=np.int64),
            np.zeros((C, K)),
            np.zeros((3, C)),
            make_room(K),
            self.game_options,
        )


def _cell_table(structure: Structure) -> npt.NDArray[np.int64]:
    """(first, second) of each cell of `not j` for each j; all pairs where they come and go."""
    K = structure.n_arms
    if isinstance(structure, Sparse):
        pairs = [(first, second) for first in range(K) for second in range(K)]
        return np.array([pairs] * K, dtype=np.int64)
    rows = [[(c.first, c.second) for c in structure.cells(j)] for j in range(K)]
    table = np.full((K, max(1, *map(len, rows)), 2), -1, dtype=np.int64)
    for j, row in enumerate(rows):
        table[j, : len(row)] = np.array(row, dtype=np.int64).reshape(-1, 2)
    return table
