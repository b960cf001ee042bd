"""A policy over a log, round after round, in compiled code.

Three ways, which differ in where rewards come from:

* `QUEUES`: the policy's own choices; an arm's rewards are handed out in their order, until they
  run out.
* `REJECTION`: the policy's choice stands until the log shows that arm, and the row is accepted with
  probability (least probability in the log) / (its probability); rows in between are skipped.
* `SHADOW`: the policy's choice at each row is noted, and it then learns from the row, whatever the
  row's arm was.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from armature.families import Family
from armature.families.estimation import estimate_variance
from armature.kernels.addresses import is_compiling
from armature.kernels.arrays import Floats, Ints
from armature.kernels.kernel import kernel
from armature.kernels.packing import pack
from armature.kernels.streams import DECISIONS, Stream, make_stream
from armature.policies import CompiledPolicy, History, Policy
from armature.policies.records import make_history
from armature.rounds.play import chooser_at, policy_addresses, tell_variance, updater_at
from armature.rounds.runner import make_decisions, no_such_arm
from armature.structures import Structure
from armature.structures.oracles.model import make_model

QUEUES, REJECTION, SHADOW = range(3)
CHUNK = 20_000  # rounds between two looks at the keyboard


class Feed(NamedTuple):
    """Where rewards come from, and what is noted.

    Queues: `rewards` are sorted by arm, those of arm k from `starts[k]` to before `starts[k + 1]`,
    and `taken` says how many are used up. Otherwise rewards are in the log's order, `rows` are
    their arms, and `accepted` whether a row is taken if its arm is chosen.
    """

    kind: int
    rewards: Floats
    rows: Ints
    starts: Ints  # (K + 1,)
    taken: Ints  # (K,)
    accepted: Ints  # (n,) of 0 and 1
    ends: Floats  # (K, 2): the ends of each arm's domain
    choices: Ints  # (n,): the arm chosen in each round
    gains: Floats  # (n,): what each round brought
    place: Ints  # [next row, rounds, the last choice without a reward, an arm that ran out or -1]


@kernel
def take_in(feed: Feed, history: History, arm: int, reward: float) -> None:
    """Count a reward, with the same arithmetic as everywhere."""
    before = history.means[arm] if history.pulls[arm] > 0.0 else reward
    history.pulls[arm] += 1.0
    history.sums[arm] += reward
    mean = history.sums[arm] / history.pulls[arm]
    history.means[arm] = min(max(mean, feed.ends[arm, 0]), feed.ends[arm, 1])
    history.squares[arm] += (reward - before) * (reward - history.means[arm])
    history.clock[0] += 1


@kernel
def reward_for(feed: Feed, arm: int) -> int:
    """Where the reward of a chosen arm is; -1: the log ends, or has no more of that arm."""
    place = feed.place
    if feed.kind == QUEUES:
        at = feed.starts[arm] + feed.taken[arm]
        if at >= feed.starts[arm + 1]:
            place[3] = arm
            return -1
        feed.taken[arm] += 1
        return int(at)
    if feed.kind == SHADOW:
        row = place[0]
        place[0] = row + 1
        return int(row) if row < feed.rewards.size else -1
    for row in range(place[0], feed.rewards.size):
        if feed.rows[row] == arm and feed.accepted[row] == 1:
            place[0] = row + 1
            return row
    place[0] = feed.rewards.size
    return -1


@kernel
def first_unseen(history: History) -> int:
    """The first arm without a reward; -1: all have one."""
    for k in range(history.pulls.size):
        if history.pulls[k] == 0.0:
            return k
    return -1


@kernel
def replay_rounds(
    choose_address: int,
    update_address: int,
    each_arm_first: bool,
    estimating: bool,
    words: Ints,
    reals: Floats,
    history: History,
    stream: Stream,
    feed: Feed,
    rounds: int,
) -> int:
    """Go on for some rounds.

    0: they were played; 1: the log has no more; -1: a choice was no arm, and is `place[2]`.
    """
    choose = chooser_at(choose_address, history, stream)
    K = history.pulls.size
    starting = each_arm_first
    for _ in range(rounds):
        if feed.kind != QUEUES and feed.place[0] >= feed.rewards.size:
            return 1
        arm = -1
        if starting:
            arm = first_unseen(history)
            starting = arm >= 0
        if arm < 0:
            if estimating:
                now = estimate_variance(history.pulls, history.means, history.squares)
                tell_variance(words, reals, now)
            arm = choose(words, history, stream)
        if arm < 0 or arm >= K:
            feed.place[2] = arm
            return -1
        at = reward_for(feed, arm)
        if at < 0:
            return 1
        reward = feed.rewards[at]
        shown = feed.rows[at] if feed.kind == SHADOW else arm
        take_in(feed, history, shown, reward)
        t = feed.place[1]
        feed.choices[t] = arm
        feed.gains[t] = reward
        feed.place[1] = t + 1
        if update_address != 0:
            if estimating:
                now = estimate_variance(history.pulls, history.means, history.squares)
                tell_variance(words, reals, now)
            update = updater_at(update_address, history)
            update(words, history, shown, reward)
    return 0


def make_feed(
    kind: int,
    rewards: Floats,
    rows: Ints,
    starts: Ints,
    accepted: Ints,
    family: Family,
    longest: int,
) -> Feed:
    """A feed at its beginning."""
    K = starts.size - 1
    ends = [family.for_arm(k).domain for k in range(K)]
    return Feed(
        kind=kind,
        rewards=rewards,
        rows=rows,
        starts=starts,
        taken=np.zeros(K, dtype=np.int64),
        accepted=accepted,
        ends=np.array([(end.low, end.high) for end in ends], dtype=np.float64),
        choices=np.zeros(longest, dtype=np.int64),
        gains=np.zeros(longest),
        place=np.array([0, 0, -1, -1], dtype=np.int64),
    )


def play_feed(
    policy: Policy, structure: Structure, family: Family, feed: Feed, seed: int, repetition: int
) -> None:
    """Let a policy go over a feed, until that ends or `feed.choices` is full."""
    longest = feed.choices.size
    if not isinstance(policy, CompiledPolicy):
        _play_in_python(policy, structure, family, feed, seed, repetition)
        return
    told = family.as_told
    model, state = make_model(structure, told, policy.oracles), policy.init(structure, told)
    history, stream = make_history(structure.n_arms), make_stream(seed, repetition, DECISIONS)
    words = pack(model, state)
    reals: Any = words.view(np.float64) if is_compiling() else words
    kernels = policy.kernels(structure, told)
    addresses = policy_addresses(*kernels, model, state, history, stream)
    while feed.place[1] < longest:
        rounds = min(CHUNK, longest - int(feed.place[1]))
        outcome = replay_rounds(
            *addresses,
            policy.starts_with_each_arm,
            told.estimated,
            words,
            reals,
            history,
            stream,
            feed,
            rounds,
        )
        if outcome < 0:
            raise no_such_arm(policy, int(feed.place[2]), structure.n_arms)
        if outcome == 1:
            return


def _play_in_python(
    policy: Policy, structure: Structure, family: Family, feed: Feed, seed: int, repetition: int
) -> None:
    """The same for a policy in plain Python, and the compiled loop's reference."""
    decisions = make_decisions(policy, structure, family, seed, repetition)
    for t in range(feed.choices.size):
        if feed.kind != QUEUES and feed.place[0] >= feed.rewards.size:
            return
        arm = decisions.next(decisions.history)
        at = reward_for.py_func(feed, arm)
        if at < 0:
            return
        reward = float(feed.rewards[at])
        shown = int(feed.rows[at]) if feed.kind == SHADOW else arm
        decisions.take_in(shown, reward)
        feed.choices[t], feed.gains[t], feed.place[1] = arm, reward, t + 1
