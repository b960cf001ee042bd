"""A policy from outside of the package: the best arm of the projection, or now and then any."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

import armature as am
from armature.authoring import (
    Floats,
    History,
    Model,
    Stream,
    argmax,
    kernel,
    next_units,
    projection,
)


class GreedyState(NamedTuple):
    projected: Floats
    epsilon: float


@kernel
def choose(state: GreedyState, model: Model, history: History, stream: Stream) -> int:
    u, v = next_units(stream)
    if u < state.epsilon:
        return int(v * history.pulls.size)
    projection(model, history.means, history.pulls, state.projected)
    return argmax(state.projected)


@dataclass(frozen=True)
class Greedy(am.CompiledPolicy):
    """The leader, and with probability `epsilon` any arm."""

    epsilon: float = 0.1

    oracles: ClassVar = ("project",)
    choose: ClassVar = choose

    def init(self, structure: am.Structure, family: am.Family) -> GreedyState:
        return GreedyState(np.zeros(structure.n_arms), float(self.epsilon))
