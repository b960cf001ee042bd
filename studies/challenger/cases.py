"""The problems of the study: the paper's panels and families of random instances."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection
from dataclasses import dataclass

import numpy as np

from armature import (
    CATSE,
    IDS,
    IMED,
    IMEDUB,
    KLUCB,
    MINTS,
    OSSB,
    OSUB,
    SOLID,
    UCB,
    Bernoulli,
    Categorised,
    Challenger,
    Concave,
    EndOfOptimism,
    Family,
    Gaussian,
    Instance,
    Linear,
    LinUCB,
    Lipschitz,
    Multimodal,
    Poisson,
    Policy,
    Polyhedral,
    ProjectedThompson,
    Simplex,
    Sparse,
    SparseUCB,
    SPk,
    SPLambda,
    Structure,
    StructuredUCB,
    ThompsonSampling,
    Unconstrained,
    Unimodal,
    UnimodalThompson,
)
from armature.experiments import load_instance
from armature.experiments.paper import PANELS
from armature.kernels.arrays import Floats

LARGE = 12  # arms, beyond which SPLambda is left out: it would take most of the time
SPECIALISED: dict[str, tuple[Policy, ...]] = {  # what was made for one structure
    "categorised": (CATSE(),),
    "linear": (EndOfOptimism(), LinUCB(), IDS(), IDS(width=0.5), SOLID(), SOLID(width=0.3)),
    "unimodal": (OSUB(), IMEDUB(), UnimodalThompson()),
    "sparse": (SparseUCB(),),
}
FAST = ("unconstrained", "unimodal", "categorised", "sparse", "linear")  # and elsewhere, too
Make = Callable[[np.random.Generator], Instance]


@dataclass(frozen=True, eq=False)
class Case:
    """One problem of a group, with the policies to run on it."""

    group: str
    number: int
    instance: Instance
    policies: tuple[Policy, ...]

    @property
    def name(self) -> str:
        """For folders and tables."""
        return f"{self.group}-{self.number:02d}"


def panel_cases() -> list[Case]:
    """The paper's eight problems, with every policy but MINTS, which takes too long."""
    instances = {name: load_instance(name) for name in PANELS}
    return [Case(name, 0, instance, _policies(instance)) for name, instance in instances.items()]


def mints_cases() -> list[Case]:
    """The panels with MINTS."""
    return [dataclasses.replace(case, policies=(Challenger(), MINTS())) for case in panel_cases()]


def share_cases() -> list[Case]:
    """Three arms: what arm 2 gives tells of arm 1, at a tenth of the regret."""
    sums = Polyhedral([[0.0, 0.0, 1.0]], [0.9], [[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]], [1.0, 0.9])
    shares = tuple(Challenger(share=share) for share in (None, 0.5, 0.0))
    instance = Instance(sums, [1.0, 0.0, 0.9], Gaussian(1.0))
    return [Case("three arms", 0, instance, (*shares, SPk(), ProjectedThompson()))]


def random_cases(per_group: int, groups: Collection[str] | None = None) -> list[Case]:
    """So many instances of each group, always the same; of all groups unless some are named."""
    cases = []
    for place, (group, make) in enumerate(GROUPS.items()):
        if groups is None or group in groups:
            for number in range(per_group):
                instance = make(np.random.default_rng([place, number]))
                policies = tuple(p for p in _policies(instance) if not isinstance(p, OSSB))
                cases.append(Case(group, number, instance, policies))
    return cases


def _policies(instance: Instance) -> tuple[Policy, ...]:
    """Every policy that goes with a problem and can be run hundreds of times on it."""
    kind = type(instance.structure).__name__.lower()
    candidates: list[Policy] = [Challenger(), SPk(), UCB(), KLUCB(), IMED(), ThompsonSampling()]
    candidates += [StructuredUCB(), ProjectedThompson(), *SPECIALISED.get(kind, ())]
    if instance.n_arms <= LARGE and kind in FAST:
        candidates += [SPLambda(), OSSB()]
    return tuple(p for p in candidates if p.supports(instance.structure, instance.family))


def _accepted(means: Floats, structure: Structure, family: Family) -> Instance | None:
    """The instance if its best arm leads by at least 0.05, which keeps T = 10^4 meaningful."""
    ranked = np.sort(means)
    return Instance(structure, means, family) if ranked[-1] - ranked[-2] > 0.05 else None


def _first(attempt: Callable[[], Instance | None]) -> Instance:
    while True:
        instance = attempt()
        if instance is not None:
            return instance


def unconstrained(n_arms: int, spread: float, family: Family) -> Make:
    """Uniform means."""

    def make(rng: np.random.Generator) -> Instance:
        return _first(
            lambda: _accepted(spread * rng.uniform(size=n_arms), Unconstrained(n_arms), family)
        )

    return make


def unimodal(n_arms: int, spread: float, family: Family, shape: str = "anywhere") -> Make:
    """Uniform means sorted around a peak: anywhere, at an edge, on plateaus or nearly tied."""

    def attempt(rng: np.random.Generator) -> Instance | None:
        peak = 0 if shape == "edge" else int(rng.integers(n_arms))
        values = spread * np.sort(rng.uniform(size=n_arms))
        if shape == "plateau":
            values = np.floor(values / spread * 3.0) / 3.0 * spread
            values[-1] = spread
        if shape == "tied":
            values[-2] = values[-1] - 0.06 * spread
        below = np.sort(values[:-1])
        left = np.isin(np.arange(n_arms - 1), rng.permutation(n_arms - 1)[:peak])
        means = np.concatenate([below[left], values[-1:], below[~left][::-1]])
        return _accepted(means, Unimodal(n_arms), family)

    return lambda rng: _first(lambda: attempt(rng))


def categorised(n_arms: int, n_categories: int, spread: float, family: Family) -> Make:
    """Categories of random sizes; the best has the highest uniform means."""

    def attempt(rng: np.random.Generator) -> Instance | None:
        labels = np.concatenate(
            [np.arange(n_categories), rng.integers(n_categories, size=n_arms - n_categories)]
        )
        labels = rng.permutation(labels)
        top = int(rng.integers(n_categories))
        values = spread * np.sort(rng.uniform(size=n_arms))[::-1]
        size = int((labels == top).sum())
        means = np.zeros(n_arms)
        means[labels == top] = rng.permutation(values[:size])
        means[labels != top] = rng.permutation(values[size:])
        return _accepted(means, Categorised([int(c) for c in labels]), family)

    return lambda rng: _first(lambda: attempt(rng))


def sparse(n_arms: int, support: int, level: float, spread: float, family: Family) -> Make:
    """A level, and above it as many uniform means as the support has arms."""

    def attempt(rng: np.random.Generator) -> Instance | None:
        means = np.full(n_arms, level)
        chosen = rng.permutation(n_arms)[:support]
        means[chosen] = level + spread * rng.uniform(0.2, 1.0, size=support)
        return _accepted(means, Sparse(n_arms, support, level), family)

    return lambda rng: _first(lambda: attempt(rng))


def nearly_tied(n_arms: int, dimension: int, family: Family) -> Make:
    """Random directions; the best two arms are within 0.02 to 0.05 of each other."""

    def attempt(rng: np.random.Generator) -> Instance | None:
        features = rng.normal(size=(n_arms, dimension))
        features /= np.linalg.norm(features, axis=1, keepdims=True)
        theta = rng.normal(size=dimension)
        means = features @ theta / np.linalg.norm(theta)
        ranked = np.sort(means)
        close = 0.02 <= ranked[-1] - ranked[-2] <= 0.05
        return Instance(Linear(features), means, family) if close else None

    return lambda rng: _first(lambda: attempt(rng))


def linear(n_arms: int, dimension: int, family: Family, stretch: float = 1.0) -> Make:
    """Random directions; with a stretch, one feature is that much longer than the others."""

    def attempt(rng: np.random.Generator) -> Instance | None:
        features = rng.normal(size=(n_arms, dimension))
        features /= np.linalg.norm(features, axis=1, keepdims=True)
        features[:, 0] *= stretch
        theta = rng.normal(size=dimension)
        theta /= np.linalg.norm(theta)
        theta[0] /= stretch
        return _accepted(features @ theta, Linear(features), family)

    return lambda rng: _first(lambda: attempt(rng))


def projected(structure: Structure, family: Family) -> Make:
    """Uniform means, projected."""

    def attempt(rng: np.random.Generator) -> Instance | None:
        K = structure.n_arms
        fit = structure.project(rng.uniform(size=K), np.ones(K), family)
        return _accepted(np.asarray(fit.means), structure, family)

    return lambda rng: _first(lambda: attempt(rng))


def with_sigmas(make: Make) -> Make:
    """The same means, with noise of another size for every arm: from 0.5 to 2."""

    def noisy(rng: np.random.Generator) -> Instance:
        instance = make(rng)
        sigmas = 0.5 * 4.0 ** rng.uniform(size=instance.n_arms)
        return Instance(instance.structure, instance.means, Gaussian(sigmas.tolist()))

    return noisy


def untold(make: Make) -> Make:
    """The same problem, but nobody is told sigma."""

    def secret(rng: np.random.Generator) -> Instance:
        instance = make(rng)
        return Instance(instance.structure, instance.means, Gaussian(1.0, known=False))

    return secret


def revenue(n_arms: int) -> Make:
    """Sales at prices from 0.5 to 2; demand falls along a logistic curve, so that there is a peak.

    (A logistic curve is log-concave, and so is its product with the price.)
    """
    prices = np.linspace(0.5, 2.0, n_arms)

    def attempt(rng: np.random.Generator) -> Instance | None:
        middle, width = rng.uniform(0.3, 1.7), rng.uniform(0.03, 0.4)
        means = prices / (1.0 + np.exp((prices - middle) / width))
        return _accepted(means, Unimodal(n_arms), Bernoulli(scale=prices.tolist()))

    return lambda rng: _first(lambda: attempt(rng))


G, B, P = Gaussian(1.0), Bernoulli(), Poisson()
GROUPS: dict[str, Make] = {
    "unconstrained-5-easy": unconstrained(5, 3.0, G),
    "unconstrained-20-hard": unconstrained(20, 1.0, G),
    "unconstrained-100": unconstrained(100, 2.0, G),
    "unimodal-5-hard": unimodal(5, 0.5, G),
    "unimodal-20": unimodal(20, 2.0, G),
    "unimodal-20-edge": unimodal(20, 2.0, G, "edge"),
    "unimodal-20-plateau": unimodal(20, 1.0, G, "plateau"),
    "unimodal-20-tied": unimodal(20, 1.0, G, "tied"),
    "unimodal-100": unimodal(100, 3.0, G),
    "categorised-10-2": categorised(10, 2, 1.0, G),
    "categorised-20-5": categorised(20, 5, 2.0, G),
    "categorised-50-10": categorised(50, 10, 2.0, G),
    "sparse-10-1": sparse(10, 1, 0.0, 1.0, G),
    "sparse-20-4": sparse(20, 4, 0.0, 2.0, G),
    "sparse-20-10": sparse(20, 10, 0.0, 2.0, G),
    "sparse-100-5": sparse(100, 5, 0.0, 3.0, G),
    "linear-10-2": linear(10, 2, G),
    "linear-20-5": linear(20, 5, G),
    "linear-20-4-stretched": linear(20, 4, G, 100.0),
    "linear-100-5": linear(100, 5, G),
    "lipschitz-8": projected(Lipschitz(8, 0.3), G),
    "concave-8": projected(Concave(8), G),
    "simplex-8": projected(Simplex(8), Gaussian(0.3)),
    "unconstrained-10-bernoulli": unconstrained(10, 1.0, B),
    "unimodal-15-bernoulli": unimodal(15, 1.0, B),
    "categorised-12-3-bernoulli": categorised(12, 3, 1.0, B),
    "sparse-15-3-bernoulli": sparse(15, 3, 0.1, 0.8, B),
    "unimodal-15-poisson": unimodal(15, 4.0, P),
    "categorised-12-3-poisson": categorised(12, 3, 4.0, P),
    "sparse-15-3-poisson": sparse(15, 3, 1.0, 4.0, P),
    "linear-6-2-tied": nearly_tied(6, 2, G),
    "intersection-8-concave-lipschitz": projected(Concave(8) & Lipschitz(8, 0.3), G),
    "intersection-6-unimodal-lipschitz": projected(Unimodal(6) & Lipschitz(6, 0.4), G),
    "multimodal-5-two": projected(Multimodal(5, 2), G),
    "unimodal-10-prices-bernoulli": revenue(10),
    "unimodal-10-sigmas": with_sigmas(unimodal(10, 1.0, G)),
    "unimodal-10-untold": untold(unimodal(10, 1.0, G)),
    "linear-10-2-untold": untold(linear(10, 2, G)),
}
DECIDING = (  # where another policy comes close: with more instances and runs
    "unimodal-5-hard", "unimodal-20", "unimodal-20-tied", "unimodal-15-bernoulli",
    "categorised-10-2", "sparse-10-1", "sparse-20-10", "linear-10-2", "linear-20-5", "simplex-8",
    "unconstrained-10-bernoulli", "linear-6-2-tied",
)  # fmt: skip
