"""Chains: messages along a line against other solvers, proofs, what is recognised as a chain."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from chain_problems import (
    FAMILIES,
    SIZES,
    UNPROVED_SHARE,
    ChainProblem,
    chain_scratch,
    compare,
    convex_cost,
    dense_cost,
    finding,
    random_chain,
    random_problem,
    solve,
)

import armature as am
from armature.solver.chains.chain import Chain
from armature.solver.chains.limits import UNPROVED, highest_on_chain
from armature.solver.chains.messages import AT_HIGH, AT_LOW, FIXED, FREE, nearest_on_chain
from armature.solver.chains.proof import prove
from armature.solver.chains.reach import differences_of
from armature.solver.chains.rows import chain_of, even_chain
from armature.structures.oracles.model import (
    challenger_bounds,
    make_model,
    nearest_challenger,
    projection,
)

PROBLEMS = 150


@pytest.mark.parametrize("family", FAMILIES)
def test_against_the_dense_solver(family: str, request: pytest.FixtureRequest) -> None:
    """Projections, pairs, two pairs and tops; ties, zero weights, ends, contradictions."""
    problems = PROBLEMS * (70 if request.config.getoption("--exhaustive") else 1)
    findings, unproved = compare(family, problems, seed=3)
    assert findings == []
    assert unproved <= UNPROVED_SHARE * problems + 2


@pytest.mark.parametrize("n_arms", [7, 40, 150])
@pytest.mark.parametrize("family", FAMILIES)
def test_against_a_convex_solver(family: str, n_arms: int, rng: np.random.Generator) -> None:
    solved = 0
    for _ in range(4):
        problem = random_problem(family, n_arms, rng, ends=False)
        problem = dataclasses.replace(problem, w=10.0 ** rng.uniform(-1.0, 3.0, n_arms))
        cost, lam = solve(problem)
        assert cost != UNPROVED
        least = convex_cost(problem)
        if cost == np.inf:
            assert least == np.inf
            continue
        assert problem.violation(lam) <= 1e-12
        assert cost == pytest.approx(problem.cost(lam), rel=1e-12, abs=1e-12)
        if least < np.inf:  # else it says that there is nothing, where there is lam
            assert cost == pytest.approx(least, rel=1e-6, abs=1e-6)
            solved += 1
    assert solved >= 1


@pytest.mark.parametrize("size", [1e-9, 1.0, 1e9])
def test_extreme_scales(size: float, rng: np.random.Generator) -> None:
    """Everything in another unit: the same means in that unit, at the cost in its square."""
    for _ in range(50):
        problem = random_problem("gaussian", int(rng.choice(SIZES)), rng)
        order, *bounds = problem.chain[:5]
        scaled = ChainProblem(
            problem.family,
            size * problem.mu,
            problem.w,
            even_chain(order, *(size * bound for bound in bounds)),
            problem.pairs,
        )
        cost, _ = solve(problem)
        in_unit, _ = solve(scaled)
        if UNPROVED not in (cost, in_unit):
            expected = cost * size**2 if cost < np.inf else np.inf
            slack = 1e-14 * problem.w.max() * size**2
            assert in_unit == pytest.approx(expected, rel=1e-9, abs=slack)


def test_weights_that_are_nothing_beside_others() -> None:
    """A light arm between heavy ones is where they let it be."""
    chain = even_chain(
        np.arange(3), np.full(2, -0.1), np.full(2, 0.1), *np.array([[-9.0], [9.0]]) + np.zeros(3)
    )
    mu = np.array([0.0, 5.0, 0.3])
    for weight in (0.0, 1e-15, 1e-300):
        w = np.array([1.0, weight, 1.0])
        cost, lam = solve(ChainProblem(am.Gaussian(), mu, w, chain, (-1,) * 4))
        # The ends differ by 0.2 at most, and move 0.05 each.
        np.testing.assert_allclose(lam, [0.05, 0.15, 0.25], atol=1e-12)
        assert cost == pytest.approx(0.05**2 + 0.5 * weight * 4.85**2)


def test_no_weight_at_all_costs_nothing() -> None:
    chain = even_chain(np.arange(4), np.zeros(3), np.ones(3), np.zeros(4), np.ones(4))
    cost, lam = solve(
        ChainProblem(am.Bernoulli(), np.array([0.9, 0.1, 0.5, 0.4]), np.zeros(4), chain, (-1,) * 4)
    )
    assert cost == 0.0
    assert (np.diff(lam) >= 0.0).all()


def test_isotonic_regression(rng: np.random.Generator) -> None:
    from sklearn.isotonic import isotonic_regression

    K = 200
    bound = np.full(K, np.inf)
    chain = even_chain(np.arange(K), np.zeros(K - 1), bound[1:], -bound, bound)
    for _ in range(20):
        mu, w = rng.uniform(size=K), rng.integers(1, 50, K).astype(float)
        _, lam = solve(ChainProblem(am.Gaussian(), mu, w, chain, (-1,) * 4))
        np.testing.assert_allclose(lam, isotonic_regression(mu, sample_weight=w), atol=1e-13)


def test_one_pass_is_exact(rng: np.random.Generator) -> None:
    """The messages alone, before any step mends what they missed."""
    for _ in range(150):
        K = int(rng.choice((2, 3, 8, 40)))
        problem = random_problem("gaussian", K, rng, pairs=False)
        order, *bounds = problem.chain[:7]
        lam, held = np.empty(K), np.empty(K, dtype=np.int64)
        messages = chain_scratch(K).messages
        w, mu = problem.w[order], problem.mu[order]
        found = nearest_on_chain(w, mu, *bounds, 1e-12, 1e-15, lam, held, messages)
        least, _ = solve(problem)
        assert found == (least < np.inf)
        if found:
            means = np.empty(K)
            means[order] = lam
            assert problem.violation(means) <= 1e-13
            assert problem.cost(means) == pytest.approx(least, rel=1e-11, abs=1e-15 * w.max())


def held_of(chain: Chain, lam: np.ndarray) -> np.ndarray:
    """How differences are held, by what they are."""
    steps = np.diff(lam[chain.order])
    low, high = np.isclose(steps, chain.lo, atol=1e-12), np.isclose(steps, chain.hi, atol=1e-12)
    held = np.select([low & high, high, low], [FIXED, AT_HIGH, AT_LOW], FREE)
    return np.append(held, FREE).astype(np.int64)


def proved_gap(problem: ChainProblem, lam: np.ndarray) -> float:
    """What `prove` says of means, for Gaussian rewards of variance 1."""
    order = problem.chain.order
    g = (problem.w * (lam - problem.mu))[order]
    room = np.empty((3, lam.size))
    return float(
        prove(
            g,
            problem.w[order],
            lam[order],
            *problem.chain[1:7],
            held_of(problem.chain, lam),
            np.inf,
            *room,
        )
    )


def test_a_proof_is_one(rng: np.random.Generator) -> None:
    """The gap is nothing at the minimum; at any other point it covers what that costs more."""
    seen = 0
    for _ in range(300):
        K = int(rng.choice((2, 3, 5, 8)))
        problem = random_problem("gaussian", K, rng, pairs=False)
        problem = dataclasses.replace(problem, w=rng.uniform(0.1, 10.0, K))
        least, lam = solve(problem)
        if not 1e-9 < least < np.inf:
            continue
        assert proved_gap(problem, lam) <= 1e-9 * least
        other = dataclasses.replace(problem, mu=rng.uniform(size=K))  # feasible, and dearer
        elsewhere = solve(other)[1]
        excess = problem.cost(elsewhere) - least
        assert proved_gap(problem, elsewhere) >= excess * (1.0 - 1e-9)
        seen += excess > 1e-3
    assert seen > 50


def test_the_check_sees_planted_errors(rng: np.random.Generator) -> None:
    """A bound that was lost or is off, a mean that is, a cost."""
    seen = {"lost": 0, "off": 0, "moved": 0}
    for _ in range(200):
        problem = random_problem("gaussian", 8, rng)
        problem = dataclasses.replace(problem, w=rng.uniform(0.5, 2.0, 8))
        cost, lam = solve(problem)
        if not 1e-3 < cost < np.inf:
            continue
        least = dense_cost(problem)
        assert finding(problem, cost, lam, least) is None
        assert "cost" in str(finding(problem, 1.001 * cost, lam, least))
        order, lo, *_ = problem.chain
        at = int(rng.integers(7))
        for name, bound in (("lost", -np.inf), ("off", lo[at] - 0.01)):
            wrong = lo.copy()
            wrong[at] = bound
            answer = solve(dataclasses.replace(problem, chain=problem.chain._replace(lo=wrong)))
            if answer[0] < cost * (1.0 - 1e-6):
                seen[name] += 1
                assert finding(problem, *answer, least) is not None
        moved = lam + np.where(np.arange(8) == order[at], 1e-4, 0.0)
        seen["moved"] += 1
        assert finding(problem, cost, moved, least) is not None
    assert min(seen.values()) > 5


def test_highest(rng: np.random.Generator) -> None:
    from scipy.optimize import linprog

    for _ in range(60):
        K = int(rng.choice((1, 2, 5, 9)))
        problem = random_problem("gaussian", K, rng, pairs=False)
        low, high = np.sort(rng.uniform(size=(2, K)), axis=0)
        out = np.empty(K)
        possible = highest_on_chain(problem.chain, low, high, out, chain_scratch(K))
        rows, right = problem.rows()
        for k in range(K):
            bounds = list(zip(low, high, strict=True))
            result = linprog(-np.eye(K)[k], -rows, -right, bounds=bounds)
            assert possible == (result.status == 0)
            if possible:
                assert out[k] == pytest.approx(-result.fun)


# What is a chain


def test_what_is_a_chain() -> None:
    for structure in (
        am.Lipschitz(5, 0.9, [0.3, 0.0, 1.0, 0.4, 0.7]),
        am.Monotone(4),
        am.Box(3, 0.1, [0.5, None, 0.9]),
        am.Monotone(4) & am.Lipschitz(4, 0.2) & am.Box(4, 0.0, 1.0),
        (am.Unimodal(4) & am.Lipschitz(4, 0.2)).relabelled([2, 0, 3, 1]),
        am.Multimodal(5, 2),
        am.Unimodal(4) | am.Lipschitz(4, 0.1),
    ):
        assert all(piece.chain is not None for piece in structure.pieces()), structure
    ring = am.Piece.of_orders(3, [(0, 1), (1, 2), (2, 0)])
    fork = am.Piece.of_orders(4, [(0, 1), (0, 2), (0, 3)])
    total = am.Piece([[1.0, 1.0]], [0.0])
    three = am.Piece([[1.0, -2.0, 1.0]], [0.0])
    empty = am.Piece([[0.0, 0.0]], [-1.0])
    for piece, reason in (
        (ring, "an arm has more than two neighbours, or they go round"),
        (fork, "an arm has more than two neighbours, or they go round"),
        (total, "a condition adds two arms up"),
        (three, "a condition has 3 arms"),
        (empty, "one has no arm"),
    ):
        assert piece.chain is None
        assert piece.no_chain == reason


def test_a_structure_says_how_it_is_solved() -> None:
    assert am.Unimodal(4).solved_by == "Kernels of its own."
    smooth = am.Unimodal(4) & am.Lipschitz(4, 0.1)
    assert smooth.solved_by == am.Lipschitz(4, 0.1).solved_by
    mixed = am.Lipschitz(4, 0.1) | (am.Concave(4) & am.Monotone(4))
    assert mixed.solved_by == "Dense programs, for tens of arms: a condition has 3 arms."


def test_a_chain_says_what_its_rows_say(rng: np.random.Generator) -> None:
    for _ in range(100):
        K = int(rng.choice((1, 2, 4, 7)))
        problem = ChainProblem(
            am.Gaussian(), np.zeros(K), np.zeros(K), random_chain(K, rng), (-1,) * 4
        )
        rows, right = problem.rows()
        m = len(rows)
        factors = rng.uniform(0.5, 2.0, m)
        shuffled = rng.permutation(m)
        A, b = -(factors[:, None] * rows)[shuffled], -(factors * right)[shuffled]
        found = chain_of(A, b, np.empty((0, K)), np.empty(0))
        assert not isinstance(found, str)
        again = dataclasses.replace(problem, chain=found)
        for _ in range(20):
            lam = rng.uniform(size=K) * rng.choice([0.3, 1.0])
            assert problem.violation(lam) == pytest.approx(again.violation(lam), abs=1e-12)


def test_equations_fix_differences() -> None:
    chain = chain_of(np.empty((0, 3)), np.empty(0), np.array([[0.0, 2.0, -2.0]]), np.array([1.0]))
    assert not isinstance(chain, str)
    assert chain.order.tolist() == [0, 1, 2]
    assert chain.lo.tolist() == [-np.inf, -0.5]
    assert chain.hi.tolist() == [np.inf, -0.5]


def test_differences_of_a_chain(rng: np.random.Generator) -> None:
    """Shortest paths, as for any piece with rows of two arms."""
    for _ in range(50):
        K = int(rng.choice((2, 3, 6)))
        problem = ChainProblem(
            am.Gaussian(), np.zeros(K), np.zeros(K), random_chain(K, rng), (-1,) * 4
        )
        rows, right = problem.rows()
        most = np.full((K + 1, K + 1), np.inf)
        np.fill_diagonal(most, 0.0)
        for row, value in zip(-rows, -right, strict=True):
            up, down = [*np.flatnonzero(row > 0), K][0], [*np.flatnonzero(row < 0), K][0]
            most[up, down] = min(most[up, down], value)
        for via in range(K + 1):
            np.minimum(most, most[:, via, None] + most[None, via, :], out=most)
        found = differences_of(problem.chain)
        if np.diag(most).min() < -1e-12:
            assert np.diag(found).min() < -1e-12
        else:
            np.testing.assert_allclose(found, most, atol=1e-12)


def hidden(structure: am.Structure) -> am.Structure:
    """The same set, with a row of three arms that says nothing: the dense solver's."""

    class Hidden(am.Structure):
        def __init__(self) -> None:
            self.n_arms = structure.n_arms
            self.challenge = "top" if structure.reads_by_top else "order"

        def pieces(self) -> list[am.Piece]:
            row = np.zeros((1, self.n_arms))
            row[0, :3] = 1.0, -0.5, 1.0
            vacuous = am.Piece(row, [1e3])
            return [piece & vacuous for piece in structure.pieces()]

    return Hidden()


@pytest.mark.parametrize(
    "structure",
    [
        am.Lipschitz(6, 0.9, [0.3, 0.0, 1.0, 0.4, 0.7, 0.9]),
        am.Monotone(5) & am.Lipschitz(5, 0.15),
        am.Monotone(5) & am.Box(5, 0.2, [0.9, 0.8, 0.7, 0.9, 0.9]),
        am.Multimodal(5, 2) & am.Box(5, -9.0, 9.0),  # its pieces, not its kernels
        am.Unimodal(5) & am.Lipschitz(5, 0.2) & am.Box(5, 0.05, 0.9),
        (am.Lipschitz(4, 0.1) | am.Monotone(4)).relabelled([2, 0, 3, 1]),
    ],
    ids=["rate", "rising", "order", "peaks", "peak", "either"],
)
def test_every_question_has_the_dense_solver_s_answer(
    structure: am.Structure, rng: np.random.Generator
) -> None:
    dense, K = hidden(structure), structure.n_arms
    for family in (am.Gaussian(), am.Bernoulli()):
        for _ in range(6):
            mu, w = rng.uniform(0.1, 0.9, K), 10.0 ** rng.uniform(-1.0, 2.0, K)
            question = (mu, w)
            j, k = (int(a) for a in rng.permutation(K)[:2])
            pairs = [
                (s.project(*question, family), s.alt_min(*question, j, k, family),
                 s.nearest_alternative(*question, j, family),
                 s.challenger_min(*question, j, k, family),
                 s.nearest_with_best(*question, j, family))
                for s in (structure, dense)
            ]  # fmt: skip
            for fit, expected in zip(*pairs, strict=True):
                assert fit.cost == pytest.approx(expected.cost, rel=1e-9, abs=1e-13)
                if expected.cost < np.inf:
                    np.testing.assert_allclose(fit.means, expected.means, atol=1e-6)
            assert [c.number for c in structure.cells(j)] == [c.number for c in dense.cells(j)]
        low, high = np.sort(rng.uniform(size=(2, K)), axis=0)
        found, expected = structure.highest(low, high), dense.highest(low, high)
        assert (found is None) == (expected is None)
        if expected is not None:
            np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize(
    "family", [am.Gaussian(0.7), am.Bernoulli(), am.Poisson(), am.Gaussian([0.5, 1.0, 2.0] * 4)]
)
def test_bounds_on_challengers_are_sharp(family: am.Family, rng: np.random.Generator) -> None:
    """Never more than what it costs that an arm beats another, and as much, but where it is dear.

    With a limit on what matters, a bound may stop above that.
    """
    seen = 0
    for _ in range(40):
        K = 12 if family.n_arms else int(rng.choice((3, 6, 12)))
        x = np.sort(rng.uniform(0.0, 3.0, K))
        structure = am.Lipschitz(K, 0.3, x) & am.Box(K, 0.0, 1.0)
        if rng.random() < 0.3:
            structure = am.Monotone(K) & structure
        mu, w = rng.uniform(size=K), 10.0 ** rng.uniform(-1.0, 2.0, K)
        w[rng.random(K) < 0.1] = 0.0
        model = make_model(structure, family, ("project", "challenger_min", "challenger_bounds"))
        p, lam = np.empty((2, K))
        base = projection(model, mu, w, p)
        j = int(rng.integers(K))
        costs = np.array([nearest_challenger(model, mu, w, j, i, lam) - base for i in range(K)])
        matters = np.where(rng.random(K) < 0.5, np.inf, rng.exponential(size=K))
        bounds = np.concatenate([np.empty(K), matters])
        challenger_bounds(model, mu, w, j, p, bounds)
        slack = 1e-9 * (1.0 + base)
        (beats,) = (piece.beats[j] for piece in structure.pieces())
        for i in range(K):
            if i != j:
                assert bounds[i] <= costs[i] * (1.0 + 1e-9) + slack
            if beats[i]:  # else another arm must beat j besides
                assert bounds[i] >= min(0.999 * min(costs[i], 1e9), matters[i]) - slack
                seen += slack < costs[i] < matters[i]
    assert seen > 30


@pytest.mark.parametrize("name", ["bernoulli", "scales", "poisson"])
def test_the_nearest_alternative_is_the_least(name: str, rng: np.random.Generator) -> None:
    """No challenger is ruled out by mistake; means are at ends that differ from arm to arm."""
    found = 0
    for _ in range(60):
        K = int(rng.choice((3, 5)))
        problem = random_problem(name, K, rng, pairs=False)
        mu, w, family = problem.mu, np.maximum(problem.w, 1e-6), problem.family
        ends = [family.for_arm(k).domain.high for k in range(K)]
        at_end = (rng.random(K) < 0.4) & np.isfinite(ends)
        mu = np.where(at_end, ends, mu)
        structure = am.Lipschitz(K, float(rng.choice([0.1, 0.3, 1.0])))
        j = int(structure.project(mu, w, family).means.argmax())
        costs = [structure.alt_min(mu, w, j, k, family).cost for k in range(K) if k != j]
        nearest = structure.nearest_alternative(mu, w, j, family).cost
        found += nearest < np.inf
        assert nearest == pytest.approx(min(costs), rel=1e-8, abs=1e-13)
    assert found > 30
