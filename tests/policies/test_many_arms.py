"""Many arms: what is kept of them, what is refused, and what makes a sweep over them quick."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import armature as am
from armature.kernels.checks import MOST_PAIRED
from armature.policies.policy import make_history
from armature.policies.records import least_divergence
from armature.rounds.play import MOST_TRACED
from armature.storage.registry import POLICIES

POLICY_CLASSES = [cls for cls in POLICIES.values() if issubclass(cls, am.CompiledPolicy)]


def structures(K: int) -> list[am.Structure]:
    features = np.random.default_rng(K).normal(size=(K, 3))
    return [
        am.Unconstrained(K),
        am.Unimodal(K),
        am.Categorised([k % 3 for k in range(K)]),
        am.Sparse(K, 2, 0.4),
        am.Linear(features),
    ]


@pytest.mark.parametrize(
    "family",
    [
        am.Gaussian(0.3),
        am.Bernoulli(),
        am.Bernoulli(scale=5.0),
        am.Bounded(-1.0, 2.0),
        am.Poisson(),
        am.Exponential(),
    ],
    ids=str,
)
def test_what_a_sweep_skips_is_too_far(family: am.Family) -> None:
    """The bound by which arms are skipped is below the divergence, next to the ends as well."""
    low, high = max(family.domain.low, -3.0), min(family.domain.high, 6.0)
    means = np.linspace(low, high, 61)
    inside = [float(x) for x in means if x in family.domain]
    record = family.record_for(2)
    for x in inside:
        for y in inside:
            bound = least_divergence.py_func(record, x, y)
            assert bound <= float(family.divergence(x, y))
    if np.isfinite(family.sub_gaussian_variance):  # it skips: where means are near, by half
        x, y = inside[30], inside[32]
        assert least_divergence.py_func(record, x, y) > 0.3 * float(family.divergence(x, y))


def numbers(value: Any) -> int:
    """How many numbers are in the arrays of a record."""
    if isinstance(value, np.ndarray):
        return int(value.size)
    return sum(map(numbers, value)) if isinstance(value, tuple) else 0


@pytest.mark.parametrize("cls", POLICY_CLASSES, ids=lambda cls: cls.__name__)
def test_memory_is_in_proportion_to_the_arms(cls: type[am.CompiledPolicy]) -> None:
    """Of every policy and each of the structures for many arms, unless it refuses many."""
    policy = cls.examples()[0].with_horizon(1000)
    assert isinstance(policy, am.CompiledPolicy)
    family = am.Gaussian()
    for small, large, many in zip(*map(structures, (500, 1000, MOST_PAIRED + 1)), strict=True):
        if not policy.supports(small, family):
            continue
        if not policy.supports(many, family):
            with pytest.raises(am.ArmatureError, match="at most 5000"):
                policy.check(many, family)
            continue
        few, more = (
            numbers(policy.init(structure, family))
            + numbers(structure.own_side(family))
            + numbers(make_history(structure.n_arms))
            for structure in (small, large)
        )
        assert more <= 2.1 * few, type(small).__name__
        assert not any(small.entry(oracle, family)[1] for oracle in policy.oracles)


def test_pulls_of_many_arms_are_kept_at_the_end(tmp_path: Path) -> None:
    K = MOST_TRACED + 1
    instance = am.Instance(am.Unconstrained(K), np.arange(K) / K)
    results = am.simulate(instance, [am.IMED()], horizon=K + 50, repetitions=2, seed=0)
    assert results.pulls("IMED").shape == (2, 1, K)
    assert (results.pulls("IMED").sum(axis=2) == K + 50).all()
    assert not any(column.startswith("pulls") for column in results.to_frame().columns)
    results.save(tmp_path / "many.parquet")
    again = am.Results.load(tmp_path / "many.parquet")
    assert np.array_equal(again.regret("IMED"), results.regret("IMED"))


def test_the_bounds_refuse_too_many_arms() -> None:
    K = MOST_PAIRED + 1
    instance = am.Instance(am.Unconstrained(K), np.arange(K) / K)
    for bound in (am.lower_bound, am.characteristic_time):
        with pytest.raises(am.ArmatureError, match="at most 5000 arms; there are 5001"):
            bound(instance)
