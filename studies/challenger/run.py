"""Running the study: every case in a folder of its own, to go on after an interruption."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from rich.console import Console

from armature import UCB, Challenger, Instance, Policy, Results
from armature.experiments.cluster import play_places
from armature.experiments.experiment import Experiment
from armature.experiments.folder import claim_folder
from armature.experiments.run import PlacedPlan, Runner
from armature.experiments.simulation import SimulationPlan
from studies.challenger.ablations import ablation_cases
from studies.challenger.cases import (
    DECIDING,
    GROUPS,
    Case,
    mints_cases,
    panel_cases,
    random_cases,
    share_cases,
)
from studies.challenger.close import close_cases
from studies.challenger.narrowed import NARROW, narrowed_cases
from studies.challenger.search import search
from studies.challenger.size import Size
from studies.challenger.stuck import count_stuck
from studies.challenger.tables import Study, write_tables
from studies.commands import study_progress

SEED = 0
LONG = (Challenger(), UCB(), *NARROW)
PARTS = (
    "panels", "groups", "close", "long", "stuck", "narrowed", "shares", "search", "ablations",
    "mints",
)  # fmt: skip


def going_with(instance: Instance) -> tuple[Policy, ...]:
    """Of the policies of the longest horizon, those for the structure of an instance."""
    return tuple(p for p in LONG if p.supports(instance.structure, instance.family))


def run_study(
    out: Path,
    size: Size,
    workers: int | None,
    console: Console,
    parts: Collection[str] = PARTS,
    engine: str = "threads",
) -> Study:
    """Run what is missing of some parts and write their tables.

    With the engine "ray", the program must be connected to a cluster.
    """
    claim_folder(out, "size.txt", f"{size}\n", ("tables.md",))
    panels = panel_cases()
    long = [Case(case.group, 0, case.instance, going_with(case.instance)) for case in panels]
    alone = [Case(case.group, 0, case.instance, (Challenger(),)) for case in panels]
    others = random_cases(size.per_group, [g for g in GROUPS if g not in DECIDING])
    deciding = random_cases(size.per_deciding_group, DECIDING)
    close = close_cases(size.per_close_group)
    with study_progress(console) as progress:

        def run(name: str, cases: Sequence[Case], horizon: int, R: int) -> dict[str, Results]:
            chosen = cases[:: size.every]
            bar = progress.add_task(name, total=len(chosen), now="")
            runner = Runner(console, quiet=True, workers=workers)
            places = {}
            for case in chosen:
                what = Experiment(case.name, case.instance, case.policies, horizon, R, SEED, {})
                place = PlacedPlan(SimulationPlan.of(what), out / name / case.name, runner)
                places[case.name] = place
            if engine == "ray":
                progress.update(bar, now="on the cluster")
                waiting = [p for p in places.values() if p.folder.results() is None]
                play_places(waiting, out, runner)
            found = {}
            for title, place in places.items():
                progress.update(bar, now=title)
                found[title] = place.run(runner, picture=False)
                progress.advance(bar)
            progress.update(bar, now="")
            return found

        def part(name: str, *batches: tuple[str, Sequence[Case], int, int]) -> dict[str, Results]:
            found: dict[str, Results] = {}
            for batch in batches if name in parts else ():
                found |= run(*batch)
            return found

        T, R = size.horizon, size.panel_repetitions
        many = part("stuck", ("many runs", alone, T, size.stuck_repetitions))
        study = Study(
            panels=part("panels", ("panels", panels, T, R)),
            mints=part("mints", ("mints", mints_cases(), T, size.few_repetitions)),
            random=part(
                "groups",
                ("random instances", others, T, size.repetitions),
                ("deciding groups", deciding, T, size.deciding_repetitions),
            ),
            close=part("close", ("close groups", close, T, size.close_repetitions)),
            ablations=part("ablations", ("ablations", ablation_cases(), T, R // 2)),
            long=part("long", ("longer horizons", long, size.long_horizon, size.long_repetitions)),
            stuck=[
                count_stuck(case.group, many[case.name], size.long_horizon)
                for case in alone
                if case.name in many
            ],
            narrowed=part("narrowed", ("narrowed", narrowed_cases(), T, 15 * R)),
            shares=part(
                "shares",
                ("shares", share_cases(), size.long_horizon // 10, 2 * size.few_repetitions),
            ),
            failures=search(out / "search", size, workers, progress, engine)
            if "search" in parts
            else [],
            groups={case.name: case.group for case in [*others, *deciding, *close]},
        )
    write_tables(study, out)
    return study
