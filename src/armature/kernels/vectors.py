"""Vectors: copying, filling, and sorting indices by key, in the caller's scratch space.

All are loops: array assignment takes Numba seconds to compile, and NumPy's sorts allocate inside
compiled code. Ties stay in the order of their indices.
"""

from __future__ import annotations

from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import kernel


@kernel
def copy(source: Floats, target: Floats) -> None:
    """target = source."""
    for i in range(source.size):
        target[i] = source[i]


@kernel
def fill(target: Floats, value: float) -> None:
    """target = value, everywhere."""
    for i in range(target.size):
        target[i] = value


@kernel
def diagonal(target: Floats, value: float) -> None:
    """target = value times the identity."""
    n = target.shape[0]
    for a in range(n):
        for b in range(n):
            target[a, b] = value if a == b else 0.0


@kernel
def largest(values: Floats) -> float:
    """The largest absolute value."""
    size = 0.0
    for i in range(values.size):
        size = max(size, abs(values[i]))
    return size


RUN = 8


@kernel
def argsort_descending(keys: Floats, order: Ints, buffer: Ints) -> None:
    """order[:n] = the indices 0 .. n-1 with the largest key first: a stable merge sort."""
    n = keys.size
    for start in range(0, n, RUN):
        stop = min(start + RUN, n)
        for i in range(start, stop):
            at = i  # invariant: order[start:i] is sorted, but for a gap at `at`
            while at > start and keys[order[at - 1]] < keys[i]:
                order[at] = order[at - 1]
                at -= 1
            order[at] = i
    width = RUN  # invariant: runs of this length, from the first index on, are sorted
    while width < n:
        for start in range(0, n, 2 * width):
            middle = min(start + width, n)
            stop = min(start + 2 * width, n)
            if middle < stop and keys[order[middle - 1]] < keys[order[middle]]:
                merge(keys, order, buffer, start, middle, stop)
        width *= 2


@kernel
def merge(keys: Floats, order: Ints, buffer: Ints, start: int, middle: int, stop: int) -> None:
    """Merge the sorted runs order[start:middle] and order[middle:stop]."""
    for i in range(start, middle):
        buffer[i] = order[i]
    # Invariant: order[start:at] holds the largest of both runs in order; buffer[left:middle] and
    # order[right:stop] are left, and `at` never reaches `right` while the former is not empty.
    left = start
    right = middle
    at = start
    while left < middle:
        if right < stop and keys[order[right]] > keys[buffer[left]]:
            order[at] = order[right]
            right += 1
        else:
            order[at] = buffer[left]
            left += 1
        at += 1


@kernel
def select_largest(keys: Floats, order: Ints, n: int, m: int) -> None:
    """Rearrange the indices order[:n] so that the first m have the largest keys: O(n) mostly."""
    low = 0
    high = n - 1 if 0 < m < n else 0
    # Invariant: keys before `low` are at least all others, those after `high` at most.
    while low < high:
        middle = (low + high) // 2
        a = keys[order[low]]
        b = keys[order[middle]]
        c = keys[order[high]]
        pivot = max(min(a, b), min(max(a, b), c))
        i = low
        k = high
        while i <= k:
            while keys[order[i]] > pivot:
                i += 1
            while keys[order[k]] < pivot:
                k -= 1
            if i <= k:
                order[i], order[k] = order[k], order[i]
                i += 1
                k -= 1
        if m <= k:
            high = k
        elif m > i:
            low = i
        else:
            return
