"""The round of play, in compiled code: ask, get a reward, take it in, perhaps stop, record.

Simulating, identifying the best arm and replaying a log are this one loop, which is compiled once:
where rewards come from and when it stops are values that it is given. A policy in plain Python is
played by the same loop, run as plain Python. Live, rewards come from outside, and the two halves
of a round are `ask` and `tell` (`armature.rounds.runner`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from armature.families import FamilyRecord
from armature.families.kernels import estimate_variance
from armature.kernels.addresses import (
    Address,
    Signature,
    address_of,
    fill,
    function_at,
    numbers_in,
    teach_address,
)
from armature.kernels.arrays import Floats, Ints
from armature.kernels.gears import may_compile
from armature.kernels.kernel import Kernel, before_compiling, kernel
from armature.kernels.packing import packed_choose, packed_stop, packed_update
from armature.policies import History
from armature.policies.records import count_reward
from armature.rounds.rewards import (
    SHADOW,
    SIMULATED,
    LoggedRewards,
    SimulatedRewards,
    next_reward,
    row_for,
    turn,
)
from armature.structures.oracles.model import with_estimate

CHECKPOINTS = 200
MOST_TRACED = 1000  # arms of which pulls are kept at each checkpoint, and in files
NEVER = 2**62  # a checkpoint that is not reached
NO_CHECKPOINTS: Ints = np.empty(0, dtype=np.int64)
PLAYED, STOPPED, RAN_OUT, NO_SUCH_ARM = range(4)  # how some rounds of play end


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


class RunState(NamedTuple):
    """A run of a policy, between two rounds: what `play` is given besides the number of rounds.

    The kernels' numbers: 0 where the policy has no `update`, or there is no stopping rule. Words
    are what these unpack: a model, a state, the history, ...; reals are the same memory where the
    model has to be told an estimate of the variance, else empty. `family` is what rewards come
    from; the models may be told less. Rewards are `drawn`, unless the log has another kind.
    """

    choose_address: Address
    update_address: Address
    stop_address: Address
    each_arm_first: bool
    words: Ints
    reals: Floats
    stop_words: Ints
    stop_reals: Floats
    history: History
    family: FamilyRecord
    gaps: Floats
    drawn: SimulatedRewards
    log: LoggedRewards
    record: Record


@dataclass(frozen=True, eq=False)
class PolicyRuns:
    """The records of all repetitions of a policy, and the seconds that they took."""

    regret: Floats  # (repetitions, C)
    pulls: Floats  # (repetitions, C, K); of many arms, (repetitions, 1, K): at the end
    explored: Floats  # (repetitions, C)
    seconds: Floats  # (repetitions,)

    @classmethod
    def empty(cls, repetitions: int, checkpoints: int, n_arms: int) -> PolicyRuns:
        """Arrays for a number of repetitions."""
        shape = (repetitions, checkpoints)
        of_pulls = (repetitions, checkpoints_of_pulls(checkpoints, n_arms), n_arms)
        return cls(np.zeros(shape), np.zeros(of_pulls), np.zeros(shape), np.zeros(repetitions))

    def write(self, repetition: int, record: Record, seconds: float) -> None:
        """Keep the record of a repetition."""
        self.regret[repetition] = record.regret
        self.pulls[repetition] = record.pulls
        self.explored[repetition] = record.explored
        self.seconds[repetition] = seconds


@kernel
def play(
    rounds: int,
    choose_address: Address,
    update_address: Address,
    stop_address: Address,
    each_arm_first: bool,
    words: Ints,
    reals: Floats,
    stop_words: Ints,
    stop_reals: Floats,
    history: History,
    family: FamilyRecord,
    gaps: Floats,
    drawn: SimulatedRewards,
    log: LoggedRewards,
    record: Record,
) -> int:
    """Go on for some rounds: all are PLAYED, or it says why not.

    Its arguments are a `RunState`, taken apart: the loop is a third faster for it.

    Invariant, before round t (from 0): `history` counts t rewards; arms before `first` have one;
    the variance that the models are told is the estimate from these rewards; `total` is the regret
    of the t rounds; the checkpoints up to t are written, and `due` is the next one.

    Paper: Section 1.1, regret.
    """
    choose = chooser_at(choose_address)
    K = gaps.size
    pulls = history.pulls
    kind = log.kind
    keeps_rounds = record.choices.size > 0
    estimates = len(reals) > 0 or len(stop_reals) > 0
    due = next_checkpoint(record)
    total = record.total[0]
    first = 0 if each_arm_first else K
    begin = history.clock[0]
    outcome = PLAYED
    for t in range(begin, begin + rounds):
        while first < K and pulls[first] > 0.0:
            first += 1
        arm = first if first < K else choose(words)
        shown = arm
        if arm < 0 or arm >= K:
            record.progress[1] = arm
            outcome = NO_SUCH_ARM
            break
        if kind == SIMULATED:
            if drawn.starts.size > 0:
                turn(drawn, gaps, t)
            reward = next_reward(family, drawn, arm)
        else:
            row = row_for(log, arm)
            if row < 0:
                outcome = RAN_OUT
                break
            reward = log.rewards[row]
            if kind == SHADOW:
                shown = log.rows[row]
        count_reward(history, family, shown, reward)
        total += gaps[arm]
        if keeps_rounds:
            record.choices[t] = arm
            record.gains[t] = reward
        if estimates:
            variance = estimate_variance(history.pulls, history.means, history.squares)
            if len(reals) > 0:
                set_variance(words, reals, variance)
            if len(stop_reals) > 0:
                set_variance(stop_words, stop_reals, variance)
        if update_address != 0:
            update = updater_at(update_address)
            update(words, shown, reward)
        if t + 1 == due:
            write_checkpoint(history, record, total)
            due = next_checkpoint(record)
        if stop_address != 0:
            is_enough = stopper_at(stop_address)
            if is_enough(stop_words):
                outcome = STOPPED
                break
    record.total[0] = total
    return outcome


@kernel
def next_checkpoint(record: Record) -> int:
    """The first checkpoint that is not written yet."""
    at = record.progress[0]
    return int(record.checkpoints[at]) if at < record.checkpoints.size else NEVER


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


def set_variance(words: Any, reals: Any, variance: float) -> None:
    """Let the model that is packed into words know an estimate; `reals` are the same memory."""
    words[0] = with_estimate.py_func(words[0], variance)


# Where a packed model has the variance, and its bound: it begins with its family.
PARAMETER, PROXY = (FamilyRecord._fields.index(name) for name in ("parameter", "proxy"))


@before_compiling
def _teach_set_variance() -> None:
    from numba.extending import overload

    @overload(set_variance)
    def _set_variance(words: Any, reals: Any, variance: Any) -> Any:
        def set_both(words: Any, reals: Any, variance: Any) -> Any:
            reals[PARAMETER] = variance
            reals[PROXY] = variance

        return set_both


# A policy's kernels, compiled for its state and packed into words for the loop.

CHOOSE, UPDATE, STOP = packed_choose, packed_update, packed_stop  # the parts in a round
_ADDRESSES: dict[tuple[Any, Any, bytes], Address] = {}


def packed_address(
    part: Callable[..., Kernel[..., Any]], kernel: Kernel[..., Any] | None, records: tuple[Any, ...]
) -> Address:
    """The number of a kernel that has a part in a round, for such records; 0: there is none.

    What it calls is compiled now, if it may be.
    """
    if kernel is None:
        return 0
    signature = Signature(_signatures, part)
    if not may_compile():
        return address_of(part(kernel, None), signature)
    import numba as _numba
    from numba import _dispatcher

    numba: Any = _numba
    # what dispatchers know types by: ten times faster than naming the types in each repetition
    key = (part, kernel, _dispatcher.compute_fingerprint(records))
    if key not in _ADDRESSES:
        _ADDRESSES[key] = address_of(part(kernel, numba.typeof(records)), signature)
    fill(numbers_in((records,)) | {_ADDRESSES[key]})
    return _ADDRESSES[key]


def _signatures() -> dict[Any, Any]:
    from numba.core import types as _types

    types: Any = _types
    words = types.int64[::1]
    return {
        CHOOSE: types.int64(words),
        UPDATE: types.void(words, types.int64, types.float64),
        STOP: types.boolean(words),
    }


# Without compilation, an address may be the function itself: a policy in plain Python has no other.


def chooser_at(address: Any) -> Callable[[Ints], int]:
    """The function that chooses, at an address."""
    return address if callable(address) else function_at(address)


def updater_at(address: Any) -> Callable[[Ints, int, float], None]:
    """The function that learns from a reward, at an address."""
    return address if callable(address) else function_at(address)


def stopper_at(address: Any) -> Callable[[Ints], bool]:
    """The function that decides to stop, at an address."""
    return address if callable(address) else function_at(address)


@before_compiling
def _teach_addresses() -> None:
    signatures = _signatures()
    for at, part in ((chooser_at, CHOOSE), (updater_at, UPDATE), (stopper_at, STOP)):
        teach_address(at, signatures[part])
