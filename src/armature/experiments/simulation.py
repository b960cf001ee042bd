"""Many repetitions of many policies on threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

from armature.errors import INSTANCE, ArmatureError, check_kind
from armature.experiments.engines.threads import Progress, run_on_threads
from armature.experiments.results import PolicyRuns, Results
from armature.experiments.runs import room_for
from armature.experiments.store.keys import run_key
from armature.kernels.arrays import Ints
from armature.kernels.numbers import is_several
from armature.kernels.streams import key_of
from armature.policies import Policy
from armature.rounds.record import Record, checkpoints_up_to
from armature.rounds.run import make_run
from armature.rounds.runner import checked_count, checked_policy
from armature.structures.instance import Instance

ENGINES = ("threads", "ray")
CHUNK_SECONDS = 0.1  # how long compiled code runs before Python has a say


class Interrupted(Exception):  # noqa: N818 (not an error)
    """A run was told to stop."""


def run_repetition(
    policy: Policy,
    instance: Instance,
    seed: int,
    repetition: int,
    checkpoints: Ints,
    stop: threading.Event,
    progress: Progress,
) -> tuple[Record, float]:
    """Play a whole repetition, in chunks; its record and how many seconds it took."""
    run = make_run(policy, instance, seed, repetition, checkpoints)
    left, chunk, spent = int(checkpoints[-1]), 16, 0.0
    while left > 0:
        if stop.is_set():
            raise Interrupted
        rounds = min(chunk, left)
        start = time.perf_counter()
        run.advance(rounds)
        took = time.perf_counter() - start
        left -= rounds
        spent += took
        progress(policy.name, repetition, rounds)
        chunk = max(1, min(64 * chunk, int(rounds * CHUNK_SECONDS / max(took, 1e-9))))
    return run.record, spent


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
    horizon, repetitions = (
        checked_count(horizon, "horizon"),
        checked_count(repetitions, "repetitions"),
    )
    chosen = checked_policies(policies, instance, horizon)
    if workers is not None:
        workers = checked_count(workers, "workers")
    key_of(seed)
    seed = int(seed)
    checkpoints = checkpoints_up_to(horizon)
    runs = room_for(
        chosen, repetitions, lambda n: PolicyRuns.empty(n, checkpoints.size, instance.n_arms)
    )
    if checked_engine(engine) == "ray":
        from armature.experiments.engines.blocks import Job
        from armature.experiments.engines.on_ray import fill_on_ray

        jobs = [
            Job(instance, policy, horizon, seed, run_key(instance, policy, horizon, seed))
            for policy in chosen
        ]
        fill_on_ray(jobs, runs, workers, address, progress)
        return Results(instance, tuple(chosen), horizon, seed, checkpoints, runs)
    compile_policies(chosen, instance, seed, checkpoints)
    tasks = [(policy, r) for r in range(repetitions) for policy in chosen]
    run_tasks(instance, tasks, seed, checkpoints, runs, workers, progress)
    return Results(instance, tuple(chosen), horizon, seed, checkpoints, runs)


def checked_engine(engine: str) -> str:
    """The name of an engine."""
    if not (isinstance(engine, str) and engine in ENGINES):
        raise ArmatureError(f"there is no engine {engine!r}: it is one of {', '.join(ENGINES)}.")
    return engine


def compile_policies(
    policies: Sequence[Policy], instance: Instance, seed: int, checkpoints: Ints
) -> None:
    """Play a few rounds of each, so that all is compiled before there are threads."""
    rounds = min(int(checkpoints[-1]), instance.n_arms + 1)
    for policy in policies:
        make_run(policy, instance, seed, 0, checkpoints).advance(rounds)


def checked_policies(policies: Sequence[Policy], instance: Instance, horizon: int) -> list[Policy]:
    """The policies, told the horizon; refused where they don't go with the instance."""
    given = [policies] if isinstance(policies, Policy) else policies
    if not is_several(given):
        raise ArmatureError(f"policies must be a list such as [UCB(), SPk()]; got {given!r}.")
    chosen = [checked_policy(policy, horizon) for policy in given]
    if not chosen:
        raise ArmatureError("there are no policies to run: give at least one, such as [UCB()].")
    for policy in chosen:
        policy.check(instance.structure, instance.family)
    if horizon < instance.n_arms and any(policy.starts_with_each_arm for policy in chosen):
        raise ArmatureError(
            f"horizon = {horizon} is less than the {instance.n_arms} arms, each of which is pulled "
            "once first: give a longer horizon."
        )
    names = [policy.name for policy in chosen]
    if len(set(names)) < len(names):
        twice = next(name for i, name in enumerate(names) if name in names[:i])
        raise ArmatureError(f"{twice} is there twice: a second run would be the same as the first.")
    return chosen


def run_tasks(
    instance: Instance,
    tasks: Sequence[tuple[Policy, int]],
    seed: int,
    checkpoints: Ints,
    runs: dict[str, PolicyRuns],
    workers: int | None,
    progress: Progress | None,
    finished: Callable[[Policy, int], None] | None = None,
) -> None:
    """Run (policy, repetition) tasks on threads and write what they record to `runs`."""
    stop = threading.Event()
    tell = progress or (lambda name, repetition, rounds: None)

    def work(policy: Policy, repetition: int) -> None:
        record, seconds = run_repetition(
            policy, instance, seed, repetition, checkpoints, stop, tell
        )
        runs[policy.name].write(repetition, record, seconds)

    run_on_threads(work, tasks, workers, stop, finished)
