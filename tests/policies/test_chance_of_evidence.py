"""Evidence that many arms share, as its chance: against SciPy, and by hand."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import special, stats

import armature as am
from armature.policies.chance_of_evidence import (
    is_worth,
    log_tail,
    own_cost,
    shared_cost,
    single_evidence,
    tangent_offset,
)
from armature.policies.policy import make_history
from armature.structures.oracles.model import (
    MARKS,
    challenger_costs,
    cost_of_moved,
    make_model,
    most_ties,
    nearest_challenger,
    projection,
)
from armature.structures.oracles.records import DEAREST, PARTS, TIES, note_ties

DEGREES = (1, 2, 3, 5, 10, 29, 99, 1000, 10_000)


def costs_for(m: int) -> np.ndarray:
    """From nearly nothing to far beyond the mean, m / 2."""
    around = m / 2 + np.sqrt(m) * np.linspace(-5.0, 12.0, 40)
    return np.concatenate([np.geomspace(1e-3, 50.0, 30), around[around > 0.0]])


@pytest.mark.checks("Challenger", by="SciPy's chi-squared distribution")
@pytest.mark.parametrize("m", DEGREES)
def test_the_chance_of_a_cost(m: int) -> None:
    for x in costs_for(m):
        expected = -stats.chi2.logsf(2.0 * x, m)
        if expected < 600.0:
            assert log_tail(m, x) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert log_tail(m, 0.0) == 0.0


@pytest.mark.checks("Challenger", by="the error function")
def test_the_evidence_of_one_arm_that_is_as_unlikely() -> None:
    for p in np.concatenate([[0.0, 1e-3], np.linspace(0.01, 600.0, 400)]):
        e = single_evidence(p)
        assert -np.log(special.erfc(np.sqrt(e))) == pytest.approx(p, abs=1e-3)
    for x in (0.1, 1.0, 7.0, 25.0):  # of one degree of freedom, it is the cost itself
        assert single_evidence(log_tail(1, x)) == pytest.approx(x, rel=1e-9)


@pytest.mark.checks("Challenger", by="the bound that saves calls")
@pytest.mark.parametrize("m", DEGREES[1:])
def test_what_is_surely_worth_it_is_worth_it(m: int) -> None:
    """Whenever the bound says so; and it says so wherever there is twice the evidence."""
    offset, often = tangent_offset(m), 0
    for cost in costs_for(m):
        for fewer in (1, max(1, m // 2), m):
            true = single_evidence(log_tail(fewer, cost))
            for e in np.geomspace(1e-3, 30.0, 30):
                if is_worth(m, offset, cost, e):
                    often += 1
                    assert true >= e * (1.0 - 1e-9)
                elif fewer == m and cost > m:
                    assert true < 2.0 * e + 1.0
    assert often > 100


def test_ties_are_arms_less_values() -> None:
    """Five arms with rewards are moved to two values; one without rewards, and one stays."""
    model = make_model(am.Categorised("aaabbbb"), am.Gaussian(2.0), am.Challenger.oracles)
    history = make_history(7)
    history.pulls[:] = [4, 1, 2, 9, 3, 0, 5]
    history.means[:] = [1.0, 0.0, 2.0, 3.0, 0.5, 0.0, 7.0]
    pr = np.array([1.0, 0.0, 2.0, 3.0, 0.5, 0.0, 7.0])
    lam = np.array([1.5, 1.5, 2.5, 2.5, 1.5, 1.5, 7.0])
    cost = (4 * 0.25 + 1 * 2.25 + 2 * 0.25 + 9 * 0.25 + 3 * 1.0) / 8.0
    assert shared_cost(model, history, pr, lam, 7.0) == (pytest.approx(cost), 3)
    expected = stats.chi2.isf(stats.chi2.sf(2.0 * cost, 3), 1) / 2.0
    assert single_evidence(log_tail(3, cost)) == pytest.approx(expected, rel=1e-9)
    lam[[1, 2, 4]] = 1.4, 2.0, 0.5  # three arms at three values
    assert shared_cost(model, history, pr, lam, 7.0)[1] == 0


@pytest.mark.parametrize("family", [am.Gaussian(2.0), am.Bernoulli(), am.Poisson()], ids=str)
def test_what_an_arm_says_itself(family: am.Family) -> None:
    model = make_model(am.Unimodal(3), family, am.Challenger.oracles)
    history = make_history(3)
    history.pulls[:], history.means[:] = [4, 6, 0], [0.2, 0.6, 0.0]
    expected = 4 * float(family.divergence(0.2, 0.6))
    assert own_cost(model, history, 0, 0.6, np.inf) == pytest.approx(expected)
    assert own_cost(model, history, 1, 0.6, np.inf) == 0.0
    assert own_cost(model, history, 2, 0.6, np.inf) == 0.0
    assert own_cost(model, history, 0, 0.6, 0.01) >= 0.01


def test_a_good_arm_is_not_dismissed_because_of_its_companions() -> None:
    """Arm 0 is as good as the leader; five companions with bad rewards would bury it."""
    bandit = am.Bandit(am.Challenger(), am.Categorised("aaaaaabbb"))
    bandit.tell([0, 1, 2, 3, 4, 5, 7, 8], [1.2, *[-2.5] * 5, -0.5, -0.5])
    bandit.tell([6] * 40, [1.0] * 40)
    assert "Right now arm 0 is being checked" in bandit.explain().summary
    assert bandit.ask() == 0


@pytest.mark.checks("Challenger", by="ties counted at each opponent")
@pytest.mark.parametrize("K", [2, 3, 7, 20])
def test_no_opponent_of_one_peak_ties_more_than_was_noted(K: int, rng: np.random.Generator) -> None:
    """Means with ties and plateaus, arms without rewards; the bound is often as low as can be."""
    structure, family = am.Unimodal(K), am.Gaussian()
    model = make_model(structure, family, am.Challenger.oracles)
    tight, dear = 0, 0
    for _ in range(150):
        mu = rng.normal(0.0, 1.0, K) - 0.3 * np.abs(np.arange(K) - rng.integers(K))
        if rng.random() < 0.5:
            mu = np.round(mu, 0 if rng.random() < 0.5 else 1)
        N = np.floor(10.0 ** rng.uniform(0.0, 2.0, K)) * (rng.random(K) < rng.choice([0.7, 1.0]))
        pr, lam, costs = np.zeros(K), np.zeros(K), np.zeros(K)
        base = projection(model, mu, N, pr)
        j = int(np.argmax(pr))
        challenger_costs(model, mu, N, j, base, costs, lam)
        noted = [most_ties.py_func(model, i) for i in range(K)]
        for i in range(K):
            if i != j:
                nearest_challenger(model, mu, N, j, i, lam)
                moved = (np.abs(lam - pr) > 1e-9) & (N > 0.0)
                ties = int(moved.sum()) - np.unique(np.round(lam[moved], 9)).size
                assert max(1, ties) <= noted[i]
                tight += max(1, ties) == noted[i] < K - 1 or K < 4
                cost = float((N * (mu - lam) ** 2 / 2.0)[moved].sum())
                least = cost_of_moved.py_func(model, i, costs[i], costs[i] - base)
                assert costs[i] - base < 1e-9 or least <= cost + 1e-9 * (1.0 + cost)
                dear += least > max(costs[i] - base, cost - 0.002) or K < 4
    assert tight > 100
    assert dear > 50


@pytest.mark.checks("Challenger", by="all of 2,916 small problems")
def test_all_arms_of_one_peak_move_where_that_is_noted() -> None:
    """Whole numbers as means, so that values agree by chance as often as they can."""
    K = 5
    model = make_model(am.Unimodal(K), am.Gaussian(), am.Challenger.oracles)
    pr, lam, costs = np.zeros(K), np.zeros(K), np.zeros(K)
    noted = 0
    for weights in itertools.product([1.0, 3.0], [2.0], [1.0, 2.0], [1.0], [1.0, 5.0, 10.0]):
        for means in itertools.product([0.0, 1.0, 3.0], repeat=K):
            mu, N = np.array(means), np.array(weights)
            base = projection(model, mu, N, pr)
            j = int(np.argmax(pr))
            challenger_costs(model, mu, N, j, base, costs, lam)
            for i in range(K):
                kept = int(model.table[MARKS + i]) // TIES / PARTS
                if i == j or costs[i] - base < 1e-9 or kept >= DEAREST:
                    continue
                nearest_challenger(model, mu, N, j, i, lam)
                stay = np.abs(lam - pr) <= 1e-9
                own = float((N * (mu - lam) ** 2 / 2.0)[stay].sum())
                assert own <= kept + 1e-9
                assert most_ties.py_func(model, i) == max(1, K - 1 - int(stay.sum()))
                noted += 1
    assert noted > 1000


def test_what_is_noted_of_an_opponent() -> None:
    """Ties and a cost rounded up in one number; without Gaussian rewards, or too dear: no use."""
    for family, kept, expected in (
        (am.Gaussian(), 2.0001, 7.0 - 2049 / 1024),
        (am.Gaussian(), 6.5, 1.0),
        (am.Gaussian(), np.inf, 1.0),
        (am.Poisson(), 2.0, 1.0),
    ):
        model = make_model(am.Unimodal(3), family, am.Challenger.oracles)
        assert cost_of_moved.py_func(model, 1, 7.0, 1.0) == 1.0  # nothing noted
        model.table[MARKS + 1] = note_ties.py_func(2, kept)
        assert most_ties.py_func(model, 1) == 2
        assert cost_of_moved.py_func(model, 1, 7.0, 1.0) == expected
    model = make_model(am.Unimodal(3), am.Gaussian(), am.Challenger.oracles)
    model.table[MARKS + 1] = note_ties.py_func(2, 8.0 * DEAREST)  # more than can be noted
    assert cost_of_moved.py_func(model, 1, 9.0 * DEAREST, 1.0) == 1.0
