"""The lower bound as a zero-sum game, approached by an online learner: the paper's noise-free case.

One player picks arms, the other alternatives; the payoff is information per regret,
d(mu_k, lam_k) / gap_k, and the value of the game is 1 / V_eps. Each learner below plays one side
against a best response, one oracle call a round (`k`) or one for each cell (`lambda`).

At any round n the strategies so far bound V_eps from both sides. With R the regret so far, N the
pulls and E_k the information that the alternatives played so far would have given at arm k,

    R / max_k (E_k / gap_k)  <=  V_eps  <=  R / min over lam in `not *` of sum_k N_k d(mu_k, lam_k).

An alternative that is infinitely far from the means at some arm bounds nothing: on the left, R and
E leave it out. What bounded V_eps best so far is kept: a learner may well do worse for a while.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from armature.bounds.learners import (
    AdaHedgeState,
    FollowTheLeader,
    adahedge_update,
    adahedge_weights,
    follow_the_leaders,
)
from armature.bounds.lower_bound import check_fit
from armature.errors import ArmatureError
from armature.families import FamilyRecord
from armature.families.kernels import divergence, of_arm
from armature.kernels.arrays import Floats, Ints
from armature.kernels.checks import MOST_COUNTED, checked_scale, is_whole
from armature.kernels.kernel import kernel
from armature.structures.instance import Instance
from armature.structures.oracles.model import Model, make_model, nearest_alternative

LARGEST = 1e8  # what a learner sees of an infinite divergence


class Board(NamedTuple):
    """The problem of the game: the means, the gaps (all positive) and the best arm."""

    mu: Floats
    gaps: Floats
    best: int


class GameRecord(NamedTuple):
    """The rounds played so far, and the best bounds up to each checkpoint."""

    checkpoints: Ints
    trajectory: Floats  # (checkpoints, 2): lower, upper
    N: Floats  # the pulls
    E: Floats  # the information that the alternatives would have given, those that count
    regret: Floats  # (2,): in all, and in the rounds that count
    pulls: Floats  # the allocation that the upper bound is the cost of
    information: Floats  # E over its regret, when the lower bound came of it
    vectors: Floats  # (6, K): scratch


class Leaders(NamedTuple):
    """One alternative for each cell, and AdaHedge's weights over these."""

    cells: Ints  # their numbers
    means: Floats  # (cells, K)
    experts: Floats  # (4, cells): scratch


@kernel
def finite_divergence(family: FamilyRecord, x: float, y: float) -> float:
    """d(x, y), bounded where it is infinite."""
    d = divergence(family, x, y)
    return d if d < math.inf else LARGEST


@kernel
def is_finite(family: FamilyRecord, mu: Floats, lam: Floats) -> bool:
    """True if an alternative is at a finite distance at every arm: only then does it count."""
    for k in range(mu.size):
        if divergence(of_arm(family, k), mu[k], lam[k]) == math.inf:
            return False
    return True


@kernel
def note_bounds(model: Model, board: Board, record: GameRecord, at: int) -> None:
    """Write (lower, upper) to a row of the trajectory, and what they come from if they are new.

    Paper: Eq. (2a); Eq. (6); Eq. (12).
    """
    least = nearest_alternative(model, board.mu, record.N, board.best, record.vectors[4])
    most = 0.0
    for k in range(board.mu.size):  # most: of the arms before k
        most = max(most, record.E[k] / board.gaps[k])
    lower = record.regret[1] / most if most > 0.0 else 0.0
    upper = record.regret[0] / least if least > 0.0 else math.inf
    if at > 0 and record.trajectory[at - 1, 0] >= lower:
        lower = record.trajectory[at - 1, 0]
    elif most > 0.0:
        for k in range(board.mu.size):
            record.information[k] = record.E[k] / record.regret[1]
    if at > 0 and record.trajectory[at - 1, 1] <= upper:
        upper = record.trajectory[at - 1, 1]
    elif least > 0.0:
        for k in range(board.mu.size):
            record.pulls[k] = record.N[k] / least
    record.trajectory[at, 0] = lower
    record.trajectory[at, 1] = upper


@kernel
def play_k(model: Model, board: Board, record: GameRecord) -> None:
    """AdaHedge picks proportions of regret; the nearest alternative answers.

    Paper: Eq. (2b); Eq. (8); Eq. (10).
    """
    mu, gaps, best = board
    vectors = record.vectors
    K = mu.size
    learner = AdaHedgeState(vectors[0], vectors[1, :1])
    share = vectors[2]  # of the regret
    w = vectors[3]  # of the rounds
    lam = vectors[4]
    loss = vectors[5]
    at = 0
    for t in range(1, record.checkpoints[-1] + 1):
        adahedge_weights(learner, share)
        total = 0.0
        for k in range(K):
            w[k] = share[k] / gaps[k]
            total += w[k]
        paid = 0.0
        for k in range(K):
            w[k] /= total
            paid += w[k] * gaps[k]
        nearest_alternative(model, mu, w, best, lam)
        counts = is_finite(model.family, mu, lam)
        for k in range(K):
            d = finite_divergence(of_arm(model.family, k), mu[k], lam[k])
            record.N[k] += w[k]
            record.E[k] += paid * d if counts else 0.0
            loss[k] = -paid * d / gaps[k]
        record.regret[0] += paid
        record.regret[1] += paid if counts else 0.0
        adahedge_update(learner, share, loss)
        if t == record.checkpoints[at]:
            note_bounds(model, board, record, at)
            at += 1


@kernel
def expect(model: Model, mu: Floats, q: Floats, leaders: Floats, gain: Floats) -> None:
    """gain[k] = E_q d(mu_k, lam_k) over the leaders."""
    for k in range(mu.size):
        gain[k] = 0.0
        for c in range(q.size):  # gain[k]: by the leaders before c
            if q[c] > 0.0:
                gain[k] += q[c] * divergence(of_arm(model.family, k), mu[k], leaders[c, k])


@kernel
def play_lambda(model: Model, board: Board, leaders: Leaders, record: GameRecord) -> None:
    """A leader for each cell, AdaHedge over the cells; the arm with most information answers.

    Each arm is pulled once before: with no weight on it, a leader might be infinitely far there.

    Paper: Eq. (2c); Eq. (4).
    """
    mu, gaps, best = board
    cells, means, experts = leaders
    for k in range(mu.size):
        record.N[k] = 1.0
        record.regret[0] += gaps[k]
    learner = AdaHedgeState(experts[0], experts[1, :1])
    q = experts[2]
    loss = experts[3]
    gain = record.vectors[0]
    at = 0
    for t in range(1, record.checkpoints[-1] + 1):  # N, E and regret: of the rounds before t
        adahedge_weights(learner, q)
        follow_the_leaders(model, mu, record.N, best, cells, means)
        expect(model, mu, q, means, gain)
        pulled = 0
        for k in range(mu.size):
            if gain[k] / gaps[k] > gain[pulled] / gaps[pulled]:
                pulled = k
        for c in range(q.size):
            loss[c] = divergence(of_arm(model.family, pulled), mu[pulled], means[c, pulled])
        for k in range(mu.size):
            record.E[k] += gaps[pulled] * gain[k]
        record.N[pulled] += 1.0
        record.regret[0] += gaps[pulled]
        record.regret[1] += gaps[pulled]
        adahedge_update(learner, q, loss)
        if t == record.checkpoints[at]:
            note_bounds(model, board, record, at)
            at += 1


@dataclass(frozen=True, eq=False)
class Game:
    """The path of a learner towards the value of the game.

    Attributes
    ----------
        rounds: the rounds at which it was looked at, spaced logarithmically.
        lower, upper: the best bounds on V_eps up to each of these rounds.
        pulls: the allocation per ln T that the last upper bound is the cost of (0 if infinite).
        information: what the averaged alternative behind the last lower bound tells at each arm,
            E_q d(mu_k, lam_k).

    Paper: Section 2.3, the game.
    """

    rounds: npt.NDArray[np.int64]
    lower: Floats
    upper: Floats
    pulls: Floats
    information: Floats


def solve_game(
    instance: Instance,
    learner: Literal["k", "lambda"] = "k",
    epsilon: float = 0.1,
    rounds: int = 10_000,
) -> Game:
    """Let a learner play the game of an instance whose means are known.

    `epsilon` is the least gap (that of the best arm is 0 and can't be divided by). The bounds meet
    at V_eps = `lower_bound(instance, epsilon).value`, at a rate of about 1 / sqrt(rounds); where
    alternatives tell far more about some arms than V_eps asks for, only after very many.

    >>> from armature.structures import Unimodal
    >>> game = solve_game(Instance(Unimodal(3), [0.0, 1.0, 0.5]), "k", epsilon=0.2, rounds=1000)
    >>> bool(game.lower[-1] <= game.upper[-1] <= 1.2 * game.lower[-1])
    True

    References: Degenne, Shao and Koolen (2020).

    Limits: It runs for a given number of rounds, not until a given precision.

    Paper: Section 2.3, the game.
    """
    if not (isinstance(learner, str) and learner in ("k", "lambda")):
        raise ArmatureError(f'learner must be "k" or "lambda"; got {learner!r}.')
    epsilon = checked_scale(epsilon, "epsilon")
    if not (is_whole(rounds) and 1 <= rounds <= MOST_COUNTED):
        raise ArmatureError(f"rounds must be a whole number, at least 1; got {rounds!r}.")
    check_fit(instance)
    structure, family, best = instance.structure, instance.family, instance.best_arm
    board = Board(instance.means.copy(), np.maximum(instance.gaps, epsilon), best)
    ones = np.ones(instance.n_arms)
    if structure.nearest_alternative(board.mu, ones, best, family).cost == math.inf:
        raise ArmatureError(
            f"there is no game to play: no alternative that the data could be mistaken for has "
            f"another best arm than {best}, and V = 0."
        )
    record = make_record(instance.n_arms, rounds)
    if learner == "k":
        play_k(make_model(structure, family, ("nearest",)), board, record)
    else:
        cells = FollowTheLeader(structure, board.mu, best, family)
        C = len(cells.cells)
        leaders = Leaders(
            cells=cells.numbers, means=np.zeros((C, instance.n_arms)), experts=np.zeros((4, C))
        )
        play_lambda(cells.model(("nearest", "cell_min")), board, leaders, record)
    lower, upper = record.trajectory.T
    return Game(record.checkpoints, lower, upper, record.pulls, record.information)


def make_record(K: int, rounds: int) -> GameRecord:
    """Nothing played yet; a look at about two hundred rounds, spaced logarithmically."""
    checkpoints = np.unique(np.geomspace(1, rounds, 200).round().astype(np.int64))
    return GameRecord(
        checkpoints=checkpoints,
        trajectory=np.zeros((checkpoints.size, 2)),
        N=np.zeros(K),
        E=np.zeros(K),
        regret=np.zeros(2),
        pulls=np.zeros(K),
        information=np.zeros(K),
        vectors=np.zeros((6, K)),
    )
