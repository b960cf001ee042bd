"""Thompson sampling (Thompson, 1933)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from armature.families import Family
from armature.families.kernels import draw_means
from armature.kernels.arrays import Floats
from armature.kernels.kernel import kernel
from armature.kernels.streams import Stream
from armature.policies.policy import CompiledPolicy, History
from armature.policies.records import argmax
from armature.structures import Structure
from armature.structures.oracles.model import Model


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

    An arm is pulled as often as it is believed to be best. The posteriors are Gaussian, Beta, Gamma
    and inverse Gamma for Gaussian, Bernoulli, Poisson and exponential rewards; the priors are flat
    for the first two and Jeffreys's for the others (which is the flat one for Gaussian rewards).

    It has no parameters.

    Guarantee
    ---------
    Asymptotically optimal without structure: for Bernoulli rewards and a flat prior by the theorem
    of Kaufmann et al., for one-parameter exponential families and Jeffreys's prior by that of Korda
    et al. O(K) a round.

    >>> import armature as am
    >>> bandit = am.Bandit(am.ThompsonSampling(), am.Unconstrained(2))
    >>> bandit.tell([0, 1], [0.0, 100.0])
    >>> bandit.ask()  # at these means, chance has no say
    1

    Limits
    ------
    It uses no structure.

    References
    ----------
    Thompson (1933), "On the Likelihood that One Unknown Probability Exceeds Another in View of the
    Evidence of Two Samples". Kaufmann, Korda and Munos (2012), "Thompson Sampling: An
    Asymptotically Optimal Finite-Time Analysis". Korda, Kaufmann and Munos (2013), "Thompson
    Sampling for 1-Dimensional Exponential Family Bandits".
    """

    choose: ClassVar = choose

    def init(self, structure: Structure, family: Family) -> ThompsonState:
        return ThompsonState(np.zeros(structure.n_arms))
