"""When an identification stops: for several deltas at once, each of which has its own time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from armature.families import Family
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import kernel
from armature.policies import History
from armature.rounds.stopping import Vectors, allowance_at, find, make_stopping_model, make_vectors
from armature.structures import Structure
from armature.structures.oracles.model import Model


class Outcome(NamedTuple):
    """What is kept of a run: for each delta, in falling order, when it stopped and with what."""

    levels: Floats  # (D,): ln(1 / delta)
    rounds: Ints  # (D,): how many there were when it stopped
    arms: Ints  # (D,): the arm that was named
    statistics: Floats  # (D,)
    pulls: Floats  # (D, K)
    done: Ints  # [for how many deltas it has stopped]
    allowance: int  # which of the two


class StoppingRule(NamedTuple):
    """What a rule writes to: its own room, and what is kept."""

    vectors: Vectors
    outcome: Outcome


def make_outcome(deltas: Sequence[float], n_arms: int, allowance: int) -> Outcome:
    """Before the first round."""
    D = len(deltas)
    return Outcome(
        levels=np.log(1.0 / np.array(deltas)),
        rounds=np.zeros(D, dtype=np.int64),
        arms=np.zeros(D, dtype=np.int64),
        statistics=np.zeros(D),
        pulls=np.zeros((D, n_arms)),
        done=np.zeros(1, dtype=np.int64),
        allowance=allowance,
    )


def make_stopping_rule(
    structure: Structure, family: Family, outcome: Outcome
) -> tuple[Model, StoppingRule]:
    """The rule, and the model that it asks; `family` is what policies are told."""
    model = make_stopping_model(structure, family, outcome.allowance)
    return model, StoppingRule(make_vectors(family, structure.n_arms), outcome)


@kernel
def write_outcome(history: History, arm: int, value: float, at: int, outcome: Outcome) -> None:
    """Note how things stand, for one delta."""
    outcome.rounds[at] = history.clock[0]
    outcome.arms[at] = arm
    outcome.statistics[at] = value
    for k in range(history.pulls.size):
        outcome.pulls[at, k] = history.pulls[k]


@kernel
def is_enough(rule: StoppingRule, model: Model, history: History) -> bool:
    """Stop for all deltas whose threshold is exceeded; whether that is all of them.

    A threshold grows as delta falls, and the deltas come in falling order. What all of them have in
    common, the allowance, is worked out only where it may matter.

    Invariant: it has stopped for the first `done` deltas, and for no other.
    """
    outcome, vectors = rule.outcome, rule.vectors
    at = outcome.done[0]
    finding = find(model, history.pulls, history.means, vectors)
    left = finding.statistic
    if left > outcome.levels[at]:
        left -= allowance_at(
            outcome.allowance, model, history.pulls, history.sums, finding, vectors
        )
        while at < outcome.levels.size and left > outcome.levels[at]:
            write_outcome(history, finding.arm, finding.statistic, at, outcome)
            at += 1
    outcome.done[0] = at
    return bool(at == outcome.levels.size)
