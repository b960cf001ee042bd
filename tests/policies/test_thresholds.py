"""What evidence is enough to stop: the theory, and what is practical."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import betaln, xlogy
from scipy.stats import norm

import armature as am
from armature.families.kernels import learning_address, total_learning_cost
from armature.live.verdict import verdict


def log_marginal(family: am.Family, rewards: np.ndarray) -> float:
    """ln of the integral of the likelihood, over that at 0, for the priors of the two families.

    Gaussian: normal about 0, of a standard deviation 4^i with the weight 1 / ((i + 1) (i + 2));
    Bernoulli: Beta(1/2, 1/2). By quadrature.
    """
    n, total = rewards.size, rewards.sum()
    if isinstance(family, am.Bernoulli):
        return float(betaln(total + 0.5, n - total + 0.5) - betaln(0.5, 0.5))
    centre, width = total / n, 12.0 / math.sqrt(n)

    def density(x: float) -> float:
        prior = sum(norm.pdf(x, scale=4.0**i) / ((i + 1.0) * (i + 2.0)) for i in range(16))
        return float(prior * math.exp(-0.5 * n * (x - centre) ** 2))

    mass = quad(density, centre - width, centre + width, epsabs=0.0, epsrel=1e-10, limit=200)[0]
    return math.log(mass) - 0.5 * float(((rewards - centre) ** 2).sum())


@pytest.mark.checks("rounds.stopping", by='"theory" by quadrature')
@pytest.mark.parametrize("family", [am.Gaussian(), am.Bernoulli()], ids=str)
def test_the_theory_is_the_cost_of_not_knowing_the_means(family: am.Family) -> None:
    """ln(1 / delta) + (max over the own means - ln marginal - misfit)_+, from single rewards."""
    told = [np.repeat([1.0, 0.0], counts) for counts in ((7, 3), (12, 18), (12, 3))]
    bandit = am.Bandit(am.UCB(), am.Unimodal(3), family)
    own = 0.0
    for k, rewards in enumerate(told):
        bandit.tell([k] * rewards.size, list(rewards))
        mean = rewards.mean()
        if isinstance(family, am.Bernoulli):
            own += (xlogy(rewards, mean) + xlogy(1.0 - rewards, 1.0 - mean)).sum()
        else:
            own -= 0.5 * ((rewards - mean) ** 2).sum()
    learning = own - sum(log_marginal(family, rewards) for rewards in told)
    misfit = am.Unimodal(3).project(bandit.means, bandit.pulls.astype(float), family).cost
    assert 0.01 < misfit < learning
    found = bandit.verdict(0.02, "theory")
    assert found.threshold == pytest.approx(math.log(50.0) + learning - misfit, rel=1e-6)


def test_the_allowance_is_never_negative() -> None:
    """Where the misfit is larger than the learning cost, ln(1 / delta) is left."""
    pulls, means = np.full(3, 400.0), np.array([0.9, 0.1, 0.9])
    found = verdict(am.Unimodal(3), am.Gaussian(), pulls, means, 0.1, "theory")
    assert found.threshold == math.log(10.0)


@pytest.mark.checks("rounds.stopping", by='"practical" by hand')
def test_challengers_are_counted() -> None:
    """Gaussian arms without structure: pooled with the leader, N N' / (N + N') gap^2 / 2."""
    N, means = np.array([10.0, 20.0, 20.0, 5.0]), np.array([0.2, 1.0, 0.4, -1.0])
    costs = N * 20.0 / (N + 20.0) * (1.0 - means) ** 2 / 2.0
    others = np.delete(costs, 1)
    m = np.exp(others.min() - others).sum()
    assert 1.1 < m < 2.0
    found = verdict(am.Unconstrained(4), am.Gaussian(), N, means, 0.1)
    assert found.statistic == pytest.approx(others.min())
    assert found.threshold == pytest.approx(math.log((m + 0.5 * math.log(55.0)) / 0.1))


def test_all_arms_count_where_one_of_them_is_good() -> None:
    sparse = verdict(am.Sparse(10, 1, 0.0), am.Gaussian(), np.full(10, 4.0), np.eye(10)[3])
    assert sparse.threshold == pytest.approx(math.log((9.0 + 0.5 * math.log(40.0)) / 0.05))


def largest_ratios(paths: int = 1000, rounds: int = 500) -> tuple[np.ndarray, np.ndarray]:
    """Two arms without gap, sampled in turns: the largest deviation, net of two allowances."""
    rng = np.random.default_rng(3)
    n = np.arange(1, rounds + 1)
    sums = rng.normal(size=(paths, 2, rounds)).cumsum(axis=2)
    deviation = (sums**2 / (2.0 * n)).sum(axis=1)
    address, record = learning_address(am.Gaussian()), am.Gaussian().record_for(2)
    learning = np.array(
        [
            [total_learning_cost(address, record, np.full(2, float(m)), path[:, m - 1]) for m in n]
            for path in sums[:100]
        ]
    )
    return deviation.max(axis=1), (deviation[:100] - learning).max(axis=1)


@pytest.mark.checks("rounds.stopping", by='"theory" on simulated paths')
def test_the_theory_holds_at_all_times() -> None:
    """The sum of deviations net of the learning cost exceeds ln(1 / delta) that rarely."""
    plain, net = largest_ratios()
    for delta in (0.5, 0.2, 0.1):
        assert (net > math.log(1.0 / delta)).mean() <= delta
    assert (plain > math.log(1.0 / 0.2)).mean() > 0.2  # which holds at one time only
