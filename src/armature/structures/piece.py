"""A convex piece of a structure: linear inequalities and equations, and what follows from them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from armature.errors import ArmatureError
from armature.kernels.arrays import Floats
from armature.kernels.checks import checked_array, checked_order
from armature.solver.chains import reach
from armature.solver.chains.chain import Chain
from armature.solver.chains.rows import chain_of
from armature.solver.concave.knots import Bends
from armature.solver.concave.rows import bends_of

Booleans = npt.NDArray[np.bool_]
STRICT = 1e-9  # how much better an arm must be able to be, relative to the means, to count


@dataclass(frozen=True, init=False, eq=False)
class Piece:
    """A convex piece of a structure: the mean vectors with A @ means <= b and C @ means = d.

    A structure is a union of pieces, and all that it is asked can be derived from them.

    Parameters
    ----------
    A : array_like of shape (m, n_arms)
        A row for each inequality, a column for each arm.
    b : array_like of shape (m,)
        The right sides of the inequalities.
    C : array_like of shape (p, n_arms), optional
        A row for each equation.
    d : array_like of shape (p,), optional
        The right sides of the equations; with C or not at all.

    Guarantee
    ---------
    The solver behind a piece checks each answer: a minimum by its multipliers, to 1e-10 of its cost
    or to rounding, and that there is none by Farkas' lemma. What fails the check is solved again
    with 32 digits. It is dense, for tens of arms, and fuzzed by itself in tests.

    >>> rising = Piece([[1.0, -1.0, 0.0], [0.0, 1.0, -1.0]], [0.0, 0.0])
    >>> rising.broken([0.1, 0.4, 0.3], 1e-9)
    'means[1] = 0.4 should be at most means[2] = 0.3'
    >>> rising.beats[0].tolist()  # which arms can be better than arm 0
    [False, True, True]

    References
    ----------
    Degenne, Shao and Koolen (2020), "Structure Adaptive Algorithms for Stochastic Bandits", for
    what a structure is asked.
    """

    A: Floats
    b: Floats
    C: Floats
    d: Floats

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
        for name, value in (("A", A), ("b", b), ("C", C), ("d", d)):
            value.setflags(write=False)
            object.__setattr__(self, name, value)

    @classmethod
    def of_orders(cls, n_arms: int, pairs: Sequence[tuple[int, int]]) -> Piece:
        """means[i] <= means[k] for each pair (i, k)."""
        rows = np.zeros((len(pairs), n_arms))
        for row, (i, k) in zip(rows, pairs, strict=True):
            row[i], row[k] = 1.0, -1.0
        return cls(rows, np.zeros(len(pairs)))

    @classmethod
    def of_box(cls, low: Floats, high: Floats) -> Piece:
        """low <= means <= high, where an infinite number is no bound."""
        unit = np.eye(low.size)
        above, below = np.isfinite(high), np.isfinite(low)
        return cls(
            np.vstack([unit[above], -unit[below]]), np.concatenate([high[above], -low[below]])
        )

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return int(self.A.shape[1])

    def __and__(self, other: Piece) -> Piece:
        return Piece(
            np.vstack([self.A, other.A]),
            np.concatenate([self.b, other.b]),
            np.vstack([self.C, other.C]),
            np.concatenate([self.d, other.d]),
        )

    def relabelled(self, order: Sequence[int]) -> Piece:
        """The same with arm i being what was arm order[i]."""
        permutation = checked_order(order, self.n_arms)
        return Piece(self.A[:, permutation], self.b, self.C[:, permutation], self.d)

    def excess(self, means: Floats) -> Floats:
        """The distance of each inequality, then equation, from holding, in units of its size."""
        over = np.concatenate([self.A @ means - self.b, np.abs(self.C @ means - self.d)])
        sizes = np.concatenate([np.abs(self.A).sum(axis=1), np.abs(self.C).sum(axis=1)])
        return np.asarray(over / np.maximum(1.0, sizes))

    def broken(self, means: npt.ArrayLike, tolerance: float) -> str | None:
        """A sentence on the condition that the means break most, or None where all hold."""
        mu = np.asarray(means, dtype=np.float64)
        over = self.excess(mu)
        if not over.size or over.max() <= tolerance:
            return None
        r = int(over.argmax())
        return self._sentence(mu, r)

    def _sentence(self, mu: Floats, r: int) -> str:
        m = len(self.b)
        row, right = (self.A[r], self.b[r]) if r < m else (self.C[r - m], self.d[r - m])
        arms = np.flatnonzero(row)
        named = ", ".join(f"means[{i}] = {mu[i]:g}" for i in arms)
        asked = "at most" if r < m else "equal to"
        if arms.size == 1:
            i, bound = arms[0], right / row[arms[0]]
            if r < m and row[i] < 0.0:
                asked = "at least"
            return f"means[{i}] = {mu[i]:g} should be {asked} {bound:g}"
        if arms.size == 2 and right == 0.0 and row[arms].sum() == 0.0:
            i, k = arms if row[arms[0]] > 0.0 else arms[::-1]
            return f"means[{i}] = {mu[i]:g} should be {asked} means[{k}] = {mu[k]:g}"
        which = f"inequality {r}" if r < m else f"equation {r - m}"
        return f"{which} does not hold: {row @ mu:g} should be {asked} {right:g} ({named})"

    @functools.cached_property
    def orders_only(self) -> bool:
        """True if each row orders two arms, makes them equal, or bounds one.

        Then the nearest mean vector is the same for every family.
        """
        for rows, right in ((self.A, self.b), (self.C, self.d)):
            for row, value in zip(rows, right, strict=True):
                arms = np.flatnonzero(row)
                if arms.size > 2 or (arms.size == 2 and (row[arms].sum() != 0.0 or value != 0.0)):
                    return False
        return True

    @functools.cached_property
    def orders_arms(self) -> bool:
        """True if a row says of two arms that one is at least as good as the other."""
        for rows, right in ((self.A, self.b), (self.C, self.d)):
            pairs = (np.count_nonzero(rows, axis=1) == 2) & (rows.sum(axis=1) == 0.0)
            if (pairs & (right == 0.0)).any():
                return True
        return False

    @property
    def chain(self) -> Chain | None:
        """The piece as a chain, where its rows hold single means and neighbours on a line alone."""
        return None if isinstance(self._line, str) else self._line

    @property
    def no_chain(self) -> str:
        """Why it is no chain; empty where it is one."""
        return self._line if isinstance(self._line, str) else ""

    @property
    def solved_by(self) -> str:
        """How a program over the piece is solved, in words that follow "each"."""
        if self.chain is not None:
            return "along a chain"
        if self.bends is not None:
            return "along a line, where means are concave"
        return f"by a dense program ({self.no_chain})"

    @functools.cached_property
    def _line(self) -> Chain | str:
        return chain_of(self.A, self.b, self.C, self.d)

    @functools.cached_property
    def bends(self) -> Bends | None:
        """The line along which means are concave, where the rows say that and bounds of all."""
        return None if self.chain is not None else bends_of(self.A, self.b, self.C, self.d)

    @property
    def differences(self) -> Floats | None:
        """(K + 1, K + 1): the most that means[i] - means[k] can be; None where rows say more.

        The last place stands for the number 0. Shortest paths: what follows from two conditions is
        their sum. On the diagonal, a negative number says that the piece is empty.
        """
        if self.chain is not None:
            return None if self.chain.up.size else reach.differences_of(self.chain)
        most, is_all = self._bounded_differences
        return most if is_all else None

    @functools.cached_property
    def _scaled(self) -> reach.Reach | None:
        if self.chain is None or not self.chain.up.size:
            return None
        return reach.reach_of(self.chain)

    @functools.cached_property
    def _bounded_differences(self) -> tuple[Floats, bool]:
        """The same by the rows that bound a mean or a difference; and whether these are all."""
        K = self.n_arms
        is_all = True
        most = np.full((K + 1, K + 1), np.inf)
        np.fill_diagonal(most, 0.0)
        for rows, right, signs in ((self.A, self.b, (1.0,)), (self.C, self.d, (1.0, -1.0))):
            for row, value in zip(rows, right, strict=True):
                arms = np.flatnonzero(row)
                if arms.size > 2 or (arms.size == 2 and row[arms].sum() != 0.0):
                    is_all = False
                    continue
                for sign in signs:
                    up = [*np.flatnonzero(sign * row > 0.0), K][0]
                    down = [*np.flatnonzero(sign * row < 0.0), K][0]
                    size = abs(row[arms[0]]) if arms.size else 1.0
                    most[up, down] = min(most[up, down], sign * value / size)
        for via in range(K + 1):
            np.minimum(most, most[:, via, None] + most[None, via, :], out=most)
        return most, is_all

    @functools.cached_property
    def is_empty(self) -> bool:
        """True if no mean vector satisfies all conditions."""
        if self.chain is not None and not self.chain.up.size:
            return reach.is_empty(self.chain)
        most = self.differences
        if most is not None:
            return bool(np.diag(most).min() < -_rounding(most))
        if self.bends is not None:
            return False  # all means may be the same
        if self._scaled is not None:
            return self._scaled.is_empty
        return self.extreme(np.zeros(self.n_arms)) is None

    @functools.cached_property
    def beats(self) -> Booleans:
        """beats[j, k]: whether arm k is better than arm j somewhere in the piece."""
        K = self.n_arms
        most = self.differences
        if most is not None:
            return np.asarray(_rounding(most) < most[:K, :K].T)
        if self.bends is not None:
            return ~np.eye(K, dtype=bool)
        if self._scaled is not None:
            return self._scaled.beats
        if not len(self.b):
            return self._beats_on_a_flat()
        beats = np.zeros((K, K), dtype=bool)
        # A point settles many pairs at once; linear programs settle the pairs that remain.
        for k in range(K):
            self._settle(beats, np.eye(K)[k])
            self._settle(beats, -np.eye(K)[k])
        can = self._bounded_differences[0][:K, :K].T > 0.0  # as far as rows on two arms say
        for j, k in np.argwhere(~beats & can):
            if j != k and not beats[j, k]:
                self._settle(beats, np.eye(K)[k] - np.eye(K)[j])
        return beats

    def _beats_on_a_flat(self) -> Booleans:
        """Equations alone: the difference of two arms is fixed, or can be anything."""
        point = np.linalg.lstsq(self.C, self.d, rcond=None)[0]
        across = np.linalg.svd(self.C)[2][np.linalg.matrix_rank(self.C) :]  # its directions
        free = np.abs(across[:, None, :] - across[:, :, None]).max(axis=0, initial=0.0) > STRICT
        ahead = point[None, :] - point[:, None]
        return np.asarray(free | (ahead > STRICT * max(1.0, float(np.abs(point).max()))))

    def _settle(self, beats: Booleans, direction: Floats) -> None:
        point = self.extreme(direction)
        if point is not None:
            margin = STRICT * max(1.0, float(np.abs(point).max()))
            beats |= point[None, :] > point[:, None] + margin

    @functools.cached_property
    def can_lead(self) -> Booleans:
        """The arms that are better than all others somewhere in the piece."""
        K = self.n_arms
        if self._scaled is not None:
            return self._scaled.leads
        pairwise = np.asarray(self.beats.sum(axis=0) == K - 1)
        is_even = self.chain is not None and not self.chain.up.size
        if is_even or self.bends is not None:
            return pairwise  # with an arm as high as can be, all others can be as low as each can
        most = self.differences
        if most is not None and np.isinf(most[K, :K]).all() and np.isinf(most[:K, K]).all():
            return pairwise  # differences alone: all others can be low at once
        return np.array([bool(pairwise[k]) and self._leads(k) for k in range(K)])

    def _leads(self, k: int) -> bool:
        """True if max t with means[k] >= means[i] + t for all i is positive."""
        from scipy.optimize import linprog

        K = self.n_arms
        ahead = np.hstack([np.eye(K) - np.eye(K)[k], np.ones((K, 1))])[np.arange(K) != k]
        rows = np.vstack([np.hstack([self.A, np.zeros((len(self.A), 1))]), ahead])
        right = np.concatenate([self.b, np.zeros(K - 1)])
        equal = np.hstack([self.C, np.zeros((len(self.C), 1))])
        bounds = [(None, None)] * K + [(None, 1.0)]
        result = linprog(-np.eye(K + 1)[K], rows, right, equal, self.d, bounds=bounds)
        return bool(result.status == 0 and -result.fun > STRICT)

    def extreme(self, direction: Floats) -> Floats | None:
        """A point far in a direction, or None where the piece is empty."""
        from scipy.optimize import linprog

        size = 1.0 + max(
            (float(np.abs(right).max()) for right in (self.b, self.d) if right.size), default=0.0
        )
        for bound in (1e3 * size, 1e6 * size, None):
            result = linprog(
                -direction,
                self.A,
                self.b,
                self.C,
                self.d,
                bounds=(None if bound is None else -bound, bound),
            )
            if result.status == 0:
                return np.asarray(result.x, dtype=np.float64)
        return None


def _rounding(differences: Floats) -> float:
    """The rounding error that sums of these numbers may have."""
    return 1e-12 * float(np.abs(differences[np.isfinite(differences)]).max())


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
