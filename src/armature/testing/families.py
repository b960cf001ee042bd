"""The promises of a reward family."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from armature.errors import ArmatureError
from armature.families import Family, kernels
from armature.kernels.checks import check_kind
from armature.kernels.streams import DECISIONS, Source, make_stream

GRID = 12
MEANS, SAMPLES = 6, 4000  # how many means, and how many rewards of each
# 5 standard errors are exceeded once in two million times. Of a variance, whose distribution is not
# normal yet, 7.
FAR, FAR_VARIANCE = 5.0, 7.0
PULLS, DRAWS = 1000, 500  # of a posterior: enough that its prior does not matter


def check_family(family: Family, seed: int = 0) -> None:
    """Raise an AssertionError if a family breaks a promise."""
    check_kind(family, Family, "family", "Gaussian()")
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
        _check_derivatives,
        _check_samples,
        _check_draws,
        _check_posterior,
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
    for refused in (
        lambda: family.divergence(np.append(x, x), np.append(y, y)),
        lambda: family.record_for(K + 1),
    ):
        _require_refusal(refused, f"{family} goes with another number of arms")


def _check_unknown(family: Family) -> None:
    """A family with an unknown variance has no divergence; with an estimate it has."""
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


def _check_derivatives(family: Family, rng: np.random.Generator) -> None:
    """The derivatives of d(x, .), and the variance, which follows: (y - x) / slope."""
    record = family.record_for(1)
    for x, y in _means(family, rng).reshape(-1, 2).tolist():
        ends = (end for end in (x, family.domain.low, family.domain.high) if math.isfinite(end))
        step = 1e-5 * min(abs(y - end) for end in ends)
        around = y - step, y + step
        below, above = (family.divergence(x, z) for z in around)
        slope = kernels.slope(record, x, y)
        _require_close(slope, (above - below) / (2.0 * step), f"{family}: slope({x:g}, {y:g})")
        below, above = (kernels.slope(record, x, z) for z in around)
        _require_close(
            kernels.curvature(record, x, y),
            (above - below) / (2.0 * step),
            f"{family}: curvature({x:g}, {y:g})",
        )
        variance = kernels.variance(record, y)
        _require_close(variance, (y - x) / slope, f"{family}: the formula variance, at {y:g},")


def _require_close(found: float, right: float, what: str) -> None:
    """Equal, up to what a quotient of differences is off by."""
    close = math.isclose(found, right, rel_tol=1e-4)
    _require(close, f"{what} is {found:g}, where the divergence says {right:g}")


def _check_samples(family: Family, rng: np.random.Generator) -> None:
    for mean in map(float, _means(family, rng)[:MEANS]):
        rewards = np.asarray(family.sample(mean, rng, SAMPLES))
        _require(rewards.shape == (SAMPLES,), f"{family}.sample ignores its size")
        _check_rewards(family, f"{family}.sample", mean, rewards)
    again = [np.asarray(family.sample(mean, np.random.default_rng(7), 5)) for _ in range(2)]
    _require((again[0] == again[1]).all(), f"{family}.sample is not a function of its generator")
    _require(
        isinstance(family.sample(mean, rng), float), f"{family}.sample: one reward is a number"
    )


def _check_draws(family: Family, rng: np.random.Generator) -> None:
    """The formula that compiled code draws rewards with."""
    for mean in map(float, _means(family, rng)[:MEANS]):
        rewards = rng.random(SAMPLES)
        words = rng.integers(0, 2**32, len(Source._fields)).tolist()
        kernels.draw(family.record_for(1), mean, rewards, Source(*words))
        _check_rewards(family, f"{family}: the formula draw", mean, rewards)


def _check_rewards(family: Family, what: str, mean: float, rewards: np.ndarray) -> None:
    """Check that rewards of a mean are in the support."""
    _require(
        all(reward in family.support for reward in rewards[:50]), f"{what}: outside of support"
    )
    spread = float(rewards.std())
    _require(
        rewards.min() < rewards.max(),
        f"{what} gives the reward {rewards[0]:g} each time, where rewards of mean {mean:g} vary",
    )
    error = abs(float(rewards.mean()) - mean) / (spread / math.sqrt(rewards.size))
    _require(error < FAR, f"{what} has mean {rewards.mean():g} instead of {mean:g}")
    squares = (rewards - mean) ** 2
    variance = kernels.variance(family.record_for(1), mean)
    most = variance + FAR_VARIANCE * float(squares.std()) / math.sqrt(rewards.size)
    _require(  # it may be less: `Bounded` goes by the most that there can be
        squares.mean() <= most * (1.0 + 1e-9),
        f"{what} has variance {squares.mean():g} at {mean:g}, where the formula says {variance:g}",
    )


def _check_posterior(family: Family, rng: np.random.Generator) -> None:
    """After many rewards, a posterior is about their mean, as wide as their number says."""
    total = float(np.sum(family.sample(float(_means(family, rng)[0]), rng, PULLS)))
    mean, pulls = total / PULLS, np.full(DRAWS, float(PULLS))
    draws = np.empty(DRAWS)
    stream = make_stream(0, 0, DECISIONS)
    record = family.record_for(1)
    kernels.draw_means(record, pulls, mean * pulls, np.full(DRAWS, mean), stream, draws)
    width = math.sqrt(kernels.variance(record, mean) / PULLS)
    _require(
        0.7 * width < float(draws.std()) < 1.4 * width,
        f"{family}: posterior draws after {PULLS} rewards of mean {mean:g} have standard deviation "
        f"{draws.std():g}, where it is about {width:g}",
    )
    error = abs(float(draws.mean()) - mean)
    _require(  # a prior moves the mean by about 1 / PULLS
        error < FAR * width / math.sqrt(DRAWS) + 10.0 * max(1.0, abs(mean)) / PULLS,
        f"{family}: posterior draws after {PULLS} rewards of mean {mean:g} have mean "
        f"{draws.mean():g}",
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
