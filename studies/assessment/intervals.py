"""How often intervals of the arms' means hold, and how often a change is seen that is none."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import armature as am
from armature.assess.arms import at_any_time, informed, intervals
from armature.assess.drift import find_drift
from armature.assess.log import read_log
from armature.kernels.arrays import Floats

FAMILIES: dict[str, tuple[am.Family, Floats]] = {
    "Gaussian": (am.Gaussian(2.0), np.array([-1.0, 0.0, 3.0])),
    "Gaussian, sigma unknown": (am.Gaussian(None), np.array([-1.0, 0.0, 3.0])),
    "Bernoulli": (am.Bernoulli(), np.array([0.01, 0.1, 0.5])),
    "Poisson": (am.Poisson(), np.array([0.05, 1.0, 8.0])),
    "Exponential": (am.Exponential(), np.array([0.1, 1.0, 30.0])),
    "Bounded": (am.Bounded(0.0, 1.0), np.array([0.1, 0.5, 0.9])),
}


class Coverage(NamedTuple):
    """How often the intervals held, for the arm where they held least often."""

    family: str
    rewards: int
    logs: int
    fixed: float
    any_time: float


def draw(family: am.Family, mean: float, rng: np.random.Generator, size: int) -> Floats:
    """Rewards; of a family whose sigma is not known, with sigma 2."""
    known = am.Gaussian(2.0) if family == am.Gaussian(None) else family
    if isinstance(known, am.Bounded):  # whose own simulation is slow: uniform about the mean
        reach = min(mean, 1.0 - mean)
        return rng.uniform(mean - reach, mean + reach, size)
    return np.asarray(known.sample(mean, rng, size))


def coverage(name: str, rewards: int, logs: int, seed: int = 0, delta: float = 0.05) -> Coverage:
    """Logs with as many rewards of each of three arms: the share of intervals that hold."""
    family, means = FAMILIES[name]
    rng = np.random.default_rng(seed)
    held, held_any = np.zeros(3), np.zeros(3)
    for _ in range(logs):
        own = [draw(family, float(mean), rng, rewards) for mean in means]
        frame = {
            "counts": [rewards] * 3,
            "sums": [float(r.sum()) for r in own],
            "squares": [float((r**2).sum()) for r in own],
        }
        try:
            log = read_log(frame, am.Unconstrained(3), family)
        except am.ArmatureError:  # all rewards are 0
            held += 1.0
            held_any += 1.0
            continue
        known = informed(log, family)
        low, high = intervals(known, log.counts, log.sums, delta)
        held += (low <= means) & (means <= high)
        wide = at_any_time(known.cautious, log.counts, log.sums, delta)
        assert wide is not None
        held_any += (wide[0] <= means) & (means <= wide[1])
    return Coverage(name, rewards, logs, float(held.min()) / logs, float(held_any.min()) / logs)


def adaptive_coverage(logs: int, rounds: int, seed: int = 0, delta: float = 0.05) -> Coverage:
    """The same where a greedy rule chose the arms: it pulls the arm with the best mean so far."""
    rng = np.random.default_rng(seed)
    means = np.zeros(3)
    pulls, sums = np.ones((logs, 3)), rng.normal(size=(logs, 3))
    each = np.arange(logs)
    for _ in range(rounds - 3):
        arm = (sums / pulls).argmax(axis=1)
        sums[each, arm] += rng.normal(size=logs)
        pulls[each, arm] += 1.0
    known = informed(read_log({"counts": [1, 1], "sums": [0, 1]}), am.Gaussian(1.0))
    held, held_any = np.zeros(3), np.zeros(3)
    for n, total in zip(pulls, sums, strict=True):
        low, high = intervals(known, n, total, delta)
        held += (low <= means) & (means <= high)
        wide = at_any_time(known.family, n, total, delta)
        assert wide is not None
        held_any += (wide[0] <= means) & (means <= wide[1])
    share = (float(held.min()) / logs, float(held_any.min()) / logs)
    return Coverage("Gaussian, a greedy rule chose", rounds, logs, *share)


class Changes(NamedTuple):
    """How often a change was seen."""

    family: str
    shift: float
    logs: int
    seen: float


def changes(name: str, rows: int, logs: int, shift: float, seed: int = 0) -> Changes:
    """Logs of three arms, whose rewards change by so many standard deviations half way."""
    family, means = FAMILIES[name]
    rng = np.random.default_rng(seed)
    seen = 0
    for _ in range(logs):
        arms = rng.integers(0, 3, rows)
        rewards = np.empty(rows)
        for k in range(3):
            rewards[arms == k] = draw(family, float(means[k]), rng, int((arms == k).sum()))
        spread = np.array([rewards[arms == k].std() for k in range(3)])
        rewards[rows // 2 :] += shift * spread[arms[rows // 2 :]]
        log = read_log(list(zip(arms.tolist(), rewards.tolist(), strict=True)), am.Unconstrained(3))
        seen += find_drift(log, 0.01).found
    return Changes(name, shift, logs, seen / logs)
