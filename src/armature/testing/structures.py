"""The promises of a structure."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from armature.errors import ArmatureError
from armature.families import Family
from armature.kernels.checks import check_kind
from armature.structures import Structure
from armature.structures.declared import check_is_structure
from armature.testing.problems import (
    RandomProblem,
    declaration_of,
    further_families,
    has_another_best,
    random_problem,
    supported_families,
)

FEASIBLE = 1e-9  # how far a fit may be outside of M, relative to the size of the means
OPTIMAL = 1e-6  # how much more than another feasible point a fit may cost, relatively


def check_structure(
    structure: Structure,
    families: Sequence[Family] | None = None,
    problems: int = 25,
    seed: int = 0,
) -> None:
    """Raise an AssertionError if a structure breaks a promise on a random problem.

    `families` are the reward families that it should go with: all, unless told; a fifth of the
    problems then goes to each of `further_families`.
    """
    check_is_structure(structure)
    for family in families or ():
        check_kind(family, Family, "family", "Gaussian()")
    if families is None:
        check_structure(structure, further_families(structure), max(1, problems // 5), seed)
    for family in supported_families(structure) if families is None else families:
        rng = np.random.default_rng(seed)
        for _ in range(problems):
            problem = random_problem(structure, family, rng)
            for check in STRUCTURE_PROPERTIES:
                check(problem)


def fits_are_feasible(problem: RandomProblem) -> None:
    """Every fit is in M and in the domain, and beats the best arm where it must."""
    j, k = problem.best, problem.challenger
    fits = {"project": problem.project(), "nearest_alternative": problem.nearest()}
    fits["alt_min"] = problem.alt_min(k)
    for name, fit in fits.items():
        if fit.cost == math.inf:
            continue
        lam = np.asarray(fit.means)
        size = max(1.0, float(np.abs(lam).max()))
        _require(problem.structure.violation_of(lam) is None, problem, f"{name} is not in M: {lam}")
        inside = (lam == problem.family.clipped(lam)).all()
        _require(bool(inside), problem, f"{name} leaves the family's domain: {lam}")
        others = lam[np.arange(lam.size) != j].max()
        if name == "alt_min":
            _require(lam[k] >= lam[j] - FEASIBLE * size, problem, f"{name} keeps {k} below {j}")
        elif name == "nearest_alternative":
            _require(others >= lam[j] - FEASIBLE * size, problem, f"{name} leaves {j} the best arm")


def costs_are_right(problem: RandomProblem) -> None:
    """The cost that comes with a fit is the cost of the fit, and never negative."""
    for fit in (problem.project(), problem.nearest(), problem.alt_min(problem.challenger)):
        _require(fit.cost >= 0.0, problem, f"the cost {fit.cost} is negative")
        if fit.cost < math.inf:
            cost = problem.cost(np.asarray(fit.means))
            _require(
                math.isclose(fit.cost, cost, rel_tol=1e-9, abs_tol=problem.scale),
                problem,
                f"the cost of {fit.means} is {cost}, not {fit.cost}",
            )


def zero_exactly_when_feasible(problem: RandomProblem) -> None:
    """A mean vector of M costs nothing; with positive weights, only such a vector does."""
    fit = problem.project()
    if problem.structure.contains(problem.means):
        _require(fit.cost <= problem.scale, problem, f"it is in M but costs {fit.cost}")
    elif (problem.weights > 0.0).all():
        _require(fit.cost > 0.0, problem, "it is not in M but costs nothing")


def nearest_is_the_least(problem: RandomProblem) -> None:
    """`nearest_alternative` is the least `alt_min` and the least `cell_min`; `project` is less."""
    nearest = problem.nearest().cost
    challengers = [k for k in range(problem.structure.n_arms) if k != problem.best]
    one_by_one = min(problem.alt_min(k).cost for k in challengers)
    _require_equal(nearest, one_by_one, problem, "nearest_alternative is not the least alt_min")
    cells = problem.structure.cells(problem.best, problem.means, problem.weights, problem.family)
    by_cell = min(
        (
            problem.structure.cell_min(problem.means, problem.weights, cell, problem.family).cost
            for cell in cells
        ),
        default=math.inf,
    )
    _require_equal(nearest, by_cell, problem, "nearest_alternative is not the least cell_min")
    projected = problem.project().cost
    _require(
        projected <= nearest * (1.0 + 1e-9) + problem.scale,
        problem,
        f"an alternative costs {nearest}, less than the projection: {projected}",
    )


def alternatives_have_another_best(problem: RandomProblem) -> None:
    """An alternative is a limit of mean vectors with another best arm, not any tie."""
    M, j = problem.structure, problem.best
    fits = {
        "alt_min": problem.alt_min(problem.challenger),
        "nearest_alternative": problem.nearest(),
    }
    for name, fit in fits.items():
        lam = np.asarray(fit.means)
        _require(
            fit.cost == math.inf or has_another_best(M, problem.family, lam, j),
            problem,
            f"{name} gives {lam}, where arm {j} is tied, but no mean vector of M near it has a "
            "better arm: it must be a limit of those with another best arm",
        )


def no_point_is_cheaper(problem: RandomProblem) -> None:
    """No point of M that we come across is cheaper than a fit."""
    structure, j = problem.structure, problem.best
    projected, nearest = problem.project(), problem.nearest()
    uniform = np.ones(structure.n_arms)
    rng = np.random.default_rng(zlib.crc32(problem.means.tobytes()))
    for target in (
        problem.means,
        problem.family.clipped(problem.means[::-1]),
        np.asarray(projected.means) + rng.normal(0.0, 0.01, uniform.size),
        rng.uniform(0.05, 0.95, uniform.size),
    ):
        inside = problem.family.clipped(np.clip(np.nan_to_num(target, nan=0.5), 0.01, 0.99))
        for weights in (uniform, problem.weights + 1e-3):
            point = structure.project(inside, weights, problem.family)
            if point.cost == math.inf:
                continue
            lam = np.asarray(point.means)
            cost = problem.cost(lam) * (1.0 + OPTIMAL) + problem.scale
            _require(projected.cost <= cost, problem, f"{lam} is cheaper than the projection")
            if lam[np.arange(lam.size) != j].max() > lam[j] + FEASIBLE:
                _require(nearest.cost <= cost, problem, f"{lam} is a cheaper alternative")


def projection_is_idempotent(problem: RandomProblem) -> None:
    """Projecting a projection changes nothing."""
    first = problem.project()
    if first.cost < math.inf:
        positive = np.maximum(problem.weights, 1e-3)
        inside = np.asarray(first.means)
        if problem.family.domain.closed or (inside > problem.family.domain.low).all():
            again = problem.structure.project(inside, positive, problem.family)
            moved = float(np.abs(np.asarray(again.means) - inside).max())
            _require(
                moved <= 1e-6, problem, f"the projection moves by {moved} when projected again"
            )


def cost_is_homogeneous(problem: RandomProblem) -> None:
    """Twice (or any power of two times) the weights cost twice as much."""
    double = replace(problem, weights=4.0 * problem.weights)
    for name, one, four in (
        ("project", problem.project(), double.project()),
        ("nearest_alternative", problem.nearest(), double.nearest()),
    ):
        _require_equal(4.0 * one.cost, four.cost, problem, f"{name} is not homogeneous in weights")


def cost_grows_with_weights(problem: RandomProblem) -> None:
    """More weight on an arm never makes anything cheaper."""
    more = problem.weights.copy()
    more[problem.challenger] = 2.0 * more[problem.challenger] + 1e-3
    heavier = replace(problem, weights=more)
    for name, light, heavy in (
        ("project", problem.project(), heavier.project()),
        ("nearest_alternative", problem.nearest(), heavier.nearest()),
    ):
        _require(
            light.cost <= heavy.cost * (1.0 + OPTIMAL) + heavier.scale,
            problem,
            f"{name} costs {light.cost}, and with more weight only {heavy.cost}",
        )


def relabelling_changes_nothing(problem: RandomProblem) -> None:
    """With the arms renumbered, the same problem costs the same."""
    K = problem.structure.n_arms
    order = [*range(K)][::-1]
    try:
        structure = problem.structure.relabelled(order)
    except ArmatureError:
        return
    mirrored = RandomProblem(
        structure,
        problem.family.relabelled(order),
        problem.means[order],
        problem.weights[order],
        K - 1 - problem.best,
        K - 1 - problem.challenger,
    )
    for name, here, there in (
        ("project", problem.project(), mirrored.project()),
        ("nearest_alternative", problem.nearest(), mirrored.nearest()),
        (
            "alt_min",
            problem.alt_min(problem.challenger),
            mirrored.alt_min(mirrored.challenger),
        ),
    ):
        _require_equal(here.cost, there.cost, problem, f"{name} depends on the order of the arms")


def declared_facts_hold(problem: RandomProblem) -> None:
    """M is everything, or the same in any order of the arms, where the structure declares it."""
    structure, inside = problem.structure, np.asarray(problem.project().means)
    same = all(map(structure.contains, (inside[::-1], np.roll(inside, 1))))
    _require(same or not structure.exchangeable, problem, "exchangeable is wrong")
    everything = structure.contains(problem.means)
    _require(everything or not structure.assumes_nothing, problem, "assumes_nothing is wrong")


def oracles_follow_from_the_pieces(problem: RandomProblem) -> None:
    """Every oracle of a structure agrees with what is derived from its pieces."""
    structure, derived = problem.structure, declaration_of(problem.structure)
    if derived is None:
        return
    _require(structure.is_convex == derived.is_convex, problem, "is_convex is wrong")
    orders = structure.is_order_only <= derived.is_order_only  # not to claim it is never wrong
    _require(orders, problem, "is_order_only is wrong")
    twin = replace(problem, structure=derived)
    _require_equal(problem.project().cost, twin.project().cost, problem, "project is not derived")
    _require_equal(
        problem.nearest().cost, twin.nearest().cost, problem, "nearest_alternative is not derived"
    )
    j, arguments = problem.best, (problem.means, problem.weights)
    costs = structure.challenger_costs(*arguments, j, problem.family)
    _require_equal(costs[j], twin.project().cost, problem, "challenger_costs[best] is not derived")
    for k in range(structure.n_arms):
        best, twins_best = (
            s.nearest_with_best(*arguments, k, problem.family).cost for s in (structure, derived)
        )
        _require_equal(best, twins_best, problem, f"nearest_with_best of arm {k} is not derived")
        if k == j:
            continue
        one, other = problem.alt_min(k).cost, twin.alt_min(k).cost
        _require_equal(one, other, problem, f"alt_min of challenger {k} is not derived")
        one, other = (
            s.challenger_min(*arguments, j, k, problem.family).cost for s in (structure, derived)
        )
        _require_equal(one, other, problem, f"challenger_min of challenger {k} is not derived")
        _require_equal(costs[k], other, problem, f"challenger_costs[{k}] is not derived")


def highest_means_follow_from_the_pieces(problem: RandomProblem) -> None:
    """`highest` finds the highest arm of M in a box, and no arm too high."""
    structure, derived = problem.structure, declaration_of(problem.structure)
    if derived is None:
        return
    rng = np.random.default_rng(zlib.crc32(problem.means.tobytes()))
    center = structure.project(problem.means, np.ones(structure.n_arms), problem.family).means
    radius = rng.exponential(0.1, (2, structure.n_arms)) * (rng.random() < 0.8)
    shift = rng.normal(0.0, 0.05, structure.n_arms) * (rng.random() < 0.5)
    low, high = center + shift - radius[0], center + shift + radius[1]
    bounds, twins_bounds = structure.highest(low, high), derived.highest(low, high)
    if bounds is None or twins_bounds is None:
        inside = min(float(np.min(high - center)), float(np.min(center - low)))
        _require(inside < 1e-9, problem, "highest says that a box about a point of M has none")
        return
    top = float(twins_bounds.max())
    _require(bool((bounds <= twins_bounds + 1e-7).all()), problem, f"too high: {bounds}")
    _require(abs(float(bounds.max()) - top) <= 1e-7, problem, f"the highest is {top}: {bounds}")


STRUCTURE_PROPERTIES: tuple[Callable[[RandomProblem], None], ...] = (
    fits_are_feasible,
    costs_are_right,
    zero_exactly_when_feasible,
    nearest_is_the_least,
    alternatives_have_another_best,
    no_point_is_cheaper,
    projection_is_idempotent,
    cost_is_homogeneous,
    cost_grows_with_weights,
    relabelling_changes_nothing,
    declared_facts_hold,
    oracles_follow_from_the_pieces,
    highest_means_follow_from_the_pieces,
)


def _require(condition: bool, problem: RandomProblem, complaint: str) -> None:
    if not condition:
        raise AssertionError(f"{complaint}\n{problem}")


def _require_equal(one: float, other: float, problem: RandomProblem, complaint: str) -> None:
    same = one == other or math.isclose(one, other, rel_tol=OPTIMAL, abs_tol=problem.scale)
    _require(same, problem, f"{complaint}: {one} and {other}")
