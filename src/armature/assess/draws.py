"""Means drawn from the posterior around a log: what the truth may be."""

from __future__ import annotations

import numpy as np

from armature.assess.log.log import Log
from armature.assess.noise import Informed
from armature.assess.rng import generator
from armature.errors import ArmatureError
from armature.families import Family, Gaussian
from armature.families.kernels import draw_means
from armature.kernels.arrays import Floats
from armature.kernels.streams import Stream, make_stream
from armature.structures import Structure
from armature.structures.instance import Instance

SIGMAS = 2**63  # where the numbers of sigmas begin
POSTERIOR = 4  # what the numbers of these streams are for
NUDGE = 1e-9  # by which one of several best arms is made the only one
ATTEMPTS = 20


def draw_instances(
    log: Log,
    structure: Structure,
    informed: Informed,
    n: int,
    seed: int,
    projected: bool,
) -> list[Instance]:
    """So many problems that could have given the log.

    Each arm's mean is drawn from its posterior, as Thompson sampling has it, given the arm's own
    rewards. An arm without rewards has a mean between the lowest and the highest of the others.
    Sigma, where it is not known, is drawn, too. If `projected`, the nearest means in the structure
    are taken (with the numbers of rewards as weights): the structure is true then. Else they are
    as they were drawn.
    """
    found = []
    for i in range(n):
        for attempt in range(ATTEMPTS):
            instance = _draw(log, structure, informed, seed, i + n * attempt, projected)
            if instance is not None:
                found.append(instance)
                break
    if not found:
        raise ArmatureError("no means drawn around the log are a problem with one best arm.")
    return found


def _draw(
    log: Log, structure: Structure, informed: Informed, seed: int, i: int, projected: bool
) -> Instance | None:
    stream = make_stream(seed, i, POSTERIOR)
    rng = generator(seed, SIGMAS + i)
    family = _with_sigma(informed, rng)
    means = drawn_means(log, family, stream, rng)
    if projected:
        fit = structure.project(means, log.counts, family)
        if not np.isfinite(fit.means).all():
            return None
        means = np.array(fit.means)
    means = _with_one_best(means, family, rng)
    try:
        return Instance(structure, means, family, strict=False)
    except ArmatureError:  # at an end of the domain
        return None


def _with_sigma(informed: Informed, rng: np.random.Generator) -> Family:
    """The family with a sigma that the log allows."""
    family = informed.simulated
    if not informed.estimated or not isinstance(family, Gaussian):
        return family
    scale = np.sqrt(informed.freedom / rng.chisquare(informed.freedom))
    if not isinstance(family.sigma, float):
        return family
    return Gaussian(family.sigma * float(scale), known=family.known)


def drawn_means(log: Log, family: Family, stream: Stream, rng: np.random.Generator) -> Floats:
    """A mean of each arm from its posterior."""
    K = len(log.arms)
    seen = log.counts > 0.0
    pulls = np.where(seen, log.counts, 1.0)
    means = family.clipped(np.where(seen, log.means, float(log.means[seen].mean())))
    sums = np.where(seen, log.sums, means)
    out = np.empty(K)
    draw_means(family.record_for(K), pulls, sums, means, stream, out)
    low, high = float(out[seen].min()), float(out[seen].max())
    out[~seen] = rng.uniform(low, high, int((~seen).sum()))
    return np.asarray(family.clipped(out))


def _with_one_best(means: Floats, family: Family, rng: np.random.Generator) -> Floats:
    """The same where one arm is best; else the others among the best are a little lower."""
    best = np.flatnonzero(means == means.max())
    if best.size == 1:
        return means
    chosen = int(rng.choice(best))
    scale = max(float(np.ptp(means)), NUDGE * abs(float(means.max())), 1e-12)
    lowered = means.copy()
    lowered[best] -= NUDGE * scale
    lowered[chosen] = means[chosen]
    return np.asarray(family.clipped(lowered))
