"""Arms with features: the means are a linear function of them."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from armature._compile import kernel
from armature.errors import ArmatureError
from armature.families import Family, FamilyRecord
from armature.families.kernels import GAUSSIAN, total_divergence
from armature.structures._checks import checked_array, checked_n_arms, checked_order
from armature.structures._convex import (
    fail,
    minimise,
    nearest_of,
    nearest_scratch_size,
    scratch_size,
    whole_domain,
)
from armature.structures._least_squares import (
    back_substitute,
    difference,
    factorise,
    write_means,
    write_tie,
)
from armature.structures._quadratic import Rows, State, make_state, state_size
from armature.structures._records import Cell, Floats, Ints, Oracle, Query, Shape, Work
from armature.structures._structure import CompiledStructure

# shape.real = an orthonormal basis of the features' column space, (K, r) by rows, then for each
# arm the number of the first arm with the same features; shape.integer = [r].
# In this basis the parameter is theta: lam = basis @ theta.


@kernel
def twins(shape: Shape, K: int, j: int, k: int) -> bool:
    """Whether j and k have the same features, so that neither is ever better."""
    at = K * shape.integer[0]
    return bool(shape.real[at + j] == shape.real[at + k])


class Solved(NamedTuple):
    """A weighted least squares fit, and the factorisation that it comes from."""

    basis: Floats
    columns: Floats
    theta: Floats
    z: Floats
    order: Ints
    rank: int


@kernel
def least_squares(shape: Shape, mu: Floats, w: Floats, lam: Floats, work: Work) -> Solved:
    """lam = the projection for Gaussian rewards."""
    K = mu.size
    r = shape.integer[0]
    basis = shape.real[: K * r].reshape(K, r)
    columns = work.real[: r * K].reshape(r, K)
    right = work.real[r * K : r * K + K]
    theta = work.real[r * K + K : r * K + K + r]
    z = work.real[r * K + K + r : r * K + K + 2 * r]
    order = work.integer[:r]
    rank = factorise(basis, mu, w, columns, right, order)
    for c in range(r):
        theta[c] = right[c] if c < rank else 0.0
    back_substitute(columns, rank, theta)
    write_means(basis, order, theta, lam)
    return Solved(basis, columns, theta, z, order, rank)


@kernel
def tie_cost(fit: Solved, j: int, k: int, gap: float) -> float:
    """What it adds to the cost that k gains `gap` on j, up to the variance."""
    if gap <= 0.0 or difference(fit.basis, fit.columns, fit.order, fit.rank, j, k, fit.z) > 0.0:
        return 0.0
    seen = 0.0
    for a in range(fit.rank):
        seen += fit.z[a] * fit.z[a]
    return gap * gap / (2.0 * seen)


@kernel
def tie(fit: Solved, j: int, k: int, lam: Floats) -> None:
    """Make k as good as j where it is not, at the least cost."""
    gap = lam[j] - lam[k]
    if gap > 0.0:
        write_tie(fit.basis, fit.columns, fit.order, fit.rank, j, k, gap, fit.theta, fit.z)
        write_means(fit.basis, fit.order, fit.theta, lam)
        lam[k] = max(lam[k], lam[j])  # equal but for rounding


@kernel
def no_rows(work: Work) -> Rows:
    """No constraints but the basis."""
    nothing = work.integer[:0]
    return Rows(work.integer[:1], nothing, work.real[:0], work.real[:0], 0)


@kernel
def state_of(K: int, r: int, work: Work, which: int) -> State:
    """The first or second state in the scratch space."""
    n_real, n_integer = state_size(r, K, 0)
    return make_state(work.real[which * n_real :], work.integer[which * n_integer :], r, K, 0)


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
    """The nearest linear means, with lam_k >= lam_j unless query.first is negative."""
    K = mu.size
    j = query.best
    k = query.first
    if k >= 0 and twins(shape, K, j, k):
        return fail(lam)
    if family.code == GAUSSIAN:
        fit = least_squares(shape, mu, w, lam, work)
        if k >= 0:
            tie(fit, j, k, lam)
        return total_divergence(family, w, mu, lam)
    r = shape.integer[0]
    basis = shape.real[: K * r].reshape(K, r)
    n_real, _ = state_size(r, K, 0)
    limits = whole_domain(family, work.real[2 * n_real :], K, j, k)
    state = state_of(K, r, work, 0)
    scratch = work.real[2 * n_real + 2 * K :]
    return minimise(family, mu, w, no_rows(work), limits, basis, lam, state, scratch)


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
    """One factorisation for all challengers if Gaussian: O(K r^2)."""
    K = mu.size
    j = query.best
    if family.code == GAUSSIAN:
        fit = least_squares(shape, mu, w, lam, work)
        nearest_k = -1
        least = math.inf
        for k in range(K):
            if k != j and not twins(shape, K, k, j):
                cost = tie_cost(fit, j, k, lam[j] - lam[k])
                if cost < least:
                    least = cost
                    nearest_k = k
        tie(fit, j, nearest_k, lam)
        return total_divergence(family, w, mu, lam)
    r = shape.integer[0]
    basis = shape.real[: K * r].reshape(K, r)
    n_real, _ = state_size(r, K, 0)
    limits = whole_domain(family, work.real[2 * n_real :], K, -1, -1)
    can_beat = work.real[2 * n_real + 2 * K : 2 * n_real + 3 * K]
    for k in range(K):
        can_beat[k] = 0.0 if twins(shape, K, j, k) else 1.0
    return nearest_of(
        family,
        mu,
        w,
        no_rows(work),
        limits,
        j,
        can_beat,
        basis,
        lam,
        state_of(K, r, work, 0),
        state_of(K, r, work, 1),
        work.real[2 * n_real + 3 * K :],
    )


@kernel
def challengers(
    shape: Shape,
    family: FamilyRecord,
    mu: Floats,
    w: Floats,
    query: Query,
    lam: Floats,
    work: Work,
) -> float:
    """One factorisation for all challengers if Gaussian: O(K r^2); else one after the other."""
    if query.first >= 0:
        return constrained(shape, family, mu, w, query, lam, work)
    K = mu.size
    j = query.best
    r = shape.integer[0]
    if family.code != GAUSSIAN:
        n_real, _ = state_size(r, K, 0)
        trial = work.real[2 * n_real + 2 * K + scratch_size(r, K) :][:K]
        for k in range(K):
            own = Query(j, k if k != j else -1, -1, query.support)
            lam[k] = constrained(shape, family, mu, w, own, trial, work)
        return float(lam[j])
    means = work.real[r * K + K + 2 * r : r * K + 2 * K + 2 * r]
    fit = least_squares(shape, mu, w, means, work)
    base = total_divergence(family, w, mu, means)
    for k in range(K):
        lam[k] = base
        if k != j and twins(shape, K, k, j):
            lam[k] = math.inf
        elif k != j:
            lam[k] += tie_cost(fit, j, k, means[j] - means[k]) / family.variance
    return base


@dataclass(frozen=True, init=False, eq=False)
class Linear(CompiledStructure):
    """means = features @ theta for some unknown vector theta; `features` has shape (n_arms, d).

    What the features span is all that counts: they may be scaled badly, linearly dependent, or more
    numerous than the arms. Arms with the same features have the same mean, and neither is a
    challenger to the other. For Bernoulli and Poisson rewards all means must also be means of the
    family: features @ theta in [0, 1], or non-negative.

    >>> from armature.families import Gaussian
    >>> ads = Linear([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> ads.contains([0.3, 0.4, 0.7]), ads.contains([0.3, 0.4, 0.8])
    (True, False)
    >>> fit = ads.nearest_alternative([0.3, 0.4, 0.7], [1.0, 1.0, 1.0], 2, Gaussian())
    >>> abs(fit.means).round(9)
    array([0.  , 0.55, 0.55])
    """

    features: Floats
    n_arms: int

    oracle: ClassVar[Oracle] = Oracle(constrained, constrained, nearest, constrained, challengers)
    convex: ClassVar[bool] = True
    order_only: ClassVar[bool] = False

    @classmethod
    def examples(cls) -> tuple[Linear, ...]:
        plane = [[1.0, 0.1], [0.9, 0.3], [0.5, 0.7], [0.2, 1.0], [0.6, 0.6]]
        twins_and_multiples = [[1.0, 0.1], [1.0, 0.1], [0.5, 0.05], [0.2, 1.0], [0.4, 2.0]]
        return cls(plane), cls(twins_and_multiples), cls([[1.0], [2.0], [0.5]])

    def __init__(self, features: npt.ArrayLike) -> None:
        features = checked_array(features, "features")
        if features.ndim != 2 or features.shape[1] == 0:
            raise ArmatureError(
                "features must be a matrix with a row for each arm and a column for each feature; "
                f"got an array of shape {features.shape}."
            )
        features.setflags(write=False)
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "n_arms", checked_n_arms(len(features)))
        if (features == features[0]).all():
            raise ArmatureError(
                "the features of all arms are equal: all means would be, and no arm could be best."
            )

    @functools.cached_property
    def basis(self) -> Floats:
        """An orthonormal basis of the features' column space, (n_arms, rank)."""
        lengths = np.linalg.norm(self.features, axis=0)
        scaled = self.features[:, lengths > 0.0] / lengths[lengths > 0.0]
        left, values, _ = np.linalg.svd(scaled, full_matrices=False)
        return np.ascontiguousarray(left[:, values > 1e-12 * values[0]])

    @functools.cached_property
    def shape(self) -> Shape:
        first = np.empty(self.n_arms)
        for i, row in enumerate(self.features):
            first[i] = np.flatnonzero((self.features == row).all(axis=1))[0]
        return Shape(
            np.concatenate([self.basis.ravel(), first]),
            np.array([self.basis.shape[1]], dtype=np.int64),
        )

    @property
    def work_size(self) -> tuple[int, int]:
        K, r = self.basis.shape
        n_real, n_integer = state_size.py_func(r, K, 0)
        gaussian = r * K + 2 * K + 2 * r
        others = 2 * n_real + 3 * K + nearest_scratch_size.py_func(r, K)
        return max(gaussian, others), max(r, 2 * n_integer)

    def cells(
        self,
        best: int,
        means: npt.ArrayLike | None = None,
        weights: npt.ArrayLike | None = None,
        family: Family | None = None,
    ) -> tuple[Cell, ...]:
        cells = super().cells(best, means, weights, family)
        rows = self.features
        return tuple(cell for cell in cells if (rows[cell.first] != rows[cell.best]).any())

    def violation(self, means: Floats, tolerance: float) -> str | None:
        nearest_means = self.basis @ (self.basis.T @ means)
        distance = np.abs(means - nearest_means)
        worst = int(distance.argmax())
        if distance[worst] <= tolerance:
            return None
        return (
            f"the means are not linear in the features: the nearest linear means have "
            f"{nearest_means[worst]:g} for means[{worst}] = {means[worst]:g}"
        )

    def relabelled(self, order: Sequence[int]) -> Linear:
        return Linear(self.features[checked_order(order, self.n_arms)])
