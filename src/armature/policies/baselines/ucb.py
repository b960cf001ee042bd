"""UCB (Auer, Cesa-Bianchi and Fischer, 2002)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from armature.families import Family, FamilyRecord
from armature.families.kernels import of_arm
from armature.kernels.arrays import Floats
from armature.kernels.checks import check_number
from armature.kernels.kernel import inlined, kernel
from armature.kernels.streams import Stream
from armature.policies.policy import CompiledPolicy, History
from armature.structures import Structure
from armature.structures.oracles.model import Model


class UCBState(NamedTuple):
    """An option, and 1 / sqrt(N) of each arm with the N that it was computed for.

    Where the arms' noise differs, the radius is that of the noisiest, and theirs a part of it.
    """

    width: float
    counted: Floats
    inverse_root: Floats


@inlined
def radius_of(width: float, family: FamilyRecord, history: History) -> float:
    """The radius of an arm with one pull."""
    return width * math.sqrt(2.0 * family.proxy * math.log(history.clock[0] + 1.0))


@inlined
def inverse_root_of(family: FamilyRecord, pulls: float, k: int) -> float:
    """1 / sqrt(N), in units of the noisiest arm's."""
    inverse_root = 1.0 / math.sqrt(pulls)
    if not family.alike:
        inverse_root *= math.sqrt(of_arm(family, k).proxy / family.proxy)
    return inverse_root


@kernel
def choose(state: UCBState, model: Model, history: History, stream: Stream) -> int:
    """The arm with the highest upper confidence bound; the first of several.

    The first loop makes `inverse_root` right where arms have other pulls than before. Invariant of
    the second: `highest` is the highest bound of the arms before k, and `best` the first that has
    it.
    """
    family = model.family
    radius = radius_of(state.width, family, history)
    pulls = history.pulls
    means = history.means
    for k in range(pulls.size):
        if state.counted[k] != pulls[k]:
            state.counted[k] = pulls[k]
            state.inverse_root[k] = inverse_root_of(family, pulls[k], k)
    best = 0
    highest = -math.inf
    for k in range(pulls.size):
        bound = means[k] + radius * state.inverse_root[k]
        better = bound > highest
        highest = bound if better else highest
        best = k if better else best
    return best


@dataclass(frozen=True)
class UCB(CompiledPolicy):
    """The arm with the highest mean + width * sigma sqrt(2 ln t / N): no structure is used.

    An arm is worth a pull while it may be the best one. For Gaussian rewards, and for Bernoulli
    ones with sigma = 1/2 (Hoeffding's inequality). For the others, `KLUCB` is what this is for
    Gaussian rewards.

    Parameters
    ----------
    width : float
        The scale of the bounds, at least 0, where it follows the leader. The authors' UCB1, for
        rewards in [0, 1], is `UCB(width=2.0)` with Bernoulli rewards.

    Guarantee
    ---------
    For Gaussian rewards and width 1, asymptotically optimal without structure (Katehakis and
    Robbins). For UCB1 the authors bound the regret at every horizon, by 8 ln T / gap for each arm
    plus a constant. O(K) a round.

    >>> import armature as am
    >>> bandit = am.Bandit(am.UCB(), am.Unconstrained(2))
    >>> bandit.tell([0, 1], [1.0, 0.0])
    >>> bandit.ask()
    0

    Limits
    ------
    Sub-Gaussian rewards only (Gaussian, Bernoulli). It uses no structure.

    References
    ----------
    Auer, Cesa-Bianchi and Fischer (2002), "Finite-time Analysis of the Multiarmed Bandit Problem".
    Katehakis and Robbins (1995), "Sequential Choice from Several Populations".
    Paper: Section 3, UCB.
    """

    width: float = 1.0

    needs_sub_gaussian: ClassVar[bool] = True
    ignores_numbering: ClassVar[bool] = True
    choose: ClassVar = choose

    def __post_init__(self) -> None:
        check_number(self, "width")

    def init(self, structure: Structure, family: Family) -> UCBState:
        K = structure.n_arms
        return UCBState(self.width, np.zeros(K), np.zeros(K))
