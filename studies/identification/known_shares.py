"""A rule that is told the optimal shares of the samples, and follows them from the first round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from armature import (
    CompiledPolicy,
    Family,
    History,
    Instance,
    Structure,
    characteristic_time,
    kernel,
)
from armature.bounds.learners import track
from armature.kernels.arrays import Floats
from armature.kernels.streams import Stream
from armature.structures.oracles.model import Model


class KnownSharesState(NamedTuple):
    """How far the pulls are ahead of the shares; these."""

    ahead: Floats
    shares: Floats


@kernel
def choose(state: KnownSharesState, model: Model, history: History, stream: Stream) -> int:
    """The arm that is furthest behind."""
    return track(state.ahead, state.shares)


@dataclass(frozen=True)
class KnownShares(CompiledPolicy):
    """C-tracking of shares that are known in advance: nothing has to be found."""

    shares: Sequence[float]

    starts_with_each_arm: ClassVar[bool] = False
    identifies: ClassVar[bool] = True
    saved: ClassVar = ("ahead",)
    choose: ClassVar = choose

    @classmethod
    def of(cls, instance: Instance) -> KnownShares:
        """With the optimal ones."""
        return cls(tuple(characteristic_time(instance).shares.tolist()))

    @property
    def name(self) -> str:
        """Without all these numbers."""
        return type(self).__name__

    def init(self, structure: Structure, family: Family) -> KnownSharesState:
        shares = np.array(self.shares, dtype=float)
        return KnownSharesState(ahead=np.zeros(shares.size), shares=shares / shares.sum())
