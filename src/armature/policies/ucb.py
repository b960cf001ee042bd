"""UCB (Auer, Cesa-Bianchi and Fischer, 2002)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from armature._compile import kernel
from armature.arrays import Floats
from armature.families import Family
from armature.families.kernels import of_arm
from armature.policies._options import check_number
from armature.policies._policy import CompiledPolicy
from armature.policies.records import History
from armature.streams import Stream
from armature.structures import Structure
from armature.structures.model import Model


class UCBState(NamedTuple):
    """An option, and 1 / sqrt(N) of each arm with the N that it was computed for.

    Where the arms' noise differs, the radius is that of the noisiest, and theirs a part of it.
    """

    width: float
    counted: Floats
    inverse_root: Floats


@kernel
def choose(state: UCBState, model: Model, history: History, stream: Stream) -> int:
    """The arm with the highest upper confidence bound."""
    family = model.family
    radius = state.width * math.sqrt(2.0 * family.proxy * math.log(history.clock[0] + 1.0))
    pulls = history.pulls
    means = history.means
    for k in range(pulls.size):
        if state.counted[k] != pulls[k]:
            state.counted[k] = pulls[k]
            state.inverse_root[k] = 1.0 / math.sqrt(pulls[k])
            if not family.alike:
                state.inverse_root[k] *= math.sqrt(of_arm(family, k).proxy / family.proxy)
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

    References
    ----------
    Auer, Cesa-Bianchi and Fischer (2002), "Finite-time Analysis of the Multiarmed Bandit Problem".
    Katehakis and Robbins (1995), "Sequential Choice from Several Populations".
    """

    width: float = 1.0

    needs_sub_gaussian: ClassVar[bool] = True
    ignores_numbering: ClassVar[bool] = True
    choose: ClassVar = choose

    def __post_init__(self) -> None:
        check_number(self, "width")

    def init(self, structure: Structure, family: Family) -> UCBState:
        return UCBState(self.width, np.zeros(structure.n_arms), np.zeros(structure.n_arms))
