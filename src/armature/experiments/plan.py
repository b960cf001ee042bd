"""Plans: what is run many times, and what comes out; and playing a plan on threads.

A plan is some policies on a problem, each for some repetitions. It says how a repetition is played,
what is recorded, and what the results are. The code that cuts plans into blocks, plays,
resumes, shares and merges them uses this alone, so it exists once. There are two plans: a
simulation and an identification.
"""

from __future__ import annotations

import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Self, TypeVar

from armature.errors import ArmatureError, short
from armature.experiments.keys import problem_key
from armature.experiments.runs import (
    AllRuns,
    Origin,
    Runs,
    about_runs,
    as_data,
    origin_of,
    with_settings,
)
from armature.kernels.checks import checked_count, checked_list
from armature.kernels.streams import key_of
from armature.policies import Policy
from armature.policies.policy import checked_policy
from armature.structures.instance import Instance

if TYPE_CHECKING:
    import pandas as pd

    from armature.experiments.experiment import Experiment

R = TypeVar("R", bound=Runs)  # what is kept of a policy's runs
F = TypeVar("F", bound=AllRuns[Any])  # what is found: the results

Progress = Callable[[str, int, int], None]  # (policy, repetition, rounds that were just played)
Task = tuple[Policy, int]  # a policy, and the number of a repetition

ENGINES = ("threads", "ray")
CHUNK_SECONDS = 0.1  # how long compiled code runs before Python can stop it
OF_TASK = 1000  # bytes for a repetition that waits for a thread


class Files(NamedTuple):
    """The names of the files that a plan writes to its folder."""

    note: str  # what the folder is for
    results: str
    table: str
    picture: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Plan(ABC, Generic[R, F]):
    """Policies on a problem, each for `repetitions` runs of at most `horizon` rounds.

    Where it is a point of a sweep, `point` has the values that were set, and `common` what all
    points have in common.
    """

    instance: Instance
    policies: tuple[Policy, ...]
    horizon: int
    repetitions: int
    seed: int
    title: str = ""
    point: dict[str, Any] = field(default_factory=dict)
    common: dict[str, Any] = field(default_factory=dict)

    kind: ClassVar[str]  # what its file of results says that it is of
    unit: ClassVar[str]  # what progress counts: rounds, or runs if their length is random
    files: ClassVar[Files]
    fixed: ClassVar[tuple[str, ...]]  # of `description`, what no folder can be extended by
    one_sweep: ClassVar[bool]  # whether the points of a sweep share their parts and have a table

    @classmethod
    def of(cls, experiment: Experiment, **more: Any) -> Self:
        """The plan of an experiment; `more` is what its file does not say, or says otherwise."""
        horizon = more.pop("horizon", experiment.horizon)
        return cls(
            instance=experiment.instance,
            policies=checked_policies(experiment.policies, experiment.instance, horizon),
            horizon=horizon,
            repetitions=experiment.repetitions,
            seed=experiment.seed,
            title=experiment.title,
            point=experiment.point,
            common=experiment.common,
            **more,
        )

    @classmethod
    def checked(
        cls,
        instance: Instance,
        policies: Sequence[Policy],
        horizon: int,
        repetitions: int,
        seed: int,
        **more: Any,
    ) -> Self:
        """The plan of a call's arguments; refused if one of these is wrong."""
        key_of(seed)
        return cls(
            instance=instance,
            policies=checked_policies(policies, instance, horizon),
            horizon=horizon,
            repetitions=checked_count(repetitions, "repetitions"),
            seed=int(seed),
            **more,
        )

    @property
    def settings(self) -> dict[str, Any]:
        """Other settings that the numbers depend on, as plain data."""
        return {}

    @abstractmethod
    def empty(self, repetitions: int) -> R:
        """Room for what is kept of some repetitions of a policy."""

    @abstractmethod
    def compile(self, policies: Sequence[Policy]) -> None:
        """Play a few rounds of each, so that all is compiled before there are threads."""

    @abstractmethod
    def play(
        self, policy: Policy, repetition: int, stop: threading.Event, progress: Progress
    ) -> tuple[Any, float]:
        """Play a whole repetition: what `Runs.write` takes over, and how many seconds it took."""

    def rounds_of(self, runs: R, first: int, stop: int) -> int:
        """The number of rounds played so far, by the results of some repetitions."""
        return self.horizon * (stop - first)

    def seconds(self, policy: Policy) -> float | None:
        """About how long a repetition takes; None if that can't be known beforehand."""
        return None

    @abstractmethod
    def gather(self, runs: dict[str, R], origin: Origin | None = None) -> F:
        """The results of the runs of all policies, by their names."""

    @abstractmethod
    def read(self, about: dict[str, Any], frame: pd.DataFrame) -> F:
        """The results that a file has of this plan."""

    @cached_property
    def origin(self) -> Origin:
        """The code that makes the results now."""
        return origin_of(self.instance, self.policies, self.horizon, self.seed, self.settings)

    def job(self, policy: Policy, folder: Path | None = None) -> Job:
        """A policy's repetitions, whose parts go to a folder."""
        return Job(self, policy, self.origin.keys[policy.name], folder)

    def about(self) -> dict[str, Any]:
        """The description of results that are made now (`AllRuns.about`)."""
        return about_runs(
            self.instance,
            self.policies,
            self.horizon,
            self.repetitions,
            self.seed,
            self.origin,
            self.settings,
        )

    def description(self) -> dict[str, Any]:
        """The plan as plain data: what its folder is for."""
        what = as_data(self.instance, self.policies, self.horizon, self.repetitions, self.seed)
        return with_settings(what, self.settings)

    @property
    def point_text(self) -> str:
        """The values that the sweep has set here, as text; empty without a sweep."""
        return ", ".join(f"{key} = {value}" for key, value in self.point.items())

    @property
    def full_title(self) -> str:
        """The title, with the point of the sweep."""
        return f"{self.title} ({self.point_text})" if self.point else self.title

    def room(self) -> dict[str, R]:
        """Room for all repetitions of each policy; refused where there is no memory for it."""
        each = sum(array.nbytes for array in vars(self.empty(1)).values()) + OF_TASK
        what = f"repetitions of {len(self.policies)} policies"
        check_memory(self.repetitions, what, each * len(self.policies))
        return {policy.name: self.empty(self.repetitions) for policy in self.policies}


@dataclass(frozen=True, eq=False)
class Job:
    """A policy of a plan: all that the numbers of a repetition depend on, but for its number.

    `key` names all of that, the code included. `folder` is where its parts go; None: nowhere, they
    are only wanted in memory.
    """

    plan: Plan[Any, Any]
    policy: Policy
    key: str
    folder: Path | None = None

    @property
    def problem(self) -> str:
        """The key of the problem, whichever code plays it."""
        plan = self.plan
        return problem_key(plan.instance, self.policy, plan.horizon, plan.seed, plan.settings)


def checked_policies(
    policies: Sequence[Policy], instance: Instance, horizon: int
) -> tuple[Policy, ...]:
    """The policies with their horizon; refused if one does not support the instance."""
    given = [policies] if isinstance(policies, Policy) else policies
    given = checked_list(given, "policies", "a list such as [UCB(), SPk()]")
    chosen = tuple(checked_policy(policy, horizon) for policy in given)
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
        raise ArmatureError(f"{twice} is there twice: both would make the same runs. Remove one.")
    return chosen


def check_memory(count: int, what: str, each: int) -> None:
    """Refuse what takes more memory than there is: `count` of something, each of `each` bytes."""
    needed, there = count * each, memory()
    if needed > there:
        raise ArmatureError(
            f"{count:,} {what} take about {needed / 1e9:,.0f} GB of memory, and this machine has "
            f"{there / 1e9:,.0f} GB: give fewer {what.split()[0]}."
        )


def memory() -> int:
    """The bytes of this machine's memory; where it does not say, a terabyte."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 10**12


def checked_engine(engine: str) -> str:
    """The name of an engine."""
    if not (isinstance(engine, str) and engine in ENGINES):
        raise ArmatureError(f"there is no engine {engine!r}: it is one of {', '.join(ENGINES)}.")
    return engine


def run_in_memory(
    plan: Plan[R, F],
    workers: int | None,
    progress: Progress | None,
    engine: str,
    address: str | None,
) -> F:
    """Run a plan of which nothing goes to files, on threads or on a Ray cluster."""
    if progress is not None and not callable(progress):
        raise ArmatureError(f"progress must be a function; got {short(progress)}.")
    if workers is not None:
        workers = checked_count(workers, "workers")
    runs = plan.room()
    if checked_engine(engine) == "ray":
        from armature.experiments.cluster import fill_on_ray

        fill_on_ray(plan, runs, workers, address, progress)
    else:
        plan.compile(plan.policies)
        tasks = [(policy, r) for r in range(plan.repetitions) for policy in plan.policies]
        play_on_threads(plan, tasks, runs, workers, progress)
    return plan.gather(runs)


def play_on_threads(
    plan: Plan[R, F],
    tasks: Sequence[Task],
    runs: Mapping[str, R],
    workers: int | None,
    progress: Progress | None = None,
    finished: Callable[[Policy, int], None] | None = None,
) -> None:
    """Play tasks and write what they find to `runs`; `finished` is called here after each.

    An error, an interruption included, stops the tasks that have begun, and no other begins.
    """
    stop = threading.Event()
    tell = progress or (lambda name, repetition, rounds: None)

    def work(policy: Policy, repetition: int) -> None:
        runs[policy.name].write(repetition, *plan.play(policy, repetition, stop, tell))

    done: SimpleQueue[Future[None]] = SimpleQueue()
    futures: dict[Future[None], Task] = {}
    with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        try:
            for task in tasks:
                futures[pool.submit(work, *task)] = task
            for future in futures:
                future.add_done_callback(done.put)
            for _ in tasks:
                future = done.get()
                future.result()
                if finished is not None:
                    finished(*futures[future])
        except BaseException:
            stop.set()
            for future in futures:
                future.cancel()
            raise


class Interrupted(Exception):  # noqa: N818 (not an error)
    """A run was told to stop."""


def play_in_chunks(
    advance: Callable[[int], int],
    rounds: int,
    stop: threading.Event,
    tell: Callable[[int], None],
) -> float:
    """Play up to `rounds` rounds in chunks, between which it can be stopped; the seconds it took.

    `advance` plays some rounds and returns how many: fewer than asked if the run has ended.
    """
    left, chunk, spent = rounds, 16, 0.0
    while left > 0:
        # `rounds - left` rounds were played in `spent` seconds, and the run has not ended.
        if stop.is_set():
            raise Interrupted
        asked = min(chunk, left)
        start = time.perf_counter()
        played = advance(asked)
        took = time.perf_counter() - start
        left -= played
        spent += took
        tell(played)
        if played < asked:
            break
        chunk = max(1, min(64 * chunk, int(played * CHUNK_SECONDS / max(took, 1e-9))))
    return spent
