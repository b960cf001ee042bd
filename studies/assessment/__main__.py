"""`python -m studies.assessment`: the tables of `docs/studies/logs.md`, in a few minutes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer

import armature as am
from armature.cli.terminal import output, print_table, speak_utf8
from studies.assessment.evaluations import LOGS, VALUED, evaluated
from studies.assessment.intervals import FAMILIES, adaptive_coverage, changes, coverage
from studies.assessment.replays import POLICIES, queue_intervals, queued, rejected, weighted
from studies.assessment.structures import STRUCTURES, false_alarms, power
from studies.commands import make_app

app = make_app()
SETTINGS: tuple[am.Family, ...] = (am.Gaussian(1.0), am.Gaussian(None), am.Bernoulli())


def interval_rows(logs: int) -> Iterable[tuple[Any, ...]]:
    """Coverage for each family and number of rewards."""
    for name in FAMILIES:
        for rewards in (5, 50, 500):
            yield tuple(coverage(name, rewards, logs))
    for rounds in (30, 300):
        yield tuple(adaptive_coverage(logs, rounds))


def alarm_rows(logs: int) -> Iterable[tuple[Any, ...]]:
    """How often a true structure is refuted."""
    for name in STRUCTURES:
        for family in SETTINGS:
            for equal in (True, False):
                yield tuple(false_alarms(name, family, equal, 20, logs))
    for equal in (True, False):
        yield tuple(false_alarms("Unimodal", am.Gaussian(None), equal, 3, logs))


def power_rows(logs: int) -> Iterable[tuple[Any, ...]]:
    """How often a wrong one is."""
    for name in STRUCTURES:
        for family in SETTINGS:
            yield from (tuple(rate) for rate in power(name, family, 400, logs))


def drift_rows(logs: int) -> Iterable[tuple[Any, ...]]:
    """How often a change is seen, with one and without."""
    for name in ("Gaussian", "Bernoulli", "Exponential"):
        for shift in (0.0, 0.5):
            yield tuple(changes(name, 600, logs, shift))


def replay_rows(logs: int) -> Iterable[tuple[Any, ...]]:
    """Errors of the estimates with probabilities."""
    for policy in POLICIES:
        yield from ((*bias, bias.z) for bias in weighted(policy, 1000, logs))
        bias = rejected(policy, 3000, 150, logs)
        yield (*bias, bias.z)
    bias = queue_intervals("UCB", max(logs // 3, 1))
    yield (*bias, bias.z)


def queue_rows(logs: int) -> Iterable[tuple[Any, ...]]:
    """Queues beside new runs."""
    for policy in POLICIES:
        yield tuple(queued(policy, 1000, 150, 2 * logs))


def evaluation_rows(logs: int) -> Iterable[tuple[Any, ...]]:
    """Errors of evaluations, on logs of both kinds."""
    for made_by in LOGS:
        for valued in VALUED:
            for bias in evaluated(valued, made_by, 500, logs):
                yield (*bias, bias.z)


BIAS = ("method", "policy", "logs", "truth", "error", "its standard error", "covered", "z")
TABLES: dict[str, tuple[tuple[str, ...], Callable[[int], Iterable[tuple[Any, ...]]]]] = {
    "intervals": (("family", "rewards of each arm", "logs", "covered", "covered at any time"),
                  interval_rows),
    "false-alarms": (("structure", "rewards", "truth", "of each arm", "logs", "refuted", "at most"),
                     alarm_rows),
    "power": (("structure", "rewards", "truth", "of each arm", "logs", "refuted", "at least"),
              power_rows),
    "drift": (("rewards", "change", "logs", "seen"), drift_rows),
    "replay": (BIAS, replay_rows),
    "evaluate": (BIAS, evaluation_rows),
    "queues": (("policy", "logs", "queues", "new runs", "distance", "p-value"), queue_rows),
}  # fmt: skip


@app.command()
def study(
    tables: Annotated[list[str] | None, typer.Argument(help=", ".join(TABLES))] = None,
    logs: Annotated[int, typer.Option(help="Simulated logs for each row.", min=1)] = 1000,
) -> None:
    """Whether what is said of logs is so, on simulated logs with a known truth."""
    for name in tables or TABLES:
        titles, rows = TABLES[name]
        output().print(f"\n{name}")
        print_table(titles, [[_shown(cell) for cell in row] for row in rows(logs)])


def _shown(cell: Any) -> str:
    return f"{cell:.4f}" if isinstance(cell, float) else str(cell)


if __name__ == "__main__":
    speak_utf8()
    app(prog_name="python -m studies.assessment")
