"""What the data say, whatever the policy."""

from __future__ import annotations

from typing import Any, NamedTuple

from armature.families import Family
from armature.kernels.arrays import Floats
from armature.structures import Structure


class Belief(NamedTuple):
    """What has been seen, and what the structure makes of it."""

    structure: Structure
    family: Family
    rounds: int
    pulls: Floats
    means: Floats  # empirical
    low: Floats  # intervals: N d(mean, .) <= ln(1 + rounds)
    high: Floats
    projected: Floats  # the nearest means in M
    leader: int  # the best arm of these
    misfit: float  # the cost of the projection: how far the data are from M
    evidence: float  # how much more the nearest means with another best arm cost
    state: Any = None  # the policy's


class Dropped(NamedTuple):
    """When and why a policy has dropped the structure (see `armature.bounds.evidence`)."""

    round: int
    log_e: float
    learning: float
    shares: Floats  # each arm's part of the misfit
