"""Challenger: its joint oracles, its draws, and every decision against a plain twin."""

from __future__ import annotations

import math

import numpy as np
import pytest
from random_structures import FAMILIES, KINDS, random_structure
from scipy.special import erfc
from scipy.stats import chi2
from test_policy_twins import CASES, DisagreementError, compare
from twins import ChallengerTwin, Twin

import armature as am
from armature.decisions import make_decisions
from armature.streams import DECISIONS, make_stream, next_units
from armature.testing import random_problem, supported_families

# Those that weigh all challengers in one sweep.
JOINT = [kind for kind in KINDS if kind.oracle.challenger_costs is not None]


def one_by_one(structure: am.Structure, mu, w, best: int, family: am.Family) -> np.ndarray:
    """What each challenger costs, by the oracle for one of them."""
    costs = np.empty(structure.n_arms)
    for i in range(structure.n_arms):
        if i == best:
            costs[i] = structure.project(mu, w, family).cost
        else:
            costs[i] = structure.challenger_min(mu, w, best, i, family).cost
    return costs


def largest_cost(mu: np.ndarray, w: np.ndarray, family: am.Family) -> float:
    """All weights times the largest divergence from the mean: what sums lose by cancelling."""
    seen = w > 0.0
    if not seen.any():
        return 0.0
    mean = float(np.average(mu, weights=w))
    return float(w.sum() * np.max(family.divergence(mu[seen], mean)))


def assert_joint(structure: am.Structure, mu, w, best: int, family: am.Family) -> None:
    expected = one_by_one(structure, mu, w, best, family)
    costs = structure.challenger_costs(mu, w, best, family)
    assert (np.isinf(costs) == np.isinf(expected)).all()
    finite = np.isfinite(expected)
    off = np.abs(costs[finite] - expected[finite])
    slack = 1e-15 * (structure.n_arms + 8) * largest_cost(mu, w, family)
    slack += 1e-30 * w.sum()  # where the means are off by rounding, the cost by its square
    assert (off <= 1e-12 * expected[finite] + slack).all(), (structure, mu, w, costs, expected)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: type(f).__name__)
@pytest.mark.parametrize("kind", JOINT, ids=lambda k: k.__name__)
def test_all_challengers_at_once(
    kind: type[am.Structure], family: am.Family, n_problems: int, rng: np.random.Generator
) -> None:
    """Means in M and outside, with ties, on the boundary; weights of six orders, some of them 0."""
    for _ in range(n_problems):
        structure = random_structure(kind, rng)
        if family not in supported_families(structure):
            pytest.skip(f"{kind.__name__} refuses {type(family).__name__} rewards")
        for _ in range(5):
            p = random_problem(structure, family, rng)
            assert_joint(structure, p.means, p.weights, p.best, family)


@pytest.mark.parametrize(
    "structure",
    [
        am.Unimodal(60),
        am.Categorised([k % 7 for k in range(60)]),
        am.Categorised(range(40)),
        am.Sparse(60, 9, 0.3),
    ],
    ids=str,
)
def test_many_challengers_at_once(structure: am.Structure, rng: np.random.Generator) -> None:
    K = structure.n_arms
    for _ in range(20):
        mu = rng.uniform(0.02, 0.98, K)
        if rng.random() < 0.5:
            mu = np.asarray(structure.project(mu, np.ones(K), am.Gaussian()).means)
            mu = mu + rng.normal(0.0, 0.02, K)
        w = 10.0 ** rng.uniform(-3.0, 0.0, K)
        assert_joint(structure, mu, w, int(rng.integers(K)), am.Gaussian(0.7))


DRAWS = 20_000
LEVEL = 1e-6  # how often a right draw would fail by chance
CONVEX = {
    "Lipschitz": am.Lipschitz(5, 0.25),
    "Concave": am.Concave(5),
    "Simplex": am.Simplex(5),
    "Polyhedral": am.Polyhedral([[1, 1, 0, 0, 0], [0, -1, 1, 0, 1]], [0.9, 0.1]),
}
SEEN = [0.1, 0.45, 0.5, 0.3, 0.2]
PULLS = [3, 9, 12, 4, 2]


def far_from_drawn(structure: am.Structure, draw: str, q: np.ndarray) -> float:
    """The chi-square statistic of the arms drawn after given rewards, against weights q."""
    policy = am.Challenger(draw=draw, share=1.0, patience=50.0)
    decisions = make_decisions(policy, structure, am.Gaussian(), seed=3)
    for arm, (mean, pulls) in enumerate(zip(SEEN, PULLS, strict=True)):
        for _ in range(pulls):
            decisions.take_in(arm, mean)
    arms = [decisions.next(decisions.history) for _ in range(DRAWS)]
    expected = DRAWS * q / q.sum()
    return float(((np.bincount(arms, minlength=q.size) - expected) ** 2 / expected).sum())


@pytest.mark.parametrize("draw", ["tail", "exp"])
@pytest.mark.parametrize("name", [*CONVEX, "Unimodal", "Unconstrained"])
def test_draws_have_their_weights(name: str, draw: str) -> None:
    """By rejection where M is convex, directly elsewhere."""
    structure = CONVEX.get(name) or getattr(am, name)(5)
    mu, N = np.array(SEEN), np.array(PULLS, dtype=float)
    j = int(np.argmax(structure.project(mu, N, am.Gaussian()).means))
    costs = one_by_one(structure, mu, N, j, am.Gaussian())
    G = np.maximum(costs - costs[j], 0.0)
    q = erfc(np.sqrt(G)) / 2 if draw == "tail" else np.exp(-G)
    q[j] = 1.0
    bar = chi2.isf(LEVEL, q.size - 1)
    assert far_from_drawn(structure, draw, q) < bar
    q[(j + 1) % 5] *= 0.8
    assert far_from_drawn(structure, draw, q) > bar


LOUD = am.Gaussian(1.0)
REJECTING = ("Lipschitz", "Concave", "Simplex", "Polyhedral")
OPTIONS = (
    {"draw": "exp", "share": 0.2},
    {"floor": False, "share": 0.0},
    {"leader": True, "share": 0.1},
    {"projected": False, "share": 0.0},
    {"patience": 0.0},
    {"patience": 50.0},
)
MATCHES = [(name, LOUD, {}) for name in CASES]
MATCHES += [(name, am.Bernoulli(), {}) for name in CASES if name != "Linear"]
MATCHES += [(name, LOUD, options) for name in ("Unimodal", "Concave") for options in OPTIONS]


def make_twin(name: str, family: am.Family, kind=ChallengerTwin, **options: object) -> Twin:
    stream = make_stream(0, 0, DECISIONS)
    bounded = name in REJECTING and isinstance(family, am.Gaussian)
    return kind(CASES[name][0], family, lambda: next_units(stream), bounded, **options)


@pytest.mark.parametrize(("name", "family", "options"), MATCHES, ids=str)
def test_every_decision(name: str, family: am.Family, options: dict) -> None:
    twin = make_twin(name, family, **options)
    gave_way = compare(am.Challenger(**options), twin, name, CASES[name][1], rounds=500)
    assert gave_way <= 5
    assert twin.explorations >= 10
    if "patience" in options:
        assert (twin.late > 0) == (options["patience"] == 0.0)


class Empirical(ChallengerTwin):
    """The leader is the arm with the highest empirical mean."""

    def decide(self, mu: np.ndarray) -> list[int]:
        pr, base = self.structure.project(mu, self.N, self.family)
        j = int(np.argmax(mu))
        i = self.draw(mu, pr, j, base)
        return [j] if i == j or self.units()[0] >= self.options.share else [i]


class Raw(ChallengerTwin):
    """The misfit counts as evidence."""

    def draw(self, mu: np.ndarray, pr: np.ndarray, j: int, base: float) -> int:
        return super().draw(mu, pr, j, 0.0)


class Hasty(ChallengerTwin):
    """Nobody waits longer than for IMED's rule."""

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **{**options, "patience": 0.0})


class Unpriced(ChallengerTwin):
    """Information is not divided by regret."""

    def least_regret(self, top: float, pulls: float) -> float:
        return 1e9


class Careless(ChallengerTwin):
    """A draw by rejection that keeps everything."""

    def rival(self, mu: np.ndarray, j: int, i: int) -> am.Fit:
        fit = super().rival(mu, j, i)
        return am.Fit(fit.means, 0.0)


MISTAKES = {
    "leader": ("Unimodal", Empirical),
    "evidence": ("Unimodal", Raw),
    "price": ("Sparse", Unpriced),
    "date": ("Unimodal", Hasty),
    "rejection": ("Lipschitz", Careless),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_shows(mistake: str) -> None:
    name, kind = MISTAKES[mistake]
    with pytest.raises(DisagreementError):
        compare(am.Challenger(), make_twin(name, LOUD, kind), name, CASES[name][1], rounds=500)


class Smooth(am.Structure):
    """A convex structure in plain Python, which counts what it is asked."""

    convex = True

    def __init__(self) -> None:
        self.model, self.asked = CASES["Lipschitz"][0], 0
        self.n_arms = self.model.n_arms

    def project(self, means, weights, family):
        return self.model.project(means, weights, family)

    def alt_min(self, means, weights, best, challenger, family):
        self.asked += 1
        return self.model.alt_min(means, weights, best, challenger, family)


def test_a_convex_structure_in_plain_python() -> None:
    """It decides as the compiled one, and asks for fewer than all challengers."""
    rounds, smooth = 300, Smooth()
    rewards = np.random.default_rng(0).normal(CASES["Lipschitz"][1], 1.0, (rounds, 5))
    plain, compiled = am.Bandit(am.Challenger(), smooth), am.Bandit(am.Challenger(), smooth.model)
    for t in range(rounds):
        arm = plain.ask()
        assert arm == compiled.ask()
        plain.tell(arm, rewards[t, arm])
        compiled.tell(arm, rewards[t, arm])
    assert 0 < smooth.asked < 0.6 * 4 * rounds


def test_options_are_checked() -> None:
    with pytest.raises(am.ArmatureError, match="draw must be 'tail' or 'exp'; got 'normal'"):
        am.Challenger(draw="normal")
    with pytest.raises(am.ArmatureError, match="share must be a probability"):
        am.Challenger(share=1.5)
    with pytest.raises(am.ArmatureError, match="patience must be a number, at least 0"):
        am.Challenger(patience=-1.0)


def test_explanation_names_the_leader_and_who_may_replace_it() -> None:
    """Means 1 and 0 once each: G = 1/4, q = erfc(1/2) / 2 = 0.24, so 0.81 and 0.19."""
    bandit = am.Bandit(am.Challenger(), am.Unconstrained(3), labels=["red", "blue", "green"])
    bandit.tell(["red", "blue", "green"], [0.0, 1.0, -90.0])
    assert bandit.explain().summary == (
        "Challenger pulls arm 'blue' with probability 0.81, as it leads; else it looks into a "
        "challenger, most likely arm 'red' (0.19)."
    )


def test_who_is_overdue_goes_first() -> None:
    """Means 1 and 0, N = (n, 1): G = n / (n + 1) / 2, and its date is past once G + 1 < ln n."""
    for n, overdue in ((4, False), (5, True)):
        assert (n / (n + 1) / 2 + 1.0 < math.log(n)) == overdue
        asked = []
        for seed in range(40):
            bandit = am.Bandit(am.Challenger(), am.Unconstrained(2), seed=seed)
            bandit.tell([0] * n + [1], [1.0] * n + [0.0])
            assert ("arm 1, which is overdue" in bandit.explain().summary) == overdue
            asked.append(bandit.ask())
        assert (set(asked) == {1}) == overdue
        assert 1 in asked
