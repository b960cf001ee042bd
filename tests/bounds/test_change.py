"""The test for changes: its statistic against brute force, its false alarms, what it keeps."""

from __future__ import annotations

import math

import numpy as np
import pytest
from change_alarms import ADVERSE, GREEDY, IN_TURN, runs_of
from scipy import special, stats

import armature as am
from armature.bounds.change import (
    LAG,
    POWER,
    arm_evidence,
    log_prior,
    look_for_change,
    split_evidence,
)
from armature.bounds.splits import BLOCK, OCTAVE, Splits, begin, count, decide, make_splits
from armature.families.kernels import learning_address
from armature.families.record import signatures
from armature.kernels.addresses import Signature, address_of

SCALES = [(4.0**i, 1.0 / ((i + 1) * (i + 2))) for i in range(16)]
FAMILIES = [
    (am.Bernoulli(), [0.3, 0.6, 0.5], [0.8, 0.9, 0.4]),
    (am.Bernoulli(scale=[2.0, 5.0, 9.0]), [0.8, 3.0, 2.5], [1.6, 1.0, 2.5]),
    (am.Gaussian(), [40.0, 0.3, -1.0], [40.0, 1.2, -1.0]),
    (am.Gaussian(sigma=[1.0, 2.0, 0.3]), [0.0, 0.3, 1.0], [1.0, 2.3, 1.2]),
    (am.Poisson(), [0.3, 6.0, 50.0], [0.9, 9.0, 50.0]),
]

Row = tuple[int, int, float]  # of a log: the number of the decision, its arm, its reward


def log_marginal(family: am.Family, x: np.ndarray) -> float:
    """ln of the density of rewards of one arm under the prior, by SciPy; x may have a fraction."""
    if x.size == 0:
        return 0.0
    match family:
        case am.Bernoulli():
            ones = x.sum() / family.scale
            return float(special.betaln(0.5 + ones, 0.5 + x.size - ones)) - math.log(math.pi)
        case am.Gaussian():
            z, n = x / family.sigma, x.size
            parts = [  # normal, of covariance 1 + b^2 (1 if i = j)
                math.log(w) - 0.5 * math.log1p(n * b * b)
                - 0.5 * (((z - z.mean()) ** 2).sum() + z.sum() ** 2 / (n + (n * b) ** 2))
                for b, w in SCALES
            ]  # fmt: skip
            return float(special.logsumexp(parts)) + n * stats.norm.logpdf(0.0, 0.0, family.sigma)
        case _:
            gamma = special.gammaln
            parts = [
                math.log(w) - 0.5 * math.log(b) - gamma(0.5)
                + gamma(0.5 + x.sum()) - (0.5 + x.sum()) * math.log(1.0 / b + x.size)
                for b, w in SCALES
            ]  # fmt: skip
            return float(special.logsumexp(parts) - gamma(x + 1.0).sum())


def log_best(family: am.Family, x: np.ndarray) -> float:
    """ln of the density of rewards at their own mean."""
    m = x.mean()
    match family:
        case am.Bernoulli():
            return float(stats.bernoulli.logpmf(x / family.scale, m / family.scale).sum())
        case am.Gaussian():
            return float(stats.norm.logpdf(x, m, family.sigma).sum())
        case _:
            return float(stats.poisson.logpmf(x, m).sum())


def reference_at(split: int) -> int:
    """Which decisions count as the past of a split: a power of 2 blocks, at most a half of it."""
    powers = [BLOCK * 2**m for m in range(40) if BLOCK * 2**m * 2 <= split]
    return max(powers, default=0)


def slow_arm(family: am.Family, log: list[Row], split: int, k: int) -> float:
    """ln E_k of a split, from the rewards one by one."""
    j = reference_at(split)
    own = family.for_arm(k)
    x = [np.array([r for t, a, r in log if a == k and lo <= t < hi])
         for lo, hi in ((0, j), (j, split), (split, 10**9))]  # fmt: skip
    if x[0].size + x[1].size == 0 or x[2].size == 0:
        return -math.inf
    past = np.concatenate(x[:2])
    one = np.full(min(x[0].size, 1), x[0].mean() if x[0].size else 0.0)
    before = log_marginal(own, past) - log_marginal(own, x[0])
    after = log_marginal(own, np.concatenate([one, x[2]])) - log_marginal(own, one)
    return before + after - log_best(own, np.concatenate(x[1:]))


def slow_split(family: am.Family, log: list[Row], split: int, K: int) -> float:
    """ln of w(s) times the product over all arms, none left out."""
    j = reference_at(split)
    last = 0 if j <= BLOCK else j // 2
    new = np.array([sum(last <= t < j and a == k for t, a, _ in log) for k in range(K)])
    q = 0.5 / K + 0.5 * (new / new.sum() if j else np.full(K, 1.0 / K))
    parts = [
        np.logaddexp(math.log(1.0 - q[k]), math.log(q[k]) + slow_arm(family, log, split, k))
        for k in range(K)
    ]
    weights = (np.arange(1, 10**6) + LAG) ** -POWER
    norm = weights.sum() + (10**6 + LAG) ** (1.0 - POWER) / (POWER - 1.0)
    w = (split / BLOCK + LAG) ** -POWER
    assert w / norm == pytest.approx(math.exp(log_prior(split)), rel=0.02)
    assert math.exp(log_prior(split)) <= w / norm  # all of them together are at most 1
    return log_prior(split) + sum(parts)


def played(family: am.Family, before: list[float], after: list[float], jump: int, rounds: int,
           seed: int, late: int = 0) -> tuple[Splits, list[Row]]:  # fmt: skip
    """A log with a jump, and the splits that were told of it; rewards may come late."""
    rng, K = np.random.default_rng(seed), len(before)
    splits, log, waiting = make_splits(K), [], []
    for t in range(rounds):
        arm = t % K if t < 2 * K or rng.random() < 0.2 else 1
        mean = np.array(after if t >= jump else before)
        reward = float(family.sample(mean, rng, None)[arm]) if family.n_arms else float(
            family.sample(mean[arm], rng))  # fmt: skip
        waiting.append((t, arm, reward))
        log.append((t, arm, reward))
        while len(waiting) > late:
            when, which, what = waiting.pop(int(rng.integers(len(waiting))) if late else 0)
            count(splits, which, what, when)
        decide(splits)
    for when, which, what in waiting:
        count(splits, which, what, when)
    return splits, log


@pytest.mark.checks("bounds.change", by="brute force over all splits")
@pytest.mark.parametrize(("family", "before", "after"), FAMILIES, ids=str)
@pytest.mark.parametrize("late", [0, 40])
def test_the_statistic_by_brute_force(family, before, after, late):
    splits, log = played(family, before, after, 200, 336, seed=3, late=late)
    record, costs, K = family.record_for(3), learning_address(family), 3
    if late:  # what was known at a reference depends on when rewards came
        straight = make_splits(K)
        for when, arm, reward in log:
            count(straight, arm, reward, when)
            decide(straight)
        assert (splits.at == straight.at).all()
        assert splits.before == pytest.approx(straight.before, rel=1e-12)
        splits.reference[:], splits.shares[:] = straight.reference, straight.shares
    kept = [slot for slot in range(splits.at.size) if splits.at[slot]]
    everything = []
    for slot in kept:
        at = int(splits.at[slot])
        for k in range(K):
            slow = slow_arm(family, log, at, k)
            if slow > -math.inf:
                found = arm_evidence(splits, record, costs, slot, k)
                assert found == pytest.approx(slow, rel=1e-9, abs=1e-7)
        everything.append(slow_split(family, log, at, K))
        found = split_evidence(splits, record, costs, slot)
        assert found <= everything[-1] + 1e-7
        if found > -math.inf:  # but for arms that can say little
            assert found >= everything[-1] - 3.5 * K
    finding = look_for_change(splits, record, costs)
    whole = special.logsumexp([slow_split(family, log, at, K) for at in range(BLOCK, 337, BLOCK)])
    assert finding.log_e <= whole + 1e-7
    assert finding.log_e >= whole - 0.5
    assert finding.log_e > 3.0
    assert abs(int(splits.at[finding.slot]) - 200) <= 40


def test_an_error_in_the_past_would_be_seen():
    family, before, after = FAMILIES[0]
    splits, log = played(family, before, after, 200, 336, seed=3)
    slot = int(np.argmax(splits.at == 192))
    splits.before[slot, 0, 1] += 1.0
    found = arm_evidence(splits, family.record_for(3), learning_address(family), slot, 1)
    assert abs(found - slow_arm(family, log, 192, 1)) > 1e-3


def test_what_is_kept_grows_with_the_logarithm():
    splits, sizes = make_splits(2), {}
    for t in range(1, 200_001):
        decide(splits)
        if t in (2_000, 20_000, 200_000):
            sizes[t] = int((splits.at > 0).sum())
            ages = np.sort(t - splits.at[splits.at > 0])
            gaps = np.diff(ages)
            assert (gaps <= np.maximum(2 * ages[1:] / OCTAVE, BLOCK)).all()
            assert ages[-1] >= t / 2  # and there are some from long ago
    assert sizes[200_000] - sizes[20_000] <= 8 * math.log2(10) + 2
    assert sizes[20_000] - sizes[2_000] <= 8 * math.log2(10) + 2
    assert sizes[200_000] <= 120


def test_a_new_beginning_keeps_what_is_known():
    splits, _ = played(*FAMILIES[0], 200, 336, seed=3)
    now = splits.now.copy()
    begin(splits)
    assert not splits.at.any()
    assert splits.clock.tolist() == [0, 1]
    assert (splits.reference[0] == now).all()
    assert splits.shares[0] == pytest.approx(0.5 * now[0] / now[0].sum() + 0.5 / 3)


ALARMS = [
    (am.Bernoulli(), [0.1, 0.5, 0.45, 0.02]),
    (am.Gaussian(), [0.0, 0.5, 0.4, -3.0]),
    (am.Poisson(), [0.2, 2.0, 1.9, 1.0]),
]


@pytest.mark.checks("bounds.change", by="its false alarms in 1,000 runs, four ways")
@pytest.mark.parametrize(("family", "means"), ALARMS, ids=str)
@pytest.mark.parametrize("way", [IN_TURN, GREEDY, ADVERSE])
def test_false_alarms_are_as_rare_as_stated(family, means, way):
    highest, _ = runs_of(family, means, 1000, 480, way, seed=5)
    for delta in (0.2, 0.05, 0.01):
        alarms = int((highest >= math.log(1.0 / delta)).sum())
        assert stats.binomtest(alarms, 1000, delta, alternative="greater").pvalue > 1e-3


@am.kernel
def nothing_to_learn(p: float, n: float, total: float) -> float:
    """As if the means were known."""
    return 0.0


@pytest.mark.parametrize(("family", "means"), ALARMS, ids=str)
@pytest.mark.parametrize("way", [IN_TURN, ADVERSE])
def test_so_it_is_for_one_split_which_leaves_less_room(family, means, way):
    highest, _ = runs_of(family, means, 1000, 960, way, only=64, seed=5)
    for delta in (0.2, 0.05, 0.01):
        alarms = int((highest >= math.log(1.0 / delta)).sum())
        assert stats.binomtest(alarms, 1000, delta, alternative="greater").pvalue > 1e-3


@pytest.mark.parametrize(("family", "means"), ALARMS, ids=str)
def test_what_is_expected_of_one_arm_is_at_most_one(family, means):
    assert cut_mean(family, means, None)[0] <= 1.0
    nothing = address_of(nothing_to_learn, Signature(signatures, "divergence"))
    low = cut_mean(family, means, nothing)[0]  # a test that learns for nothing
    assert low > 1.0


def cut_mean(family: am.Family, means: list[float], costs: int | None) -> tuple[float, float]:
    """The ends of an interval for the mean of min(E_k, 20), for one arm and one split."""
    _, found = runs_of(family, means, 2000, 960, IN_TURN, only=64, costs=costs, seed=5)
    values = np.minimum(np.exp(found[:, 2]), 20.0)
    error = 3.0 * values.std() / math.sqrt(values.size)
    return values.mean() - error, values.mean() + error


@pytest.mark.parametrize(
    ("family", "means", "later", "within"),
    [
        (am.Bernoulli(), [0.1, 0.73, 0.6, 0.5], [0.1, 0.98, 0.6, 0.5], 500),
        (am.Gaussian(), [0.0, 1.0, 0.5, -3.0], [0.0, 0.0, 1.0, -3.0], 230),
        (am.Poisson(), [0.2, 2.0, 1.9, 1.0], [0.2, 0.8, 1.9, 1.0], 500),
    ],
)
def test_a_change_is_found_when_and_where_it_is(family, means, later, within):
    _, found = runs_of(family, means, 30, 3200, IN_TURN, later=later, jump=2000, seed=8)
    delays = found[:, 0] - 2000
    assert (delays > 0).all()  # 30 runs without a false alarm before
    assert np.quantile(delays, 0.9) <= within
    assert np.median(np.abs(found[:, 1] - 2000)) <= 96
