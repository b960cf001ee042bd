"""Grids: arms in rows and columns, of which both are chosen."""

from __future__ import annotations

import functools
import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from armature.errors import ArmatureError
from armature.kernels.arrays import Floats
from armature.kernels.checks import as_array, checked_vector
from armature.structures.piece import Piece
from armature.structures.segments.couplings import Additive, Alike, Coupling, SameBest
from armature.structures.segments.pieces import check_count
from armature.structures.segments.segments import Segments, checked_names
from armature.structures.structure import Structure


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Grid(Structure):
    """Arms in rows and columns, of which both are chosen: headlines and prices.

    Four headlines at each of five prices are twenty arms of one bandit, those of the first row
    before those of the second: arm r * n_columns + k is column k in row r. (In `Segments` the row
    arrives, and each row has a best arm of its own.)

    Parameters
    ----------
    rows : sequence of hashable
        What the rows are called: different from each other, at least one.
    columns : Structure or mapping
        What is known about the means of a row, along its columns: one structure for all rows, or
        one for each name.
    coupling : Coupling, optional
        What rows have in common: `Additive()`, `Alike(width)`, `SameBest()`, `Ordered()`, several
        with `&`, or one of your own.

    Guarantee
    ---------
    A convex program for each piece, whose answer is checked by its multipliers, to 1e-10 of its
    cost or to rounding. With additive coupling there are as many pieces as one row has; else those
    of the rows multiply, and more than 256 are refused. Compared in tests with a convex solver.

    >>> from armature.families import Gaussian
    >>> from armature.structures import Unimodal
    >>> offers = Grid(["short", "long"], columns=Unimodal(3), coupling=Additive())
    >>> offers.n_arms, offers.contains([[0.1, 0.5, 0.2], [0.3, 0.7, 0.4]])
    (6, True)
    >>> offers.place(4)
    ('long', 1)
    >>> fit = offers.project([[0.1, 0.5, 0.2], [0.3, 0.7, 0.0]], [1.0] * 6, Gaussian())
    >>> fit.means.round(3)
    array([0.167, 0.567, 0.067, 0.233, 0.633, 0.133])

    Limits
    ------
    Dense programs, for tens of arms.

    References
    ----------
    Degenne, Shao and Koolen (2020), "Structure Adaptive Algorithms for Stochastic Bandits", for
    what a structure is asked.
    """

    rows: tuple[Hashable, ...]
    columns: Structure | Mapping[Hashable, Structure]
    coupling: Coupling | None
    n_arms: int

    @classmethod
    def examples(cls) -> tuple[Grid, ...]:
        from armature.structures import Monotone, Unconstrained, Unimodal

        return (
            cls("ab", Unconstrained(2), Additive()),
            cls("ab", {"a": Unimodal(2), "b": Monotone(2)}, SameBest()),
        )

    def __init__(
        self,
        rows: Iterable[Hashable],
        columns: Structure | Mapping[Any, Structure],
        coupling: Coupling | None = None,
    ) -> None:
        names = checked_names(rows, "row", '["headline A", "headline B"]')
        table = Segments(names, columns, coupling)
        values = {"rows": names, "columns": columns, "coupling": coupling, "n_arms": table.n_arms}
        for name, value in {**values, "_table": table}.items():
            object.__setattr__(self, name, value)
        if table.n_arms < 2:
            raise ArmatureError("a grid of one row and one column has one arm: nothing is chosen.")
        self.pieces()

    @property
    def n_columns(self) -> int:
        """How many arms there are in each row."""
        return self._table.n_each  # type: ignore[attr-defined, no-any-return]

    @property
    def categories(self) -> tuple[Hashable, ...]:
        """The row of each arm: pictures show arms of a row together."""
        return tuple(row for row in self.rows for _ in range(self.n_columns))

    def place(self, arm: int) -> tuple[Hashable, int]:
        """The row of an arm, and the number of its column."""
        r, k = divmod(self.checked_arm(arm, "arm"), self.n_columns)
        return self.rows[r], k

    @functools.cached_property
    def _pieces(self) -> tuple[Piece, ...]:
        table: Segments = self._table  # type: ignore[attr-defined]
        if not table.is_coupled:
            check_count(math.prod(len(list(row.pieces())) for row in table.rows), table.rows)
        return tuple(table.pieces())

    def pieces(self) -> Iterable[Piece]:
        return self._pieces

    def checked_vector(self, values: npt.ArrayLike, name: str) -> Floats:
        array = as_array(values, name)
        if array.shape == (len(self.rows), self.n_columns):
            return checked_vector(array.reshape(-1), name, self.n_arms)
        if array.ndim != 1:
            raise ArmatureError(
                f"{name} must be {len(self.rows)} rows of {self.n_columns} numbers, or all "
                f"{self.n_arms} in a row; got an array of shape {array.shape}."
            )
        return checked_vector(array, name, self.n_arms)

    def mirrored(self, about: float) -> Grid:
        parts = () if self.coupling is None else self.coupling.parts
        if any(type(part) not in (Additive, Alike, SameBest) for part in parts):
            return super().mirrored(about)  # type: ignore[return-value]
        rows = self._table.rows  # type: ignore[attr-defined]
        each = {name: row.mirrored(about) for name, row in zip(self.rows, rows, strict=True)}
        same = not isinstance(self.columns, Mapping)
        return Grid(self.rows, each[self.rows[0]] if same else each, self.coupling)
