"""One policy against one instance, round after round, in compiled code."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from armature.families import FamilyRecord
from armature.families.estimation import estimate_variance
from armature.families.kernels import inside
from armature.kernels.addresses import address_of, function_at, is_compiling, make_caller
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import Kernel, before_compiling, kernel
from armature.kernels.packing import pack, packed_choose, packed_update
from armature.kernels.streams import DECISIONS, Stream, make_stream
from armature.policies import CompiledPolicy, History
from armature.policies.records import make_history
from armature.rounds.rewards import BLOCK, Rewards, draw_block, make_rewards
from armature.rounds.runner import no_such_arm
from armature.structures.instance import Instance
from armature.structures.oracles.model import Model, make_model, with_estimate

MOST_TRACED = 1000  # arms of which pulls are kept at each checkpoint, and in files


class Record(NamedTuple):
    """What is kept of a run: at each checkpoint the regret, the pulls, the exploration rounds."""

    checkpoints: Ints
    regret: Floats  # (C,)
    pulls: Floats  # (C, K); with many arms (1, K), at the end
    explored: Floats  # (C,)
    progress: Ints  # [how many checkpoints were reached]
    total: Floats  # [the regret so far]


def checkpoints_of_pulls(checkpoints: int, n_arms: int) -> int:
    """At how many of the checkpoints pulls are kept: at all, or at the last one."""
    return checkpoints if n_arms <= MOST_TRACED else min(checkpoints, 1)


def make_record(checkpoints: Ints, n_arms: int) -> Record:
    """An empty record."""
    C = checkpoints.size
    return Record(
        checkpoints,
        np.zeros(C),
        np.zeros((checkpoints_of_pulls(C, n_arms), n_arms)),
        np.zeros(C),
        np.zeros(1, dtype=np.int64),
        np.zeros(1),
    )


class Trial(NamedTuple):
    """A run of a policy, between two rounds; its state and its model are packed into words.

    `family` is what rewards come from; the model may be told less.
    """

    choose_address: int
    each_arm_first: bool
    words: Ints
    history: History
    stream: Stream
    family: FamilyRecord
    rewards: Rewards
    gaps: Floats
    record: Record


def chooser_at(address: int, history: History, stream: Stream) -> Callable[..., int]:
    """The `choose` kernel at an address; the other arguments only say of what types."""
    return function_at(address)


def updater_at(address: int, history: History) -> Callable[..., None]:
    """The `update` kernel at an address."""
    return function_at(address)


def tell_variance(words: Any, reals: Any, variance: float) -> None:
    """Let the model that is packed into words know an estimate; `reals` are the same memory."""
    words[0] = with_estimate.py_func(words[0], variance)


# Where a packed model has the variance, and its bound: it begins with its family.
PARAMETER, PROXY = (FamilyRecord._fields.index(name) for name in ("parameter", "proxy"))


@before_compiling
def _teach_policies_at() -> None:
    from numba.core import types
    from numba.extending import overload

    words = types.int64[::1]

    @overload(chooser_at)
    def _chooser_at(address: Any, history: Any, stream: Any) -> Any:
        choose = make_caller(types.int64(words, history, stream))

        def call(address: Any, history: Any, stream: Any) -> Any:
            return choose(address)

        return call

    @overload(updater_at)
    def _updater_at(address: Any, history: Any) -> Any:
        update = make_caller(types.void(words, history, types.int64, types.float64))

        def call(address: Any, history: Any) -> Any:
            return update(address)

        return call

    @overload(tell_variance)
    def _tell_variance(words: Any, reals: Any, variance: Any) -> Any:
        def tell(words: Any, reals: Any, variance: Any) -> Any:
            reals[PARAMETER] = variance
            reals[PROXY] = variance

        return tell


@kernel
def note(history: History, record: Record) -> None:
    """Write down what a checkpoint asks for."""
    at = record.progress[0]
    record.regret[at] = record.total[0]
    record.explored[at] = history.clock[1]
    row = min(at, record.pulls.shape[0] - 1)
    for k in range(history.pulls.size):
        record.pulls[row, k] = history.pulls[k]
    record.progress[0] = at + 1


@kernel
def play(
    update_address: int,
    rounds: int,
    choose_address: int,
    each_arm_first: bool,
    words: Ints,
    history: History,
    stream: Stream,
    family: FamilyRecord,
    rewards: Rewards,
    gaps: Floats,
    record: Record,
) -> int:
    """Go on for some rounds; 0, or the first choice that is no arm, at which the run stops.

    `update_address` is 0 where the policy has no `update`; what follows the number of rounds is a
    `Trial`, taken apart: the loop is a third faster for it.

    Most of a round's time is the policy's if nothing is called for the rest: so `next_reward` and
    `take_in` are written out, on local names.
    """
    choose = chooser_at(choose_address, history, stream)
    pulls = history.pulls
    sums = history.sums
    means = history.means
    squares = history.squares
    clock = history.clock
    block = rewards.block
    drawn = rewards.drawn
    checkpoints = record.checkpoints
    # Sums of numbers up to 1 are rounded to no more than their number; others may be.
    unit = family.alike and family.low == 0.0 and family.high == 1.0
    bounded = family.high < math.inf and not unit
    total = record.total[0]
    first = gaps.size if each_arm_first else 0
    for t in range(clock[0], clock[0] + rounds):
        arm = choose(words, history, stream) if t >= first else t
        if arm < 0 or arm >= gaps.size:
            return arm
        i = drawn[arm]
        drawn[arm] = i + 1
        place = i & (BLOCK - 1)
        if place == 0:
            draw_block(family, rewards, arm, i)
        reward = block[arm, place]
        before = means[arm]
        pulls[arm] += 1.0
        sums[arm] += reward
        means[arm] = sums[arm] / pulls[arm]
        if bounded:
            means[arm] = inside(family, arm, means[arm])
        squares[arm] += (reward - before) * (reward - means[arm])
        clock[0] = t + 1
        total += gaps[arm]
        if update_address != 0:
            update = updater_at(update_address, history)
            update(words, history, arm, reward)
        if t + 1 == checkpoints[record.progress[0]]:
            record.total[0] = total
            note(history, record)
    record.total[0] = total
    return 0


@kernel
def play_round(update_address: int, trial: Trial) -> int:
    """One round."""
    return play(
        update_address,
        1,
        trial.choose_address,
        trial.each_arm_first,
        trial.words,
        trial.history,
        trial.stream,
        trial.family,
        trial.rewards,
        trial.gaps,
        trial.record,
    )


@kernel
def play_estimating(update_address: int, rounds: int, trial: Trial, reals: Floats) -> int:
    """`play` where the variance of rewards is not known: it is estimated before each round.

    A kernel of its own, so that the other has nothing to do with it.
    """
    history = trial.history
    rewards = trial.rewards
    for _ in range(rounds):
        drawn = drawn_of(rewards)
        tell_estimate(trial, reals)
        stray = play_round(0, trial)
        if stray != 0:
            return stray
        if update_address != 0:
            arm = drawn_of(rewards) - drawn
            reward = rewards.block[arm, (rewards.drawn[arm] - 1) & (BLOCK - 1)]
            tell_estimate(trial, reals)
            update = updater_at(update_address, history)
            update(trial.words, history, arm, reward)
    return 0


@kernel
def tell_estimate(trial: Trial, reals: Floats) -> None:
    """Let the policy know what the variance seems to be now."""
    history = trial.history
    variance = estimate_variance(history.pulls, history.means, history.squares)
    tell_variance(trial.words, reals, variance)


@kernel
def drawn_of(rewards: Rewards) -> int:
    """A sum that grows by k with each reward of arm k."""
    total = 0
    for k in range(rewards.drawn.size):
        total += k * rewards.drawn[k]
    return total


class Run:
    """One repetition of a policy made of kernels; `advance` plays on."""

    def __init__(
        self,
        policy: CompiledPolicy,
        instance: Instance,
        seed: int,
        repetition: int,
        checkpoints: Ints,
    ) -> None:
        structure, family = instance.structure, instance.family.as_told
        self._policy, self._n_arms = policy, instance.n_arms
        state = policy.init(structure, family)
        model = make_model(structure, family, policy.oracles)
        history = make_history(instance.n_arms)
        stream = make_stream(seed, repetition, DECISIONS)
        self.record = make_record(checkpoints, instance.n_arms)
        self._packed = model, state  # what the words point to
        words = pack(model, state)
        choose, self._update = policy_addresses(
            *policy.kernels(structure, family), model, state, history, stream
        )
        self._trial = Trial(
            choose_address=choose,
            each_arm_first=policy.starts_with_each_arm,
            words=words,
            history=history,
            stream=stream,
            family=instance.family.record_for(instance.n_arms),
            rewards=make_rewards(instance.means, seed, repetition),
            gaps=instance.gaps,
            record=self.record,
        )
        self._reals: Any = words.view(np.float64) if is_compiling() else words
        self._estimates = family.estimated

    def advance(self, rounds: int) -> None:
        """Play some more rounds."""
        self._check(self._play(rounds))

    def _play(self, rounds: int) -> int:
        if self._estimates:
            return play_estimating(self._update, rounds, self._trial, self._reals)
        return play(self._update, rounds, *self._trial)

    def _check(self, stray: int) -> None:
        if stray != 0:
            raise no_such_arm(self._policy, stray, self._n_arms)


def policy_addresses(
    choose: Kernel[..., int],
    update: Kernel[..., None] | None,
    model: Model,
    state: Any,
    history: History,
    stream: Stream,
) -> tuple[int, int]:
    """Where a policy's kernels are, compiled for these types; 0 where there is no update."""
    if not is_compiling():
        nothing = 0 if update is None else address_of(packed_update(update, 0), None)
        return address_of(packed_choose(choose, 0), None), nothing
    from numba import _dispatcher

    # what dispatchers know types by: ten times faster than naming the types in each repetition
    arguments = (model, state, history, stream)
    key = (choose, update, _dispatcher.compute_fingerprint(arguments))
    if key not in _ADDRESSES:
        _ADDRESSES[key] = _compile_addresses(choose, update, *arguments)
    return _ADDRESSES[key]


_ADDRESSES: dict[tuple[Any, Any, bytes], tuple[int, int]] = {}


def _compile_addresses(
    choose: Kernel[..., int],
    update: Kernel[..., None] | None,
    model: Model,
    state: Any,
    history: History,
    stream: Stream,
) -> tuple[int, int]:
    import numba as _numba

    numba: Any = _numba
    types = numba.types
    both = types.Tuple((numba.typeof(model), numba.typeof(state)))
    history_type, stream_type = numba.typeof(history), numba.typeof(stream)
    words = types.int64[::1]
    chooser = address_of(packed_choose(choose, both), types.int64(words, history_type, stream_type))
    if update is None:
        return chooser, 0
    signature = types.void(words, history_type, types.int64, types.float64)
    return chooser, address_of(packed_update(update, both), signature)
