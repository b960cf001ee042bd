"""The evidence against a structure: its formulas, its false alarms, its power."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pytest
from false_alarms import highest_of
from reference import Reference, UnsolvedError
from scipy import stats
from structures_again import FAMILIES, KINDS, random_structure

import armature as am
from armature.bounds.evidence import doubt_of, evidence
from armature.testing import supported_families

SCALES = range(16)
WEIGHTS = [1.0 / ((i + 1) * (i + 2)) for i in SCALES]  # of the scales 4^i


NODES, NODE_WEIGHTS = np.polynomial.legendre.leggauss(60)


def log_marginal(family: am.Family, x: np.ndarray) -> float:
    """ln of the integral of the likelihood over the prior, less the log-likelihood at the mean.

    With SciPy's densities, in a variable in which the integrand is smooth, by Gauss and Legendre on
    forty pieces.
    """
    m, n = x.mean(), x.size
    match family:
        case am.Gaussian():
            s = family.sigma
            u = pieces(m - 12.0 * s / math.sqrt(n), m + 12.0 * s / math.sqrt(n))
            y, slope = u, np.ones_like(u)
            log_density = lambda y: stats.norm.logpdf(x, y, s)  # noqa: E731
            prior = sum(
                w * stats.norm.pdf(y, 0.0, s * 4.0**i) for i, w in zip(SCALES, WEIGHTS, strict=True)
            )
        case am.Bernoulli():
            u = pieces(0.0, math.pi / 2.0)
            y, slope = np.sin(u) ** 2, 2.0 * np.sin(u) * np.cos(u)
            log_density = lambda y: stats.bernoulli.logpmf(x, y)  # noqa: E731
            prior = stats.beta.pdf(y, 0.5, 0.5)
        case am.Poisson():
            u = pieces(0.0, math.sqrt(m + 12.0 * math.sqrt(m / n) + 60.0 / n))
            y, slope = u * u, 2.0 * u
            log_density = lambda y: stats.poisson.logpmf(x, y)  # noqa: E731
            prior = sum(
                w * stats.gamma.pdf(y, 0.5, scale=4.0**i)
                for i, w in zip(SCALES, WEIGHTS, strict=True)
            )
        case _:
            u = pieces(math.log(m) - 6.0, math.log(m) + 60.0)
            y = slope = np.exp(u)
            log_density = lambda y: stats.expon.logpdf(x, scale=y)  # noqa: E731
            both = {i: 1.0 / ((abs(i) + 1) * (abs(i) + 2)) / 1.5 for i in range(-15, 16)}
            prior = sum(w * stats.gamma.pdf(1.0 / y, 0.5, scale=4.0**-i) for i, w in both.items())
            prior = prior / (y * y)
    own = log_density(m).sum()
    ratio = np.exp(log_density(y.reshape(-1, 1)).sum(axis=1) - own).reshape(u.shape)
    widths = np.ptp(u, axis=1) / np.ptp(NODES)
    return math.log(float(widths @ (ratio * prior * slope) @ NODE_WEIGHTS))


def pieces(low: float, high: float) -> np.ndarray:
    """(40, nodes): the nodes on each of forty pieces of an interval."""
    ends = np.linspace(low, high, 41)
    return 0.5 * (ends[1:] + ends[:-1])[:, None] + 0.5 * np.diff(ends)[:, None] * NODES


@pytest.mark.checks("Guarded", "bounds.evidence", by="numerical integration")
@pytest.mark.parametrize(
    ("family", "mean"),
    [
        (am.Gaussian(), 0.3),
        (am.Gaussian(), 40.0),
        (am.Gaussian(0.2), -1.0),
        (am.Bernoulli(), 0.0),
        (am.Bernoulli(), 0.3),
        (am.Poisson(), 0.0),
        (am.Poisson(), 0.5),
        (am.Poisson(), 30.0),
        (am.Exponential(), 0.01),
        (am.Exponential(), 20.0),
    ],
    ids=str,
)
def test_learning_costs_against_numerical_integration(family: am.Family, mean: float) -> None:
    rng = np.random.default_rng(3)
    for n in (1, 2, 15):
        x = np.asarray(family.sample(mean, rng, n), dtype=np.float64)
        cost = family.learning_cost(family.parameter, float(n), float(x.sum()))
        assert cost == pytest.approx(-log_marginal(family, x), rel=1e-7)
    assert family.learning_cost(family.parameter, 0.0, 0.0) == 0.0


@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_learning_costs_of_very_many_rewards(family: am.Family) -> None:
    """Half of ln n and a constant: where a difference of huge terms would have no digit left."""
    mean = 0.5
    costs = [family.learning_cost(family.parameter, n, mean * n) for n in (1e10, 1e12, 1e14)]
    assert np.diff(costs) == pytest.approx(math.log(10.0), abs=1e-3)
    near = [family.learning_cost(family.parameter, n, mean * n) for n in (2e5 - 2.0, 2e5 + 2.0)]
    assert near[1] - near[0] == pytest.approx(0.5 * 4.0 / 2e5, rel=0.01)  # no step between formulas


@pytest.mark.checks("Guarded", "bounds.evidence", by="the martingale, over all outcomes")
def test_the_expected_ratio_is_one() -> None:
    """All outcomes of seven Bernoulli rewards, the arm chosen by what was seen: they add up to 1.

    The marginal likelihood under the prior is a probability of the outcomes, whatever the rule.
    """
    cost = am.Bernoulli.learning_cost
    total = 0.0
    for outcome in itertools.product((0.0, 1.0), repeat=7):
        N, sums = np.zeros(2), np.zeros(2)
        for t, reward in enumerate(outcome):
            arm = t if t < 2 else int(sums[0] / N[0] <= sums[1] / N[1])
            N[arm] += 1.0
            sums[arm] += reward
        own = sum(
            s * math.log(s / n) + (n - s) * math.log1p(-s / n) if 0.0 < s < n else 0.0
            for n, s in zip(N, sums, strict=True)
        )
        total += math.exp(own - sum(cost(1.0, n, s) for n, s in zip(N, sums, strict=True)))
    assert total == pytest.approx(1.0, abs=1e-12)


@pytest.mark.checks("Guarded", "bounds.evidence", by="a convex solver")
@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_evidence_against_a_convex_solver(family: am.Family) -> None:
    """ln of (marginal likelihood / largest likelihood in M), from SciPy and cvxpy alone."""
    rng = np.random.default_rng(8)
    for kind in (am.Unimodal, am.Categorised, am.Sparse, am.Linear):
        structure = random_structure(kind, rng, 4)
        if family not in supported_families(structure):
            continue
        pulls = np.array([3.0, 9.0, 5.0, 12.0])
        rewards = [np.asarray(family.sample(0.6, rng, int(n)), dtype=float) for n in pulls]
        sums = np.array([x.sum() for x in rewards])
        means = np.clip(sums / pulls, family.domain.low, family.domain.high)
        try:
            misfit = Reference(structure, family).project(means, pulls)
        except UnsolvedError:
            continue
        found = evidence(structure, family, pulls, sums)
        expected = misfit + sum(log_marginal(family, x) for x in rewards)
        assert found.log_e == pytest.approx(expected, abs=1e-5)
        assert found.shares.sum() == pytest.approx(found.misfit, abs=1e-6)


def true_instances(family: am.Family) -> list[am.Instance]:
    """One of every kind of structure that goes with a family; the truth at its edge if it can be.

    Means with many ties: where nearly all inequalities bind, the misfit is largest.
    """
    rng = np.random.default_rng(5)
    instances = []
    for kind in KINDS:
        structure = random_structure(kind, rng, 4)
        if family not in supported_families(structure):
            continue
        target = 0.5 + np.where(np.arange(structure.n_arms) == 2, 0.02, 0.0)
        means = np.asarray(structure.project(target, np.ones(structure.n_arms), family).means).clip(
            0.02, 0.98
        )
        instances.append(am.Instance(structure, means + 1e-9 * rng.random(means.size), family,
                                     strict=False))  # fmt: skip
    return instances


CASES = [(i, greedy) for f in FAMILIES for i in true_instances(f) for greedy in (False, True)]
DELTA, ROUNDS = 0.1, 40


def alarms(share: float, runs: int) -> np.ndarray:
    """In which share of the runs the evidence reached ln(1 / delta), for each of CASES."""
    found = []
    for n, (instance, greedy) in enumerate(CASES):
        highest = highest_of(instance, runs, ROUNDS, greedy, share, seed=n)
        found.append((highest >= math.log(1.0 / DELTA)).mean())
    return np.array(found)


@pytest.mark.checks("Guarded", "bounds.evidence", by="rate of false alarms")
def test_false_alarms(request: pytest.FixtureRequest) -> None:
    """Ten thousand runs over every structure and family, half of them chosen against us.

    The share must be below delta / 4; it is delta / 30 (30 of 10,092 runs). And for no structure
    and family by itself is it above delta, but by chance. With --exhaustive, ten thousand runs of
    each.
    """
    exhaustive = request.config.getoption("--exhaustive")
    runs = 10_000 if exhaustive else math.ceil(10_000 / len(CASES))
    found = alarms(1.0, runs)
    assert runs * found.size >= 10_000
    assert found.mean() <= 0.25 * DELTA
    assert found.max() <= DELTA + 3.0 * math.sqrt(DELTA * (1.0 - DELTA) / runs)
    assert alarms(0.1, 20).mean() > DELTA  # with costs that are too small, there are too many


def test_arms_with_parameters_of_their_own() -> None:
    """Each arm's learning cost is that of its own family, of rewards in any unit."""
    pulls, sums = np.array([4.0, 7.0, 2.0]), np.array([6.0, 10.0, 0.0])
    for family, alone in (
        (am.Bernoulli([3.0, 5.0, 2.0]), lambda k, s: (am.Bernoulli(), sums[k] / s)),
        (am.Gaussian([3.0, 5.0, 2.0]), lambda k, s: (am.Gaussian(), sums[k] / s)),
    ):
        found = evidence(am.Monotone(3), family, pulls, sums)
        expected = 0.0
        for k, scale in enumerate((3.0, 5.0, 2.0)):
            one, total = alone(k, scale)
            expected += one.learning_cost(1.0, pulls[k], total)
        assert found.learning == pytest.approx(expected, rel=1e-12)
    bounded = evidence(am.Monotone(3), am.Bounded(-1.0, 3.0), pulls, sums)
    coins = evidence(am.Monotone(3), am.Bernoulli(), pulls, (sums + pulls) / 4.0)
    assert bounded.log_e == pytest.approx(coins.log_e, rel=1e-12)


def test_false_alarms_of_bounded_rewards() -> None:
    """Anything in an interval: no more of them than with rewards at its ends."""
    instance = am.Instance(am.Monotone(4), [0.5, 0.5, 0.5, 0.501], am.Bounded(0.0, 1.0))
    for greedy in (False, True):
        highest = highest_of(instance, 500, ROUNDS, greedy)
        assert (highest >= math.log(1.0 / DELTA)).mean() <= 0.25 * DELTA


@pytest.mark.checks("Guarded", "bounds.evidence", by="power")
@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_power(family: am.Family) -> None:
    """A planted misfit is found in nearly all runs."""
    scale = 0.5 if isinstance(family, am.Bernoulli) else 1.5
    wrong = am.Instance(am.Monotone(3), scale * np.array([1.6, 0.4, 0.6]), family, strict=False)
    highest = highest_of(wrong, 50, 300, greedy=False)
    assert (highest >= math.log(100.0)).mean() >= 0.95


def test_doubt_is_a_bound() -> None:
    """Against SciPy's chi-squared distribution: half of it is the misfit at the true means."""
    for K in (2, 5, 30):
        for misfit in (0.4 * K, K, 3.0 * K, 60.0 + K):
            tail = stats.chi2.sf(2.0 * misfit, K)
            assert math.exp(-doubt_of(misfit, K)) >= tail
    assert doubt_of(0.0, 3) == 0.0
    assert doubt_of(math.inf, 3) == math.inf


def test_words_and_json() -> None:
    pulls = np.full(3, 100.0)
    names = ["low", "middle", "high"]
    bad = evidence(am.Unimodal(3), am.Gaussian(), pulls, pulls * [0.9, 0.1, 0.9], 0.05, names)
    assert bad.refuted
    assert bad.threshold == pytest.approx(math.log(20.0))
    assert set(bad.carriers) <= set(names)
    assert "The structure is refuted, mostly because of " in str(bad)
    data = json.loads(bad.to_json())
    assert data["log_e"] == bad.log_e
    assert data["arms"] == names
    assert data["words"] == str(bad)
    doubtful = evidence(am.Unimodal(3), am.Gaussian(), pulls, pulls * [0.6, 0.1, 0.6])
    assert "fit the structure badly" in str(doubtful)
    good = evidence(am.Unimodal(3), am.Gaussian(), pulls, pulls * [0.1, 0.9, 0.3])
    assert str(good).startswith("The data fit the structure (log-evidence -")
    assert evidence(am.Unimodal(3), am.Gaussian(), np.zeros(3), np.zeros(3)).log_e == 0.0
    impossible = evidence(
        am.Box(2, high=[1.0, 0.0]), am.Poisson(), np.array([3.0, 3.0]), np.array([3.0, 1.0])
    )
    assert impossible.log_e == math.inf
    assert impossible.carriers == ()
    assert "no means in it could have given these rewards" in str(impossible)
    assert json.loads(impossible.to_json())["refuted"]
    with pytest.raises(am.ArmatureError, match="delta must be a probability"):
        evidence(am.Unimodal(3), am.Gaussian(), pulls, pulls, 1.5)
