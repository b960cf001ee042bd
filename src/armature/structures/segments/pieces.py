"""The pieces of a table: those of its rows, combined, in which the coupling holds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from armature.errors import ArmatureError
from armature.kernels.arrays import Floats
from armature.structures.piece import STRICT, Piece
from armature.structures.segments.couplings import Additive, Alike, Coupling, Ordered, SameBest
from armature.structures.structure import Structure

Booleans = npt.NDArray[np.bool_]
MOST_PIECES = 256  # of a table: a convex program each, several times in a round


class TablePiece(NamedTuple):
    """A convex piece of a table, and which arms can be better than which within a segment."""

    piece: Piece  # over cells
    beats: Booleans  # (S, K, K): [c, j, k], whether k is better than j in segment c, somewhere
    leads: Booleans  # (S, K): whether an arm is better than all others of its segment, somewhere
    line: Piece | None  # where all that it says is additive: the piece of what the arms are worth


class Pieces(NamedTuple):
    """All pieces, and what they have in common."""

    of: tuple[TablePiece, ...]
    basis: Floats  # (S K, n): the tables that the coupling's equations leave; (0, 0): all


def pieces_of(rows: Sequence[Structure], coupling: Coupling) -> Pieces:
    """The pieces of a table with such rows."""
    S, K = len(rows), rows[0].n_arms
    parts = coupling.parts
    if any(isinstance(part, Additive) for part in parts) and all(map(is_of_differences, rows)):
        found = _additive(rows, parts)
        basis = additive_basis(S, K)
    else:
        found = _combined(rows, parts)
        basis = np.empty((0, 0))
    if not found:
        raise ArmatureError(
            f"no table has such rows and {coupling!r}: segments and coupling contradict each other."
        )
    return Pieces(tuple(found), basis)


def is_of_differences(row: Structure) -> bool:
    """Whether a row says nothing but how much arms differ: with a number added, it still holds."""
    return all(
        np.abs(rows.sum(axis=1)).max(initial=0.0) <= 1e-12 * np.abs(rows).max(initial=0.0)
        for piece in row.pieces()
        for rows in (piece.A, piece.C)
    )


def additive_basis(S: int, K: int) -> Floats:
    """(S K, K + S - 1): what the arms are worth, and what each segment adds to the first."""
    basis = np.zeros((S, K, K + S - 1))
    for k in range(K):
        basis[:, k, k] = 1.0
    for c in range(1, S):
        basis[c, :, K + c - 1] = 1.0
    return basis.reshape(S * K, K + S - 1)


def embedded(piece: Piece, segment: int, S: int) -> Piece:
    """A piece of a row as what it says of the cells of a segment."""
    K = piece.n_arms

    def wide(rows: Floats) -> Floats:
        cells = np.zeros((len(rows), S * K))
        cells[:, segment * K : (segment + 1) * K] = rows
        return cells

    return Piece(wide(piece.A), piece.b, wide(piece.C), piece.d)


def _additive(rows: Sequence[Structure], parts: Sequence[Coupling]) -> list[TablePiece]:
    """Where rows say how much arms differ, all say it of what the arms are worth."""
    S, K = len(rows), rows[0].n_arms
    more = [part for part in parts if not isinstance(part, (Additive, SameBest))]
    kinds = list(dict.fromkeys(rows))
    lists = [list(row.pieces()) for row in kinds]
    check_count(math.prod(len(found) for found in lists), rows)
    worth = _intersections(lists)
    found = []
    for piece in worth:
        row = embedded(piece, 0, S)
        for other in itertools.product(*(part.pieces(S, K) for part in more)):
            whole = row
            for one in other:
                whole = whole & one
            alone = not more
            if all(isinstance(part, (Alike, Ordered)) for part in more):  # of segments, not of arms
                beats = np.broadcast_to(piece.beats, (S, K, K))
                leads = np.broadcast_to(piece.can_lead, (S, K))
                found.append(TablePiece(whole, beats, leads, piece if alone else None))
            else:
                equal = whole & next(Additive().pieces(S, K))
                if not equal.is_empty:
                    found.append(TablePiece(whole, *_compared(equal, S, K), None))
    return found


def _intersections(lists: list[list[Piece]]) -> list[Piece]:
    found = lists[0]
    for others in lists[1:]:
        found = [both for one in found for other in others if not (both := one & other).is_empty]
    return found


def _combined(rows: Sequence[Structure], parts: Sequence[Coupling]) -> list[TablePiece]:
    """Each combination of pieces of the rows, with each of the couplings."""
    S, K = len(rows), rows[0].n_arms
    lists = [list(row.pieces()) for row in rows]
    best_in_common = any(isinstance(part, SameBest) for part in parts)
    choices: list[list[list[Piece]]] = [lists]
    if best_in_common:
        choices = [[[p for p in row if p.can_lead[best]] for row in lists] for best in range(K)]
    others = [[list(part.pieces(S, K)) for part in parts if not isinstance(part, SameBest)]] * len(
        choices
    )
    if best_in_common:
        same = list(SameBest().pieces(S, K))
        others = [[[same[best]], *more] for best, more in enumerate(others)]
    counts = [
        math.prod(map(len, choice)) * math.prod(map(len, other))
        for choice, other in zip(choices, others, strict=True)
    ]
    check_count(sum(counts), rows)
    found = []
    for choice, other in zip(choices, others, strict=True):
        for row_pieces, coupled in itertools.product(
            itertools.product(*choice), itertools.product(*other)
        ):
            whole = coupled[0]
            for piece in coupled[1:]:
                whole = whole & piece
            for c, piece in enumerate(row_pieces):
                whole = whole & embedded(piece, c, S)
            if not whole.is_empty:
                found.append(TablePiece(whole, *_compared(whole, S, K), None))
    return found


def check_count(count: int, rows: Sequence[Structure]) -> None:
    """Refuse a table of more pieces than can be served."""
    if count <= MOST_PIECES:
        return
    raise ArmatureError(
        f"this table has {count:,} pieces, for a convex program each, and {MOST_PIECES} can be "
        f"served: the pieces of its {len(rows)} rows multiply. Couple convex rows (such as "
        "Unconstrained, Monotone, Concave or Lipschitz), or couple them by Additive() or "
        "SameBest(), or couple fewer segments."
    )


def _compared(piece: Piece, S: int, K: int) -> tuple[Booleans, Booleans]:
    """`beats` and `leads` of a piece over cells."""
    most = piece.differences
    if most is not None:
        size = float(np.abs(most[np.isfinite(most)]).max())
        ahead = 1e-12 * size < most[: S * K, : S * K].T
        beats = np.stack([ahead[c * K : (c + 1) * K, c * K : (c + 1) * K] for c in range(S)])
    else:
        beats = _beats_by_programs(piece, S, K)
    leads = beats.sum(axis=1) == K - 1
    only_differences = most is not None and np.isinf(most[-1, :-1]).all()
    if not (only_differences and np.isinf(most[:-1, -1]).all()):  # type: ignore[index]
        for c, k in np.argwhere(leads):
            leads[c, k] = _leads(piece, int(c), int(k), K)
    return beats, leads


def _beats_by_programs(piece: Piece, S: int, K: int) -> Booleans:
    """A point settles many pairs at once; linear programs settle the pairs that remain."""
    beats = np.zeros((S, K, K), dtype=bool)
    unit = np.eye(S * K)
    for direction in _directions(unit, beats, S, K):
        point = piece.extreme(direction)
        if point is not None:
            margin = STRICT * max(1.0, float(np.abs(point).max()))
            rows = point.reshape(S, K)
            beats |= rows[:, None, :] > rows[:, :, None] + margin
    return beats


def _directions(unit: Floats, beats: Booleans, S: int, K: int) -> Iterator[Floats]:
    yield from unit
    yield from -unit
    for c in range(S):
        for j in range(K):
            for k in range(K):
                if j != k and not beats[c, j, k]:
                    yield unit[c * K + k] - unit[c * K + j]


def _leads(piece: Piece, c: int, k: int, K: int) -> bool:
    """Whether max t with mean k >= mean i + t for all other i of the segment is positive."""
    from scipy.optimize import linprog  # when it is needed: importing the package is quick

    cells = piece.n_arms
    ahead = np.zeros((K, cells + 1))
    ahead[:, c * K : (c + 1) * K] = np.eye(K) - np.eye(K)[k]
    ahead[:, -1] = 1.0
    ahead = ahead[np.arange(K) != k]
    rows = np.vstack([np.hstack([piece.A, np.zeros((len(piece.A), 1))]), ahead])
    right = np.concatenate([piece.b, np.zeros(K - 1)])
    equal = np.hstack([piece.C, np.zeros((len(piece.C), 1))])
    bounds = [(None, None)] * cells + [(None, 1.0)]
    result = linprog(-np.eye(cells + 1)[cells], rows, right, equal, piece.d, bounds=bounds)
    return bool(result.status == 0 and -result.fun > STRICT)
