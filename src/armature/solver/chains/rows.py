"""Whether linear conditions are a chain: bounds of single means and of neighbours' differences.

What the conditions say is enough, whoever wrote them: each row has one arm, or two with opposite
coefficients, and the pairs of arms make paths. Several paths are one line with free steps between.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from armature.kernels.arrays import Floats, Ints
from armature.solver.chains.nearest import Chain


def chain_of(A: Floats, b: Floats, C: Floats, d: Floats) -> Chain | str:
    """The chain A @ means <= b, C @ means = d; where it is none, the reason."""
    K = A.shape[1]
    rows, right = np.vstack([A, C, -C]), np.concatenate([b, d, -d])
    row, arm = np.nonzero(rows)
    counts = np.bincount(row, minlength=len(rows))
    if counts.size and not (counts.min() >= 1 and counts.max() <= 2):
        return f"a condition has {counts.max()} arms" if counts.max() > 2 else "one has no arm"
    value = rows[row, arm]
    first = np.cumsum(counts) - counts  # where each row begins in `arm`
    singles, pairs = first[counts == 1], first[counts == 2]
    if (value[pairs] != -value[pairs + 1]).any():
        return "a condition on two arms is not about their difference"
    bounds = right[counts == 1] / value[singles]
    above = value[singles] > 0.0
    low, high = np.full(K, -np.inf), np.full(K, np.inf)
    np.minimum.at(high, arm[singles][above], bounds[above])
    np.maximum.at(low, arm[singles][~above], bounds[~above])
    up = np.where(value[pairs] > 0.0, arm[pairs], arm[pairs + 1])
    down = np.where(value[pairs] > 0.0, arm[pairs + 1], arm[pairs])
    order = paths_of(np.minimum(up, down), np.maximum(up, down), K)
    if order is None:
        return "an arm has more than two neighbours, or they go round"
    place = np.empty(K, dtype=np.int64)
    place[order] = np.arange(K)
    most = right[counts == 2] / np.abs(value[pairs])  # of the means: up - down
    rises = place[up] > place[down]
    lo, hi = np.full(K - 1, -np.inf), np.full(K - 1, np.inf)
    np.minimum.at(hi, place[down[rises]], most[rises])
    np.maximum.at(lo, place[up[~rises]], -most[~rises])
    return Chain(order, lo, hi, low[order], high[order])


def turns_of(chains: Sequence[Chain | None]) -> Ints | None:
    """Where each of the chains turns, then which one rises longest and which falls longest.

    None if they are not all alike up to where they turn, and from there on.
    """
    known = [chain for chain in chains if chain is not None]
    if not 2 <= len(known) == len(chains) <= known[0].order.size:
        return None
    last = len(known) - 1
    for longest, shortest in ((last, 0), (0, last)):
        found = [_turn(chain, known[longest], known[shortest]) for chain in known]
        if all(turn >= 0 for turn in found):
            return np.array([*found, longest, shortest], dtype=np.int64)
    return None


def _turn(chain: Chain, before: Chain, after: Chain) -> int:
    """From which difference on a chain is the one `after`, having been `before`; -1: nowhere."""
    differs = np.flatnonzero((chain.lo != after.lo) | (chain.hi != after.hi))
    turn = int(differs[-1]) + 1 if differs.size else 0
    whole = Chain(
        after.order,
        np.concatenate([before.lo[:turn], after.lo[turn:]]),
        np.concatenate([before.hi[:turn], after.hi[turn:]]),
        after.low,
        after.high,
    )
    alike = all(np.array_equal(one, other) for one, other in zip(chain, whole, strict=True))
    return turn if alike else -1


def paths_of(one: Ints, other: Ints, K: int) -> Ints | None:
    """All arms, path after path, where pairs of them are neighbours; None where these make more."""
    neighbours: list[set[int]] = [set() for _ in range(K)]
    for i, k in zip(one.tolist(), other.tolist(), strict=True):
        neighbours[i].add(k)
        neighbours[k].add(i)
    if any(len(near) > 2 for near in neighbours):
        return None
    order: list[int] = []
    seen = [False] * K
    for start in range(K):
        here: int | None = None if seen[start] or len(neighbours[start]) == 2 else start
        while here is not None:
            seen[here] = True
            order.append(here)
            here = next((k for k in neighbours[here] if not seen[k]), None)
    return np.array(order, dtype=np.int64) if len(order) == K else None  # else there is a ring
