"""Follow the leader in each convex cell: the alternative that the pulls so far rule out least.

On a convex cell and a strongly convex divergence its regret grows like ln t; AdaHedge over the
cells makes one learner for the whole, non-convex set of alternatives (the paper's lambda-learner).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from armature.errors import ArmatureError
from armature.families import Family
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import kernel
from armature.structures import Structure
from armature.structures.oracles.model import MARKS, Model, make_model, nearest_in_cell


@kernel
def follow_the_leaders(
    model: Model, mu: Floats, N: Floats, best: int, cells: Ints, leaders: Floats
) -> None:
    """leaders[c] = the point of cell cells[c] that minimises sum_k N_k d(mu_k, lam_k)."""
    for c in range(cells.size):
        nearest_in_cell(model, mu, N, best, cells[c], leaders[c])


class FollowTheLeader:
    """The leaders of all cells of `not best`, for means that are known.

    Cells that lie infinitely far from the means are left out.

    >>> from armature.families import Gaussian
    >>> from armature.structures import Unconstrained
    >>> learner = FollowTheLeader(Unconstrained(3), [1.0, 0.0, 0.5], 0, Gaussian())
    >>> learner.leaders([3.0, 1.0, 1.0])
    array([[0.75 , 0.75 , 0.5  ],
           [0.875, 0.   , 0.875]])

    References: Degenne, Shao and Koolen (2020).

    Paper: Section 2.3.1, λ-learner.
    """

    def __init__(
        self, structure: Structure, means: npt.ArrayLike, best: int, family: Family
    ) -> None:
        self.structure, self.family, self.best = structure, family, best
        ones = np.ones(structure.n_arms)
        self.means, _ = structure.checked_problem(means, ones, family)
        self.cells = tuple(
            cell
            for cell in structure.cells(best, self.means, ones, family)
            if structure.cell_min(self.means, ones, cell, family).cost < math.inf
        )
        if not self.cells:
            raise ArmatureError(
                f"no alternative at a finite distance has another best arm: {best}."
            )
        self.numbers = np.array([cell.number for cell in self.cells], dtype=np.int64)

    def model(self, oracles: Sequence[str] = ("cell_min",)) -> Model:
        """A model that knows what the cells depend on."""
        model = make_model(self.structure, self.family, oracles)
        marks = self.cells[0].marks
        model.table[MARKS : MARKS + len(marks)] = marks
        return model

    def leaders(self, pulls: npt.ArrayLike) -> Floats:
        """One mean vector for each cell, given the pulls so far."""
        _, N = self.structure.checked_problem(self.means, pulls, self.family)
        leaders = np.zeros((len(self.cells), self.structure.n_arms))
        follow_the_leaders(self.model(), self.means, N, self.best, self.numbers, leaders)
        return leaders
