"""The round of play, in compiled code: ask, get a reward, take it in, perhaps stop, record.

Simulating, identifying the best arm and replaying a log are this one loop, which is compiled once:
where rewards come from and when it stops are values that it is given. A policy in plain Python is
played by the same loop, run as plain Python. Live, rewards come from outside, and the two halves
of a round are `ask` and `tell` (`armature.rounds.runner`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from armature.families import FamilyRecord
from armature.families.estimation import estimate_variance
from armature.kernels.addresses import address_of, function_at, is_compiling, teach_address
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import Kernel, before_compiling, kernel
from armature.kernels.packing import packed_choose, packed_stop, packed_update
from armature.policies import History
from armature.rounds.record import NEVER, Record, write_checkpoint
from armature.rounds.rewards import (
    SHADOW,
    SIMULATED,
    LoggedRewards,
    SimulatedRewards,
    count_reward,
    next_reward,
    row_for,
)
from armature.structures.oracles.model import with_estimate

PLAYED, STOPPED, RAN_OUT, NO_SUCH_ARM = range(4)  # how some rounds of play end


class Trial(NamedTuple):
    """A run of a policy, between two rounds: what `play` is given besides the number of rounds.

    Where kernels are: 0 where the policy has no `update`, or there is no stopping rule. Words are
    what these unpack: a model, a state, the history, ...; reals are the same memory where the model
    has to be told an estimate of the variance, else empty. `family` is what rewards come
    from; the models may be told less. Rewards are `drawn`, unless the log has another kind.
    """

    choose_address: int
    update_address: int
    stop_address: int
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


@kernel
def play(
    rounds: int,
    choose_address: int,
    update_address: int,
    stop_address: int,
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

    Its arguments are a `Trial`, taken apart: the loop is a third faster for it.

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


# Where a policy's kernels are, compiled for its state and packed into words for the loop.

CHOOSE, UPDATE, STOP = packed_choose, packed_update, packed_stop  # the parts in a round
_ADDRESSES: dict[tuple[Any, Any, bytes], int] = {}


def packed_address(
    part: Callable[..., Kernel[..., Any]], kernel: Kernel[..., Any] | None, records: tuple[Any, ...]
) -> int:
    """The address of a kernel that has a part in a round, for such records; 0: there is none."""
    if kernel is None:
        return 0
    if not is_compiling():
        return address_of(part(kernel, 0), None)
    import numba as _numba
    from numba import _dispatcher

    numba: Any = _numba
    # what dispatchers know types by: ten times faster than naming the types in each repetition
    key = (part, kernel, _dispatcher.compute_fingerprint(records))
    if key not in _ADDRESSES:
        _ADDRESSES[key] = address_of(part(kernel, numba.typeof(records)), _signatures()[part])
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
    """What chooses, at an address."""
    return address if callable(address) else function_at(address)


def updater_at(address: Any) -> Callable[[Ints, int, float], None]:
    """What learns from a reward, at an address."""
    return address if callable(address) else function_at(address)


def stopper_at(address: Any) -> Callable[[Ints], bool]:
    """What says that it is enough, at an address."""
    return address if callable(address) else function_at(address)


@before_compiling
def _teach_addresses() -> None:
    signatures = _signatures()
    for at, part in ((chooser_at, CHOOSE), (updater_at, UPDATE), (stopper_at, STOP)):
        teach_address(at, signatures[part])
