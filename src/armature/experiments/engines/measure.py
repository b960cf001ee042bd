"""How long a repetition takes: a quick measurement, by which blocks are cut."""

from __future__ import annotations

import time

from armature.kernels.arrays import Ints
from armature.policies import Policy
from armature.rounds.run import make_run
from armature.structures.instance import Instance

ENOUGH = 0.03  # seconds after which enough was seen
FEWEST = 8  # rounds that are played at once, at first


def seconds_of_repetition(
    policy: Policy, instance: Instance, seed: int, checkpoints: Ints, enough: float = ENOUGH
) -> float:
    """About how many seconds a repetition takes, from its first rounds.

    The rest is taken to be as fast as the later half of what was played: rounds of many policies
    are slowest at first. What is compiled on first use must be compiled already.
    """
    horizon = int(checkpoints[-1])
    run = make_run(policy, instance, seed, 0, checkpoints)
    played, spent, rounds = 0, 0.0, min(FEWEST, horizon)
    while True:
        start = time.perf_counter()
        run.advance(rounds)
        took = time.perf_counter() - start
        played += rounds
        spent += took
        left = horizon - played
        if left == 0 or spent >= enough:
            return spent + left * took / rounds
        rounds = min(played, left)
