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

from armature.errors import ArmatureError
from armature.kernels.arrays import Floats, Ints
from armature.kernels.checks import is_whole
from armature.kernels.kernel import kernel

MASK = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
MULTIPLIER_0 = np.uint64(0xD2511F53)
MULTIPLIER_1 = np.uint64(0xCD9E8D57)
STEP_0 = np.uint64(0x9E3779B9)
STEP_1 = np.uint64(0xBB67AE85)
SMALLEST = 2.0**-54  # what stands for 0, the quantile of which is infinite

REWARDS = 0  # what the numbers of a stream are for
DECISIONS = 1
FLOORS = 2  # which rounds are shared out evenly
PROBABILITIES = 3  # decisions that are only imagined
ARRIVALS = 4  # which segments of a table arrive


@kernel
def philox(
    c0: int, c1: int, c2: int, c3: int, k0: int, k1: int
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    """Four random words of 32 bits, from a counter of four words and a key of two."""
    x0, x1, x2, x3 = np.uint64(c0), np.uint64(c1), np.uint64(c2), np.uint64(c3)
    key0, key1 = np.uint64(k0), np.uint64(k1)
    for _ in range(10):  # invariant: all words are below 2^32
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
    return np.int32(high >> np.uint64(5)) * 2.0**-27 + np.int32(low >> np.uint64(6)) * 2.0**-53


@kernel
def two_units(c0: int, c1: int, c2: int, c3: int, k0: int, k1: int) -> tuple[float, float]:
    """Two independent numbers in [0, 1)."""
    a, b, c, d = philox(c0, c1, c2, c3, k0, k1)
    return unit(a, b), unit(c, d)


@kernel
def fill_units(first: int, c1: int, c2: int, c3: int, k0: int, k1: int, out: Floats) -> None:
    """Numbers in [0, 1), two for each value of the counter's first word from `first` on."""
    for i in range(out.size // 2):
        a, b, c, d = philox(first + i, c1, c2, c3, k0, k1)
        out[2 * i] = unit(a, b)
        out[2 * i + 1] = unit(c, d)


@kernel
def normal_quantile(u: float) -> float:
    """The standard normal quantile, to sixteen digits (Wichura, 1988: algorithm AS 241)."""
    q = u - 0.5
    if abs(q) <= 0.425:
        r = 0.180625 - q * q
        top = (((((((2509.0809287301226727 * r + 33430.575583588128105) * r
            + 67265.770927008700853) * r + 45921.953931549871457) * r
            + 13731.693765509461125) * r + 1971.5909503065514427) * r
            + 133.14166789178437745) * r + 3.387132872796366608)  # fmt: skip
        bottom = (((((((5226.495278852854561 * r + 28729.085735721942674) * r
            + 39307.89580009271061) * r + 21213.794301586595867) * r
            + 5394.1960214247511077) * r + 687.1870074920579083) * r
            + 42.313330701600911252) * r + 1.0)  # fmt: skip
        return q * top / bottom
    r = math.sqrt(-math.log(max(min(u, 1.0 - u), SMALLEST)))
    if r <= 5.0:
        r -= 1.6
        top = (((((((7.7454501427834140764e-4 * r + 0.0227238449892691845833) * r
            + 0.24178072517745061177) * r + 1.27045825245236838258) * r
            + 3.64784832476320460504) * r + 5.7694972214606914055) * r
            + 4.6303378461565452959) * r + 1.42343711074968357734)  # fmt: skip
        bottom = (((((((1.05075007164441684324e-9 * r + 5.475938084995344946e-4) * r
            + 0.0151986665636164571966) * r + 0.14810397642748007459) * r
            + 0.68976733498510000455) * r + 1.6763848301838038494) * r
            + 2.05319162663775882187) * r + 1.0)  # fmt: skip
    else:
        r -= 5.0
        top = (((((((2.01033439929228813265e-7 * r + 2.71155556874348757815e-5) * r
            + 0.0012426609473880784386) * r + 0.026532189526576123093) * r
            + 0.29656057182850489123) * r + 1.7848265399172913358) * r
            + 5.4637849111641143699) * r + 6.6579046435011037772)  # fmt: skip
        bottom = (((((((2.04426310338993978564e-15 * r + 1.4215117583164458887e-7) * r
            + 1.8463183175100546818e-5) * r + 7.868691311456132591e-4) * r
            + 0.0148753612908506148525) * r + 0.13692988092273580531) * r
            + 0.59983220655588793769) * r + 1.0)  # fmt: skip
    return top / bottom if q > 0.0 else -top / bottom


class Source(NamedTuple):
    """The source of a block of rewards: more uniform numbers are to be had for each of them."""

    first: int  # the number of the block's first reward
    arm: int
    repetition: int
    key0: int
    key1: int


@kernel
def more_units(source: Source, i: int, attempt: int) -> tuple[float, float]:
    """Two uniform numbers for reward i of a block; each attempt has numbers of its own."""
    purpose = REWARDS + (attempt << 8)
    return two_units(
        source.first + i, source.arm, source.repetition, purpose, source.key0, source.key1
    )


class Stream(NamedTuple):
    """A stream of random numbers: [key, key, repetition, purpose, how many blocks were used]."""

    integer: Ints


def make_stream(seed: int, repetition: int, purpose: int) -> Stream:
    """The stream of a seed, a repetition and a purpose, at its beginning."""
    k0, k1 = key_of(seed)
    return Stream(np.array([k0, k1, repetition, purpose, 0], dtype=np.int64))


def key_of(seed: int) -> tuple[int, int]:
    """A seed as two words of 32 bits."""
    if not (is_whole(seed) and 0 <= seed < 2**64):
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
    s = stream.integer
    n = out.size
    block = s[4]
    s[4] = block + (n + 1) // 2
    fill_units(block & 0xFFFFFFFF, block >> 32, s[2], s[3], s[0], s[1], out)
    if n % 2 == 1:
        last = block + n // 2
        out[n - 1] = two_units(last & 0xFFFFFFFF, last >> 32, s[2], s[3], s[0], s[1])[0]
    for i in range(n):
        out[i] = normal_quantile(out[i])


@kernel
def next_gamma(stream: Stream, shape: float) -> float:
    """A gamma number of a shape and scale 1 (Marsaglia and Tsang, 2000)."""
    boost = 1.0
    if shape < 1.0:
        boost = (1.0 - next_unit(stream)) ** (1.0 / shape)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:  # invariant: nothing of the attempts before is kept
        u, v = next_units(stream)
        x = normal_quantile(u)
        cube = 1.0 + c * x
        if cube <= 0.0:
            continue
        cube = cube * cube * cube
        if math.log(1.0 - v) < 0.5 * x * x + d - d * cube + d * math.log(cube):
            return boost * d * cube


def generator(seed: int, number: int) -> np.random.Generator:
    """A generator of NumPy's, another one for each number from 0 to 2^64 - 1.

    >>> a, b = generator(0, 2**63 + 1).random(), generator(0, 2**63 + 2).random()
    >>> a != b
    True
    """
    key = np.array([seed % 2**64, number], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key))
