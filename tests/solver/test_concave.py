"""Concave means: knots along a line against other solvers, proofs, what is recognised."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from chain_problems import (
    FAMILIES,
    ChainProblem,
    chain_scratch,
    convex_cost,
    dense_cost,
    family_of,
    finding,
)

import armature as am
from armature.kernels.gears import interpreted
from armature.solver.chains.limits import UNPROVED
from armature.solver.chains.nearest import write_slopes
from armature.solver.concave.knots import Bends, BendScratch, LineTask, make_bend_scratch
from armature.solver.concave.nearest import minimise_concave, residual_gap
from armature.solver.concave.rows import bends_of
from armature.solver.program import Cost, Limits
from armature.structures.oracles.model import (
    challenger_bounds,
    make_model,
    nearest_alternative,
    nearest_challenger,
    projection,
)
from armature.structures.oracles.records import Work, measure

SIZES = (3, 4, 6, 10, 18)
UNPROVED_SHARE = 0.03  # of random problems, most of them weightless arms at the domain's ends


@dataclass
class ConcaveProblem(ChainProblem):
    """minimise sum w d(mu, lam) over concave means, within the domain, perhaps with a pair."""

    chain: Bends

    def rows(self) -> tuple[np.ndarray, np.ndarray]:
        order, position, low, high = self.chain
        unit = np.eye(self.mu.size)[order]
        steps = np.diff(unit, axis=0) / np.diff(position)[:, None]
        rows = np.vstack([-np.diff(steps, axis=0), unit, -unit])
        right = np.concatenate([np.zeros(len(order) - 2), low, -high])
        known = np.isfinite(right)
        return rows[known], right[known]


def bend_scratch(K: int) -> BendScratch:
    """Scratch space full of rubbish: nothing may depend on what is in it."""

    def lay_out(work: Work, K: int) -> BendScratch:
        return make_bend_scratch(work.real, work.integer, K)

    n_real, n_integer = measure(lay_out, K)
    with interpreted():
        return make_bend_scratch(np.full(n_real, np.nan), np.full(n_integer, -9, dtype=np.int64), K)


def solve(problem: ConcaveProblem) -> tuple[float, np.ndarray]:
    """The answer of the passes along the line."""
    K = problem.mu.size
    lam = np.full(K, -9.0)
    limits = Limits(*problem.ends, *problem.pairs)
    cost = Cost(problem.family.record_for(K), problem.mu, problem.w)
    found = minimise_concave(cost, problem.chain, 0, limits, lam, chain_scratch(K), bend_scratch(K))
    return float(found), lam


def random_concave(name: str, K: int, rng: np.random.Generator) -> ConcaveProblem:
    """Curves with noise, or noise alone; ties, uneven positions, zeros, means at the ends."""
    family = family_of(name, K, rng)
    position = np.cumsum(rng.uniform(0.2, 1.8, K)) if rng.random() < 0.5 else np.arange(float(K))
    u = np.linspace(0.0, 1.0, K)
    curve = [0.8 - 0.6 * np.abs(u - 0.6), 0.9 - 0.8 * u**2, np.full(K, 0.5)][rng.integers(3)]
    mu = np.clip(curve + rng.normal(0.0, rng.choice([0.0, 0.02, 0.3]), K), 0.02, 0.98)
    if rng.random() < 0.3:
        mu = np.round(mu, 1)
    if name == "poisson" or (name == "bernoulli" and rng.random() < 0.3):
        mu[rng.random(K) < 0.1] = 0.0
    if name == "bernoulli" and rng.random() < 0.3:
        mu[rng.random(K) < 0.2] = 1.0
    w = 10.0 ** rng.uniform(-1.0, 3.0, K)
    w[rng.random(K) < rng.choice([0.0, 0.1])] = 0.0
    w[0] = max(w[0], 1.0)
    low, high = (0.1, 0.9) if rng.random() < 0.2 else (-np.inf, np.inf)
    order = np.arange(K) if rng.random() < 0.5 else rng.permutation(K)
    j, k = (int(a) for a in rng.permutation(K)[:2])
    pairs = (j, k, -1, -1) if rng.random() < 0.6 else (-1,) * 4
    bends = Bends(order, position, np.full(K, low), np.full(K, high))
    return ConcaveProblem(family, mu, w, bends, pairs)


@pytest.mark.parametrize("family", FAMILIES)
def test_against_the_dense_solver(family: str, request: pytest.FixtureRequest) -> None:
    rng = np.random.default_rng(3)
    problems = 150 * (20 if request.config.getoption("--exhaustive") else 1)
    unproved, findings = 0, []
    for t in range(problems):
        problem = random_concave(family, int(rng.choice(SIZES)), rng)
        cost, lam = solve(problem)
        if cost == UNPROVED:
            unproved += 1
            continue
        wrong = finding(problem, cost, lam, dense_cost(problem))
        if wrong is not None:
            findings.append(f"{family} {t}: {wrong}")
    assert findings == []
    assert unproved <= UNPROVED_SHARE * problems + 2


@pytest.mark.checks("Concave", by="a convex solver, with up to 150 arms")
@pytest.mark.parametrize("n_arms", [7, 40, 150])
@pytest.mark.parametrize("family", FAMILIES)
def test_against_a_convex_solver(family: str, n_arms: int, rng: np.random.Generator) -> None:
    solved = 0
    for _ in range(4):
        problem = random_concave(family, n_arms, rng)
        problem.w = 10.0 ** rng.uniform(-1.0, 3.0, n_arms)
        cost, lam = solve(problem)
        least = convex_cost(problem)
        if cost == UNPROVED:
            continue
        assert problem.violation(lam) <= 1e-11
        assert cost == pytest.approx(problem.cost(lam), rel=1e-12, abs=1e-12)
        assert cost == pytest.approx(least, rel=1e-6, abs=1e-6)
        solved += 1
    assert solved >= 3


def test_a_proof_is_one(rng: np.random.Generator) -> None:
    """What the multipliers allow is at least by how much other concave means cost more."""
    seen = 0
    for _ in range(60):
        K = int(rng.choice(SIZES))
        problem = random_concave("gaussian", K, rng)
        problem.pairs, problem.w = (-1,) * 4, np.maximum(problem.w, 0.1)
        s, b, lam = chain_scratch(K), bend_scratch(K), np.empty(K)
        cost = Cost(problem.family.record_for(K), problem.mu, problem.w)
        limits = Limits(*problem.ends, *problem.pairs)
        order = problem.chain.order
        least = minimise_concave(cost, problem.chain, 0, limits, lam, s, b)
        assert least != UNPROVED
        along = np.array(s.lam)
        center = problem.chain.position - problem.chain.position.mean()
        moved = along + rng.normal(0.0, 0.01) + rng.normal(0.0, 0.01) * center / K
        s.lam[:] = moved - rng.exponential(0.01) * (center / K) ** 2  # concave as before
        write_slopes(cost, order, s)
        ends = np.full(K, np.inf)
        task = LineTask(s.h, s.x, problem.chain.position, -ends, ends, -1, -1, 1.0, 1.0)
        b.held[:] = 0
        m = 2 + int(b.is_knot[1:-1].sum())
        gap = residual_gap(problem.chain, task, m, 0.0, 10.0, s, b)
        w, mu = problem.w[order], problem.mu[order]
        more = 0.5 * (w * (s.lam - mu) ** 2).sum() - least
        if np.isinf(problem.chain.high).all():
            assert gap >= more * (1.0 - 1e-9) > 0.0
            seen += 1
    assert seen >= 20


def test_what_was_asked_before_changes_no_digit(rng: np.random.Generator) -> None:
    """One model for many questions beside a new one for each."""
    K = 12
    structure, family = am.Concave(K, np.cumsum(rng.uniform(0.2, 2.0, K))), am.Gaussian(0.5)
    kept = make_model(structure, family)
    mu, w = rng.uniform(size=K), np.ones(K)
    for t in range(40):
        arm = int(rng.integers(K))
        mu[arm] = rng.random() if t % 2 else mu[arm]
        w[arm] += 1.0
        found = []
        for model in (kept, make_model(structure, family)):
            lam = np.empty((4, K))
            found.append(
                (
                    nearest_challenger(model, mu, w, 3, t % 3, lam[0]),
                    projection(model, mu, w, lam[1]),
                    nearest_alternative(model, mu, w, 5, lam[2]),
                    nearest_challenger(model, mu, w, 2, 7, lam[3]),
                    lam.tobytes(),
                )
            )
        assert found[0] == found[1]


@pytest.mark.parametrize("family", [am.Gaussian(0.7), am.Bernoulli(), am.Poisson()], ids=str)
def test_bounds_on_challengers_are_bounds(family: am.Family, rng: np.random.Generator) -> None:
    """Never more than what it costs that an arm beats another, and close to it."""
    total = bounded = 0.0
    for _ in range(25):
        K = int(rng.choice((3, 6, 12)))
        structure = am.Concave(K, rng.uniform(0.0, 3.0, K))
        mu, w = rng.uniform(0.05, 0.95, K), 10.0 ** rng.uniform(-1.0, 2.0, K)
        model = make_model(structure, family, ("project", "challenger_min", "challenger_bounds"))
        p, lam = np.empty((2, K))
        bounds = np.full(2 * K, np.inf)  # the second half: every cost matters
        base = projection(model, mu, w, p)
        j = int(p.argmax())
        challenger_bounds(model, mu, w, j, p, bounds)
        for i in range(K):
            if i != j:
                more = nearest_challenger(model, mu, w, j, i, lam) - base
                assert bounds[i] <= more + 1e-9 * max(base, 1.0)
                total += more
                bounded += bounds[i]
    assert 0.5 * total < bounded <= total


def test_what_is_concave(rng: np.random.Generator) -> None:
    """Rows of three neighbours with bounds for all, in any order and scale; nothing else."""
    for K in (3, 5, 300):
        position = np.cumsum(rng.uniform(0.2, 1.8, K))[rng.permutation(K)]
        (piece,) = am.Concave(K, position).pieces()
        rows = piece.A * rng.uniform(0.5, 2.0, (K - 2, 1))
        rows = rows[rng.permutation(K - 2)]
        found = bends_of(rows, np.zeros(K - 2), np.empty((0, K)), np.empty(0))
        assert found is not None
        there = position[found.order]
        sizes = (there - there[0]) / (there[1] - there[0])
        np.testing.assert_allclose(found.position, sizes, rtol=1e-9)
    concave = am.Concave(5)
    for structure, is_bent in (
        (concave, True),
        (concave & am.Box(5, 0.1, 0.9), True),
        (concave.relabelled([2, 0, 1, 4, 3]), True),
        (concave & am.Box(5, 0.1, [0.9, 0.8, 0.9, 0.9, 0.9]), False),
        (concave & am.Monotone(5), False),
        (am.Polyhedral([[-1.0, 2.0, -1.0]], [0.0]), False),  # convex
        (am.Polyhedral([[1.0, -2.0, 1.0]], [0.1]), False),
        (am.Polyhedral([[1.0, -1.9, 1.0]], [0.0]), False),
        (am.Polyhedral([[1.0, -2.0, 1.0, 0.0], [1.0, -2.0, 0.0, 1.0]], [0.0, 0.0]), False),
    ):
        (piece,) = structure.pieces()
        assert (piece.bends is not None) == is_bent, structure
        assert ("passes along" in structure.solved_by.lower()) == is_bent, structure
