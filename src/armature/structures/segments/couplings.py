"""Couplings: what the segments of a table have in common."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from armature.errors import ArmatureError
from armature.kernels.arrays import Floats
from armature.kernels.checks import as_real, check_kind, checked_list
from armature.structures.piece import Piece

Cells = list[tuple[int, float]]  # a row of a condition: cells, each with its coefficient


class Coupling:
    """What the segments of a table have in common: a set of tables, as a union of convex pieces.

    A coupling of your own says `pieces(n_segments, n_arms)`. Its rows are over cells, the arms of
    the first segment before those of the second: cell c * n_arms + k is arm k in segment c.

    >>> class AtLeastTheFirst(Coupling):
    ...     '''Nobody likes an arm less than the first segment does.'''
    ...
    ...     def pieces(self, n_segments, n_arms):
    ...         cells = n_segments * n_arms
    ...         pairs = [(cell % n_arms, cell) for cell in range(n_arms, cells)]
    ...         yield Piece.of_orders(cells, pairs)
    >>> from armature.structures import Segments, Unconstrained
    >>> table = Segments("ab", each=Unconstrained(2), coupling=AtLeastTheFirst())
    >>> table.contains([[0.1, 0.5], [0.3, 0.6]]), table.contains([[0.1, 0.5], [0.3, 0.4]])
    (True, False)
    """

    @classmethod
    def examples(cls) -> tuple[Coupling, ...]:
        """Some to be tried out."""
        return (cls(),) if cls is not Coupling else ()

    def pieces(self, n_segments: int, n_arms: int) -> Iterable[Piece]:
        """Its pieces over the cells of a table."""
        raise ArmatureError(
            f"{type(self).__name__} declares no pieces: give it `pieces(n_segments, n_arms)`, "
            "which yields am.Piece(A, b, C, d) with a column for each cell."
        )

    @property
    def parts(self) -> tuple[Coupling, ...]:
        """The couplings that it is made of: itself."""
        return (self,)

    def __and__(self, other: Coupling) -> Several:
        if not isinstance(other, Coupling):
            return NotImplemented
        return Several((*self.parts, *other.parts))


@dataclass(frozen=True)
class Additive(Coupling):
    """Mean = what the arm is worth + what the segment adds.

    Segments differ by a constant: what is learned of one arm against another in any segment holds
    in all of them, and the same arm is best in each.

    Guarantee
    ---------
    With rows that speak of differences alone (`Unconstrained`, `Unimodal`, `Lipschitz`, ...) the
    pieces are as many as those of one row, each in n_arms + n_segments - 1 unknowns. Where rewards
    are Gaussian and a row's pieces are chains, these are solved by pivoting; else by the certified
    convex programs. Compared in tests with each other and with a convex solver.

    >>> from armature.structures import Segments, Unimodal
    >>> table = Segments(["mobile", "desktop"], each=Unimodal(3), coupling=Additive())
    >>> table.contains([[0.1, 0.4, 0.3], [0.2, 0.5, 0.4]])
    True
    >>> table.contains([[0.1, 0.4, 0.3], [0.5, 0.4, 0.2]])
    False

    References
    ----------
    Hao, Lattimore and Szepesvári (2020), "Adaptive Exploration in Linear Contextual Bandit", for
    the bound where contexts share a linear model, of which this is one.
    """

    def pieces(self, n_segments: int, n_arms: int) -> Iterator[Piece]:
        cells = n_segments * n_arms
        first = {(c, k): c * n_arms + k for c in range(n_segments) for k in range(n_arms)}
        rows: list[Cells] = [
            [(first[c, k], 1.0), (first[c, 0], -1.0), (first[0, k], -1.0), (first[0, 0], 1.0)]
            for c in range(1, n_segments)
            for k in range(1, n_arms)
        ]
        yield Piece(np.empty((0, cells)), [], _matrix(rows, cells), np.zeros(len(rows)))


@dataclass(frozen=True)
class Alike(Coupling):
    """Segments differ by at most `width` at each arm.

    Parameters
    ----------
    width : float
        The most by which the means of an arm in two segments differ; positive.

    Guarantee
    ---------
    One piece where rows are convex. Pieces of rows multiply: with one peak among K arms there are
    K ** S, which is refused beyond `armature.structures.segments.MOST_PIECES`.

    >>> from armature.structures import Segments, Unconstrained
    >>> table = Segments("ab", each=Unconstrained(2), coupling=Alike(0.2))
    >>> table.contains([[0.1, 0.5], [0.3, 0.6]]), table.contains([[0.1, 0.5], [0.4, 0.6]])
    (True, False)

    References
    ----------
    Saber, Ménard and Maillard (2020), "Optimal Strategies for Graph-Structured Bandits", where
    users are alike.
    """

    width: float

    @classmethod
    def examples(cls) -> tuple[Coupling, ...]:
        return (cls(0.2),)

    def __post_init__(self) -> None:
        width = as_real(self.width)
        if not 0.0 < width < np.inf:
            raise ArmatureError(
                f"width = {self.width!r} must be a positive number, by how much the means of an "
                "arm in two segments can differ. If they are all the same, use one bandit for all."
            )
        object.__setattr__(self, "width", width)

    def pieces(self, n_segments: int, n_arms: int) -> Iterator[Piece]:
        rows: list[Cells] = [
            [(c * n_arms + k, 1.0), (d * n_arms + k, -1.0)]
            for c, d in itertools.permutations(range(n_segments), 2)
            for k in range(n_arms)
        ]
        yield Piece(_matrix(rows, n_segments * n_arms), np.full(len(rows), self.width))


@dataclass(frozen=True)
class SameBest(Coupling):
    """One arm is best in every segment.

    Guarantee
    ---------
    A piece for each arm, and for each combination of pieces of the rows in which it can be best:
    with one peak, as many as there are arms.

    >>> from armature.structures import Segments, Unconstrained
    >>> table = Segments("ab", each=Unconstrained(2), coupling=SameBest())
    >>> table.contains([[0.1, 0.5], [0.3, 0.9]]), table.contains([[0.1, 0.5], [0.4, 0.2]])
    (True, False)
    """

    def pieces(self, n_segments: int, n_arms: int) -> Iterator[Piece]:
        for best in range(n_arms):
            pairs = [
                (c * n_arms + k, c * n_arms + best)
                for c in range(n_segments)
                for k in range(n_arms)
                if k != best
            ]
            yield Piece.of_orders(n_segments * n_arms, pairs)


@dataclass(frozen=True)
class Ordered(Coupling):
    """Each segment's mean is at least that of the segment before, at every arm.

    Guarantee
    ---------
    One piece where rows are convex. Pieces of rows multiply, as with `Alike`.

    >>> from armature.structures import Segments, Unconstrained
    >>> table = Segments("ab", each=Unconstrained(2), coupling=Ordered())
    >>> table.contains([[0.1, 0.5], [0.3, 0.6]]), table.contains([[0.1, 0.5], [0.3, 0.4]])
    (True, False)
    """

    def pieces(self, n_segments: int, n_arms: int) -> Iterator[Piece]:
        cells = n_segments * n_arms
        yield Piece.of_orders(cells, [(cell - n_arms, cell) for cell in range(n_arms, cells)])


@dataclass(frozen=True)
class Several(Coupling):
    """All of several couplings hold: `Additive() & Alike(0.1)`.

    Parameters
    ----------
    of : sequence of Coupling
        At least two.

    Guarantee
    ---------
    Its pieces are those of the parts, intersected.

    >>> Additive() & Alike(0.1)
    Additive() & Alike(width=0.1)
    """

    of: tuple[Coupling, ...]

    def __post_init__(self) -> None:
        parts = checked_list(self.of, "of", "a list of couplings, such as [Additive()]")
        for part in parts:
            check_kind(part, Coupling, "of", "Additive()")
        if len(parts) < 2:
            raise ArmatureError(f"several couplings are at least two; got {parts}.")
        object.__setattr__(self, "of", tuple(parts))

    @classmethod
    def examples(cls) -> tuple[Coupling, ...]:
        return (cls((Additive(), Ordered())),)

    def __repr__(self) -> str:
        return " & ".join(map(repr, self.of))

    @property
    def parts(self) -> tuple[Coupling, ...]:
        return self.of

    def pieces(self, n_segments: int, n_arms: int) -> Iterator[Piece]:
        for pieces in itertools.product(*(part.pieces(n_segments, n_arms) for part in self.of)):
            whole = pieces[0]
            for piece in pieces[1:]:
                whole = whole & piece
            yield whole


def _matrix(rows: list[Cells], cells: int) -> Floats:
    matrix = np.zeros((len(rows), cells))
    for r, row in enumerate(rows):
        for cell, value in row:
            matrix[r, cell] += value
    return matrix
