"""Arms in categories, one of which is better than all others throughout."""

from __future__ import annotations

import functools
import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from armature._compile import kernel
from armature.errors import ArmatureError
from armature.families import Family, FamilyRecord
from armature.structures._checks import checked_n_arms, checked_order
from armature.structures._records import Cell, Floats, Oracle, Query, Shape, Work
from armature.structures._screening import screened_cost, sum_up
from armature.structures._separation import MERGED, PINNED, PLAIN, write_separation
from armature.structures._sorting import argsort_descending
from armature.structures._structure import CompiledStructure
from armature.structures._vectors import copy

# shape.integer = [n_categories, category of arm 0, ..., category of arm K-1].

ROUNDING = 1e-15  # the relative error of a sum, for each of its terms
NEGLIGIBLE = 1e-10  # a relative difference in cost that does not matter


@kernel
def best_separation(
    shape: Shape, family: FamilyRecord, mu: Floats, w: Floats, j: int, lam: Floats, work: Work
) -> float:
    """The best fit with any category on top; if j >= 0, one in which j is not the best arm."""
    K = mu.size
    C = shape.integer[0]
    category = shape.integer[1:]
    r = sum_up(shape, family, mu, w, work)
    order = work.integer[:K]
    scale = work.real[3 * K + 2]  # the cost of all arms at r
    costs = work.real[6 * K + 3 + 3 * C :]
    # Option c < C: category c dominates. Option C + k: j's category does, k at least as good as j.
    first = -1
    for option in range(C + K):
        costs[option] = math.inf
        if option < C:
            if j < 0 or category[j] != option:
                costs[option] = screened_cost(family, mu, w, option, -1, -1, r, work)
        elif j >= 0:
            k = option - C
            if k != j and category[k] == category[j]:
                merge = -1 if mu[k] >= mu[j] else k
                costs[option] = screened_cost(family, mu, w, category[j], j, merge, r, work)
        if first < 0 or costs[option] < costs[first]:
            first = option
    best_cost = math.inf
    doubt = ROUNDING * K * scale
    trial = work.real[7 * K + 3 + 4 * C :]
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
            copy(trial[:K], lam)
        if best_cost == 0.0:
            break
    return best_cost


@kernel
def project(
    shape: Shape,
    family: FamilyRecord,
    mu: Floats,
    w: Floats,
    query: Query,
    lam: Floats,
    work: Work,
) -> float:
    """The best category on top."""
    return best_separation(shape, family, mu, w, -1, lam, work)


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
    """Another category on top, or another arm of j's category at least as good as j: O(K log K)."""
    return best_separation(shape, family, mu, w, query.best, lam, work)


@kernel
def alt_min(
    shape: Shape,
    family: FamilyRecord,
    mu: Floats,
    w: Floats,
    query: Query,
    lam: Floats,
    work: Work,
) -> float:
    """Each category on top in turn, with k at least as good as j.

    Where j is alone in its category, that category on top means that j is the best arm.
    """
    j = query.best
    k = query.first
    K = mu.size
    C = shape.integer[0]
    category = shape.integer[1:]
    order = work.integer[:K]
    argsort_descending(mu, order, work.integer[K : 2 * K])
    alone = True
    for i in range(K):
        if i != j and category[i] == category[j]:
            alone = False
    best_cost = math.inf
    trial = work.real[:K]
    for c in range(C):
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
def cell_min(
    shape: Shape,
    family: FamilyRecord,
    mu: Floats,
    w: Floats,
    query: Query,
    lam: Floats,
    work: Work,
) -> float:
    """Category `first` on top; in j's own, arm `second` is at least as good as j."""
    j = query.best
    K = mu.size
    order = work.integer[:K]
    argsort_descending(mu, order, work.integer[K : 2 * K])
    k = query.second
    tie = MERGED if k >= 0 and mu[k] < mu[j] else PLAIN
    return write_separation(family, mu, w, shape.integer[1:], order, query.first, tie, j, k, lam)


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
    """A challenger beats j where its category is on top and it is at least as good as j.

    One sort for all: O(K log K). The costs are differences of sums: see `_screening`.
    """
    j = query.best
    i = query.first
    K = mu.size
    C = shape.integer[0]
    category = shape.integer[1:]
    if i >= 0:
        second = i if category[i] == category[j] else -1
        cell = Query(j, category[i], second, query.support)
        return cell_min(shape, family, mu, w, cell, lam, work)
    r = sum_up(shape, family, mu, w, work)
    tops = work.real[6 * K + 3 + 3 * C : 6 * K + 3 + 4 * C]  # what it costs that c is on top
    base = math.inf
    for c in range(C):
        tops[c] = screened_cost(family, mu, w, c, -1, -1, r, work)
        base = min(base, tops[c])
    for k in range(K):
        lam[k] = tops[category[k]]
        if category[k] == category[j] and mu[k] < mu[j]:
            lam[k] = screened_cost(family, mu, w, category[j], j, k, r, work)
    lam[j] = base
    return float(base)


@dataclass(frozen=True, init=False, eq=False)
class Categorised(CompiledStructure):
    """Each arm has a category; all arms of one category are at least as good as all other arms.

    `categories` is one label for each arm, of any hashable kind; which category is the good one is
    not known. `nearest_alternative` sorts the arms once: O(K log K) for any number of categories.

    Another category on top, or another arm of the best arm's own category: these are the cells.
    `Cell.first` is the category on top (an index into `labels`), `Cell.second` the other arm or -1.

    >>> from armature.families import Gaussian
    >>> shop = Categorised(["shoes", "hats", "hats", "hats"])
    >>> shop.labels, shop.contains([2.0, 1.0, 0.96, 0.0]), shop.contains([0.5, 1.0, 0.96, 0.0])
    (('shoes', 'hats'), True, False)
    >>> shop.nearest_alternative([2.0, 1.0, 0.96, 0.0], [0.0, 0.0, 0.0, 1.0], 0, Gaussian()).cost
    0.0
    """

    categories: tuple[Hashable, ...]
    n_arms: int

    oracle: ClassVar[Oracle] = Oracle(project, alt_min, nearest, cell_min, challengers)

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

    @property
    def work_size(self) -> tuple[int, int]:
        return 8 * self.n_arms + 4 * len(self.labels) + 3, 5 * self.n_arms + 1

    def cells(
        self,
        best: int,
        means: npt.ArrayLike | None = None,
        weights: npt.ArrayLike | None = None,
        family: Family | None = None,
    ) -> tuple[Cell, ...]:
        j = self.checked_arm(best, "best")
        category = self.shape.integer[1:].tolist()
        own = category[j]
        others = [Cell(j, c) for c in range(len(self.labels)) if c != own]
        return (
            *others,
            *(Cell(j, own, k) for k in range(self.n_arms) if k != j and category[k] == own),
        )

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

    def relabelled(self, order: Sequence[int]) -> Categorised:
        return Categorised([self.categories[i] for i in checked_order(order, self.n_arms)])


def _plain(label: Any) -> Any:
    """NumPy's scalars as Python's, so that 1 and np.int64(1) print alike."""
    return label.item() if isinstance(label, np.generic) else label
