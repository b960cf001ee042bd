"""The means do not fall along the arms."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass

from armature.families import Family
from armature.families.bernoulli import is_scaled
from armature.structures.oracles import scaled
from armature.structures.oracles.records import Oracle, measure
from armature.structures.piece import Piece
from armature.structures.structure import Structure


@dataclass(frozen=True, eq=False, repr=False)
class Monotone(Structure):
    """The means do not fall along the arms: means[0] <= means[1] <= ... <= means[-1].

    The last arm is then best, whatever the rest; combined with other structures it says more. For
    means that do not rise, number the arms the other way: `Monotone(3).relabelled([2, 1, 0])`.

    Parameters
    ----------
    n_arms : int
        The number of arms, at least 2.

    Guarantee
    ---------
    It is a chain: each answer is checked by its multipliers, to 1e-10 of its cost or to rounding,
    and what fails the check is solved by dense programs. Compared in tests with a convex solver,
    for every reward family.

    >>> from armature.families import Gaussian
    >>> Monotone(3).project([0.1, 0.5, 0.3], [1.0, 1.0, 1.0], Gaussian()).means.round(9)
    array([0.1, 0.4, 0.4])
    >>> Monotone(3).violation_of([0.1, 0.5, 0.3])
    'means[1] = 0.5 should be at most means[2] = 0.3'

    Limits
    ------
    For a thousand arms. By itself it leaves nothing to explore.

    References
    ----------
    Degenne, Shao and Koolen (2020), "Structure Adaptive Algorithms for Stochastic Bandits", for
    what a structure is asked.
    """

    n_arms: int

    arm_facts = arm_fields = ()
    arms_in_order = True
    same_for_costs = True

    @classmethod
    def examples(cls) -> tuple[Monotone, ...]:
        return cls(2), cls(5)

    @functools.cached_property
    def work_size(self) -> tuple[int, int]:
        return measure(scaled.runs_of, self.n_arms)

    def oracle_for(self, family: Family) -> Oracle:
        if is_scaled(family):
            return Oracle(project=scaled.project_in_order)
        return super().oracle_for(family)

    def pieces(self) -> Iterable[Piece]:
        yield Piece.of_orders(self.n_arms, [(i, i + 1) for i in range(self.n_arms - 1)])
