"""Restarting: decision by decision against a slow twin, what it gains, what it refuses and says."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import armature as am
from armature.bounds.change import look_for_change
from armature.bounds.splits import count, decide, make_splits
from armature.families.kernels import learning_address
from armature.live.warm_start import PastSums, write_summary
from armature.policies.policy import make_history
from armature.rounds.runner import make_runner

FIRST, LATER = [0.1, 0.3, 0.9, 0.2, 0.1], [0.8, 0.6, 0.5, 0.2, 0.1]


class Twin:
    """Restarting as its docstring says it: from lists of rewards, with policies made anew."""

    def __init__(self, policy: am.Restarting, structure, family, seed: int) -> None:
        self.policy, self.structure, self.family, self.seed = policy, structure, family, seed
        self.K, self.known, self.new = structure.n_arms, [], []  # rewards since the last change
        self.inner = make_runner(policy.policy, structure, family, seed)
        self.random = self.inner.random
        self.trial = None
        self.suspected: int | None = None
        self.begin()
        self.restarts = 0

    def begin(self) -> None:
        self.splits = make_splits(self.K)
        for arm, reward in self.known:
            self.splits.now[:, arm] += 1.0, reward
            self.splits.reference[0] = self.splits.now
        total = self.splits.now[0].sum()
        share = self.splits.now[0] / total if total else np.full(self.K, 1.0 / self.K)
        self.splits.shares[0] = 0.5 * share + 0.5 / self.K

    def rewards(self) -> list[tuple[int, float]]:
        if self.suspected is None:
            return self.known + self.new
        return self.new[self.suspected :]

    def next(self) -> int:
        N, S = np.zeros(self.K), np.zeros(self.K)
        for arm, reward in self.rewards():
            N[arm] += 1.0
            S[arm] += reward
        if self.policy.policy.starts_with_each_arm and (N == 0.0).any():
            return int(np.argmin(N))
        if self.suspected is not None and len(self.new) % 32 == 0:
            before = [arm for arm, _ in self.known + self.new[: self.suspected]]
            return int(np.bincount(before, minlength=self.K).argmax())
        runner = self.inner if self.suspected is None else self.trial
        assert runner is not None
        history = make_history(self.K)
        runner.history = history
        write_summary(runner, PastSums(N, S, np.zeros(self.K)))
        runner.random = self.random
        return runner.next(history)

    def tell(self, arm: int, reward: float) -> None:
        count(self.splits, arm, reward, len(self.new))
        self.new.append((arm, reward))
        if not decide(self.splits):
            return
        found = look_for_change(
            self.splits, self.family.record_for(self.K), learning_address(self.family)
        )
        enough = math.log(1.0 / self.policy.false_alarms)
        level = enough - 6.0 if self.policy.wary else math.inf
        before, self.suspected = self.suspected, None
        if found.slot < 0 or found.log_e < min(level, enough):
            return
        if before is None:
            self.trial = make_runner(self.policy.policy, self.structure, self.family, self.seed)
        split = int(self.splits.at[found.slot])
        if found.log_e < enough:
            self.suspected = split
            return
        self.known, self.new = self.new[split:], []
        self.inner, self.trial = self.trial, None
        self.restarts += 1
        self.begin()


PROBLEMS = [
    (am.Unimodal(5), am.Bernoulli(), FIRST, LATER),
    (am.Unimodal(5), am.Gaussian(), [3.0 * m for m in FIRST], [3.0 * m for m in LATER]),
    (am.Unconstrained(5), am.Poisson(), [4.0 * m for m in FIRST], [4.0 * m for m in LATER]),
]
INSIDE = [am.Challenger(), am.IMED(), am.ThompsonSampling()]


@pytest.mark.checks("Restarting", by="a slow twin, decision by decision")
@pytest.mark.parametrize(("structure", "family", "first", "later"), PROBLEMS, ids=str)
@pytest.mark.parametrize("inside", INSIDE, ids=str)
@pytest.mark.parametrize("wary", [True, False])
def test_decision_by_decision(structure, family, first, later, inside, wary):
    policy, rng = am.Restarting(inside, wary=wary), np.random.default_rng(2)
    bandit, twin = am.Bandit(policy, structure, family, seed=4), Twin(policy, structure, family, 4)
    for t in range(900):
        arm = bandit.ask()
        assert arm == twin.next(), t
        reward = float(family.sample((first if t < 400 else later)[arm], rng))
        bandit.tell(arm, reward)
        twin.tell(arm, reward)
        if t % 150 == 75:
            bandit = am.Bandit.from_json(bandit.to_json())
    state = bandit._decisions.state
    assert state.marks[0] == twin.restarts
    assert twin.restarts >= 1 or (wary and twin.suspected is not None)


@am.kernel
def learn(state, model, history, arm, reward) -> None:
    pass


class Learns(am.UCB):
    update = learn


def run_of(policy, means, rounds, seed, bandit=None):
    rng = np.random.default_rng(seed)
    bandit = bandit or am.Bandit(policy, am.Unimodal(5), am.Bernoulli())
    for _ in range(rounds):
        arm = bandit.ask()
        bandit.tell(arm, float(rng.random() < means[arm]))
    return bandit


def test_it_says_what_it_goes_by():
    bandit = run_of(am.Restarting(), FIRST, 500, 1)
    assert bandit.change() is None
    for more in range(100):
        if "suspected" in str(bandit.explain()):
            break
        run_of(None, LATER, 1, 2 + more, bandit)
    assert "decides as if it were so" in str(bandit.explain())
    bandit.tell([2] * 60, [0.0, 1.0] * 30)
    run_of(None, LATER, 300, 2, bandit)
    since = bandit.policy.restarted(bandit._decisions.state)
    assert abs(since - 500) <= 48
    assert f"after about {since}" in str(bandit.explain())
    assert bandit.explain().pulls.sum() == bandit.pulls.sum() - since  # it rests on those since
    assert bandit.explain().leader == 0
    assert bandit.change() is None  # it is dealt with


def test_pending_pulls_count():
    bandit = run_of(am.Restarting(wary=False), FIRST, 100, 1)
    copy = am.Bandit.from_json(bandit.to_json())
    plain = am.Bandit(
        am.Challenger(), am.Unimodal(5), am.Bernoulli(),
        history={"counts": bandit.pulls, "sums": bandit.means * bandit.pulls},
    )  # fmt: skip
    plain._decisions.state.looked[:] = bandit._decisions.state.looked
    plain._decisions.random.integer[:] = bandit._decisions.random.integer
    assert bandit.ask(40) == plain.ask(40)
    assert bandit.to_json() != copy.to_json()


def test_a_history_in_sums_is_what_is_known():
    past = {"counts": [10, 20, 400, 20, 10], "sums": [1.0, 6.0, 360.0, 4.0, 1.0]}
    bandit = am.Bandit(am.Restarting(wary=False), am.Unimodal(5), am.Bernoulli(), history=past)
    assert (
        bandit.ask()
        == am.Bandit(am.Challenger(), am.Unimodal(5), am.Bernoulli(), history=past).ask()
    )
    bandit.cancel(2)
    run_of(None, FIRST, 40, 1, bandit)
    own = bandit._decisions.state.own
    assert own.pulls.tolist() == bandit.pulls.tolist()
    assert own.sums == pytest.approx(bandit.means * bandit.pulls)


def test_it_gains_much_where_rewards_jump_and_costs_little_where_not():
    policies = [am.Challenger(), am.Restarting(), am.Restarting(am.Guarded())]
    jump = am.Changing([(0, FIRST), (1500, LATER)], am.Unimodal(5), am.Bernoulli())
    results = am.simulate(jump, policies, 3000, 30, seed=1)
    plain, *ours = (results.runs[name].regret[:, -1].mean() for name in results.names)
    assert max(ours) < 0.5 * plain
    stays = am.Instance(am.Unimodal(5), FIRST, am.Bernoulli())
    steady = am.simulate(stays, [am.Challenger(), am.Restarting(wary=False)], 3000, 30, seed=1)
    one, two = (steady.runs[name].regret for name in steady.names)
    assert (one == two).all()  # no alarm: no decision is another


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: am.Restarting(am.Restarting()), "begins anew already"),
        (lambda: am.Restarting(Learns()), "takes in every reward by itself"),
        (lambda: am.Restarting(false_alarms=0.0), "false_alarms"),
        (lambda: am.Restarting(wary=3), "wary"),
        (lambda: am.Bandit(am.Restarting(), am.Unimodal(3), am.Gaussian(sigma=None)), "sigma"),
    ],
)
def test_what_it_is_not_for(make, said):
    with pytest.raises(am.ArmatureError, match=said):
        make()


@pytest.mark.parametrize("name", ["marks", "split_at", "split_clock", "split_shares"])
def test_a_saved_state_that_can_not_be_is_refused(name):
    from armature.storage.files import checksum

    content = json.loads(run_of(am.Restarting(), FIRST, 100, 1).to_json())
    wrong = np.array(content["state"][name])
    wrong.flat[2 if name == "marks" else 1 if name == "split_clock" else 0] = 1000
    content["state"][name] = wrong.tolist()
    del content["checksum"]
    content["checksum"] = checksum(content)
    with pytest.raises(am.ArmatureError, match="can be in"):
        am.Bandit.from_json(json.dumps(content))
