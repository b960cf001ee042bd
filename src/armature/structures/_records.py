"""The small records that kernels of structures share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from armature._compile import Kernel

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class Shape(NamedTuple):
    """A structure as kernels see it; each structure says what it keeps where."""

    real: Floats
    integer: Ints


class Work(NamedTuple):
    """Scratch space, so that kernels allocate nothing. Its contents mean nothing between calls."""

    real: Floats
    integer: Ints


class Query(NamedTuple):
    """Which of a structure's problems to solve: the arm that must not be best, and one of

    * for `alt_min`: `first`, the challenger;
    * for `cell_min`: the cell's `first`, `second` and `support` (as one 0 or 1 for each arm).
    """

    best: int
    first: int
    second: int
    support: Ints


class Oracle(NamedTuple):
    """The compiled face of a structure: kernels (shape, family, mu, w, query, lam, work) -> cost.

    Each minimises sum_i w_i d(mu_i, lam_i) over a set, writes a minimiser to `lam` and returns the
    cost; where nothing is feasible the cost is infinite and `lam` nan. The sets are

    * `project`: M;
    * `alt_min`: { lam in not j : lam_k >= lam_j } with j = query.best and k = query.first;
    * `nearest`: `not j`, the union of these, in one sweep where possible;
    * `cell_min`: one convex cell of `not j`.

    `challengers` weighs all challengers to j at once: with query.first < 0 it writes to `lam` not a
    minimiser but costs, for each i != j that of i's beating j and at j that of the projection, and
    returns the latter; with query.first = i it is `alt_min`, or what the structure rather means by
    i's beating j. Where it is None, `alt_min` answers for one challenger after the other.

    All have the same signature: to a policy, a structure is a pointer or two.
    """

    project: Kernel[..., float]
    alt_min: Kernel[..., float]
    nearest: Kernel[..., float]
    cell_min: Kernel[..., float]
    challengers: Kernel[..., float] | None = None


class Fit(NamedTuple):
    """A mean vector that solves an oracle's problem, and its cost sum_i w_i d(mu_i, means_i)."""

    means: Floats
    cost: float


class Cell(NamedTuple):
    """A convex piece of `not best`, the mean vectors of M in which `best` is not the best arm.

    What `first` and `second` are depends on the structure, which documents them in its class:
    mostly `first` is the challenger that is at least as good as `best`. `support` is used by
    the sparse structure alone.
    """

    best: int
    first: int
    second: int = -1
    support: tuple[int, ...] = ()
