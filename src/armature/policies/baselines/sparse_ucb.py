"""SparseUCB (Kwon, Perchet and Vernade, 2017)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from armature.families import Family, FamilyRecord
from armature.families.kernels import of_arm
from armature.kernels.arrays import Ints
from armature.kernels.checks import check_number
from armature.kernels.kernel import inlined, kernel
from armature.kernels.streams import Stream
from armature.policies.policy import CompiledPolicy, History
from armature.structures import Sparse, Structure
from armature.structures.oracles.model import Model


class SparseUCBState(NamedTuple):
    """The phase of the algorithm."""

    turn: Ints  # [of the round robin, in the arms that look good]
    a: float
    level: float
    support: int


@inlined
def scale_of(a: float, family: FamilyRecord, k: int) -> float:
    """The authors' a, which is for rewards of variance 1/4, for those of an arm."""
    return a * 4.0 * of_arm(family, k).proxy


@kernel
def choose(state: SparseUCBState, model: Model, history: History, stream: Stream) -> int:
    """Round robin until enough arms look good, then those that are not sure, then UCB."""
    N = history.pulls
    K = N.size
    level = state.level
    support = state.support
    family = model.family
    log_t = math.log(history.clock[0] + 1.0)
    good = 0  # J: above the level by their own clock
    sure = 0  # above it by the common clock
    for k in range(K):
        scale = scale_of(state.a, family, k)
        above = history.means[k] - level
        if above >= math.sqrt(scale * math.log(N[k]) / N[k]):
            good += 1
        if above >= math.sqrt(scale * log_t / N[k]):
            sure += 1
    if good < support:
        state.turn[0] = (state.turn[0] + 1) % K
        return int(state.turn[0])
    chosen = -1  # invariant: of the sure arms so far, the first with the highest bound
    highest = -math.inf
    for step in range(1, K + 1):
        k = (state.turn[1] + step) % K
        scale = scale_of(state.a, family, k)
        above = history.means[k] - level
        is_good = above >= math.sqrt(scale * math.log(N[k]) / N[k])
        is_sure = above >= math.sqrt(scale * log_t / N[k])
        if sure < support:
            if is_good and not is_sure:
                state.turn[1] = k
                return int(k)
        elif is_sure:
            bound = history.means[k] + math.sqrt(scale * log_t / N[k])
            if bound > highest:
                highest = bound
                chosen = k
    return chosen


@dataclass(frozen=True)
class SparseUCB(CompiledPolicy):
    """Find as many arms above the level as there are, then UCB on these.

    At most s arms are above a level that is known. All arms take turns until s of them look good
    (their mean is above the level by sqrt(4 a sigma^2 ln N / N)); those that look good take turns
    until s of them are sure to be (above it by sqrt(4 a sigma^2 ln t / N)); then the sure arm with
    the highest mean + sqrt(4 a sigma^2 ln t / N).

    Parameters
    ----------
    a : float
        The scale of its confidence terms: sqrt(a ln(.) / N) for rewards of variance 1/4, which is
        rescaled for others. The default, 1/2, makes the last stage the UCB that everything is
        compared with, and every test one that errs with probability 1 / t. The authors' analysis
        has 4: `SparseUCB(a=4.0)`, which loses six to eleven times as much on the paper's panels.

    Guarantee
    ---------
    With a = 4, regret of order ln T that grows with the number of good arms, not with that of all
    arms. With any a, an arm that is not above the level passes a test for being sure with
    probability at most t^(-2a). O(K) a round. Where a good arm is hardly above the level, the
    search for it is long, with any a.

    >>> import armature as am
    >>> instance = am.Instance(am.Sparse(5, 1, 0.0), [1.0, 0.0, 0.0, 0.0, 0.0])
    >>> results = am.simulate(instance, [am.SparseUCB(), am.SparseUCB(a=4.0)], 1000, 20)
    >>> ours, authors = (results.regret(name)[:, -1].mean() for name in results.names)
    >>> bool(3.0 * ours < authors)
    True

    Limits
    ------
    Gaussian and Bernoulli rewards only. Slow to start where a good arm is hardly above the level.

    References
    ----------
    Kwon, Perchet and Vernade (2017), "Sparse Stochastic Bandits".
    Paper: Section 3, SparseUCB.
    """

    a: float = 0.5

    structures: ClassVar = (Sparse,)
    needs_sub_gaussian: ClassVar[bool] = True
    saved: ClassVar = ("turn",)
    choose: ClassVar = choose

    def could_be(self, state: SparseUCBState) -> bool:
        return bool((state.turn >= -1).all())

    def __post_init__(self) -> None:
        check_number(self, "a", 1e-12, what="a positive number")

    def init(self, structure: Structure, family: Family) -> SparseUCBState:
        assert isinstance(structure, Sparse)
        turn = np.array([-1, -1], dtype=np.int64)
        return SparseUCBState(turn, float(self.a), structure.level, structure.support)
