"""Sorting and selecting indices by key, without allocating and with ties in index order.

NumPy's sorts allocate inside compiled code; these work in the caller's scratch space.
"""

from __future__ import annotations

from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import kernel

RUN = 8


@kernel
def argsort_descending(keys: Floats, order: Ints, buffer: Ints) -> None:
    """order[:n] = the indices 0 .. n-1 with the largest key first: a stable merge sort."""
    n = keys.size
    for start in range(0, n, RUN):
        stop = min(start + RUN, n)
        for i in range(start, stop):
            at = i
            while at > start and keys[order[at - 1]] < keys[i]:
                order[at] = order[at - 1]
                at -= 1
            order[at] = i
    width = RUN
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
