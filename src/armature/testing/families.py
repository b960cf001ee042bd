"""What a reward family promises."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from armature.errors import ArmatureError
from armature.families import Family

GRID = 12


def check_family(family: Family, seed: int = 0) -> None:
    """Raise an AssertionError if a family breaks a promise."""
    if family.n_arms is not None:
        _check_arms(family, seed)
        return
    if family.estimated:
        _check_unknown(family)
        return
    rng = np.random.default_rng(seed)
    for check in (
        _check_divergence,
        _check_boundary,
        _check_inverses,
        _check_bregman,
        _check_samples,
        _check_refusals,
    ):
        check(family, rng)


def _check_arms(family: Family, seed: int) -> None:
    """With parameters for each arm: each arm's family, and all of them at once."""
    K, rng = family.n_arms or 0, np.random.default_rng(seed)
    own = [family.for_arm(k) for k in range(K)]
    for one in own:
        check_family(one, seed)
    x, y = (np.array([_means(one, rng)[0] for one in own]) for _ in range(2))
    level = rng.exponential(size=K)
    for name, second in (("divergence", y), ("upper", level), ("lower", level)):
        whole = np.asarray(getattr(family, name)(np.array([x, x]), second))
        parts = [getattr(one, name)(*pair) for one, *pair in zip(own, x, second, strict=True)]
        _require((whole == parts).all(), f"{family}.{name} is not that of its arms")
    rewards = np.asarray(family.sample(x, rng, (4000, K)))
    _require(rewards.shape == (4000, K), f"{family}.sample ignores its size")
    error = np.abs(rewards.mean(axis=0) - x) / (rewards.std(axis=0) / math.sqrt(4000))
    _require((error < 5.0).all(), f"{family}.sample has means {rewards.mean(axis=0)}, not {x}")
    for refused in (lambda: family.divergence(x[1:], y[1:]), lambda: family.record_for(K + 1)):
        _require_refusal(refused, f"{family} goes with another number of arms")


def _check_unknown(family: Family) -> None:
    """What is not known has no divergence; with an estimate it has."""
    mean = family.some_mean
    _require_refusal(lambda: family.divergence(mean, mean), f"{family} has a divergence")
    check_family(family.estimate(1.5))


def _require_refusal(call: Callable[[], Any], complaint: str) -> None:
    try:
        call()
    except ArmatureError:
        return
    raise AssertionError(complaint)


def _require(condition: Any, complaint: str) -> None:
    """An assertion that `python -O` does not leave out."""
    if not condition:
        raise AssertionError(complaint)


def _means(family: Family, rng: np.random.Generator) -> np.ndarray:
    """Means well inside of the domain."""
    low, high = family.domain.low, family.domain.high
    if math.isfinite(low) and math.isfinite(high):
        return low + (high - low) * rng.uniform(0.01, 0.99, GRID)
    if math.isfinite(low):
        return low + rng.gamma(2.0, 1.0, GRID) + 0.01
    return rng.normal(0.0, 3.0, GRID)


def _check_divergence(family: Family, rng: np.random.Generator) -> None:
    x = _means(family, rng)
    table = np.asarray(family.divergence(x[:, None], x[None, :]))
    _require(table.shape == (GRID, GRID), f"{family}.divergence does not broadcast")
    _require((np.diag(table) == 0.0).all(), f"{family}.divergence(x, x) is not 0")
    off_diagonal = table[~np.eye(GRID, dtype=bool)]
    _require((off_diagonal > 0.0).all(), f"{family}.divergence is not positive for different means")
    order = np.argsort(x)
    for i, row in enumerate(table[np.ix_(order, order)]):
        _require((np.diff(row[i:]) > 0.0).all(), f"{family}.divergence(x, .) does not grow above x")
        _require((np.diff(row[: i + 1]) < 0.0).all(), f"{family}.divergence(x, .) rises below x")
    single = family.divergence(float(x[0]), float(x[1]))
    _require(isinstance(single, float), f"{family}.divergence of numbers is not a number")
    _require(single == table[0, 1], f"{family}.divergence differs between numbers and arrays")


def _check_boundary(family: Family, rng: np.random.Generator) -> None:
    inside = float(_means(family, rng)[0])
    for end in (family.domain.low, family.domain.high):
        if end in family.domain:
            _require(
                family.divergence(end, end) == 0.0, f"{family}.divergence({end}, {end}) is not 0"
            )
            value = family.divergence(inside, end)
            _require(
                value == math.inf, f"{family}.divergence({inside:g}, {end}) = {value}, not inf"
            )
            back = family.divergence(end, inside)
            _require(0.0 < back < math.inf, f"{family}.divergence({end}, {inside:g}) = {back}")
            for bound in (family.upper, family.lower):
                _require(
                    not math.isnan(bound(end, 1.0)), f"{family}.{bound.__name__}({end}, 1) is nan"
                )


def _check_inverses(family: Family, rng: np.random.Generator) -> None:
    for x in map(float, _means(family, rng)):
        _require(
            family.upper(x, 0.0) == x == family.lower(x, 0.0), f"{family}: level 0 moves {x:g}"
        )
        for level in (1e-12, 1e-6, 1e-2, 0.5, 3.0):
            for bound, sign in ((family.upper, 1.0), (family.lower, -1.0)):
                y = bound(x, level)
                _require(
                    sign * (y - x) > 0.0, f"{family}.{bound.__name__}({x:g}, {level:g}) = {y:g}"
                )
                if y == np.nextafter(family.domain.high, 0.0):
                    continue  # the solution is nearer to the end than any other number
                # One rounding of y moves the divergence by the slope times the rounding.
                off = abs(family.divergence(x, y) - level)
                ulp = 8.0 * np.spacing(max(abs(x), abs(y)))
                beside = family.divergence(x, y - sign * min(ulp, abs(y - x)))
                slope = abs(family.divergence(x, y) - beside)
                _require(
                    off <= 4.0 * slope + 1e-14 * level,
                    f"{family}.{bound.__name__}({x:g}, {level:g}) = {y!r} is off by {off:g}",
                )


def _check_bregman(family: Family, rng: np.random.Generator) -> None:
    """Pooling: sum w d(x, y) = sum w d(x, m) + W d(m, y), with m the weighted mean."""
    x = _means(family, rng)
    w = rng.exponential(size=GRID)
    m = float(w @ x / w.sum())
    for y in map(float, _means(family, rng)):
        whole = float(w @ np.asarray(family.divergence(x, y)))
        parts = float(w @ np.asarray(family.divergence(x, m))) + w.sum() * family.divergence(m, y)
        _require(
            math.isclose(whole, parts, rel_tol=1e-10), f"{family}: pooling at {m:g} costs more"
        )


def _check_samples(family: Family, rng: np.random.Generator) -> None:
    mean = float(_means(family, rng)[0])
    rewards = np.asarray(family.sample(mean, rng, 4000))
    _require(rewards.shape == (4000,), f"{family}.sample ignores its size")
    _require(
        all(reward in family.support for reward in rewards[:50]), f"{family}: outside of support"
    )
    # 5 standard errors: a false alarm once in two million.
    error = abs(rewards.mean() - mean) / (rewards.std() / math.sqrt(rewards.size))
    _require(error < 5.0, f"{family}.sample has mean {rewards.mean():g} instead of {mean:g}")
    again = [np.asarray(family.sample(mean, np.random.default_rng(7), 5)) for _ in range(2)]
    _require((again[0] == again[1]).all(), f"{family}.sample is not a function of its generator")
    _require(
        isinstance(family.sample(mean, rng), float), f"{family}.sample: one reward is a number"
    )


def _check_refusals(family: Family, rng: np.random.Generator) -> None:
    outside = [math.nan, math.inf, -math.inf]
    outside += [end + step for end, step in ((family.domain.low, -1.0), (family.domain.high, 1.0))]
    inside = float(_means(family, rng)[0])
    for bad in outside:
        for x, y in ((bad, inside), (inside, bad)):
            _require_refusal(
                lambda x=x, y=y: family.divergence(x, y),  # type: ignore[misc]
                f"{family}.divergence({x}, {y}) is not refused",
            )
