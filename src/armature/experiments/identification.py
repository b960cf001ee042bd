"""Identifications: how long policies take to know the best arm, for many repetitions."""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from armature.errors import ArmatureError
from armature.experiments.identification_results import KIND, Identification, settings
from armature.experiments.plan import (
    Files,
    Plan,
    Progress,
    play_in_chunks,
    run_in_memory,
)
from armature.experiments.runs import Origin
from armature.kernels.checks import INSTANCE, check_kind, checked_count, is_several
from armature.kernels.gears import straight_to_machine_code
from armature.policies import Policy
from armature.rounds.run import make_sampling_run
from armature.rounds.stopping import (
    Outcome,
    SamplingRuns,
    Threshold,
    checked_delta,
    checked_threshold,
    make_outcome,
    write_outcome,
)
from armature.storage.registry import POLICIES, Allowed, build
from armature.structures.changing import Changing
from armature.structures.instance import Instance
from armature.structures.oracles.margin import Margin, WithMargin

if TYPE_CHECKING:
    import pandas as pd

MAX_ROUNDS = 1_000_000
RULES = ("TopTwo", "GameSampling", "TrackAndStop", "UniformSampling")  # where a file names none


@dataclass(frozen=True, eq=False, kw_only=True)
class IdentificationPlan(Plan[SamplingRuns, Identification]):
    """An identification: runs until the best arm is known, for some probabilities of error.

    A run has at most `horizon` rounds. A plan travels between processes, and so has the threshold's
    name, not where its kernel is.
    """

    deltas: tuple[float, ...]
    threshold: Threshold
    margin: float | str | None = None

    kind: ClassVar = KIND
    unit: ClassVar = "runs"
    files: ClassVar = Files(
        "identification.json",
        "identification.parquet",
        "identification.csv",
        "identification.png",
    )
    fixed: ClassVar = (
        "structure",
        "family",
        "means",
        "seed",
        "max_rounds",
        "kind",
        "deltas",
        "threshold",
    )
    one_sweep: ClassVar = False

    def __post_init__(self) -> None:
        self._allowance()  # raises if this family has no such threshold
        for policy in self.policies if self.margin is not None else ():
            policy.check(self._asked.structure, self.instance.family)

    @functools.cached_property
    def _asked(self) -> Instance:
        """The instance as policies and stopping rule see it: with the alternatives of a margin."""
        margin = Margin.of(self.margin)
        if margin is None:
            return self.instance
        truth = self.instance
        structure = WithMargin(truth.structure, margin)
        return Instance(structure, truth.means, truth.family, truth.strict)

    def _allowance(self) -> int:
        """The address of the threshold's kernel, in this process."""
        return checked_threshold(self.threshold, self.instance.family)

    @property
    def settings(self) -> dict[str, Any]:
        return settings(self.deltas, self.threshold, self.margin)

    def empty(self, repetitions: int) -> SamplingRuns:
        return SamplingRuns.empty(repetitions, len(self.deltas), self.instance.n_arms)

    def _outcome(self) -> Outcome:
        return make_outcome(self.deltas, self.instance.n_arms, self._allowance())

    @straight_to_machine_code()
    def compile(self, policies: Sequence[Policy]) -> None:
        for policy in policies:
            run = make_sampling_run(policy, self._asked, 0, 0, self._outcome())
            run.advance(self.instance.n_arms + 1)

    @straight_to_machine_code()
    def play(
        self, policy: Policy, repetition: int, stop: threading.Event, progress: Progress
    ) -> tuple[Outcome, float]:
        outcome = self._outcome()
        run = make_sampling_run(policy, self._asked, self.seed, repetition, outcome)

        def advance(rounds: int) -> int:
            if outcome.done[0] == len(self.deltas):
                return 0
            before = int(run.history.clock[0])
            run.advance(rounds)
            return int(run.history.clock[0]) - before

        def tell(rounds: int) -> None:
            progress(policy.name, repetition, rounds)

        spent = play_in_chunks(advance, self.horizon, stop, tell)
        for at in range(int(outcome.done[0]), len(self.deltas)):  # it ends unsure
            write_outcome(run.history, -1, 0.0, at, outcome)
        return outcome, spent

    def rounds_of(self, runs: SamplingRuns, first: int, stop: int) -> int:
        return int(runs.rounds[first:stop, -1].sum())  # the smallest delta's, which come last

    def gather(self, runs: dict[str, SamplingRuns], origin: Origin | None = None) -> Identification:
        return Identification(
            self.instance,
            self.policies,
            self.deltas,
            self.threshold,
            self.horizon,
            self.seed,
            runs,
            origin,
            self.margin,
        )

    def read(self, about: dict[str, Any], frame: pd.DataFrame) -> Identification:
        return Identification.from_frame(self.instance, self.policies, about, frame)


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
    margin: float | str | None = None,
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
        The problem. Policies and the stopping rule know its structure and family, not its means.
    policies
        Sampling rules such as `TopTwo`, or any other policies.
    delta
        The probability of error that is allowed; or several.
    max_rounds
        A run that has not stopped by then ends unsure. Policies that need a horizon get this one.
    threshold : {"practical", "theory"}
        "practical" is ln((m + ln(t) / 2) / delta) where m challengers are about as near as the
        nearest; "theory" is larger and proved: see there.
    margin
        By how much another arm may be better than the one that is named: a number, or a share of
        its mean, such as "1%". It is for ten or so arms.

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
    _check_has_one_best(instance)
    max_rounds, deltas = checked_count(max_rounds, "max_rounds"), checked_deltas(delta)
    plan = IdentificationPlan.checked(
        instance, policies, max_rounds, repetitions, seed, deltas=deltas, threshold=threshold,
        margin=checked_margin(margin),
    )  # fmt: skip
    return run_in_memory(plan, workers, progress, engine, address)


def _check_has_one_best(instance: Instance) -> None:
    """Refuse what has not one best arm, before any policy is looked at."""
    if isinstance(instance, Changing):
        raise ArmatureError("no arm is the best one where means change: identify one of a piece.")
    if instance.structure.is_table:
        raise ArmatureError(
            "each segment of a table has a best arm of its own, and runs end when one best arm is "
            "known. Identify a segment by itself (in Python: instance.one_by_one[0]), which makes "
            "no use of the coupling. How long it takes with the coupling at the least, for all or "
            "for one, says characteristic_time(instance, segment=...)."
        )


def checked_margin(margin: float | str | None) -> float | str | None:
    """A margin in plain data, or an error; None where it is nothing."""
    found = Margin.of(margin)
    return None if found is None else found.given


def checked_deltas(delta: float | Sequence[float]) -> tuple[float, ...]:
    """The probabilities of error in falling order, each once."""
    given: list[Any] = [*delta] if is_several(delta) else [delta]  # type: ignore[misc]
    if not given:
        raise ArmatureError("there is no delta: give a probability of error, such as 0.05.")
    return tuple(sorted({checked_delta(one) for one in given}, reverse=True))


def load_identifications(
    spec: str | Path,
    deltas: tuple[float, ...],
    threshold: Threshold,
    max_rounds: int = MAX_ROUNDS,
    allow: Allowed = (),
    policies: Sequence[str] = (),
    repetitions: int | None = None,
    margin: float | str | None = None,
) -> list[IdentificationPlan]:
    """The identifications of a file, one for each point of its sweep.

    With other policies or repetitions than the file's, if some are given; where it names no
    policies, with the sampling rules.
    """
    from armature.experiments.experiment import parse_experiments
    from armature.experiments.spec import read_spec

    experiments = parse_experiments(read_spec(spec), allow, RULES)
    for one in experiments:
        _check_has_one_best(one.instance)
    if policies:
        chosen = tuple(build(POLICIES, "policy", name, allow) for name in policies)
        experiments = [replace(one, policies=chosen) for one in experiments]
    if repetitions is not None:
        experiments = [replace(one, repetitions=repetitions) for one in experiments]
    said = {"deltas": deltas, "threshold": threshold, "margin": checked_margin(margin)}
    return [IdentificationPlan.of(one, horizon=max_rounds, **said) for one in experiments]
