"""The simulated cluster of `benchmarks/scale.py`, where one knows what must come out."""

from __future__ import annotations

import pytest

from benchmarks.cluster_model import Costs, Estimate, run_model

FREE = Costs(rounds_per_second=1e6, hand_over=0.0, start=0.0)


def shares(estimate: Estimate) -> float:
    return (
        estimate.efficiency
        + estimate.starting
        + estimate.waiting
        + estimate.ending
        + estimate.collecting
    )


def test_a_cluster_without_costs_is_as_fast_as_all_its_cores() -> None:
    """8 jobs of 1000 repetitions of a second: 2000 s on 4 cores."""
    estimate = run_model(FREE, jobs=8, repetitions=1000, horizon=1_000_000, cores=4)
    assert 2000.0 <= estimate.seconds < 2000.0 * 1.01
    assert estimate.efficiency * estimate.seconds * 4 == pytest.approx(8000.0)
    assert estimate.efficiency > 0.99


def test_one_core_only_adds_up() -> None:
    costs = Costs(1e6, hand_over=0.0, start=7.0, collect=0.5)
    estimate = run_model(costs, jobs=1, repetitions=100, horizon=1_000_000, cores=1)
    assert estimate.seconds == pytest.approx(7.0 + 100.0 + 0.5 * 100)
    assert estimate.ending == 0.0


def test_points_are_put_together_at_the_same_time() -> None:
    """100 jobs of 5 points, 10 repetitions each: 200 to collect for each point, 2 s each."""
    costs = Costs(1e6, hand_over=0.0, start=0.0, collect=0.01)
    sizes = {"jobs": 100, "repetitions": 10, "horizon": 1_000_000}
    for cores, seconds in ((1, 10.0), (2, 6.0), (5, 2.0), (50, 2.0)):
        estimate = run_model(costs, **sizes, cores=cores, points=5)
        assert estimate.collecting * estimate.seconds == pytest.approx(seconds)


def test_the_program_that_hands_over_is_the_limit_where_it_must_be() -> None:
    """A repetition is a block of 40 s; ten are handed over in a second: 400 cores are busy."""
    costs = Costs(1e6, hand_over=0.1, start=0.0)
    estimate = run_model(costs, jobs=1, repetitions=20_000, horizon=40_000_000, cores=2000)
    assert estimate.seconds == pytest.approx(20_000 * 0.1, rel=0.05)
    assert estimate.efficiency == pytest.approx(400 / 2000, rel=0.05)
    assert estimate.limit == "the program that hands over"
    half = run_model(costs, jobs=1, repetitions=20_000, horizon=40_000_000, cores=200)
    assert half.efficiency > 0.95


@pytest.mark.parametrize("spread", [0.0, 0.3])
@pytest.mark.parametrize("cores", [1, 7, 300])
def test_all_time_is_accounted_for(cores: int, spread: float) -> None:
    costs = Costs(1e6, hand_over=0.01, start=3.0, spread=spread, collect=0.001)
    estimate = run_model(costs, jobs=3, repetitions=500, horizon=2_000_000, cores=cores)
    assert shares(estimate) == pytest.approx(1.0, abs=1e-9)
