"""Whether replay is unbiased, how often its intervals hold, whether queues are like new runs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import armature as am
from armature.assess.resampling import mean_interval, weigh
from armature.kernels.arrays import Floats, Ints
from armature.rounds.rewards import QUEUES, REJECTION, SHADOW, make_log
from armature.rounds.run import play_log

MEANS = np.array([0.3, 0.5, 0.45, 0.2])
SHOWN = np.array([0.4, 0.3, 0.2, 0.1])  # the probabilities of the log
POLICIES: dict[str, am.Policy] = {
    "UCB": am.UCB(),
    "ThompsonSampling": am.ThompsonSampling(),
    "Challenger": am.Challenger(),
}
NONE: Ints = np.zeros(0, dtype=np.int64)


class Bias(NamedTuple):
    """The error of a replay's value, over many logs."""

    method: str
    policy: str
    logs: int
    truth: float
    error: float  # mean of (estimate - truth of the same log)
    standard_error: float
    covered: float  # how often the interval has the truth

    @property
    def z(self) -> float:
        """The error in standard errors."""
        return self.error / self.standard_error if self.standard_error > 0.0 else 0.0


def draw_log(rows: int, rng: np.random.Generator) -> tuple[Ints, Floats, Floats]:
    """Arms, probabilities and rewards of a log of Bernoulli rewards."""
    arms = rng.choice(MEANS.size, rows, p=SHOWN).astype(np.int64)
    rewards = (rng.random(rows) < MEANS[arms]).astype(np.float64)
    return arms, SHOWN[arms], rewards


def weighted(policy: str, rows: int, logs: int, seed: int = 0, delta: float = 0.05) -> list[Bias]:
    """IPS and SNIPS, against the mean reward of the choices that they value."""
    rng = np.random.default_rng(seed)
    errors, covered, truths = np.zeros((2, logs)), np.zeros(2), np.zeros(logs)
    structure, family = am.Unimodal(MEANS.size), am.Bernoulli()
    starts = np.zeros(MEANS.size + 1, dtype=np.int64)
    for i in range(logs):
        arms, shown, rewards = draw_log(rows, rng)
        log = make_log(SHADOW, rewards, arms, starts, NONE)
        choices = play_log(POLICIES[policy], structure, family, log, rows, seed, i).choices
        truth = float(MEANS[choices].mean())
        found = weigh((choices == arms).astype(float), shown, rewards, delta, 0)
        ends = ((found.ips_low, found.ips_high), (found.snips_low, found.snips_high))
        errors[:, i] = found.ips - truth, found.snips - truth
        covered += [low <= truth <= high for low, high in ends]
        truths[i] = truth
    return [
        Bias(method, policy, logs, float(truths.mean()), float(errors[m].mean()),
             float(errors[m].std(ddof=1) / np.sqrt(logs)), float(covered[m]) / logs)
        for m, method in enumerate(("ips", "snips"))
    ]  # fmt: skip


def rejected(
    policy: str, rows: int, rounds: int, logs: int, seed: int = 0, delta: float = 0.05
) -> Bias:
    """Rejection, over its first rounds, against the mean reward of new runs of the policy.

    The interval is for what the run's own choices were worth.
    """
    rng = np.random.default_rng(seed)
    structure, family = am.Unimodal(MEANS.size), am.Bernoulli()
    starts = np.zeros(MEANS.size + 1, dtype=np.int64)
    values, covered = np.zeros(logs), 0
    for i in range(logs):
        arms, shown, rewards = draw_log(rows, rng)
        accepted = (rng.random(rows) * shown <= SHOWN.min()).astype(np.int64)
        log = make_log(REJECTION, rewards, arms, starts, accepted)
        played = play_log(POLICIES[policy], structure, family, log, rounds, seed, i)
        if played.gains.size < rounds:
            raise RuntimeError("the log is too short for this comparison")
        values[i] = played.gains.mean()
        low, high = mean_interval(played.gains, delta, 0)
        covered += low <= float(MEANS[played.choices].mean()) <= high
    fresh = fresh_values(policy, rounds, logs, seed + 1)
    gap = values.mean() - fresh.mean()
    error = np.sqrt(values.var(ddof=1) / logs + fresh.var(ddof=1) / logs)
    return Bias("rejection", policy, logs, float(fresh.mean()), float(gap), float(error),
                covered / logs)  # fmt: skip


def fresh_values(policy: str, rounds: int, runs: int, seed: int) -> Floats:
    """The mean worth of a round's choice, in new simulations."""
    instance = am.Instance(am.Unimodal(MEANS.size), MEANS, am.Bernoulli())
    results = am.simulate(instance, [POLICIES[policy]], rounds, runs, seed)
    return np.asarray(MEANS.max() - results.regret(policy)[:, -1] / rounds)


class Likeness(NamedTuple):
    """Regret of queue replays beside that of new runs: two samples compared."""

    policy: str
    logs: int
    queues: float
    fresh: float
    distance: float  # Kolmogorov and Smirnov's
    p_value: float


def queued(policy: str, rows: int, rounds: int, logs: int, seed: int = 0) -> Likeness:
    """Queues over logs, against as many new runs, at a horizon that all queues reach."""
    from scipy.stats import ks_2samp

    rng = np.random.default_rng(seed)
    structure, family = am.Unimodal(MEANS.size), am.Bernoulli()
    values = np.zeros(logs)
    for i in range(logs):
        arms = rng.choice(MEANS.size, rows).astype(np.int64)
        rewards = (rng.random(rows) < MEANS[arms]).astype(np.float64)
        order = np.argsort(arms, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(arms, minlength=MEANS.size))])
        log = make_log(QUEUES, rewards[order], NONE, starts.astype(np.int64), NONE)
        played = play_log(POLICIES[policy], structure, family, log, rounds, seed, i)
        if played.gains.size < rounds:
            raise RuntimeError("the log is too short for this comparison")
        values[i] = MEANS[played.choices].mean()
    fresh = fresh_values(policy, rounds, logs, seed + 1)
    found = ks_2samp(values, fresh)
    return Likeness(policy, logs, float(values.mean()), float(fresh.mean()),
                    float(found.statistic), float(found.pvalue))  # fmt: skip


def queue_intervals(policy: str, logs: int, seed: int = 3) -> Bias:
    """`replay` in queues, 100 rounds of 800 rows, against the mean worth of new runs."""
    truth = float(fresh_values(policy, 100, 4000, 99).mean())
    rng = np.random.default_rng(seed)
    errors, held = np.zeros(logs), 0
    structure, family = am.Unimodal(MEANS.size), am.Bernoulli()
    for i in range(logs):
        arms = rng.integers(0, MEANS.size, 800)
        rewards = (rng.random(800) < MEANS[arms]).astype(np.float64)
        pairs = list(zip(arms.tolist(), rewards.tolist(), strict=True))
        found = am.replay(
            pairs, POLICIES[policy], structure, family, horizon=100, repetitions=40, seed=i
        )[policy]
        errors[i] = found.value - truth
        held += found.low <= truth <= found.high
    error = float(errors.std(ddof=1) / np.sqrt(logs))
    return Bias("queues", policy, logs, truth, float(errors.mean()), error, held / logs)
