"""Identification in blocks: what a worker of a cluster does."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from armature.experiments.engines.blocks import Found, Job
from armature.experiments.identification import Sampling, compile_rules
from armature.experiments.identification_results import SamplingRuns, settings
from armature.experiments.store.keys import run_key
from armature.experiments.store.part_arrays import recorded
from armature.policies import Policy
from armature.rounds.outcome import Outcome
from armature.rounds.stopping import Threshold, checked_threshold
from armature.structures.instance import Instance


@dataclass(frozen=True)
class Identifying:
    """Runs until the best arm is known, for some probabilities of error.

    It travels between processes, and so has the threshold's name, not where its kernel is.
    """

    deltas: tuple[float, ...]
    threshold: Threshold

    def compile(self, job: Job) -> None:
        """Have everything compiled that a job needs."""
        allowance = checked_threshold(self.threshold, job.instance.family)
        compile_rules([job.policy], job.instance, self.deltas, allowance)

    def play(self, job: Job, first: int, past: int) -> Found:
        """What is recorded of some repetitions."""
        runs = SamplingRuns.empty(past - first, len(self.deltas), job.instance.n_arms)
        allowance = checked_threshold(self.threshold, job.instance.family)
        sampling = Sampling(job.instance, self.deltas, allowance, job.horizon, job.seed)
        stop = threading.Event()
        for r in range(first, past):
            sampling.run(job.policy, r, Shifted(runs, first), stop, lambda *_: None)
        fields = {field: getattr(runs, field) for field in recorded(runs)}
        return fields, float(runs.seconds.sum())


@dataclass(frozen=True)
class Shifted:
    """Room for repetitions from some number on."""

    runs: SamplingRuns
    first: int

    def write(self, repetition: int, outcome: Outcome, seconds: float) -> None:
        """Take over what a repetition found."""
        self.runs.write(repetition - self.first, outcome, seconds)


def jobs_of(
    instance: Instance,
    policies: Sequence[Policy],
    deltas: tuple[float, ...],
    threshold: Threshold,
    max_rounds: int,
    seed: int,
) -> list[Job]:
    """A job for each policy, of which nothing goes to a folder."""
    more = settings(deltas, threshold)
    checked_threshold(threshold, instance.family)
    work = Identifying(deltas, threshold)
    return [
        Job(
            instance,
            policy,
            max_rounds,
            seed,
            run_key(instance, policy, max_rounds, seed, more),
            more=more,
            work=work,
            like=SamplingRuns.empty(0, len(deltas), instance.n_arms),
        )
        for policy in policies
    ]
