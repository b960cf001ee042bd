"""A structure, a policy and a family from outside of the package are as good as its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from newcomers.binomial import Binomial
from newcomers.greedy import Greedy
from newcomers.staircase import Staircase
from scipy import stats

import armature as am
from armature.rounds.rewards import make_rewards, next_reward
from armature.testing import check_family, check_policy, check_structure

STAIRS, FAMILY = Staircase(3, 0.1), Binomial(3)
MEANS = [0.3, 0.6, 0.9]
GENERIC = (am.SPk(), am.Challenger(), am.ThompsonSampling(), am.StructuredUCB(), am.UCB())


def test_the_family_keeps_its_promises() -> None:
    check_family(Binomial(1))
    check_family(Binomial(4))
    x, y = np.array([0.1, 0.5, 0.9]), np.array([0.2, 0.4, 0.95])
    one = Binomial(1)
    np.testing.assert_allclose(one.divergence(x, y), am.Bernoulli().divergence(x, y), rtol=1e-12)
    np.testing.assert_allclose(one.upper(x, 0.3), am.Bernoulli().upper(x, 0.3), rtol=1e-9)


def test_the_familys_rewards() -> None:
    rewards, record = make_rewards(np.array([1.2]), 0, 0), FAMILY.record_for(1)
    drawn = np.array([next_reward(record, rewards, 0) for _ in range(20_000)])
    counts = np.bincount(drawn.astype(int), minlength=4)
    expected = stats.binom(3, 0.4).pmf(np.arange(4)) * drawn.size
    assert stats.chisquare(counts, expected).pvalue > 1e-6


def test_the_structure_keeps_its_promises() -> None:
    check_structure(STAIRS, [am.Gaussian(), am.Bernoulli(), FAMILY], problems=10)
    assert STAIRS.contains(MEANS)
    assert "should be at most -0.1" in STAIRS.violation_of([0.3, 0.35, 0.9])


def test_its_bounds() -> None:
    """The other end must be best: the middle arm falls, the first one rises above the last."""
    instance = am.Instance(STAIRS, MEANS, FAMILY)
    bound = am.lower_bound(instance)
    assert bound.gap <= 1e-6
    assert 0.0 < bound.value < bound.unconstrained
    # Falling stairs from (1.1, 1.0, 0.9): arm 1 moves too, but arm 0 tells more per regret.
    told = FAMILY.divergence(0.3, 1.1), FAMILY.divergence(0.6, 1.0)
    assert bound.value == pytest.approx(min(0.6 / told[0], 0.3 / told[1]), rel=1e-5)
    game = am.solve_game(instance, "k", epsilon=0.1, rounds=500)
    assert game.lower[-1] <= game.upper[-1]


@pytest.mark.parametrize("policy", [Greedy(), *GENERIC], ids=lambda p: p.name)
def test_policies(policy: am.Policy) -> None:
    check_policy(policy, STAIRS, FAMILY, rounds=60)


def test_simulation() -> None:
    instance = am.Instance(STAIRS, MEANS, FAMILY)
    policies = [Greedy(), Greedy(0.5), *GENERIC]
    one = am.simulate(instance, policies, horizon=300, repetitions=6, workers=1)
    two = am.simulate(instance, policies, horizon=300, repetitions=6, workers=2)
    for policy in policies:
        np.testing.assert_array_equal(one.regret(policy.name), two.regret(policy.name))
    assert one.summary().loc["Greedy", "regret"] > 0.0


def test_live_use_and_json() -> None:
    bandit = am.Bandit(Greedy(), STAIRS, FAMILY, seed=1)
    rng = np.random.default_rng(0)
    for _ in range(30):
        arm = bandit.ask()
        bandit.tell(arm, FAMILY.sample(MEANS[arm], rng))
    assert "fitted" in str(bandit.explain())
    text = bandit.to_json()
    with pytest.raises(am.ArmatureError, match="allow"):
        am.Bandit.from_json(text)
    again = am.Bandit.from_json(text, allow=["newcomers"])
    assert [again.ask() for _ in range(5)] == [bandit.ask() for _ in range(5)]
    with pytest.raises(am.ArmatureError, match="its rewards lie in"):
        bandit.tell(0, 0.5)


SPEC = """
means = [0.3, 0.6, 0.9]
horizon = 100
repetitions = 2
policies = ["ucb", {kind = "newcomers.greedy:Greedy", epsilon = 0.2}]

[structure]
kind = "newcomers.staircase:Staircase"
n_arms = 3
step = 0.1

[family]
kind = "newcomers.binomial:Binomial"
trials = 3
"""


def test_a_spec(tmp_path: Path) -> None:
    (tmp_path / "stairs.toml").write_text(SPEC)
    command = [sys.executable, "-m", "armature", "run", str(tmp_path / "stairs.toml"), "--json"]
    here = Path(__file__).parents[1] / "helpers"  # the current folder is where the modules are
    refused = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "allow" in refused.stderr
    command += ["--allow", "newcomers"]
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Greedy(epsilon=0.2)" in json.dumps(json.loads(done.stdout))


def test_a_family_without_formulas_is_refused() -> None:
    class Vague(am.Family):
        domain = am.Interval(0.0, 1.0)
        support = am.Interval(0.0, 1.0)

    for use in (
        lambda: Vague().divergence(0.1, 0.2),
        lambda: am.Instance(am.Unconstrained(2), [0.1, 0.2], Vague()),
        lambda: am.Bandit(am.UCB(), am.Unconstrained(2), Vague()),
        lambda: am.Unimodal(2).project([0.1, 0.2], [1.0, 1.0], Vague()),
    ):
        with pytest.raises(am.ArmatureError, match="Vague declares no formulas"):
            use()


def test_a_structure_that_declares_nothing_is_refused() -> None:
    class Vague(am.Structure):
        def __init__(self) -> None:
            self.n_arms = 2

    for use in (
        lambda: Vague().project([0.1, 0.2], [1.0, 1.0], am.Gaussian()),
        lambda: am.Instance(Vague(), [0.1, 0.2]),
        lambda: am.Bandit(am.SPk(), Vague()),
        lambda: am.Bandit(am.StructuredUCB(), Vague()),
    ):
        with pytest.raises(am.ArmatureError, match="Vague declares no pieces"):
            use()


def test_overridden_methods_are_honoured() -> None:
    """A class that changes one method of a compiled structure: compiled callers see the change."""

    class Lifted(am.Unimodal):
        def project(self, means, weights, family):
            fit = super().project(means, weights, family)
            return am.Fit(np.array([0.0, 9.0, 0.0]), fit.cost)

    bandit = am.Bandit(am.ProjectedThompson(), Lifted(3))
    for arm in (0, 1, 2):
        bandit.tell(arm, 1.0 if arm == 2 else 0.0)
    assert {bandit.ask() for _ in range(20)} == {1}
    plain = am.Bandit(am.ProjectedThompson(), am.Unimodal(3))
    for arm in (0, 1, 2):
        plain.tell(arm, 1.0 if arm == 2 else 0.0)
    assert {plain.ask() for _ in range(20)} != {1}


def test_structures_in_plain_python_are_let_go() -> None:
    """A model refers to such a structure by number; the number of one that is gone is free."""
    import gc

    from armature.structures.oracles import callbacks

    class Plain(am.Unimodal):
        def project(self, means, weights, family):
            return super().project(means, weights, family)

    for _ in range(30):
        am.Bandit(am.ProjectedThompson(), Plain(3)).ask(5)
    gc.collect()
    assert len(callbacks._STRUCTURES) < 10
