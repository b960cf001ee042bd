"""A few peaks, along a line or on a tree: the means rise and fall so many times at most."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from armature.errors import ArmatureError
from armature.kernels.arrays import Floats
from armature.kernels.checks import checked_integer, checked_order
from armature.structures.oracles.edges import (
    Edges,
    checked_tree,
    n_orientations,
    neighbours_of,
    orientations,
)
from armature.structures.oracles.hills import costs, search
from armature.structures.oracles.records import Oracle, Shape, largest_of, measure
from armature.structures.oracles.table import MOST_PIECES
from armature.structures.piece import Piece
from armature.structures.structure import Structure


def checked_peaks(peaks: int) -> int:
    """The checked number of peaks, or an error."""
    number = checked_integer(peaks, "peaks")
    if number < 1:
        raise ArmatureError(f"peaks = {number}: there is at least one peak.")
    return number


@dataclass(frozen=True, eq=False, repr=False)
class Multimodal(Structure):
    """At most `peaks` peaks along the arms. One peak is `Unimodal`; plateaus count as one arm.

    A projection is the cheapest way to divide the arms into hills, each a run that rises and one
    that falls, where every run is fitted by itself. That arm i beats the best arm j says that i is
    a peak and at least as good as j: given their level, it is such a division, too, and the best
    level is searched for with bounds from below on what all others cost.

    Parameters
    ----------
    n_arms : int
        The number of arms, at least 2.
    peaks : int
        The most peaks that there may be, at least 1. With half as many as there are
        arms, rounded up, nothing is known.

    Guarantee
    ---------
    A projection is exact up to rounding; what an alternative costs, to a ten-billionth of it or to
    rounding. O(peaks K^2) for a projection, and for each of some ten levels for an alternative. A
    single `alt_min`, `nearest_with_best`, `cells`, and all of it where arms have scales of their
    own, are solved piece by piece, each a chain, whose answer is checked by its multipliers.
    Compared in tests with a convex solver, with these pieces, with `Unimodal` for one peak, and
    with `Unconstrained` for many.

    >>> two = Multimodal(5, peaks=2)
    >>> two.contains([0.2, 0.9, 0.1, 0.8, 0.3]), two.contains([0.9, 0.1, 0.8, 0.3, 0.7])
    (True, False)

    Limits
    ------
    For tens of arms: a round of `Challenger` takes some 2 ms with 40 arms and 2 peaks. What is
    solved piece by piece is for ten or so arms: there is a piece for each way to turn.

    References
    ----------
    Réveillard and Combes (2025), "Multimodal Bandits: Regret Lower Bounds and Optimal Algorithms",
    arXiv 2510.25811, where the dynamic program is over a grid of means.
    """

    n_arms: int
    peaks: int

    oracle: ClassVar[Oracle] = Oracle(
        project=costs.project,
        nearest=search.nearest,
        challenger_min=search.challenger_min,
        challenger_costs=search.challenger_costs,
        highest=costs.highest,
    )
    convex = False
    order_only = True
    orders_arms = True
    has_constants = True
    arm_facts = arm_fields = ()
    arms_in_order = True
    same_for_costs = True

    @classmethod
    def examples(cls) -> tuple[Multimodal, ...]:
        return cls(4, 1), cls(5, 2), cls(3, 3)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "peaks", checked_peaks(self.peaks))

    @functools.cached_property
    def shape(self) -> Shape:
        return Shape(np.empty(0), np.array([self.peaks]))

    @functools.cached_property
    def work_size(self) -> tuple[int, int]:
        return largest_of(
            measure(costs.scratch_of, self.n_arms, self.peaks),
            measure(search.scratch_of, self.n_arms, self.peaks),
        )

    def violation(self, means: Floats, tolerance: float) -> str | None:
        tops, top, rises = [], 0, True
        for i, step in enumerate(np.diff(means).tolist()):
            if step > tolerance:
                top, rises = i + 1, True
            elif step < -tolerance:
                tops += [top] * rises
                rises = False
        tops += [top] * rises
        if len(tops) <= self.peaks:
            return None
        return (
            f"there are {len(tops)} peaks, at arms {', '.join(map(str, tops))}, and there should "
            f"be {self.peaks} at most: not multimodal"
        )

    def pieces(self) -> Iterable[Piece]:
        K = self.n_arms
        for rising_first in (True, False):
            for n_turns in range(K - 1):
                runs_up = (n_turns + 2) // 2 if rising_first else 1 + (n_turns + 1) // 2
                if runs_up > self.peaks:  # a peak ends each rising run, or is a falling start
                    break
                for turns in itertools.combinations(range(1, K - 1), n_turns):
                    ups = [rising_first ^ (sum(t <= i for t in turns) % 2) for i in range(K - 1)]
                    orders = [(i, i + 1) if up else (i + 1, i) for i, up in enumerate(ups)]
                    yield Piece.of_orders(K, orders)


@dataclass(frozen=True, init=False, eq=False, repr=False)
class MultimodalTree(Structure):
    """Arms are the nodes of a tree, with at most `peaks` peaks; plateaus count as one arm.

    A peak is an arm, or some neighbours that are level, without a better neighbour. On a path this
    is `Multimodal`, with one peak `UnimodalTree`. A piece says of each edge which of its arms is at
    least as good as the other.

    Parameters
    ----------
    edges : sequence of pairs of int
        Pairs of arms: one fewer than there are arms, connecting all of them. A circle, or an arm
        that is left out, is refused.
    peaks : int
        The most peaks that there may be, at least 1. What has more than 20,000 pieces is refused.

    Guarantee
    ---------
    Each answer of the quadratic programs behind it is checked by its multipliers, to 1e-10 of its
    cost or to rounding; there is one for each piece. Compared in tests with a convex solver, with
    `Multimodal` on a path, and with `UnimodalTree`; the bound with one that is computed apart.

    >>> topics = MultimodalTree([(0, 1), (0, 2), (1, 3), (2, 4)], peaks=2)
    >>> topics.contains([0.5, 0.3, 0.2, 0.9, 0.1]), topics.contains([0.5, 0.3, 0.2, 0.9, 0.4])
    (True, False)

    Limits
    ------
    For ten or so arms: with two peaks, a binary tree of 7 arms has 34 pieces, and a round of
    `Challenger` takes 0.15 ms.

    References
    ----------
    Réveillard and Combes (2025), "Multimodal Bandits: Regret Lower Bounds and Optimal Algorithms",
    arXiv 2510.25811. There, neighbours that are level are no peak.
    """

    edges: Edges
    peaks: int
    n_arms: int

    convex = False
    order_only = True
    orders_arms = True
    has_constants = True
    same_for_costs = True

    @classmethod
    def examples(cls) -> tuple[MultimodalTree, ...]:
        return cls([(0, 1)], 1), cls([(0, 1), (0, 2), (0, 3), (3, 4)], 2)

    def __init__(self, edges: Sequence[Sequence[int]], peaks: int) -> None:
        object.__setattr__(self, "edges", checked_tree(edges))
        object.__setattr__(self, "n_arms", len(self.edges) + 1)
        object.__setattr__(self, "peaks", checked_peaks(peaks))
        pieces = n_orientations(self.edges, self.peaks)
        if pieces > MOST_PIECES:
            raise ArmatureError(
                f"a tree of {self.n_arms} arms with {self.peaks} peaks has {pieces:,} pieces, more "
                f"than {MOST_PIECES:,}: use fewer arms or peaks, or Multimodal if it is a line."
            )

    def pieces(self) -> Iterable[Piece]:
        near = neighbours_of(self.edges)
        for orders, _ in orientations(near, 0, -1, False, self.peaks):
            yield Piece.of_orders(self.n_arms, orders)

    def relabelled(self, order: Sequence[int]) -> MultimodalTree:
        place = {int(old): new for new, old in enumerate(checked_order(order, self.n_arms))}
        return MultimodalTree([(place[i], place[k]) for i, k in self.edges], self.peaks)
