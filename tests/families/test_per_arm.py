"""Parameters for each arm, intervals: pooling, bounds, games and policies with them."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from dual_reference import check_certificate, dual_value_or_none
from scipy.optimize import minimize_scalar
from structures_again import KINDS, random_structure

import armature as am
from armature.experiments import load_instance
from armature.storage.registry import POLICIES
from armature.structures.oracles.model import DERIVED, make_model
from armature.structures.oracles.records import ENTRIES
from armature.structures.oracles.scaled import meeting_point
from armature.testing import check_policy, further_families

FORMS = pytest.mark.parametrize("form", range(3), ids=["sigmas", "scales", "interval"])


@pytest.mark.checks("Bernoulli", by="where arms meet, against SciPy")
def test_where_arms_meet(rng: np.random.Generator) -> None:
    """The minimum of the sum of divergences, by SciPy, on arms of very different scales."""
    for _ in range(200):
        K = int(rng.integers(2, 7))
        scale = 10.0 ** rng.uniform(-1.0, 2.0, K)
        share = np.clip(rng.uniform(-0.3, 1.3, K), 0.0, 1.0)
        x, w = scale * share, 10.0 ** rng.uniform(-4.0, 0.0, K)
        family, arms = am.Bernoulli(scale.tolist()), np.arange(K)
        y = meeting_point(family.record_for(K), x, w, arms)
        cap = scale.min()
        assert 0.0 <= y <= cap

        def cost(z: float, x: np.ndarray = x, w: np.ndarray = w, s: np.ndarray = scale) -> float:
            with np.errstate(all="ignore"):
                a, b = x / s, z / s
                own = np.where(a > 0.0, a * np.log(a / b), 0.0)
                own += np.where(a < 1.0, (1.0 - a) * np.log((1.0 - a) / (1.0 - b)), 0.0)
            return float(w @ own)

        found = minimize_scalar(
            cost, bounds=(1e-12 * cap, cap * (1.0 - 1e-12)), method="bounded",
            options={"xatol": 1e-13 * cap},
        )  # fmt: skip
        least = min(found.fun, *(cost(end) for end in (1e-12 * cap, cap * (1.0 - 1e-12))))
        own = min(cost(y), cost(min(max(y, 1e-12 * cap), cap * (1.0 - 1e-12))))
        assert own <= least + 1e-9 * w.max()


def test_arms_of_one_scale_meet_at_their_mean(rng: np.random.Generator) -> None:
    x, w = rng.uniform(0.0, 3.0, 6), rng.exponential(size=6)
    family = am.Bernoulli([3.0, *np.nextafter([3.0] * 5, 4.0)])  # not quite alike
    y = meeting_point(family.record_for(6), x, w, np.arange(6))
    assert y == pytest.approx(w @ x / w.sum(), rel=1e-14)


def test_weightless_arms_limit_where_others_meet() -> None:
    family = am.Bernoulli([0.5, 2.0, 2.5])
    x, w = np.array([0.4, 1.0, 1.5]), np.array([0.0, 1.0, 1.0])
    assert meeting_point(family.record_for(3), x, w, np.arange(3)) == 0.5
    assert am.Unimodal(3).project([0.4, 0.1, 2.0], w * 0.0, family).cost == 0.0


def random_instance(kind: type[am.Structure], form: int, rng: np.random.Generator) -> am.Instance:
    while True:
        structure = random_structure(kind, rng)
        families, K = further_families(structure), structure.n_arms
        if len(families) <= form:
            continue  # a level that is no mean of every arm
        family = families[form]
        target = family.clipped(rng.uniform(0.1, 0.9, K))
        means = np.clip(structure.project(target, np.ones(K), family).means, 0.0, 1.0)
        ranked = np.sort(means)
        inside = (family.clipped(means * 1.02) == means * 1.02).all()
        if ranked[-1] - ranked[-2] > 0.05 and ranked[0] > 0.02 and inside:
            return am.Instance(structure, means, family)


@pytest.mark.checks("Gaussian", "Bernoulli", "Bounded", by="a convex program for lower bounds")
@FORMS
@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.__name__)
def test_bounds_against_a_convex_program(
    kind: type[am.Structure], form: int, n_problems: int, rng: np.random.Generator
) -> None:
    compared = 0
    while compared < n_problems // 25:
        instance = random_instance(kind, form, rng)
        epsilon = 0.1 if compared % 2 else None
        bound = am.lower_bound(instance, epsilon)
        check_certificate(instance, bound, epsilon)
        assert bound.value <= bound.unconstrained * (1.0 + 1e-5)
        value = dual_value_or_none(instance, epsilon)
        if value is None:
            continue
        slack = 1e-5 if bound.value > 0.0 else 1e-2
        assert bound.value == pytest.approx(value, rel=5e-5, abs=slack), instance
        compared += 1


@FORMS
@pytest.mark.parametrize("learner", ["k", "lambda"])
def test_games(learner: str, form: int) -> None:
    structure = am.Unimodal(4)
    family = further_families(structure)[form]
    instance = am.Instance(structure, family.clipped(np.array([0.2, 0.4, 0.7, 0.3])), family)
    game = am.solve_game(instance, learner, epsilon=0.2, rounds=3000)
    value = am.lower_bound(instance, 0.2).value
    assert game.lower[-1] <= value * (1.0 + 1e-6)
    assert value <= game.upper[-1] * (1.0 + 1e-6)
    assert game.upper[-1] <= 1.5 * game.lower[-1]


def test_an_arm_that_can_never_be_as_good() -> None:
    """Sold to everyone, arm 1 would bring 2: no data could make it better than arm 0."""
    family = am.Bernoulli([10.0, 2.0, 20.0])
    instance = am.Instance(am.Unconstrained(3), [5.0, 1.0, 4.0], family)
    bound = am.lower_bound(instance)
    own = am.Bernoulli(20.0).divergence(4.0, 5.0)
    assert bound.value == pytest.approx(1.0 / own, rel=1e-6)
    assert bound.unconstrained == pytest.approx(1.0 / own, rel=1e-6)
    for policy in (am.IMED(), am.KLUCB(), am.SPk(), am.Challenger()):
        pulls = am.simulate(instance, [policy], 2000, 2).pulls(policy.name)[:, -1]
        assert (pulls[:, 1] <= 20).all(), policy


ANY_STRUCTURE = am.Unimodal(4)
HOMES = (
    ANY_STRUCTURE, am.Categorised("aabb"), am.Sparse(4, 2, 0.1), am.Linear(np.eye(4)[:, :3]),
    am.Finite([[0.1, 0.5, 0.2, 0.05], [0.1, 0.5, 0.2, 0.6], [0.4, 0.3, 0.2, 0.1]]),
)  # fmt: skip


@pytest.mark.parametrize("kind", POLICIES.values(), ids=lambda kind: kind.__name__)
def test_policies(kind: type[am.Policy]) -> None:
    """Each policy with each form on a structure that it is for, and one unknown sigma."""
    policy = kind.examples()[0]
    tried = 0
    for structure in HOMES:
        for family in (*further_families(structure), am.Gaussian(sigma=None)):
            if policy.supports(structure, family):
                check_policy(policy, structure, family, 15)
                tried += 1
        if tried:
            break
    assert tried


@pytest.mark.parametrize("kind", POLICIES.values(), ids=lambda kind: kind.__name__)
def test_equal_sigmas_are_one_sigma(kind: type[am.Policy]) -> None:
    policy = kind.examples()[0]
    structure = next(s for s in HOMES if policy.supports(s, am.Gaussian()))
    target = np.array([0.1, 0.5, 0.2, 0.05])
    means = structure.project(target, np.ones(4), am.Gaussian()).means
    one, each = (
        am.simulate(am.Instance(structure, means, family), [policy], 200, 1).pulls(policy.name)
        for family in (am.Gaussian(0.7), am.Gaussian([0.7] * 4))
    )
    assert (one == each).all()


def test_a_noisier_arm_counts_for_less() -> None:
    """Worked by hand: weights N / sigma^2 are 4 and 1, and the means meet at 0.8 and 0.2."""
    family = am.Gaussian([0.5, 1.0])
    fit = am.Unconstrained(2).nearest_alternative([1.0, 0.0], [1.0, 1.0], 0, family)
    assert fit.means == pytest.approx([0.8, 0.8])
    assert fit.cost == pytest.approx(0.5 * (4.0 * 0.04 + 0.64))


def test_json_and_files(tmp_path) -> None:
    """What a bandit is told of its rewards survives being saved, also in a file of TOML."""
    for family in (
        am.Gaussian([1.0, 2.0, 3.0]),
        am.Gaussian(sigma=None),
        am.Bernoulli([1.0, 2.0, 5.0]),
        am.Bounded(-1.0, 2.0),
    ):
        bandit = am.Bandit(am.KLUCB(), am.Unconstrained(3), family)
        for arm in (0, 1, 2, 2):
            bandit.tell(arm, 0.0)
        text = bandit.to_json()
        again = am.Bandit.from_json(text)
        assert again.family == family == bandit.family
        assert json.loads(text) == json.loads(again.to_json())
        assert bandit.ask() == again.ask()
    path = tmp_path / "prices.toml"
    path.write_text(
        "means = [2.0, 3.0, 1.0]\n"
        'structure = { kind = "unimodal", n_arms = 3 }\n'
        'family = { kind = "bernoulli", scale = [4.0, 5.0, 6.0] }\n'
    )
    assert load_instance(path).family == am.Bernoulli([4.0, 5.0, 6.0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: am.Gaussian([1.0]), "sigma has 1 entries: give one number for all arms, or one"),
        (lambda: am.Gaussian([1.0, 0.0]), r"sigma\[1\] must be a positive finite number; got 0.0"),
        (lambda: am.Gaussian([1.0, 2.0], known=False), "known=False is for one sigma"),
        (lambda: am.Gaussian(None, known=False), "known=False is for one sigma"),
        (lambda: am.Gaussian(known=1), "known must be True or False"),
        (lambda: am.Gaussian(None).divergence(0.0, 1.0), "no divergence before sigma is estimated"),
        (lambda: am.Bernoulli(-1.0), "scale must be a positive finite number"),
        (lambda: am.Bounded(1.0, 1.0), "low = 1 must be below high = 1"),
        (lambda: am.Bounded(0.0, math.inf), "high must be a finite number"),
        (lambda: am.Bounded("0", 1.0), "low must be a finite number"),
        (
            lambda: am.Unimodal(3).project([0.1] * 3, [1] * 3, am.Gaussian([1.0, 2.0])),
            "is about 2 arms, where there are 3: give one number for all arms, or one for each",
        ),
        (
            lambda: am.Bandit(am.UCB(), am.Unimodal(3), am.Bernoulli([1.0, 2.0])),
            "is about 2 arms, where there are 3",
        ),
        (
            lambda: am.Unimodal(2).project([0.1, 3.0], [1, 1], am.Bernoulli([1.0, 2.0])),
            r"means\[1\] = 3 is not a mean of Bernoulli\(scale=2.0\)",
        ),
        (
            lambda: am.Bernoulli([1.0, 2.0]).divergence([0.1, 0.2, 0.3], 0.1),
            "x has 3 entries, where .* is about 2 arms",
        ),
        (
            lambda: am.Sparse(3, 1, 1.5).project([1.5] * 3, [1] * 3, am.Bernoulli([2.0, 1.0, 2.0])),
            r"level = 1.5 is not a mean of Bernoulli\(\) rewards",
        ),
        (
            lambda: am.Instance(am.Unimodal(3), [0.0, 1.0, 0.0], am.Gaussian(None)),
            "known=False. for a simulation",
        ),
        (
            lambda: am.Unimodal(3).project([0.0] * 3, [1] * 3, am.Gaussian(None)),
            "no divergence before sigma is estimated",
        ),
    ],
)
def test_refusals(call: object, message: str) -> None:
    with pytest.raises(am.ArmatureError, match=message):
        call()


def test_no_policy_asks_one_peak_for_what_is_derived_with_scales() -> None:
    """A policy that did would solve a dense program in every round."""
    structure, family = am.Unimodal(5), am.Bernoulli([4.0, 5.0, 6.0, 7.0, 8.0])
    policies = [kind.examples()[0] for kind in POLICIES.values()]
    compiled = [p for p in policies if isinstance(p, am.CompiledPolicy)]  # others name no oracles
    asking = [p for p in compiled if p.oracles and p.supports(structure, family)]
    assert len(asking) >= 10
    for policy in asking:
        table = make_model(structure, family, policy.oracles).table
        slow = [name for name in policy.oracles if table[DERIVED + ENTRIES.index(name)]]
        assert not set(slow) - {"highest"}, policy


def test_a_reward_that_an_arm_can_not_have_is_refused() -> None:
    bandit = am.Bandit(am.KLUCB(), am.Unimodal(3), am.Bernoulli([1.0, 2.0, 5.0]))
    bandit.tell(1, 2.0)
    with pytest.raises(am.ArmatureError, match=r"can't come from Bernoulli\(scale=5.0\).*{0, 5}"):
        bandit.tell(2, 2.0)
    assert bandit.pulls.tolist() == [0, 1, 0]
