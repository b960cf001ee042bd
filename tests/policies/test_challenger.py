"""Challenger: its joint oracles, its draws, and every decision against a plain twin."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import erfc, ndtri
from structures_again import FAMILIES, KINDS, random_structure
from test_policy_twins import CASES as SHARED
from test_policy_twins import DisagreementError, compare
from twins import ChallengerTwin, Twin

import armature as am
from armature.kernels.streams import DECISIONS, make_stream, next_units
from armature.rounds.runner import make_runner
from armature.structures.oracles.model import challenger_bounds, has_bounds, make_model
from armature.testing import random_problem, supported_families

CASES = {**SHARED, "one good arm": (am.Sparse(6, 1, 0.3), [0.3, 0.3, 0.3, 0.45, 0.3, 0.3])}
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


@pytest.mark.checks("Challenger", by="one oracle call per challenger")
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


@pytest.mark.checks("Challenger", by="one oracle call per challenger")
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


LOUD = am.Gaussian(1.0)
DRAWS = 20_000
LEVEL = 1e-6  # how often a right draw would fail by chance
CONVEX = {
    "Linear": am.Linear([[1, 0], [0, 1], [0.5, 0.6], [0.9, 0.2], [0.3, 0.3]]),
    "Lipschitz": am.Lipschitz(5, 0.25),
    "Concave": am.Concave(5),
    "Simplex": am.Simplex(5),
    "Polyhedral": am.Polyhedral([[1, 1, 0, 0, 0], [0, -1, 1, 0, 1]], [0.9, 0.1]),
}
SEEN = [0.1, 0.45, 0.5, 0.3, 0.2]
PULLS = [3, 9, 12, 4, 2]


@pytest.mark.checks("Challenger", by="frequencies by hand")
@pytest.mark.parametrize("name", ["Lipschitz", "Unimodal", "Unconstrained"])
def test_draws_have_their_weights(name: str) -> None:
    """The leader is pulled when it is drawn, and then alone."""
    structure = CONVEX.get(name) or getattr(am, name)(5)
    mu, N = np.array(SEEN), np.array(PULLS, dtype=float)
    j = int(np.argmax(structure.project(mu, N, am.Gaussian()).means))
    costs = one_by_one(structure, mu, N, j, am.Gaussian())
    weights = erfc(np.sqrt(np.maximum(costs - costs[j], 0.0))) / 2
    weights[j] = 1.0
    decisions = make_runner(am.Challenger(draw="tail", patience=50.0), structure, LOUD, seed=3)
    for arm, (mean, pulls) in enumerate(zip(SEEN, PULLS, strict=True)):
        for _ in range(pulls):
            decisions.take_in(arm, mean)
    led = np.mean([decisions.next(decisions.history) == j for _ in range(DRAWS)])
    p = 1.0 / weights.sum()
    bar = -ndtri(LEVEL / 2) * math.sqrt(p * (1 - p) / DRAWS)
    assert abs(led - p) < bar < abs(led - 1.05 * p)


@pytest.mark.checks("Challenger", by="the bound that saves calls")
@pytest.mark.parametrize("name", CONVEX)
def test_the_projection_bounds_what_a_challenger_costs(name: str, rng: np.random.Generator) -> None:
    """So that who is not due by the bound need not be solved."""
    structure, tight = CONVEX[name], 0
    for _ in range(30):
        mu, N = rng.normal(0.4, 0.5, 5), 10.0 ** rng.uniform(0.0, 3.0, 5)
        model = make_model(structure, am.Gaussian(0.7), am.Challenger.oracles)
        fit = structure.project(mu, N, am.Gaussian(0.7))
        j, bounds = int(np.argmax(fit.means)), np.full(10, np.inf)
        assert has_bounds.py_func(model)
        challenger_bounds(model, mu, N, j, np.asarray(fit.means), bounds)
        for i in range(5):
            if i != j:
                bound = bounds[i]
                cost = structure.challenger_min(mu, N, j, i, am.Gaussian(0.7)).cost
                assert bound <= (cost - fit.cost) * (1 + 1e-9) + 1e-9 * max(1.0, fit.cost)
                tight += bound > 0.5 * (cost - fit.cost) > 0.0
    assert tight >= 10


OPTIONS = (
    {"patience": 0.0},
    {"patience": 0.0, "price": 2.0},
    {"draw": "sample", "patience": 50.0},
    {"draw": "sample"},
    {"share": 0.5},
    {"draw": "tail", "patience": 50.0, "price": 2.0},
)
MATCHES = [(name, LOUD, {}) for name in CASES]
MATCHES += [(name, am.Bernoulli(), {}) for name in CASES if name != "Linear"]
MATCHES += [(name, LOUD, options) for name in ("Unimodal", "Linear") for options in OPTIONS]
MATCHES += [("one good arm", LOUD, {"draw": "tail", "patience": 50.0})]


def make_twin(name: str, family: am.Family, kind=ChallengerTwin, **options: object) -> Twin:
    stream = make_stream(0, 0, DECISIONS)
    return kind(CASES[name][0], family, lambda: next_units(stream), **options)


@pytest.mark.checks("Challenger", by="a slow twin, decision by decision")
@pytest.mark.parametrize(("name", "family", "options"), MATCHES, ids=str)
def test_every_decision(name: str, family: am.Family, options: dict) -> None:
    twin = make_twin(name, family, **options)
    gave_way = compare(am.Challenger(**options), twin, name, CASES[name][1], rounds=500)
    assert gave_way <= 5
    assert twin.explorations >= 8
    assert (twin.late > 0) == (options.get("patience", 1.0) < 50.0)
    if name == "Linear":
        assert twin.through_others >= 1


class Empirical(ChallengerTwin):
    """The leader is the arm with the highest empirical mean."""

    def decide(self, mu: np.ndarray) -> list[int]:
        allowed = super().decide(mu)
        j = int(np.argmax(mu))
        return [j] if self.settle is None else allowed


class Raw(ChallengerTwin):
    """The misfit counts as evidence."""

    def evidence(self, mu: np.ndarray, j: int, base: float) -> np.ndarray:
        return super().evidence(mu, j, 0.0)


class Hasty(ChallengerTwin):
    """Nobody waits longer than for IMED's rule."""

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **{**options, "patience": 0.0})


class Unpriced(ChallengerTwin):
    """Information is not divided by regret."""

    def least_regret(self, top: float, pulls: float) -> float:
        return 1e9


class Forgetful(ChallengerTwin):
    """Who was looked into through another arm is due as before."""

    def due(self, G: np.ndarray, mu: np.ndarray, pr: np.ndarray, j: int) -> list[int]:
        self.looked[:] = 0.0
        return super().due(G, mu, pr, j)


class Ordered(ChallengerTwin):
    """What counts of the one good arm is that it is not below the leader."""

    def alone(self, mu: np.ndarray, j: int, i: int) -> float:
        return self.rival(mu, j, i).cost


class Sum(ChallengerTwin):
    """What many arms cost counts as it is."""

    def shared(self, mu: np.ndarray, pr: np.ndarray, j: int, i: int, G: float) -> float:
        return G


class Once(ChallengerTwin):
    """What an arm says itself counts once."""

    own_counts = 1.0


class Dismissed(ChallengerTwin):
    """An arm as good as the leader can be dismissed on the word of others."""

    def free(self, G: float) -> float:
        return G


MISTAKES = {
    "leader": ("Linear", Empirical),
    "evidence": ("Unimodal", Raw),
    "price": ("Linear", Unpriced),
    "date": ("Unimodal", Hasty),
    "looks": ("Linear", Forgetful),
    "one good arm": ("one good arm", Ordered),
    "the chance of it": ("Categorised", Sum),
    "own evidence": ("Categorised", Once),
    "others' word": ("Categorised", Dismissed),
}


@pytest.mark.checks("Challenger", by="planted errors")
@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_shows(mistake: str) -> None:
    name, kind = MISTAKES[mistake]
    with pytest.raises(DisagreementError):
        compare(am.Challenger(), make_twin(name, LOUD, kind), name, CASES[name][1], rounds=500)


STARTS = {
    "Unconstrained": (am.Unconstrained(3), 3),
    "Unimodal": (am.Unimodal(4), 4),
    "Concave": (am.Concave(4), 4),
    "Simplex": (am.Simplex(5), 4),
    "one of three": (am.Polyhedral([[0, 0, 1]], [0.9], [[1, 0, 0], [0, 1, 1]], [1, 0.9]), 1),
    "one mean is known": (am.Polyhedral([[1, 0, 0]], [2.0], [[0, 0, 1]], [0.5]), 2),
    "both": (am.Linear([[1, 0], [0, 1], [1, 1]]) & am.Simplex(3), 1),
}


@pytest.mark.parametrize("name", STARTS)
def test_the_start_is_as_short_as_it_can_be(name: str) -> None:
    structure, size = STARTS[name]
    assert len(structure.spanning_arms) == size


def test_the_start_determines_all_means(rng: np.random.Generator) -> None:
    """In a linear structure, its features have full rank; stretched ones, too."""
    for _ in range(30):
        K, d = int(rng.integers(2, 9)), int(rng.integers(1, 5))
        features = rng.normal(size=(K, d)) * 10.0 ** rng.uniform(-2, 2, d)
        start = am.Linear(features).spanning_arms
        rank = np.linalg.matrix_rank(features)
        assert len(start) == rank == np.linalg.matrix_rank(features[start])


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
    rewards = np.random.default_rng(2).normal(CASES["Lipschitz"][1], 1.0, (rounds, 5))
    plain, compiled = am.Bandit(am.Challenger(), smooth), am.Bandit(am.Challenger(), smooth.model)
    for t in range(rounds):
        arm = plain.ask()
        assert arm == compiled.ask()
        plain.tell(arm, rewards[t, arm])
        compiled.tell(arm, rewards[t, arm])
    assert 0 < smooth.asked < 0.45 * 4 * rounds


def test_options_are_checked() -> None:
    with pytest.raises(am.ArmatureError, match="draw must be 'none' or 'sample' or 'tail'; got"):
        am.Challenger(draw="x")
    with pytest.raises(am.ArmatureError, match="price must be a number, at least 0 and at most 4"):
        am.Challenger(price=5.0)
    with pytest.raises(am.ArmatureError, match="share must be a probability, at least 0"):
        am.Challenger(share=1.5)
    with pytest.raises(am.ArmatureError, match="patience must be a number, at least 0"):
        am.Challenger(patience=-1.0)


def test_explanation_names_the_leader_and_who_is_next() -> None:
    """Means 1 and 0 once each: G = 1/4, and e^(1/4 + 1) = 3.49."""
    bandit = am.Bandit(am.Challenger(), am.Unconstrained(3), labels=["red", "blue", "green"])
    bandit.tell(["red", "blue", "green"], [0.0, 1.0, -90.0])
    assert bandit.explain().summary == (
        "blue leads and is pulled. The next to be checked is red (1 pull, evidence of 0.25 "
        "against it), when blue has more than 3.49 pulls."
    )


def test_who_is_overdue_goes_first() -> None:
    """Means 1 and 0, N = (n, 1): G = n / (n + 1) / 2, and its date is past once G + 1 < ln n."""
    for n, overdue in ((4, False), (5, True)):
        assert (n / (n + 1) / 2 + 1.0 < math.log(n)) == overdue
        bandit = am.Bandit(am.Challenger(), am.Unconstrained(2))
        bandit.tell([0] * n + [1], [1.0] * n + [0.0])
        assert (
            "Right now arm 1 is being checked: 1 pull and" in bandit.explain().summary
        ) == overdue
        assert bandit.ask() == int(overdue)


def test_of_several_who_may_be_the_one_good_arm_the_likeliest_goes_first() -> None:
    """Means 1, 1; -3; 0 and the level 0: that arm 2 is as good as 1 costs 2 / 2 + 1 / 2."""
    bandit = am.Bandit(am.Challenger(), am.Sparse(3, 1, 0.0))
    bandit.tell([0, 0, 1, 2], [1.0, 1.0, -3.0, 0.0])
    assert bandit.explain().summary == (
        "Arm 0 leads and is pulled. The next to be checked is arm 2 (1 pull, evidence of 1.50 "
        "against it), when arm 0 has more than 12.2 pulls."
    )
    bandit = am.Bandit(am.Challenger(), am.Sparse(3, 1, 0.0))
    bandit.tell([0] * 20 + [1, 2], [0.1] * 20 + [-3.0, 0.0])
    assert bandit.ask() == 2  # whoever it is, it costs as much that arm 0 is not


def test_nobody_can_be_as_good_as_the_one_good_arm_seems() -> None:
    """After one sale and no other, and where another arm can't even have the leader's mean."""
    for family, sale in ((am.Bernoulli(), 1.0), (am.Bernoulli(scale=[1.0, 5.0, 1.0]), 5.0)):
        bandit = am.Bandit(am.Challenger(), am.Sparse(3, 1, 0.3), family)
        bandit.tell([0, 1, 2], [0.0, sale, 0.0])
        assert bandit.ask() == 1
        assert "no other arm can be as good as it seems so far" in bandit.explain().summary
