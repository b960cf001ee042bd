"""Random numbers of assessments: a generator for each seed and purpose."""

from __future__ import annotations

import numpy as np


def generator(seed: int, number: int) -> np.random.Generator:
    """A generator of its own for each number from 0 to 2^64 - 1.

    >>> a, b = generator(0, 2**63 + 1).random(), generator(0, 2**63 + 2).random()
    >>> a != b
    True
    """
    key = np.array([seed % 2**64, number], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key))
