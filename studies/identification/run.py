"""Running the study: a file of results for each problem, to go on after an interruption."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from armature import (
    ArmatureError,
    GameSampling,
    Identification,
    Instance,
    Policy,
    TopTwo,
    TrackAndStop,
    Unconstrained,
    UniformSampling,
    characteristic_time,
    identify,
)
from armature.experiments import load_instance
from armature.experiments.folder import claim_folder
from armature.experiments.paper import PANELS
from armature.rounds.stopping import Threshold
from studies.challenger.cases import random_cases
from studies.identification.known_shares import KnownShares
from studies.identification.lucb import LUCB
from studies.identification.size import Size
from studies.identification.tables import Found, write_tables
from studies.identification.told import told_table

SEED = 1
DELTAS = (0.1, 0.01, 1e-4, 1e-8)
ERROR_DELTAS = (0.1, 0.05)
SAVING_DELTA = 0.01
RULES: tuple[Policy, ...] = (
    TopTwo(),
    GameSampling(),
    TrackAndStop(),
    UniformSampling(),
)
BEST = TopTwo()
LARGEST = 400.0  # T* of the random instances that are run


def without_structure(instance: Instance) -> Instance:
    """The same means, for someone who does not know the structure."""
    return Instance(Unconstrained(instance.n_arms), instance.means, instance.family)


def random_instances(per_group: int) -> dict[str, Instance]:
    """Random instances by name: of the Challenger study, those that are not too hard."""
    found = {case.name: case.instance for case in random_cases(per_group)}
    return {n: i for n, i in found.items() if 0.0 < characteristic_time(i).value <= LARGEST}


def run_study(
    out: Path, size: Size, workers: int | None, console: Console, engine: str = "threads"
) -> Found:
    """Run what is missing and write the tables and the picture.

    With the engine "ray", the program should be connected to a cluster.
    """
    claim_folder(out, "size.txt", f"{size}\n", ("tables.md",))

    def run(
        part: str,
        name: str,
        instance: Instance,
        policies: Sequence[Policy],
        deltas: Sequence[float],
        repetitions: int,
        threshold: Threshold = "practical",
        seed: int = SEED,
    ) -> Identification:
        console.print(f"{part}: {name}", highlight=False)
        file = f"{re.sub(r'[^a-z0-9.]+', '-', name.lower())}-{seed}.parquet"
        path = out / part / file
        known = finished(path, policies, repetitions)
        if known is not None:
            return known
        results = identify(
            instance,
            policies,
            delta=deltas,
            repetitions=repetitions,
            seed=seed,
            workers=workers,
            max_rounds=size.max_rounds,
            threshold=threshold,
            engine=engine,
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        results.save(path)
        return results

    def errors(threshold: Threshold) -> dict[str, list[Identification]]:
        pieces = range(SEED, SEED + size.errors // size.piece)
        return {
            n: [
                run(threshold, n, i, [BEST], ERROR_DELTAS, size.piece, threshold, s) for s in pieces
            ]
            for n, i in panels.items()
        }

    panels = {name: load_instance(name) for name in PANELS}
    rivals = [LUCB(SAVING_DELTA), UniformSampling()]
    found = Found(
        panels={n: run("panels", n, i, RULES, DELTAS, size.panels) for n, i in panels.items()},
        known={
            n: run("known", n, i, [KnownShares.of(i)], DELTAS, size.panels)
            for n, i in panels.items()
        },
        free={
            n: run("free", n, without_structure(i), rivals, [SAVING_DELTA], size.panels)
            for n, i in panels.items()
        },
        random={
            n: run("random", n, i, [BEST], DELTAS, size.repetitions)
            for n, i in random_instances(size.per_group).items()
        },
        practical=errors("practical"),
        theory=errors("theory"),
        told=told_table(DELTAS, size.errors),
    )
    write_tables(found, out)
    return found


def finished(path: Path, policies: Sequence[Policy], repetitions: int) -> Identification | None:
    """What is there of a problem, if the code that is running has made it."""
    if not path.is_file():
        return None
    try:
        known = Identification.load(path, allow=["studies.identification"])
    except ArmatureError:  # it is damaged
        return None
    same = known.names == tuple(policy.name for policy in policies)
    return known if same and known.repetitions == repetitions and known.is_current else None
