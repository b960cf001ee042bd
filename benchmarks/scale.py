"""What a cluster costs: blocks through Ray against threads, on the same cores; memory; the future.

    pip install 'armature-bandits[ray]'
    python benchmarks/scale.py [--seconds 25] [--turns 3] [--only PART ...]

About six minutes, on cores that nobody else uses. It writes what it finds into docs/scale.md:

* `costs`: rounds per second of threads and of Ray, into a folder both, on the same problem and in
  turns, everything compiled and the cluster started before, of each the best turn; how much the
  times of like blocks differ; what a block costs the program that hands it over, from blocks with
  next to nothing in them; what it costs to put the runs of a point together; how long a machine
  takes to compile and a worker to start; and what a model that is fed with these costs
  (`cluster_model.py`) says of a sweep of 10^13 rounds on 100 to 10,000 cores;
* `memory`: of the program and of a worker, for ten times the horizon and ten times the repetitions,
  and of a program that puts runs together.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np
from claims import ROOT, fill_in, table
from cluster_model import Costs, run_model
from rich.console import Console

import armature as am
from armature.experiments import progress
from armature.experiments.blocks import Block, bytes_of_one
from armature.experiments.cluster import cluster, play_places
from armature.experiments.experiment import Experiment
from armature.experiments.run import PlacedPlan, Runner
from armature.experiments.simulation import SimulationPlan

MEANS = [0.1 * k for k in range(1, 11)]
INSTANCE = am.Instance(am.Unconstrained(10), MEANS, am.Bernoulli())
RUNNER = Runner(Console(quiet=True), quiet=True)
HORIZON = 1_000_000
PARTS = ("costs", "memory")
GROWN = 4000  # repetitions, by which it is told what one takes


def experiment(horizon: int, repetitions: int, seed: int = 0) -> Experiment:
    """UCB and KL-UCB on ten arms."""
    policies = (am.UCB(), am.KLUCB())
    return Experiment("scale", INSTANCE, policies, horizon, repetitions, seed, {})


class Turn(NamedTuple):
    """An experiment into a folder: seconds, processor seconds, blocks."""

    seconds: float
    processor: float
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
        run_experiment(what, Path(folder), workers)
        end = time.perf_counter()
        return Turn(end - start, processor_seconds() - used, 0)


def place_of(what: Experiment, folder: Path) -> PlacedPlan[am.Results]:
    """A folder for an experiment."""
    return PlacedPlan(SimulationPlan.of(what), folder, RUNNER)


def run_experiment(
    what: Experiment, folder: Path, workers: int | None, picture: bool = False
) -> None:
    """Run an experiment on threads, into a folder."""
    place_of(what, folder).run(replace(RUNNER, workers=workers), picture)


class Watched(progress.Dashboard):
    """Notes how long each block took for a round."""

    times: ClassVar[dict[str, list[float]]] = {}

    def finished(self, block: Block, seconds: float) -> None:
        """A block is finished."""
        super().finished(block, seconds)
        if block.stop - block.first > 1:  # not the first ones, by which the others are measured
            self.times.setdefault(block.job.policy.name, []).append(seconds / block.rounds)


def on_ray(what: Experiment) -> Turn:
    """The same by the cluster that this program is connected to."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        start, used = time.perf_counter(), processor_seconds()
        play_places([place_of(what, folder)], folder, RUNNER)
        run_experiment(what, folder, 1)
        end = time.perf_counter()
        blocks = len(list((folder / "parts").glob("*.part")))
        return Turn(end - start, processor_seconds() - used, blocks)


class Throughput(NamedTuple):
    """Threads against Ray: rounds per processor second on threads, how blocks differ, in words."""

    speed: float
    spread: float
    words: str


def throughput(workers: int, seconds: float, turns: int) -> Throughput:
    """Blocks through Ray against threads."""
    pilot = experiment(HORIZON, 2 * workers, seed=1)
    each = on_threads(pilot, workers).processor / workers / (2 * workers)
    what = experiment(HORIZON, max(2, round(seconds / each)), seed=2)
    rounds = 2 * HORIZON * what.repetitions
    Watched.times.clear()
    both = [(on_threads(what, workers), on_ray(what)) for _ in range(turns)]
    threads, ray = (min(turn.seconds for turn in turns) for turns in zip(*both, strict=True))
    least = [min(turn.processor for turn in turns) for turns in zip(*both, strict=True)]
    logs = [np.log(times) - np.mean(np.log(times)) for times in Watched.times.values()]
    spread = float(np.concatenate(logs).std())
    ratios = ", ".join(f"{t.seconds / r.seconds:.2f}" for t, r in both)
    words = (
        f"**Ray against threads**, UCB and KL-UCB on ten arms, {rounds:.2g} rounds in "
        f"{both[0][1].blocks} blocks, into a folder both, on {workers} cores: threads play "
        f"{rounds / threads:,.0f} rounds a second and Ray {rounds / ray:,.0f}, the best of "
        f"{len(both)} turns each: **{threads / ray:.2f}** of the throughput (turn by turn "
        f"{ratios}). In processor seconds, with all of Ray's processes, it is {least[0]:.1f} and "
        f"{least[1]:.1f}: {least[0] / least[1]:.2f}. Times of like blocks differ by {spread:.0%} "
        f"(the standard deviation of their logarithms). The machine's load was "
        f"{os.getloadavg()[0]:.1f} then."
    )
    return Throughput(rounds / least[0], spread, words)


def cost_of_a_block(blocks: int = 200) -> float:
    """Processor seconds of this program for each of many blocks, each of another job.

    Almost nothing is played in them.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        places = [
            place_of(Experiment("", INSTANCE, (am.UCB(),), 10, 1, seed, {}), folder / str(seed))
            for seed in range(blocks)
        ]
        used = time.process_time()
        play_places(places, folder, RUNNER)
        return (time.process_time() - used) / blocks


def bytes_of(horizon: int) -> int:
    """What is kept of a repetition on ten arms."""
    return bytes_of_one(SimulationPlan.of(experiment(horizon, 1)).empty(0))


def cost_of_collecting(repetitions: int = 1000) -> float:
    """Processor seconds to put a repetition of 10^6 rounds together with others.

    Measured on shorter ones, of which less is kept.
    """
    what = experiment(HORIZON // 100, repetitions)
    with tempfile.TemporaryDirectory() as name:
        run_experiment(what, Path(name), None)
        for path in Path(name).glob("*.*"):
            path.unlink()
        used = time.process_time()
        run_experiment(what, Path(name), 1)
        each = (time.process_time() - used) / (len(what.policies) * repetitions)
    return each * bytes_of(HORIZON) / bytes_of(what.horizon)


COMPILING = """
import sys, time
sys.path.insert(0, sys.argv[1])
start = time.perf_counter()
from scale import experiment, on_threads
on_threads(experiment(1000, 1), 1)
print(time.perf_counter() - start)
"""


def seconds_to_compile() -> float:
    """How long it takes a machine to compile everything: a cold start less a warm one."""
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
    return took[0] - took[1]


MEMORY = """
import resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from scale import RUNNER, experiment, place_of, play_places, cluster
horizon, repetitions, folder = int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4])
with cluster(None, 1) as ray:
    play_places([place_of(experiment(horizon, repetitions), folder)], folder, RUNNER)
    peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(peak(), ray.get(ray.remote(num_cpus=1)(peak).remote()))
"""


COLLECTING = """
import resource, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from scale import experiment, run_experiment
what, folder = experiment(10_000, int(sys.argv[2])), Path(sys.argv[3])
run_experiment(what, folder, 1, picture=True)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""


def say_in_a_process(program: str, *words: str) -> list[str]:
    """What a program prints, in a process of its own."""
    command = [sys.executable, "-c", program, str(Path(__file__).parent), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def memory() -> str:
    """Peaks of the program that asks and of its one worker; of one that puts runs together."""
    rows = []
    for horizon, repetitions in ((20_000, 100), (200_000, 100), (20_000, 1000)):
        with tempfile.TemporaryDirectory() as folder:
            asking, worker = say_in_a_process(MEMORY, str(horizon), str(repetitions), folder)
        rows.append([f"{horizon:,}", f"{repetitions:,}", f"{asking} MB", f"{worker} MB"])
    first = table(["horizon", "repetitions", "the program", "a worker"], rows)
    peaks = {}
    for repetitions in (100, 1000, GROWN):
        with tempfile.TemporaryDirectory() as folder:
            what = experiment(10_000, repetitions)
            run_experiment(what, Path(folder), None)
            for path in Path(folder).glob("*.*"):
                path.unlink()
            peaks[repetitions] = int(say_in_a_process(COLLECTING, str(repetitions), folder)[0])
    second = table(
        ["repetitions of each policy", "the program that puts them together"],
        [[f"{repetitions:,}", f"{peak} MB"] for repetitions, peak in peaks.items()],
    )
    each = (peaks[GROWN] - peaks[100]) * 2**20 / (2 * (GROWN - 100))
    kept = bytes_of(10_000)
    return (
        f"While blocks are played, with one worker:\n\n{first}\n\nWhen runs are put together, of "
        f"two policies on ten arms with a horizon of 10,000:\n\n{second}\n\nThat is "
        f"{each / 1000:.0f} kB for each repetition of a policy, of which {kept / 1000:.0f} kB are "
        "kept."
    )


def future(costs: Costs) -> str:
    """What the model says."""
    rows = []
    for cores in (100, 1000, 10_000):
        found = run_model(
            costs, jobs=10_000, repetitions=1000, horizon=HORIZON, cores=cores, points=1000
        )
        shares = (found.starting, found.waiting, found.ending, found.collecting)
        rows.append(
            [f"{cores:,}", f"{found.seconds:,.0f}", f"{found.blocks:,}", f"{found.efficiency:.3f}"]
            + [f"{share:.3f}" for share in shares]
            + [found.limit]
        )
    titles = ["cores", "seconds", "blocks", "efficiency", "start", "handing over", "last blocks",
              "collecting", "the limit"]  # fmt: skip
    return (
        f"It was given {costs.rounds_per_second:.3g} rounds a second and core, "
        f"{1e3 * costs.hand_over:.1f} ms for handing over a block, {costs.start:.0f} s for the "
        f"start, {1e3 * costs.collect:.2f} ms to put a repetition together, and times of like "
        f"blocks that differ by {costs.spread:.0%}:\n\n{table(titles, rows)}"
    )


def measure_costs(workers: int, seconds: float, turns: int) -> dict[str, str]:
    """The parts of the document about time."""
    on_threads(experiment(1000, 2), workers)
    compiling = seconds_to_compile()
    start = time.perf_counter()
    with cluster(None, workers):
        begun = time.perf_counter()
        on_ray(experiment(1000, 4 * workers))  # workers are started, kernels loaded
        loaded = time.perf_counter()
        found = throughput(workers, seconds, turns)
        hand_over = cost_of_a_block()
    collect = cost_of_collecting()
    costs = Costs(found.speed, hand_over, compiling + loaded - start, found.spread, collect)
    blocks = (
        f"**A block** costs the program that hands it over {1e3 * hand_over:.1f} ms of its "
        "processor time (200 blocks of another job each). Putting a repetition of 10^6 rounds "
        f"together with others (reading, checking, writing) takes {1e3 * collect:.2f} ms.\n\n"
        f"**A start**: a local cluster in {begun - start:.0f} s, its workers "
        f"{loaded - begun:.0f} s later; compiling both policies takes {compiling:.0f} s on each "
        "machine that has no compiled code."
    )
    return {"scale-costs": f"{found.words}\n\n{blocks}", "scale-cluster": future(costs)}


def main() -> None:
    """All of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=25.0, help="of each engine and turn")
    parser.add_argument("--turns", type=int, default=3, help="of each engine")
    parser.add_argument("--only", nargs="*", default=PARTS, choices=PARTS)
    options = parser.parse_args()
    progress.Dashboard = Watched  # type: ignore[misc]
    sections: dict[str, str] = {}
    if "costs" in options.only:
        sections |= measure_costs(os.cpu_count() or 1, options.seconds, options.turns)
    if "memory" in options.only:
        sections["scale-memory"] = memory()
    path = ROOT / "docs" / "scale.md"
    path.write_text(fill_in(path.read_text(), sections))
    print("\n\n".join(sections.values()))


if __name__ == "__main__":
    main()
