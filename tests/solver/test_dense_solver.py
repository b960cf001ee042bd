"""The dense convex solver: random problems with proofs, linear programs, planted errors."""

from __future__ import annotations

import dataclasses
from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from dense_problems import (
    FAMILIES,
    KINDS,
    NO_BASIS,
    DenseProblem,
    cost_of,
    finding,
    fuzz,
    make,
    random_box,
    random_problem,
    random_rows,
    region_of,
    rows_of,
    solve,
)
from scipy.optimize import linprog

import armature as am
from armature.solver.double_double import add, divide, dot, multiply, square_root
from armature.solver.precise_call import solve_precisely
from armature.solver.program import Limits, Region, scratch_size
from armature.solver.proof import is_infeasible
from armature.solver.quadratic import INFEASIBLE, SOLVED, State, make_state, reset, state_size
from armature.solver.quadratic import solve as solve_quadratic
from armature.solver.support_function import farthest

PROBLEMS = 60


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("kind", KINDS)
def test_random_problems(kind: str, family: str, request: pytest.FixtureRequest) -> None:
    many = 10 if request.config.getoption("--exhaustive") else 1
    count = fuzz(kind, family, many * PROBLEMS, seed=11)
    assert count.findings == []


def test_two_equations_that_are_nearly_one() -> None:
    """What else depends on them does so by factors of 10^7, beyond the digits of its numbers."""
    problem = make("polyhedral", "gaussian", seed=1, t=89204)
    assert finding(problem, solve(problem)) is None


def test_curvatures_over_more_orders_of_magnitude_than_there_are_digits() -> None:
    """A share that is nearly 0 beside weightless ones: one step leaves what it should stay on."""
    problem = make("concave", "bernoulli", seed=1, t=3514)
    assert finding(problem, solve(problem)) is None


def test_flat_directions_take_digits_from_the_others() -> None:
    """Ninety arms, many of them weightless: a curvature of 1e-26 beside 1 leaves too few digits."""
    problem = make("concave", "poisson", seed=2686184959, t=88508)
    assert finding(problem, solve(problem)) is None


def test_an_equation_that_is_there_three_times() -> None:
    """So nearly that thirty-two digits do not always see which of them to leave out."""
    problem = make("polyhedral", "bernoulli", seed=2686184959, t=332538)
    assert finding(problem, solve(problem)) is None


def test_a_weightless_arm_between_uneven_positions() -> None:
    structure = am.Concave(4, [1.3, 13.7, 13.8, 21.7])
    fit = structure.project([0.3, 0.5, 0.3, 0.7], [3.0, 0.0, 3.0, 3.0], am.Gaussian())
    # Arm 1 is free: the others have to be concave among themselves.
    others = am.Concave(3, [1.3, 13.8, 21.7])
    expected = others.project([0.3, 0.3, 0.7], [3.0, 3.0, 3.0], am.Gaussian())
    assert fit.cost == pytest.approx(expected.cost, rel=1e-10)
    assert structure.contains(fit.means)


@pytest.mark.parametrize("family", [am.Bernoulli(), am.Poisson()])
def test_an_end_of_the_domain(family: am.Family) -> None:
    """Where M leaves an arm nothing but 0, the cost is infinite; where it leaves a little, not."""
    means, weights = [0.27, 0.55, 0.14], [0.3, 0.004, 0.02]
    for features in ([[1.0], [2.0], [0.5]], [[0.5], [2.0], [1.0]]):
        for challenger in (0, 2):
            fit = am.Linear(features).alt_min(means, weights, 1, challenger, family)
            assert fit.cost == np.inf
    for room in (1e-3, 1e-6, 1e-9):
        narrow = am.Polyhedral([[1.0, 0.0, 0.0]], [room])
        fit = narrow.project(means, weights, family)
        expected = 0.3 * float(family.divergence(0.27, room))
        assert fit.cost == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("n_arms", [12, 30, 100])
def test_projections_exist(n_arms: int, rng: np.random.Generator) -> None:
    for _ in range(20):
        structure = am.Concave(n_arms, np.cumsum(np.exp(rng.normal(size=n_arms))))
        w = rng.uniform(0.5, 2.0, n_arms)
        w[rng.integers(n_arms)] = 0.0
        fit = structure.project(rng.uniform(size=n_arms), w, am.Gaussian())
        assert np.isfinite(fit.cost)
        assert structure.contains(fit.means)


def test_against_a_convex_solver(rng: np.random.Generator) -> None:
    for t in range(30):
        problem = random_problem(KINDS[t % 3], am.Gaussian(), rng)
        K = problem.mu.size
        mu, w = rng.uniform(0.0, problem.scale, K), 10.0 ** rng.uniform(-2, 0, K)
        problem = dataclasses.replace(problem, mu=mu, w=w)
        matrix, right = problem.constraints()
        used = np.isfinite(right)
        used[: problem.equalities] = False
        lam = cp.Variable(K)
        constraints = [matrix[used] @ lam >= right[used] / problem.scale]
        if problem.equalities:
            first = slice(problem.equalities)
            constraints.append(matrix[first] @ lam == right[first] / problem.scale)
        cost = cp.sum_squares(cp.multiply(np.sqrt(w / 2.0), lam - mu / problem.scale))
        least = cp.Problem(cp.Minimize(cost), constraints).solve(solver=cp.CLARABEL)
        own = solve(problem).cost / problem.scale**2
        assert own == pytest.approx(least, rel=1e-5, abs=1e-8)


def planted(problem: DenseProblem, **changes: object) -> str | None:
    """What the check says of an answer with errors in it."""
    return finding(problem, dataclasses.replace(solve(problem), **changes))


def test_the_check_sees_planted_errors(rng: np.random.Generator) -> None:
    seen = dict.fromkeys(("outside", "not optimal"), 0)
    for kind in KINDS:
        for family in FAMILIES.values():
            problem = random_problem(kind, family, rng)
            K = problem.mu.size
            w = rng.uniform(0.5, 1.0, K)
            problem = dataclasses.replace(problem, mu=rng.uniform(0.1, 0.9, K), w=w)
            answer = solve(problem)
            assert finding(problem, answer) is None
            nothing = np.full(K, np.nan)
            assert planted(problem, lam=nothing, cost=np.inf) == "falsely infeasible"
            assert "cost" in str(planted(problem, cost=answer.cost * 1.001 + 1e-9))
            # The minimiser for other means is feasible, and dearer.
            other = solve(dataclasses.replace(problem, mu=rng.uniform(0.1, 0.9, K)))
            dearer = cost_of(problem, other.lam)
            if dearer > 1.001 * answer.cost + 1e-6:
                seen["not optimal"] += 1
                assert "gap" in str(planted(problem, lam=other.lam, cost=dearer))
            if answer.cost > 1e-3:  # mu itself costs nothing and is not feasible
                seen["outside"] += 1
                assert "by" in str(planted(problem, lam=problem.mu.copy(), cost=0.0))
    assert seen["not optimal"] > 5
    assert seen["outside"] > 5
    empty = random_problem("polyhedral", am.Gaussian(), rng, feasible=False)
    assert finding(empty, solve(empty)) is None
    answer = solve(dataclasses.replace(empty, matrix=empty.matrix[:-1], right=empty.right[:-1]))
    assert finding(empty, answer) == "found where there is nothing"


def contradiction() -> tuple[Region, State]:
    """lam_0 + lam_1 >= 1 in a box that ends at 0.4, and what the fast method makes of it."""
    rows = rows_of(np.array([[1.0, 1.0]]) / np.sqrt(2.0), np.array([1.0]) / np.sqrt(2.0), 0)
    limits = Limits(np.zeros(2), np.full(2, 0.4), -1, -1, -1, -1)
    n_real, n_integer = state_size.py_func(2, 2, 1)
    state = make_state.py_func(np.zeros(n_real), np.zeros(n_integer, dtype=np.int64), 2, 2, 1)
    reset(state)
    state.columns[:] = np.eye(2)
    region = Region(rows, limits, NO_BASIS)
    assert solve_quadratic(region, state, 1.0) == INFEASIBLE
    return region, state


def test_infeasible_needs_a_proof() -> None:
    region, state = contradiction()
    assert is_infeasible(region, state, 1.0)
    state.vectors[3, 0] *= 1.001  # multipliers that do not add up prove nothing
    assert not is_infeasible(region, state, 1.0)
    region, state = contradiction()
    region.limits.high[:] = 0.6  # nor does a proof of something else
    assert not is_infeasible(region, state, 1.0)


def test_sixteen_and_thirty_two_digits_agree(rng: np.random.Generator) -> None:
    for kind in KINDS:
        problem = random_problem(kind, am.Gaussian(), rng)
        K, m = problem.mu.size, problem.right.size
        n = problem.basis.shape[1] if problem.basis.size else K
        problem = dataclasses.replace(problem, w=rng.uniform(0.5, 1.0, K))
        n_real, n_integer = state_size.py_func(n, K, m)
        integer = np.zeros(n_integer, dtype=np.int64)
        state = make_state.py_func(np.full(n_real, np.nan), integer, n, K, m)
        y = problem.basis.T @ problem.mu if problem.basis.size else problem.mu
        start = problem.basis @ y if problem.basis.size else problem.mu
        g = problem.w * (start - problem.mu)
        outcome = solve_precisely(
            region_of(problem), y, start, g, problem.w, state, float(np.abs(y).max())
        )
        assert outcome == SOLVED
        size = max(problem.scale, np.abs(problem.mu).max())
        np.testing.assert_allclose(solve(problem).lam, state.lam, atol=1e-8 * size)


def test_orders_are_rows(rng: np.random.Generator) -> None:
    """What `Limits` says of pairs, of a top arm and of arms that are fixed, said in rows."""
    for t in range(40):
        problem = random_problem("polyhedral", am.Gaussian(), rng)
        K = problem.mu.size
        pairs = [(0, 1, -1, -1), (0, K - 1, 1, -1), (-1, -1, -1, t % K)][t % 3]
        low, high = np.full(K, -np.inf), np.full(K, np.inf)
        low[t % K] = high[t % K] = 0.3
        given = dataclasses.replace(
            problem, matrix=np.empty((0, K)), right=np.empty(0), equalities=0,
            pairs=pairs, low=low, high=high, mu=rng.uniform(size=K), w=rng.uniform(0.5, 1.0, K),
        )  # fmt: skip
        matrix, right = given.constraints()
        fixed = np.eye(K)[[t % K]]
        norms = np.linalg.norm(matrix, axis=1)
        used = np.isfinite(right) & (norms > 0.0)
        used[: 2 * K] = False
        said = dataclasses.replace(
            given,
            matrix=np.vstack([fixed, matrix[used] / norms[used, None]]),
            right=np.concatenate([[0.3], right[used] / norms[used]]),
            equalities=1,
            pairs=(-1, -1, -1, -1),
            low=np.full(K, -np.inf),
            high=np.full(K, np.inf),
        )
        np.testing.assert_allclose(solve(given).lam, solve(said).lam, atol=1e-12)


@pytest.mark.parametrize("with_basis", [False, True])
def test_farthest_against_a_linear_program(with_basis: bool, rng: np.random.Generator) -> None:
    seen = {True: 0, False: 0}
    for t in range(80):
        K = int(rng.integers(2, 25))
        inside = rng.uniform(0.2, 0.8, K)
        basis = NO_BASIS
        if with_basis:
            basis = np.linalg.qr(rng.normal(size=(K, max(1, K // 2))))[0]
            inside = basis @ (basis.T @ inside)
        matrix, right, equalities = random_rows(inside, rng)
        if with_basis:
            equalities = min(equalities, basis.shape[1] - 1)
        low, high = random_box(inside, inside - 1.0, inside + rng.uniform(0.0, 2.0, K), rng)
        if t % 4 == 0:
            high[0] -= 1.5 * (high[0] - low[0])
            low[0] = min(low[0], high[0])
        arm = int(rng.integers(K))
        equal, above = matrix[:equalities], matrix[equalities:]
        span = np.eye(K) - basis @ basis.T if with_basis else np.empty((0, K))
        reference = linprog(
            -np.eye(K)[arm],
            -above,
            -right[equalities:],
            np.vstack([equal, span]),
            np.concatenate([right[:equalities], np.zeros(len(span))]),
            np.stack([low, high], axis=1),
        )
        n, m = basis.shape[1] if with_basis else K, right.size
        n_real, n_integer = state_size.py_func(n, K, m)
        integer = np.zeros(n_integer, dtype=np.int64)
        state = make_state.py_func(np.full(n_real, np.nan), integer, n, K, m)
        scratch, lam = np.full(scratch_size.py_func(n, K), np.nan), np.empty(K)
        limits = Limits(low, high, -1, -1, -1, -1)
        region = Region(rows_of(matrix, right, equalities), limits, basis)
        found = farthest(region, arm, lam, state, scratch)
        seen[found > -np.inf] += 1
        if reference.status == 2:
            assert found == -np.inf
            assert np.isnan(lam).all()
        else:
            assert found == pytest.approx(-reference.fun, abs=1e-7)
            assert found == lam[arm]
            assert (matrix @ lam - right).min(initial=0.0) > -1e-9
            assert ((lam >= low - 1e-9) & (lam <= high + 1e-9)).all()
    assert min(seen.values()) > 5


def test_arithmetic_has_thirty_digits(rng: np.random.Generator) -> None:
    def exact(pair: tuple[float, float]) -> Fraction:
        return Fraction(pair[0]) + Fraction(pair[1])

    def assert_close(pair: tuple[float, float], expected: Fraction) -> None:
        assert abs(exact(pair) - expected) <= Fraction(1, 10**30) * abs(expected)

    for _ in range(200):
        a = float(rng.normal() * 10.0 ** rng.integers(-9, 9)), 0.0
        b = float(rng.normal() * 10.0 ** rng.integers(-9, 9)), 0.0
        third = divide(*a, 3.0, 0.0)
        assert_close(third, exact(a) / 3)
        assert_close(add(*third, *b), exact(third) + exact(b))
        assert_close(multiply(*third, *b), exact(third) * exact(b))
        assert_close(divide(*b, *third), exact(b) / exact(third))
        root = square_root(abs(a[0]), 0.0)
        assert_close(multiply(*root, *root), exact((abs(a[0]), 0.0)))
    x, y = rng.normal(size=20), rng.normal(size=20)
    total, tail = dot(x, np.zeros(20), y, np.zeros(20), 0, 20)
    expected = sum((Fraction(p) * Fraction(q) for p, q in zip(x, y, strict=True)), Fraction(0))
    assert abs(exact((total, tail)) - expected) < Fraction(1, 10**28)


@pytest.mark.parametrize("far", [1e8, 3.16e11, 1e15, 1e20])
def test_means_beside_which_the_constraints_are_nothing(far: float) -> None:
    """Shares of 2, and counts without end: the shares do not depend on how far away they are."""
    A = [[1, -1, 0, 0.5], [-1, 1, 0, 0], [0, 1, 1, -1]]
    structure = am.Polyhedral(A, [0.4, 0.3, 0.9], [[1, 1, 1, 1]], [2])
    fit = structure.project([0.0, far, 0.0, far / 3.0], [2.0, 2.0, 1.0, 1.0], am.Poisson())
    # On row 1, with arm 2 at 0: lam_0 = x, lam_1 = x + 0.3, lam_3 = 1.7 - 2 x, and d / dx of
    # 2 ln(x + 0.3) + (1 / 3) ln(1.7 - 2 x) is 0 at x = 4.8 / 7.
    x = 4.8 / 7.0
    assert fit.means == pytest.approx([x, x + 0.3, 0.0, 1.7 - 2.0 * x], abs=1e-6)


def test_what_is_no_answer_has_no_nearest_point() -> None:
    problem = make("polyhedral", "gaussian", seed=11, t=0)
    problem.mu[0] = np.nan
    answer = solve(problem)
    assert answer.cost == np.inf
    assert np.isnan(answer.lam).all()


def test_a_weightless_arm_does_not_buy_what_rows_forbid() -> None:
    """Arms 0 to 2 share a line; arm 3 has no weight, and only has to be as good as arm 0.

    Sent away to 1e11, it bent the rounded rows by 7e-5 in the other arms, and the cost came out
    too low. By hand, arms 0, 1 and 2 are at a, a and a / 2 for the best a.
    """

    class Rows(am.Structure):
        def __init__(self, features: list[list[float]]) -> None:
            self.linear, self.n_arms = am.Linear(features), len(features)

        def pieces(self):
            return self.linear.pieces()

    structure = Rows([[1.0, 0.1], [1.0, 0.1], [0.5, 0.05], [0.2, 1.0], [0.4, 2.0]])
    means, weights = np.array([0.0625, 0.5, 0.5, 0.5, 0.5]), np.array([1.0, 1.0, 1.0, 0.0, 0.0])
    fit = structure.alt_min(means, weights, 0, 3, am.Poisson())
    a = means[:3].sum() / 2.5  # where sum_i (c_i - means_i / a) = 0, c = (1, 1, 1 / 2)
    at = a * np.array([1.0, 1.0, 0.5])
    assert fit.cost == pytest.approx(np.sum(at - means[:3] + means[:3] * np.log(means[:3] / at)))
    assert fit.means[:3] == pytest.approx(at, rel=1e-9)
