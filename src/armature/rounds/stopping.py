"""The stopping rule: a likelihood ratio against a threshold names the best arm.

Let `misfit` be the least sum_k N_k d(mean_k, lam_k) over lam in M, i the best arm of the mean
vector that attains it, and `cost` the least one over the lam in M whose best arm is another. The
statistic is cost - misfit: by how much the log-likelihood falls if i is not the best arm. One
stops, and names i, when it exceeds ln(1 / delta) and an *allowance*, of which there are two.

**"theory": what is left of the learning cost.** The allowance is (learning - misfit)_+ for the
learning cost of `armature.bounds.evidence`: the log-likelihood at the arms' own means less the log
of the marginal likelihood, for priors of the means that are fixed in advance. *A wrong arm is ever
named with probability at most delta, whatever the means in M, whoever chooses the arms, in whatever
way, and whenever one looks:*

1. Suppose that i is named and wrong. Then the true mean vector mu is one of those with another best
   arm, so that cost <= sum_k N_k d(mean_k, mu_k), which is the log-likelihood at the own means less
   that at mu.
2. As i was named, cost > ln(1 / delta) + learning. With 1., the marginal likelihood of all rewards
   is more than 1 / delta times their likelihood at mu.
3. That ratio is a non-negative (super)martingale that starts at 1 (`armature.bounds.evidence` has
   why): it ever exceeds 1 / delta with probability at most delta (Ville, 1939).

Rewards whose exponential moments are at most the family's (anything within the bounds of `Bounded`)
have it too.

**"practical": how many challengers there are, and for how long one has looked.** The allowance is
ln(m + ln(t) / 2) after t rounds, where m = sum over arms k != i of exp(cost - cost_k), for the
cost_k of k beating i, counts the challengers: one that is as near as the nearest counts 1, one that
is further by x counts exp(-x). The likelihood ratio against each of them is exceeded by chance with
a probability of about exp(-threshold) at one time, and again as the number of samples multiplies;
only deviations to one side do harm, hence half the logarithm. Experiments use 1 + ln t in place of
m + ln(t) / 2 since Garivier and Kaufmann (2016), which does not count: where any of many arms may
look good by chance (one good arm of ten, `Sparse`), that is wrong more often than delta. It is no
theorem; `docs/studies/identification.md` has how often it was wrong.

`is_enough` is the rule in the round of play, for several deltas at once, each of which has its own
time.

References: Garivier and Kaufmann (2016); Ville (1939).

Limits: "practical" is not proved. "theory" pays for all arms that were pulled, also where the
alternatives move few of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from armature.errors import ArmatureError
from armature.families import Family
from armature.families.kernels import learning_address, no_evidence, total_learning_cost
from armature.kernels.addresses import Address
from armature.kernels.arrays import Floats, Ints
from armature.kernels.checks import as_real
from armature.kernels.kernel import kernel
from armature.policies import History
from armature.policies.records import argmax
from armature.structures import Structure
from armature.structures.oracles.leader import leader_of
from armature.structures.oracles.model import (
    Model,
    challenger_costs,
    make_model,
    nearest_alternative,
    projection,
)

Threshold = Literal["practical", "theory"]
THRESHOLDS = ("practical", "theory")
ORACLES = ("project", "nearest")  # what the statistic asks of a model
COUNTING = ("challenger_min", "challenger_costs")  # what the allowance "practical" asks besides
PRACTICAL = -1  # an allowance; any other is the number of a learning cost, for "theory"


class Vectors(NamedTuple):
    """Room for the statistic; and what stands for the mean of an arm without rewards."""

    some_means: Floats
    mu: Floats
    projected: Floats
    lam: Floats
    costs: Floats


class BestGuess(NamedTuple):
    """The arm to name, and how much speaks for it."""

    arm: int
    statistic: float
    misfit: float


def make_vectors(family: Family, n_arms: int) -> Vectors:
    """Room for this number of arms."""
    some = family.clipped(np.full(n_arms, family.some_mean))
    return Vectors(np.array(some), *(np.zeros(n_arms) for _ in range(4)))


def make_stopping_model(structure: Structure, family: Family, allowance: int) -> Model:
    """A model with all that a stopping rule asks."""
    return make_model(structure, family, ORACLES + (COUNTING if allowance == PRACTICAL else ()))


@kernel
def find(model: Model, N: Floats, means: Floats, vectors: Vectors) -> BestGuess:
    """The arm to name, and by how much the log-likelihood falls if it is not the best.

    Infinite where no other arm can be the best; 0, for the arm with the best mean, where no means
    in M could have given these rewards. `vectors.mu` are the means that it goes by.

    Paper: Section 2.4, pure exploration.
    """
    mu = vectors.mu
    for k in range(N.size):
        mu[k] = means[k] if N[k] > 0.0 else vectors.some_means[k]
    misfit = projection(model, mu, N, vectors.projected)
    if misfit == math.inf:
        return BestGuess(argmax(mu), 0.0, misfit)
    i = leader_of(model.family, vectors.projected, mu, N)
    cost = nearest_alternative(model, mu, N, i, vectors.lam)
    return BestGuess(i, max(cost - misfit, 0.0), misfit)


@kernel
def number_of_challengers(costs: Floats, best: int) -> float:
    """m of the module's docstring, at least 1."""
    least = math.inf
    for k in range(costs.size):
        if k != best:
            least = min(least, costs[k])
    if not least < math.inf:
        return 1.0
    m = 0.0  # invariant: the sum over the challengers before k
    for k in range(costs.size):
        if k != best and costs[k] < math.inf:
            m += math.exp(least - costs[k])
    return m


@kernel
def practical_allowance(challengers: float, rounds: float) -> float:
    """ln(m + ln(t) / 2)."""
    return math.log(challengers + 0.5 * math.log(max(rounds, 1.0)))


@kernel
def theory_allowance(
    address: Address, model: Model, N: Floats, sums: Floats, misfit: float
) -> float:
    """(learning - misfit)_+."""
    return max(total_learning_cost(address, model.family, N, sums) - misfit, 0.0)


@kernel
def allowance_at(
    allowance: Address, model: Model, N: Floats, sums: Floats, finding: BestGuess, vectors: Vectors
) -> float:
    """The excess over ln(1 / delta) that the statistic needs; `find` has filled `vectors`."""
    if allowance != PRACTICAL:
        return theory_allowance(allowance, model, N, sums, finding.misfit)
    i, costs = finding.arm, vectors.costs
    challenger_costs(model, vectors.mu, N, i, finding.misfit, costs, vectors.lam)
    t = 0.0
    for k in range(N.size):  # t: the rounds in which an arm before k was pulled
        t += N[k]
    return practical_allowance(number_of_challengers(costs, i), t)


def checked_threshold(threshold: str, family: Family) -> int:
    """The allowance of a threshold for a family; refused where there is none."""
    if not (isinstance(threshold, str) and threshold in THRESHOLDS):
        raise ArmatureError(
            f"threshold must be {' or '.join(map(repr, THRESHOLDS))}; got {threshold!r}."
        )
    if threshold == "practical":
        return PRACTICAL
    if not family.has_evidence:
        raise ArmatureError(
            f'there is no threshold "theory" here, as {no_evidence(family).rstrip(".")}; or say '
            'threshold="practical".'
        )
    return learning_address(family)


def checked_delta(delta: float) -> float:
    """A probability of error, or an error."""
    if not 1e-300 <= as_real(delta) < 1.0:
        raise ArmatureError(f"delta must be a probability, between 0 and 1; got {delta!r}.")
    return float(delta)


class Outcome(NamedTuple):
    """The outcome of a run: for each delta, in falling order, when it stopped and with what."""

    levels: Floats  # (D,): ln(1 / delta)
    rounds: Ints  # (D,): how many there were when it stopped
    arms: Ints  # (D,): the arm that was named
    statistics: Floats  # (D,)
    pulls: Floats  # (D, K)
    done: Ints  # [for how many deltas it has stopped]
    allowance: int  # which of the two

    def numbers_of_kernels(self) -> tuple[int, ...]:
        """The number of the learning cost, if it is that."""
        return (self.allowance,)


@dataclass(frozen=True, eq=False)
class SamplingRuns:
    """The outcomes of all repetitions of a policy, and the seconds that they took."""

    rounds: Ints  # (repetitions, D)
    arms: Ints  # (repetitions, D): the arm that was named; -1 where the run ended unsure
    statistics: Floats  # (repetitions, D)
    pulls: Floats  # (repetitions, D, K)
    seconds: Floats  # (repetitions,)

    @classmethod
    def empty(cls, repetitions: int, deltas: int, n_arms: int) -> SamplingRuns:
        """Arrays for a number of repetitions."""
        shape = (repetitions, deltas)
        return cls(
            np.zeros(shape, dtype=np.int64),
            np.zeros(shape, dtype=np.int64),
            np.zeros(shape),
            np.zeros((*shape, n_arms)),
            np.zeros(repetitions),
        )

    def write(self, repetition: int, outcome: Outcome, seconds: float) -> None:
        """Keep the outcome of a repetition."""
        self.rounds[repetition] = outcome.rounds
        self.arms[repetition] = outcome.arms
        self.statistics[repetition] = outcome.statistics
        self.pulls[repetition] = outcome.pulls
        self.seconds[repetition] = seconds


class StoppingRule(NamedTuple):
    """The arrays that a rule writes to: its workspace, and the outcome."""

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
