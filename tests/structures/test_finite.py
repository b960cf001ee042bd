"""Scenarios: every answer against a look at all rows, one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import linprog

import armature as am
from armature.structures.oracles.model import (
    challenger_costs,
    make_model,
    nearest_alternative,
    nearest_challenger,
    nearest_with_best,
    projection,
)

FAMILIES = (
    am.Gaussian(2.0),
    am.Gaussian([0.5, 1.0, 2.0, 3.0, 0.7]),
    am.Bernoulli(),
    am.Bernoulli(scale=[1.0, 1.5, 2.0, 1.2, 1.1]),
    am.Bounded(-0.5, 1.5),
    am.Poisson(),
    am.Exponential(),
)
K = 5


def random_rows(rng: np.random.Generator, n: int) -> np.ndarray:
    """Rows with ties within and between them."""
    rows = np.round(rng.uniform(0.05, 0.95, (n, K)), 1)
    rows[:, 0] += rng.uniform(0.0, 0.05, n)
    rows[: n // 3, 1] = rows[: n // 3].max(axis=1)  # several best arms in some
    return np.unique(rows, axis=0)


def costs_of(
    rows: np.ndarray, family: am.Family, means: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """What each row costs, by the definition."""
    each = [family.for_arm(k) for k in range(K)]
    return np.array(
        [
            sum(
                w * own.divergence(float(x), float(y))
                for own, w, x, y in zip(each, weights, means, row, strict=True)
                if w > 0.0
            )
            for row in rows
        ]
    )


@pytest.mark.checks("Finite", by="a look at all rows")
@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_every_oracle_is_a_look_at_all_rows(family: am.Family, rng: np.random.Generator) -> None:
    for _ in range(25):
        rows = random_rows(rng, int(rng.integers(1, 30)))
        M = am.Finite(rows)
        means, weights = rng.uniform(0.05, 0.95, K), rng.integers(0, 9, K).astype(float)
        costs, is_best = costs_of(rows, family, means, weights), rows == rows.max(axis=1)[:, None]
        j, k = (int(arm) for arm in rng.permutation(K)[:2])

        def least(counts: np.ndarray, costs: np.ndarray = costs) -> float:
            return float(costs[counts].min(initial=math.inf))

        def check(fit: am.Fit, counts: np.ndarray, costs=costs, rows=rows, least=least) -> None:
            assert fit.cost == pytest.approx(least(counts), rel=1e-12, abs=1e-13)
            if fit.cost < math.inf:
                chosen = counts & (rows == fit.means).all(axis=1)
                assert least(chosen) == pytest.approx(fit.cost, rel=1e-12, abs=1e-13)
            else:
                assert np.isnan(fit.means).all()

        asked = (means, weights)
        all_rows = np.full(len(rows), True)
        check(M.project(*asked, family), all_rows)
        check(M.nearest_alternative(*asked, j, family), ~is_best[:, j])
        behind = ~is_best[:, j] & (rows[:, k] >= rows[:, j])
        check(M.alt_min(*asked, j, k, family), behind)
        beaten = is_best[:, k] & ~is_best[:, j]
        check(M.challenger_min(*asked, j, k, family), beaten)
        check(M.nearest_with_best(*asked, j, family), is_best[:, j])
        cells = M.cells(j, *asked, family)
        assert [cell.number for cell in cells] == np.flatnonzero(~is_best[:, j]).tolist()
        for cell in cells:
            one = np.arange(len(rows)) == cell.number
            check(M.cell_min(*asked, cell, family), one)
        found = M.challenger_costs(*asked, j, family)
        expected = [least(is_best[:, i] & ~is_best[:, j]) for i in range(K)]
        expected[j] = least(all_rows)
        assert found == pytest.approx(expected, rel=1e-12, abs=1e-13)


def test_highest_means_in_a_box(rng: np.random.Generator) -> None:
    seen = set()
    for _ in range(50):
        rows = random_rows(rng, 20)
        low, high = rng.uniform(-0.3, 0.4, K), rng.uniform(0.5, 1.3, K)
        inside = rows[((rows >= low) & (rows <= high)).all(axis=1)]
        found = am.Finite(rows).highest(low, high)
        seen.add(found is None)
        if found is None:
            assert not len(inside)
        else:
            assert (found == inside.max(axis=0)).all()
    assert seen == {False, True}


@pytest.mark.parametrize("family", [am.Gaussian(2.0), am.Bernoulli()], ids=str)
def test_what_was_asked_before_changes_no_digit(
    family: am.Family, rng: np.random.Generator
) -> None:
    """One workspace for a whole run beside a new one for each question."""
    M = am.Finite(rng.uniform(0.05, 0.95, (40, K)))
    kept = make_model(M, family)
    N, sums = np.zeros(K), np.zeros(K)
    for t in range(60):
        arm = int(rng.integers(K))
        N[arm] += 1.0
        sums[arm] += rng.random() < 0.4
        means = np.divide(sums, N, out=np.zeros(K), where=N > 0.0)
        if t % 7 == 0:  # another problem in between
            projection(kept, rng.uniform(0.1, 0.9, K), np.ones(K), np.empty(K))
        answers = []
        for model in (kept, make_model(M, family)):
            lam = np.empty((5, K))
            costs = [
                projection(model, means, N, lam[0]),
                nearest_alternative(model, means, N, 0, lam[1]),
                nearest_challenger(model, means, N, 0, 2, lam[2]),
                nearest_with_best(model, means, N, 3, lam[3]),
            ]
            challenger_costs(model, means, N, 1, 0.0, lam[4], np.empty(K))
            answers.append((costs, lam.tobytes()))
        assert answers[0] == answers[1]


@pytest.mark.checks("Finite", "lower_bound", by="linear programs over all rows")
@pytest.mark.parametrize("family", [am.Gaussian(), am.Bernoulli(), am.Poisson()], ids=str)
def test_lower_bounds_are_linear_programs(family: am.Family, rng: np.random.Generator) -> None:
    """A constraint for each row with another best arm that agrees on the truth's."""
    zero = 0
    for _ in range(20):
        rows = rng.uniform(0.05, 0.95, (12, K))
        truth = int(rng.integers(12))
        best = int(rows[truth].argmax())
        same = rng.random(12) < rng.choice([0.0, 0.5, 1.0])
        rows[same, best] = rows[truth, best]
        instance = am.Instance(am.Finite(rows), rows[truth], family)
        bound = am.lower_bound(instance)
        told = np.asarray(family.divergence(np.tile(rows[truth], (12, 1)), rows))
        others = rows.argmax(axis=1) != best
        binding = others & (rows[:, best] == rows[truth, best])
        gaps = instance.gaps
        result = linprog(gaps, -told[binding], -np.ones(binding.sum()))
        assert bound.value == pytest.approx(result.fun, rel=2e-6, abs=1e-12)
        zero += bound.value == 0.0
        assert (told[binding] @ bound.pulls >= 1.0 - 1e-6).all()
        time = am.characteristic_time(instance)
        result = linprog(np.ones(K), -told[others], -np.ones(others.sum()))
        assert time.value == pytest.approx(result.fun, rel=2e-6)
    assert 0 < zero < 20


def test_where_nothing_has_another_best_arm_there_is_nothing_to_lose() -> None:
    M = am.Finite([[0.9, 0.1], [0.5, 0.4]])
    instance = am.Instance(M, [0.5, 0.4])
    assert am.lower_bound(instance).value == am.characteristic_time(instance).value == 0.0
    assert M.nearest_alternative([0.1, 0.9], [1, 1], 0, am.Gaussian()).cost == math.inf


def test_the_regret_stays_where_the_bound_is_zero() -> None:
    """The best arm's own rewards tell the rows apart: after a while nothing else is pulled."""
    rows = [[0.8, 0.5, 0.4], [0.6, 0.9, 0.4], [0.5, 0.5, 0.7]]
    instance = am.Instance(am.Finite(rows), rows[0], am.Bernoulli())
    assert am.lower_bound(instance).value == 0.0
    results = am.simulate(instance, [am.Challenger()], 4000, repetitions=40, seed=1)
    late = results.checkpoints >= 2000
    regret = results.regret("Challenger")[:, late].mean(axis=0)
    assert regret[-1] < 10.0
    assert regret[-1] - regret[0] < 0.02 * regret[-1]


def test_rows_that_rewards_rule_out() -> None:
    """A sale where a row has none: the row against which the fewest rewards speak is nearest."""
    M, family = am.Finite([[0.0, 0.5, 0.0], [0.0, 0.2, 0.4]]), am.Bernoulli()
    fit = M.project([0.5, 0.1, 0.3], [2.0, 10.0, 10.0], family)
    assert (fit.means.tolist(), fit.cost) == ([0.0, 0.2, 0.4], math.inf)
    fit = M.project([0.0, 0.1, 0.3], [2.0, 10.0, 10.0], family)
    assert (fit.means.tolist(), fit.cost < math.inf) == ([0.0, 0.2, 0.4], True)
    bandit = am.Bandit(am.Challenger(), M, family, seed=1)
    for t in range(50):
        bandit.tell(bandit.ask(), float(t % 2))
    assert bandit.pulls.sum() == 50.0


def test_rows_of_costs() -> None:
    """The cheapest arm of the costs is the best of their mirror image."""
    costs = am.Finite([[3.0, 1.0], [2.0, 4.0]])
    bandit = am.Bandit(am.Challenger(), costs, am.Gaussian(0.1), goal="min", seed=1)
    for _ in range(20):
        arm = bandit.ask()
        bandit.tell(arm, [2.1, 3.9][arm])
    assert bandit.pulls.tolist() == [19.0, 1.0]
    assert bandit.structure == costs


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: am.Finite([1.0, 2.0]), r"rows must be a matrix.*an array of shape \(2,\)"),
        (lambda: am.Finite(np.empty((0, 3))), "rows must be a matrix"),
        (lambda: am.Finite([[1.0]]), "n_arms = 1"),
        (lambda: am.Finite([[1, 2], [3, 4], [1, 2]]), r"rows\[0\] and rows\[2\] are the same"),
        (lambda: am.Finite([[1, math.nan]]), r"rows\[0\]\[1\] = nan"),
        (
            lambda: am.Instance(am.Finite([[0.5, 0.2], [0.5, 1.2]]), [0.5, 0.2], am.Bernoulli()),
            r"rows\[1\]\[1\] = 1.2 is not a mean of Bernoulli.* rewards: it must be in \[0, 1\]",
        ),
        (
            lambda: am.Finite([[1.0, 2.0], [2.0, 0.0]]).project([1, 1], [1, 1], am.Exponential()),
            r"rows\[1\]\[1\] = 0 is not a mean of Exponential",
        ),
        (
            lambda: am.Instance(am.Finite([[0.5, 0.2], [0.1, 0.9]]), [0.1, 0.8]),
            r"not in Finite: means\[1\] = 0.8 is 0.9 in row 1, the nearest",
        ),
    ],
)
def test_refusals(call: object, message: str) -> None:
    with pytest.raises(am.ArmatureError, match=message):
        call()
