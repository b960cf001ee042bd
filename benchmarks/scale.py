"""What a cluster costs: blocks through Ray against threads, on the same cores; memory; the future.

    pip install 'armature-bandits[ray]'
    python benchmarks/scale.py [--seconds 60] [--turns 3] [--only PART ...]

Prints, in this order: rounds per second of threads and of Ray, into a folder both, on the same
problem and in turns, everything compiled and the cluster started before, of each the best turn;
how much the times of like blocks differ, and what it costs to collect them; what a block costs the
program that hands it over, from blocks with next to nothing in them; how long a machine takes to
compile and a worker to start; memory of the program and of a worker, for ten times the horizon and
ten times the repetitions; and what a model that is fed with these costs (`cluster_model.py`) says
of a sweep of 10^13 rounds on 100 and on 10,000 cores.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
from cluster_model import Costs, run_model
from rich.console import Console

import armature as am
import armature.experiments.cluster as cluster_experiments
from armature.experiments.cluster import places_of, play_on_ray
from armature.experiments.experiment import Experiment
from armature.experiments.run import run_experiment
from armature.simulation.blocks import MOST_SECONDS, Block
from armature.simulation.ray_engine import cluster

MEANS = [0.1 * k for k in range(1, 11)]
INSTANCE = am.Instance(am.Unconstrained(10), MEANS, am.Bernoulli())
QUIET = Console(quiet=True)
HORIZON = 1_000_000
PARTS = ("costs", "memory")


def experiment(horizon: int, repetitions: int, seed: int = 0) -> Experiment:
    """UCB and KL-UCB on ten arms."""
    policies = (am.UCB(), am.KLUCB())
    return Experiment("scale", INSTANCE, policies, horizon, repetitions, seed, {})


class Turn(NamedTuple):
    """An experiment into a folder: seconds, processor seconds, seconds of collecting, blocks."""

    seconds: float
    processor: float
    collecting: float
    blocks: int


def processor_seconds() -> float:
    """Of this program and of all that it has started: Ray's processes are among them."""
    total = time.process_time()
    ticks = os.sysconf("SC_CLK_TCK")
    parents = {}
    spent = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            words = path.read_text().rpartition(")")[2].split()
            number = int(path.parent.name)
            parents[number], spent[number] = (
                int(words[1]),
                (int(words[11]) + int(words[12])) / ticks,
            )
    ours = {os.getpid()}
    while more := {n for n, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return total + sum(spent[n] for n in ours - {os.getpid()})


def on_threads(what: Experiment, workers: int) -> Turn:
    """An experiment by threads."""
    with tempfile.TemporaryDirectory() as folder:
        start, used = time.perf_counter(), processor_seconds()
        run_experiment(what, Path(folder), workers, QUIET, quiet=True, picture=False)
        end = time.perf_counter()
        return Turn(end - start, processor_seconds() - used, 0.0, 0)


class Watched(cluster_experiments.Dashboard):
    """Notes how long each block took for a round."""

    times: ClassVar[dict[str, list[float]]] = {}

    def finished(self, block: Block, seconds: float) -> None:
        """A block is finished."""
        super().finished(block, seconds)
        if block.past - block.first > 1:  # not the first ones, by which the others are measured
            self.times.setdefault(block.job.policy.name, []).append(seconds / block.rounds)


def on_ray(what: Experiment) -> Turn:
    """The same by the cluster that this program is connected to."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        start, used = time.perf_counter(), processor_seconds()
        places = places_of([(what, folder)], QUIET)
        play_on_ray(places, folder, None, None, QUIET, quiet=True)
        played = time.perf_counter()
        run_experiment(what, folder, 1, QUIET, quiet=True, picture=False)
        end = time.perf_counter()
        blocks = len(list((folder / "parts").glob("*.part")))
        return Turn(end - start, processor_seconds() - used, end - played, blocks)


def throughput(workers: int, seconds: float, turns: int) -> tuple[float, float, float]:
    """Rounds per processor second on threads, the spread of blocks, seconds to collect one."""
    pilot = experiment(HORIZON, 2 * workers, seed=1)
    each = on_threads(pilot, workers).processor / workers / (2 * workers)
    what = experiment(HORIZON, max(2, round(seconds / each)), seed=2)
    rounds = 2 * HORIZON * what.repetitions
    Watched.times.clear()
    both = [(on_threads(what, workers), on_ray(what)) for _ in range(turns)]
    threads, ray = (min(turn.seconds for turn in turns) for turns in zip(*both, strict=True))
    blocks = both[0][1].blocks
    print(f"{workers} cores, {rounds:.3g} rounds, {blocks} blocks, the best of {len(both)} turns")
    print(f"  threads  {rounds / threads:12,.0f} rounds/s  {threads:6.1f} s")
    print(
        f"  Ray      {rounds / ray:12,.0f} rounds/s  {ray:6.1f} s  {threads / ray:.3f} of threads"
    )
    print("  turn by turn: " + ", ".join(f"{t.seconds / r.seconds:.3f}" for t, r in both))
    least = [min(turn.processor for turn in turns) for turns in zip(*both, strict=True)]
    print(f"  processor seconds: {least[0]:.1f} and, with all of Ray's processes, {least[1]:.1f}: "
          f"{least[0] / least[1]:.3f}")  # fmt: skip
    logs = [np.log(times) - np.mean(np.log(times)) for times in Watched.times.values()]
    spread = float(np.concatenate(logs).std())
    collect = min(turn.collecting / turn.blocks for _, turn in both)
    print(f"  like blocks differ by {spread:.1%} (standard deviation of the logarithm of times)")
    print(f"  collecting a block: {1e3 * collect:.1f} ms")
    return rounds / least[0], spread, collect


def cost_of_a_block(workers: int, blocks: int = 200) -> float:
    """Processor seconds of this program for each of many blocks, each of another job.

    Almost nothing is played in them.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pairs = [
            (Experiment("", INSTANCE, (am.UCB(),), 10, 1, seed, {}), folder / str(seed))
            for seed in range(blocks)
        ]
        places = places_of(pairs, QUIET)
        start, used = time.perf_counter(), time.process_time()
        play_on_ray(places, folder, None, None, QUIET, quiet=True)
        each = (time.perf_counter() - start) / blocks
        own = (time.process_time() - used) / blocks
    print(
        f"a block of nothing: {1e3 * own:.2f} ms of the program that hands it over; with all that "
        f"workers do, one each {1e3 * each:.2f} ms on {workers} cores"
    )
    return own


COMPILING = """
import sys, time
sys.path.insert(0, sys.argv[1])
start = time.perf_counter()
from scale import experiment, on_threads
on_threads(experiment(1000, 1), 1)
print(time.perf_counter() - start)
"""


def seconds_to_compile() -> float:
    """How long a machine takes to import and compile everything; of a process with a warm cache."""
    took = []
    with tempfile.TemporaryDirectory() as cache:
        for _ in ("cold", "warm"):
            said = subprocess.run(
                [sys.executable, "-c", COMPILING, str(Path(__file__).parent)],
                env={**os.environ, "ARMATURE_CACHE_DIR": cache},
                capture_output=True,
                text=True,
                check=True,
            )
            took.append(float(said.stdout))
    print(f"a machine that compiles starts in {took[0]:.1f} s, with compiled code {took[1]:.1f} s")
    return took[0] - took[1]


MEMORY = """
import resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from scale import QUIET, experiment, places_of, play_on_ray, cluster
horizon, repetitions, folder = int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
with cluster(None, 1) as ray:
    places = places_of([(experiment(horizon, repetitions), folder)], QUIET)
    play_on_ray(places, folder, None, None, QUIET, quiet=True)
    peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(peak(), ray.get(ray.remote(num_cpus=1)(peak).remote()))
"""


def memory() -> None:
    """Peaks of the program that asks and of its one worker."""
    print("memory (MB): horizon, repetitions, the program that asks, a worker")
    for horizon, repetitions in ((100_000, 100), (1_000_000, 100), (100_000, 1000)):
        with tempfile.TemporaryDirectory() as folder:
            here = str(Path(__file__).parent)
            words = [here, str(horizon), str(repetitions), folder]
            said = subprocess.run(
                [sys.executable, "-c", MEMORY, *words], capture_output=True, text=True, check=True
            ).stdout.split()
        print(f"  {horizon:>9,}  {repetitions:>5,}  {said[0]:>5}  {said[1]:>5}")


def future(costs: Costs) -> None:
    """What the model says."""
    print(f"\na model with {costs}")
    print("10^13 rounds: 1,000 points, 10 policies, 1,000 repetitions of 10^6 rounds")
    for cores in (100, 1000, 10_000):
        found = run_model(costs, jobs=10_000, repetitions=1000, horizon=HORIZON, cores=cores)
        print(
            f"  {cores:>6,} cores: {found.seconds:>10,.0f} s, {found.blocks:,} blocks, efficiency "
            f"{found.efficiency:.3f}; lost: start {found.starting:.3f}, handing over "
            f"{found.waiting:.3f}, last blocks {found.ending:.3f}, collecting "
            f"{found.collecting:.3f}; the limit: {found.limit}"
        )


def main() -> None:
    """All of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=2 * MOST_SECONDS, help="of each engine")
    parser.add_argument("--turns", type=int, default=3, help="of each engine")
    parser.add_argument("--only", nargs="*", default=PARTS, choices=PARTS)
    options = parser.parse_args()
    workers = os.cpu_count() or 1
    cluster_experiments.Dashboard = Watched  # type: ignore[misc]
    if "costs" in options.only:
        on_threads(experiment(1000, 2), workers)
        compiling = seconds_to_compile()
        start = time.perf_counter()
        with cluster(None, workers):
            begun = time.perf_counter()
            on_ray(experiment(1000, 4 * workers))  # workers are started, kernels loaded
            loaded = time.perf_counter()
            print(f"the cluster was started in {begun - start:.1f} s; its workers played after "
                  f"{loaded - begun:.1f} s more")  # fmt: skip
            speed, spread, collect = throughput(workers, options.seconds, options.turns)
            hand_over = cost_of_a_block(workers)
        start_of_all = compiling + loaded - start
        future(Costs(speed, hand_over, start_of_all, spread=spread, collect=collect))
    if "memory" in options.only:
        memory()


if __name__ == "__main__":
    main()
