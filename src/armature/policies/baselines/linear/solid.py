"""SOLID: the lower bound of linear bandits, solved step by step (Tirinzoni et al., 2020)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from armature.families import Family, FamilyRecord
from armature.kernels.arrays import Floats
from armature.kernels.checks import check_number
from armature.kernels.kernel import kernel
from armature.kernels.streams import Stream, next_unit
from armature.kernels.vectors import copy, fill
from armature.policies.baselines.linear.lin_ucb import write_weights
from armature.policies.policy import CompiledPolicy, History, Policy
from armature.policies.records import argmax, mark_exploration
from armature.solver.least_squares import Ridge, estimate, fit_ridge, make_ridge, solve_lower
from armature.structures import Linear, Structure
from armature.structures.oracles.model import Model

RIDGE = 1.0  # of the estimate
SHARED = 1e-6  # added to sum omega x x', which may be nearly singular
MULTIPLIER, PHASE, SPENT = range(3)  # of `SOLIDState.game`


class SOLIDState(NamedTuple):
    """The two players' strategies, and room for least squares."""

    omega: Floats  # (K,): the shares of the arms
    game: Floats  # the multiplier; the phase's number; its rounds so far
    ridge: Ridge  # of the pulls
    shared: Ridge  # of omega
    weights: Floats  # (K,): pulls, those of a noisier arm for less
    means: Floats  # (K,): x'theta
    norms: Floats  # (K,): |x| in the norm of G^-1
    halves: Floats  # (K, d): L^-1 x, first of the pulls' matrix, then of omega's
    tells: Floats  # (K,): what an arm tells against the nearest opponent
    length: float
    width: float
    step: float
    most: float


@kernel
def fit(state: SOLIDState, family: FamilyRecord, history: History) -> None:
    """Least squares: mean and norm of every arm."""
    write_weights(history, family, state.weights)
    fit_ridge(state.ridge, history.means, state.weights, RIDGE)
    for k in range(state.means.size):
        state.means[k], state.norms[k] = estimate(state.ridge, k)


@kernel
def write_halves(ridge: Ridge, halves: Floats) -> None:
    """halves = L^-1 x of every arm."""
    for k in range(halves.shape[0]):
        copy(ridge.features[k], halves[k])
        solve_lower(ridge.gram, halves[k])


@kernel
def distance(halves: Floats, j: int, k: int) -> float:
    """The square of |x_j - x_k| in the norm of G^-1."""
    total = 0.0
    for a in range(halves.shape[1]):  # total: of the coordinates before a
        step = halves[j, a] - halves[k, a]
        total += step * step
    return total


@kernel
def cost_of(means: Floats, halves: Floats, variance: float, j: int, z: int) -> float:
    """The cost that z is as good as j; infinite where it always is."""
    square = distance(halves, j, z)
    gap = means[j] - means[z]
    return gap * gap / (2.0 * variance * square) if square > 0.0 else math.inf


@kernel
def nearest(state: SOLIDState, variance: float, j: int) -> tuple[int, float]:
    """The arm that beats j at the least cost, and that cost; -1 where none ever does."""
    chosen = -1  # invariant: of the arms before z, the first with the least cost, `least`
    least = math.inf
    for z in range(state.means.size):
        cost = cost_of(state.means, state.halves, variance, j, z)
        if cost < least:
            least = cost
            chosen = z
    return chosen, least


@kernel
def write_tells(state: SOLIDState, variance: float, j: int, z: int) -> None:
    """(x'(theta - theta'))^2 / (2 variance), theta' being where z beats j."""
    halves = state.halves
    square = distance(halves, j, z)
    gap = state.means[j] - state.means[z]
    for k in range(halves.shape[0]):  # tells: set for the arms before k
        along = 0.0
        for a in range(halves.shape[1]):
            along += halves[k, a] * (halves[j, a] - halves[z, a])
        moved = along * gap / square
        state.tells[k] = moved * moved / (2.0 * variance)


@kernel
def learn(state: SOLIDState, model: Model, history: History, j: int) -> None:
    """One step of both players, with optimistic rewards and information."""
    omega = state.omega
    game = state.game
    variance = model.family.proxy
    fit_ridge(state.shared, state.means, omega, SHARED)
    write_halves(state.shared, state.halves)
    z, _ = nearest(state, variance, j)
    write_tells(state, variance, j, z)
    width = state.width * math.sqrt(2.0 * math.log(1.0 + history.clock[1]))
    taken = 0.0
    for k in range(omega.size):  # taken: the information from the arms before k
        state.tells[k] += width * state.norms[k]
        taken += omega[k] * state.tells[k]
    step = state.step
    top = -math.inf
    for k in range(omega.size):  # tells: gradients of the arms before k, the largest is `top`
        gain = state.means[k] + width * math.sqrt(variance) * state.norms[k]
        state.tells[k] = gain + game[MULTIPLIER] * state.tells[k]
        top = max(top, state.tells[k])
    total = 0.0
    for k in range(omega.size):  # omega: new weights of the arms before k, which add up to total
        omega[k] *= math.exp(step * (state.tells[k] - top))
        total += omega[k]
    for k in range(omega.size):
        omega[k] /= total
    asked = 1.0 / (state.length * math.exp(game[PHASE]))
    game[MULTIPLIER] = min(max(game[MULTIPLIER] - step * (taken - asked), 0.0), state.most)


@kernel
def end_round(state: SOLIDState) -> None:
    """The phase goes on, or the next one begins, which asks for less information a round."""
    game = state.game
    game[SPENT] += 1.0
    if game[SPENT] >= state.length * math.exp(3.0 * game[PHASE]):
        game[PHASE] += 1.0
        game[SPENT] = 0.0


@kernel
def draw(omega: Floats, stream: Stream) -> int:
    """An arm by its share."""
    target = next_unit(stream)
    last = 0  # invariant: the last arm before k with a share; `target` is not negative
    for k in range(omega.size):
        if omega[k] > 0.0:
            last = k
            target -= omega[k]
            if target < 0.0:
                return k
    return last


@kernel
def probabilities(state: SOLIDState, model: Model, history: History, out: Floats) -> bool:
    """out = with which probability `choose` would pull each arm."""
    fit(state, model.family, history)
    j = argmax(state.means)
    write_halves(state.ridge, state.halves)
    z, least = nearest(state, model.family.proxy, j)
    fill(out, 0.0)
    if z < 0 or least > math.log(1.0 + history.clock[0]):
        out[j] = 1.0
        return True
    last = 0
    rest = 1.0  # invariant: what the arms before k leave, of which `last` is the last with a share
    for k in range(out.size):
        if state.omega[k] > 0.0:
            last = k
            out[k] = min(state.omega[k], rest)
            rest -= out[k]
    out[last] += rest
    return True


@kernel
def choose(state: SOLIDState, model: Model, history: History, stream: Stream) -> int:
    """The leader where the evidence for it suffices, else a draw, and a step of both players."""
    fit(state, model.family, history)
    j = argmax(state.means)
    write_halves(state.ridge, state.halves)
    z, least = nearest(state, model.family.proxy, j)
    if z < 0 or least > math.log(1.0 + history.clock[0]):
        return j
    mark_exploration(history)
    arm = draw(state.omega, stream)
    learn(state, model, history, j)
    end_round(state)
    return arm


@dataclass(frozen=True)
class SOLID(CompiledPolicy):
    """The lower bound as a saddle point, with two players that learn while they explore.

    With the features x of the arms, G = I + sum of x x' over the pulls, theta the ridge estimate
    and j its best arm: if the evidence against every parameter at which another arm beats j,
    |theta' - theta|^2 / (2 sigma^2) in the norm of G, exceeds ln(1 + t), pull j. Else this is
    exploration round s. Draw an arm by the shares omega; then, with c = width sqrt(2 ln(1 + s)) and
    |x| in the norm of G^-1, let theta' be the nearest such parameter in the norm of
    sum omega x x', and

    * gain_k = x_k'theta + c sigma |x_k|, information_k = (x_k'(theta - theta'))^2 / (2 sigma^2)
      + c |x_k|, both optimistic;
    * omega_k gets the factor exp(step (gain_k + multiplier information_k)), and is normalised;
    * the multiplier becomes multiplier - step (sum_k omega_k information_k - 1 / z), with the omega
      before, at least 0 and at most `most`: it grows while less information is taken than asked.

    Phase number p = 0, 1, ... has z = length e^p and takes length e^(3 p) exploration rounds. The
    shares are equal at first, and the multiplier is 0; both go on from phase to phase. Where the
    arms' noise differs, sigma is the largest, and a pull of arm k counts sigma^2 / sigma_k^2 times.

    Parameters
    ----------
    length : float
        The rounds of the first phase, and how little information it asks for.
    width : float
        The scale of the confidence bounds.
    step : float
        Of both players. (The authors' proof has steps that fall from phase to phase, and players
        that begin anew in each; on the problems of `studies/challenger` that lost twice as much.)
    most : float
        The largest multiplier: regret per information.

    Guarantee
    ---------
    With the authors' confidence bounds and steps asymptotically optimal, and regret of order
    sqrt(T) for all instances (their theorems); nothing is proved for these. Theirs is for contexts,
    of which there is one here. O(K d^2 + d^3) a round.

    >>> import armature as am
    >>> bandit = am.Bandit(am.SOLID(), am.Linear([[1.0], [-1.0]]))
    >>> bandit.tell([0, 0], [-9.0, -9.0])
    >>> bandit.ask()  # bad rewards of one are good ones of the other
    1

    Limits
    ------
    Gaussian and Bernoulli rewards only. Its confidence bounds are narrower than those of the
    authors' proof.

    References
    ----------
    Tirinzoni, Pirotta, Restelli and Lazaric (2020), "An Asymptotically Optimal Primal-Dual
    Incremental Algorithm for Contextual Linear Bandits".
    """

    length: float = 100.0
    width: float = 1.0
    step: float = 0.1
    most: float = 10.0

    structures: ClassVar = (Linear,)
    needs_sub_gaussian: ClassVar[bool] = True
    starts_with_each_arm: ClassVar[bool] = False
    tells_exploration_apart: ClassVar[bool] = True
    saved: ClassVar = ("omega", "game")
    choose: ClassVar = choose
    probabilities: ClassVar = probabilities

    def __post_init__(self) -> None:
        check_number(self, "length", 1.0, what="a number, at least 1")
        check_number(self, "width")
        check_number(self, "step", above=True, what="a positive number")
        check_number(self, "most")

    @classmethod
    def examples(cls) -> tuple[Policy, ...]:
        return cls(), cls(length=5.0, width=0.5, step=0.5, most=2.0)

    def init(self, structure: Structure, family: Family) -> SOLIDState:
        assert isinstance(structure, Linear)
        K, d = structure.features.shape
        return SOLIDState(
            omega=np.full(K, 1.0 / K),
            game=np.zeros(3),
            ridge=make_ridge(structure.features),
            shared=make_ridge(structure.features),
            weights=np.zeros(K),
            means=np.zeros(K),
            norms=np.zeros(K),
            halves=np.zeros((K, d)),
            tells=np.zeros(K),
            length=float(self.length),
            width=float(self.width),
            step=float(self.step),
            most=float(self.most),
        )
