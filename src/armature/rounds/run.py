"""A policy at play: on simulated rewards, until the best arm is known, or over a log."""

from __future__ import annotations

from typing import Any

import numpy as np

from armature.families import Family, FamilyRecord
from armature.kernels.arrays import Floats, Ints
from armature.kernels.gears import Gear, may_compile, using
from armature.kernels.packing import pack
from armature.policies import CompiledPolicy, Policy
from armature.rounds.play import (
    NO_CHECKPOINTS,
    NO_SUCH_ARM,
    PLAYED,
    STOP,
    Record,
    RunState,
    make_record,
    packed_address,
    play,
)
from armature.rounds.rewards import (
    LoggedRewards,
    SimulatedRewards,
    make_rewards,
    no_log,
    no_rewards,
)
from armature.rounds.runner import PolicyRunner, make_runner, no_such_arm
from armature.rounds.segmented import BY_FREQUENCY, TableRunner
from armature.rounds.stopping import Outcome, StoppingRule, is_enough, make_stopping_rule
from armature.structures import Segments, Structure
from armature.structures.changing import Changing
from armature.structures.instance import Instance
from armature.structures.oracles.model import Model

CHUNK = 20_000  # rounds over a log between two looks at the keyboard


ONE: Floats = np.ones(1)  # segment, which always arrives


class Run:
    """One repetition of a policy; `advance` plays on."""

    def __init__(
        self,
        runner: PolicyRunner | TableRunner,
        family: FamilyRecord,
        record: Record,
        *,
        gaps: Floats | None = None,
        drawn: SimulatedRewards | None = None,
        log: LoggedRewards | None = None,
        stopping: tuple[Model, StoppingRule] | None = None,
        frequencies: Floats = ONE,
    ) -> None:
        self.runner, self.record, self.history = runner, record, runner.history
        self._play = play if isinstance(runner.policy, CompiledPolicy) else play.py_func
        several = [frequencies] if isinstance(runner, TableRunner) else []
        self._gear = Gear.compiled if may_compile() else Gear.python
        self._stopping = stopping  # what words point to
        with using(self._gear):
            choose, update, words, reals = runner.packed(*several)
            stop, stop_words, stop_reals = self._packed_stopping()
        self._trial = RunState(
            choose_address=choose,
            update_address=update,
            stop_address=stop,
            each_arm_first=runner.each_arm_first,
            words=words,
            reals=reals,
            stop_words=stop_words,
            stop_reals=stop_reals,
            history=runner.history,
            family=family,
            gaps=np.zeros(self.history.pulls.size) if gaps is None else gaps,
            drawn=no_rewards() if drawn is None else drawn,
            log=no_log() if log is None else log,
            record=record,
        )

    def advance(self, rounds: int) -> int:
        """Play some more rounds, or fewer if it stops or rewards run out."""
        with using(self._gear):
            outcome = self._play(rounds, *self._trial)
        if outcome == NO_SUCH_ARM:
            choice = int(self.record.progress[1])
            raise no_such_arm(self.runner.policy, choice, self.history.pulls.size)
        return outcome

    def _packed_stopping(self) -> tuple[Any, Any, Any]:
        """The address of the stopping rule, its words, and those as reals if it has to be told."""
        if self._stopping is None:
            return 0, NO_WORDS, NO_WORDS.view(np.float64)
        model, rule = self._stopping
        told = model, rule, self.history
        if self._play is not play:
            address: Any = lambda words: is_enough(rule, words[0], self.history)  # noqa: E731
            words: Any = list(told)
        else:
            address, words = packed_address(STOP, is_enough, told), pack(*told)
        reals = words.view(np.float64) if isinstance(words, np.ndarray) else words
        return address, words, reals if model.family.estimated else reals[:0]


NO_WORDS: Ints = np.empty(0, dtype=np.int64)


def make_run(
    policy: Policy, instance: Instance, seed: int, repetition: int, checkpoints: Ints
) -> Run:
    """A repetition on simulated rewards, before its first round."""
    return _simulated(
        policy, instance, seed, repetition, make_record(checkpoints, instance.n_arms), None
    )


def make_sampling_run(
    policy: Policy, instance: Instance, seed: int, repetition: int, outcome: Outcome
) -> Run:
    """A repetition on simulated rewards that ends when the best arm is known."""
    stopping = make_stopping_rule(instance.structure, instance.family.as_told, outcome)
    record = make_record(NO_CHECKPOINTS, instance.n_arms)
    return _simulated(policy, instance, seed, repetition, record, stopping)


def _simulated(
    policy: Policy,
    instance: Instance,
    seed: int,
    repetition: int,
    record: Record,
    stopping: tuple[Model, StoppingRule] | None,
) -> Run:
    table = instance.structure
    arguments = instance.family, seed, repetition
    return Run(
        TableRunner(policy, table, *arguments)
        if isinstance(table, Segments)
        else make_runner(policy, table, *arguments),
        instance.family_of_cells.record_for(instance.n_arms),
        record,
        gaps=instance.gaps.reshape(-1),
        drawn=_rewards_of(instance, seed, repetition),
        stopping=stopping,
        frequencies=instance.frequencies,
    )


def _rewards_of(instance: Instance, seed: int, repetition: int) -> SimulatedRewards:
    if isinstance(instance, Changing):
        return make_rewards(instance.means, seed, repetition, instance.path, instance.starts)
    return make_rewards(instance.cells, seed, repetition)


def play_log(
    policy: Policy,
    structure: Structure,
    family: Family,
    log: LoggedRewards,
    longest: int,
    seed: int,
    repetition: int,
    arrivals: Ints = BY_FREQUENCY,
) -> Record:
    """Let a policy go over a log; what it chose in each round, and what that brought.

    In a table of segments, `arrivals` says whose each round is.
    """
    runner: PolicyRunner | TableRunner
    if isinstance(structure, Segments):
        runner = TableRunner(policy, structure, family, seed, repetition, arrivals)
    else:
        runner = make_runner(policy, structure, family, seed, repetition)
    record = make_record(NO_CHECKPOINTS, structure.n_arms, longest)
    told = structure.family_of_cells(family.as_told).record_for(structure.n_arms)
    run = Run(runner, told, record, log=log, frequencies=np.ones(len(structure.segments)))
    outcome, played = PLAYED, 0
    while outcome == PLAYED and played < longest:
        outcome = run.advance(min(CHUNK, longest - played))
        played = int(run.history.clock[0])
    return record._replace(choices=record.choices[:played], gains=record.gains[:played])
