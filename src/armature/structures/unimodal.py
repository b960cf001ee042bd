"""One peak: the means rise up to some arm and fall after it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from armature._compile import kernel
from armature.errors import ArmatureError
from armature.families import FamilyRecord
from armature.families.kernels import total_divergence
from armature.structures._checks import checked_n_arms, checked_order
from armature.structures._isotonic import isotonic_blocks, isotonic_costs, write_blocks
from armature.structures._peaks import fit_prefixes, peak_cost, prefixes
from armature.structures._pooling import pooled_mean
from armature.structures._records import Floats, Oracle, Query, Shape, Work
from armature.structures._structure import CompiledStructure
from armature.structures._vectors import copy

# A *split* i makes arms 0 .. i-1 non-decreasing and arms i .. K-1 non-increasing, with nothing
# asked of the two arms i-1 and i where they meet: one of them is the peak. M is the union of the
# splits.


@kernel
def split_costs(family: FamilyRecord, mu: Floats, w: Floats, work: Work) -> None:
    """work.real[i] = the cost of split i, for i = 0 .. K."""
    K = mu.size
    rising = work.real[: K + 1]
    falling = work.real[K + 1 : 2 * K + 2]
    block_mean = work.real[2 * K + 2 : 3 * K + 2]
    block_weight = work.real[3 * K + 2 : 4 * K + 2]
    isotonic_costs(family, mu, w, 0, 1, K, rising, block_mean, block_weight)
    isotonic_costs(family, mu, w, K - 1, -1, K, falling, block_mean, block_weight)
    for i in range(K + 1):
        rising[i] += falling[K - i]


@kernel
def write_run(
    mu: Floats, w: Floats, start: int, step: int, n: int, lam: Floats, work: Work
) -> None:
    """The non-decreasing fit to a run."""
    K = mu.size
    block_mean = work.real[2 * K + 2 : 3 * K + 2]
    block_weight = work.real[3 * K + 2 : 4 * K + 2]
    block_size = work.integer[:K]
    blocks = isotonic_blocks(mu, w, start, step, n, block_mean, block_weight, block_size)
    write_blocks(lam, start, step, blocks, block_mean, block_size)


@kernel
def write_split(
    family: FamilyRecord, mu: Floats, w: Floats, i: int, lam: Floats, work: Work
) -> float:
    """The fit of split i."""
    K = mu.size
    write_run(mu, w, 0, 1, i, lam, work)
    write_run(mu, w, K - 1, -1, K - i, lam, work)
    return total_divergence(family, w, mu, lam)


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
    """The best split."""
    split_costs(family, mu, w, work)
    best = 1
    for i in range(2, mu.size):
        if work.real[i] < work.real[best]:
            best = i
    return write_split(family, mu, w, best, lam, work)


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
    """The best split whose peak is not j: all but j and j + 1."""
    j = query.best
    split_costs(family, mu, w, work)
    best = -1
    for i in range(mu.size + 1):
        if i != j and i != j + 1 and (best < 0 or work.real[i] < work.real[best]):
            best = i
    return write_split(family, mu, w, best, lam, work)


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
    """The peak is at arm `first`: fit both sides, then pool into the peak what exceeds it."""
    K = mu.size
    peak = query.first
    write_run(mu, w, 0, 1, peak, lam, work)
    write_run(mu, w, K - 1, -1, K - 1 - peak, lam, work)
    value = mu[peak]
    weight = w[peak]
    left = peak - 1
    right = peak + 1
    while True:
        above_left = lam[left] if left >= 0 else -math.inf
        above_right = lam[right] if right < K else -math.inf
        if max(above_left, above_right) <= value:
            break
        # An arm of the fit stands for itself: its block's arms are absorbed one by one, and the
        # value stays below the block's until the whole block is in.
        if above_left >= above_right:
            value = pooled_mean(weight, value, w[left], above_left)
            weight += w[left]
            left -= 1
        else:
            value = pooled_mean(weight, value, w[right], above_right)
            weight += w[right]
            right += 1
    for i in range(left + 1, right):
        lam[i] = value
    return total_divergence(family, w, mu, lam)


@kernel
def write_plateau(
    family: FamilyRecord, mu: Floats, w: Floats, j: int, k: int, lam: Floats, work: Work
) -> float:
    """The best unimodal fit that is constant on the arms j .. k."""
    K = mu.size
    n = K - (k - j)
    base = 4 * K + 2
    short_mu = work.real[base : base + n]
    short_w = work.real[base + K : base + K + n]
    short_lam = work.real[base + 2 * K : base + 2 * K + n]
    value = mu[j]
    weight = w[j]
    for i in range(j + 1, k + 1):
        value = pooled_mean(weight, value, w[i], mu[i])
        weight += w[i]
    for i in range(n):
        source = i if i <= j else i + (k - j)
        short_mu[i] = value if i == j else mu[source]
        short_w[i] = weight if i == j else w[source]
    # The pooling inside j .. k costs the same everywhere and does not matter for the choice.
    if n == 1:
        short_lam[0] = value
    else:
        split_costs(family, short_mu, short_w, work)
        best = 1
        for i in range(2, n):
            if work.real[i] < work.real[best]:
                best = i
        write_split(family, short_mu, short_w, best, short_lam, work)
    for i in range(K):
        lam[i] = short_lam[i if i <= j else max(j, i - (k - j))]
    return total_divergence(family, w, mu, lam)


@kernel
def excess_pull(w: Floats, mu: Floats, lam: Floats, j: int, k: int, v: float) -> float:
    """The derivative, up to the variance, of the cost of lam_j = lam_k = v; it increases in v."""
    pull = w[j] * (v - mu[j]) + w[k] * (v - mu[k])
    for i in range(mu.size):
        inside = j < i < k
        outside = i < j or i > k
        if (inside and lam[i] < v) or (outside and lam[i] > v):
            pull += w[i] * (v - lam[i])
    return float(pull)


@kernel
def write_bridge(
    family: FamilyRecord, mu: Floats, w: Floats, j: int, k: int, i: int, lam: Floats, work: Work
) -> float:
    """The fit of split i, j < i <= k, with lam_j = lam_k = v: higher between them, lower outside.

    Four isotonic fits that do not see v, clipped at v; then v is where its pull vanishes.
    """
    K = mu.size
    write_run(mu, w, 0, 1, j, lam, work)
    write_run(mu, w, j + 1, 1, i - j - 1, lam, work)
    write_run(mu, w, k - 1, -1, k - i, lam, work)
    write_run(mu, w, K - 1, -1, K - 1 - k, lam, work)
    low = -math.inf
    high = math.inf
    for a in range(K):
        v = mu[a] if a == j or a == k else lam[a]
        if low < v < high:
            if excess_pull(w, mu, lam, j, k, v) <= 0.0:
                low = v
            else:
                high = v
    # Between two neighbouring values the set of clipped arms is fixed, and v is their mean.
    v = pooled_mean(w[j], mu[j], w[k], mu[k])
    weight = w[j] + w[k]
    for a in range(K):
        if (j < a < k and lam[a] <= low) or ((a < j or a > k) and lam[a] >= high):
            v = pooled_mean(weight, v, w[a], lam[a])
            weight += w[a]
    v = min(max(v, low), high)
    for a in range(K):
        if a == j or a == k:
            lam[a] = v
        elif j < a < k:
            lam[a] = max(lam[a], v)
        else:
            lam[a] = min(lam[a], v)
    return total_divergence(family, w, mu, lam)


@kernel
def alt_min_in_order(
    family: FamilyRecord, mu: Floats, w: Floats, j: int, k: int, lam: Floats, work: Work
) -> float:
    """`alt_min` for j < k. Each split is tried: K - j of them, each in O(K)."""
    K = mu.size
    trial = work.real[7 * K + 2 : 8 * K + 2]
    best_cost = write_plateau(family, mu, w, j, k, lam, work)
    for i in range(j + 1, K + 1):
        cost = write_split(family, mu, w, i, trial, work)
        if trial[k] < trial[j] and cost < best_cost:
            cost = write_bridge(family, mu, w, j, k, i, trial, work)
        if cost < best_cost:
            best_cost = cost
            copy(trial, lam)
    return best_cost


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
    """Over all unimodal lam with lam_k >= lam_j: neither of them need be the peak."""
    j = query.best
    k = query.first
    K = mu.size
    if j < k:
        return alt_min_in_order(family, mu, w, j, k, lam, work)
    mirrored_mu = work.real[8 * K + 2 : 9 * K + 2]
    mirrored_w = work.real[9 * K + 2 : 10 * K + 2]
    for i in range(K):
        mirrored_mu[i] = mu[K - 1 - i]
        mirrored_w[i] = w[K - 1 - i]
    cost = alt_min_in_order(family, mirrored_mu, mirrored_w, K - 1 - j, K - 1 - k, lam, work)
    for i in range(K // 2):
        lam[i], lam[K - 1 - i] = lam[K - 1 - i], lam[i]
    return cost


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
    """A challenger beats j where the peak is at it: O(K) unless valleys are many."""
    K = mu.size
    if query.first >= 0:
        return cell_min(shape, family, mu, w, query, lam, work)
    left = prefixes(K, work, 0)
    right = prefixes(K, work, 1)
    fit_prefixes(family, mu, w, 0, 1, left)
    fit_prefixes(family, mu, w, K - 1, -1, right)
    base = math.inf
    for i in range(K):
        lam[i] = peak_cost(family, mu[i], w[i], left, i, right, K - 1 - i)
        base = min(base, lam[i])
    lam[query.best] = base
    return base


@dataclass(frozen=True, eq=False)
class Unimodal(CompiledStructure):
    """One peak, arms in order: means[0] <= ... <= means[peak] >= ... >= means[-1]. Plateaus count.

    `nearest_alternative` fits every prefix and every suffix by isotonic regression, in one pass
    each: O(K). The cells are the places where another peak can be: `Cell.first` is the peak.

    >>> from armature.families import Gaussian
    >>> curve = Unimodal(5)
    >>> curve.contains([0.2, 0.4, 0.9, 0.7, 0.1]), curve.contains([0.2, 0.4, 0.1, 0.7, 0.1])
    (True, False)
    >>> curve.nearest_alternative([0.2, 0.4, 0.9, 0.7, 0.1], [1.0] * 5, 2, Gaussian()).means
    array([0.2, 0.4, 0.8, 0.8, 0.1])
    """

    n_arms: int

    oracle: ClassVar[Oracle] = Oracle(project, alt_min, nearest, cell_min, challengers)

    @classmethod
    def examples(cls) -> tuple[Unimodal, ...]:
        return cls(2), cls(3), cls(6)

    def __post_init__(self) -> None:
        object.__setattr__(self, "n_arms", checked_n_arms(self.n_arms))

    @property
    def work_size(self) -> tuple[int, int]:
        return 10 * self.n_arms + 2, 2 * self.n_arms + 2

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

    def relabelled(self, order: Sequence[int]) -> Unimodal:
        permutation = checked_order(order, self.n_arms).tolist()
        if permutation not in (sorted(permutation), sorted(permutation, reverse=True)):
            raise ArmatureError("the arms of Unimodal are in order: they can only be reversed.")
        return self
