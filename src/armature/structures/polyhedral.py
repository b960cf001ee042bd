"""Any linear inequalities and equations between the means."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from armature._compile import kernel
from armature.errors import ArmatureError
from armature.families import Family, FamilyRecord
from armature.structures._checks import checked_array, checked_n_arms, checked_order
from armature.structures._convex import (
    fail,
    minimise,
    nearest_of,
    nearest_scratch_size,
    whole_domain,
)
from armature.structures._quadratic import Rows, State, make_state, state_size
from armature.structures._records import Cell, Floats, Oracle, Query, Shape, Work
from armature.structures._structure import CompiledStructure

# shape.integer = [rows, equalities, entries, whether a table follows, start of each row, indices]
# shape.real = [values, right-hand sides, table of which arm can be better than which, or ones]


@kernel
def rows_of(shape: Shape) -> Rows:
    """The constraints."""
    m = shape.integer[0]
    entries = shape.integer[2]
    return Rows(
        shape.integer[4 : 5 + m],
        shape.integer[5 + m : 5 + m + entries],
        shape.real[:entries],
        shape.real[entries : entries + m],
        shape.integer[1],
    )


@kernel
def beats_at(shape: Shape, j: int, K: int) -> int:
    """Where in shape.real are numbers, one for each arm, positive if it is better than j in M."""
    at = shape.integer[0] + shape.integer[2]
    return int(at + j * K if shape.integer[3] == 1 else at)


@kernel
def state_of(shape: Shape, K: int, work: Work, which: int) -> State:
    """The first or second state in the scratch space."""
    m = shape.integer[0]
    n_real, n_integer = state_size(K, K, m)
    return make_state(work.real[which * n_real :], work.integer[which * n_integer :], K, K, m)


@kernel
def scratch_at(shape: Shape, K: int) -> int:
    """Where in work.real what remains begins."""
    n_real, _ = state_size(K, K, shape.integer[0])
    return 2 * n_real


@kernel
def constrained(
    shape: Shape,
    family: FamilyRecord,
    mu: Floats,
    w: Floats,
    query: Query,
    lam: Floats,
    work: Work,
) -> float:
    """The nearest point of the polyhedron, with lam_k >= lam_j unless query.first is negative."""
    K = mu.size
    k = query.first
    if k >= 0 and shape.real[beats_at(shape, query.best, K) + k] <= 0.0:
        return fail(lam)
    scratch = work.real[scratch_at(shape, K) :]
    limits = whole_domain(family, scratch, K, query.best, k)
    identity = work.real[:0].reshape(0, 0)
    state = state_of(shape, K, work, 0)
    scratch = scratch[2 * K :]
    return minimise(family, mu, w, rows_of(shape), limits, identity, lam, state, scratch)


@kernel
def nearest(
    shape: Shape,
    family: FamilyRecord,
    mu: Floats,
    w: Floats,
    query: Query,
    lam: Floats,
    work: Work,
) -> float:
    """The projection, then one more inequality for each challenger that may be the cheapest."""
    j = query.best
    K = mu.size
    beats = beats_at(shape, j, K)
    scratch = work.real[scratch_at(shape, K) :]
    return nearest_of(
        family,
        mu,
        w,
        rows_of(shape),
        whole_domain(family, scratch, K, -1, -1),
        j,
        shape.real[beats : beats + K],
        work.real[:0].reshape(0, 0),
        lam,
        state_of(shape, K, work, 0),
        state_of(shape, K, work, 1),
        scratch[2 * K :],
    )


class PolyhedralStructure(CompiledStructure):
    """A structure given by linear constraints; subclasses say which (`constraints`).

    One dense quadratic program for Gaussian rewards, a few for the others. `nearest_alternative`
    projects once and goes on from there for the challengers that a bound does not rule out.
    """

    oracle: ClassVar[Oracle] = Oracle(constrained, constrained, nearest, constrained)
    order_only: ClassVar[bool] = False
    convex: ClassVar[bool] = True

    @property
    def constraints(self) -> tuple[Floats, Floats, Floats, Floats]:
        """A, b, C, d with M = { lam : A lam <= b, C lam = d }."""
        raise NotImplementedError

    @property
    def beats(self) -> npt.NDArray[np.bool_] | None:
        """beats[j, k]: whether k is better than j somewhere in M; None where it always is."""
        return None

    @functools.cached_property
    def shape(self) -> Shape:
        A, b, C, d = self.constraints
        rows = np.vstack([C, -A])
        right = np.concatenate([d, -b])
        norms = np.linalg.norm(rows, axis=1)
        norms[norms == 0.0] = 1.0
        rows, right = rows / norms[:, None], right / norms
        row, column = np.nonzero(rows)
        start = np.searchsorted(row, np.arange(len(rows) + 1))
        beats = self.beats
        table = np.ones(self.n_arms) if beats is None else beats.astype(np.float64).ravel()
        return Shape(
            np.concatenate([rows[row, column], right, table]),
            np.concatenate(
                [[len(rows), len(C), row.size, 0 if beats is None else 1], start, column]
            ).astype(np.int64),
        )

    @property
    def work_size(self) -> tuple[int, int]:
        K = self.n_arms
        n_real, n_integer = state_size.py_func(K, K, int(self.shape.integer[0]))
        return 2 * n_real + 2 * K + nearest_scratch_size.py_func(K, K), 2 * n_integer

    def cells(
        self,
        best: int,
        means: npt.ArrayLike | None = None,
        weights: npt.ArrayLike | None = None,
        family: Family | None = None,
    ) -> tuple[Cell, ...]:
        beats = self.beats
        cells = super().cells(best, means, weights, family)
        return tuple(cell for cell in cells if beats is None or beats[cell.best, cell.first])

    def violation(self, means: Floats, tolerance: float) -> str | None:
        A, b, C, d = self.constraints
        over = A @ means - b - tolerance * np.maximum(1.0, np.abs(A).sum(axis=1))
        if over.size and over.max() > 0.0:
            r = int(over.argmax())
            return f"inequality {r} is violated: {A[r] @ means:g} should be at most {b[r]:g}"
        off = np.abs(C @ means - d) - tolerance * np.maximum(1.0, np.abs(C).sum(axis=1))
        if off.size and off.max() > 0.0:
            r = int(off.argmax())
            return f"equation {r} does not hold: {C[r] @ means:g} should be {d[r]:g}"
        return None


@dataclass(frozen=True, init=False, eq=False)
class Polyhedral(PolyhedralStructure):
    """The means satisfy A @ means <= b and, if given, C @ means = d.

    A has one row for each inequality and one column for each arm. An arm that is nowhere better
    than another (as in a known order of two arms) is no challenger to it. An empty polyhedron
    is refused.

    >>> from armature.families import Gaussian
    >>> close = Polyhedral([[1.0, -1.0], [-1.0, 1.0]], [0.5, 0.5])
    >>> close.project([1.0, 0.0], [1.0, 1.0], Gaussian()).means
    array([0.75, 0.25])
    """

    A: Floats
    b: Floats
    C: Floats
    d: Floats
    n_arms: int

    @classmethod
    def examples(cls) -> tuple[Polyhedral, ...]:
        band = [[1.0, -1.0, 0.0, 0.5], [-1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 1.0, -1.0]]
        rising = [[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]]
        return (
            cls(band, [0.2, 0.3, 0.8]),
            cls(rising, [0.0, 0.0]),
            cls(band, [0.4, 0.3, 0.9], [[1.0, 1.0, 1.0, 1.0]], [2.0]),
        )

    def __init__(
        self,
        A: npt.ArrayLike,
        b: npt.ArrayLike,
        C: npt.ArrayLike | None = None,
        d: npt.ArrayLike | None = None,
    ) -> None:
        A, b = _checked_system(A, b, "A", "b")
        if (C is None) != (d is None):
            raise ArmatureError("C and d belong together: give both or neither.")
        C, d = (
            (np.empty((0, A.shape[1])), np.empty(0))
            if C is None or d is None
            else _checked_system(C, d, "C", "d")
        )
        if C.shape[1] != A.shape[1]:
            raise ArmatureError(
                f"A has {A.shape[1]} columns and C has {C.shape[1]}: each needs one per arm."
            )
        object.__setattr__(self, "n_arms", checked_n_arms(A.shape[1]))
        for name, value in (("A", A), ("b", b), ("C", C), ("d", d)):
            value.setflags(write=False)
            object.__setattr__(self, name, value)
        if self._extreme(np.zeros(self.n_arms)) is None:
            raise ArmatureError(
                "the polyhedron is empty: no mean vector satisfies A @ means <= b"
                + (" and C @ means = d." if len(C) else ".")
            )

    @property
    def constraints(self) -> tuple[Floats, Floats, Floats, Floats]:
        return self.A, self.b, self.C, self.d

    @functools.cached_property
    def beats(self) -> npt.NDArray[np.bool_]:
        """beats[j, k]: whether k is better than j somewhere in M.

        A point of M settles many pairs at once; linear programs settle the pairs that remain.
        """
        K = self.n_arms
        beats = np.zeros((K, K), dtype=bool)
        for k in range(K):
            self._settle(beats, np.eye(K)[k])
            self._settle(beats, -np.eye(K)[k])
        for j, k in np.argwhere(~beats):
            if j != k and not beats[j, k]:
                self._settle(beats, np.eye(K)[k] - np.eye(K)[j])
        return beats

    def _settle(self, beats: npt.NDArray[np.bool_], direction: Floats) -> None:
        point = self._extreme(direction)
        if point is not None:
            margin = 1e-9 * max(1.0, float(np.abs(point).max()))
            beats |= point[None, :] > point[:, None] + margin

    def _extreme(self, direction: Floats) -> Floats | None:
        """A point of M far in a direction, or None where M is empty."""
        from scipy.optimize import linprog

        A, b, C, d = self.constraints
        size = 1.0 + max(
            (float(np.abs(right).max()) for right in (b, d) if right.size), default=0.0
        )
        for bound in (1e3 * size, 1e6 * size, None):
            result = linprog(
                -direction, A, b, C, d, bounds=(None if bound is None else -bound, bound)
            )
            if result.status == 0:
                return np.asarray(result.x, dtype=np.float64)
        return None

    def relabelled(self, order: Sequence[int]) -> Polyhedral:
        A, b, C, d = self.constraints
        permutation = checked_order(order, self.n_arms)
        return Polyhedral(A[:, permutation], b, C[:, permutation], d)


def _checked_system(
    matrix: npt.ArrayLike, right: npt.ArrayLike, matrix_name: str, right_name: str
) -> tuple[Floats, Floats]:
    rows, values = checked_array(matrix, matrix_name), checked_array(right, right_name)
    if rows.ndim != 2 or values.shape != rows.shape[:1]:
        raise ArmatureError(
            f"{matrix_name} must be a matrix with a column for each arm, and {right_name} a vector "
            f"with an entry for each row; got shapes {rows.shape} and {values.shape}."
        )
    return rows, values
