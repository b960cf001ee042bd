"""A sigma that is not known: its estimate, and policies that rest on it."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from plain_structure import Plain
from scipy import stats

import armature as am
from armature.experiments import load_instance
from armature.families.kernels import estimate_variance, inflation
from armature.rounds.rewards import make_rewards, next_reward
from armature.storage.registry import POLICIES
from studies.unknown_sigma import kept_in, play, table


def estimate(rewards: list[list[float]]) -> float:
    """The estimate from each arm's rewards, by NumPy up to the kernel's own arguments."""
    pulls = np.array([float(len(own)) for own in rewards])
    means = np.array([np.mean(own) if own else 0.0 for own in rewards])
    squares = np.array(
        [np.sum((np.array(own) - np.mean(own)) ** 2) if own else 0.0 for own in rewards]
    )
    return estimate_variance(pulls, means, squares)


@pytest.mark.checks("Gaussian", by="a case by hand")
def test_worked_by_hand() -> None:
    """Residuals 0.5 + 2 with two degrees of freedom, and one more for means 1 and 3: 2 apart."""
    total, freedom = 0.5 + 2.0 + 2.0, 3.0
    a = 2.0 * math.log(5.0) / freedom
    expected = total / freedom * (math.exp(a) - 1.0) / a
    assert estimate([[0.5, 1.5], [2.0, 4.0]]) == pytest.approx(expected, rel=1e-12)
    assert estimate([[0.5, 1.5], [2.0, 4.0], []]) == pytest.approx(expected, rel=1e-12)


def test_inflation_is_that_of_the_likelihood_ratio() -> None:
    """A deviation of the enlarged level has the likelihood ratio ln(1 + n) with sigma profiled."""
    for freedom, rounds in ((1.0, 5.0), (7.0, 30.0), (1e3, 2e3)):
        level = math.log(1.0 + rounds)
        square = 2.0 * level * inflation(freedom, rounds)  # in units of the variance's estimate
        assert 0.5 * freedom * math.log1p(square / freedom) == pytest.approx(level, rel=1e-12)


def test_it_comes_down_to_the_variance(rng: np.random.Generator) -> None:
    rewards = [(mean + 3.0 * rng.normal(size=2000)).tolist() for mean in (0.0, 5.0, 50.0)]
    assert estimate(rewards) == pytest.approx(9.0, rel=0.08)
    assert estimate([own[:3] for own in rewards]) > 9.0


@pytest.mark.checks("Gaussian", by="an unknown sigma, simulated")
def test_it_is_seldom_too_small(rng: np.random.Generator) -> None:
    """An arm's interval at level ln(1 + n) misses its mean at most half as often again as with
    sigma known, where the plain estimate makes it miss two to four times as often.
    """
    for K, extra in ((2, 1), (5, 1), (5, 4)):
        n, misses, plain = K + extra, 0, 0
        for _ in range(2000):
            rewards = [rng.normal(size=1 + extra * (k == 0)).tolist() for k in range(K)]
            reach, off = 2.0 * math.log(1.0 + n) / (1 + extra), abs(np.mean(rewards[0]))
            misses += off > math.sqrt(reach * estimate(rewards))
            plain += off > math.sqrt(reach * np.var(rewards[0], ddof=1))
        known = 2000 * 2.0 * stats.norm.sf(math.sqrt(2.0 * math.log(1.0 + n)))
        assert misses <= 1.5 * known + 3.0 * math.sqrt(known), (K, extra)
        assert plain >= 2.0 * known, (K, extra)


def test_units_and_offsets(rng: np.random.Generator) -> None:
    rewards = [rng.normal(size=n).tolist() for n in (1, 2, 5)]
    plain = estimate(rewards)
    scaled = estimate([[4.0 * r for r in own] for own in rewards])
    shifted = estimate([[r + 8.0 for r in own] for own in rewards])
    assert scaled == 16.0 * plain
    assert shifted == pytest.approx(plain, rel=1e-12)


@pytest.mark.parametrize("value", [0.0, 0.1, -3.0, 1e30, 1e-30])
def test_equal_rewards_are_not_no_noise(value: float) -> None:
    """Never 0; and two equal rewards beside another arm's leave it as large as the arms differ."""
    for n in (1, 2, 7):
        assert estimate([[value] * n, [value] * n]) > 0.0
    assert estimate([[1.0, 1.0], [2.0]]) > 0.25
    assert estimate([[1.0]]) >= 1.0


def unlucky_runs(policy: am.Policy, structure: am.Structure, means: np.ndarray) -> int:
    """Of twenty, how many settle on a wrong arm where the first two rewards of each arm are equal.

    The best arm's are one sigma too low.
    """
    best, settled = int(np.argmax(means)), 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        bandit = am.Bandit(policy, structure, am.Gaussian(sigma=None), seed, horizon=400)
        for _ in range(400):
            arm = bandit.ask()
            if bandit.pulls[arm] < 2:
                reward = means[arm] - (1.0 if arm == best else 0.0)
            else:
                reward = means[arm] + rng.normal()
            bandit.tell(arm, reward)
        settled += bool(bandit.pulls[best] < 20)
    return settled


@pytest.mark.parametrize("policy", [am.SPk(), am.Challenger(), am.KLUCB()], ids=lambda p: p.name)
def test_no_run_settles_because_two_rewards_were_equal(policy: am.Policy) -> None:
    means = np.array([0.0, 0.8, 1.6])
    assert unlucky_runs(policy, am.Unimodal(3), means) == 0


@pytest.mark.parametrize("kind", POLICIES.values(), ids=lambda kind: kind.__name__)
def test_online_and_simulated_decisions_are_the_same(kind: type[am.Policy]) -> None:
    """The pulls at every checkpoint; rewards come with a sigma that neither is told."""
    policy, names = kind(), ("unimodal-1", "categorised-2", "linear", "sparse-2", "scenarios")
    shipped = next(i for i in map(load_instance, names) if policy.supports(i.structure, i.family))
    family = am.Gaussian(2.0, known=False)
    instance = am.Instance(shipped.structure, shipped.means, family)
    told = am.Gaussian(sigma=None)
    if not policy.supports(instance.structure, told):
        with pytest.raises(am.ArmatureError, match="sigma is not known"):
            am.simulate(instance, [policy], horizon=150, repetitions=1)
        return
    results = am.simulate(instance, [policy], horizon=150, repetitions=1, seed=7)
    bandit = am.Bandit(policy, instance.structure, told, seed=7, horizon=150)
    rewards, seen = make_rewards(instance.means, 7, 0), {}
    for t in range(1, 151):
        arm = bandit.ask()
        bandit.tell(arm, next_reward(family.record_for(instance.n_arms), rewards, arm))
        seen[t] = bandit.pulls.tolist()
    for at, t in enumerate(results.checkpoints):
        assert seen[t] == results.pulls(policy.name)[0, at].tolist()


def test_rewards_in_another_unit_change_no_decision() -> None:
    """Without being told: the estimate is in that unit."""
    for policy in (
        am.UCB(),
        am.IMED(),
        am.Challenger(),
        am.ThompsonSampling(),
        am.OSSB(epsilon=0.1),
    ):
        one, other = (
            am.simulate(
                am.Instance(am.Unimodal(3), unit * np.array([0.0, 1.0, 0.5]),
                            am.Gaussian(unit, known=False)),
                [policy], 300, 2,
            ).pulls(policy.name)
            for unit in (1.0, 2.0**20)
        )  # fmt: skip
        assert (one == other).all(), policy


def test_bounds_know_what_policies_are_not_told() -> None:
    means = [0.2, 0.4, 0.9, 0.7, 0.1]
    one, other = (
        am.lower_bound(am.Instance(am.Unimodal(5), means, family))
        for family in (am.Gaussian(2.0), am.Gaussian(2.0, known=False))
    )
    assert one.value == other.value


def test_explain_says_what_it_rests_on(rng: np.random.Generator) -> None:
    bandit = am.Bandit(am.SPk(), am.Unimodal(3), am.Gaussian(sigma=None))
    assert bandit.explain().sigma == 1.0  # nothing is known
    for _ in range(300):
        arm = bandit.ask()
        bandit.tell(arm, arm + 5.0 * rng.normal())
    explanation = bandit.explain()
    assert explanation.sigma == pytest.approx(5.0, rel=0.2)
    assert f"the rewards so far say about {explanation.sigma:.4g}" in str(explanation)
    known = am.Bandit(am.SPk(), am.Unimodal(3)).explain()
    assert known.sigma is None
    assert "not known" not in str(known)


def test_a_structure_in_plain_python(rng: np.random.Generator) -> None:
    """It is asked with the estimate, and decides as the library's own."""
    plain = am.Bandit(am.Challenger(), Plain(3), am.Gaussian(sigma=None))
    compiled = am.Bandit(am.Challenger(), am.Unconstrained(3), am.Gaussian(sigma=None))
    for _ in range(60):
        arm = plain.ask()
        assert arm == compiled.ask()
        reward = arm + rng.normal()
        plain.tell(arm, reward)
        compiled.tell(arm, reward)


class Watching(am.PythonPolicy):
    """In plain Python: it notes what it is told of sigma."""

    def init(self, structure, family):
        return {"sigmas": []}

    def choose(self, state, problem, history, rng):
        state["sigmas"].append(problem.family.sigma)
        return int(rng.integers(problem.structure.n_arms))


def estimate_from(rewards: list[list[float]]) -> float:
    """Sigma from the rewards of each arm."""
    pulls = np.array([float(len(own)) for own in rewards])
    means = np.array([np.mean(own) if own else 0.0 for own in rewards])
    squares = np.array(
        [((np.array(own) - m) ** 2).sum() for own, m in zip(rewards, means, strict=True)]
    )
    return float(np.sqrt(estimate_variance(pulls, means, squares)))


def test_a_policy_in_plain_python_is_told_the_estimate(rng: np.random.Generator) -> None:
    """In every round that of the rewards so far, which comes to be about right."""
    bandit = am.Bandit(Watching(), am.Unconstrained(2), am.Gaussian(2.0, known=False))
    rewards: list[list[float]] = [[], []]
    expected = []
    for _ in range(200):
        told = len(bandit._decisions.state["sigmas"])
        arm = bandit.ask()
        if len(bandit._decisions.state["sigmas"]) > told:
            expected.append(estimate_from(rewards))
        rewards[arm].append(2.0 * rng.normal())
        bandit.tell(arm, rewards[arm][-1])
    sigmas = bandit._decisions.state["sigmas"]
    assert len(sigmas) > 190
    assert sigmas == pytest.approx(expected, rel=1e-9)
    assert sigmas[-1] == pytest.approx(2.0, rel=0.2)


def test_the_study(tmp_path) -> None:
    """A pair as it is kept and read back, and its row."""
    pair = play("unimodal-1", am.UCB(), 50, 2, 1)
    (tmp_path / "kept.jsonl").write_text(json.dumps(pair) + "\n")
    assert kept_in(tmp_path / "kept.jsonl") == [pair]
    assert pair.ratio == pair.unknown / pair.known > 0.0
    assert f"| `UCB` | 1 | {pair.ratio:.3f} |" in "\n".join(table([pair]))
    assert f"**{pair.ratio:.3f}**" in table([pair, pair])[-1]
