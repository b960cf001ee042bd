"""A simulated cluster: how a sweep would do on many cores, by costs that were measured on two.

The blocks are cut by the engine's own code (`WaitingBlocks`); time is simulated. One program hands
blocks over and takes their results in, one at a time, each for `hand_over` seconds; a core has its
next block waiting while it plays one; before its first, a core starts and loads its kernels, and a
machine compiles them if it must. In the end the cores put the runs of each point together, a point
each, which the program hands over like blocks.
"""

from __future__ import annotations

import heapq
import math
from collections import deque
from dataclasses import dataclass

import numpy as np

import armature as am
from armature.experiments.blocks import Block, WaitingBlocks
from armature.experiments.cluster import IN_FLIGHT
from armature.experiments.plan import Job
from armature.experiments.simulation import SimulationPlan

INSTANCE = am.Instance(am.Unconstrained(2), [0.0, 1.0])


@dataclass(frozen=True)
class Costs:
    """What was measured, in seconds."""

    rounds_per_second: float  # of one core
    hand_over: float  # of the program that asks, for each block
    start: float  # of a worker, until it plays; with what is compiled before
    spread: float = 0.0  # the standard deviation of the logarithm of a block's time
    collect: float = 0.0  # for each repetition, in the end


@dataclass(frozen=True)
class Estimate:
    """How long it takes, and for what share of all cores' time they play, or wait for what."""

    seconds: float
    blocks: int
    efficiency: float
    starting: float
    waiting: float  # for a block to be handed over
    ending: float  # for the last block of others
    collecting: float

    @property
    def limit(self) -> str:
        """What costs most."""
        shares = {
            "the start of workers": self.starting,
            "the program that hands over": self.waiting,
            "the last blocks": self.ending,
            "collecting": self.collecting,
        }
        return max(shares, key=lambda name: shares[name])


def run_model(
    costs: Costs,
    jobs: int,
    repetitions: int,
    horizon: int,
    cores: int,
    seed: int = 0,
    points: int = 1,
) -> Estimate:
    """So many jobs (points of a sweep, times policies) on so many cores."""
    policy = am.UCB()
    plan = SimulationPlan(
        instance=INSTANCE, policies=(policy,), horizon=horizon, repetitions=repetitions, seed=0
    )
    waiting = WaitingBlocks((Job(plan, policy, str(n)), [(0, repetitions)]) for n in range(jobs))
    at_a_time = min(points, cores)
    turns = -(-points // at_a_time)  # of the core that has most points
    collecting = turns * costs.collect * jobs * repetitions / points
    if points > 1:
        collecting += costs.hand_over * at_a_time
    return _play(costs, waiting, cores, collecting, np.random.default_rng(seed))


def _play(
    costs: Costs,
    waiting: WaitingBlocks,
    cores: int,
    collecting: float,
    rng: np.random.Generator,
) -> Estimate:
    queues: list[deque[tuple[float, Block, float]]] = [deque() for _ in range(cores)]
    asking = 0.0  # when the program that asks is free again
    count, played, waited = 0, 0.0, 0.0

    def hand_over(now: float, core: int) -> None:
        nonlocal asking, count
        asking = max(now, asking) + costs.hand_over
        block = waiting.next(cores)
        factor = math.exp(costs.spread * rng.standard_normal()) if costs.spread else 1.0
        queues[core].append((asking, block, block.rounds / costs.rounds_per_second * factor))
        count += 1

    for _ in range(IN_FLIGHT):
        for core in range(cores):
            if waiting:
                hand_over(0.0, core)
    free = [(costs.start, core) for core in range(cores)]
    heapq.heapify(free)
    ends = [costs.start] * cores
    flying: list[tuple[float, int, Block, float]] = []
    while free or flying:
        if free and (not flying or free[0][0] <= flying[0][0]):
            now, core = heapq.heappop(free)
            if queues[core]:
                there, block, seconds = queues[core].popleft()
                begin = max(now, there)
                waited += begin - now
                played += seconds
                heapq.heappush(flying, (begin + seconds, core, block, seconds))
            continue
        now, core, block, seconds = heapq.heappop(flying)
        ends[core] = now
        waiting.took(block, seconds)
        if waiting:
            hand_over(now, core)
        heapq.heappush(free, (now, core))
    last = max(max(ends), asking)
    total = last + collecting
    everything = total * cores
    return Estimate(
        seconds=total,
        blocks=count,
        efficiency=played / everything,
        starting=costs.start * cores / everything,
        waiting=waited / everything,
        ending=sum(last - end for end in ends) / everything,
        collecting=collecting / total,
    )
