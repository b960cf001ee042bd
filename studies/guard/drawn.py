"""Problems drawn at random, that had no part in choosing anything about the guard.

Of every kind of structure there are three that are wrong: a structure of that kind is drawn, and a
family, and uniform means are projected onto the structure. Then they are broken, in one of three
ways that is drawn as well: an arm is *raised* above all others, two means are *exchanged*, or
*noise* is added to all of them. How much is log-uniform, from a tenth of the range of means to all
of it: so they are from subtle to gross. What still fits, or has means that the family can't have,
or a best arm that leads by less than a twentieth of the range, is drawn again, all of it. Nothing
else is left out.

Beside them there are two problems of every kind that are not broken.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from armature import (
    ArmatureError,
    Bernoulli,
    Bounded,
    Box,
    Categorised,
    Concave,
    Exponential,
    Family,
    Gaussian,
    Instance,
    Linear,
    Lipschitz,
    Monotone,
    Multimodal,
    Poisson,
    Polyhedral,
    Simplex,
    Sparse,
    Structure,
    Unimodal,
    UnimodalTree,
)
from armature.kernels.arrays import Floats
from studies.guard.cases import Case

WRONG_OF_EACH, TRUE_OF_EACH = 3, 2
RAISED, EXCHANGED, NOISE = "raised", "exchanged", "noise"
BREAKS = (RAISED, EXCHANGED, NOISE)
LEAD = 0.05  # of the best arm, in parts of the range
Rng = np.random.Generator
Range = tuple[float, float]


def _tree(n_arms: int, rng: Rng, span: Range) -> Structure:
    return UnimodalTree([(int(rng.integers(arm)), arm) for arm in range(1, n_arms)])


def _categorised(n_arms: int, rng: Rng, span: Range) -> Structure:
    n = int(rng.integers(2, 4))
    return Categorised([int(label) for label in rng.permutation(np.arange(n_arms) % n)])


def _sparse(n_arms: int, rng: Rng, span: Range) -> Structure:
    return Sparse(n_arms, int(rng.integers(1, n_arms // 2 + 1)), span[0])


def _linear(n_arms: int, rng: Rng, span: Range) -> Structure:
    """One feature that is 1, and one or two others."""
    return Linear(np.column_stack([np.ones(n_arms), rng.normal(size=(n_arms, rng.integers(1, 3)))]))


def _lipschitz(n_arms: int, rng: Rng, span: Range) -> Structure:
    return Lipschitz(n_arms, rng.uniform(0.1, 0.4) * (span[1] - span[0]))


def _box(n_arms: int, rng: Rng, span: Range) -> Structure:
    return Box(n_arms, high=span[0] + rng.uniform(0.4, 0.9) * (span[1] - span[0]))


def _polyhedral(n_arms: int, rng: Rng, span: Range) -> Structure:
    """The means of two random halves of the arms add up to no more than so much."""
    halves = rng.permuted(np.tile(np.arange(n_arms) % 2, (2, 1)), axis=1).astype(float)
    most = span[0] + rng.uniform(0.3, 0.6, size=2) * (span[1] - span[0])
    return Polyhedral(halves, halves.sum(axis=1) * most)


def _intersection(n_arms: int, rng: Rng, span: Range) -> Structure:
    first = Unimodal(n_arms) if rng.integers(2) else Concave(n_arms)
    return first & _lipschitz(n_arms, rng, span)


def _union(n_arms: int, rng: Rng, span: Range) -> Structure:
    return Monotone(n_arms) | _lipschitz(n_arms, rng, span)


KINDS: dict[str, tuple[int, Callable[[int, Rng, Range], Structure]]] = {  # and the most arms
    "unimodal": (12, lambda n_arms, rng, span: Unimodal(n_arms)),
    "tree": (12, _tree),
    "multimodal": (6, lambda n_arms, rng, span: Multimodal(n_arms, 2)),
    "categorised": (12, _categorised),
    "sparse": (12, _sparse),
    "linear": (12, _linear),
    "lipschitz": (8, _lipschitz),
    "concave": (8, lambda n_arms, rng, span: Concave(n_arms)),
    "monotone": (12, lambda n_arms, rng, span: Monotone(n_arms)),
    "box": (12, _box),
    "simplex": (8, lambda n_arms, rng, span: Simplex(n_arms)),
    "polyhedral": (8, _polyhedral),
    "intersection": (6, _intersection),
    "union": (6, _union),
}


def _family(n_arms: int, rng: Rng) -> tuple[str, Family, Range]:
    """A family, and the range of means."""
    size = 0.5 * 4.0 ** rng.uniform()
    sigmas = 0.5 * 4.0 ** rng.uniform(size=n_arms)
    families: list[tuple[str, Family, Range]] = [
        ("Gaussian", Gaussian(1.0), (0.0, size)),
        ("sigmas", Gaussian(sigmas.tolist()), (0.0, size)),
        ("Bernoulli", Bernoulli(), (0.05, 0.95)),
        ("bounded", Bounded(0.0, 1.0), (0.05, 0.95)),
        ("Poisson", Poisson(), (0.5, 4.0)),
        ("exponential", Exponential(), (0.5, 3.0)),
    ]
    return families[int(rng.integers(len(families)))]


def broken(means: Floats, how: str, amount: float, rng: Rng) -> Floats:
    """Means that were changed; `amount` is in units of the means."""
    means = means.copy()
    if how == RAISED:
        arm = int(rng.integers(means.size))
        means[arm] = np.delete(means, arm).max() + amount
    elif how == EXCHANGED:
        first, second = rng.choice(means.size, 2, replace=False)
        means[[first, second]] = means[[second, first]]
    else:
        means += amount * rng.normal(size=means.size)
    return means


def _attempt(kind: str, wrong: bool, rng: Rng) -> tuple[str, str, Instance] | None:
    """A family, what was broken, and the instance; None: to be drawn again."""
    most, draw = KINDS[kind]
    n_arms = int(rng.integers(5, most + 1))
    label, family, span = _family(n_arms, rng)
    structure = draw(n_arms, rng, span)
    uniform = rng.uniform(*span, size=n_arms)
    means = np.asarray(structure.project(uniform, np.ones(n_arms), Gaussian(1.0)).means)
    how = BREAKS[int(rng.integers(len(BREAKS)))] if wrong else "true"
    if wrong:
        means = broken(means, how, (span[1] - span[0]) * 0.1 ** rng.uniform(), rng)
    ranked = np.sort(means)
    if ranked[-1] - ranked[-2] < LEAD * (span[1] - span[0]):
        return None
    try:
        instance = Instance(structure, means, family, strict=False)
    except ArmatureError:  # a mean that the family can't have
        return None
    return None if instance.fits == wrong else (label, how, instance)


def drawn_cases(of_each: int, wrong: bool, seed: int = 0) -> list[Case]:
    """So many problems of every kind of structure, always the same for a seed."""
    cases = []
    for place, kind in enumerate(KINDS):
        for number in range(of_each):
            rng = np.random.default_rng([seed, int(wrong), place, number])
            found = None
            while found is None:
                found = _attempt(kind, wrong, rng)
            label, how, instance = found
            name = f"{kind}-{number + 1}, {instance.n_arms} arms, {how}, {label}"
            cases.append(Case(name, how if wrong else kind, instance))
    return cases
