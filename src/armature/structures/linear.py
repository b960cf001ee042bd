"""Arms with features: the means are a linear function of them."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from armature.errors import ArmatureError
from armature.families import Family, Gaussian, Interval
from armature.kernels.arrays import Floats
from armature.kernels.checks import checked_array, checked_n_arms
from armature.structures.oracles import linear as fast
from armature.structures.oracles.records import Oracle, Shape, largest_of, measure
from armature.structures.piece import Piece
from armature.structures.structure import Structure


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Linear(Structure):
    """means = features @ theta for some unknown vector theta; `features` has shape (n_arms, d).

    What the features span is all that counts: they may be scaled badly, linearly dependent, or more
    numerous than the arms. Arms with the same features have the same mean, and neither is a
    challenger to the other. For Bernoulli and Poisson rewards all means must also be means of the
    family: features @ theta in [0, 1], or non-negative.

    Parameters
    ----------
    features : array_like of shape (n_arms, d)
        A row for each arm, at least 2, and a column for each feature, at least 1. They are not all
        equal: no arm could be best.

    Guarantee
    ---------
    For Gaussian rewards weighted least squares, one factorisation for all challengers: O(K r^2),
    where r is the features' rank. For Bernoulli and Poisson rewards Newton's method, whose every
    answer is checked by its multipliers. Compared in tests with a convex solver, cases worked by
    hand, badly scaled features, and the known bound of the paper's panel. Exponential rewards are
    refused.

    >>> from armature.families import Gaussian
    >>> ads = Linear([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> ads.contains([0.3, 0.4, 0.7]), ads.contains([0.3, 0.4, 0.8])
    (True, False)
    >>> fit = ads.nearest_alternative([0.3, 0.4, 0.7], [1.0, 1.0, 1.0], 2, Gaussian())
    >>> abs(fit.means).round(9)
    array([0.  , 0.55, 0.55])

    Limits
    ------
    Not for exponential rewards.

    References
    ----------
    Auer (2002), "Using Confidence Bounds for Exploitation-Exploration Trade-offs".
    Dani, Hayes and Kakade (2008), "Stochastic Linear Optimization under Bandit Feedback".
    Abbasi-Yadkori, Pál and Szepesvári (2011), "Improved Algorithms for Linear Stochastic Bandits".
    Paper: Appendix F, linear.
    """

    features: Floats
    n_arms: int

    arm_facts = arm_fields = ("features",)
    oracle: ClassVar[Oracle] = Oracle(
        project=fast.constrained,
        alt_min=fast.constrained,
        nearest=fast.nearest,
        cells=fast.cells,
        cell_min=fast.constrained,
        challenger_costs=fast.challenger_costs,
        optimistic=fast.optimistic,
    )
    other_rewards: ClassVar[Oracle] = oracle._replace(
        project=fast.newton_constrained,
        alt_min=fast.newton_constrained,
        nearest=fast.newton_nearest,
        cell_min=fast.newton_constrained,
        challenger_costs=fast.newton_challenger_costs,
    )
    convex = True
    order_only = False
    orders_arms = False

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

    @property
    def directions(self) -> Floats:
        return self.basis

    @functools.cached_property
    def shape(self) -> Shape:
        rows = self.features + 0.0  # without -0.0
        _, places, which = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        first = places[which.ravel()].astype(np.float64)  # the first arm with the same features
        return Shape(
            np.concatenate([self.basis.ravel(), first, self.features.ravel()]),
            np.array([self.basis.shape[1], self.features.shape[1]], dtype=np.int64),
        )

    @functools.cached_property
    def work_size(self) -> tuple[int, int]:
        (K, r), d = self.basis.shape, self.features.shape[1]
        return largest_of(
            measure(fast.solved_of, None, K, r),
            measure(fast.newton_scratch_of, K, r),
            (d * d + 2 * d, 0),  # `ridge_of`
        )

    def oracle_for(self, family: Family) -> Oracle:
        return self.oracle if isinstance(family, Gaussian) else self.other_rewards

    def pieces(self) -> Iterable[Piece]:
        # What is orthogonal to the basis is zero.
        complement = np.linalg.svd(self.basis, full_matrices=True)[0][:, self.basis.shape[1] :].T
        nothing = np.empty((0, self.n_arms)), np.empty(0)
        yield Piece(*nothing, complement, np.zeros(len(complement)))

    def _meets(self, ends: tuple[Interval, ...]) -> bool:
        return all(end.low <= 0.0 <= end.high for end in ends) or super()._meets(ends)

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

    def _checked_fact(self, name: str, value: Any) -> Any:
        row, d = checked_array(value, name), self.features.shape[1]
        if row.shape != (d,):
            raise ArmatureError(
                f"the features of a new arm must be {d} numbers, as those of the others; got an "
                f"array of shape {row.shape}."
            )
        return row

    def mirrored(self, about: float) -> Linear:
        ones = np.ones(self.n_arms)
        if about != 0.0 and np.abs(self.basis @ (self.basis.T @ ones) - ones).max() > 1e-9:
            raise ArmatureError(
                f"if costs are linear in the features, {about:g} minus the costs is not: add a "
                "column of ones to the features, so that the costs may have a constant part."
            )
        return self
