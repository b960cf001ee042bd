"""A row of a table: the arms of one segment, where the others say something of them, too."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from armature.families import Family, FamilyRecord
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import Kernel
from armature.structures.oracles.records import Oracle, Shape, Work
from armature.structures.piece import Piece
from armature.structures.segments.couplings import Additive, SameBest
from armature.structures.segments.joint import ALONE_AT
from armature.structures.segments.layout import quick_oracle, shape_of, work_size_of
from armature.structures.structure import Structure

if TYPE_CHECKING:
    from armature.structures.segments.segments import Segments


class Ledger(NamedTuple):
    """What has been seen in every segment, in the memory that the oracles of all rows read."""

    real: Floats  # `Shape.real`
    means: Floats  # (S, K)
    pulls: Floats
    sums: Floats


class Row(Structure):
    """The arms of one segment of a coupled table.

    It answers as a structure over these arms, with the costs of the whole table: a question about
    means and weights of the row is asked together with what the ledger has of all other rows.
    """

    in_table = True

    def __init__(
        self, table: Segments, segment: int, ledger: Ledger, integer: Ints, of_cells: FamilyRecord
    ) -> None:
        own = table.rows[segment]
        self.whole, self.segment, self.ledger = table, segment, ledger
        self._integer, self._of_cells = integer, of_cells
        self.own = own  # what is known of the row alone
        self.n_arms = table.n_each
        self.convex = len(table.joint.of) == 1
        self.challenge = table.challenge
        parts = () if table.coupling is None else table.coupling.parts
        self.orders_arms = own.is_ordering or any(isinstance(part, SameBest) for part in parts)
        self.arms_in_order = own.arms_in_order
        self.has_constants = own.has_constants
        self._additive = any(isinstance(part, Additive) for part in parts)

    @classmethod
    def examples(cls) -> tuple[Structure, ...]:
        """None: it is nothing without the ledger of a table (tests make tables)."""
        return ()

    def __repr__(self) -> str:
        return f"{self.own!r} in segment {self.name!r}"

    def _identity(self) -> tuple[object, ...]:
        return (id(self),)

    @property
    def name(self) -> Hashable:
        """What the segment is called."""
        return self.whole.names[self.segment]

    @property
    def lone_level(self) -> float | None:
        return self.own.lone_level

    @property
    def directions(self) -> Floats | None:
        """All arms but one are known from the segment before, where differences are the same."""
        if self._additive and self.segment > 0:
            return np.full((self.n_arms, 1), self.n_arms**-0.5)
        return None

    def pieces(self) -> Iterable[Piece]:
        """Those of the row alone: which of them the coupling leaves depends on the other rows."""
        return self.own.pieces()

    def violation(self, means: Floats, tolerance: float) -> str | None:
        return self.own.violation(means, tolerance)

    def oracle_for(self, family: Family) -> Oracle:
        return quick_oracle(self.whole, family)

    def entry(self, name: str, family: Family | None) -> tuple[Kernel[..., Any] | None, bool]:
        return self._among(quick_oracle(self.whole, family), name)

    def _among(self, quick: Oracle, name: str) -> tuple[Kernel[..., Any] | None, bool]:
        return getattr(quick, name), False

    def judged(
        self, family: Family, pulls: Floats, sums: Floats
    ) -> tuple[FamilyRecord, Floats, Floats]:
        """Of all cells, unless the coupling was dropped."""
        if self._integer[ALONE_AT] == 1:
            return super().judged(family, pulls, sums)
        seen = self.ledger
        return self._of_cells, seen.pulls.reshape(-1), seen.sums.reshape(-1)

    def own_side(self, family: Family | None) -> tuple[Shape, Work]:
        shape = Shape(self.ledger.real, self._integer)
        return self._with_work(shape, work_size_of(self.whole))


def rows_of(table: Segments, family: Family) -> tuple[Structure, ...]:
    """What policies are told of each segment: its row with those of the others, or its row alone.

    Rows of a coupled table share a ledger, which has seen nothing yet.
    """
    if not table.is_coupled:
        return table.rows
    S, K, C = table.n_segments, table.n_each, table.n_arms
    shapes = [shape_of(table, family, c) for c in range(S)]
    real = shapes[0].real
    means, pulls, sums = (real[a * C : (a + 1) * C].reshape(S, K) for a in range(3))
    ledger = Ledger(real, means, pulls, sums)
    of_cells = table.family_of_cells(family).record_for(C)
    return tuple(Row(table, c, ledger, shapes[c].integer, of_cells) for c in range(S))
