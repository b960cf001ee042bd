"""One peak: the means rise up to some arm and fall after it, along a line or on a tree."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from armature.families import Family
from armature.families.bernoulli import is_scaled
from armature.kernels.arrays import Floats
from armature.kernels.checks import checked_order
from armature.structures.oracles import scaled, tree_peak
from armature.structures.oracles.edges import Edges, arms_before, checked_tree, lay_out
from armature.structures.oracles.one_peak import (
    alt_min,
    best_min,
    cell_min,
    highest,
    nearest,
    project,
    scratch_of,
)
from armature.structures.oracles.peak_challengers import challenger_costs
from armature.structures.oracles.records import Oracle, Shape, every_other, measure
from armature.structures.piece import Piece
from armature.structures.structure import Structure

SCALED = Oracle(
    project=scaled.peak_project,
    nearest=scaled.peak_nearest,
    cells=every_other,
    cell_min=scaled.peak_cell_min,
    challenger_min=scaled.peak_cell_min,
    challenger_costs=scaled.peak_challenger_costs,
    best_min=scaled.peak_best_min,
    highest=highest,
)


@dataclass(frozen=True, eq=False, repr=False)
class Unimodal(Structure):
    """One peak, arms in order: means[0] <= ... <= means[peak] >= ... >= means[-1]. Plateaus count.

    Prices, doses and positions often are like that: up to some arm, then down, with the place of
    the peak unknown. `nearest_alternative` fits every prefix and every suffix by isotonic
    regression, in one pass each. A cell is a place where another peak can be: its number is the
    peak's arm.

    Parameters
    ----------
    n_arms : int
        The number of arms, at least 2. Two arms are always unimodal.

    Guarantee
    ---------
    Exact up to rounding, for every reward family. `nearest_alternative` is O(K), a single `alt_min`
    O(K^2). Compared in tests with a convex solver, with scikit-learn's isotonic regression, cases
    worked by hand, and the closed form of the lower bound.

    >>> from armature.families import Gaussian
    >>> curve = Unimodal(5)
    >>> curve.contains([0.2, 0.4, 0.9, 0.7, 0.1]), curve.contains([0.2, 0.4, 0.1, 0.7, 0.1])
    (True, False)
    >>> curve.nearest_alternative([0.2, 0.4, 0.9, 0.7, 0.1], [1.0] * 5, 2, Gaussian()).means
    array([0.2, 0.4, 0.8, 0.8, 0.1])

    Limits
    ------
    A single `alt_min` is O(K^2), though `nearest_alternative` is O(K).

    References
    ----------
    Combes and Proutiere (2014), "Unimodal Bandits: Regret Lower Bounds and Optimal Algorithms".
    Paper: Appendix F, unimodal.
    """

    n_arms: int

    oracle: ClassVar[Oracle] = Oracle(
        project=project,
        alt_min=alt_min,
        nearest=nearest,
        cells=every_other,
        cell_min=cell_min,
        challenger_min=cell_min,
        challenger_costs=challenger_costs,
        best_min=best_min,
        highest=highest,
    )
    convex = False
    order_only = True
    orders_arms = True
    has_constants = True
    arm_facts = arm_fields = ()
    arms_in_order = True
    same_for_costs = True

    @classmethod
    def examples(cls) -> tuple[Unimodal, ...]:
        return cls(2), cls(3), cls(6)

    def pieces(self) -> Iterable[Piece]:
        for peak in range(self.n_arms):
            rising = [(i, i + 1) for i in range(peak)]
            falling = [(i + 1, i) for i in range(peak, self.n_arms - 1)]
            yield Piece.of_orders(self.n_arms, rising + falling)

    @functools.cached_property
    def work_size(self) -> tuple[int, int]:
        return measure(scratch_of, self.n_arms)

    def work_size_for(self, family: Family | None) -> tuple[int, int]:
        if family is None or family.pools_by_averaging:
            return self.work_size
        return measure(scaled.runs_of, self.n_arms)

    def oracle_for(self, family: Family) -> Oracle:
        if family.pools_by_averaging or not is_scaled(family):
            return super().oracle_for(family)
        return SCALED

    def violation(self, means: Floats, tolerance: float) -> str | None:
        peak = int(means.argmax())
        for i in range(1, self.n_arms):
            before, here = means[i - 1], means[i]
            if i <= peak and here < before - tolerance:
                return f"means[{i}] = {here:g} falls before the peak at arm {peak}: not unimodal"
            if i > peak and here > before + tolerance:
                return (
                    f"means[{i}] = {here:g} rises again after the peak at arm {peak}: not unimodal"
                )
        return None

    def relabelled(self, order: Sequence[int]) -> Structure:
        permutation = checked_order(order, self.n_arms).tolist()
        if permutation in (sorted(permutation), sorted(permutation, reverse=True)):
            return self
        return super().relabelled(order)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class UnimodalTree(Structure):
    """Arms are the nodes of a tree; away from the best arm, means do not rise along any path.

    On a path this is `Unimodal`. There is a piece for each place of the peak.

    Parameters
    ----------
    edges : sequence of pairs of int
        Pairs of arms: one fewer than there are arms, connecting all of them. A circle, or an arm
        that is left out, is refused.

    Guarantee
    ---------
    Exact up to rounding, for every reward family whose arms are alike: isotonic regression on the
    tree, for all places of the peak at once. A single `alt_min`, and all of it where arms have
    scales of their own, are quadratic programs, one for each place of the peak, each checked by its
    multipliers. Compared in tests with a convex solver, and with `Unimodal` on a path.

    >>> star = UnimodalTree([(0, 1), (0, 2), (0, 3)])
    >>> star.contains([0.5, 0.9, 0.2, 0.4]), star.contains([0.5, 0.9, 0.6, 0.4])
    (True, False)

    Limits
    ------
    For hundreds of arms; where arms have scales of their own, a dense quadratic program for each
    place of the peak, for tens of arms.

    References
    ----------
    Combes and Proutiere (2014), "Unimodal Bandits: Regret Lower Bounds and Optimal Algorithms",
    where the arms are the nodes of a graph.
    """

    edges: Edges
    n_arms: int

    oracle: ClassVar[Oracle] = Oracle(
        project=tree_peak.project,
        nearest=tree_peak.nearest,
        cells=every_other,
        cell_min=tree_peak.cell_min,
        challenger_min=tree_peak.cell_min,
        challenger_costs=tree_peak.challenger_costs,
        best_min=tree_peak.best_min,
        highest=tree_peak.highest,
    )
    convex = False
    order_only = True
    orders_arms = True
    has_constants = True
    same_for_costs = True

    @classmethod
    def examples(cls) -> tuple[UnimodalTree, ...]:
        return cls([(0, 1)]), cls([(0, 1), (0, 2), (0, 3), (3, 4)])

    def __init__(self, edges: Sequence[Sequence[int]]) -> None:
        object.__setattr__(self, "edges", checked_tree(edges))
        object.__setattr__(self, "n_arms", len(self.edges) + 1)

    def pieces(self) -> Iterable[Piece]:
        for peak in range(self.n_arms):
            before = arms_before(self.edges, peak)
            orders = [(arm, before[arm]) for arm in sorted(before) if arm != peak]
            yield Piece.of_orders(self.n_arms, orders)

    @functools.cached_property
    def shape(self) -> Shape:
        return Shape(np.empty(0), lay_out(self.edges))

    @functools.cached_property
    def work_size(self) -> tuple[int, int]:
        return measure(tree_peak.scratch_of, self.n_arms)

    def violation(self, means: Floats, tolerance: float) -> str | None:
        peak = int(means.argmax())
        for arm, before in arms_before(self.edges, peak).items():
            if means[arm] > means[before] + tolerance:
                return (
                    f"means[{arm}] = {means[arm]:g} should be at most means[{before}] = "
                    f"{means[before]:g}, which is nearer to the peak at arm {peak}: not unimodal"
                )
        return None

    def relabelled(self, order: Sequence[int]) -> UnimodalTree:
        place = {int(old): new for new, old in enumerate(checked_order(order, self.n_arms))}
        return UnimodalTree([(place[i], place[k]) for i, k in self.edges])
