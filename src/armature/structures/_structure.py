"""What every structure has in common, compiled or written by a user in plain Python."""

from __future__ import annotations

import abc
import functools
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from armature._compile import Kernel
from armature.errors import ArmatureError
from armature.families import Family, FamilyRecord, Gaussian
from armature.structures._checks import checked_index, checked_vector
from armature.structures._records import Cell, Fit, Floats, Oracle, Query, Shape, Work

TOLERANCE = 1e-9


class Structure(abc.ABC):
    """What is known about the means: a set M of mean vectors.

    Write `not j` for the closure of { lam in M : the best arm of lam is not j }. Given means mu,
    weights w and a reward family with divergence d, a structure minimises the cost
    sum_i w_i d(mu_i, lam_i) over

    * M: `project`;
    * { lam in `not best` : lam[challenger] >= lam[best] }: `alt_min`;
    * `not best`: `nearest_alternative`;
    * one of the convex `cells` that `not best` is the union of: `cell_min`.

    The means need not lie in M. A zero weight makes an arm free: its mean is whatever M asks for.
    Where nothing is feasible the cost is inf and the means are nan.

    A structure of your own needs `n_arms`, `project` and `alt_min`, in plain Python; all else
    follows from these two.

    >>> class Known(Structure):
    ...     '''Nothing is known but the mean of arm 0.'''
    ...
    ...     def __init__(self, n_arms, value):
    ...         self.n_arms, self.value = n_arms, value
    ...
    ...     def project(self, means, weights, family):
    ...         lam = np.array(means, dtype=float)
    ...         lam[0] = self.value
    ...         return Fit(lam, float(weights[0] * family.divergence(means[0], self.value)))
    ...
    ...     def alt_min(self, means, weights, best, challenger, family):
    ...         lam, cost = self.project(means, weights, family)
    ...         a, b = best, challenger
    ...         if lam[b] < lam[a]:
    ...             pair = [a, b]
    ...             y = self.value if 0 in pair else np.average(lam[pair], weights=weights[pair])
    ...             lam[a] = lam[b] = y
    ...             cost = sum(weights * family.divergence(means, lam))
    ...         return Fit(lam, float(cost))
    >>> known = Known(3, value=0.5)
    >>> known.nearest_alternative(np.array([0.5, 0.9, 0.8]), np.ones(3), 1, Gaussian()).means
    array([0.5 , 0.85, 0.85])
    >>> known.contains([0.5, 0.9, 0.8]), known.contains([0.4, 0.9, 0.8])
    (True, False)
    """

    n_arms: int
    convex: ClassVar[bool] = False  # say so if M is: `Challenger` then solves fewer problems

    @classmethod
    def examples(cls) -> tuple[Structure, ...]:
        """Small instances for the conformance suite; their means include some in (0, 1)."""
        return ()

    @abc.abstractmethod
    def project(self, means: npt.ArrayLike, weights: npt.ArrayLike, family: Family) -> Fit:
        """The mean vector of M nearest to `means`."""

    @abc.abstractmethod
    def alt_min(
        self,
        means: npt.ArrayLike,
        weights: npt.ArrayLike,
        best: int,
        challenger: int,
        family: Family,
    ) -> Fit:
        """The nearest mean vector of M in which `challenger` is at least as good as `best`."""

    def nearest_alternative(
        self, means: npt.ArrayLike, weights: npt.ArrayLike, best: int, family: Family
    ) -> Fit:
        """The nearest mean vector of M in which another arm than `best` is best."""
        best = self.checked_arm(best, "best")
        fits = [
            self.alt_min(means, weights, best, challenger, family)
            for challenger in range(self.n_arms)
            if challenger != best
        ]
        return min(fits, key=lambda fit: fit.cost)

    def challenger_costs(
        self, means: npt.ArrayLike, weights: npt.ArrayLike, best: int, family: Family
    ) -> Floats:
        """For each arm what it costs that it beats `best`; at `best`, what the projection costs."""
        best = self.checked_arm(best, "best")
        return np.array(
            [
                self.project(means, weights, family).cost
                if k == best
                else self.alt_min(means, weights, best, k, family).cost
                for k in range(self.n_arms)
            ]
        )

    def cells(
        self,
        best: int,
        means: npt.ArrayLike | None = None,
        weights: npt.ArrayLike | None = None,
        family: Family | None = None,
    ) -> tuple[Cell, ...]:
        """Convex sets whose union is `not best`; by default one for each challenger.

        Only the sparse structure looks at means, weights and family.
        """
        best = self.checked_arm(best, "best")
        return tuple(Cell(best, k) for k in range(self.n_arms) if k != best)

    def cell_min(
        self, means: npt.ArrayLike, weights: npt.ArrayLike, cell: Cell, family: Family
    ) -> Fit:
        """The nearest mean vector in a cell."""
        return self.alt_min(means, weights, cell.best, cell.first, family)

    def contains(self, means: npt.ArrayLike) -> bool:
        """Whether the means lie in M, up to 1e-9 of their size."""
        return self.violation_of(means) is None

    def violation_of(self, means: npt.ArrayLike) -> str | None:
        """A sentence that says why the means are not in M, or None where they are."""
        mu = self.checked_vector(means, "means")
        return self.violation(mu, TOLERANCE * max(1.0, float(np.abs(mu).max())))

    def violation(self, means: Floats, tolerance: float) -> str | None:
        """The same for a checked vector; by default it looks at the projection."""
        fit = self.project(means, np.ones(self.n_arms), Gaussian())
        distance = np.abs(np.asarray(fit.means) - means)
        worst = int(np.argmax(distance))
        if distance[worst] <= tolerance:
            return None
        return (
            f"means[{worst}] = {means[worst]:g} would have to be {fit.means[worst]:g}: "
            f"the means are not in {type(self).__name__}"
        )

    def relabelled(self, order: Sequence[int]) -> Structure:
        """The same knowledge with the arms renumbered: arm i is what was arm order[i]."""
        raise ArmatureError(f"{type(self).__name__} does not say how its arms can be reordered.")

    def checked_arm(self, arm: int, name: str) -> int:
        """The index of an arm, or an error that says which there are."""
        return checked_index(arm, name, self.n_arms)

    def checked_vector(self, values: npt.ArrayLike, name: str) -> Floats:
        """One finite number for each arm, or an error that says what is wrong."""
        return checked_vector(values, name, self.n_arms)

    def checked_problem(
        self, means: npt.ArrayLike, weights: npt.ArrayLike, family: Family
    ) -> tuple[Floats, Floats]:
        """Means of the family and non-negative weights, one of each for each arm."""
        mu = family.checked(self.checked_vector(means, "means"))
        w = self.checked_vector(weights, "weights")
        if (w < 0.0).any():
            worst = int(np.argmin(w))
            raise ArmatureError(
                f"weights[{worst}] = {w[worst]:g} is negative: weights are non-negative numbers."
            )
        return mu, w


class CompiledStructure(Structure):
    """A structure whose oracles are kernels. Subclasses are frozen dataclasses that declare

    * `oracle`: the kernels;
    * `order_only`: whether M is made of order relations and equalities between means (and given
      levels), so that its minimisers are the same for every family;
    * `shape` and `work_size`: what the kernels read, and how much scratch they need.
    """

    oracle: ClassVar[Oracle]
    order_only: ClassVar[bool] = True

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[object, ...]:
        return type(self).__name__, self.n_arms, *(part.tobytes() for part in self.shape)

    @functools.cached_property
    def shape(self) -> Shape:
        """This structure as its kernels see it."""
        return Shape(np.empty(0), np.empty(0, dtype=np.int64))

    @property
    def work_size(self) -> tuple[int, int]:
        """How many floats and integers of scratch space the kernels need."""
        return 0, 0

    def workspace(self) -> Work:
        """Fresh scratch space for the kernels."""
        n_real, n_integer = self.work_size
        return Work(np.empty(n_real), np.empty(n_integer, dtype=np.int64))

    def checked_family(self, family: Family) -> FamilyRecord:
        """The family's record, or an error where this structure can't be used with it."""
        if not isinstance(family, Family):
            raise ArmatureError(
                f"family must be a reward family such as Gaussian(); got {family!r}."
            )
        if not (self.order_only or family.convex):
            raise ArmatureError(
                f"{type(self).__name__} does not go with {type(family).__name__} rewards, whose "
                "divergence is not convex in its second argument: use Gaussian, Bernoulli or "
                "Poisson rewards, or a structure that only orders the arms (Unconstrained, "
                "Unimodal, Categorised, Sparse)."
            )
        return family.record

    def project(self, means: npt.ArrayLike, weights: npt.ArrayLike, family: Family) -> Fit:
        return self._solve(self.oracle.project, means, weights, family, -1, -1)

    def alt_min(
        self,
        means: npt.ArrayLike,
        weights: npt.ArrayLike,
        best: int,
        challenger: int,
        family: Family,
    ) -> Fit:
        j, k = self.checked_arm(best, "best"), self.checked_arm(challenger, "challenger")
        if j == k:
            raise ArmatureError(f"best and challenger are both arm {j}: they must differ.")
        return self._solve(self.oracle.alt_min, means, weights, family, j, k)

    def nearest_alternative(
        self, means: npt.ArrayLike, weights: npt.ArrayLike, best: int, family: Family
    ) -> Fit:
        j = self.checked_arm(best, "best")
        return self._solve(self.oracle.nearest, means, weights, family, j, -1)

    def challenger_costs(
        self, means: npt.ArrayLike, weights: npt.ArrayLike, best: int, family: Family
    ) -> Floats:
        if self.oracle.challengers is None:
            return super().challenger_costs(means, weights, best, family)
        j = self.checked_arm(best, "best")
        return self._solve(self.oracle.challengers, means, weights, family, j, -1).means

    def cell_min(
        self, means: npt.ArrayLike, weights: npt.ArrayLike, cell: Cell, family: Family
    ) -> Fit:
        self.checked_cell(cell)
        return self._solve(
            self.oracle.cell_min,
            means,
            weights,
            family,
            cell.best,
            cell.first,
            cell.second,
            cell.support,
        )

    def checked_cell(self, cell: Cell) -> None:
        """Refuse what `cells` does not give."""
        if cell not in self.cells(cell.best):
            raise ArmatureError(f"{cell} is not a cell of {self}: take one from cells(...).")

    def _solve(
        self,
        kernel: Kernel[..., float],
        means: npt.ArrayLike,
        weights: npt.ArrayLike,
        family: Family,
        best: int,
        first: int,
        second: int = -1,
        support: tuple[int, ...] = (),
    ) -> Fit:
        record = self.checked_family(family)
        mu, w = self.checked_problem(means, weights, family)
        flags = np.zeros(self.n_arms, dtype=np.int64)
        flags[list(support)] = 1
        lam = np.empty(self.n_arms)
        query = Query(best, first, second, flags)
        cost = kernel(self.shape, record, mu, w, query, lam, self.workspace())
        return Fit(lam, cost)
