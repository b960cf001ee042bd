"""How work is cut into blocks and dealt to shards: every repetition is somebody's, once."""

from __future__ import annotations

import itertools
import time
from pathlib import Path

import numpy as np
import pytest
from folders import SPEC, Runner

import armature as am
from armature.experiments.blocks import (
    LARGEST,
    LEAST_SECONDS,
    MOST_BYTES,
    MOST_SECONDS,
    Shard,
    block_size,
    cut,
    seconds_for,
)
from armature.experiments.simulation import SimulationPlan, seconds_of_repetition
from armature.rounds.play import checkpoints_up_to


def test_a_block_is_as_large_as_time_and_memory_allow() -> None:
    rng = np.random.default_rng(0)
    limited = set()
    for _ in range(300):
        seconds, n_bytes = 10.0 ** rng.uniform(-7, 3), int(10 ** rng.uniform(2, 9))
        size = block_size(seconds, n_bytes)
        assert size.bit_count() == 1  # a power of 2
        within = [n * seconds <= MOST_SECONDS and n * n_bytes <= MOST_BYTES and n <= LARGEST
                  for n in (size, 2 * size)]  # fmt: skip
        assert within == [True, False] or (size == 1 and not any(within))
        if MOST_SECONDS / seconds <= min(MOST_BYTES / n_bytes, LARGEST) and size > 1:
            assert 20.0 <= size * seconds <= 60.0
            limited.add("time")
        limited.add("nothing" if within[0] else "one is too much")
    assert limited == {"time", "nothing", "one is too much"}


def test_blocks_are_shorter_where_workers_would_wait_for_the_last() -> None:
    for total, workers in ((10.0, 2), (300.0, 8), (1e7, 100), (0.0, 3)):
        seconds = seconds_for(total, workers)
        assert LEAST_SECONDS <= seconds <= MOST_SECONDS
        if LEAST_SECONDS < seconds < MOST_SECONDS:
            assert total / seconds == pytest.approx(4 * workers)


def test_a_cut_loses_nothing() -> None:
    rng = np.random.default_rng(1)
    for _ in range(100):
        size = int(2 ** rng.integers(0, 6))
        wanted = sorted(rng.choice(100, rng.integers(0, 100), replace=False).tolist())
        blocks = cut(wanted, size)
        assert [r for block in blocks for r in range(*block)] == wanted
        assert all(first // size == (past - 1) // size for first, past in blocks)
        for (_, past), (following, _) in itertools.pairwise(blocks):
            assert following != past or past % size == 0  # no cut without a reason


@pytest.mark.parametrize("count", [1, 2, 3, 7, 40])
def test_every_repetition_is_dealt_once(count: int) -> None:
    rng = np.random.default_rng(count)
    jobs = rng.integers(1, 30, 20).tolist()
    hands = [Shard(number, count).deal(jobs) for number in range(1, count + 1)]
    for job, R in enumerate(jobs):
        dealt = sorted(r for hand in hands for block in hand[job] for r in range(*block))
        assert dealt == list(range(R))
        sizes = [past - first for hand in hands for first, past in hand[job]]
        assert max(sizes) - min(sizes) <= 1
    cards = [sum(map(len, hand)) for hand in hands]
    assert max(cards) - min(cards) <= 1


@pytest.mark.parametrize("text", ["", "3", "0/4", "5/4", "-1/4", "1/0", "1.0/4", "a/b", "1/2/3"])
def test_what_is_no_shard(text: str) -> None:
    with pytest.raises(am.ArmatureError, match=r"no shard|written as 2/8"):
        Shard.parse(text)


class Slow(am.PythonPolicy):
    """Takes four seconds for each of the first 16 rounds and one for each later one."""

    starts_with_each_arm = False

    def choose(self, state, problem, history, rng):
        Slow.clock += 4.0 if Slow.rounds < 16 else 1.0
        Slow.rounds += 1
        return 0


@pytest.mark.parametrize(("horizon", "enough"), [(1000, 70.0), (1000, 1.0), (20, 1e9), (5, 1e9)])
def test_the_measurement(monkeypatch: pytest.MonkeyPatch, horizon: int, enough: float) -> None:
    """8 rounds at first, then as many as there were, until enough is seen."""
    Slow.clock, Slow.rounds = 0.0, 0
    monkeypatch.setattr(time, "perf_counter", lambda: Slow.clock)
    instance = am.Instance(am.Unconstrained(2), [0.0, 1.0])
    found = seconds_of_repetition(Slow(), instance, 0, checkpoints_up_to(horizon), enough)
    expected = {
        (1000, 70.0): 16 * 4.0 + 16 * 1.0 + (1000 - 32) * 1.0,
        (1000, 1.0): 1000 * 4.0,
        (20, 1e9): 16 * 4.0 + 4.0,
        (5, 1e9): 5 * 4.0,
    }
    assert found == expected[horizon, enough]


def test_parts_are_blocks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Repetitions that are said to take 10 s are kept by fours, slower ones one by one."""
    seconds = {"UCB": 10.0, "UCB(width=0.5)": 100.0}
    monkeypatch.setattr(SimulationPlan, "seconds", lambda _, policy: seconds[policy.name])
    Runner(monkeypatch)(tmp_path, SPEC)
    ranges: dict[str, list[tuple[int, int]]] = {}
    for path in sorted((tmp_path / "parts").iterdir()):
        key, first, past = path.name.removesuffix(".part").split("-")
        ranges.setdefault(key, []).append((int(first), int(past)))
    assert sorted(ranges.values()) == [
        [(r, r + 1) for r in range(12)],
        [(0, 4), (4, 8), (8, 12)],
    ]
