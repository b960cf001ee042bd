"""Arms in categories, one of which is better than all others throughout."""

from __future__ import annotations

import functools
import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from armature.errors import ArmatureError
from armature.kernels.arrays import Floats, Ints
from armature.kernels.checks import checked_n_arms
from armature.kernels.kernel import kernel
from armature.kernels.vectors import argsort_descending, copy
from armature.structures.oracles.categorised import (
    MERGED,
    PINNED,
    PLAIN,
    screened_cost,
    sorted_of,
    sum_up,
    write_separation,
)
from armature.structures.oracles.records import Oracle, OracleProblem, Shape, Work, measure
from armature.structures.piece import Piece
from armature.structures.structure import Structure

# shape.integer = [C, the number of categories, category of arm 0, ..., category of arm K-1].

ROUNDING = 1e-15  # the relative error of a sum, for each of its terms
NEGLIGIBLE = 1e-10  # a relative difference in cost that does not matter


@kernel
def best_separation(problem: OracleProblem, j: int, lam: Floats) -> float:
    """The best fit with any category on top; if j >= 0, one in which j is not the best arm."""
    family = problem.family
    mu = problem.mu
    w = problem.w
    K = mu.size
    C = problem.shape.integer[0]
    room = sorted_of(problem.work, K, C)
    category = problem.shape.integer[1:]
    r = sum_up(problem, room)
    order = room.order
    scale = room.sums[3 * K + 2]  # the cost of all arms at r
    costs = room.costs
    # Option c < C: category c dominates. Option C + k: j's category does, k at least as good as j.
    first = -1
    for option in range(C + K):
        costs[option] = math.inf
        if option < C:
            if j < 0 or category[j] != option:
                costs[option], lost = screened_cost(problem, option, -1, -1, r, room)
                scale = max(scale, lost)
        elif j >= 0:
            k = option - C
            if k != j and category[k] == category[j]:
                merge = -1 if mu[k] >= mu[j] else k
                costs[option], lost = screened_cost(problem, category[j], j, merge, r, room)
                scale = max(scale, lost)
        if first < 0 or costs[option] < costs[first]:
            first = option
    best_cost = math.inf
    doubt = ROUNDING * K * scale
    trial = room.trial
    for visit in range(-1, C + K):
        option = first if visit < 0 else visit
        if visit == first or costs[option] > costs[first] + doubt:
            continue
        if visit >= 0 and doubt <= NEGLIGIBLE * best_cost:
            break
        if option < C:
            cost = write_separation(family, mu, w, category, order, option, PLAIN, 0, 0, trial)
        else:
            k = option - C
            tie = PLAIN if mu[k] >= mu[j] else MERGED
            cost = write_separation(family, mu, w, category, order, category[j], tie, j, k, trial)
        if cost < best_cost:
            best_cost = cost
            copy(trial, lam)
        if best_cost == 0.0:
            break
    return best_cost


@kernel
def project(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """The best category on top."""
    return best_separation(problem, -1, lam)


@kernel
def nearest(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """Another category on top, or another arm of j's category at least as good as j: O(K log K)."""
    return best_separation(problem, first, lam)


@kernel
def alt_min(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """Each category on top in turn, with k at least as good as j.

    Where j is alone in its category, that category on top means that j is the best arm.
    """
    j = first
    k = second
    family = problem.family
    mu = problem.mu
    w = problem.w
    K = mu.size
    room = sorted_of(problem.work, K, problem.shape.integer[0])
    category = problem.shape.integer[1:]
    order = room.order
    argsort_descending(mu, order, room.buffer)
    alone = True
    for i in range(K):
        if i != j and category[i] == category[j]:
            alone = False
    best_cost = math.inf
    trial = room.trial
    for c in range(problem.shape.integer[0]):  # lam: the best with a category before c on top
        if c == category[j] and alone:
            continue
        tie = PLAIN
        if c == category[j] and c != category[k]:
            tie = PINNED
        elif (c == category[j]) == (c == category[k]) and mu[k] < mu[j]:
            tie = MERGED
        cost = write_separation(family, mu, w, category, order, c, tie, j, k, trial)
        if cost < best_cost:
            best_cost = cost
            copy(trial, lam)
    return best_cost


@kernel
def cells(problem: OracleProblem, first: int, out: Ints) -> int:
    """Another category on top (its number), or another arm k of j's own (C + k)."""
    C = problem.shape.integer[0]
    category = problem.shape.integer[1:]
    n = 0
    for c in range(C):  # out[:n]: the categories before c but j's
        if c != category[first]:
            out[n] = c
            n += 1
    for k in range(problem.mu.size):
        if k != first and category[k] == category[first]:
            out[n] = C + k
            n += 1
    return n


@kernel
def write_on_top(problem: OracleProblem, j: int, c: int, k: int, lam: Floats) -> float:
    """Category c on top and, unless k < 0, its arm k at least as good as its arm j."""
    mu = problem.mu
    room = sorted_of(problem.work, mu.size, problem.shape.integer[0])
    category = problem.shape.integer[1:]
    argsort_descending(mu, room.order, room.buffer)
    tie = MERGED if k >= 0 and mu[k] < mu[j] else PLAIN
    return write_separation(problem.family, mu, problem.w, category, room.order, c, tie, j, k, lam)


@kernel
def cell_min(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """One of the `cells`."""
    C = problem.shape.integer[0]
    if second < C:
        return write_on_top(problem, first, second, -1, lam)
    return write_on_top(problem, first, problem.shape.integer[1 + first], second - C, lam)


@kernel
def challenger_min(problem: OracleProblem, first: int, second: int, lam: Floats) -> float:
    """A challenger beats j where its category is on top and it is at least as good as j."""
    category = problem.shape.integer[1:]
    rival = second if category[second] == category[first] else -1
    return write_on_top(problem, first, category[second], rival, lam)


@kernel
def challenger_costs(problem: OracleProblem, first: int, second: int, costs: Floats) -> float:
    """One sort for all: O(K log K). The costs are differences of sums."""
    j = first
    mu = problem.mu
    K = mu.size
    room = sorted_of(problem.work, K, problem.shape.integer[0])
    category = problem.shape.integer[1:]
    r = sum_up(problem, room)
    tops = room.costs  # what it costs that c is on top
    base = math.inf
    for c in range(problem.shape.integer[0]):
        tops[c], _ = screened_cost(problem, c, -1, -1, r, room)
        base = min(base, tops[c])
    for k in range(K):
        costs[k] = tops[category[k]]
        if category[k] == category[j] and mu[k] < mu[j]:
            costs[k], _ = screened_cost(problem, category[j], j, k, r, room)
    costs[j] = base
    return float(base)


@kernel
def highest(shape: Shape, work: Work, low: Floats, high: Floats, out: Floats) -> float:
    """The upper ends of the arms in categories that can be on top."""
    category = shape.integer[1:]
    possible = 0.0
    for c in range(shape.integer[0]):  # out: set for the arms of categories before c
        ceiling = math.inf
        floor = -math.inf
        for k in range(low.size):
            if category[k] == c:
                ceiling = min(ceiling, high[k])
            else:
                floor = max(floor, low[k])
        for k in range(low.size):
            if category[k] == c:
                out[k] = high[k] if floor <= ceiling else -math.inf
        if floor <= ceiling:
            possible = 1.0
    return possible


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Categorised(Structure):
    """Each arm has a category; all arms of one category are at least as good as all other arms.

    Which category is the good one is not known, nor any order within it or among the others.
    Another category on top, or another arm of the best arm's own category: these are the cells.

    Parameters
    ----------
    categories : sequence of hashable
        One label for each arm: strings, numbers or tuples; a string is a label for each letter. At
        least 2 arms; a missing label (None, nan) is refused. With one category for all arms, or one
        for each, nothing is known.

    Guarantee
    ---------
    Exact up to rounding, for every reward family. `nearest_alternative` sorts the arms once: O(K
    log K) for any number of categories. Where the best arm is alone in its category, `alt_min` is
    over the closure of the alternatives. Compared in tests with a convex solver, cases worked by
    hand, and the closed form of the lower bound. It is the authors' strong dominance; the weaker
    kinds are not there.

    >>> from armature.families import Gaussian
    >>> shop = Categorised(["shoes", "hats", "hats", "hats"])
    >>> shop.labels, shop.contains([2.0, 1.0, 0.96, 0.0]), shop.contains([0.5, 1.0, 0.96, 0.0])
    (('shoes', 'hats'), True, False)
    >>> shop.nearest_alternative([2.0, 1.0, 0.96, 0.0], [0.0, 0.0, 0.0, 1.0], 0, Gaussian()).cost
    0.0

    Limits
    ------
    Strong dominance only. Where the best arm is alone in its category, `alt_min` minimises over the
    closure of the alternatives, not over the literal definition.

    References
    ----------
    Jedor, Louëdec and Perchet (2019), "Categorized Bandits".
    Paper: Appendix F, categorised.
    """

    categories: tuple[Hashable, ...]
    n_arms: int

    oracle: ClassVar[Oracle] = Oracle(
        project=project,
        alt_min=alt_min,
        nearest=nearest,
        cells=cells,
        cell_min=cell_min,
        challenger_min=challenger_min,
        challenger_costs=challenger_costs,
        highest=highest,
    )
    order_only = True
    orders_arms = True
    has_constants = True
    arm_facts, arm_fields = ("category",), ("categories",)
    same_for_costs = True

    @classmethod
    def examples(cls) -> tuple[Categorised, ...]:
        return cls("ab"), cls("abbb"), cls([1, 2, 2, 1, 3]), cls("aaaa")

    def __init__(self, categories: Sequence[Hashable]) -> None:
        if not isinstance(categories, Iterable):
            raise ArmatureError(f"categories must be a list, one for each arm; got {categories!r}.")
        labels = tuple(_plain(label) for label in categories)
        for i, label in enumerate(labels):
            if label is None or label != label:
                raise ArmatureError(f"categories[{i}] is missing: each arm needs a category label.")
            try:
                hash(label)
            except TypeError:
                raise ArmatureError(
                    f"categories[{i}] = {label!r} can't be a label: use strings, numbers or tuples."
                ) from None
        object.__setattr__(self, "categories", labels)
        object.__setattr__(self, "n_arms", checked_n_arms(len(labels)))

    @functools.cached_property
    def labels(self) -> tuple[Hashable, ...]:
        """The distinct categories in order of their first arm."""
        return tuple(dict.fromkeys(self.categories))

    @functools.cached_property
    def shape(self) -> Shape:
        number = {label: c for c, label in enumerate(self.labels)}
        members = [number[label] for label in self.categories]
        return Shape(np.empty(0), np.array([len(number), *members], dtype=np.int64))

    @functools.cached_property
    def work_size(self) -> tuple[int, int]:
        return measure(sorted_of, self.n_arms, len(self.labels))

    @functools.cached_property
    def is_convex(self) -> bool:
        return len(self.labels) == 1

    @property
    def n_cells(self) -> int:
        return self.n_arms + len(self.labels)

    def pieces(self) -> Iterable[Piece]:
        K, category = self.n_arms, self.shape.integer[1:]
        for c in range(len(self.labels)):
            inside, outside = np.flatnonzero(category == c), np.flatnonzero(category != c)
            yield Piece.of_orders(K, [(int(k), int(i)) for i in inside for k in outside])

    def violation(self, means: Floats, tolerance: float) -> str | None:
        category = self.shape.integer[1:]
        for c in range(len(self.labels)):
            inside, outside = means[category == c], means[category != c]
            if not outside.size or inside.min() >= outside.max() - tolerance:
                return None
        top = category[int(means.argmax())]
        low = int(np.where(category == top, means, np.inf).argmin())
        high = int(np.where(category != top, means, -np.inf).argmax())
        return (
            f"the best arm is of category {self.labels[top]!r}, but arm {low} of it, with mean "
            f"{means[low]:g}, is worse than arm {high} of category {self.categories[high]!r}, with "
            f"{means[high]:g}: no category dominates the others"
        )

    def _checked_fact(self, name: str, value: Any) -> Any:
        return value

    def without_arm(self, arm: int) -> Self:
        if self.categories.count(self.categories[arm]) == 1:
            raise ArmatureError(
                f"the arm is alone in its category {self.categories[arm]!r}: if that is the best "
                "one, nothing is known about the others. Exclude it whenever you ask, or make a "
                "new bandit."
            )
        return super().without_arm(arm)


def _plain(label: Any) -> Any:
    """NumPy's scalars as Python's, so that 1 and np.int64(1) print alike."""
    return label.item() if isinstance(label, np.generic) else label
