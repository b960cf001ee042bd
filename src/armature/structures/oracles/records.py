"""The records that structures and their kernels are made of, and how much scratch space they need.

A structure names its scratch space in one place, a record of arrays and a kernel that cuts them out
of a `Work`. The same kernel, run on rulers instead of arrays, says how much there must be
(`measure`).
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

from armature.families import FamilyRecord
from armature.families.record import numba_record
from armature.kernels.addresses import Signature
from armature.kernels.arrays import Floats, Ints
from armature.kernels.gears import interpreted
from armature.kernels.kernel import Kernel, inlined, kernel


class Shape(NamedTuple):
    """A structure as kernels see it; each structure says what it keeps where."""

    real: Floats
    integer: Ints


class Work(NamedTuple):
    """Scratch space, so that kernels allocate nothing. It comes as zeros.

    Between calls it may have been used for another question: a kernel that keeps something there
    also keeps what it was computed from, and compares.
    """

    real: Floats
    integer: Ints


class OracleProblem(NamedTuple):
    """The problem of every oracle: minimise sum_i w_i d(mu_i, lam_i) over a part of M."""

    family: FamilyRecord
    mu: Floats
    w: Floats
    shape: Shape
    work: Work
    marks: Ints  # one number for each arm: see `Oracle.cells` and `Oracle.challenger_costs`


def numba_problem() -> Any:
    """An `OracleProblem` as Numba sees it."""
    import numba as _numba

    types: Any = _numba.types
    reals, integers = types.float64[::1], types.int64[::1]
    shape, work = (types.NamedTuple([reals, integers], record) for record in (Shape, Work))
    parts = [numba_record(), reals, reals, shape, work, integers]
    return types.NamedTuple(parts, OracleProblem)


@functools.cache
def _signatures() -> dict[str, Any]:
    import numba as _numba

    types: Any = _numba.types
    real, number, reals = types.float64, types.int64, types.float64[::1]
    return {"usual": real(numba_problem(), number, number, reals)}


USUAL = Signature(_signatures, "usual")  # of most oracles


TIES = 1 << 20  # in a note: more than there are arms
PARTS = 1024  # of a unit of cost
DEAREST = 1e9  # what is noted of a higher cost is this, and so of no use


@inlined
def note_ties(ties: int, kept: float) -> int:
    """One number for both: at most so many ties, and what arms cost that stay, rounded up."""
    return ties + TIES * math.ceil(PARTS * min(kept, DEAREST))


class Oracle(NamedTuple):
    """Kernels that answer faster than what follows from the pieces; None where there is none.

    Most are (problem, first, second, out) -> cost: they minimise the cost over a set, write a
    minimiser to `out` and return the cost; where nothing is feasible the cost is infinite and
    `out` is nan. With j = first and k = second (-1 where there is none), the sets are

    * `project`: M;
    * `alt_min`: { lam in `not j` : lam_k >= lam_j };
    * `nearest`: `not j`, the union of these;
    * `cell_min`: the cell of `not j` that has the number k;
    * `challenger_min`: where k beats j, as the structure reads it (`Structure.challenge`);
    * `best_min`: where arm j is best.

    `challenger_costs` is one `challenger_min` for each k, in one sweep: it writes the costs to
    `out`, the projection's at j, and returns that one. It may note in `problem.marks`, for each k,
    how many arms at most its minimiser moves from the projection, less one (a bound on their ties),
    and what the others cost: see `note_ties`.

    `challenger_bounds` is for convex M. It finds the projection in `out`, and replaces it: by how
    much more than the projection it costs at least, for each arm, that it beats j. After it `out`
    says for each arm from which cost on that does not matter, so that a bound need not be better.

    `cells` (problem, j, out) -> n writes the numbers of the cells of `not j`. Where these depend on
    the means, it notes in `problem.marks` what `cell_min` has to know.

    `highest` (shape, work, low, high, out) -> possible writes the highest value of each arm in the
    mean vectors of M with low <= lam <= high, and says (1 or 0) whether there is any. An arm that
    is nowhere the best of these may get less.

    `optimistic` (problem, level, out) -> possible does the same for what `level` leaves plausible,
    where that is a set of another shape than a box of intervals.
    """

    project: Kernel[..., float] | None = None
    alt_min: Kernel[..., float] | None = None
    nearest: Kernel[..., float] | None = None
    cells: Kernel[..., int] | None = None
    cell_min: Kernel[..., float] | None = None
    challenger_min: Kernel[..., float] | None = None
    challenger_costs: Kernel[..., float] | None = None
    challenger_bounds: Kernel[..., float] | None = None
    best_min: Kernel[..., float] | None = None
    highest: Kernel[..., float] | None = None
    optimistic: Kernel[..., float] | None = None


ENTRIES = Oracle._fields


class Fit(NamedTuple):
    """A mean vector that solves an oracle's problem, and its cost sum_i w_i d(mu_i, means_i)."""

    means: Floats
    cost: float


class Cell(NamedTuple):
    """A convex part of `not best`, the mean vectors of M in which `best` is not the best arm.

    What the number stands for is the structure's business; `marks` are there where the cells
    depend on the means.
    """

    best: int
    number: int
    marks: tuple[int, ...] = ()


@kernel
def every_other(problem: OracleProblem, first: int, out: Ints) -> int:
    """The simplest cells: one for each challenger, all arms but `first`, numbered by it."""
    n = 0
    for k in range(problem.mu.size):  # out[:n]: the arms before k but `first`
        if k != first:
            out[n] = k
            n += 1
    return n


class Ruler:
    """Stands for an array without end, and remembers how far anyone has reached into it."""

    def __init__(self, start: int = 0, reach: list[int] | None = None) -> None:
        self.start, self.reach = start, [0] if reach is None else reach

    def __getitem__(self, part: slice) -> Ruler:
        start = self.start + int(part.start or 0)
        if part.stop is not None:
            self.reach[0] = max(self.reach[0], self.start + int(part.stop))
        return Ruler(start, self.reach)

    def reshape(self, *shape: int) -> Ruler:
        return self


@functools.cache
def measure(lay_out: Callable[..., Any], *sizes: int | None) -> tuple[int, int]:
    """The number of floats and integers of the record that lay_out(work, *sizes) makes.

    None stands for an array that the record only refers to.
    """
    real, integer = Ruler(), Ruler()
    with interpreted():
        lay_out(Work(real, integer), *sizes)  # type: ignore[arg-type]
    return real.reach[0], integer.reach[0]


def largest_of(*sizes: tuple[int, int]) -> tuple[int, int]:
    """Room enough for each of several, of which one is in use at a time."""
    return max(real for real, _ in sizes), max(integer for _, integer in sizes)
