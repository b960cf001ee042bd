"""The pieces of a structure as arrays, which kernels read."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from armature.errors import ArmatureError, short
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import inlined, kernel
from armature.solver.chains.chain import Chain
from armature.solver.chains.rows import turns_of
from armature.solver.chains.turns import Turning
from armature.solver.concave.knots import Bends
from armature.solver.program import Rows
from armature.structures.oracles.records import Shape
from armature.structures.piece import Piece

MOST_PIECES = 20_000


class Table(NamedTuple):
    """The pieces as kernels see them, P of them for K arms, one after the other."""

    orders_only: bool
    by_top: bool  # how "k beats j" is read: see `Structure.challenge`
    most_rows: int  # of a piece
    first_row: Ints  # (P + 1,): where each piece's rows start in `right`
    equalities: Ints  # (P,): how many of them hold with equality; these come first
    beats: Ints  # (P K K,): [p, j, k] is 1 where k is better than j somewhere in piece p
    leads: Ints  # (P K,): [p, k] is 1 where k is better than all others somewhere in it
    start: Ints  # of each row in `indices`, with one more entry for each piece
    indices: Ints
    right: Floats
    values: Floats
    orders: Ints  # (P K,): the arms along the line, where the piece is a chain; else -1
    lines: Floats  # (P (4 K - 2),): the bounds of a chain: lo, hi, low, high
    factors: Floats  # (P (3 K - 2),): down, up and floor, if any chain has them; else empty
    turns: Ints  # (P + 2,): `turns_of` the pieces, if they are chains that turn once; else -1
    bend_orders: Ints  # (P K,): the arms along the line, where means are concave; else -1
    bend_lines: Floats  # (P 3 K,): their positions and bounds


@kernel
def table_of(shape: Shape, K: int) -> Table:
    """The table in a structure's arrays: eight numbers (see `make_table`), then the rest."""
    head = shape.integer
    P = head[2]
    m = head[3]
    Q = head[5]
    a = 8 + P + 1
    b = a + P
    c = b + P * K * K
    d = c + P * K
    e = d + m + P
    f = e + head[4] + P * K
    g = m + head[4] + P * (4 * K - 2)
    h = g + head[7] * (3 * K - 2)
    return Table(
        head[0] == 1,
        head[1] == 1,
        head[6],
        head[8:a],
        head[a:b],
        head[b:c],
        head[c:d],
        head[d:e],
        head[e : e + head[4]],
        shape.real[:m],
        shape.real[m : m + head[4]],
        head[e + head[4] : f],
        shape.real[m + head[4] : g],
        shape.real[g:h],
        head[f : f + P + 2],
        head[f + P + 2 : f + P + 2 + Q * K],
        shape.real[h : h + Q * 3 * K],
    )


def checked_pieces(found: object, n_arms: int, owner: str) -> Iterator[Piece]:
    """The pieces that a class declares, one by one; refused if one is none, or has other arms."""
    wrong = f"{owner}.pieces() must yield am.Piece(A, b, C, d); got"
    if not isinstance(found, Iterable):
        raise ArmatureError(f"{wrong} {short(found)}.")
    for piece in found:
        if not isinstance(piece, Piece):
            raise ArmatureError(f"{wrong} {short(piece)}.")
        if piece.A.shape[1] != n_arms:
            raise ArmatureError(
                f"a piece of {owner} is for {piece.A.shape[1]} arms, and its n_arms is {n_arms}: "
                "each row needs a number for each arm."
            )
        yield piece


def listed(pieces: Iterable[Piece], owner: str) -> list[Piece]:
    """All pieces, unless they are too many or none."""
    found = list(itertools.islice(pieces, MOST_PIECES + 1))
    if len(found) > MOST_PIECES:
        raise ArmatureError(
            f"{owner} has more than {MOST_PIECES} pieces, too many to go through one by one, each "
            f"{found[0].solved_by}: use fewer arms, or give the structure oracles of its own."
        )
    if not found:
        raise ArmatureError(f"{owner} has no pieces: it would be empty.")
    return found


# The entries that ask which arms can be better than which: that can take many linear programs.
COMPARING = frozenset({"alt_min", "nearest", "cells", "challenger_min", "best_min"})


def make_table(
    pieces: Iterable[Piece], n_arms: int, by_top: bool, comparing: bool, owner: str
) -> Shape:
    """The arrays that `table_of` reads; `beats` and `leads` are 0 unless comparing."""
    found = listed(pieces, owner)
    starts, indices, values, rights = [], [], [], []
    entries = 0
    for piece in found:
        rows, right = normalised(piece, n_arms, owner)
        row, column = np.nonzero(rows)
        rights.append(right)
        starts.append(entries + np.searchsorted(row, np.arange(len(rows) + 1)))
        indices.append(column)
        values.append(rows[row, column])
        entries += row.size
    first_row = np.cumsum([0, *(len(right) for right in rights)])
    orders_only = all(piece.orders_only for piece in found)
    bent = found if any(piece.bends is not None for piece in found) else []
    most = np.diff(first_row).max()
    scaled = found if any(p.chain is not None and p.chain.up.size for p in found) else []
    head = [
        orders_only, by_top, len(found), first_row[-1], entries, len(bent), most, len(scaled)
    ]  # fmt: skip
    integer = [
        np.array(head),
        first_row,
        np.array([len(piece.C) for piece in found]),
        *(piece.beats.ravel() if comparing else np.zeros(n_arms**2) for piece in found),
        *(piece.can_lead if comparing else np.zeros(n_arms) for piece in found),
        *starts,
        *indices,
        *(np.full(n_arms, -1) if piece.chain is None else piece.chain.order for piece in found),
    ]
    turns = turns_of([piece.chain for piece in found])
    integer.append(np.full(len(found) + 2, -1) if turns is None else turns)
    integer += [np.full(n_arms, -1) if p.bends is None else p.bends.order for p in bent]
    nothing = np.zeros(4 * n_arms - 2)
    lines = [nothing if p.chain is None else np.concatenate(p.chain[1:5]) for p in found]
    factors = [factors_of(p.chain, n_arms) for p in scaled]
    zeros = np.zeros(3 * n_arms)
    curves = [zeros if p.bends is None else np.concatenate(p.bends[1:]) for p in bent]
    real = np.concatenate([*rights, *values, *lines, *factors, *curves])
    return Shape(real, np.concatenate(integer).astype(np.int64))


def factors_of(chain: Chain | None, n_arms: int) -> Floats:
    """down, up and floor of a chain, also where it stores none."""
    ones, floor = np.ones(n_arms - 1), np.full(n_arms, -np.inf)
    if chain is None or not chain.up.size:
        return np.concatenate([ones, ones, floor])
    return np.concatenate([chain.down, chain.up, chain.floor if chain.floor.size else floor])


def normalised(piece: Piece, n_arms: int, owner: str) -> tuple[Floats, Floats]:
    """Rows of norm 1 with rows @ lam >= right, the equations first."""
    if piece.n_arms != n_arms:
        raise ArmatureError(
            f"a piece of {owner} is about {piece.n_arms} arms, where there are {n_arms}."
        )
    rows = np.vstack([piece.C, -piece.A])
    right = np.concatenate([piece.d, -piece.b])
    norms = np.linalg.norm(rows, axis=1)
    norms[norms == 0.0] = 1.0
    return rows / norms[:, None], right / norms


@kernel
def rows_of(table: Table, p: int) -> Rows:
    """The rows of a piece."""
    a = table.first_row[p]
    b = table.first_row[p + 1]
    return Rows(
        table.start[a + p : b + p + 1],
        table.indices,
        table.values,
        table.right[a:b],
        table.equalities[p],
    )


@inlined
def is_chain(table: Table, p: int, K: int) -> bool:
    """True if a piece is a chain."""
    return bool(table.orders[p * K] >= 0)


@kernel
def chain_at(table: Table, p: int, K: int) -> Chain:
    """A piece as a chain."""
    line = table.lines[p * (4 * K - 2) : (p + 1) * (4 * K - 2)]
    start = p * (3 * K - 2) if table.factors.size > 0 else 0
    scaled = table.factors[start : start + min(table.factors.size, 3 * K - 2)]
    return Chain(
        table.orders[p * K : (p + 1) * K],
        line[: K - 1],
        line[K - 1 : 2 * K - 2],
        line[2 * K - 2 : 3 * K - 2],
        line[3 * K - 2 :],
        scaled[: K - 1],
        scaled[K - 1 : 2 * K - 2],
        scaled[2 * K - 2 :],
    )


@inlined
def is_concave(table: Table, p: int, K: int) -> bool:
    """True if a piece says that means are concave along a line, and no more."""
    return bool(table.bend_orders.size > 0 and table.bend_orders[p * K] >= 0)


@kernel
def bends_at(table: Table, p: int, K: int) -> Bends:
    """A piece as concave means."""
    line = table.bend_lines[p * 3 * K : (p + 1) * 3 * K]
    return Bends(table.bend_orders[p * K : (p + 1) * K], line[:K], line[K : 2 * K], line[2 * K :])


@inlined
def is_turning(table: Table) -> bool:
    """True if the pieces are chains that turn once each: then they share their messages."""
    return bool(table.turns[0] >= 0)


@kernel
def turning_in(table: Table, K: int) -> Turning:
    """Such pieces together."""
    P = table.equalities.size
    before = chain_at(table, table.turns[P], K)
    return Turning(before, chain_at(table, table.turns[P + 1], K), table.turns[:P])
