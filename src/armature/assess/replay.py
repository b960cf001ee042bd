"""Replay: the rewards that policies would have collected on a log.

Three methods, and what each assumes:

* **queues**: an arm's logged rewards are handed out in their order whenever the policy chooses it.
  Assumes that rewards do not drift; it does not matter how the logged arms were chosen. It ends
  when the policy chooses an arm of which there are no more rewards.
* **rejection**: the policy goes through the log, and a row counts only if it shows the arm that the
  policy chooses, thinned so that all arms are accepted equally often (Li et al., 2011). Rests on
  the probabilities with which arms were shown; rewards may drift. Most rows are skipped.
  Rows that were shown with probability 1 are left out, as no other arm could be shown.
* **ips**: the policy learns from every row of the log, and its choice before each row is valued by
  inverse propensity scores. Rests on the probabilities, too. It is what the policy's choices are
  worth when it learns from the logged rows, not from rows of its own.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Literal

import numpy as np

from armature.assess.drift import find_drift
from armature.assess.log import Log, read_log
from armature.assess.replayed import Replay, Replayed
from armature.assess.resampling import Weighted, mean_interval, weigh
from armature.assess.segments.judging import read_cells
from armature.assess.shown import check_weights, left_to_chance, probabilities_of
from armature.assess.table import Columns
from armature.errors import ArmatureError
from armature.experiments.plan import check_memory
from armature.families import Family, Gaussian
from armature.kernels.arrays import Floats, Ints
from armature.kernels.checks import check_kind, checked_count, checked_list
from armature.kernels.streams import generator, key_of
from armature.policies import Policy
from armature.policies.policy import checked_policy
from armature.rounds.play import Record
from armature.rounds.rewards import QUEUES, REJECTION, SHADOW, LoggedRewards, make_log
from armature.rounds.run import play_log
from armature.rounds.stopping import checked_delta
from armature.structures import Segments, Structure
from armature.structures.declared import check_is_structure

Method = Literal["queues", "rejection", "ips"]
METHODS = ("queues", "rejection", "ips")
REPETITIONS = 50
THINNING = 2**61  # which random numbers
OF_RUN = 1000  # bytes that a run takes beside its rounds, each of which is a choice and a gain
Play = Callable[..., Record]
NO_ROWS: Ints = np.zeros(0, dtype=np.int64)


def replay(
    log: Any,
    policies: Policy | Sequence[Policy],
    structure: Structure,
    family: Family | None = None,
    *,
    method: Method = "queues",
    uniform: bool = False,
    horizon: int | None = None,
    repetitions: int = REPETITIONS,
    arms: Sequence[Hashable] | None = None,
    columns: Columns | dict[str, str] | None = None,
    delta: float = 0.05,
    seed: int = 0,
) -> Replay:
    """Replay policies on a log: what each would have collected, as far as the data reach.

    >>> from armature.policies import UCB
    >>> from armature.structures import Unconstrained
    >>> log = [("a", 0.1), ("b", 0.9)] * 50
    >>> found = replay(log, UCB(), Unconstrained(2), Gaussian(0.1), repetitions=2)
    >>> found["UCB"].rounds, found["UCB"].exhausted
    (51, 'b')

    Parameters
    ----------
    log, arms, columns
        As for `assess`; sums are not enough.
    policies, structure, family
        Who chooses, and what is known; rewards are Gaussian with an unknown sigma unless given.
        With a table of `Segments`, the log has a column of segments, which arrive in its order, and
        an arm of the answer is a segment with an arm. (By queues only.)
    method : {"queues", "rejection", "ips"}
        Where rewards come from; see above. Only "queues" needs no probabilities.
    uniform
        Says that the log showed every arm with the same probability, by chance. It is not believed
        where the arms' numbers speak against it.
    horizon
        The number of rounds after which to stop; without it, where the data end.
    repetitions
        For "queues": how many times the rewards of each arm are put into another order, and how
        many times they are drawn anew, with replacement, for the intervals.
    delta
        One less the coverage of the intervals.
    seed
        What the random numbers depend on.

    Returns
    -------
    Replay
        `print` shows it.

    References: Li, Chu, Langford and Wang (2011), "Unbiased Offline Evaluation of
    Contextual-Bandit-Based News Article Recommendation Algorithms".

    Limits: The interval of queues is that of a single new run, wider than that of its expectation.
    IPS values choices that learn from the log's rows, not from the policy's own.
    """
    from armature.assess.assess import checked_columns

    family = Gaussian(sigma=None) if family is None else family
    check_is_structure(structure)
    check_kind(family, Family, "family", "Gaussian()")
    if not (isinstance(method, str) and method in METHODS):
        raise ArmatureError(f"method must be {', '.join(map(repr, METHODS))}; got {method!r}.")
    delta = checked_delta(delta)
    key_of(seed)
    seed = int(seed)
    repetitions = checked_count(repetitions, "repetitions")
    arrivals: Ints = NO_ROWS
    if isinstance(structure, Segments):
        if method != "queues":
            raise ArmatureError(
                f'method="{method}" is for one segment at a time: take method="queues", or the '
                "rows of a segment and what is known of its arms."
            )
        found, _ = read_cells(log, structure, family, checked_columns(columns), arms)
        assert found.places is not None
        arrivals = found.places // structure.n_each
    else:
        found = read_log(log, structure, family, columns=checked_columns(columns), arms=arms)
    if found.rewards is None:
        raise ArmatureError(
            f"{found.name} has only sums: to replay policies, single rewards are needed."
        )
    longest = found.rounds if horizon is None else min(checked_count(horizon, "horizon"),
                                                       found.rounds)  # fmt: skip
    given = [policies] if isinstance(policies, Policy) else policies
    given = checked_list(given, "policies", "a list such as [UCB(), SPk()]")
    tried = [checked_policy(policy, longest) for policy in given]
    if not tried:
        raise ArmatureError("there are no policies to replay: give at least one, such as [UCB()].")
    for policy in tried:
        policy.check(structure, family)
    play = functools.partial(play_rows, structure, family, longest, seed, arrivals=arrivals)
    certain = 0
    if method == "queues":
        what = f"repetitions of {len(tried)} policies"
        check_memory(repetitions, what, 2 * (OF_RUN + 16 * longest) * len(tried))
        rows = _in_queues(found, tried, play, repetitions, delta, seed)
    else:
        shown = probabilities_of(found, uniform)
        rows = [_on_rows(found, policy, play, shown, method, delta, seed) for policy in tried]
        certain = int((shown >= 1.0).sum())
    drift = find_drift(found)
    mean = float(found.rewards.mean())
    return Replay(method, tuple(rows), mean, found.rounds, horizon, delta, drift, uniform, certain)


def play_rows(
    structure: Structure,
    family: Family,
    longest: int,
    seed: int,
    policy: Policy,
    rewards: LoggedRewards,
    repetition: int = 0,
    arrivals: Ints = NO_ROWS,
) -> Record:
    """A run of a policy on logged rewards; `arrivals` says whose each round is, in a table."""
    return play_log(policy, structure, family, rewards, longest, seed, repetition, arrivals)


# Queues.


def _in_queues(
    log: Log, policies: Sequence[Policy], play: Play, repetitions: int, delta: float, seed: int
) -> list[Replayed]:
    """Each policy on the log's own order, on others, and on rewards drawn with replacement."""
    assert log.rewards is not None
    assert log.places is not None
    own = log.rewards[np.argsort(log.places, kind="stable")]
    starts = np.concatenate([[0], np.cumsum(log.counts)]).astype(np.int64)

    def queues(rewards: Floats) -> LoggedRewards:
        return make_log(QUEUES, rewards, NO_ROWS, starts, NO_ROWS)

    played = {}
    for policy in policies:
        rewards = queues(own)
        first = play(policy, rewards)
        orders = [
            play(policy, queues(_mixed(own, starts, r, False, seed)), r)
            for r in range(1, repetitions)
        ]
        again = [
            play(policy, queues(_mixed(own, starts, r, True, seed)), r)
            for r in range(1, repetitions + 1)
        ]
        played[policy.name] = first, int(rewards.place[1]), [first, *orders], again
    common = min(first.gains.size for first, *_ in played.values())
    rows = []
    for name, (first, out, orders, again) in played.items():
        ends = [0.5 * delta, 1.0 - 0.5 * delta]
        low, high = np.quantile([_mean(record, common) for record in again], ends)
        value = float(np.mean([_mean(record, common) for record in orders]))
        exhausted = None if out < 0 else log.arms[out]
        rows.append(
            _replayed(name, log, first, float(first.gains.sum()), (value, float(low), float(high)),
                      common, exhausted)
        )  # fmt: skip
    return rows


def _mixed(rewards: Floats, starts: Ints, repetition: int, anew: bool, seed: int) -> Floats:
    """Each arm's rewards in another order, or drawn with replacement."""
    rng = generator(seed, 2 * repetition + anew)
    mixed = rewards.copy()
    for start, end in itertools.pairwise(starts):
        own = rewards[start:end]
        if own.size:
            mixed[start:end] = rng.choice(own, own.size) if anew else rng.permutation(own)
    return mixed


def _mean(record: Record, rounds: int) -> float:
    gains = record.gains[:rounds]
    return float(gains.mean()) if gains.size else 0.0


def _replayed(
    name: str,
    log: Log,
    record: Record,
    reward: float,
    value: tuple[float, float, float],
    compared: int,
    exhausted: Hashable | None = None,
    weighted: Weighted | None = None,
) -> Replayed:
    n = record.choices.size
    shares = np.bincount(record.choices, minlength=len(log.arms)) / max(n, 1)
    return Replayed(name, n, reward, *value, compared, exhausted, shares, weighted)


# With probabilities.


def _on_rows(
    log: Log, policy: Policy, play: Play, shown: Floats, method: Method, delta: float, seed: int
) -> Replayed:
    """A policy on rows with known probabilities.

    "rejection": the rows that show what the policy chooses. "ips": its choice before each row,
    weighed.
    """
    assert log.rewards is not None
    assert log.places is not None
    if method == "rejection":
        record = on_accepted(log, policy, play, shown, seed)
        n = record.gains.size
        if not n:
            raise ArmatureError(
                f"{log.name} has no row that shows what {policy.name} chooses first."
            )
        value = _mean(record, n), *mean_interval(record.gains, delta, seed)
        return _replayed(policy.name, log, record, float(record.gains.sum()), value, n)
    record = play(policy, make_log(SHADOW, log.rewards, log.places, _no_queues(log), NO_ROWS))
    n = record.choices.size
    counted = np.flatnonzero(left_to_chance(log, shown)[:n])
    if not counted.size:
        raise ArmatureError(
            f"{log.name}: the first {n:,} rows show their arms with probability 1: give a longer "
            "horizon."
        )
    matches = (record.choices == log.places[:n])[counted].astype(np.float64)
    check_weights(log, matches / shown[counted], policy.name)
    found = weigh(matches, shown[counted], log.rewards[counted], delta, seed)
    value = found.ips, found.ips_low, found.ips_high
    return _replayed(policy.name, log, record, found.ips * n, value, counted.size, weighted=found)


def on_accepted(log: Log, policy: Policy, play: Play, shown: Floats, seed: int) -> Record:
    """The run of a policy on the rows that show what it chooses; nothing if there is none.

    A row is accepted with a probability in inverse proportion to that with which it was shown, so
    that all arms are equally likely to be accepted.
    """
    assert log.rewards is not None
    assert log.places is not None
    by_chance = left_to_chance(log, shown)
    chance = generator(seed, THINNING).random(log.rounds)
    accepted = (chance * shown <= float(shown[by_chance].min())) & by_chance
    rows = make_log(REJECTION, log.rewards, log.places, _no_queues(log), accepted.astype(np.int64))
    return play(policy, rows)


def _no_queues(log: Log) -> Ints:
    return np.zeros(len(log.arms) + 1, dtype=np.int64)
