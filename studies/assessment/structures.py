"""How often a true structure is called refuted, and how often a wrong one is."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import armature as am
from armature.assess.arms import informed
from armature.assess.fit import evidence_in, judge
from armature.assess.log import Log, read_log
from armature.kernels.arrays import Floats

STRUCTURES: dict[str, tuple[am.Structure, Floats]] = {
    "Unimodal": (am.Unimodal(6), np.array([0.2, 0.4, 0.7, 0.5, 0.3, 0.1])),
    "Monotone": (am.Monotone(6), np.array([0.1, 0.2, 0.4, 0.5, 0.5, 0.7])),
    "Concave": (am.Concave(6), np.array([0.2, 0.4, 0.55, 0.65, 0.6, 0.4])),
    "Categorised": (am.Categorised(list("aabbcc")), np.array([0.7, 0.6, 0.3, 0.2, 0.4, 0.1])),
    "Sparse": (am.Sparse(6, 2, 0.2), np.array([0.2, 0.6, 0.2, 0.2, 0.4, 0.2])),
}


class Rate(NamedTuple):
    """How often a structure was called refuted."""

    structure: str
    family: str
    truth: str
    rewards: int
    logs: int
    refuted: float
    stated: float


def sums_of(
    means: Floats, family: am.Family, rewards: int, rng: np.random.Generator
) -> dict[str, Any]:
    """A log of as many rewards of each arm, summed up."""
    n = float(rewards)
    if isinstance(family, am.Bernoulli):
        total = rng.binomial(rewards, means).astype(float)
        return {"counts": [n] * means.size, "sums": total.tolist(), "squares": total.tolist()}
    total = n * means + np.sqrt(n) * rng.normal(size=means.size)
    squares = total**2 / n + rng.chisquare(max(rewards - 1, 1), means.size)
    return {"counts": [n] * means.size, "sums": total.tolist(), "squares": squares.tolist()}


def log_of(means: Floats, family: am.Family, rewards: int, rng: np.random.Generator) -> Log:
    """The same, read."""
    return read_log(sums_of(means, family, rewards, rng), am.Unconstrained(means.size))


def is_refuted(log: Log, structure: am.Structure, family: am.Family) -> bool:
    """Whether `assess` would call the structure refuted."""
    found = evidence_in(log, structure, informed(log, family), 0.01)
    return found is not None and found.refuted


def false_alarms(
    name: str, family: am.Family, equal: bool, rewards: int, logs: int, seed: int = 0
) -> Rate:
    """How often a structure that is true is called refuted.

    `equal`: all means are the same, which is in all of these structures, at the border of most.
    """
    structure, means = STRUCTURES[name]
    truth = np.full(means.size, 0.2) if equal else means
    rng = np.random.default_rng(seed)
    refuted = 0
    for _ in range(logs):
        log = log_of(truth, family, rewards, rng)
        refuted += is_refuted(log, structure, family)
    words = "equal means" if equal else "means inside"
    return Rate(name, str(family), words, rewards, logs, refuted / logs, 0.01)


def power(name: str, family: am.Family, rewards: int, logs: int, seed: int = 0) -> list[Rate]:
    """How often a structure falls at the changes that `assess` says it would notice.

    A log without noise is assessed first; then every change that it calls noticeable with
    probability 0.8, the two smallest of them, is made, and logs are drawn with these means.
    """
    structure, means = STRUCTURES[name]
    exact = _without_noise(means, family, rewards)
    found = judge(exact, structure, informed(exact, family), 100, 0.01, with_power=True)
    near = found.noticeable
    assert near is not None
    options = [(float(c), k, +1.0) for k, c in enumerate(near.up)]
    options += [(float(c), k, -1.0) for k, c in enumerate(near.down)]
    rates = []
    rng = np.random.default_rng(seed)
    for change, k, sign in sorted(one for one in options if np.isfinite(one[0]))[:2]:
        truth = found.fitted.copy()
        truth[k] += sign * change
        refuted = 0
        for _ in range(logs):
            log = log_of(truth, family, rewards, rng)
            refuted += is_refuted(log, structure, family)
        words = f"arm {k} off by {sign * change:+.3f}"
        rates.append(Rate(name, str(family), words, rewards, logs, refuted / logs, near.power))
    return rates


def _without_noise(means: Floats, family: am.Family, rewards: int) -> Log:
    n = float(rewards)
    total = n * means
    squares = total if isinstance(family, am.Bernoulli) else total**2 / n + (n - 1.0)
    log = {"counts": [n] * means.size, "sums": total.tolist(), "squares": squares.tolist()}
    return read_log(log, am.Unconstrained(means.size))
