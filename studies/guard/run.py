"""Running the study: a file of results for each problem, to go on after an interruption."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from pathlib import Path

from rich.console import Console

from armature import IMED, KLUCB, ArmatureError, Challenger, Guarded, Policy, Results, simulate
from armature.experiments.folder import claim_folder
from studies.commands import study_progress
from studies.guard.cases import Case, panel_cases, true_cases, wrong_cases
from studies.guard.drawn import TRUE_OF_EACH, WRONG_OF_EACH, drawn_cases
from studies.guard.size import Size
from studies.guard.tables import Study, write_tables

SEED = 1
DIAL = (0.9, 1.3, 1.7, 2.5)  # settings of `audit`
GUARDED = tuple(Guarded(Challenger(), audit=audit) for audit in DIAL)
ON_WRONG: tuple[Policy, ...] = (Challenger(), KLUCB(), IMED(), *GUARDED)
ON_TRUE: tuple[Policy, ...] = (Challenger(), *GUARDED)
ON_DRAWN_WRONG: tuple[Policy, ...] = (Challenger(), KLUCB(), IMED(), Guarded())
ON_DRAWN_TRUE: tuple[Policy, ...] = (Challenger(), Guarded())
ON_AGAIN: tuple[Policy, ...] = (KLUCB(), Guarded())
PARTS = ("known", "drawn", "again")
AGAIN_SEED = 2
AGAIN = (  # where the guard lost more than 1.5 times what KLUCB did in 40 runs
    "unimodal, two peaks, Poisson", "unimodal, far peak, exponential", "categories mixed",
    "categories mixed, Bernoulli", "categories mixed, exponential",
    "linear, the worst is the best", "monotone, one arm", "monotone, by 0.1",
    "sparse-3, 9 arms, raised, Gaussian", "intersection-2, 5 arms, raised, Gaussian",
)  # fmt: skip


def again_cases() -> list[Case]:
    """What came out worst: the mean of many runs with new rewards was not selected by its luck."""
    cases = {case.name: case for case in [*wrong_cases(), *drawn_cases(WRONG_OF_EACH, True)]}
    return [cases[name] for name in AGAIN]


def run_study(
    out: Path,
    size: Size,
    workers: int | None,
    console: Console,
    parts: Collection[str] = PARTS,
    engine: str = "threads",
) -> Study:
    """Run what is missing of some parts and write their tables, and the picture of the known ones.

    With the engine "ray", the program should be connected to a cluster.
    """
    claim_folder(out, "size.txt", f"{size}\n", ("tables.md",))
    with study_progress(console) as progress:

        def run(
            name: str,
            cases: Sequence[Case],
            policies: Sequence[Policy],
            repetitions: int,
            seed: int = SEED,
        ) -> list[tuple[Case, Results]]:
            part = name.partition("-")[0]
            if (part if part in PARTS else "known") not in parts:
                return []
            chosen = cases[:: size.every]
            bar = progress.add_task(name, total=len(chosen), now="")
            found = []
            for case in chosen:
                progress.update(bar, now=case.name)
                path = out / name / f"{re.sub(r'[^a-z0-9.]+', '-', case.name.lower())}.parquet"
                results = finished(case, policies, size, repetitions, path, workers, engine, seed)
                found.append((case, results))
                progress.advance(bar)
            progress.update(bar, now="")
            return found

        study = Study(
            wrong=run("wrong", wrong_cases(), ON_WRONG, size.wrong),
            panels=run("panels", panel_cases(), ON_TRUE, size.panels),
            groups=run("groups", true_cases(size.per_group), ON_TRUE, size.repetitions),
            drawn_wrong=run(
                "drawn-wrong", drawn_cases(WRONG_OF_EACH, True), ON_DRAWN_WRONG, size.drawn
            ),
            drawn_true=run(
                "drawn-true", drawn_cases(TRUE_OF_EACH, False), ON_DRAWN_TRUE, size.drawn // 8
            ),
            again=run("again", again_cases(), ON_AGAIN, size.again, AGAIN_SEED),
        )
    write_tables(study, GUARDED, out)
    return study


def finished(
    case: Case,
    policies: Sequence[Policy],
    size: Size,
    repetitions: int,
    path: Path,
    workers: int | None,
    engine: str = "threads",
    seed: int = SEED,
) -> Results:
    """The results of a problem: those of a file, if the code that is running has made them."""
    if path.is_file():
        try:
            results = Results.load(path)
        except ArmatureError:  # it is damaged
            results = None
        if (
            results is not None
            and results.is_current
            and results.names == tuple(policy.name for policy in policies)
            and (results.horizon, results.repetitions) == (size.horizon, repetitions)
            and results.seed == seed
        ):
            return results
    results = simulate(
        case.instance,
        policies,
        size.horizon,
        repetitions,
        seed=seed,
        workers=workers,
        engine=engine,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    results.save(path)
    return results
