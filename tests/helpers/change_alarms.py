"""Runs in which a test for changes looks at every block, in compiled code."""

from __future__ import annotations

import math

import numpy as np

import armature as am
from armature.bounds.change import (
    FoundChange,
    arm_evidence,
    log_prior,
    look_for_change,
    split_evidence,
)
from armature.bounds.splits import COUNTS, SUMS, Splits, count, decide, make_splits
from armature.families.kernels import divergence, learning_address
from armature.families.record import FamilyRecord
from armature.kernels.addresses import Address
from armature.kernels.arrays import Floats
from armature.kernels.streams import Stream, make_stream, next_unit
from armature.policies.records import argmax
from armature.rounds.rewards import SimulatedRewards, make_rewards, next_reward

IN_TURN, GREEDY, ADVERSE = range(3)  # ways to choose arms


@am.kernel
def look_at_one(splits: Splits, family: FamilyRecord, costs: Address, only: int) -> FoundChange:
    """ln E as if this split were the only one there is."""
    for slot in range(splits.at.size):
        if splits.at[slot] == only:
            return FoundChange(split_evidence(splits, family, costs, slot) - log_prior(only), slot)
    return FoundChange(-math.inf, -1)


@am.kernel
def highest_evidence(
    splits: Splits, family: FamilyRecord, costs: Address, means: Floats, rewards: SimulatedRewards,
    later: SimulatedRewards, stream: Stream, rounds: int, jump: int, way: int, only: int,
    bar: float, found: Floats,
) -> float:  # fmt: skip
    """The highest ln E; found = when E reached the bar and the split that had most of it then.

    Greedily: nine tenths of the pulls go to the best mean. Adversely: to the arm that looks most
    changed, as long as it does. Rewards are the later ones from round `jump` on.
    With `only`, E is that of one split.
    """
    highest, slot = -math.inf, -1
    K = means.size
    for t in range(rounds):
        arm = t % K
        if way == GREEDY and t >= K and next_unit(stream) < 0.9:
            arm = argmax(means)
        if way == ADVERSE and slot >= 0:
            most = 0.0
            for k in range(K):
                n_s, n = splits.before[slot, COUNTS, k], splits.now[COUNTS, k]
                if n > n_s and n_s > 0.0:
                    before = splits.before[slot, SUMS, k] / n_s
                    since = (splits.now[SUMS, k] - splits.before[slot, SUMS, k]) / (n - n_s)
                    value = (n - n_s) * divergence(family, since, before)
                    if value > most:
                        most = value
                        arm = k
        reward = next_reward(family, rewards if t < jump else later, arm)
        count(splits, arm, reward, splits.clock[0])
        means[arm] = splits.now[SUMS, arm] / splits.now[COUNTS, arm]
        if decide(splits):
            finding = look_for_change(splits, family, costs)
            if only > 0:
                finding = look_at_one(splits, family, costs, only)
                if finding.slot >= 0:
                    found[2] = arm_evidence(splits, family, costs, finding.slot, 1)
            slot = finding.slot
            highest = max(highest, finding.log_e)
            if finding.log_e >= bar and found[0] == 0.0:
                found[0] = t + 1
                found[1] = splits.at[slot]
    return highest


def runs_of(
    family: am.Family, means: list[float], runs: int, rounds: int, way: int, *,
    later: list[float] | None = None, jump: int = 10**9, only: int = 0,
    costs: Address | None = None,
    delta: float = 0.01, seed: int = 0,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Of each run the highest ln E; and (runs, 3), what `highest_evidence` found."""
    mu, K = np.array(means), len(means)
    after = mu if later is None else np.array(later)
    highest, found = np.zeros(runs), np.zeros((runs, 3))
    record = family.record_for(K)
    costs = learning_address(family) if costs is None else costs
    for run in range(runs):
        highest[run] = highest_evidence(
            make_splits(K), record, costs, np.zeros(K), make_rewards(mu, seed, run),
            make_rewards(after, seed + 1, run), make_stream(seed, run, 0), rounds, jump, way, only,
            math.log(1.0 / delta), found[run],
        )  # fmt: skip
    return highest, found
