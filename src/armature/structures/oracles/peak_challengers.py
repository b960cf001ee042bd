"""One peak: what it costs that the peak is at each arm, and what is known of these opponents.

Let pr be the best split, after s arms, and lam the fit with the peak at arm i. `challenger_costs`
notes which arms stay: the first `left` and the last `right` ones, of which two fits of a side
agree. They cost `kept`, so that those between them cost the rest, *if all of these move*. This is
proved here for i < s (read backwards, it is the other case), where all arms have weight. Let L_t be
the non-decreasing fit to the first t arms, R_t that to the last t, read backwards. So pr is L_s and
R_{K-s}; lam is L_a on the first a arms, R_b on the last b, and v on the arms between, if any; a <=
s, and i is between or next to it. That "x > y" holds beyond rounding is checked where it is said.

1. *First arms, left <= k < a.* They are of one block of L_s, which begins at `left`, as does a
   block of L_a, and has more arms than that. Of the last blocks of L_1, L_2, ... that begin at the
   same arm, each is below the one before (`sinks`). So the block of L_s is below the first block of
   L_a from `left` on, hence below lam_k.
2. *Last arms where b <= K - s*: the same, backwards. *Where b > K - s*, the arms from s on that are
   not among the last `right` are of one block of R_b that begins with them and has more arms: it is
   below their values in R_{K-s}, as in 1. For the arms before s: a fit to more arms is nowhere
   higher, so that R_b >= R_K there, and the least of R_K there is above pr_{s-1} (`lifts`), the
   highest of pr on this side.
3. *Arms between, before s.* v = lam_i is the largest mean of an interval that contains i (min-max
   formula: i is above all others), hence no less than the largest over y >= i of the least over
   x <= i of the mean of x .. y, which is R_K at i. As in 2 that is above pr_{s-1}.
4. *Arms between, from s on.* The peak has absorbed the blocks of R_{K-1-i} in which they are, from
   the highest to the lowest, which is above v (`lower`). And R_{K-s}, a fit to fewer arms, is
   nowhere lower than R_{K-1-i}. So pr_k > v.
"""

from __future__ import annotations

import math

from armature.families import FamilyRecord
from armature.families.kernels import weighted_divergence
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import kernel
from armature.kernels.vectors import largest
from armature.solver.pooling import Prefixes, count_common, pooled_mean
from armature.structures.oracles.one_peak import best_split, fit_both, scratch_of
from armature.structures.oracles.records import OracleProblem, note_ties

APART = 1e-9  # values that differ by more, relative to the largest mean, do so despite of rounding


@kernel
def peak_fit(
    family: FamilyRecord,
    mu: float,
    w: float,
    left: Prefixes,
    a: int,
    right: Prefixes,
    b: int,
    near: float,
) -> tuple[float, int, int, bool]:
    """The cost of a peak at an arm of mean mu and weight w with a arms to its left, b to its right.

    If the peak is put on one side, and what is then its block is at least as high as all of the
    other side, that fit is the best. If neither side will do, the peak absorbs the highest block
    that exceeds it, on either side, until there is none. Besides: how many arms on the left and on
    the right have the fit of their side alone; and whether all that was absorbed was higher than
    what came of it, by more than `near`.
    """
    if left.mean[a] <= right.mean[b + 1]:
        return left.cost[a] + right.cost[b + 1], a, b + 1, True
    if right.mean[b] <= left.mean[a + 1]:
        return left.cost[a + 1] + right.cost[b], a + 1, b, True
    cost = left.cost[a] + right.cost[b]
    last = math.inf
    while True:  # the peak's block has mean mu, weight w, of arms up to `last`; cost: of all
        m = max(left.mean[a], right.mean[b])
        if m <= mu:
            return cost, a, b, last - mu > near
        last = m
        if left.mean[a] >= right.mean[b]:
            v = left.weight[a]
            a = left.before[a]
        else:
            v = right.weight[b]
            b = right.before[b]
        pooled = pooled_mean(w, mu, v, m)
        cost += weighted_divergence(family, v, m, pooled)
        cost += weighted_divergence(family, w, mu, pooled)
        mu = pooled
        w += v


@kernel
def lifts(long: Prefixes, short: Prefixes, s: int, n: int, near: float) -> bool:
    """True if the fit to a whole run of n arms is, from arm s on, above the n - s arms backwards.

    Then so is each fit to more than s of them: it moves all of those that it has beyond arm s.
    """
    end = n
    while long.before[end] > s:  # the block that ends at `end` begins after arm s
        end = long.before[end]
    return bool(long.mean[end] - short.mean[n - s] > near)


@kernel
def sinks(run: Prefixes, n: int, latest: Ints, near: float) -> bool:
    """True if a block that absorbs others is below the first of them, by more than `near`, always.

    `latest` is room: where the last of the blocks so far ends that begins after so many arms.
    """
    for t in range(n + 1):
        latest[t] = 0
    for t in range(1, n + 1):  # it is so in the fits to fewer than t arms
        first = run.before[t]
        end = latest[first]
        if end > 0 and not run.mean[end] - run.mean[t] > near:
            return False
        latest[first] = t
    return True


@kernel
def challenger_costs(problem: OracleProblem, first: int, second: int, costs: Floats) -> float:
    """A challenger beats j where the peak is at it: O(K) unless valleys are many."""
    family = problem.family
    mu = problem.mu
    w = problem.w
    K = mu.size
    room = scratch_of(problem.work, K)
    fit_both(family, mu, w, room)
    split = best_split(room, K, 1, K - 1, -2)
    # Whether arms stay by chance is not known where values are tied, or where arms have no weight.
    near = APART * largest(mu)
    apart = sinks(room.left, K, room.left_common, near)
    apart = apart and sinks(room.right, K, room.right_common, near)
    for i in range(K):  # apart: and the arms before i have weight
        apart = apart and w[i] > 0.0
    apart_left = apart and lifts(room.right, room.left, K - split, K, near)
    apart_right = apart and lifts(room.left, room.right, split, K, near)
    count_common(room.left, split, K, room.left_common)
    count_common(room.right, K - split, K, room.right_common)
    base = math.inf
    for i in range(K):  # base: the least cost before i
        cost, a, b, lower = peak_fit(family, mu[i], w[i], room.left, i, room.right, K - 1 - i, near)
        costs[i] = cost
        left = room.left_common[a]  # arms that stay as in the best split
        right = room.right_common[b]
        kept = math.inf
        if lower and (apart_left if i < split else apart_right):
            kept = room.left.cost[left] + room.right.cost[right]
        problem.marks[i] = note_ties(max(1, K - 1 - left - right), kept)
        base = min(base, costs[i])
    costs[first] = base
    return base
