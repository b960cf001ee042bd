"""Asymptotically optimal information-directed sampling (Kirschner et al., 2021)."""

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
from armature.kernels.vectors import fill
from armature.policies.baselines.linear.lin_ucb import write_weights
from armature.policies.baselines.linear.solid import cost_of, distance, write_halves
from armature.policies.policy import CompiledPolicy, History, Policy
from armature.policies.records import argmax, mark_exploration
from armature.solver.least_squares import Ridge, fit_ridge, make_ridge
from armature.structures import Linear, Structure
from armature.structures.oracles.model import Model

NOTHING = 1e-10  # the least evidence to divide by


class IDSState(NamedTuple):
    """Room for least squares and for what an arm costs and tells."""

    ridge: Ridge
    weights: Floats  # (K,): pulls, those of a noisier arm for less
    halves: Floats  # (K, d): L^-1 x of each arm
    means: Floats  # (K,): x'theta
    norms: Floats  # (K,): |x| in the norm of G^-1
    evidence: Floats  # (K,): against each arm's being as good as the leader
    shares: Floats  # (K,): the opponent's, of each of them
    regrets: Floats  # (K,)
    information: Floats  # (K,)
    rate: Floats  # [eta]
    width: float
    penalty: float


@kernel
def inner(a: Floats, b: Floats) -> float:
    """a'b."""
    total = 0.0
    for i in range(a.size):  # total: of the entries before i
        total += a[i] * b[i]
    return total


@kernel
def fit(state: IDSState, family: FamilyRecord, history: History) -> None:
    """Least squares, and the mean and the norm of every arm under it."""
    write_weights(history, family, state.weights)
    fit_ridge(state.ridge, history.means, state.weights, state.penalty)
    write_halves(state.ridge, state.halves)
    for k in range(state.means.size):
        half = state.halves[k]
        state.means[k] = inner(half, state.ridge.theta)
        state.norms[k] = math.sqrt(inner(half, half))


@kernel
def write_evidence(state: IDSState, variance: float, j: int) -> float:
    """The cost that each arm is as good as j, infinite where it always is; the least."""
    least = math.inf
    for z in range(state.means.size):
        state.evidence[z] = cost_of(state.means, state.halves, variance, j, z)
        least = min(least, state.evidence[z])
    return least


@kernel
def write_shares(state: IDSState, least: float) -> None:
    """Each opponent's share is as exp(-eta evidence); eta falls with the evidence."""
    state.rate[0] = min(state.rate[0], 1.0 / math.sqrt(max(least, NOTHING)))
    total = 0.0
    for z in range(state.shares.size):  # total: of the shares before z, not yet normalised
        state.shares[z] = math.exp(-state.rate[0] * (state.evidence[z] - least))
        total += state.shares[z]
    for z in range(state.shares.size):
        state.shares[z] /= total


@kernel
def write_information(state: IDSState, j: int, width: float) -> None:
    """sum_z share_z (|x'(nu^z - theta)| + width |x|)^2 of every arm."""
    K, d = state.halves.shape
    for k in range(K):
        state.information[k] = 0.0
        for z in range(K):  # information[k]: by the opponents before z
            if state.shares[z] > 0.0:
                along = 0.0
                for a in range(d):
                    along += (state.halves[j, a] - state.halves[z, a]) * state.halves[k, a]
                square = distance(state.halves, j, z)
                moved = abs(along * (state.means[j] - state.means[z]) / square)
                reach = moved + width * state.norms[k]
                state.information[k] += state.shares[z] * reach * reach


@kernel
def write_regrets(state: IDSState, j: int, width: float) -> None:
    """The gap of every arm to j, and of j to the best plausible arm."""
    own = 0.0
    for z in range(state.regrets.size):
        gap = state.means[j] - state.means[z]
        own = max(own, width * math.sqrt(distance(state.halves, j, z)) - gap)
    for k in range(state.regrets.size):
        state.regrets[k] = state.means[j] - state.means[k] + own


@kernel
def ratio_of(regret: float, information: float) -> float:
    """Squared regret per information, infinite where there is none."""
    return regret * regret / information if information > 0.0 else math.inf


class Pair(NamedTuple):
    """Two arms and how often it is the second; or one, without a draw."""

    first: int
    second: int
    share: float
    drawn: bool


@kernel
def best_pair(state: IDSState, j: int) -> Pair:
    """The two arms, and the share of the second, with the least ratio of all pairs.

    Along a pair the ratio is convex in the share, so its stationary point is clipped.
    """
    regrets = state.regrets
    information = state.information
    first = j  # invariant: of the pairs before (a, b), this one has the least ratio, `least`
    second = j
    share = 0.0
    least = math.inf
    for a in range(regrets.size):
        for b in range(a, regrets.size):
            worse = regrets[b] - regrets[a]
            more = information[b] - information[a]
            p = 0.0
            if worse != 0.0 and more != 0.0:
                p = (more * regrets[a] - 2.0 * worse * information[a]) / (worse * more)
                p = min(1.0, max(0.0, p))
            elif more > 0.0 or worse < 0.0:
                p = 1.0
            ratio = ratio_of(regrets[a] + p * worse, information[a] + p * more)
            if ratio < least:
                least = ratio
                first = a
                second = b
                share = p
    return Pair(first, second, share, True)


@kernel
def candidates(state: IDSState, model: Model, history: History) -> Pair:
    """The leader where the evidence for it suffices, else the pair to draw from."""
    variance = model.family.proxy
    fit(state, model.family, history)
    j = argmax(state.means)
    least = write_evidence(state, variance, j)
    if least > math.log(1.0 + history.clock[0]):
        return Pair(j, j, 0.0, False)
    mark_exploration(history)
    width = state.width * math.sqrt(2.0 * variance * math.log(1.0 + history.clock[1]))
    write_shares(state, least)
    write_information(state, j, width)
    write_regrets(state, j, width)
    return best_pair(state, j)


@kernel
def choose(state: IDSState, model: Model, history: History, stream: Stream) -> int:
    """The leader where the evidence for it suffices, else a draw."""
    pair = candidates(state, model, history)
    if pair.drawn and next_unit(stream) < pair.share:
        return pair.second
    return pair.first


@kernel
def probabilities(state: IDSState, model: Model, history: History, out: Floats) -> bool:
    """out = with which probability `choose` would pull each arm."""
    pair = candidates(state, model, history)
    fill(out, 0.0)
    out[pair.first] = 1.0 - pair.share
    out[pair.second] += pair.share
    return True


@dataclass(frozen=True)
class IDS(CompiledPolicy):
    """Squared regret per information, where information is what the lower bound asks for.

    With the features x of the arms, G = ridge I + sum of x x' over the pulls, theta the ridge
    estimate and j its best arm: nu^z is the nearest parameter at which arm z is as good as j, and
    the evidence against it is |nu^z - theta|^2 / (2 sigma^2) in the norm of G. If the evidence
    against all of them exceeds ln(1 + t), pull j. Else, with s the number of rounds in which this
    was not so and c = width sigma sqrt(2 ln(1 + s)), let

    * the opponent be z with a share q_z as exp(-eta evidence_z), where eta is the least of 1 and
      1 / sqrt(least evidence) over the rounds so far;
    * information_k = sum_z q_z (|x_k'(nu^z - theta)| + c |x_k|)^2;
    * regret_k = (x_j - x_k)'theta + max_z ((x_z - x_j)'theta + c |x_z - x_j|),

    with norms of G^-1, and pull a draw from the distribution that minimises squared mean regret
    over mean information; two arms are enough for that. Where the arms' noise differs, sigma is the
    largest, and a pull of arm k counts sigma^2 / sigma_k^2 times.

    Parameters
    ----------
    width : float
        The scale of the confidence bounds. The authors' proof has wider ones, which cover all
        directions at once, and leaves out the rewards of the rounds in which j is pulled for sure;
        here all rewards are used.
    ridge : float
        The weight of the prior at 0; 1 unless given.

    Guarantee
    ---------
    With the authors' bounds asymptotically optimal, and regret of order d sqrt(T) up to logarithms
    for all instances (their theorems); nothing is proved for these. O(K^2 d + d^3) a round.

    >>> import armature as am
    >>> bandit = am.Bandit(am.IDS(), am.Linear([[1.0], [-1.0]]))
    >>> bandit.tell([0, 0], [-9.0, -9.0])
    >>> bandit.ask()  # bad rewards of one are good ones of the other
    1

    Limits
    ------
    Gaussian and Bernoulli rewards only. Its confidence bounds are narrower than those of the
    authors' proof, and it uses every reward.

    References
    ----------
    Kirschner, Lattimore, Vernade and Szepesvári (2021), "Asymptotically Optimal
    Information-Directed Sampling".
    """

    width: float = 1.0
    ridge: float = 1.0

    structures: ClassVar = (Linear,)
    needs_sub_gaussian: ClassVar[bool] = True
    starts_with_each_arm: ClassVar[bool] = False
    tells_exploration_apart: ClassVar[bool] = True
    saved: ClassVar = ("rate",)
    choose: ClassVar = choose
    probabilities: ClassVar = probabilities

    def __post_init__(self) -> None:
        check_number(self, "width")
        check_number(self, "ridge", 1e-12, what="a positive number")

    @classmethod
    def examples(cls) -> tuple[Policy, ...]:
        return cls(), cls(width=0.5, ridge=0.1)

    def init(self, structure: Structure, family: Family) -> IDSState:
        assert isinstance(structure, Linear)
        K, d = structure.features.shape
        return IDSState(
            ridge=make_ridge(structure.features),
            weights=np.zeros(K),
            halves=np.zeros((K, d)),
            means=np.zeros(K),
            norms=np.zeros(K),
            evidence=np.zeros(K),
            shares=np.zeros(K),
            regrets=np.zeros(K),
            information=np.zeros(K),
            rate=np.ones(1),
            width=float(self.width),
            penalty=float(self.ridge),
        )
