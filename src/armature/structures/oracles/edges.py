"""Trees over the arms, told by their edges, and the orders that neighbours can have.

An *orientation* says of each edge which of its arms is at least as good as the other. Its peaks are
the arms that are at least as good as all of their neighbours.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from armature.errors import ArmatureError
from armature.kernels.arrays import Ints
from armature.kernels.checks import checked_integer, checked_list, checked_n_arms

Edges = tuple[tuple[int, int], ...]


def checked_tree(edges: Sequence[Sequence[int]]) -> Edges:
    """Pairs of arms that connect all arms without a circle, or an error."""
    pairs = []
    for number, edge in enumerate(checked_list(edges, "edges")):
        if len(checked_list(edge, f"edges[{number}]")) != 2:
            raise ArmatureError(f"edges[{number}] = {edge!r} must be a pair of arms.")
        i, k = (checked_integer(arm, f"edges[{number}]") for arm in edge)
        pairs.append((i, k))
    n_arms = checked_n_arms(len(pairs) + 1)
    if sorted(arms_before(pairs, 0)) != list(range(n_arms)):
        raise ArmatureError(
            f"the {len(pairs)} edges {list(pairs)} are not a tree over the arms 0 to "
            f"{n_arms - 1}: they must connect all of them, without a circle."
        )
    return tuple(pairs)


def neighbours_of(edges: Iterable[tuple[int, int]]) -> dict[int, list[int]]:
    """The neighbours of each arm."""
    near: dict[int, list[int]] = {}
    for i, k in edges:
        near.setdefault(i, []).append(k)
        near.setdefault(k, []).append(i)
    return near


def arms_before(edges: Iterable[tuple[int, int]], root: int) -> dict[int, int]:
    """Each arm that can be reached from a root, with the arm before it on the way; itself first."""
    near = neighbours_of(edges)
    before = {root: root}
    waiting = [root]
    while waiting:
        here = waiting.pop()
        for there in near.get(here, ()):
            if there not in before:
                before[there] = here
                waiting.append(there)
    return before


def lay_out(edges: Edges) -> Ints:
    """The arrays that `solver.tree_pooling.tree_of` reads."""
    pairs = np.array([*edges, *((k, i) for i, k in edges)], dtype=np.int64)
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    start = np.searchsorted(pairs[:, 0], np.arange(len(edges) + 2))
    number = {(i, k): e for e, (i, k) in enumerate(pairs.tolist())}
    back = [number[k, i] for i, k in pairs.tolist()]
    away = [number[before, arm] for arm, before in arms_before(edges, 0).items() if arm != before]
    order = [*reversed(away), *(back[e] for e in away)]  # `away` has an edge after those before it
    return np.concatenate([start, pairs[:, 1], back, order]).astype(np.int64)


def n_orientations(edges: Edges, peaks: int) -> int:
    """The number of orientations with at most so many peaks."""
    near = neighbours_of(edges)
    before = arms_before(edges, 0)
    peaks = min(peaks, len(before))
    # [n]: of the branch of an arm, with n peaks, if the arm before it is below it, or above
    below: dict[int, list[int]] = {}
    above: dict[int, list[int]] = {}
    for v in reversed(before):  # those behind v are there
        behind = [c for c in near[v] if before[c] == v and c != v and c != before[v]]
        lower = [1] + [0] * peaks  # no arm behind v is above it
        any_order = lower
        for c in behind:
            both = [x + y for x, y in zip(above[c], below[c], strict=True)]
            lower = _product(lower, above[c])
            any_order = _product(any_order, both)
        above[v] = any_order
        below[v] = [x - y for x, y in zip(any_order, lower, strict=True)]
        below[v] = [x + y for x, y in zip(below[v], [0, *lower[:-1]], strict=True)]
    return sum(below[0])


def _product(one: list[int], other: list[int]) -> list[int]:
    """The number of pairs with so many peaks in all."""
    return [sum(one[i] * other[n - i] for i in range(n + 1)) for n in range(len(one))]


def orientations(
    near: dict[int, list[int]], v: int, before: int, is_below: bool, peaks: int
) -> Iterator[tuple[Edges, int]]:
    """Orientations of the branch of v as pairs (lower, higher), and how many peaks are in it.

    There are at most so many peaks. `is_below` says whether the arm before v is at least as good.
    """
    behind = [c for c in near[v] if c != before]
    for n_higher in range(min(len(behind), peaks) + 1):  # there is a peak behind each of these
        for higher in itertools.combinations(behind, n_higher):
            own = int(not is_below and not higher)
            if own + n_higher <= peaks:
                yield from _joined(near, v, behind, frozenset(higher), own, peaks)


def _joined(
    near: dict[int, list[int]],
    v: int,
    behind: list[int],
    higher: frozenset[int],
    found: int,
    peaks: int,
) -> Iterator[tuple[Edges, int]]:
    """The same for some of the arms behind v, of which some are higher; `found` are elsewhere."""
    if not behind:
        yield (), found
        return
    first, *others = behind
    later = len(higher.intersection(others))
    edge = (v, first) if first in higher else (first, v)
    for orders, n in orientations(near, first, v, first not in higher, peaks - found - later):
        for more, total in _joined(near, v, others, higher, found + n, peaks):
            yield (edge, *orders, *more), total
