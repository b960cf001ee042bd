"""Running plans: into folders or not, on threads or on a cluster, whole or in shares.

Finished runs are written to a part at once. So an interrupted plan continues from them, shares can
be played anywhere and put together, and threads can go on where a cluster was.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

from rich.console import Console

from armature.experiments.blocks import (
    LARGEST,
    Range,
    Shard,
    block_size,
    bytes_of_one,
    cut,
    seconds_for,
)
from armature.experiments.folder import PlanFolder
from armature.experiments.plan import Plan, play_on_threads
from armature.experiments.progress import Bars
from armature.experiments.run_store import (
    Parts,
    PartsFolder,
    by_folder,
    say_of_other_code,
    wanted_of,
)
from armature.experiments.runs import AllRuns, PlanSummary, Runs
from armature.policies import Policy
from armature.storage.files import passing_folder
from armature.words import visible

PARTS = "parts"
RUNS_IN_BLOCK = 16  # if the length of a run is random

Plans = Sequence[Plan[Any, Any]]
F = TypeVar("F", bound=AllRuns[Any])


@dataclass(frozen=True)
class Runner:
    """The engine that runs plans, its workers, and the terminal for messages and progress.

    The engine is "threads" of this program, or "ray": the cluster at `address`, or one that is
    started on this machine. Quiet: no bars.
    """

    console: Console
    quiet: bool = False
    workers: int | None = None
    engine: str = "threads"
    address: str | None = None

    def say(self, sentence: str) -> None:
        """Say something in the terminal."""
        self.console.print(sentence, markup=False, highlight=False, soft_wrap=True)

    def say_point(self, plan: Plan[Any, Any]) -> None:
        """Say which point of a sweep comes now."""
        if plan.point and not self.quiet:
            self.console.print(visible(plan.point_text), markup=False, soft_wrap=True)


class PlacedPlan(Generic[F]):
    """A plan with its folder and its parts. Making a place claims the folder for the plan."""

    def __init__(
        self, plan: Plan[Any, F], out: Path, runner: Runner, parts: PartsFolder | None = None
    ) -> None:
        self.plan = plan
        self.parts = Parts(parts or PartsFolder(out / PARTS), plan, runner.say)
        self.path, self.folder = out, PlanFolder(out, plan, runner.say)

    def run(self, runner: Runner, picture: bool = True) -> F:
        """The results: read, or put together from parts and from new runs, which become parts."""
        results = self.folder.results()
        if results is None:
            results = run_missing(self.plan, self.parts, runner)
        self.folder.write(results, picture)
        return results


def run_missing(plan: Plan[Any, F], parts: Parts | None, runner: Runner) -> F:
    """The results, from the parts that are there and from new runs on threads."""
    runs = plan.room()
    done = {p.name: parts.load(p, runs[p.name]) if parts else set() for p in plan.policies}
    wanted = dict.fromkeys(done, range(plan.repetitions))
    play_missing(plan, wanted, done, parts, runs, runner)
    return plan.gather(runs, plan.origin)


def play_missing(
    plan: Plan[Any, Any],
    wanted: Mapping[str, Sequence[int]],
    done: Mapping[str, Collection[int]],
    parts: Parts | None,
    runs: dict[str, Any],
    runner: Runner,
) -> None:
    """Play, on threads, the repetitions of each policy that are wanted and not done yet."""
    missing = [(p, [r for r in wanted[p.name] if r not in done[p.name]]) for p in plan.policies]
    missing = [(policy, repetitions) for policy, repetitions in missing if repetitions]
    if missing:
        compile_with_word(plan, [policy for policy, _ in missing], runner)
    blocks = blocks_of(plan, missing)
    keeper = Keeper(parts, runs, blocks)
    tasks = [(policy, r) for policy, block in blocks for r in range(*block)]
    in_rounds, left = plan.unit == "rounds", {p.name: len(some) for p, some in missing}
    with Bars(runner.console, runner.quiet, plan.unit) as bars:
        for name, all_of_it in wanted.items():
            each = plan.horizon if in_rounds else 1
            total = len(all_of_it) * each
            bars.add(name, total, total - left.get(name, 0) * each)

        def finished(policy: Policy, repetition: int) -> None:
            if not in_rounds:
                bars.report(policy.name, repetition, 1)
            keeper.finished(policy, repetition)

        report = bars.report if in_rounds else None
        try:
            play_on_threads(plan, tasks, runs, runner.workers, report, finished)
        finally:
            keeper.keep_rest()


def blocks_of(
    plan: Plan[Any, Any], missing: Sequence[tuple[Policy, Sequence[int]]]
) -> list[tuple[Policy, Range]]:
    """The repetitions that are missing, in blocks whose size follows from a measurement.

    A block of each policy, then the next of each, so that the policies advance together. Where all
    is done soon, blocks are smaller, so that an interruption loses little.
    """
    n_bytes = bytes_of_one(plan.empty(0))
    measured = [(policy, some, plan.seconds(policy)) for policy, some in missing]
    most = seconds_for(sum(len(some) * (seconds or 0.0) for _, some, seconds in measured), 1)
    blocks = []
    for policy, some, seconds in measured:
        size = RUNS_IN_BLOCK if seconds is None else block_size(seconds, n_bytes, most)
        blocks += [(n, policy, block) for n, block in enumerate(cut(some, size))]
    blocks.sort(key=lambda entry: entry[0])
    return [(policy, block) for _, policy, block in blocks]


def compile_with_word(plan: Plan[Any, Any], policies: Sequence[Policy], runner: Runner) -> None:
    """Compile policies, and say so where that takes a while."""
    start = time.perf_counter()
    with runner.console.status("compiling (a first run takes up to a minute or two)"):
        plan.compile(policies)
    took = time.perf_counter() - start
    if took > 1.0 and not runner.quiet:
        runner.console.print(f"compiled in {took:.1f} s (the next run starts at once)")


class Keeper:
    """Writes the part of a block when all of its repetitions are finished."""

    def __init__(
        self,
        parts: Parts | None,
        runs: Mapping[str, Runs],
        blocks: Sequence[tuple[Policy, Range]],
    ) -> None:
        self._parts, self._runs = parts, runs
        self._block = {(p.name, r): block for p, block in blocks for r in range(*block)}
        self._fresh: dict[tuple[str, Range], tuple[Policy, list[int]]] = {}

    def finished(self, policy: Policy, repetition: int) -> None:
        """A repetition is finished."""
        first, stop = self._block[policy.name, repetition]
        block = (policy.name, (first, stop))
        _, finished = self._fresh.setdefault(block, (policy, []))
        finished.append(repetition)
        if len(finished) == stop - first:
            self._keep(block)

    def keep_rest(self) -> None:
        """Write what is finished of blocks that are not."""
        for block in list(self._fresh):
            self._keep(block)

    def _keep(self, block: tuple[str, Range]) -> None:
        policy, repetitions = self._fresh[block]
        if self._parts is not None:
            for first, stop in cut(repetitions, LARGEST):
                self._parts.save(policy, self._runs[policy.name], first, stop)
        del self._fresh[block]  # not before: a part that was cut short is written in the end


def run_all(plans: Plans, out: Path | None, runner: Runner) -> list[PlanSummary]:
    """Run a plan, or all points of a sweep, and write what is missing.

    With a folder, what is finished survives an interruption, and what is finished as a whole can be
    extended by repetitions, policies and points. The runs of one point at a time are in memory.
    """
    if out is None and runner.engine == "ray":
        with passing_folder() as folder:
            return run_all(plans, folder, runner)
    if out is None:
        return [_run_here(plan, runner) for plan in plans]
    places = claim_all(plans, out, runner)
    if runner.engine != "ray":
        return finish(places, out, runner, [None] * len(places))
    from armature.experiments.cluster import cluster, mark_in, play_places

    collected: Sequence[PlanSummary | None] = [None] * len(places)
    with cluster(runner.address, runner.workers) as ray:
        play_places(places, out, runner)
        if plans[0].point:  # of a sweep: workers put its points together
            from armature.experiments.merging import collect_on_ray

            with mark_in(out) as mark:
                collected = collect_on_ray(ray, places, mark)
    return finish(places, out, replace(runner, quiet=True), collected)


def _run_here(plan: Plan[Any, Any], runner: Runner) -> PlanSummary:
    runner.say_point(plan)
    return PlanSummary(plan, run_missing(plan, None, runner).summary())


def claim_all(plans: Plans, out: Path, runner: Runner) -> list[PlacedPlan[Any]]:
    """The places of a plan, or of all points of a sweep: each is claimed here, and only here."""
    if not plans[0].point:
        (plan,) = plans
        return [PlacedPlan(plan, out, runner)]
    from armature.experiments.sweep import claim_sweep, own_folder, point_folder

    if not plans[0].one_sweep:
        return [PlacedPlan(plan, own_folder(plan, out), runner) for plan in plans]
    claim_sweep(plans, out)
    parts = PartsFolder(out / PARTS)
    return [PlacedPlan(plan, out / point_folder(plan.point), runner, parts) for plan in plans]


def finish(
    places: Sequence[PlacedPlan[Any]],
    out: Path,
    runner: Runner,
    collected: Sequence[PlanSummary | None],
) -> list[PlanSummary]:
    """Run all places but those already `collected`, then write the files of the sweep."""
    found = []
    for place, before in zip(places, collected, strict=True):
        if before is None:
            runner.say_point(place.plan)
            before = PlanSummary(place.plan, place.run(runner).summary())
        found.append(before)
    if places[0].plan.one_sweep and places[0].plan.point:
        from armature.experiments.sweep import write_sweep

        write_sweep(found, out)
    return found


def run_shard(plans: Plans, shard: Shard, out: Path, runner: Runner) -> int:
    """Play what is missing of a share and keep it in parts; how many repetitions the share has."""
    places = claim_all(plans, out, runner)
    wanted = wanted_of([place.parts for place in places])
    for folder, jobs in by_folder(wanted).items():
        say_of_other_code(folder, jobs, runner.say)
    hands = shard.deal([job.plan.repetitions for job, _ in wanted.values()])
    mine = {
        where: [r for hand in ranges for r in range(*hand)]
        for where, ranges in zip(wanted, hands, strict=True)
    }
    for place in places:
        runner.say_point(place.plan)
        _play_share(place, mine, runner)
    return sum(map(len, mine.values()))


def _play_share(
    place: PlacedPlan[Any], mine: Mapping[tuple[Path, str], Sequence[int]], runner: Runner
) -> None:
    plan, R = place.plan, place.plan.repetitions
    where, keys = place.parts.folder, plan.origin.keys
    wanted = {p.name: [r for r in mine[where, keys[p.name]] if r < R] for p in plan.policies}
    done = {
        p.name: set(range(R)).difference(*(range(*gap) for gap in place.parts.missing(p)))
        for p in plan.policies
    }
    play_missing(plan, wanted, done, place.parts, plan.room(), runner)
