"""Chains in scaled means, and with two ratios for each pair of neighbours: demand and revenue."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from chain_problems import (
    FAMILIES,
    ChainProblem,
    compare,
    convex_cost,
    dense_cost,
    finding,
    random_chain,
    random_problem,
    solve,
)
from test_chain import hidden

import armature as am
from armature.solver.chains.limits import UNPROVED
from armature.solver.chains.rows import chain_of
from armature.structures.oracles.model import challenger_bounds, make_model

PROBLEMS = 50
ORACLES = ("project", "challenger_min", "challenger_bounds")
UNPROVED_SHARE = 0.12  # means are pushed to ends of the domain more often than in an even chain


@pytest.mark.parametrize("family", FAMILIES)
def test_against_the_dense_solver(family: str, request: pytest.FixtureRequest) -> None:
    problems = PROBLEMS * (100 if request.config.getoption("--exhaustive") else 1)
    findings, unproved = compare(family, problems, seed=5, scaled=1.0)
    assert findings == []
    assert unproved <= UNPROVED_SHARE * problems + 2


@pytest.mark.parametrize("n_arms", [7, 40, 150])
@pytest.mark.parametrize("family", FAMILIES)
def test_demand_against_a_convex_solver(family: str, n_arms: int, rng: np.random.Generator) -> None:
    """Uneven prices, weights from 0.1 to 1,000 and none; a projection and an alternative."""
    prices = rng.uniform(0.1, 1.0, n_arms).cumsum() + 1.0
    demand = am.Demand(prices)
    rewards = {
        "gaussian": am.Gaussian(0.8),
        "sigmas": am.Gaussian((0.3 * prices).tolist()),
        "bernoulli": am.Bernoulli(scale=float(prices[-1])),
        "scales": am.Bernoulli(scale=prices.tolist()),
        "poisson": am.Poisson(),
    }[family]
    (piece,) = demand.pieces()
    assert piece.chain is not None
    w = 10.0 ** rng.uniform(-1.0, 3.0, n_arms)
    w[rng.random(n_arms) < 0.1] = 0.0
    mu = prices * np.clip(rng.normal(0.6, 0.2, n_arms), 0.0, 1.0).round(2)
    j, k = (int(arm) for arm in rng.permutation(n_arms)[:2])
    for pair in ((-1, -1), (j, k)):
        problem = ChainProblem(rewards, mu, w, piece.chain, (*pair, -1, -1))
        cost, lam = solve(problem)
        if cost == UNPROVED:
            fit = demand.alt_min(mu, w, *pair, rewards)
            cost, lam = fit.cost, fit.means
        assert problem.violation(lam) <= 1e-11
        assert demand.contains(lam)
        assert cost == pytest.approx(convex_cost(problem), rel=1e-6, abs=1e-6)


def test_the_check_sees_planted_errors(rng: np.random.Generator) -> None:
    """A factor that was lost, or is that of another pair."""
    seen = {"lost": 0, "other": 0}
    for _ in range(150):
        problem = random_problem("gaussian", 8, rng, scaled=1.0)
        problem = dataclasses.replace(problem, w=rng.uniform(0.5, 2.0, 8))
        cost, lam = solve(problem)
        if not 1e-3 < cost < np.inf:
            continue
        least = dense_cost(problem)
        assert finding(problem, cost, lam, least) is None
        for name, factors in (
            ("lost", np.ones(7)),
            ("other", np.roll(problem.chain.down, 1)),
        ):
            chain = problem.chain._replace(down=factors, up=factors)
            answer = solve(dataclasses.replace(problem, chain=chain))
            if answer[0] < cost * (1.0 - 1e-6):
                seen[name] += 1
                assert finding(problem, *answer, least) is not None
    assert min(seen.values()) > 5


def test_a_chain_says_what_its_rows_say(rng: np.random.Generator) -> None:
    for _ in range(60):
        K = int(rng.choice((2, 4, 7)))
        chain = random_chain(K, rng, scaled=1.0)
        problem = ChainProblem(am.Gaussian(), np.zeros(K), np.zeros(K), chain, (-1,) * 4)
        rows, right = problem.rows()
        sizes = rng.uniform(0.5, 2.0, len(rows))
        A, b = -(sizes[:, None] * rows)[::-1], -(sizes * right)[::-1]
        found = chain_of(A, b, np.empty((0, K)), np.empty(0))
        assert not isinstance(found, str)
        again = dataclasses.replace(problem, chain=found)
        for _ in range(20):
            lam = rng.uniform(size=K)
            assert (problem.violation(lam) <= 1e-12) == (again.violation(lam) <= 1e-12)


def test_what_is_a_scaled_chain() -> None:
    prices = [2.0, 3.0, 5.0, 8.0]
    shuffled = am.Demand(prices).relabelled([2, 0, 3, 1])
    for structure in (am.Demand(prices), shuffled, am.Demand(prices) & am.Box(4, 0.5, 4.0)):
        (piece,) = structure.pieces()
        assert piece.chain is not None
        assert piece.chain.up.size == 3
        assert structure.solved_by == am.Lipschitz(4, 0.1).solved_by
    with_a_peak = am.Demand(prices) & am.Unimodal(4)
    assert with_a_peak.turns_once
    assert all(piece.chain is not None for piece in with_a_peak.pieces())
    far = am.Piece([[1.0, -1e10]], [0.0])
    assert far.no_chain == "an arm moves more than 1e+09 times as far as one that it is tied to"


PRICES = np.array([1.0, 1.4, 1.9, 2.7, 3.0])


@pytest.mark.parametrize(
    "structure",
    [
        am.Demand(PRICES[[2, 0, 3, 1, 4]]),
        am.Demand(PRICES) & am.Box(5, 0.05, 0.9 * PRICES),
        am.Demand(PRICES) & am.Unimodal(5),
        am.Demand(PRICES[::-1]) & am.Unimodal(5) & am.Box(5, 0.0, None),
    ],
    ids=["demand", "box", "peak", "falling"],
)
def test_every_question_has_the_dense_solver_s_answer(
    structure: am.Structure, rng: np.random.Generator
) -> None:
    """Bounds on challengers too; some Gaussian means are negative, where a row more counts."""
    dense, K = hidden(structure), 5
    for one, other in zip(structure.pieces(), dense.pieces(), strict=True):
        assert (one.beats == other.beats).all()
        assert (one.can_lead == other.can_lead).all()
    for family in (am.Gaussian(), am.Bernoulli(scale=(1.1 * PRICES[::-1]).max()), am.Poisson()):
        for _ in range(5):
            mu, w = rng.uniform(0.0, 1.0, K) * PRICES, 10.0 ** rng.uniform(-1.0, 2.0, K)
            if isinstance(family, am.Gaussian):
                mu -= rng.choice([0.0, 0.5])
            j, k = (int(a) for a in rng.permutation(K)[:2])
            fit = structure.project(mu, w, family)
            pairs = [
                (s.project(mu, w, family), s.alt_min(mu, w, j, k, family),
                 s.nearest_alternative(mu, w, j, family),
                 s.challenger_min(mu, w, j, k, family),
                 s.nearest_with_best(mu, w, j, family))
                for s in (structure, dense)
            ]  # fmt: skip
            for found, expected in zip(*pairs, strict=True):
                assert found.cost == pytest.approx(expected.cost, rel=1e-9, abs=1e-12)
            model = make_model(structure, family, ORACLES)
            bounds = np.full(2 * K, np.inf)
            challenger_bounds(model, mu, w, j, np.array(fit.means), bounds)
            for i in set(range(K)) - {j}:
                extra = dense.challenger_min(mu, w, j, i, family).cost - fit.cost
                assert bounds[i] <= extra * (1.0 + 1e-9) + 1e-8 * (1.0 + fit.cost)
        low, high = np.sort(rng.uniform(size=(2, K)), axis=0) * PRICES
        above, expected_above = structure.highest(low, high), dense.highest(low, high)
        assert (above is None) == (expected_above is None)
        if expected_above is not None:
            np.testing.assert_allclose(above, expected_above, atol=1e-9)
