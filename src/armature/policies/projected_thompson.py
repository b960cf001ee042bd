"""Thompson sampling, projected onto the structure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from armature.families import Family
from armature.families.kernels import draw_means
from armature.kernels.arrays import Floats
from armature.kernels.kernel import kernel
from armature.kernels.streams import Stream, next_unit
from armature.policies.policy import CompiledPolicy, History
from armature.structures import Structure
from armature.structures.oracles.model import Model
from armature.structures.segments.whole import project_sample


class ProjectedThompsonState(NamedTuple):
    """Room for a sample and its projection."""

    sample: Floats
    projected: Floats


@kernel
def random_argmax(values: Floats, stream: Stream) -> int:
    """One of the largest, at random: pooled arms are equal up to rounding."""
    highest = values[0]
    for k in range(values.size):
        highest = max(highest, values[k])
    bar = highest - 1e-12 * abs(highest)
    tied = 0
    for k in range(values.size):
        if values[k] >= bar:
            tied += 1
    # Invariant: of the arms from k on, the one to take comes after `skip` others that are tied.
    skip = int(next_unit(stream) * tied) if tied > 1 else 0
    for k in range(values.size):
        if values[k] >= bar:
            if skip == 0:
                return k
            skip -= 1
    return 0


@kernel
def choose(state: ProjectedThompsonState, model: Model, history: History, stream: Stream) -> int:
    """The best arm of a projected sample; of several, any."""
    draw_means(model.family, history.pulls, history.sums, history.means, stream, state.sample)
    project_sample(model, state.sample, history.pulls, stream, state.projected)
    return random_argmax(state.projected, stream)


@dataclass(frozen=True)
class ProjectedThompson(CompiledPolicy):
    """Sample every arm's posterior, project the sample onto M with weights N, play its best arm.

    A posterior for the structure would be better founded and, but for linear ones, is not to be had
    in closed form; this needs one projection a round.

    It has no parameters.

    Guarantee
    ---------
    None is proved. A few runs are much worse than the median. One projection a round.

    >>> import armature as am
    >>> bandit = am.Bandit(am.ProjectedThompson(), am.Unimodal(3))
    >>> bandit.tell([0, 1, 2], [0.0, 50.0, 100.0])
    >>> bandit.ask()  # at these means, chance has no say
    2

    Limits
    ------
    No guarantee. A few runs are much worse than the median.

    References
    ----------
    None: this docstring defines it.
    """

    oracles: ClassVar = ("project",)
    choose: ClassVar = choose

    def init(self, structure: Structure, family: Family) -> ProjectedThompsonState:
        return ProjectedThompsonState(np.zeros(structure.n_arms), np.zeros(structure.n_arms))
