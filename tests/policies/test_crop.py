"""CROP: what its rows ask for, and the regret that its authors prove."""

from __future__ import annotations

import math

import numpy as np
import pytest

import armature as am
from armature.policies.baselines.crop import Allocations, Scenarios


def scenarios(rows: np.ndarray) -> Scenarios:
    return Scenarios(rows, rows.argmax(axis=1), rows.max(axis=1), np.ones(rows.shape[1]))


def cheating_code(K: int, epsilon: float, size: float) -> np.ndarray:
    """Each of K arms is best in a row, which log2 K more arms spell; or best by twice as much.

    In a row of the second kind, another arm is as good as it would be were it the best.
    """
    digits = round(math.log2(K))
    code = size * np.array([[i >> d & 1 for d in range(digits)] for i in range(K)])
    rows = []
    for best in range(K):
        for second in range(K):
            base = np.full(K, 1.0 - epsilon)
            base[second] = 1.0
            base[best] = 1.0 if best == second else 1.0 + epsilon
            rows.append([*base, *code[best]])
    return np.array(rows)


@pytest.mark.checks("CROP", by="the lower bound, another solver")
def test_a_row_asks_for_what_its_lower_bound_does(rng: np.random.Generator) -> None:
    asked = 0
    for _ in range(20):
        rows = rng.uniform(0.0, 1.0, (12, 4))
        best = int(rows[0].argmax())
        rows[1:9, best] = rows[0, best]
        pulls = Allocations({}, scenarios(rows)).informative(0)
        instance = am.Instance(am.Finite(rows), rows[0])
        bound = am.lower_bound(instance)
        assert pulls @ instance.gaps == pytest.approx(bound.value, rel=1e-5)
        assert pulls[best] == 0.0
        asked += pulls.sum() > 0.0
    assert asked >= 15


def test_what_a_row_falls_back_on(rng: np.random.Generator) -> None:
    """It tells the row from all whose best arm is as good, for less than even pulls do."""
    for _ in range(20):
        rows = np.round(rng.uniform(0.0, 1.0, (10, 3)), 1) + rng.uniform(0.0, 1e-3, (10, 3))
        rows[1:4, rows[0].argmax()] = rows[0].max()
        known = scenarios(rows)
        f = int(rng.integers(10))
        asked = Allocations({}, known)
        pulls = asked.fallback(f)
        told = known.told(f, known.no_worse(f))
        assert (told @ pulls >= 1.0 - 1e-6).all()
        assert (pulls >= np.maximum(asked.informative(f), asked.agreeing(f)) - 1e-9).all()
        gaps = rows[f].max() - rows[f]
        gaps[rows[f].argmax()] = np.sort(gaps)[1]
        if len(told):
            even = 1.0 / told.sum(axis=1).min()
            least = np.maximum(asked.informative(f), asked.agreeing(f))
            assert gaps @ pulls <= gaps @ np.maximum(least, even) + 1e-9


def test_the_cheating_code() -> None:
    """The bound is 2 log2(K) / size^2, as published; no arm but the code and the best matters."""
    for K in (4, 8):
        rows = cheating_code(K, 0.02, 0.5)
        bound = am.lower_bound(am.Instance(am.Finite(rows), rows[0]))
        assert bound.value == pytest.approx(8.0 * math.log2(K), rel=1e-5)
        pulls = Allocations({}, scenarios(rows)).informative(0)
        assert pulls[K:] == pytest.approx(8.0)
        assert not pulls[:K].any()


@pytest.mark.checks("CROP", by="bounded regret where the bound is 0")
def test_bounded_regret() -> None:
    rows = [[0.8, 0.5, 0.4], [0.6, 0.9, 0.4], [0.5, 0.5, 0.7]]
    instance = am.Instance(am.Finite(rows), rows[0], am.Bernoulli())
    assert am.lower_bound(instance).value == 0.0
    results = am.simulate(instance, [am.CROP()], 4000, repetitions=10, seed=1, workers=1)
    regret = results.regret("CROP")[:, results.checkpoints >= 1000].mean(axis=0)
    assert 0.0 < regret[0] == regret[-1] < 60.0


def test_a_row_with_several_best_arms_is_refused() -> None:
    with pytest.raises(am.ArmatureError, match=r"one best arm in each row, and rows\[1\] has"):
        am.Bandit(am.CROP(), am.Finite([[0.1, 0.5], [0.5, 0.5]]))
    with pytest.raises(am.ArmatureError, match="CROP is for Finite structures"):
        am.Bandit(am.CROP(), am.Unimodal(3))
