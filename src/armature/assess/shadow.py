"""The choices of a policy in each row of a log, and what a model expects of them.

The policy is asked before each row, and then learns from the row, whatever the row's arm was: so it
goes beside the system that made the log, without deciding anything. A running system can do the
same with a `Shadow`.
"""

from __future__ import annotations

import itertools
from typing import NamedTuple

import numpy as np

from armature.assess.log import Log
from armature.families import Family
from armature.kernels.arrays import Floats
from armature.policies import Policy
from armature.rounds.runner import make_runner
from armature.structures import Structure

RENEWALS = 64  # how many times the model is fitted anew


class Shadow:
    """A policy beside the system that decides: it says what it would do, and learns from others."""

    def __init__(self, policy: Policy, structure: Structure, family: Family, seed: int = 0) -> None:
        self._runner = make_runner(policy, structure, family, seed)

    def shares(self) -> Floats:
        """With which probability it would choose each arm next.

        Exact where the policy leaves nothing to chance or knows the odds by which it draws; else
        the one arm that it draws.
        """
        runner = self._runner
        before, mark = runner.moment() if runner.knows_odds else None, runner.random_mark()
        arm = runner.next(runner.history)
        if before is not None and runner.random_mark() != mark:
            after = runner.moment()
            runner.return_to(before)
            known = runner.probabilities(runner.history)
            runner.return_to(after)
            if known is not None:
                return known
        one: Floats = (np.arange(runner.history.pulls.size) == arm).astype(np.float64)
        return one

    def learn(self, arm: int, reward: float) -> None:
        """Take in what the system chose, and what it brought."""
        self._runner.take_in(arm, reward)


class Choices(NamedTuple):
    """The choices of a policy in each row of a log.

    Attributes
    ----------
        shares: (n,) with which probability it would have chosen the row's arm.
        expected: (n,) what the model expects of its choice.
        modelled: (n,) what the model expects of the row's arm.
        arms: (K,) how often it would have chosen each arm, on average.
    """

    shares: Floats
    expected: Floats
    modelled: Floats
    arms: Floats


def choices_on(log: Log, who: Shadow | Floats, structure: Structure, family: Family) -> Choices:
    """The choices of a policy, or of fixed probabilities.

    The model is the projection of the means of the rows before onto the structure. It is renewed
    `RENEWALS` times, more often at first; so no row has a say in what is expected of it.
    """
    assert log.places is not None
    assert log.rewards is not None
    n, K = log.rounds, len(log.arms)
    shares, expected, modelled = np.zeros(n), np.zeros(n), np.zeros(n)
    total, counts, sums = np.zeros(K), np.zeros(K), np.zeros(K)
    starts = np.unique((n * (np.arange(RENEWALS) / RENEWALS) ** 2).astype(np.int64))
    for start, end in itertools.pairwise([*starts.tolist(), n]):
        # Invariant: counts and sums are those of the rows before start; so are total and `who`.
        model = fitted_means(counts, sums, structure, family)
        places, rewards = log.places[start:end], log.rewards[start:end]
        modelled[start:end] = model[places]
        if isinstance(who, Shadow):
            for row, (arm, reward) in enumerate(zip(places.tolist(), rewards, strict=True), start):
                now = who.shares()
                shares[row], expected[row] = now[arm], now @ model
                total += now
                who.learn(arm, float(reward))
        else:
            shares[start:end], expected[start:end] = who[places], who @ model
            total += (end - start) * who
        counts += np.bincount(places, minlength=K)
        sums += np.bincount(places, rewards, K)
    return Choices(shares, expected, modelled, total / n)


def fitted_means(counts: Floats, sums: Floats, structure: Structure, family: Family) -> Floats:
    """The nearest means in the structure, none beyond the means of the rewards; 0 without any."""
    seen = counts > 0.0
    if not seen.any():
        return np.zeros(counts.size)
    means = np.where(seen, sums / np.maximum(counts, 1.0), family.some_mean)
    if family.as_told.estimated:
        family = family.estimate(1.0)  # one sigma for all arms moves no projection
    fitted: Floats = structure.project(means, counts, family).means
    return np.clip(fitted, means[seen].min(), means[seen].max())
