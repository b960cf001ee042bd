"""Uniform sampling: every arm in turns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from armature.families import Family
from armature.kernels.kernel import kernel
from armature.kernels.streams import Stream
from armature.policies.policy import Belief, CompiledPolicy, History
from armature.policies.records import least_pulled
from armature.structures import Structure
from armature.structures.oracles.model import Model
from armature.words import Arm, Sentence


class UniformState(NamedTuple):
    """Nothing (Numba has no empty records)."""

    nothing: float


@kernel
def choose(state: UniformState, model: Model, history: History, stream: Stream) -> int:
    """The arm with the fewest pulls."""
    return least_pulled(history)


@dataclass(frozen=True)
class UniformSampling(CompiledPolicy):
    """Every arm in turns: what sampling rules for `identify` are held against.

    It has no parameters.

    Guarantee
    ---------
    None but the stopping rule's, which holds for any way of choosing arms. O(K) a round.

    >>> import armature as am
    >>> bandit = am.Bandit(am.UniformSampling(), am.Unconstrained(2))
    >>> bandit.tell([0, 0, 1], [0.0, 1.0, 2.0])
    >>> bandit.ask()
    1

    Limits
    ------
    It ignores the structure. It is here for comparison.

    References
    ----------
    None: every arm in turns.
    """

    identifies: ClassVar[bool] = True
    choose: ClassVar = choose

    def init(self, structure: Structure, family: Family) -> UniformState:
        return UniformState(0.0)

    def explain(self, belief: Belief) -> Sentence:
        return Sentence(
            "{policy} pulls the arm with the fewest pulls; {leader} leads.",
            policy=self.name,
            leader=Arm(belief.leader),
        )
