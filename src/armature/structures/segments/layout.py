"""A table of segments as kernels see it: its arrays, its kernels, its room."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from armature.families import Family
from armature.kernels.arrays import Floats, Ints
from armature.structures.oracles.derived_bounds import bounds_of_pairs
from armature.structures.oracles.records import Oracle, Shape, measure
from armature.structures.oracles.table import normalised
from armature.structures.segments.additive import ADDITIVE
from armature.structures.segments.joint import JOINT, joint_scratch
from armature.structures.segments.least_squares import extra_room
from armature.structures.segments.pieces import TablePiece

if TYPE_CHECKING:
    from armature.structures.segments.segments import Segments

LEDGER = 4  # numbers for each cell: its mean, weight, sum of rewards, sampled mean
CONVEX = JOINT._replace(challenger_bounds=bounds_of_pairs)  # of the row's own cells: true of all


def quick_oracle(table: Segments, family: Family | None) -> Oracle:
    """The kernels for a table and a family."""
    if family is not None and family.gaussian and lines_of(table.joint.of) is not None:
        return ADDITIVE
    return JOINT if len(table.joint.of) > 1 else CONVEX


def lines_of(pieces: tuple[TablePiece, ...]) -> tuple[Ints, Floats, Floats] | None:
    """(order, lo, hi) where what the arms are worth is a chain of differences in every piece."""
    chains = []
    for one in pieces:
        chain = None if one.line is None else one.line.chain
        if chain is None or chain.up.size:
            return None
        if np.isfinite(chain.low).any() or np.isfinite(chain.high).any():
            return None
        chains.append(chain)
    order = chains[0].order
    if any((chain.order != order).any() for chain in chains):
        return None
    return order, np.stack([c.lo for c in chains]), np.stack([c.hi for c in chains])


def shape_of(table: Segments, family: Family, row: int) -> Shape:
    """The arrays that `joint_of` reads, with an empty ledger; about a row, or -1: all cells."""
    S, K, C = table.n_segments, table.n_each, table.n_arms
    pieces, basis = table.joint
    systems = [normalised(one.piece, C, "the table") for one in pieces]
    first_row = np.cumsum([0, *(len(right) for _, right in systems)])
    starts, indices, values = [], [], []
    entries = 0
    for rows, _ in systems:
        at, column = np.nonzero(rows)
        starts.append(entries + np.searchsorted(at, np.arange(len(rows) + 1)))
        indices.append(column)
        values.append(rows[at, column])
        entries += at.size
    arms = table.family_of_cells(family).record_for(C).arms
    head = [S, K, row, basis.shape[1], len(pieces), first_row[-1], entries, len(arms)]
    order, lo, hi = lines_of(pieces) or (np.empty(0), np.empty(0), np.empty(0))
    integer = [
        np.array([*head, table.reads_by_top, 0]),
        first_row,
        np.array([len(one.piece.C) for one in pieces]),
        *(one.beats.ravel() for one in pieces),
        *(one.leads.ravel() for one in pieces),
        *starts,
        *indices,
        order,
    ]
    rights = [right for _, right in systems]
    lines = lo.ravel(), hi.ravel()
    real = [np.zeros(LEDGER * C + 1), arms.ravel(), *rights, *values, basis.ravel(), *lines]
    return Shape(np.concatenate(real), np.concatenate(integer).astype(np.int64))


def work_size_of(table: Segments) -> tuple[int, int]:
    """How much scratch space the kernels need."""
    pieces, basis = table.joint
    m = max(len(one.piece.b) + len(one.piece.d) for one in pieces)
    n = basis.shape[1] if basis.size else table.n_arms
    real, integer = measure(joint_scratch, table.n_arms, n, m)
    more = measure(extra_room, table.n_each) if lines_of(pieces) else (0, 0)
    return real + more[0], integer + more[1]
