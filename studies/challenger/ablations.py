"""Challenger with one part changed at a time."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from armature import (
    Categorised,
    Cell,
    Challenger,
    Family,
    Gaussian,
    History,
    Linear,
    Policy,
    Problem,
    PythonPolicy,
    Structure,
    Unconstrained,
    Unimodal,
)
from armature.arrays import Floats
from studies.challenger.cases import GROUPS, Case, panel_cases

VARIANTS: tuple[Policy, ...] = (
    Challenger(),
    Challenger(draw="exp"),
    Challenger(patience=0.0),
    Challenger(patience=50.0),
    Challenger(share=0.0),
    Challenger(share=0.25),
    Challenger(share=0.75),
    Challenger(share=1.0),
    Challenger(floor=False),
    Challenger(leader=True),
    Challenger(projected=False),
)
ABLATED = ("unimodal-20", "categorised-20-5", "sparse-20-4", "linear-20-5")
SMALL = ("unconstrained", "categorised-1", "categorised-2", "linear", "unimodal-1")
BATCH, MOST_BATCHES = 64, 50


@dataclass(frozen=True)
class PosteriorChallenger(PythonPolicy):
    """Challenger whose opponent is the best arm of an exact posterior sample.

    The posterior is that of a flat prior on M and Gaussian rewards. For a linear structure it is
    Gaussian; for those that only order the arms, samples of independent posteriors are drawn until
    one is in M (after 3,200 in vain, the last is projected). Small problems only.
    """

    share: float = 0.5

    @classmethod
    def examples(cls) -> tuple[Policy, ...]:
        return ()  # a part of the study, not a policy to be used

    def _objection(self, structure: Structure, family: Family) -> str | None:
        known = (Unconstrained, Unimodal, Categorised, Linear)
        if not isinstance(structure, known) or not isinstance(family, Gaussian):
            return "exact posterior samples are for Gaussian rewards and few structures."
        return None

    def choose(
        self, state: dict[str, Any], problem: Problem, history: History, rng: np.random.Generator
    ) -> int:
        structure, family = problem
        assert isinstance(family, Gaussian)
        assert isinstance(family.sigma, float)
        N, mu = history.pulls, history.means
        pr = np.asarray(structure.project(mu, N, family).means)
        j = int(np.argmax(pr))
        i = int(np.argmax(sample(structure, mu, N, family.sigma, rng)))
        if i == j or rng.random() < self.share:
            return i
        if isinstance(structure, Unimodal):
            lam = np.asarray(structure.cell_min(mu, N, Cell(j, i), family).means)
        else:
            lam = np.asarray(structure.alt_min(mu, N, j, i, family).means)
        if abs(lam[i] - pr[i]) < 1e-11:
            return i
        floor = family.sigma / math.sqrt(N[j] + 1.0)
        gains = (pr - lam) ** 2 / np.maximum(pr[j] - pr, floor)
        gains[j] = -1.0
        return int(np.argmax(gains))


def sample(
    structure: Structure, mu: Floats, N: Floats, sigma: float, rng: np.random.Generator
) -> Floats:
    """Mean vector of M, from the posterior."""
    if isinstance(structure, Linear):
        x = np.asarray(structure.features)
        precision = x.T @ (N[:, None] * x) / sigma**2
        centre = np.linalg.solve(precision, x.T @ (N * mu)) / sigma**2
        theta = rng.multivariate_normal(centre, np.linalg.inv(precision))
        return np.asarray(x @ theta)
    for _ in range(MOST_BATCHES):
        draws = mu + sigma / np.sqrt(N) * rng.normal(size=(BATCH, mu.size))
        inside = np.flatnonzero(in_structure(structure, draws))
        if inside.size:
            return np.asarray(draws[inside[0]])
    return np.asarray(structure.project(draws[-1], N, Gaussian(sigma)).means)


def in_structure(structure: Structure, draws: Floats) -> np.ndarray[Any, Any]:
    """Which rows are in M."""
    inside: np.ndarray[Any, Any] = np.ones(len(draws), dtype=bool)
    if isinstance(structure, Unimodal):
        falling = np.cumsum(np.diff(draws, axis=1) < 0.0, axis=1) > 0
        inside = np.logical_not(((np.diff(draws, axis=1) > 0.0) & falling).any(axis=1))
    elif isinstance(structure, Categorised):
        labels = np.asarray(structure.categories)
        best = labels[np.argmax(draws, axis=1)][:, None] == labels
        lowest = np.where(best, draws, np.inf).min(axis=1)
        inside = lowest >= np.where(best, -np.inf, draws).max(axis=1)
    return inside


def ablation_cases() -> list[Case]:
    """The panels and two instances of some random groups."""
    cases = [dataclasses.replace(case, policies=VARIANTS) for case in panel_cases()]
    for group in ABLATED:
        place = list(GROUPS).index(group)
        for number in range(2):
            instance = GROUPS[group](np.random.default_rng([place, number]))
            cases.append(Case(group, number, instance, VARIANTS))
    return cases


def posterior_cases() -> list[Case]:
    """The small panels on which exact posterior samples are to be had."""
    both = (Challenger(), PosteriorChallenger())
    return [dataclasses.replace(c, policies=both) for c in panel_cases() if c.group in SMALL]
