"""Structures with a margin: an arm counts as better only if it is better by more than that.

Whoever is content with an arm that is nearly the best asks for less: that no other arm is better
than the leader j by more than a margin. What has to be ruled out is then, in place of all of
`not j`, the mean vectors of M with  lam_k >= lam_j + margin  for some k: one more row in each
piece, for each challenger.

The margin is a number, or a share of the mean of j: then it is share * |lam_j - about|, convex in
lam_j, so that two rows say it.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from armature.errors import ArmatureError
from armature.families import Family, FamilyRecord
from armature.kernels.arrays import Floats
from armature.kernels.checks import as_real
from armature.kernels.kernel import kernel
from armature.kernels.vectors import copy
from armature.solver.pooling import pair_cost
from armature.solver.program import mark_infeasible
from armature.structures.declared import declares_pieces
from armature.structures.oracles import derived, derived_bounds
from armature.structures.oracles.records import (
    Oracle,
    OracleProblem,
    Shape,
    Work,
    every_other,
    measure,
)
from armature.structures.oracles.search import scratch_of
from armature.structures.oracles.table import listed, make_table, table_of
from armature.structures.piece import Piece
from armature.structures.structure import Structure

MOST_NUMBERS = 10_000_000  # in the tables of all pairs of arms: 80 MB
TRIFLE = 1e-10  # of a margin
NOWHERE = -1  # where a pair's table would begin that has no pieces


@dataclass(frozen=True)
class Margin:
    """The lead over an arm of mean x that does not matter yet: size + share * |x - about|."""

    size: float = 0.0
    share: float = 0.0
    about: float = 0.0

    @classmethod
    def of(cls, given: float | str | None, about: float | None = None) -> Margin | None:
        """A margin as it is written: a number, or a share of the leader's mean, such as "1%".

        None where it is nothing. `about` is the number that rewards were taken from, if they were.

        >>> Margin.of("1%"), Margin.of(0.5), Margin.of(0)
        (Margin(size=0.0, share=0.01, about=0.0), Margin(size=0.5, share=0.0, about=0.0), None)
        """
        if given is None:
            return None
        is_share = isinstance(given, str) and given.strip().endswith("%")
        text = str(given).strip().removesuffix("%") if isinstance(given, str) else given
        try:
            value = float(text) if isinstance(text, str) else as_real(text)
        except ValueError:
            value = math.nan
        if not (0.0 <= value < math.inf) or (is_share and value >= 100.0):
            raise ArmatureError(
                "margin must be a number, at least 0, or a share of the leader's mean below 100 %, "
                f'such as "1%"; got {given!r}.'
            )
        if value == 0.0:
            return None
        return cls(0.0, value / 100.0, about or 0.0) if is_share else cls(value)

    @property
    def given(self) -> float | str:
        """As `of` takes it."""
        return f"{100.0 * self.share:g}%" if self.share > 0.0 else self.size

    def at(self, mean: float) -> float:
        """The lead over an arm of this mean."""
        return self.size + self.share * abs(mean - self.about)

    def near(self, means: Floats) -> list[int]:
        """The arms than which none is better by the margin, from the best on."""
        best = float(means.max())
        found = [k for k in range(means.size) if best < means[k] + self.at(float(means[k]))]
        return sorted(found, key=lambda k: -means[k])

    def __str__(self) -> str:
        return f"{100.0 * self.share:.3g} %" if self.share > 0.0 else f"{self.size:.3g}"

    def untied(self, means: Floats, leader: int) -> Floats:
        """The means, with the leader a trifle ahead of arms that are level with it."""
        found = means.copy()
        found[leader] += TRIFLE * self.at(float(means[leader]))
        return found

    def lead(self, n_arms: int, j: int, k: int) -> Piece:
        """lam_k >= lam_j + margin."""
        slopes = (self.share, -self.share) if self.share > 0.0 else (0.0,)
        rows = np.zeros((len(slopes), n_arms))
        rows[:, j] = [1.0 + slope for slope in slopes]
        rows[:, k] = -1.0
        return Piece(rows, np.array([slope * self.about - self.size for slope in slopes]))


@kernel
def part_of(problem: OracleProblem, j: int, k: int) -> OracleProblem:
    """The problem over the mean vectors in which k leads j; over all of M, if they are the same.

    Scratch space begins anew: what is kept there is of another part.
    """
    family, mu, w, shape, work, marks = problem
    at = 2 * (j * mu.size + k)
    reals = shape.real[shape.integer[at + 1] :]
    integers = shape.integer[shape.integer[at] :]
    room = Work(work.real[mu.size :], work.integer)
    part = OracleProblem(family, mu, w, Shape(reals, integers), room, marks)
    derived_bounds.disown(part, table_of(part.shape, mu.size))
    return part


@kernel
def nearest_in(problem: OracleProblem, j: int, k: int, lam: Floats) -> float:
    """The nearest mean vector in which k leads j; of all of M, if they are the same."""
    if problem.shape.integer[2 * (j * lam.size + k)] < 0:
        return mark_infeasible(lam)
    return derived.project(part_of(problem, j, k), -1, -1, lam)


@kernel
def answer(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """The nearest point of M, if first < 0; in which `second` leads `first`; or any arm leads it.

    One kernel for all three, as each would be compiled with all of the solver. What a tie of two
    arms alone would cost bounds from below what it costs that one leads the other.
    """
    family, mu, w = problem.family, problem.mu, problem.w
    likeliest = second
    for k in range(mu.size if second < 0 <= first else 0):  # the best before k but for `first`
        if k != first and (likeliest < 0 or mu[k] > mu[likeliest]):
            likeliest = k
    best = nearest_in(problem, max(first, 0), max(likeliest, 0), lam)
    if first < 0 or second >= 0:
        return best
    trial = problem.work.real[: mu.size]
    for k in range(mu.size):  # lam: the nearest with the likeliest or an arm before k, at `best`
        if k in (first, likeliest):
            continue
        if family.alike and pair_cost(family, w[first], mu[first], w[k], mu[k]) >= best:
            continue
        cost = nearest_in(problem, first, k, trial)
        if cost < best:
            best = cost
            copy(trial, lam)
    return best


@dataclass(frozen=True, eq=False)
class WithMargin(Structure):
    """The same mean vectors; an arm is an alternative to another only if it leads by the margin.

    `named` are the arms to whom alternatives are asked; without, all.

    Limits
    ------
    Dense programs for each pair of arms: quick with ten arms, about a minute for a verdict with 20;
    more than about 50 are refused.
    """

    structure: Structure
    margin: Margin
    named: tuple[int, ...] | None = None

    oracle: ClassVar[Oracle] = Oracle(
        project=answer,
        alt_min=answer,
        nearest=answer,
        cells=every_other,
        cell_min=answer,
        challenger_min=answer,
    )
    convex = False
    order_only = False
    challenge = "order"

    def __post_init__(self) -> None:
        inner = self.structure
        if inner.is_table or inner.in_table:
            raise ArmatureError("a margin is for one segment with a structure of its own.")
        if not declares_pieces(inner):
            raise ArmatureError(
                f"a margin needs to know the pieces of a structure, and {type(inner).__name__} is "
                "in plain Python: give it `pieces()`."
            )
        object.__setattr__(self, "n_arms", inner.n_arms)

    def pieces(self) -> Iterable[Piece]:
        return self.structure.pieces()

    def forgotten(self) -> Structure:
        return WithMargin(self.structure.forgotten(), self.margin)

    def checked_arm(self, arm: int, name: str) -> int:
        found = super().checked_arm(arm, name)
        if name == "best" and self.named is not None and found not in self.named:
            raise ArmatureError(f"alternatives to arm {found} were not asked for.")
        return found

    def violation(self, means: Floats, tolerance: float) -> str | None:
        return self.structure.violation(means, tolerance)

    def oracle_for(self, family: Family) -> Oracle:
        return self.oracle

    def checked_family(self, family: Family) -> FamilyRecord:
        if not family.convex:
            raise ArmatureError(
                f"a margin does not go with {type(family).__name__} rewards, whose divergence is "
                "not convex in its second argument."
            )
        return self.structure.checked_family(family)

    @functools.cached_property
    def _known(self) -> list[Piece]:
        """The pieces, unless their tables would be too large."""
        K = self.n_arms
        most = max(1, MOST_NUMBERS // K**3)  # at least K pairs of arms each, of K^2 numbers
        found = list(itertools.islice(self.structure.checked_pieces(), most + 1))
        if K**4 > MOST_NUMBERS or len(found) > most:
            raise ArmatureError(
                f"a margin takes a table for each pair of arms and piece: {self.structure!r} has "
                "too many of them. Use fewer arms, at most about 50, or no margin."
            )
        return listed(found, repr(self.structure))

    def _leading(self, j: int, k: int) -> Iterator[Piece]:
        """The parts of the pieces in which k leads j.

        Where rows only order arms, the best arm of a mean vector can lead: no other need be asked.
        """
        lead = self.margin.lead(self.n_arms, j, k)
        for piece in self._known:
            if not piece.beats[j, k]:
                continue
            if piece.orders_only and not len(piece.C) and not piece.can_lead[k]:
                continue
            part = piece & lead
            if part.differences is None or not part.is_empty:
                yield part

    @functools.cached_property
    def shape(self) -> Shape:
        """For each pair of arms where its table begins among the integers and among the reals."""
        K = self.n_arms
        whole = self._table_of(self._known)
        tables, starts = [whole], np.zeros((K, K, 2), dtype=np.int64)
        at = [starts.size, 0]
        starts[:, :] = at
        empty = Shape(np.empty(0), np.empty(0, dtype=np.int64))
        for j, k in itertools.product(range(K) if self.named is None else self.named, range(K)):
            if j == k:
                continue
            at = [at[0] + tables[-1].integer.size, at[1] + tables[-1].real.size]
            found = list(self._leading(j, k))
            starts[j, k] = at if found else NOWHERE
            tables.append(self._table_of(found) if found else empty)
        return Shape(
            np.concatenate([table.real for table in tables]),
            np.concatenate([starts.ravel(), *(table.integer for table in tables)]),
        )

    def _table_of(self, pieces: list[Piece]) -> Shape:
        return make_table(pieces, self.n_arms, False, False, repr(self.structure))

    @functools.cached_property
    def work_size(self) -> tuple[int, int]:
        rows = 2 + max(len(piece.b) + len(piece.d) for piece in self._known)
        real, integer = measure(scratch_of, self.n_arms, rows)
        return real + self.n_arms, integer


def with_margin(structure: Structure, margin: Margin | None) -> Structure:
    """The structure where a lead within the margin counts for nothing."""
    return structure if margin is None else WithMargin(structure, margin)
