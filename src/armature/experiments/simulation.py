"""Simulations: how regret grows, for many repetitions of many policies."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from armature.experiments.plan import (
    Files,
    Plan,
    Progress,
    play_in_chunks,
    run_in_memory,
)
from armature.experiments.results import Results
from armature.experiments.runs import SIMULATION, Origin
from armature.kernels.arrays import Ints
from armature.kernels.checks import INSTANCE, check_kind, checked_count
from armature.kernels.gears import straight_to_machine_code
from armature.policies import Policy
from armature.rounds.play import PolicyRuns, Record, checkpoints_up_to
from armature.rounds.run import make_run
from armature.structures.instance import Instance

if TYPE_CHECKING:
    import pandas as pd

ENOUGH = 0.03  # seconds of play after which it is known how long a repetition takes
FEWEST = 8  # rounds that are measured at once, at first


class SimulationPlan(Plan[PolicyRuns, Results]):
    """A simulation: regret and pulls at each checkpoint of a horizon."""

    kind = SIMULATION
    unit = "rounds"
    files = Files("experiment.json", "results.parquet", "summary.csv", "regret.png")
    fixed = ("structure", "family", "means", "horizon", "seed")
    one_sweep: ClassVar = True

    @property
    def checkpoints(self) -> Ints:
        """The rounds after which something is recorded."""
        return checkpoints_up_to(self.horizon)

    def empty(self, repetitions: int) -> PolicyRuns:
        return PolicyRuns.empty(repetitions, self.checkpoints.size, self.instance.n_arms)

    @straight_to_machine_code()
    def compile(self, policies: Sequence[Policy]) -> None:
        rounds = min(self.horizon, self.instance.n_arms + 1)
        for policy in policies:
            make_run(policy, self.instance, self.seed, 0, self.checkpoints).advance(rounds)

    @straight_to_machine_code()
    def play(
        self, policy: Policy, repetition: int, stop: threading.Event, progress: Progress
    ) -> tuple[Record, float]:
        run = make_run(policy, self.instance, self.seed, repetition, self.checkpoints)

        def advance(rounds: int) -> int:
            run.advance(rounds)
            return rounds

        def tell(rounds: int) -> None:
            progress(policy.name, repetition, rounds)

        return run.record, play_in_chunks(advance, self.horizon, stop, tell)

    def seconds(self, policy: Policy) -> float:
        return seconds_of_repetition(policy, self.instance, self.seed, self.checkpoints)

    def gather(self, runs: dict[str, PolicyRuns], origin: Origin | None = None) -> Results:
        return Results(
            self.instance,
            self.policies,
            self.horizon,
            self.seed,
            self.checkpoints,
            runs,
            origin,
        )

    def read(self, about: dict[str, Any], frame: pd.DataFrame) -> Results:
        return Results.from_frame(self.instance, self.policies, about, frame)


@straight_to_machine_code()
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


def simulate(
    instance: Instance,
    policies: Sequence[Policy],
    horizon: int,
    repetitions: int = 200,
    seed: int = 0,
    workers: int | None = None,
    *,
    progress: Progress | None = None,
    engine: str = "threads",
    address: str | None = None,
) -> Results:
    """Run every policy for every repetition, all on the same rewards.

    A run is a pure function of (instance, policy, seed, repetition): the results are the same to
    the last bit for any number of workers, in any order, whichever other policies take part, and
    for both engines: "threads" of this process, or "ray", a cluster of which `address` is known
    ("auto": the one that this machine belongs to; None: one is started here).

    >>> from armature.policies import UCB
    >>> from armature.structures import Unconstrained
    >>> instance = Instance(Unconstrained(3), [0.0, 0.5, 1.0])
    >>> results = simulate(instance, [UCB()], horizon=1000, repetitions=4)
    >>> results.regret("UCB").shape == (4, results.checkpoints.size)
    True

    Paper: Section 3, repetitions.
    """
    check_kind(instance, Instance, "instance", INSTANCE)
    horizon = checked_count(horizon, "horizon")
    plan = SimulationPlan.checked(instance, policies, horizon, repetitions, seed)
    return run_in_memory(plan, workers, progress, engine, address)
