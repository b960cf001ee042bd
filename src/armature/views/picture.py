"""The picture of a bandit as data, computed before it is drawn."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from armature.bounds import LowerBound
from armature.bounds.evidence import Evidence
from armature.kernels.arrays import Floats
from armature.structures import Structure
from armature.views.chart import Group

if TYPE_CHECKING:
    from armature.live.explanation import Explanation

SERIES = 5  # arms with an area of their own in the picture of traffic
NOTHING = 0.01  # fewer pulls are a solver's tolerance
Places = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class ShownArms:
    """The arms as they are drawn, from left to right.

    Attributes
    ----------
        places: which arm of the bandit each is: arms of one category stand together.
        connected: whether the order of the arms means something, so that a line may join them.
        means: nan without rewards.
        low, high: the interval of each mean; infinite where nothing is known.
        fit: the nearest means that the structure allows.
        alternative: the nearest ones in which another arm is best; None where there are none.
        leader, rival: the best arm of the fit, and of the alternative, as places in this order.
    """

    names: tuple[str, ...]
    places: Places
    connected: bool
    groups: tuple[Group, ...]
    pulls: Floats
    means: Floats
    low: Floats
    high: Floats
    fit: Floats
    alternative: Floats | None
    leader: int
    rival: int | None

    def __len__(self) -> int:
        return len(self.names)

    @property
    def n_seen(self) -> int:
        """The number of arms with rewards."""
        return int((self.pulls > 0.0).sum())


@dataclass(frozen=True, eq=False)
class Target:
    """The pulls that the lower bound asks for after t rounds: V's pulls per ln t, times ln t.

    The best arm is pulled in all other rounds, which cost nothing: nan.
    """

    pulls: Floats
    value: float
    unconstrained: float


@dataclass(frozen=True, eq=False)
class Traffic:
    """Shares of decisions over time.

    Attributes
    ----------
        ends: (B,) how many decisions had been made at the end of each stretch.
        names: of the arms that have a series, the last of which may be all others together.
        places: the arm of each series, in the order of `ShownArms`; -1: all others.
        styles: how each is drawn: "s0" is the leader, "rest" all others.
        shares: (S, B), each column adding up to 1.
        recent: (S,) the shares of the newest quarter.
    """

    ends: Floats
    names: tuple[str, ...]
    places: tuple[int, ...]
    styles: tuple[str, ...]
    shares: Floats
    recent: Floats


@dataclass(frozen=True, eq=False)
class Gain:
    """The reward so far beside what uniform allocation would be expected to have given.

    `rounds`, `rewards`: sums up to the end of each stretch of time. `uniform` is the average of the
    arms' mean rewards, and `error` its standard error. What it rests on: an arm's standard error is
    the half-width of its interval over sqrt(2 ln(1 + t)), which is exact for Gaussian rewards.
    """

    rounds: Floats
    rewards: Floats
    uniform: float
    error: float
    goal: str

    @property
    def total(self) -> float:
        """The reward so far."""
        return float(self.rewards[-1])

    @property
    def gained(self) -> float:
        """The gain over uniform choice: more reward, or less cost."""
        more = self.total - float(self.rounds[-1]) * self.uniform
        return more if self.goal == "max" else -more

    @property
    def margin(self) -> float:
        """Two standard errors of that."""
        return 2.0 * self.error * float(self.rounds[-1])


@dataclass(frozen=True, eq=False)
class Gauge:
    """The evidence against the structure, on one line from 0 to `refuted_at`, where it is refuted.

    `misfit` is how far along the data are, and up to `chance` learning the means explains it.
    """

    misfit: float
    chance: float
    refuted_at: float
    words: str
    refuted: bool
    dropped: int | None

    @property
    def share(self) -> float:
        """The position along the line, at most 1."""
        if self.refuted_at <= 0.0 or self.misfit == math.inf:
            return 1.0
        return min(max(self.misfit / self.refuted_at, 0.0), 1.0)


@dataclass(frozen=True, eq=False)
class Picture:
    """All that is drawn of a bandit; None where it is not known yet."""

    summary: str
    rounds: int
    goal: str
    arms: ShownArms
    target: Target | None
    traffic: Traffic | None
    gain: Gain | None
    gauge: Gauge | None


@dataclass(frozen=True, eq=False)
class Past:
    """The history in B intervals of time; arms are numbered as in the bandit.

    Attributes
    ----------
        decisions: (B, K) how many of each arm.
        rewards, rounds: (B,) the sum of the rewards that counted, and how many they were.
    """

    decisions: Floats
    rewards: Floats
    rounds: Floats


def picture_of(
    belief: Explanation,
    structure: Structure,
    *,
    goal: str = "max",
    bound: LowerBound | None = None,
    past: Past | None = None,
) -> Picture:
    """The beliefs of a bandit, ready to be drawn.

    `belief` is what `bandit.explain()` says; `bound`, the lower bound at the fitted means, and
    `past`, what happened over time, are drawn where they are known.
    """
    arms = arms_of(belief, structure, goal)
    return Picture(
        summary=belief.summary,
        rounds=int(belief.pulls.sum()),
        goal=goal,
        arms=arms,
        target=None if bound is None else target_of(arms, bound),
        traffic=None if past is None else traffic_of(arms, past),
        gain=gain_of(belief, goal, past),
        gauge=_gauge(belief, structure),
    )


def arms_of(belief: Explanation, structure: Structure, goal: str = "max") -> ShownArms:
    """The arms in the order in which they are drawn."""
    K = len(belief.arms)
    categories = getattr(structure, "categories", None)
    order, groups = _grouped(categories, K)
    place = {int(k): i for i, k in enumerate(order)}
    alternative = belief.alternative
    if alternative is not None and not np.isfinite(alternative).all():
        alternative = None
    leader = belief.arms.index(belief.leader)
    rival = None
    if alternative is not None:
        worth = alternative if goal == "max" else -alternative
        rival = _best_other(worth, leader)
    return ShownArms(
        names=tuple(str(belief.arms[k]) for k in order),
        places=order,
        connected=bool(structure.arms_in_order or getattr(structure, "positions", None) is not None)
        and groups == (),
        groups=groups,
        pulls=belief.pulls[order],
        means=belief.means[order],
        low=belief.low[order],
        high=belief.high[order],
        fit=belief.projected[order],
        alternative=None if alternative is None else alternative[order],
        leader=place[leader],
        rival=None if rival is None else place[rival],
    )


def _best_other(worth: Floats, leader: int) -> int:
    """The best arm but the leader, which it equals where the alternative is at the border."""
    others = worth.copy()
    others[leader] = -math.inf
    return int(others.argmax())


def _grouped(categories: Sequence[Hashable] | None, K: int) -> tuple[Places, tuple[Group, ...]]:
    if categories is None:
        return np.arange(K), ()
    names = list(dict.fromkeys(categories))
    order = sorted(range(K), key=lambda k: names.index(categories[k]))
    groups, start = [], 0
    for name in names:
        stop = start + sum(category == name for category in categories)
        groups.append(Group(str(name), start, stop))
        start = stop
    return np.array(order, dtype=np.intp), tuple(groups)


def target_of(arms: ShownArms, bound: LowerBound) -> Target:
    """The pulls of each arm that the bound asks for at this t."""
    rounds = max(float(arms.pulls.sum()), 1.0)
    pulls = np.asarray(bound.pulls)[arms.places] * math.log(rounds)
    pulls[pulls < NOTHING] = 0.0  # what is left of a solver's tolerance
    pulls[arms.leader] = math.nan
    return Target(pulls, float(bound.value), float(bound.unconstrained))


def traffic_of(arms: ShownArms, past: Past) -> Traffic | None:
    """Shares over time of the arms with the most recent decisions, and of all others together."""
    totals = past.decisions.sum(axis=1)
    made = past.decisions[totals > 0.0][:, arms.places]
    if not made.size:
        return None
    late = made[-max(1, len(made) // 3) :].sum(axis=0) + 1e-6 * made.sum(axis=0)
    chosen = sorted(int(k) for k in np.argsort(-late, kind="stable")[:SERIES])
    if len(arms) == SERIES + 1:
        chosen = list(range(len(arms)))
    rest = [k for k in range(len(arms)) if k not in chosen]
    columns = [made[:, k] for k in chosen]
    names = [arms.names[k] for k in chosen]
    if rest:
        columns.append(made[:, rest].sum(axis=1))
        names.append(f"{len(rest)} others")
    counts, ends = np.array(columns), np.cumsum(made.sum(axis=1))
    newest = counts[:, ends > 0.75 * ends[-1]].sum(axis=1)
    places = (*chosen, -1) if rest else tuple(chosen)
    shares = counts / counts.sum(axis=0)
    return Traffic(ends, tuple(names), places, _styles(arms, places), shares, newest / newest.sum())


def _styles(arms: ShownArms, places: Sequence[int]) -> tuple[str, ...]:
    others = [k for k in places if k not in (arms.leader, -1)]
    fixed = {arms.leader: "s0", -1: "rest"}
    return tuple(fixed.get(k) or f"s{1 + others.index(k)}" for k in places)


def gain_of(belief: Explanation, goal: str = "max", past: Past | None = None) -> Gain | None:
    """The gain over uniform allocation; None while an arm has no rewards."""
    if not (belief.pulls > 0.0).all():
        return None
    rounds = float(belief.pulls.sum())
    # An interval is N d(mean, .) <= ln(1 + t), and d(m, m + h) about h^2 / 2 variance.
    errors = (belief.high - belief.low) / 2.0 / math.sqrt(2.0 * math.log1p(rounds))
    ends, sums = np.array([rounds]), np.array([float(belief.pulls @ belief.means)])
    if past is not None and past.rounds.sum() > 0.0:
        ends, sums = np.cumsum(past.rounds), np.cumsum(past.rewards)
    return Gain(
        rounds=ends,
        rewards=sums,
        uniform=float(belief.means.mean()),
        error=float(np.sqrt((errors**2).sum())) / len(belief.arms),
        goal=goal,
    )


def _gauge(belief: Explanation, structure: Structure) -> Gauge | None:
    if belief.fit is None or structure.assumes_nothing or not belief.pulls.any():
        return None
    return gauge_of(belief.fit)


def gauge_of(fit: Evidence) -> Gauge:
    """The gauge of the evidence."""
    return Gauge(
        misfit=fit.misfit,
        chance=fit.learning,
        refuted_at=fit.learning + fit.threshold,
        words=str(fit),
        refuted=fit.refuted,
        dropped=fit.dropped,
    )
