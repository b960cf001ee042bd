"""Random numbers that are a function of where they are used: counter-based streams.

Philox-4x32 with ten rounds (Salmon, Moraes, Dror and Shaw, 2011) turns a key and a counter of four
words into four random words. The key is the seed; the counter says which number of which stream of
which repetition. So nothing depends on the order in which numbers are drawn, and a stream's whole
state is a few integers.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from armature._compile import kernel
from armature.errors import ArmatureError

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

MASK = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
MULTIPLIER_0 = np.uint64(0xD2511F53)
MULTIPLIER_1 = np.uint64(0xCD9E8D57)
STEP_0 = np.uint64(0x9E3779B9)
STEP_1 = np.uint64(0xBB67AE85)
UNIT = 2.0**-53
TWO_PI = 2.0 * math.pi

REWARDS = 0  # what the numbers of a stream are for
DECISIONS = 1


@kernel
def philox(
    c0: int, c1: int, c2: int, c3: int, k0: int, k1: int
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Four random words of 32 bits, from a counter of four words and a key of two."""
    x0, x1, x2, x3 = np.uint64(c0), np.uint64(c1), np.uint64(c2), np.uint64(c3)
    key0, key1 = np.uint64(k0), np.uint64(k1)
    for _ in range(10):
        left = MULTIPLIER_0 * x0
        right = MULTIPLIER_1 * x2
        x0 = (right >> HALF) ^ x1 ^ key0
        x2 = (left >> HALF) ^ x3 ^ key1
        x1 = right & MASK
        x3 = left & MASK
        key0 = (key0 + STEP_0) & MASK
        key1 = (key1 + STEP_1) & MASK
    return x0, x1, x2, x3


@kernel
def unit(high: np.uint64, low: np.uint64) -> float:
    """A number in [0, 1) with 53 random bits, from two words."""
    bits = (high >> np.uint64(5)) * np.uint64(67108864) + (low >> np.uint64(6))
    return float(bits) * UNIT


@kernel
def two_units(c0: int, c1: int, c2: int, c3: int, k0: int, k1: int) -> tuple[float, float]:
    """Two independent numbers in [0, 1)."""
    a, b, c, d = philox(c0, c1, c2, c3, k0, k1)
    return unit(a, b), unit(c, d)


@kernel
def two_normals(u: float, v: float) -> tuple[float, float]:
    """Two independent standard normal numbers from two uniform ones (Box and Muller)."""
    radius = math.sqrt(-2.0 * math.log(1.0 - u))
    return radius * math.cos(TWO_PI * v), radius * math.sin(TWO_PI * v)


class Stream(NamedTuple):
    """A stream of random numbers: [key, key, repetition, purpose, how many blocks were used]."""

    integer: Ints


def make_stream(seed: int, repetition: int, purpose: int) -> Stream:
    """The stream of a seed, a repetition and a purpose, at its beginning."""
    k0, k1 = key_of(seed)
    return Stream(np.array([k0, k1, repetition, purpose, 0], dtype=np.int64))


def key_of(seed: int) -> tuple[int, int]:
    """A seed as two words of 32 bits."""
    if isinstance(seed, bool) or not isinstance(seed, (int, np.integer)) or not 0 <= seed < 2**64:
        raise ArmatureError(f"seed must be an integer from 0 to 2**64 - 1; got {seed!r}.")
    return int(seed) & 0xFFFFFFFF, int(seed) >> 32


@kernel
def next_units(stream: Stream) -> tuple[float, float]:
    """The stream's next two numbers in [0, 1)."""
    s = stream.integer
    block = s[4]
    s[4] = block + 1
    return two_units(block & 0xFFFFFFFF, block >> 32, s[2], s[3], s[0], s[1])


@kernel
def next_unit(stream: Stream) -> float:
    """The stream's next number in [0, 1)."""
    return next_units(stream)[0]


@kernel
def fill_normals(stream: Stream, out: Floats) -> None:
    """Standard normal numbers."""
    for i in range(0, out.size, 2):
        u, v = next_units(stream)
        x, y = two_normals(u, v)
        out[i] = x
        if i + 1 < out.size:
            out[i + 1] = y


@kernel
def next_gamma(stream: Stream, shape: float) -> float:
    """A gamma number of a shape and scale 1 (Marsaglia and Tsang, 2000)."""
    boost = 1.0
    if shape < 1.0:
        boost = (1.0 - next_unit(stream)) ** (1.0 / shape)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        u, v = next_units(stream)
        x, _ = two_normals(u, v)
        cube = 1.0 + c * x
        if cube <= 0.0:
            continue
        cube = cube * cube * cube
        if math.log(1.0 - next_unit(stream)) < 0.5 * x * x + d - d * cube + d * math.log(cube):
            return boost * d * cube
