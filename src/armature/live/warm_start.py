"""A start from history: rewards from before there was a bandit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from armature.errors import ArmatureError
from armature.families import Family
from armature.kernels.arrays import Floats
from armature.kernels.checks import MOST_COUNTED, check_mean, is_several
from armature.live.arms import Arms
from armature.live.outstanding import Outstanding
from armature.live.rewards import Goal, Rewards
from armature.rounds.runner import PolicyRunner

SUMMARY = ("counts", "sums", "squares")
SLACK = 1e-9  # of sums: rounding


class PastSums(NamedTuple):
    """For each arm the number of rewards, their sum, and the sum of squares about their mean."""

    counts: Floats
    sums: Floats
    squares: Floats


def take_in_past(
    decisions: PolicyRunner, outstanding: Outstanding, goal: Goal, family: Family, past: Any
) -> None:
    """Count the rewards of the past; everything is checked before anything is counted.

    `past` is a table of rewards (pairs of arm and reward, or a data frame with these columns), or a
    mapping with the counts, sums and sums of squares of each arm.
    """
    arms, noticing = outstanding.arms, outstanding.noticing
    if isinstance(past, Mapping):
        summary = _checked_summary(past, arms, family)
        if decisions.learns_by_itself:
            raise ArmatureError(
                f"{decisions.policy.name} takes in every reward by itself (it has an `update`): "
                "sums are not enough, give it the past rewards one by one."
            )
        write_summary(decisions, summary._replace(sums=goal.sums(summary.counts, summary.sums)))
        noticing.known(decisions.history.pulls, decisions.history.sums)
        return
    rows = [(arms.live_place(name), reward) for name, reward in _rows(past)]
    limits = Rewards(family)
    rewards = [limits.checked(reward, place) for place, reward in rows]
    for (place, _), reward in zip(rows, rewards, strict=True):
        decisions.take_in(place, goal.value(reward))
        noticing.take_in(place, goal.value(reward), noticing.decided())


def write_summary(decisions: PolicyRunner, summary: PastSums) -> None:
    """Let a policy at its start know of rewards that are summed up."""
    history = decisions.history
    history.pulls[:] = summary.counts
    history.sums[:] = summary.sums
    history.squares[:] = summary.squares
    seen = summary.counts > 0.0
    history.means[seen] = history.sums[seen] / history.pulls[seen]
    history.means[seen] = decisions.family.clipped(history.means)[seen]
    history.clock[0] = int(summary.counts.sum())


def _rows(past: Any) -> list[tuple[Any, Any]]:
    """A table as pairs of arm and reward."""
    columns = getattr(past, "columns", None)
    if columns is not None:
        for name in ("arm", "reward"):
            if name not in columns:
                raise ArmatureError(
                    f"the history has no column {name!r}: a table of past rewards has the columns "
                    f"'arm' and 'reward'; this one has {', '.join(map(repr, columns))}."
                )
        return list(zip(past["arm"].tolist(), past["reward"].tolist(), strict=True))
    if not is_several(past):
        raise ArmatureError(
            "history must be pairs of arm and reward, a data frame with these columns, or a "
            f"mapping with counts and sums for each arm; got {past!r}."
        )
    rows = []
    for number, row in enumerate(past):
        pair = isinstance(row, (Sequence, np.ndarray)) and not isinstance(row, (str, bytes))
        if not pair or len(row) != 2:
            raise ArmatureError(f"history[{number}] = {row!r} is not a pair: an arm and a reward.")
        rows.append((row[0], row[1]))
    return rows


def _checked_summary(past: Mapping[str, Any], arms: Arms, family: Family) -> PastSums:
    for key in past:
        if key not in SUMMARY:
            raise ArmatureError(f"history has no entry {key!r}: it can have {', '.join(SUMMARY)}.")
    for key in SUMMARY[:2]:
        if key not in past:
            raise ArmatureError(f"history needs {key!r}, a number for each arm.")
    counts, sums = (_vector(past[key], f"history[{key!r}]", arms) for key in SUMMARY[:2])
    if not ((counts >= 0.0) & (counts % 1.0 == 0.0)).all() or counts.sum() > MOST_COUNTED:
        raise ArmatureError("history['counts'] must be whole numbers, 0 or more.")
    seen = counts > 0.0
    if (sums[~seen] != 0.0).any():
        place = int(np.flatnonzero(~seen & (sums != 0.0))[0])
        raise ArmatureError(
            f"history has a sum for arm {arms.names[place]!r}, but no rewards: its count is 0."
        )
    _check_means(counts, sums, family)
    if family.as_told.estimated and "squares" not in past and (counts > 1.0).any():
        raise ArmatureError(
            f"history needs 'squares', the sum of the squared rewards of each arm: {family} does "
            "not know how much they vary."
        )
    if "squares" in past:
        return PastSums(counts, sums, _about_the_mean(past["squares"], counts, sums, arms))
    return PastSums(counts, sums, np.zeros(counts.size))


def _check_means(counts: Floats, sums: Floats, family: Family) -> None:
    """Refuse sums that no rewards of the family have."""
    seen = counts > 0.0
    means = np.full(counts.size, family.some_mean)
    means[seen] = sums[seen] / counts[seen]
    inside = family.clipped(means)
    means = np.where(np.abs(means - inside) <= SLACK * np.abs(inside), inside, means)
    family.checked(means, "the past means")
    check_mean(means, family.domain, "the past means")
    for place, total in enumerate(sums.tolist()):
        own = family.for_arm(place)
        unit = own.support.high if own.support.ends else 1.0
        if own.support.integer or own.support.ends:
            if abs(total - unit * round(total / unit)) > SLACK * abs(total):
                raise ArmatureError(
                    f"history['sums'] has {total:g}, which is no sum of rewards of {own}: they are "
                    f"in {own.support}."
                )


def _about_the_mean(squares: Any, counts: Floats, sums: Floats, arms: Arms) -> Floats:
    """Sums of squares about the means, from sums of squares."""
    raw = _vector(squares, "history['squares']", arms)
    about_zero = np.where(counts > 0.0, sums * sums / np.maximum(counts, 1.0), 0.0)
    short = raw < about_zero * (1.0 - SLACK)
    if (short | ((counts == 0.0) & (raw != 0.0))).any():
        place = int(np.flatnonzero(short | ((counts == 0.0) & (raw != 0.0)))[0])
        raise ArmatureError(
            f"history['squares'] of arm {arms.names[place]!r} is {raw[place]:g}, but "
            f"{counts[place]:g} rewards with the sum {sums[place]:g} have at least "
            f"{about_zero[place]:g}: it is the sum of the squared rewards."
        )
    return np.where(counts > 1.0, np.maximum(raw - about_zero, 0.0), 0.0)


def _vector(values: Any, name: str, arms: Arms) -> Floats:
    """One finite number for each arm: a list in their order, or a mapping from their names."""
    if isinstance(values, Mapping):
        given = {arms.live_place(arm): value for arm, value in values.items()}
        values = [given.get(place, 0.0) for place in range(len(arms.names))]
    try:
        vector = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ArmatureError(f"{name} must be numbers; got {values!r}.") from None
    if vector.shape != (len(arms.names),):
        raise ArmatureError(
            f"{name} must be {len(arms.names)} numbers, one for each arm; got an array of shape "
            f"{vector.shape}."
        )
    if not all(map(math.isfinite, vector)):
        raise ArmatureError(f"{name} must be finite numbers; got {values!r}.")
    return vector
