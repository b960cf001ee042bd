"""The instance-dependent lower bound of Graves and Lai, with a certificate."""

from __future__ import annotations

import math
import warnings
from collections.abc import Hashable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from armature.bounds.allocation import (
    CERTIFIED,
    NO_ALTERNATIVE,
    UNCERTIFIED,
    Solution,
    Task,
    allocate,
    allocate_again,
)
from armature.bounds.tableau import make_tableau
from armature.errors import ArmatureError
from armature.families import Family
from armature.families.kernels import divergences
from armature.kernels.checks import INSTANCE, MOST_PAIRED, check_kind, checked_scale
from armature.structures import Structure
from armature.structures.changing import Changing
from armature.structures.instance import Instance
from armature.structures.oracles.margin import Margin, WithMargin
from armature.structures.oracles.model import make_model
from armature.words import Card, Shown, best_first, number, row_of

Floats = npt.NDArray[np.float64]

TOLERANCE = 1e-6
STEPS = 100_000
HEAVY = (1e10, 1e12)  # two weights at which to see how the others follow the best arm
UNITS = 20  # the unit of divergence is two to some multiple of this
AT_END = 1e-9  # so near to an end of the domain counts as there


@dataclass(frozen=True, eq=False)
class Alternative:
    """A confusing instance: mean vectors of M with another best arm, hard to tell from the truth.

    `weight` is its share q_i of the bound: the weights of all alternatives add up to the value.

    Paper: Eq. (1).
    """

    means: Floats
    weight: float


@dataclass(frozen=True, eq=False, repr=False)
class LowerBound(Shown):
    """The regret of any consistent algorithm is asymptotically at least `value` * ln T.

    Attributes
    ----------
        value: V, the cost of `pulls`.
        pulls: the optimal pulls of each arm per ln T. The best arm, whose pulls cost nothing, is
            pulled in all other rounds and has 0 here (unless its gap is perturbed).
        alternatives: the confusing instances that bind, heaviest first; none where V = 0.
        gap: how far `value` can be from the truth, relatively: the cost of `pulls`, which tell all
            alternatives apart, is above it, and the total weight of `alternatives` below.
        unconstrained: the same bound for someone who does not know the structure.
        segments: of a table of segments, their names; else nothing.
        separately: of a table of segments, what separate bandits must lose, one for each segment,
            each of which knows the structure of its row; else the value.

    Of a table, pulls and means have a row for each segment.

    Paper: Theorem 1.
    """

    value: float
    pulls: Floats
    alternatives: tuple[Alternative, ...]
    gap: float
    unconstrained: float
    separately: float = math.nan
    segments: tuple[Hashable, ...] = ()

    def card(self) -> Card:
        if self.pulls.ndim > 1:
            return self._table_card()
        ranked = [
            k for k in best_first(self.pulls.tolist()) if self.pulls[k] > 1e-6 * self.pulls.max()
        ]
        return Card(
            f"Lower bound: asymptotically regret of at least {number(self.value)} ln T; without "
            f"the structure {number(self.unconstrained)} ln T",
            ("arm", "pulls / ln T"),
            tuple(row_of(k, self.pulls[k]) for k in ranked),
            f"Certified to a relative {self.gap:.1g}. Other arms need no exploration.",
        )

    def _table_card(self) -> Card:
        K = self.pulls.shape[1]
        return Card(
            f"Lower bound: asymptotically regret of at least {number(self.value)} ln T; with a "
            f"bandit for each segment {number(self.separately)} ln T, without the structure "
            f"{number(self.unconstrained)} ln T",
            ("segment", *(f"arm {k}: pulls / ln T" for k in range(K))),
            tuple(
                row_of(name, *pulls) for name, pulls in zip(self.segments, self.pulls, strict=True)
            ),
            f"Certified to a relative {self.gap:.1g}.",
        )


def lower_bound(instance: Instance, epsilon: float | None = None) -> LowerBound:
    """The Graves-Lai constant V of an instance, and the allocation that attains it.

    Solves  min_N sum_k N_k gap_k  such that  sum_k N_k d(mu_k, lam_k) >= 1  for every lam in M
    whose best arm is another. With `epsilon`, every gap is at least that (also the best arm's):
    the perturbed value V_eps of the paper.

    The value is certified to a relative 1e-6, or an `ArmatureError` says that it could not be.

    V = 0 where no alternative at a finite distance keeps the best arm's mean (whose pulls are
    free, so that a move of it is noticed). Either there is none in M: with one arm above the level
    of a `Sparse(n, 1, level)`, or a share above a half in a `Simplex`. Or all are infinitely far
    at some arm, so that any pulls of it tell them apart, however few per ln T: V is then an
    infimum, and `pulls` are its limit.

    * Bernoulli means of which the best is 1: another arm would need the mean 1 too, and
      d(x, 1) is infinite for x < 1.
    * Poisson or Bernoulli shares of which the best is 1/2: a second 1/2 leaves nothing for the
      others, and d(x, 0) is infinite for x > 0.

    If that is so for some challengers alone, these are left out and the others decide. A mean
    within 1e-9 of an end of the domain counts as there.

    In a table of segments the regret is against each segment's best arm, and lam ranges over the
    tables of M in which *some* segment has another best arm and every segment's best cell keeps its
    mean. How often segments arrive is not in it: ln T is that of each segment in the long run.

    A floor, as in `Bandit(floor=f)`, is not in it: an algorithm that gives each arm a share f of
    the rounds loses at least f T sum_k gap_k, which is linear in T. These pulls, f T of each arm,
    in time exceed the `pulls` ln T that would have been enough.

    >>> from armature.structures import Unimodal
    >>> bound = lower_bound(Instance(Unimodal(5), [0.2, 0.4, 0.9, 0.7, 0.1]))
    >>> round(bound.value, 6), round(bound.unconstrained, 3)
    (14.0, 19.357)
    >>> bound.pulls.round(3).tolist()
    [0.0, 8.0, 0.0, 50.0, 0.0]

    References: Graves and Lai (1997), "Asymptotically Efficient Adaptive Choice of Control Laws in
    Controlled Markov Chains".

    Limits: A bound that cannot be certified to 1e-6 is an error.

    Paper: Theorem 1; Section 2.2, perturbed gaps.
    """
    if epsilon is not None:
        epsilon = checked_scale(epsilon, "epsilon")
    check_fit(instance)
    if instance.structure.is_table:
        from armature.bounds.tables import bound_of_table

        return bound_of_table(instance, epsilon)
    gaps = np.maximum(instance.gaps, 0.0 if epsilon is None else epsilon)
    bound = solve_program(instance.structure, instance, gaps)
    if instance.structure.assumes_nothing:
        unconstrained = bound.value
    elif epsilon is None:
        unconstrained = without_structure(instance)
    else:
        unconstrained = solve_program(instance.structure.forgotten(), instance, gaps).value
    return replace(bound, unconstrained=unconstrained)


def without_structure(instance: Instance) -> float:
    """V where nothing is known: sum_k gap_k / d(mu_k, mu_best), as Lai and Robbins have it."""
    mu, best, family = instance.means, instance.best_arm, instance.family
    able = np.full(mu.size, mu[best]) <= family.domain_ends[1]
    able[best] = False  # and those that can't be as good
    costs = _divergences(family, mu, np.where(able, mu[best], mu))
    return float(sum((instance.gaps[able] / costs[able]).tolist()))


def _divergences(family: Family, x: Floats, y: Floats) -> Floats:
    """`Family.divergence` of means that are known to be in the domain, one of each for each arm."""
    out = np.empty(x.size)
    divergences(family.record_for(x.size), x, y, out)
    return out


def bound_or_none(instance: Instance) -> LowerBound | None:
    """The lower bound; None where the structure is wrong or means change, or it is not found.

    That it is not found is said in a warning.

    For tables and pictures of results, which are worth having without it.
    """
    if not instance.fits or isinstance(instance, Changing):
        return None
    try:
        return lower_bound(instance)
    except ArmatureError as error:
        warnings.warn(f"no lower bound is shown: {error}", stacklevel=2)
        return None


def check_fit(instance: Instance, what: str = "lower bound") -> None:
    """Refuse an instance whose means are not in its structure: nothing is known of its regret.

    And one with more arms than there are numbers for each pair of them.
    """
    check_kind(instance, Instance, "instance", INSTANCE)
    if isinstance(instance, Changing):
        raise ArmatureError(
            f"there is no {what} where means change: ask for that of one piece, "
            "Instance(structure, means)."
        )
    if instance.structure.in_table:
        raise ArmatureError(f"the {what} of a coupled segment is that of its table: ask for it.")
    if instance.n_arms > MOST_PAIRED:
        raise ArmatureError(
            f"the {what} is computed from numbers for each pair of arms, of at most {MOST_PAIRED} "
            f"arms; there are {instance.n_arms}."
        )
    violation = instance.violation
    if violation is not None:
        name = type(instance.structure).__name__
        raise ArmatureError(
            f"there is no {what} for a structure that is wrong: the means are not in {name}, "
            f"as {violation}. Ask for that of the means in Unconstrained({instance.n_arms})."
        )


EVERY_SEGMENT = -1  # in place of a best arm: the best of each


def solve_program(
    structure: Structure, instance: Instance, gaps: Floats, best: int | None = None
) -> LowerBound:
    """The program of `lower_bound` with any prices of a pull of each arm in place of its gap.

    In a table `best` is the best cell of a segment, where another is looked for, or EVERY_SEGMENT;
    with a margin, the arm that is to be named.
    """
    margin = structure.margin if isinstance(structure, WithMargin) else None
    solution = make_solution(instance, margin=margin)
    if best is not None:
        outcome = run_allocate(structure, instance, gaps, solution, best=best)
        return _read(outcome, solution)
    free = gaps[instance.best_arm] == 0.0
    if free and instance.means[instance.best_arm] == instance.family.domain.high:
        return _no_regret(instance.n_arms)  # what beats it is infinitely unlike the truth
    outcome = run_allocate(structure, instance, gaps, solution)
    if outcome == UNCERTIFIED or (outcome == NO_ALTERNATIVE and free):
        # Where a challenger can't bind, or all at once are too many: one at a time.
        closed = closed_challengers(structure, instance) if free else np.zeros(gaps.size, bool)
        closed[instance.best_arm] = True
        if closed.all():
            return _no_regret(instance.n_arms)
        solution = make_solution(instance, closed)
        outcome = run_allocate(structure, instance, gaps, solution)
    return _read(outcome, solution)


def _read(outcome: int, solution: Solution) -> LowerBound:
    """The bound in a solution, or an error."""
    if outcome == NO_ALTERNATIVE:
        return _no_regret(solution.pulls.size)
    lower, upper = solution.bounds.tolist()
    gap = abs(upper - lower) / upper if np.isfinite(upper) else 1.0
    if outcome != CERTIFIED:
        raise ArmatureError(
            f"the lower bound could not be certified: it is between {lower:g} and {upper:g}, "
            f"a relative gap of {gap:.1e} where {TOLERANCE:.0e} is asked for."
        )
    return LowerBound(upper, solution.pulls, _alternatives(solution), gap, 0.0, upper)


def _no_regret(K: int) -> LowerBound:
    return LowerBound(0.0, np.zeros(K), (), 0.0, 0.0, 0.0)


def _alternatives(solution: Solution) -> tuple[Alternative, ...]:
    """The alternatives in the basis, heaviest first."""
    tableau = solution.tableau
    weights = tableau.amounts / tableau.unit[0]
    used = (tableau.is_slack == 0) & (weights > 1e-12 * solution.bounds[1])
    found = [
        Alternative(tableau.alternatives[r].copy(), float(weights[r])) for r in np.flatnonzero(used)
    ]
    return tuple(sorted(found, key=lambda a: -a.weight))


def closed_challengers(structure: Structure, instance: Instance) -> npt.NDArray[np.bool_]:
    """The arms that can't be made best at a finite cost while the best arm's mean stays as it is.

    Either nothing in M does it, or each mean vector that does has some other mean at an end of the
    domain, infinitely unlike the truth. The oracles let the best arm move at a price: the others
    then follow its move, and where they would be without it is what tells.
    """
    mu, best, family = instance.means, instance.best_arm, instance.family
    weights, closed = np.ones(mu.size), np.zeros(mu.size, dtype=bool)
    ends = np.array([family.for_arm(k).domain[:2] for k in range(mu.size)]).T
    for k in range(mu.size):
        if k == best:
            continue
        fits = []
        for weight in HEAVY:
            weights[best] = weight
            fits.append(structure.alt_min(mu, weights, best, k, family))
        far, near = (np.asarray(fit.means) for fit in fits)
        cost = fits[-1].cost
        if not np.isfinite(cost):
            closed[k] = True
            continue
        own = family.for_arm(best)
        moved = HEAVY[-1] * own.divergence(float(mu[best]), float(near[best]))
        steps = np.abs([far[best] - mu[best], near[best] - mu[best]])
        still = near
        if steps[0] > 2.0 * steps[1]:
            still = near + (near - far) * steps[1] / (steps[0] - steps[1])
        low, high = ends
        at_end = (still <= low + AT_END) & (mu > low) | (still >= high - AT_END) & (mu < high)
        at_end[best] = False
        closed[k] = moved > 0.5 * cost or bool(at_end.any())
    return closed


def make_solution(
    instance: Instance,
    closed: npt.NDArray[np.bool_] | None = None,
    margin: Margin | None = None,
) -> Solution:
    """Room for the answer of `run_allocate`, and which challengers it leaves out."""
    mu, K = instance.cells, instance.n_arms
    family = instance.family_of_cells
    # half of the way to the best, where no divergence is infinite
    top = mu.max() + (margin.at(mu.max()) if margin is not None else 0.0)
    half_way = np.maximum(mu, 0.5 * mu + 0.5 * np.minimum(top, family.domain_ends[1]))
    away = half_way > mu
    least = float(np.min(_divergences(family, mu, half_way), where=away, initial=math.inf))
    power = round(math.log2(least) / UNITS) if 0.0 < least < math.inf else 0
    tableau = make_tableau(K, unit=2.0 ** (UNITS * power))
    if closed is not None:
        tableau.closed[:] = closed
    return Solution(pulls=np.zeros(K), bounds=np.zeros(2), tableau=tableau)


def run_allocate(
    structure: Structure,
    instance: Instance,
    gaps: Floats,
    solution: Solution,
    tolerance: float = TOLERANCE,
    warm: bool = False,
    best: int | None = None,
) -> int:
    """`allocate` for an instance; the structure need not be the instance's own."""
    one_by_one = ("alt_min",) if solution.tableau.closed.any() else ()  # compiled where need be
    oracles = ("nearest", *one_by_one, *(("challenger_min",) if warm else ()))
    model = make_model(structure, instance.family, oracles)
    task = Task(
        mu=instance.cells.copy(),
        gaps=np.ascontiguousarray(gaps),
        best=instance.best_arm if best is None else best,
        tolerance=tolerance,
        steps=STEPS,
    )
    return (allocate_again if warm else allocate)(model, task, solution)
