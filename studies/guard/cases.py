"""The problems: structures that are wrong, from grossly to subtly, and structures that are true.

In a *gross* case the fit's worst arm is the best, or nothing of the structure holds; in a *one arm*
case all means but one fit; in a *subtle* one a mean is off by about 0.1 standard deviations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from armature import (
    Bernoulli,
    Box,
    Categorised,
    Concave,
    Exponential,
    Family,
    Gaussian,
    Guarded,
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
from armature.experiments import load_instance
from armature.experiments.paper import PANELS
from armature.kernels.arrays import Floats
from studies.challenger.cases import GROUPS

GROSS, ONE, SUBTLE = "gross", "one arm", "subtle"
G, B, P, E = Gaussian(1.0), Bernoulli(), Poisson(), Exponential()


@dataclass(frozen=True, eq=False)
class Case:
    """A problem; `group` is the kind of mistake, or the group that a true problem is one of."""

    name: str
    group: str
    instance: Instance


def circle(n_arms: int) -> Floats:
    """Features on a circle."""
    angles = 2.0 * np.pi * np.arange(n_arms) / n_arms + 0.1
    return np.column_stack([np.cos(angles), np.sin(angles)])


def linear_means(n_arms: int, changed: dict[int, float]) -> list[float]:
    """Means 0.8 times the first feature, but for the arms that are changed to other means."""
    means = 0.8 * circle(n_arms)[:, 0]
    for arm, mean in changed.items():
        means[arm] = mean
    return [float(mean) for mean in means]


def off_by_noise(n_arms: int, scale: float) -> list[float]:
    """The same with normal errors."""
    noise = np.random.default_rng(3).normal(size=n_arms)
    return [float(mean) for mean in np.array(linear_means(n_arms, {})) + scale * noise]


TREE = UnimodalTree([(0, 1), (0, 2), (0, 3), (1, 4), (2, 5), (3, 6)])
NO_MORE = Polyhedral([[1.0, 1.0, 1.0, 1.0, 1.0]], [2.0])  # the means add up to 2 at most
WRONG: dict[str, tuple[str, Structure, Sequence[float], Family]] = {
    "unimodal, two peaks": (GROSS, Unimodal(8), [.1, .6, .3, .1, .2, .5, .9, .4], G),
    "unimodal, far peak": (ONE, Unimodal(10), [.2, .4, .6, .8, .7, .5, .3, .2, .1, .9], G),
    "unimodal, dent": (SUBTLE, Unimodal(6), [.3, .5, .8, .7, .9, .4], G),
    "unimodal, two peaks, Bernoulli": (GROSS, Unimodal(8), [.1, .6, .3, .1, .2, .5, .8, .4], B),
    "unimodal, two peaks, Poisson": (GROSS, Unimodal(8), [1, 3, 2, 1, 1.5, 2.5, 4, 2], P),
    "unimodal, far peak, exponential": (ONE, Unimodal(6), [1, 2, 1, .5, 1, 3], E),
    "categories mixed": (SUBTLE, Categorised("aaabbb"), [.9, .2, .1, .8, .7, .7], G),
    "categories, one arm": (ONE, Categorised("aaabbb"), [.8, .7, .6, .1, .2, 1.2], G),
    "categories, one arm by 0.1": (SUBTLE, Categorised("aaabbb"), [.6, .5, .5, .4, .7, .3], G),
    "categories mixed, Bernoulli": (SUBTLE, Categorised("aaabbb"), [.7, .2, .1, .6, .5, .5], B),
    "categories mixed, exponential": (GROSS, Categorised("aaabbb"), [2, .5, .5, 1.5, 1.2, 1], E),
    "sparse, nearly all arms": (GROSS, Sparse(8, 2, 0.0), [.5, .4, .6, .9, .3, .2, .1, 0], G),
    "sparse, one more": (ONE, Sparse(10, 2, 0.0), [.6, .5, 0, 0, 0, 0, 0, 0, 0, .8], G),
    "sparse, another level": (GROSS, Sparse(6, 1, 0.0), [.5, .3, .3, .3, .3, .3], G),
    "sparse, one more, Bernoulli": (ONE, Sparse(8, 1, 0.2), [.5, .2, .2, .2, .2, .2, .2, .7], B),
    "sparse, nearly all arms, Poisson": (
        GROSS, Sparse(8, 2, 1.0), [1.5, 1.4, 1.6, 2.5, 1.3, 1.2, 1.1, 1], P,
    ),
    "linear, the worst is the best": (
        GROSS, Linear(circle(8)), linear_means(8, {4: 1.2}), G,
    ),
    "linear, off by 0.3": (GROSS, Linear(circle(8)), off_by_noise(8, 0.3), G),
    "linear, one arm by 0.1": (SUBTLE, Linear(circle(8)), linear_means(8, {7: 0.9}), G),
    "linear, one arm by 0.1, others too": (
        SUBTLE, Linear(circle(12)), linear_means(12, {1: 0.9, 5: -0.5, 8: 0.1}), G,
    ),
    "concave, dip": (GROSS, Concave(7), [.2, .5, .7, .3, .7, .9, .2], G),
    "concave, far end": (ONE, Concave(6), [.9, .3, .5, .6, .5, .3], G),
    "lipschitz, jump": (ONE, Lipschitz(8, 0.1), [.2, .25, .3, .35, .4, .9, .3, .2], G),
    "lipschitz, by 0.1": (SUBTLE, Lipschitz(6, 0.1), [.3, .4, .5, .7, .5, .4], G),
    "simplex, another sum": (GROSS, Simplex(6), [.5, .3, .3, .3, .2, .7], Gaussian(0.5)),
    "simplex, one share by 0.1": (SUBTLE, Simplex(5), [.35, .25, .2, .2, .1], Gaussian(0.5)),
    "polyhedral, a sum": (GROSS, NO_MORE, [.6, .6, .5, .7, .9], G),
    "box, one arm above": (ONE, Box(5, high=0.5), [.2, .3, .4, .45, .9], G),
    "box, one arm above, Bernoulli": (SUBTLE, Box(5, high=0.5), [.2, .3, .4, .45, .6], B),
    "monotone, one arm": (ONE, Monotone(6), [.1, .3, .9, .5, .6, .7], G),
    "monotone, by 0.1": (SUBTLE, Monotone(6), [.1, .3, .4, .5, .7, .6], G),
    "monotone, reversed, Poisson": (GROSS, Monotone(6), [3, 2.5, 2, 1.5, 1, .5], P),
    "three peaks for two": (ONE, Multimodal(5, 2), [.7, .1, .6, .1, .9], G),
    "tree, a far leaf": (ONE, TREE, [.6, .4, .3, .2, .2, .1, .9], G),
    "unimodal and nearly flat": (
        GROSS, Unimodal(5) & Lipschitz(5, 0.2), [.1, .3, .1, .2, .8], G,
    ),
}  # fmt: skip


def wrong_cases() -> list[Case]:
    """Problems whose structure is wrong."""
    return [
        Case(name, kind, Instance(structure, means, family, strict=False))
        for name, (kind, structure, means, family) in WRONG.items()
    ]


def panel_cases() -> list[Case]:
    """The paper's problems, whose structure is true."""
    return [Case(name, name, load_instance(name)) for name in PANELS]


def true_cases(per_group: int) -> list[Case]:
    """The random instances of the study of Challenger that can be guarded, so many of each group.

    (Where nobody knows sigma there is no evidence, and no guard.)
    """
    cases = [
        Case(f"{group}-{n:02d}", group, make(np.random.default_rng([place, n])))
        for place, (group, make) in enumerate(GROUPS.items())
        for n in range(per_group)
    ]
    guard = Guarded()
    return [case for case in cases if guard.supports(case.instance.structure, case.instance.family)]
