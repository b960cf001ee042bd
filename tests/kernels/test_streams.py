"""Random numbers: published vectors, and distributions at a stated level.

Every distribution test has a p-value under the null. With LEVEL = 1e-4 a correct library fails a
test for one seed in 10,000, and the seeds are fixed. `families/test_families.py` tests rewards.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special, stats

import armature as am
from armature.kernels.streams import (
    DECISIONS,
    fill_normals,
    fill_units,
    make_stream,
    next_gamma,
    next_units,
    normal_quantile,
    philox,
)

LEVEL = 1e-4
FULL = 0xFFFFFFFF


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((FULL,) * 4, (FULL,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_published_vectors(counter, key, words) -> None:
    """The known answers that come with the authors' Random123."""
    assert tuple(int(word) for word in philox(*counter, *key)) == words


def test_the_normal_quantile() -> None:
    u = np.concatenate([np.linspace(1e-3, 0.999, 999), 10.0 ** -np.arange(3.0, 16.0)])
    ours = np.array([normal_quantile(float(x)) for x in u])
    assert ours == pytest.approx(special.ndtri(u), rel=1e-14)
    assert normal_quantile(0.0) == pytest.approx(special.ndtri(2.0**-54))


def test_uniform_numbers() -> None:
    out = np.zeros(100_000)
    fill_units(0, 1, 2, 3, 4, 5, out)
    assert stats.kstest(out, "uniform").pvalue > LEVEL
    assert abs(np.corrcoef(out[:-1], out[1:])[0, 1]) < 5.0 / np.sqrt(out.size)
    stream = make_stream(2**63 + 5, 1, DECISIONS)
    pairs = np.array([next_units(stream) for _ in range(20_000)])
    assert stats.kstest(pairs.ravel(), "uniform").pvalue > LEVEL
    grid = np.histogram2d(*pairs.T, bins=10, range=[[0, 1], [0, 1]])[0]
    assert stats.chisquare(grid.ravel()).pvalue > LEVEL


def test_streams_are_apart() -> None:
    """Other seeds, repetitions and purposes give other numbers."""
    draws = set()
    for seed in (0, 1, 2**32, 2**33):
        for repetition in (0, 1):
            for purpose in (0, 1):
                draws.add(next_units(make_stream(seed, repetition, purpose)))
    assert len(draws) == 16


@pytest.mark.parametrize("n", [1, 2, 7])
def test_normal_numbers(n: int) -> None:
    stream, out, numbers = make_stream(3, 0, DECISIONS), np.zeros(n), []
    for _ in range(20_000 // n):
        fill_normals(stream, out)
        numbers.append(out.copy())
    assert stats.kstest(np.concatenate(numbers), "norm").pvalue > LEVEL


@pytest.mark.parametrize("shape", [0.3, 1.0, 2.5, 400.0])
def test_gamma_numbers(shape: float) -> None:
    stream = make_stream(5, 0, DECISIONS)
    numbers = [next_gamma(stream, shape) for _ in range(20_000)]
    assert stats.kstest(numbers, stats.gamma(shape).cdf).pvalue > LEVEL


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "1", True])
def test_bad_seeds(seed) -> None:
    with pytest.raises(am.ArmatureError, match="seed must be an integer from 0"):
        make_stream(seed, 0, DECISIONS)
