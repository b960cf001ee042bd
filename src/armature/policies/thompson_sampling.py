"""Thompson sampling (Thompson, 1933)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from armature._compile import kernel
from armature.arrays import Floats
from armature.families import Family
from armature.families.kernels import draw_means
from armature.policies._policy import CompiledPolicy
from armature.policies.records import History, argmax
from armature.streams import Stream
from armature.structures import Structure
from armature.structures.model import Model


class ThompsonState(NamedTuple):
    """Room for a sample."""

    sample: Floats


@kernel
def choose(state: ThompsonState, model: Model, history: History, stream: Stream) -> int:
    """The best arm of a sample from the posterior."""
    draw_means(model.family, history.pulls, history.sums, history.means, stream, state.sample)
    return argmax(state.sample)


@dataclass(frozen=True)
class ThompsonSampling(CompiledPolicy):
    """The best arm of a sample from the posterior of the means: no structure is used.

    Gaussian, Beta, Gamma and inverse Gamma posteriors for Gaussian, Bernoulli, Poisson and
    exponential rewards.
    """

    choose: ClassVar = choose

    def init(self, structure: Structure, family: Family) -> ThompsonState:
        return ThompsonState(np.zeros(structure.n_arms))
