"""Runs under a true structure that look for evidence against it, in compiled code."""

from __future__ import annotations

import math

import numpy as np

import armature as am
from armature.families.kernels import divergence, learning_address, total_learning_cost
from armature.policies.policy import History, make_history
from armature.rounds.rewards import SimulatedRewards, make_rewards, next_reward
from armature.structures.oracles.model import Model, make_model, projection


@am.kernel
def highest_evidence(
    model: Model, costs: int, share: float, history: History, rewards: SimulatedRewards,
    fitted: np.ndarray, rounds: int, greedy: bool,
) -> float:  # fmt: skip
    """The highest log-evidence in so many rounds, with that share of the learning costs.

    Each arm in turn; or, greedily, the arm whose next reward adds most to the misfit if it comes
    out at the arm's mean so far.
    """
    N, sums, mu = history.pulls, history.sums, history.means
    K = N.size
    highest = -math.inf
    for t in range(rounds):
        arm = t % K
        if greedy and t >= K:
            most = 0.0
            for k in range(K):
                gain = divergence(model.family, mu[k], fitted[k])
                if gain > most:
                    most = gain
                    arm = k
        reward = next_reward(model.family, rewards, arm)
        N[arm] += 1.0
        sums[arm] += reward
        mu[arm] = sums[arm] / N[arm]
        if t >= K - 1:
            misfit = projection(model, mu, N, fitted)
            found = misfit - share * total_learning_cost(costs, model.family, N, sums)
            highest = max(highest, found)
    return highest


def highest_of(
    instance: am.Instance, runs: int, rounds: int, greedy: bool, share: float = 1.0, seed: int = 0
) -> np.ndarray:
    """The highest log-evidence of each of some runs."""
    structure, family, K = instance.structure, instance.family, instance.n_arms
    model, costs = make_model(structure, family, ("project",)), learning_address(family)
    found, fitted = np.zeros(runs), np.zeros(K)
    for run in range(runs):
        history, rewards = make_history(K), make_rewards(instance.means, seed, run)
        found[run] = highest_evidence(model, costs, share, history, rewards, fitted, rounds, greedy)
    return found
