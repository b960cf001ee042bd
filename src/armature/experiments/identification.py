"""Many repetitions of many policies on threads, each until the best arm is known."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from armature.errors import INSTANCE, ArmatureError, check_kind
from armature.experiments.engines.threads import Progress, run_on_threads
from armature.experiments.identification_results import Identification, SamplingRuns
from armature.experiments.runs import room_for
from armature.experiments.simulation import (
    CHUNK_SECONDS,
    Interrupted,
    checked_engine,
    checked_policies,
)
from armature.kernels.numbers import is_several
from armature.kernels.streams import key_of
from armature.policies import Policy
from armature.rounds.outcome import Outcome, make_outcome, write_outcome
from armature.rounds.run import make_sampling_run
from armature.rounds.runner import checked_count
from armature.rounds.stopping import Threshold, checked_delta, checked_threshold
from armature.structures.instance import Instance

MAX_ROUNDS = 1_000_000


def identify(
    instance: Instance,
    policies: Sequence[Policy],
    delta: float | Sequence[float] = 0.05,
    repetitions: int = 200,
    seed: int = 0,
    workers: int | None = None,
    *,
    max_rounds: int = MAX_ROUNDS,
    threshold: Threshold = "practical",
    progress: Progress | None = None,
    engine: str = "threads",
    address: str | None = None,
) -> Identification:
    """Sample with every policy until the best arm is known, for every repetition.

    A run stops after the first round in which the likelihood-ratio statistic exceeds its threshold
    for delta (`armature.rounds.stopping`); it is looked at after every round. What is sampled does
    not depend on delta: with several of them, a run goes on until the smallest one's stop, and has
    the stopping times of all.

    A run is a pure function of (instance, policy, seed, repetition): the results are the same to
    the last bit for any number of workers and for both engines (see `simulate`), and the rewards
    are those of `simulate`.

    Parameters
    ----------
    instance
        The problem; the structure is what policies and stopping rule are told.
    policies
        Sampling rules such as `TopTwo`, or any other policies.
    delta
        The probability of error that is allowed; or several.
    max_rounds
        A run that has not stopped by then ends unsure. Policies that need a horizon are told this.
    threshold : {"practical", "theory"}
        "practical" is ln((m + ln(t) / 2) / delta) where m challengers are about as near as the
        nearest; "theory" is larger and proved: see there.

    Examples
    --------
    >>> from armature.policies import TopTwo
    >>> from armature.structures import Unimodal
    >>> instance = Instance(Unimodal(3), [0.0, 1.0, 0.5])
    >>> found = identify(instance, [TopTwo()], delta=0.1, repetitions=4)
    >>> found.rounds("TopTwo").shape, found.arms("TopTwo").ravel().tolist()
    ((4, 1), [1, 1, 1, 1])
    """
    check_kind(instance, Instance, "instance", INSTANCE)
    max_rounds, repetitions = (
        checked_count(max_rounds, "max_rounds"),
        checked_count(repetitions, "repetitions"),
    )
    chosen = checked_policies(policies, instance, max_rounds)
    deltas, allowance = checked_deltas(delta), checked_threshold(threshold, instance.family)
    if workers is not None:
        workers = checked_count(workers, "workers")
    key_of(seed)
    runs = room_for(
        chosen, repetitions, lambda n: SamplingRuns.empty(n, len(deltas), instance.n_arms)
    )
    if checked_engine(engine) == "ray":
        from armature.experiments.engines.on_ray import fill_on_ray
        from armature.experiments.identification_work import jobs_of

        jobs = jobs_of(instance, chosen, deltas, threshold, max_rounds, int(seed))
        fill_on_ray(jobs, runs, workers, address, progress)
        return Identification(
            instance, tuple(chosen), deltas, threshold, max_rounds, int(seed), runs
        )
    compile_rules(chosen, instance, deltas, allowance)
    tasks = [(policy, r) for r in range(repetitions) for policy in chosen]
    sampling = Sampling(instance, deltas, allowance, max_rounds, int(seed))
    run_tasks(sampling, tasks, runs, workers, progress)
    return Identification(instance, tuple(chosen), deltas, threshold, max_rounds, int(seed), runs)


def checked_deltas(delta: float | Sequence[float]) -> tuple[float, ...]:
    """The probabilities of error in falling order, each once."""
    given: list[Any] = [*delta] if is_several(delta) else [delta]  # type: ignore[misc]
    if not given:
        raise ArmatureError("there is no delta: give a probability of error, such as 0.05.")
    return tuple(sorted({checked_delta(one) for one in given}, reverse=True))


class Room(Protocol):
    """Where a repetition's findings go."""

    def write(self, repetition: int, outcome: Outcome, seconds: float) -> None:
        """Take them over."""


class Sampling:
    """What all repetitions of an identification have in common."""

    def __init__(
        self,
        instance: Instance,
        deltas: tuple[float, ...],
        allowance: int,
        max_rounds: int,
        seed: int,
    ) -> None:
        self.instance, self.deltas, self.allowance = instance, deltas, allowance
        self.max_rounds, self.seed = max_rounds, seed

    def run(
        self,
        policy: Policy,
        repetition: int,
        runs: Room,
        stop: threading.Event,
        progress: Progress,
    ) -> None:
        """Play a whole repetition, in chunks, and take it over to `runs`."""
        outcome = make_outcome(self.deltas, self.instance.n_arms, self.allowance)
        run = make_sampling_run(policy, self.instance, self.seed, repetition, outcome)
        left, chunk, spent = self.max_rounds, 16, 0.0
        while left > 0 and outcome.done[0] < len(self.deltas):
            if stop.is_set():
                raise Interrupted
            before, start = int(run.history.clock[0]), time.perf_counter()
            run.advance(min(chunk, left))
            took = time.perf_counter() - start
            played = int(run.history.clock[0]) - before
            left -= played
            spent += took
            progress(policy.name, repetition, played)
            chunk = max(1, min(64 * chunk, int(played * CHUNK_SECONDS / max(took, 1e-9))))
        for at in range(int(outcome.done[0]), len(self.deltas)):  # it ends unsure
            write_outcome(run.history, -1, 0.0, at, outcome)
        runs.write(repetition, outcome, spent)


def compile_rules(
    policies: Sequence[Policy], instance: Instance, deltas: tuple[float, ...], allowance: int
) -> None:
    """Play a few rounds of each, so that all is compiled before there are threads."""
    for policy in policies:
        outcome = make_outcome(deltas, instance.n_arms, allowance)
        make_sampling_run(policy, instance, 0, 0, outcome).advance(instance.n_arms + 1)


def run_tasks(
    sampling: Sampling,
    tasks: Sequence[tuple[Policy, int]],
    runs: dict[str, SamplingRuns],
    workers: int | None,
    progress: Progress | None,
    finished: Callable[[Policy, int], None] | None = None,
) -> None:
    """Run (policy, repetition) tasks on threads and write what they find to `runs`."""
    stop = threading.Event()
    tell = progress or (lambda name, repetition, rounds: None)

    def work(policy: Policy, repetition: int) -> None:
        sampling.run(policy, repetition, runs[policy.name], stop, tell)

    run_on_threads(work, tasks, workers, stop, finished)
