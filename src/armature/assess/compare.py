"""Comparison of policies: regret simulated on means around the log, not only at its centre."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from armature.assess.arms import Informed
from armature.assess.log import Log
from armature.errors import ArmatureError
from armature.experiments import simulate
from armature.families import Family, Gaussian
from armature.families.kernels import draw_means
from armature.kernels.arrays import Floats
from armature.kernels.streams import Stream, generator, make_stream
from armature.policies import KLUCB, Challenger, Guarded, Policy, ProjectedThompson
from armature.structures import Structure
from armature.structures.instance import Instance

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
LOGGED = "as in the log"

Progress = Callable[[str, int, int], None]  # (what, done, of how many)


@dataclass(frozen=True, eq=False)
class Trial:
    """Regret at the horizon: a number for each policy and draw.

    Attributes
    ----------
        names: the policies, and, last, what the log's own shares of the arms would lose.
        regret: (policies, draws).
        horizon: the number of rounds.
        projected: whether the structure is true in all draws.
        best: how often each arm is the best one, over the draws.
    """

    names: tuple[str, ...]
    regret: Floats
    horizon: int
    projected: bool
    best: Floats

    def quantile(self, name: str, q: float) -> float:
        """A quantile over the draws."""
        return float(np.quantile(self.regret[self.names.index(name)], q))

    def mean(self, name: str) -> float:
        """The mean over the draws."""
        return float(self.regret[self.names.index(name)].mean())

    def error(self, name: str) -> float:
        """Its standard error."""
        own = self.regret[self.names.index(name)]
        return float(own.std(ddof=1) / np.sqrt(own.size)) if own.size > 1 else float("nan")

    @property
    def ranking(self) -> list[str]:
        """The policies, the least mean regret first."""
        return sorted(self.names, key=self.mean)

    def to_data(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "structure_is_true": self.projected,
            "horizon": self.horizon,
            "draws": int(self.regret.shape[1]),
            "best": self.best.tolist(),
            "policies": [
                {
                    "policy": name,
                    "regret": self.mean(name),
                    "standard_error": self.error(name),
                    **{f"q{q:.0%}": self.quantile(name, q) for q in QUANTILES},
                }
                for name in self.ranking
            ],
        }


def sensible_policies(structure: Structure, informed: Informed) -> list[Policy]:
    """The policies to try: with the structure, with it and a guard, without it.

    A guard needs to know sigma: it is left out where the log does not tell it well enough.
    """
    if structure.assumes_nothing:
        tried: list[Policy] = [Challenger(), ProjectedThompson(), KLUCB()]
    else:
        tried = [Challenger(), Guarded(Challenger()), ProjectedThompson(), KLUCB()]
    return [policy for policy in tried if policy.supports(structure, informed.simulated)]


def try_policies(
    log: Log,
    structure: Structure,
    informed: Informed,
    policies: Sequence[Policy],
    *,
    horizon: int,
    draws: int,
    seed: int,
    projected: bool,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Trial:
    """Play every policy once on each of `draws` problems drawn around the log.

    All policies see the same problems and the same rewards. They start without data; if they
    started with the log as their history, they would lose less.
    """
    if horizon < len(log.arms):
        raise ArmatureError(
            f"horizon = {horizon} is less than the {len(log.arms)} arms: give a longer one."
        )
    instances = draw_instances(log, structure, informed, draws, seed, projected)
    shares = log.counts / log.counts.sum()
    names = [policy.name for policy in policies]
    regret = np.empty((len(names) + 1, len(instances)))
    for i, instance in enumerate(instances):
        regret[-1, i] = horizon * float(shares @ instance.gaps)
        found = simulate(instance, policies, horizon, 1, seed + i, workers)
        for j, name in enumerate(names):
            regret[j, i] = found.runs[name].regret[0, -1]
        if progress is not None:
            progress("policies", i + 1, len(instances))
    best = np.bincount([one.best_arm for one in instances], minlength=len(log.arms))
    return Trial((*names, LOGGED), regret, horizon, projected, best / len(instances))


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
    """Draw n problems that could have given the log.

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
