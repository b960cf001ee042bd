"""The lower bound as a zero-sum game, approached by an online learner: the paper's noise-free case.

One player picks arms, the other alternatives; the payoff is information per regret,
d(mu_k, lam_k) / gap_k, and the value of the game is 1 / V_eps. Each learner below plays one side
against a best response, one oracle call a round (`k`) or one for each cell (`lambda`).

At any round n the strategies so far bound V_eps from both sides. With R the regret so far, N the
pulls and E_k the information that the alternatives played so far would have given at arm k,

    R / max_k (E_k / gap_k)  <=  V_eps  <=  R / min over lam in `not *` of sum_k N_k d(mu_k, lam_k).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from armature._compile import kernel
from armature.arrays import Floats, Ints
from armature.errors import ArmatureError
from armature.families import FamilyRecord
from armature.families.kernels import divergence
from armature.instance import Instance
from armature.learners.adahedge import AdaHedgeState, adahedge_update, adahedge_weights
from armature.learners.follow_the_leader import FollowTheLeader, follow_the_leaders
from armature.structures.model import Model, make_model, nearest_alternative

LARGEST = 1e8  # a divergence that counts as infinite


@kernel
def information(family: FamilyRecord, x: float, y: float) -> float:
    """d(x, y), bounded."""
    return min(divergence(family, x, y), LARGEST)


@kernel
def record(
    model: Model,
    mu: Floats,
    gaps: Floats,
    best: int,
    N: Floats,
    E: Floats,
    regret: float,
    lam: Floats,
    row: Floats,
) -> None:
    """Write (lower, upper) to a row of the trajectory."""
    told_apart = nearest_alternative(model, mu, N, best, lam)
    most = 0.0
    for k in range(mu.size):
        most = max(most, E[k] / gaps[k])
    row[0] = regret / most if most > 0.0 else 0.0
    row[1] = regret / told_apart if told_apart > 0.0 else math.inf


@kernel
def play_k(
    model: Model,
    mu: Floats,
    gaps: Floats,
    best: int,
    checkpoints: Ints,
    trajectory: Floats,
    N: Floats,
    E: Floats,
    vectors: Floats,
) -> None:
    """AdaHedge picks proportions of regret; the nearest alternative answers."""
    K = mu.size
    learner = AdaHedgeState(vectors[0], vectors[1, :1])
    share = vectors[2]  # of the regret
    w = vectors[3]  # of the rounds
    lam = vectors[4]
    loss = vectors[5]
    regret = 0.0
    at = 0
    for t in range(1, checkpoints[-1] + 1):
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
        for k in range(K):
            d = information(model.family, mu[k], lam[k])
            N[k] += w[k]
            E[k] += paid * d
            loss[k] = -paid * d / gaps[k]
        regret += paid
        adahedge_update(learner, share, loss)
        if t == checkpoints[at]:
            record(model, mu, gaps, best, N, E, regret, lam, trajectory[at])
            at += 1


@kernel
def play_lambda(
    model: Model,
    mu: Floats,
    gaps: Floats,
    best: int,
    cells: Ints,
    checkpoints: Ints,
    trajectory: Floats,
    N: Floats,
    E: Floats,
    vectors: Floats,
    leaders: Floats,
    experts: Floats,
) -> None:
    """A leader for each cell, AdaHedge over the cells; the arm with most information answers."""
    K = mu.size
    C = cells.size
    learner = AdaHedgeState(experts[0], experts[1, :1])
    q = experts[2]
    loss = experts[3]
    expected = vectors[0]
    lam = vectors[4]
    regret = 0.0
    at = 0
    for t in range(1, checkpoints[-1] + 1):
        adahedge_weights(learner, q)
        for k in range(K):
            expected[k] = 0.0
        follow_the_leaders(model, mu, N, best, cells, leaders)
        for c in range(C):
            for k in range(K):
                if q[c] > 0.0:
                    expected[k] += q[c] * information(model.family, mu[k], leaders[c, k])
        pulled = 0
        for k in range(K):
            if expected[k] / gaps[k] > expected[pulled] / gaps[pulled]:
                pulled = k
        for c in range(C):
            loss[c] = information(model.family, mu[pulled], leaders[c, pulled])
        for k in range(K):
            E[k] += gaps[pulled] * expected[k]
        N[pulled] += 1.0
        regret += gaps[pulled]
        adahedge_update(learner, q, loss)
        if t == checkpoints[at]:
            record(model, mu, gaps, best, N, E, regret, lam, trajectory[at])
            at += 1


@dataclass(frozen=True, eq=False)
class Game:
    """How a learner approached the value of the game.

    Attributes
    ----------
        rounds: the rounds at which it was looked at, spaced logarithmically.
        lower, upper: bounds on V_eps from the strategies up to each of these rounds.
        pulls: the allocation per ln T that the averaged strategy of the arms stands for.
        information: what the averaged alternative tells at each arm, E_q d(mu_k, lam_k).
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
    at V_eps = `lower_bound(instance, epsilon).value`, at a rate of about 1 / sqrt(rounds).

    >>> from armature.structures import Unimodal
    >>> game = solve_game(Instance(Unimodal(3), [0.0, 1.0, 0.5]), "k", epsilon=0.2, rounds=1000)
    >>> bool(game.lower[-1] <= game.upper[-1] <= 1.2 * game.lower[-1])
    True

    References: the paper's Section 2.3.
    """
    if learner not in ("k", "lambda"):
        raise ArmatureError(f'learner must be "k" or "lambda"; got {learner!r}.')
    if not (np.isfinite(epsilon) and epsilon > 0.0):
        raise ArmatureError(f"epsilon must be a positive finite number; got {epsilon!r}.")
    if rounds < 1:
        raise ArmatureError(f"rounds = {rounds}: at least one round is needed.")
    structure = instance.structure
    K, best = instance.n_arms, instance.best_arm
    gaps = np.maximum(instance.gaps, epsilon)
    mu, ones, family = instance.means.copy(), np.ones(K), instance.family
    if structure.nearest_alternative(mu, ones, best, family).cost == math.inf:
        raise ArmatureError(
            f"there is no game to play: no alternative that the data could be mistaken for has "
            f"another best arm than {best}, and V = 0."
        )
    checkpoints = np.unique(np.geomspace(1, rounds, 200).round().astype(np.int64))
    trajectory = np.zeros((checkpoints.size, 2))
    N, E = np.zeros(K), np.zeros(K)
    tail = (checkpoints, trajectory, N, E, np.zeros((6, K)))
    if learner == "k":
        play_k(make_model(structure, family, ("nearest",)), mu, gaps, best, *tail)
    else:
        cells = FollowTheLeader(structure, mu, best, family)
        experts = np.zeros((len(cells.cells), K)), np.zeros((4, len(cells.cells)))
        model = cells.model(("nearest", "cell_min"))
        play_lambda(model, mu, gaps, best, cells.numbers, *tail, *experts)
    regret = float(N @ gaps)
    upper = float(trajectory[-1, 1])
    return Game(
        checkpoints,
        trajectory[:, 0],
        trajectory[:, 1],
        N * upper / regret if math.isfinite(upper) else N / regret,
        E / regret,
    )
