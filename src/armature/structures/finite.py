"""Scenarios: the means are one of finitely many mean vectors."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from armature.errors import ArmatureError
from armature.families import Family, FamilyRecord, Interval
from armature.kernels.arrays import Floats
from armature.kernels.checks import checked_array, checked_n_arms, checked_order
from armature.structures.oracles.records import Oracle, Shape, measure
from armature.structures.oracles.rows import ROWS, sums_of
from armature.structures.piece import Piece
from armature.structures.structure import Structure


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Finite(Structure):
    """The means are one of these rows: a list of scenarios, of which one is true.

    What other shops sold at these prices, what a simulator says for each of a thousand settings:
    each scenario is a mean vector, and the rewards say which of them it is. Rewards of the best arm
    may tell it from all that have another one: then the lower bound is 0, and the regret stays
    bounded.

    Parameters
    ----------
    rows : array_like of shape (n_rows, n_arms)
        A mean vector in each row, all different. In a row with several best arms, each is best. All
        must be means of the reward family.

    Guarantee
    ---------
    Exact up to rounding, for every reward family: every question is a look at all rows. An arm's
    new reward costs O(n_rows ln n_arms). Compared in tests with brute force. Where rewards rule out
    all rows, as a sale does for rows that say that there are none, the nearest row is one against
    which the fewest speak, at an infinite cost.

    >>> from armature.families import Gaussian
    >>> seasons = Finite([[0.9, 0.5, 0.1], [0.2, 0.7, 0.3], [0.1, 0.4, 0.8]])
    >>> seasons.project([0.3, 0.4, 0.6], [1.0, 1.0, 1.0], Gaussian()).means
    array([0.1, 0.4, 0.8])
    >>> seasons.violation_of([0.2, 0.7, 0.4])
    'means[2] = 0.4 is 0.3 in row 1, the nearest'

    Limits
    ------
    It keeps two numbers for each row and arm: 16 MB with 10,000 rows and 100 arms. Arms can't be
    added or removed.

    References
    ----------
    Agrawal, Teneketzis and Anantharam (1989), "Asymptotically Efficient Adaptive Allocation Schemes
    for Controlled I.I.D. Processes: Finite Parameter Space". Lattimore and Munos (2014), "Bounded
    Regret for Finite-Armed Structured Bandits".
    """

    rows: Floats

    oracle: ClassVar[Oracle] = ROWS
    order_only = True
    orders_arms = False
    challenge = "top"

    @classmethod
    def examples(cls) -> tuple[Finite, ...]:
        wide = [[0.9, 0.5, 0.5, 0.2], [0.5, 0.9, 0.3, 0.2], [0.5, 0.2, 0.3, 0.9]]
        return (
            cls([[0.3, 0.6]]),
            cls([[0.3, 0.6], [0.7, 0.6], [0.5, 0.2], [0.1, 0.2]]),
            cls([*wide, [0.9, 0.3, 0.4, 0.6], [0.2, 0.3, 0.8, 0.7]]),
        )

    def __init__(self, rows: npt.ArrayLike) -> None:
        matrix = checked_array(rows, "rows")
        if matrix.ndim != 2 or not len(matrix):
            raise ArmatureError(
                "rows must be a matrix, with a mean vector in each row; got an array of shape "
                f"{matrix.shape}."
            )
        object.__setattr__(self, "n_arms", checked_n_arms(matrix.shape[1]))
        _, firsts, places = np.unique(matrix, axis=0, return_index=True, return_inverse=True)
        again = np.flatnonzero(firsts[places.ravel()] != np.arange(len(matrix)))
        if again.size:
            first = int(firsts[places.ravel()[again[0]]])
            raise ArmatureError(
                f"rows[{first}] and rows[{again[0]}] are the same: give each mean vector once."
            )
        matrix.setflags(write=False)
        object.__setattr__(self, "rows", matrix)

    @functools.cached_property
    def shape(self) -> Shape:
        real = np.concatenate([self.rows.T.ravel(), self.rows.max(axis=1)])
        return Shape(real, np.array([len(self.rows)], dtype=np.int64))

    @functools.cached_property
    def work_size(self) -> tuple[int, int]:
        return measure(sums_of, self.n_arms, len(self.rows))

    @property
    def n_cells(self) -> int:
        return len(self.rows)

    def oracle_for(self, family: Family) -> Oracle:
        return self.oracle

    def pieces(self) -> Iterable[Piece]:
        K = self.n_arms
        for row in self.rows:
            yield Piece(np.empty((0, K)), [], np.eye(K), row)

    def violation(self, means: Floats, tolerance: float) -> str | None:
        distances = np.abs(self.rows - means)
        r = int(distances.max(axis=1).argmin())
        k = int(distances[r].argmax())
        if distances[r, k] <= tolerance:
            return None
        return f"means[{k}] = {means[k]:g} is {self.rows[r, k]:g} in row {r}, the nearest"

    def checked_family(self, family: Family) -> FamilyRecord:
        if isinstance(family, Family):
            family.check_arms(self.n_arms)
            low, high = family.domain_ends
            closed = family.domain.closed
            inside = (self.rows <= high) & (self.rows >= low if closed else self.rows > low)
            if not inside.all():
                r, k = np.argwhere(~inside)[0]
                own = family.for_arm(int(k))
                raise ArmatureError(
                    f"rows[{r}][{k}] = {self.rows[r, k]:g} is not a mean of {own} rewards: it must "
                    f"be in {own.domain}."
                )
        return super().checked_family(family)

    def _meets(self, ends: tuple[Interval, ...]) -> bool:
        return True  # all rows are means: `checked_family` has seen to it

    def relabelled(self, order: Sequence[int]) -> Finite:
        return Finite(self.rows[:, checked_order(order, self.n_arms)])

    def mirrored(self, about: float) -> Finite:
        return Finite(about - self.rows)
