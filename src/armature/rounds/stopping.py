"""When the data are enough to name the best arm: a likelihood ratio against a threshold.

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

References: Garivier and Kaufmann (2016); Ville (1939).

Limits: "practical" is not proved. "theory" pays for all arms that were pulled, also where the
alternatives move few of them.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from armature.errors import ArmatureError
from armature.families import Family
from armature.families.kernels import learning_address, no_evidence, total_learning_cost
from armature.kernels.arrays import Floats
from armature.kernels.kernel import kernel
from armature.kernels.numbers import as_real
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
PRACTICAL = -1  # an allowance; any other is the address of a learning cost, for "theory"


class Vectors(NamedTuple):
    """Room for the statistic; and what stands for the mean of an arm without rewards."""

    some_means: Floats
    mu: Floats
    projected: Floats
    lam: Floats
    costs: Floats


class Finding(NamedTuple):
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
def find(model: Model, N: Floats, means: Floats, vectors: Vectors) -> Finding:
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
        return Finding(argmax(mu), 0.0, misfit)
    i = leader_of(model.family, vectors.projected, mu, N)
    cost = nearest_alternative(model, mu, N, i, vectors.lam)
    return Finding(i, max(cost - misfit, 0.0), misfit)


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
def theory_allowance(address: int, model: Model, N: Floats, sums: Floats, misfit: float) -> float:
    """(learning - misfit)_+."""
    return max(total_learning_cost(address, model.family, N, sums) - misfit, 0.0)


@kernel
def allowance_at(
    allowance: int, model: Model, N: Floats, sums: Floats, finding: Finding, vectors: Vectors
) -> float:
    """How much more than ln(1 / delta) the statistic has to be; `find` has filled `vectors`."""
    if allowance != PRACTICAL:
        return theory_allowance(allowance, model, N, sums, finding.misfit)
    i, costs = finding.arm, vectors.costs
    challenger_costs(model, vectors.mu, N, i, finding.misfit, costs, vectors.lam)
    t = 0.0
    for k in range(N.size):
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
