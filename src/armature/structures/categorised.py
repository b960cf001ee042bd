"""Arms in categories, one of which is better than all others throughout."""

from __future__ import annotations

import functools
import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from armature._compile import kernel
from armature.errors import ArmatureError
from armature.families import Family, FamilyRecord
from armature.families.kernels import divergence, total_divergence, weighted_divergence
from armature.structures._pooling import pooled_mean
from armature.structures._records import Cell, Floats, Ints, Oracle, Query, Shape, Work
from armature.structures._sorting import argsort_descending
from armature.structures._structure import CompiledStructure, checked_n_arms, checked_order
from armature.structures._vectors import copy

# shape.integer = [n_categories, category of arm 0, ..., category of arm K-1].
#
# Category c dominates when one level v separates it from all others: its arms are raised to v
# where they are below, the others lowered to v where they are above. In the best fit, v is the
# weighted mean of all the arms that it moves. Two arms j, k can be tied to each other besides:

PLAIN = 0  # no further condition
MERGED = 1  # j and k on the same side of v, and made equal: one arm at their pooled mean
PINNED = 2  # j in c, k outside, lam_k >= lam_j: both are at v


@kernel
def pull(
    mu: Floats, w: Floats, category: Ints, c: int, tie: int, j: int, k: int, v: float
) -> float:
    """The derivative of the cost in v, up to the variance: it increases in v."""
    total = 0.0
    for i in range(mu.size):
        if tie != PLAIN and (i == j or i == k):
            continue
        if (category[i] == c and mu[i] < v) or (category[i] != c and mu[i] > v):
            total += w[i] * (v - mu[i])
    if tie == MERGED:
        m = pooled_mean(w[j], mu[j], w[k], mu[k])
        if (category[j] == c and m < v) or (category[j] != c and m > v):
            total += (w[j] + w[k]) * (v - m)
    elif tie == PINNED:
        total += w[j] * (v - mu[j]) + w[k] * (v - mu[k])
    return total


@kernel
def write_separation(
    family: FamilyRecord,
    mu: Floats,
    w: Floats,
    category: Ints,
    order: Ints,
    c: int,
    tie: int,
    j: int,
    k: int,
    lam: Floats,
) -> float:
    """The best fit in which category c dominates; `order` sorts the arms, best first.

    A binary search over the arms finds the two neighbours that v lies between: O(K log K).
    """
    K = mu.size
    first = 0
    last = K - 1
    while first < last:
        middle = (first + last) // 2
        if pull(mu, w, category, c, tie, j, k, mu[order[middle]]) <= 0.0:
            last = middle
        else:
            first = middle + 1
    low = mu[order[first]]
    high = mu[order[first - 1]] if first > 0 else math.inf
    weight = 0.0
    moment = 0.0  # of the moved arms, about `low`
    for i in range(K):
        moved = mu[i] <= low if category[i] == c else mu[i] >= high
        tied = tie != PLAIN and (i == j or i == k)
        if (moved and not tied) or (tied and tie == PINNED):
            weight += w[i]
            moment += w[i] * (mu[i] - low)
    merged = mu[j] if tie != MERGED else pooled_mean(w[j], mu[j], w[k], mu[k])
    v = low + moment / weight if weight > 0.0 else low
    if tie == MERGED:
        moved = merged < v if category[j] == c else merged > v
        if weight == 0.0 and category[j] != c:
            v = min(max(low, merged), high)
        elif moved and w[j] + w[k] > 0.0:
            weight += w[j] + w[k]
            v = low + (moment + (w[j] + w[k]) * (merged - low)) / weight
    v = min(max(v, low), high)
    for i in range(K):
        value = merged if tie == MERGED and (i == j or i == k) else mu[i]
        lam[i] = max(value, v) if category[i] == c else min(value, v)
    if tie == PINNED:
        lam[j] = lam[k] = v
    return total_divergence(family, w, mu, lam)


# To choose among many separations, sums over the sorted arms give the cost of each in O(log K).
# With r a reference and m the weighted mean of a set of arms of weight W,
#     sum w_i d(mu_i, m) = sum w_i d(mu_i, r) - W d(m, r).
# Differences of such sums can cancel: what they rule out beyond doubt is ruled out, and the rest
# is fitted in full.

ROUNDING = 1e-15  # the relative error of a sum, for each of its terms
NEGLIGIBLE = 1e-10  # a relative difference in cost that does not matter


@kernel
def sum_up(shape: Shape, family: FamilyRecord, mu: Floats, w: Floats, work: Work) -> float:
    """Sort the arms; running sums of weight, moment and cost about r, over all and by category.

    Returns r. See `category_sums` for where things are.
    """
    K = mu.size
    C = shape.integer[0]
    category = shape.integer[1:]
    order = work.integer[:K]
    argsort_descending(mu, order, work.integer[K : 2 * K])
    weight = 0.0
    r = float(mu[order[0]])
    for i in range(K):
        r = pooled_mean(weight, r, w[i], mu[i])
        weight += w[i]
    # positions[start[c] + a] = the place in `order` of the a-th best arm of category c
    start = work.integer[2 * K : 2 * K + C + 1]
    filled = work.integer[3 * K + 1 : 3 * K + 1 + C]
    positions = work.integer[4 * K + 1 : 5 * K + 1]
    for c in range(C + 1):
        start[c] = 0
    for i in range(K):
        start[category[i] + 1] += 1
    for c in range(C):
        start[c + 1] += start[c]
        filled[c] = start[c]
    sums = work.real
    sums[0] = sums[1] = sums[2] = 0.0
    for p in range(K):
        i = order[p]
        c = category[i]
        a = filled[c]
        filled[c] += 1
        positions[a] = p
        moment = w[i] * (mu[i] - r)
        cost = weighted_divergence(family, w[i], mu[i], r)
        sums[3 * p + 3] = sums[3 * p] + w[i]
        sums[3 * p + 4] = sums[3 * p + 1] + moment
        sums[3 * p + 5] = sums[3 * p + 2] + cost
        own = 3 * K + 3 + 3 * (a + c)  # category c has one more entry than arms: the empty sum
        if a == start[c]:
            sums[own] = sums[own + 1] = sums[own + 2] = 0.0
        sums[own + 3] = sums[own] + w[i]
        sums[own + 4] = sums[own + 1] + moment
        sums[own + 5] = sums[own + 2] + cost
    return r


@kernel
def better_than(work: Work, K: int, c: int, p: int) -> int:
    """How many arms of category c are among the p best of all: a binary search."""
    start = work.integer[2 * K + c]
    low = start
    high = work.integer[2 * K + c + 1]
    while low < high:
        middle = (low + high) // 2
        if work.integer[4 * K + 1 + middle] < p:
            low = middle + 1
        else:
            high = middle
    return int(low - start)


@kernel
def moved_sum(work: Work, K: int, c: int, p: int, a: int, part: int) -> float:
    """A sum over the arms moved when v lies just below the p-th best arm, a of category c above.

    Part 0 is the weight, 1 the moment and 2 the cost, about the reference.
    """
    base = 3 * K + 3 + 3 * (work.integer[2 * K + c] + c) + part
    size = work.integer[2 * K + c + 1] - work.integer[2 * K + c]
    above = work.real[base + 3 * a]
    return float((work.real[3 * p + part] - above) + (work.real[base + 3 * size] - above))


@kernel
def screened_cost(
    family: FamilyRecord,
    mu: Floats,
    w: Floats,
    c: int,
    j: int,
    k: int,
    r: float,
    work: Work,
) -> float:
    """The cost of making c dominate, with j and k of c merged unless k < 0, up to cancellation."""
    K = mu.size
    order = work.integer
    merged = 0.0
    both = 0.0
    pooling = 0.0
    if k >= 0:
        merged = pooled_mean(w[j], mu[j], w[k], mu[k])
        both = w[j] + w[k]
        pooling = weighted_divergence(family, w[j], mu[j], merged)
        pooling += weighted_divergence(family, w[k], mu[k], merged)
    first = 0
    last = K - 1
    weight = 0.0
    moment = 0.0
    while True:
        middle = (first + last) // 2
        v = mu[order[middle]]
        a = better_than(work, K, c, middle)
        weight = moved_sum(work, K, c, middle, a, 0)
        moment = moved_sum(work, K, c, middle, a, 1)
        if k >= 0:
            if mu[j] <= v:
                weight -= w[j]
                moment -= w[j] * (mu[j] - r)
            if mu[k] <= v:
                weight -= w[k]
                moment -= w[k] * (mu[k] - r)
        if first == last:
            break
        total = weight * (v - r) - moment
        if k >= 0 and merged < v:
            total += both * (v - merged)
        if total <= 0.0:
            last = middle
        else:
            first = middle + 1
    low = mu[order[first]]
    high = mu[order[first - 1]] if first > 0 else math.inf
    v = min(max(r + moment / weight, low), high) if weight > 0.0 else low
    cost = moved_sum(work, K, c, first, better_than(work, K, c, first), 2)
    if k >= 0:
        if mu[j] <= low:
            cost -= weighted_divergence(family, w[j], mu[j], r)
        if mu[k] <= low:
            cost -= weighted_divergence(family, w[k], mu[k], r)
        if merged < v and both > 0.0:
            cost += both * divergence(family, merged, r)
            moment += both * (merged - r)
            weight += both
            v = min(max(r + moment / weight, low), high)
    if weight <= 0.0:
        return pooling
    return max(0.0, cost - weight * divergence(family, v, r)) + pooling


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

    oracle: ClassVar[Oracle] = Oracle(project, alt_min, nearest, cell_min)

    @classmethod
    def examples(cls) -> tuple[Categorised, ...]:
        return cls("ab"), cls("abbb"), cls([1, 2, 2, 1, 3]), cls("aaaa")

    def __init__(self, categories: Sequence[Hashable]) -> None:
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
