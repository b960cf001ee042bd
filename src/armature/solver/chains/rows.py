"""Whether linear conditions are a chain: bounds of single means, and of neighbours by each other.

What the conditions say is enough, whoever wrote them: each row has one arm, or two with opposite
signs, and the pairs of arms make paths. Several paths are one line with free steps between.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from armature.kernels.arrays import Floats, Ints
from armature.solver.chains.chain import Chain

WIDEST = 1e9  # how much more one arm may move than another that it is tied to


class Side(NamedTuple):
    """Bounds of arms by the arms before them on the line, from above or from below."""

    bound: Floats  # (K - 1,)
    factor: Floats
    floor: Floats  # (K,): from which means of the arms on they are all there is


def even_chain(order: Ints, lo: Floats, hi: Floats, low: Floats, high: Floats) -> Chain:
    """A chain of differences."""
    none = np.empty(0)
    return Chain(order, lo, hi, low, high, none, none, none)


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
    if (value[pairs] * value[pairs + 1] >= 0.0).any():
        return "a condition adds two arms up"
    bounds = right[counts == 1] / value[singles]
    above = value[singles] > 0.0
    low, high = np.full(K, -np.inf), np.full(K, np.inf)
    np.minimum.at(high, arm[singles][above], bounds[above])
    np.maximum.at(low, arm[singles][~above], bounds[~above])
    order = paths_of(
        np.minimum(arm[pairs], arm[pairs + 1]), np.maximum(arm[pairs], arm[pairs + 1]), K
    )
    if order is None:
        return "an arm has more than two neighbours, or they go round"
    place = np.empty(K, dtype=np.int64)
    place[order] = np.arange(K)
    swapped = place[arm[pairs]] > place[arm[pairs + 1]]
    early, late = np.where(swapped, pairs + 1, pairs), np.where(swapped, pairs, pairs + 1)
    at = place[arm[early]]
    size = np.abs(value[late])
    most, by = right[counts == 2] / size, np.abs(value[early]) / size
    is_upper = value[late] > 0.0
    lows, highs = low[order], high[order]
    upper = _side(at[is_upper], most[is_upper], by[is_upper], lows)
    lower = _side(at[~is_upper], -most[~is_upper], by[~is_upper], lows, -1.0)
    floor = np.maximum(upper.floor, lower.floor)
    if np.isinf(floor).all() and (upper.factor == 1.0).all() and (lower.factor == 1.0).all():
        return even_chain(order, lower.bound, upper.bound, lows, highs)
    for factors in (upper.factor, lower.factor):
        path = np.concatenate([[0.0], np.cumsum(np.log(factors))])
        if path.max() - path.min() > np.log(WIDEST):
            return f"an arm moves more than {WIDEST:g} times as far as one that it is tied to"
    none = np.empty(0)
    floor = none if np.isinf(floor).all() else floor
    return Chain(order, lower.bound, upper.bound, lows, highs, lower.factor, upper.factor, floor)


def _side(at: Ints, bound: Floats, by: Floats, low: Floats, sign: float = 1.0) -> Side:
    """sign * lam[at + 1] <= sign * (bound + by * lam[at]): of several the one for large means.

    What else there is holds from a floor on; none is noted where `low` is that high.
    """
    K = low.size
    side = Side(np.full(K - 1, sign * np.inf), np.ones(K - 1), np.full(K, -np.inf))
    known = np.zeros(K - 1, dtype=bool)
    for i, one, factor in zip(at.tolist(), bound.tolist(), by.tolist(), strict=True):
        other, its = float(side.bound[i]), float(side.factor[i])
        if known[i] and factor != its:
            crossing = (other - one) / (factor - its)
            if crossing > low[i]:
                side.floor[i] = max(side.floor[i], crossing)
            if sign * factor > sign * its:
                continue
        elif known[i] and sign * other <= sign * one:
            continue
        side.bound[i], side.factor[i], known[i] = one, factor, True
    return side


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
    of_chain, of_before, of_after = (_steps(one) for one in (chain, before, after))
    differs = np.flatnonzero((of_chain != of_after).any(axis=0))
    turn = int(differs[-1]) + 1 if differs.size else 0
    whole = np.concatenate([of_before[:, :turn], of_after[:, turn:]], axis=1)
    alike = all(
        np.array_equal(one, other)
        for one, other in (
            (of_chain, whole),
            (chain.order, after.order),
            (chain.low, after.low),
            (chain.high, after.high),
        )
    )
    return turn if alike else -1


def _steps(chain: Chain) -> Floats:
    """How neighbours bound each other, a column for each pair."""
    ones = np.ones(chain.lo.size)
    factors = [chain.down, chain.up] if chain.up.size else [ones, ones]
    return np.stack([chain.lo, chain.hi, *factors])


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
