"""What is kept of a run."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import kernel
from armature.policies import History

CHECKPOINTS = 200
MOST_TRACED = 1000  # arms of which pulls are kept at each checkpoint, and in files
NEVER = 2**62  # a checkpoint that is not reached


class Record(NamedTuple):
    """At each checkpoint the regret, the pulls, the exploration rounds; or each round by itself."""

    checkpoints: Ints
    regret: Floats  # (C,)
    pulls: Floats  # (C, K); with many arms (1, K), at the end
    explored: Floats  # (C,)
    progress: Ints  # [how many checkpoints were reached, the last choice]
    total: Floats  # [the regret so far]
    choices: Ints  # of each round, if rounds are kept
    gains: Floats  # what each round brought


def checkpoints_up_to(horizon: int) -> Ints:
    """Rounds from 1 to the horizon, spaced logarithmically."""
    return np.unique(np.geomspace(1, horizon, CHECKPOINTS).round().astype(np.int64))


def checkpoints_of_pulls(checkpoints: int, n_arms: int) -> int:
    """At how many of the checkpoints pulls are kept: at all, or at the last one."""
    return checkpoints if n_arms <= MOST_TRACED else min(checkpoints, 1)


def make_record(checkpoints: Ints, n_arms: int, rounds: int = 0) -> Record:
    """An empty record, with room for a number of single rounds."""
    C = checkpoints.size
    return Record(
        checkpoints,
        np.zeros(C),
        np.zeros((checkpoints_of_pulls(C, n_arms), n_arms)),
        np.zeros(C),
        np.zeros(2, dtype=np.int64),
        np.zeros(1),
        np.zeros(rounds, dtype=np.int64),
        np.zeros(rounds),
    )


NO_CHECKPOINTS: Ints = np.empty(0, dtype=np.int64)


@kernel
def write_checkpoint(history: History, record: Record, total: float) -> None:
    """Write down how things stand."""
    at = record.progress[0]
    record.regret[at] = total
    record.explored[at] = history.clock[1]
    row = min(at, record.pulls.shape[0] - 1)
    for k in range(history.pulls.size):
        record.pulls[row, k] = history.pulls[k]
    record.progress[0] = at + 1
