"""SparseUCB (Kwon, Perchet and Vernade, 2017)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from armature._compile import kernel
from armature.arrays import Ints
from armature.families import Family
from armature.policies._options import check_number
from armature.policies._policy import CompiledPolicy
from armature.policies.records import History
from armature.streams import Stream
from armature.structures import Sparse, Structure
from armature.structures.model import Model


class SparseUCBState(NamedTuple):
    """Whose turn it is."""

    turn: Ints  # [of the round robin, in the arms that look good]
    a: float
    level: float
    support: int


@kernel
def choose(state: SparseUCBState, model: Model, history: History, stream: Stream) -> int:
    """Round robin until enough arms look good, then those that are not sure, then UCB."""
    N = history.pulls
    K = N.size
    level = state.level
    support = state.support
    variance = model.family.proxy
    # The paper's constants are for rewards of variance 1/4.
    scale = state.a * 4.0 * variance
    log_t = math.log(history.clock[0] + 1.0)
    good = 0  # J: above the level by their own clock
    sure = 0  # above it by the common clock
    for k in range(K):
        above = history.means[k] - level
        if above >= math.sqrt(scale * math.log(N[k]) / N[k]):
            good += 1
        if above >= math.sqrt(scale * log_t / N[k]):
            sure += 1
    if good < support:
        state.turn[0] = (state.turn[0] + 1) % K
        return int(state.turn[0])
    chosen = -1
    highest = -math.inf
    for step in range(1, K + 1):
        k = (state.turn[1] + step) % K
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

    a: the scale of its confidence terms sqrt(a ln(.) / N), for rewards of variance 1/4 (it is
    rescaled for others). The authors' 4 is cautious: 1/2 would make its last stage UCB.
    """

    a: float = 4.0

    structures: ClassVar = (Sparse,)
    needs_sub_gaussian: ClassVar[bool] = True
    saved: ClassVar = ("turn",)
    choose: ClassVar = choose

    def __post_init__(self) -> None:
        check_number(self, "a", 1e-12, what="a positive number")

    def init(self, structure: Structure, family: Family) -> SparseUCBState:
        assert isinstance(structure, Sparse)
        turn = np.array([-1, -1], dtype=np.int64)
        return SparseUCBState(turn, float(self.a), structure.level, structure.support)
