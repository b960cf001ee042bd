"""Reward families: conformance, the formulas in sixty digits, rewards and posteriors against SciPy.

Every distribution test has a p-value under the null, to be above LEVEL; the seeds are fixed.
"""

from __future__ import annotations

import copy
import math
import pickle

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import armature as am
from armature.families.kernels import draw_means
from armature.kernels.streams import DECISIONS, make_stream
from armature.rounds.rewards import make_rewards, next_reward
from armature.testing import check_family, discover

EXAMPLES = [example for cls in discover(am.Family, am) for example in cls.examples()]
ONE_PARAMETER = [f for f in EXAMPLES if f.n_arms is None and not f.estimated]
mpmath.mp.dps = 60
LEVEL = 1e-4


@pytest.mark.checks("families", by="the conformance suite")
@pytest.mark.parametrize("family", EXAMPLES, ids=str)
def test_conformance(family: am.Family) -> None:
    check_family(family)


def exact_divergence(family: am.Family, x: float, y: float) -> mpmath.mpf:
    a, b = mpmath.mpf(x), mpmath.mpf(y)

    def xlog(p: mpmath.mpf, q: mpmath.mpf) -> mpmath.mpf:
        return mpmath.mpf(0) if p == 0 else p * mpmath.log(p / q)

    match family:
        case am.Gaussian():
            return (a - b) ** 2 / (2 * mpmath.mpf(family.sigma) ** 2)
        case am.Bernoulli():
            a, b = a / mpmath.mpf(family.scale), b / mpmath.mpf(family.scale)
            return xlog(a, b) + xlog(1 - a, 1 - b)
        case am.Bounded():
            low, high = mpmath.mpf(family.low), mpmath.mpf(family.high)
            a, b = (a - low) / (high - low), (b - low) / (high - low)
            return xlog(a, b) + xlog(1 - a, 1 - b)
        case am.Poisson():
            return b - a + xlog(a, b)
        case _:
            return a / b - 1 - mpmath.log(a / b)


def means_of(family: am.Family) -> st.SearchStrategy[float]:
    if isinstance(family, am.Bernoulli):
        tiny, scale = st.floats(1e-12, 1e-3), family.scale
        inside = st.one_of(st.floats(0.001, 0.999), tiny, tiny.map(lambda x: 1.0 - x))
        return inside.map(lambda x: scale * x).filter(lambda x: x < scale)
    if isinstance(family, am.Bounded):
        # On a grid, so that a mean less `low` is exact: else that rounding is what one sees.
        steps, width = 2**40, family.high - family.low
        at = st.one_of(st.integers(1, steps - 1), st.integers(1, 10**6))
        return at.map(lambda n: family.low + width * n / steps)
    if isinstance(family, am.Gaussian):
        return st.floats(-100.0, 100.0)
    return st.one_of(st.floats(1e-9, 1e-3), st.floats(0.001, 1000.0))


@pytest.mark.checks("families", by="sixty digits")
@pytest.mark.parametrize("family", ONE_PARAMETER, ids=str)
@given(data=st.data())
def test_divergence_has_full_precision(family: am.Family, data: st.DataObject) -> None:
    x = data.draw(means_of(family))
    step = data.draw(st.floats(1e-14, 1e-1))
    near = [] if isinstance(family, am.Bounded) else [x * (1 + step), x * (1 - step)]
    y = data.draw(st.sampled_from([*near, data.draw(means_of(family))]))
    if y not in family.domain or not abs(y) > 0.0 or y in (family.domain.low, family.domain.high):
        return
    exact = exact_divergence(family, x, y)
    assert abs(family.divergence(x, y) - exact) <= 1e-14 * exact + mpmath.mpf(1e-300)


@pytest.mark.checks("families", by="sixty digits")
@pytest.mark.parametrize("family", ONE_PARAMETER, ids=str)
@given(data=st.data())
def test_bounds_have_full_precision(family: am.Family, data: st.DataObject) -> None:
    """The exact divergence crosses the level within a few units in the last place of the bound."""
    x = data.draw(means_of(family))
    level = data.draw(st.floats(1e-12, 20.0))
    for y, sign in ((family.upper(x, level), 1.0), (family.lower(x, level), -1.0)):
        low, high = family.domain.low, family.domain.high
        ulp = 4.0 * max(math.ulp(y), math.ulp(x)) + 1e-14 * abs(y) * level
        ulp += 4.0 * math.ulp(low) if math.isfinite(low) else 0.0  # which may be taken away
        edge = (math.isfinite(high) and y > high - 1e-15 * abs(high)) or y - low < 1e-290
        if edge or y == math.inf or abs(y - x) <= ulp:
            continue  # at the edge of what a double can say
        assert exact_divergence(family, x, y - sign * ulp) <= level
        outside = y + sign * ulp
        if low < outside < high:
            assert exact_divergence(family, x, outside) >= level


@pytest.mark.checks("Bernoulli", "Poisson", by="values at the boundary")
def test_boundary_values() -> None:
    bernoulli, poisson, exponential = am.Bernoulli(), am.Poisson(), am.Exponential()
    assert bernoulli.divergence(0.0, 1.0) == math.inf
    assert bernoulli.divergence(1.0, 0.0) == math.inf
    assert bernoulli.divergence(0.0, 0.0) == bernoulli.divergence(1.0, 1.0) == 0.0
    assert bernoulli.divergence(0.0, 0.5) == pytest.approx(math.log(2.0), rel=1e-15)
    assert bernoulli.upper(1.0, 2.0) == 1.0
    assert bernoulli.lower(0.0, 2.0) == 0.0
    assert bernoulli.upper(0.0, 1.0) == pytest.approx(1.0 - math.exp(-1.0), rel=1e-15)
    assert bernoulli.lower(1.0, 1.0) == pytest.approx(math.exp(-1.0), rel=1e-15)
    assert bernoulli.upper(0.5, math.inf) == 1.0
    assert bernoulli.lower(0.5, math.inf) == 0.0
    assert poisson.divergence(0.0, 3.0) == 3.0
    assert poisson.divergence(3.0, 0.0) == math.inf
    assert poisson.upper(0.0, 3.0) == 3.0
    assert poisson.upper(2.0, math.inf) == math.inf
    assert exponential.upper(2.0, math.inf) == math.inf
    assert exponential.lower(2.0, math.inf) == 0.0
    assert am.Gaussian().upper(1.0, math.inf) == math.inf


def test_an_array_with_one_number(recwarn: pytest.WarningsRecorder) -> None:
    """It is broadcast without a word of NumPy's about it."""
    found = am.Gaussian().divergence([[0.4]], 0.5)
    assert np.shape(found) == (1, 1)
    assert am.Gaussian().divergence([0.4], 0.5) == found
    assert not recwarn.list


def test_scalars_and_arrays() -> None:
    x = np.array([[0.1], [0.5]])
    table = am.Bernoulli().divergence(x, np.array([0.2, 0.5, 0.9]))
    assert table.shape == (2, 3)
    assert table[1, 0] == am.Bernoulli().divergence(0.5, 0.2)
    assert am.Gaussian(2.0).upper(np.zeros(3), np.array([0.0, 0.5, 2.0])).tolist() == [
        0.0,
        2.0,
        4.0,
    ]
    assert am.Poisson().lower(np.array([]), 1.0).shape == (0,)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: am.Gaussian(0.0), "sigma must be a positive finite number"),
        (lambda: am.Gaussian(math.nan), "sigma must be a positive finite number"),
        (lambda: am.Gaussian("1"), "sigma must be a positive finite number"),
        (
            lambda: am.Bernoulli().divergence(0.5, 1.5),
            r"y = 1.5 is not a mean of Bernoulli\(\)",
        ),
        (lambda: am.Bernoulli().divergence([0.5, -1.0], 0.5), r"x\[1\] = -1 .* in \[0, 1\]"),
        (lambda: am.Exponential().divergence(0.0, 1.0), r"finite numbers in \(0, inf\)"),
        (lambda: am.Poisson().upper(1.0, -1.0), "level must be non-negative"),
        (lambda: am.Poisson().upper(1.0, math.nan), "level must be non-negative"),
        (lambda: am.Poisson().divergence("a", 1.0), "must be numbers"),
        (lambda: am.Poisson().divergence([1.0, 2.0], [1.0, 2.0, 3.0]), "do not go together"),
    ],
)
def test_bad_input(call: object, message: str) -> None:
    with pytest.raises(am.ArmatureError, match=message):
        call()


@pytest.mark.parametrize("family", EXAMPLES, ids=str)
def test_no_address_leaves_the_process(family: am.Family) -> None:
    """In another one, a formula's address would be anything."""
    record = family.record_for(family.n_arms or 2)
    assert family.record_for(family.n_arms or 2) is record
    for other in (pickle.loads(pickle.dumps(family)), copy.copy(family)):
        assert other == family
        assert not [value for value in vars(other).values() if isinstance(value, type(record))]


def test_support() -> None:
    assert 1.0 in am.Bernoulli().support
    assert 0.5 not in am.Bernoulli().support
    assert 7 in am.Poisson().support
    assert -1 not in am.Poisson().support
    assert math.nan not in am.Gaussian().support
    assert math.inf not in am.Exponential().support
    assert "1" not in am.Gaussian().support


def rewards_of(family: am.Family, mean: float, n: int = 20_000) -> np.ndarray:
    rewards = make_rewards(np.array([0.5, mean]), 11, 3)
    return np.array([next_reward(family.record_for(2), rewards, 1) for _ in range(n)])


@pytest.mark.checks("Gaussian", "Bounded", "Exponential", by="rewards against SciPy")
@pytest.mark.parametrize(
    ("family", "mean", "distribution"),
    [
        (am.Gaussian(2.0), -1.0, stats.norm(-1.0, 2.0)),
        (am.Gaussian([1.0, 0.5]), 3.0, stats.norm(3.0, 0.5)),
        (am.Exponential(), 3.0, stats.expon(scale=3.0)),
        (am.Bounded(0.0, 1.0), 0.5, stats.uniform()),
        (am.Bounded(-1.0, 3.0), 0.2, stats.beta(0.6, 1.4, loc=-1.0, scale=4.0)),
        (am.Bounded(-1.0, 3.0), 2.5, stats.beta(1.75, 0.25, loc=-1.0, scale=4.0)),
    ],
)
def test_continuous_rewards(family, mean, distribution) -> None:
    assert stats.kstest(rewards_of(family, mean), distribution.cdf).pvalue > LEVEL


@pytest.mark.checks("Poisson", by="rewards against SciPy")
@pytest.mark.parametrize("mean", [0.0, 0.3, 4.0, 9.9, 10.0, 25.0, 3000.0])
def test_poisson_rewards(mean: float) -> None:
    """Both ways of drawing them; chi-square over cells with at least 20 expected rewards."""
    rewards = rewards_of(am.Poisson(), mean)
    if mean == 0.0:
        assert (rewards == 0.0).all()
        return
    edges = np.unique(stats.poisson(mean).ppf(np.linspace(0.005, 0.995, 40)))
    edges = np.concatenate([[-1.0], edges, [np.inf]])
    expected = np.diff(stats.poisson(mean).cdf(edges)) * rewards.size
    cells = np.histogram(rewards, bins=np.where(np.isinf(edges), 1e9, edges + 0.5))[0]
    keep = expected >= 20
    cells = np.append(cells[keep], cells[~keep].sum())
    expected = np.append(expected[keep], expected[~keep].sum())
    statistic = ((cells - expected) ** 2 / np.maximum(expected, 1e-9))[expected > 0].sum()
    assert stats.chi2((expected > 0).sum() - 1).sf(statistic) > LEVEL


@pytest.mark.checks("Bernoulli", by="rewards against SciPy")
@pytest.mark.parametrize("mean", [0.0, 0.2, 1.0])
def test_bernoulli_rewards(mean: float) -> None:
    ones = int(rewards_of(am.Bernoulli(), mean).sum())
    assert stats.binomtest(ones, 20_000, mean).pvalue > LEVEL


@pytest.mark.parametrize("family", [am.Bernoulli(5.0), am.Bernoulli([2.0, 5.0])], ids=str)
@pytest.mark.parametrize("mean", [0.0, 1.5, 5.0])
def test_rewards_of_nothing_or_a_scale(family: am.Family, mean: float) -> None:
    rewards = rewards_of(family, mean)
    assert set(rewards.tolist()) <= {0.0, 5.0}
    assert stats.binomtest(int((rewards > 0.0).sum()), 20_000, mean / 5.0).pvalue > LEVEL


def test_the_ends_of_an_interval() -> None:
    assert (rewards_of(am.Bounded(-1.0, 3.0), -1.0, 100) == -1.0).all()
    assert (rewards_of(am.Bounded(-1.0, 3.0), 3.0, 100) == 3.0).all()


@pytest.mark.checks("ThompsonSampling", by="SciPy")
@pytest.mark.parametrize(
    ("family", "total", "posterior"),
    [
        (am.Gaussian(2.0), 3.0, stats.norm(0.6, 2.0 / np.sqrt(5.0))),
        (am.Gaussian([1.0, 2.0]), 3.0, stats.norm(0.6, 2.0 / np.sqrt(5.0))),
        (am.Bernoulli(), 2.0, stats.beta(3.0, 4.0)),
        (am.Bernoulli([1.0, 3.0]), 6.0, stats.beta(3.0, 4.0, scale=3.0)),
        (am.Bounded(-1.0, 3.0), 3.0, stats.beta(3.0, 4.0, loc=-1.0, scale=4.0)),
        (am.Poisson(), 3.0, stats.gamma(3.5, scale=1.0 / 5.0)),
        (am.Exponential(), 3.0, stats.invgamma(5.0, scale=3.0)),
    ],
    ids=lambda value: type(value).__name__,
)
def test_posterior_samples(family, total, posterior) -> None:
    """Five rewards of each of two arms; the second arm's samples."""
    pulls, sums, means = np.full(2, 5.0), np.full(2, total), np.full(2, total / 5.0)
    stream, out, samples = make_stream(1, 0, DECISIONS), np.zeros(2), []
    for _ in range(10_000):
        draw_means(family.record_for(pulls.size), pulls, sums, means, stream, out)
        samples.append(out[1])
    assert stats.kstest(samples, posterior.cdf).pvalue > LEVEL


def test_the_checks_of_rewards_can_fail() -> None:
    """A planted error: a mean that is two hundredths off."""
    shifted = stats.norm(-0.92, 2.0)
    assert stats.kstest(rewards_of(am.Gaussian(2.0), -1.0), shifted.cdf).pvalue < LEVEL
