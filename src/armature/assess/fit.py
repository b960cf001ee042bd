"""Fit of structures: the evidence against each, and the deviations that it can't show.

A structure is reported wrong where the evidence against it (`armature.bounds.evidence`) reaches
1 / delta: for a true structure that has probability delta at most, however the arms were chosen.

**Power.** Suppose that the true means are at a distance C from M, in the cost
sum_k N_k d(true_k, lam_k), and that M is convex and rewards Gaussian. In the direction from M to
them the misfit is at least half the square of a normal number with mean sqrt(2 C) and variance 1.
The structure falls where the misfit reaches R = learning cost + ln(1 / delta), so that it falls
with probability at least `power` if sqrt(2 C) >= sqrt(2 R) + z(power). A union of convex sets falls
only if each of them does; it is treated as if two were equally near, with (1 + power) / 2 in
place of `power`. For such unions and for other families this is an approximation, which
`python -m studies.assessment power` measures.

So the least change of one arm's mean that would have been noticed is the one that takes the fitted
means to that distance from M.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from armature.assess.arms import Informed, seen_means
from armature.assess.log import Log
from armature.assess.worth import Worth, worth_of
from armature.bounds.evidence import Evidence, evidence
from armature.errors import ArmatureError
from armature.families import Family
from armature.kernels.arrays import Floats
from armature.structures import Structure

POWER = 0.8
STEPS = 30  # of the bisection
MOST_ARMS = 200  # beyond which single arms are not examined
DOUBLINGS = 12


@dataclass(frozen=True, eq=False)
class Noticeable:
    """The distance from the structure's fit that each arm's mean could have without being noticed.

    `up` and `down` are the least changes, from the fitted mean, that would have refuted the
    structure with probability `power`; inf where none would.
    """

    up: Floats
    down: Floats
    power: float


@dataclass(frozen=True, eq=False)
class Candidate:
    """One structure, and its fit to the log.

    Attributes
    ----------
        structure, name: which.
        evidence: against it; None where the family has none.
        fitted: the nearest means in it.
        worth: what it saves if it is true; None if it is refuted.
        noticeable: what would have been noticed; None where that was not asked.
    """

    structure: Structure
    name: str
    evidence: Evidence | None
    fitted: Floats
    worth: Worth | None
    noticeable: Noticeable | None = None

    @property
    def refuted(self) -> bool:
        """True if the log refutes it."""
        return self.evidence is not None and self.evidence.refuted

    @property
    def doubted(self) -> bool:
        """True if it fits badly, though not so badly as to be refuted."""
        found = self.evidence
        return found is not None and not found.refuted and found.doubt > found.threshold / 2.0

    @property
    def assumes_nothing(self) -> bool:
        """True if every mean vector is in it."""
        return self.structure.assumes_nothing

    def to_data(self) -> dict[str, Any]:
        """As plain data."""
        near = self.noticeable
        return {
            "structure": self.name,
            "refuted": self.refuted,
            "evidence": None if self.evidence is None else self.evidence.to_data(),
            "fitted": self.fitted.tolist(),
            "worth": None if self.worth is None else self.worth.to_data(),
            "noticeable": None
            if near is None
            else {"power": near.power, "up": near.up.tolist(), "down": near.down.tolist()},
        }


def judge(
    log: Log,
    structure: Structure,
    informed: Informed,
    horizon: int,
    delta: float,
    with_power: bool = False,
) -> Candidate:
    """The fit of a structure to the log."""
    structure.checked_family(informed.family)
    means = seen_means(log, informed)
    fit = structure.project(means, log.counts, informed.family)
    fitted = np.asarray(fit.means)
    found = evidence_in(log, structure, informed, delta)
    refuted = (found is not None and found.refuted) or not fit.cost < math.inf
    worth = None if refuted else worth_of(structure, fitted, informed.family, log.arms, horizon)
    near = None
    if with_power and found is not None and not refuted and not structure.assumes_nothing:
        near = noticeable(structure, informed.cautious, log.counts, fitted, found)
    return Candidate(structure, name_of(structure), found, fitted, worth, near)


def evidence_in(
    log: Log, structure: Structure, informed: Informed, delta: float
) -> Evidence | None:
    """The evidence of a log against a structure; None where the family has none."""
    if not informed.cautious.has_evidence:
        return None
    return evidence(structure, informed.cautious, log.counts, log.sums, delta, log.arms)


def ranked(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Candidates in order: those that fit, those that fit badly, those that are refuted.

    Of those that fit, the one that leaves the smallest part of the exploration to be done is on
    top; of the refuted ones, the one with the least evidence against it.
    """

    def key(one: Candidate) -> tuple[int, float, float]:
        log_e = 0.0 if one.evidence is None else one.evidence.log_e
        left = 1.0 if one.worth is None or one.worth.left is None else one.worth.left
        return (2 if one.refuted else int(one.doubted), log_e if one.refuted else left, log_e)

    return sorted(candidates, key=key)


def name_of(structure: Structure) -> str:
    """The name of a structure in a table: its class, and the parts of a composition."""
    parts = getattr(structure, "parts", None)
    if parts is None:
        return type(structure).__name__
    sign = " & " if type(structure).__name__ == "Intersection" else " | "
    return sign.join(name_of(part) for part in parts)


# What would have been noticed.


def distance_needed(found: Evidence, convex: bool, power: float = POWER) -> float:
    """The distance C from M, as a cost, at which it falls with that probability."""
    from scipy.special import ndtri

    each = power if convex else 0.5 * (1.0 + power)
    reach = math.sqrt(2.0 * max(found.learning + found.threshold, 0.0)) + float(ndtri(each))
    return 0.5 * reach * reach


def noticeable(
    structure: Structure,
    family: Family,
    pulls: Floats,
    fitted: Floats,
    found: Evidence,
    power: float = POWER,
) -> Noticeable | None:
    """The least changes of single arms that would have refuted the structure."""
    K = pulls.size
    if K > MOST_ARMS or not np.isfinite(fitted).all() or not found.learning < math.inf:
        return None
    needed = distance_needed(found, structure.is_convex, power)
    ends = [family.for_arm(k).domain for k in range(K)]
    sides = {}
    for name, sign in (("up", 1.0), ("down", -1.0)):
        changes = np.full(K, math.inf)
        for k in range(K):
            if pulls[k] > 0.0:
                room = ends[k].high - fitted[k] if sign > 0.0 else fitted[k] - ends[k].low
                changes[k] = _least_change(structure, family, pulls, fitted, k, sign, room, needed)
        sides[name] = changes
    return Noticeable(sides["up"], sides["down"], power)


def _least_change(
    structure: Structure,
    family: Family,
    pulls: Floats,
    fitted: Floats,
    k: int,
    sign: float,
    room: float,
    needed: float,
) -> float:
    """By how much arm k must be off for the distance that is needed; inf where it can't."""

    def distance(change: float) -> float:
        means = fitted.copy()
        means[k] += sign * change
        try:
            return float(structure.project(means, pulls, family).cost)
        except ArmatureError:  # outside of the domain
            return -math.inf

    own = family.for_arm(k)
    inside = min(max(float(fitted[k]), own.domain.low), own.domain.high)
    level = needed / float(pulls[k])
    edge = own.upper(inside, level) if sign > 0.0 else own.lower(inside, level)
    high = max(abs(edge - inside), 1e-12 * abs(inside))
    if not high > 0.0:
        return math.inf
    for _ in range(DOUBLINGS):
        if high >= room or distance(high) >= needed:
            break
        high *= 2.0
    high = min(high, 0.999999 * room)
    if distance(high) < needed:
        return math.inf
    low = 0.0
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        if distance(middle) >= needed:
            high = middle
        else:
            low = middle
    return high
