"""Off-policy evaluation: the mean reward that another policy would have had on a log.

A log that says with which probability each arm was shown can value arms that were shown less often.
With n rows, rewards r_t, probabilities p_t of the arms that were shown, and the probability q_t
with which the other policy would have chosen the same arm, the row's weight is w_t = q_t / p_t.

* **ips**, inverse propensities: the mean of w_t r_t. Unbiased.
* **snips**, self-normalised: the sum of w_t r_t over the sum of w_t. A little biased, and less
  variable; it moves with the rewards where a constant is added to all.
* **doubly robust**: the mean of m(q_t) + w_t (r_t - m(a_t)), where m(a_t) is what a model expects
  of the row's arm, and m(q_t) of the policy's choice. The model is fitted to the rows before.
  Unbiased whatever the model says, since its errors are made up for by what the rows show; the
  better it is, the less variable. (Robins, Rotnitzky and Zhao, 1994.)
* **rejection**: a policy's own run on the rows that show what it chooses (`replay`). Unbiased for
  its first rounds, as many as there are such rows.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np

from armature.assess.drift import find_drift
from armature.assess.evaluated import Estimate, Evaluation
from armature.assess.log import Log, arrange, read_log
from armature.assess.replay import on_accepted, play_rows
from armature.assess.resampling import mean_interval, weigh
from armature.assess.shadow import Shadow, choices_on
from armature.assess.shown import check_weights, left_to_chance, probabilities_of
from armature.assess.table import Columns
from armature.errors import ArmatureError
from armature.families import Family, Gaussian
from armature.kernels.arrays import Floats
from armature.kernels.checks import as_real, check_kind
from armature.kernels.streams import key_of
from armature.policies import Policy
from armature.policies.policy import checked_policy
from armature.rounds.stopping import checked_delta
from armature.structures import Structure, Unconstrained
from armature.structures.declared import check_is_structure

METHODS = ("doubly robust", "snips", "ips", "rejection")


def evaluate(
    log: Any,
    policy: Policy | Mapping[Any, float] | Hashable,
    structure: Structure | None = None,
    family: Family | None = None,
    *,
    method: str = "doubly robust",
    uniform: bool = False,
    arms: Sequence[Hashable] | None = None,
    columns: Columns | dict[str, str] | None = None,
    delta: float = 0.05,
    seed: int = 0,
) -> Evaluation:
    """Estimate the mean reward of another policy from a log, with an interval.

    The rows of the log are in the order of its decisions, and say with which probability each arm
    was shown. A policy is valued as it would have chosen in each row, having learned from the rows
    before, whatever they show. Rows that were shown with probability 1 are learned from and not
    counted.

    Parameters
    ----------
    log, arms, columns
        As for `assess`; sums are not enough.
    policy
        Who is valued: a policy; or an arm that is always chosen; or the probabilities of arms, as
        {"red": 0.2, "blue": 0.8}, those that are left out having 0.
    structure, family
        What is known; the model of "doubly robust" rests on it. Only a policy needs a structure.
        Rewards are Gaussian with an unknown sigma unless given.
    method : {"doubly robust", "snips", "ips", "rejection"}
        Which estimate is the `value`; the others that the log permits are beside it.
    uniform
        Says that the log showed every arm with the same probability, by chance. It is not believed
        where the arms' numbers speak against it.
    delta
        One less the coverage of the intervals.
    seed
        What the random numbers depend on.

    Returns
    -------
    Evaluation
        `print` shows it.

    Guarantee
    ---------
    "doubly robust" and "ips" are unbiased if the probabilities are right and rewards don't depend
    on earlier choices; rewards may drift. Intervals are by the bootstrap: `docs/assess.md` has how
    often they hold. Refused are probabilities that are missing or 0, and weights that do not add
    up, since then some choices could not be shown.

    >>> log = [("a", 0.0), ("b", 1.0), ("b", 0.0), ("a", 1.0), ("b", 1.0)] * 40
    >>> found = evaluate(log, "b", uniform=True, method="snips")
    >>> round(found.value, 3), found.rows
    (0.667, 200)

    References: Horvitz and Thompson (1952), "A Generalization of Sampling Without Replacement From
    a Finite Universe"; Dudík, Langford and Li (2011), "Doubly Robust Policy Evaluation and
    Learning"; Li, Chu, Langford and Wang (2011), "Unbiased Offline Evaluation of Contextual-Bandit-
    Based News Article Recommendation Algorithms".

    Limits: A policy is valued while it learns from the log's rows, not from rows of its own (but
    for "rejection"). Intervals are too short where few rows carry most of the weight.
    """
    from armature.assess.assess import checked_columns

    family = Gaussian(sigma=None) if family is None else family
    if structure is not None:
        check_is_structure(structure)
    check_kind(family, Family, "family", "Gaussian()")
    if not (isinstance(method, str) and method in METHODS):
        raise ArmatureError(f"method must be {', '.join(map(repr, METHODS))}; got {method!r}.")
    delta = checked_delta(delta)
    key_of(seed)
    seed = int(seed)
    found = read_log(log, structure, family, columns=checked_columns(columns), arms=arms)
    if found.rewards is None:
        raise ArmatureError(
            f"{found.name} has only sums: to value another policy, single rewards are needed."
        )
    known = Unconstrained(len(found.arms)) if structure is None else structure
    who, name = _valued(policy, found, structure, family, seed)
    if method == "rejection" and not isinstance(policy, Policy):
        raise ArmatureError(
            'method="rejection" is for policies that learn: for arms that are always chosen with '
            'the same probabilities, leave it out, or use "snips".'
        )
    shown = probabilities_of(found, uniform)
    by_chance = left_to_chance(found, shown)
    choices = choices_on(found, who, known, family)
    rewards, p = found.rewards[by_chance], shown[by_chance]
    shares, modelled = choices.shares[by_chance], choices.modelled[by_chance]
    weights = shares / p
    check_weights(found, weights, name)
    gains = choices.expected[by_chance] + weights * (rewards - modelled)
    n = gains.size
    weighted = weigh(shares, p, rewards, delta, seed)
    estimates = [
        Estimate("doubly robust", *_mean(gains, delta, seed), n),
        Estimate("snips", weighted.snips, weighted.snips_low, weighted.snips_high, n),
        Estimate("ips", weighted.ips, weighted.ips_low, weighted.ips_high, n),
    ]
    if isinstance(policy, Policy):
        play = functools.partial(play_rows, known, family, found.rounds, seed)
        record = on_accepted(found, checked_policy(policy, found.rounds), play, shown, seed)
        if record.gains.size:
            rejection = _mean(record.gains, delta, seed)
            estimates.append(Estimate("rejection", *rejection, record.gains.size))
    return Evaluation(
        policy=name,
        method=method,
        estimates=tuple(estimates),
        gain=Estimate("doubly robust", *_mean(gains - rewards, delta, seed), n),
        logged=float(rewards.mean()),
        rows=n,
        certain=found.rounds - n,
        arms=found.arms,
        shares=choices.arms,
        mean_weight=float(weights.mean()),
        effective=weighted.effective,
        largest=weighted.largest,
        delta=delta,
        drift=find_drift(found),
        learns=isinstance(policy, Policy),
    )


def _mean(values: Floats, delta: float, seed: int) -> tuple[float, float, float]:
    """A mean and its interval."""
    return float(values.mean()), *mean_interval(values, delta, seed)


def _valued(
    policy: Any, log: Log, structure: Structure | None, family: Family, seed: int
) -> tuple[Shadow | Floats, str]:
    """A policy to value, and its name."""
    if isinstance(policy, Policy):
        if structure is None:
            raise ArmatureError(
                f"to value {policy.name}, its structure is needed: evaluate(log, {policy.name}, "
                f"am.Unconstrained({len(log.arms)})), or what is known of the arms."
            )
        tried = checked_policy(policy, log.rounds)
        tried.check(structure, family)
        return Shadow(tried, structure, family, seed), tried.name
    if isinstance(policy, Mapping):
        return _probabilities(policy, log), "the given probabilities"
    if policy is None or not isinstance(policy, Hashable):
        raise ArmatureError(
            "policy must be a policy, an arm, or the probabilities of arms such as "
            f"{{'red': 0.2, 'blue': 0.8}}; got {policy!r}."
        )
    return _probabilities({policy: 1.0}, log), f"always {policy}"


def _probabilities(given: Mapping[Any, float], log: Log) -> Floats:
    """The probability of each arm, by the arms' names."""
    _, places = arrange(list(given), log.arms, None, "policy")
    values = np.zeros(len(log.arms))
    for place, value in zip(places, given.values(), strict=True):
        share = as_real(value)
        if not 0.0 <= share <= 1.0:
            raise ArmatureError(
                f"policy must have probabilities from 0 to 1; it has {value!r} for "
                f"{log.arms[place]!r}."
            )
        values[place] += share
    if not math.isclose(float(values.sum()), 1.0, rel_tol=1e-9):
        raise ArmatureError(
            f"policy must have probabilities that add up to 1; they add up to {values.sum():g}."
        )
    return values
