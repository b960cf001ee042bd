"""The guard: decision by decision, what it refuses, how it drops, what it says."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import armature as am
from armature.bounds.evidence import evidence
from armature.experiments.experiment import parse_experiments

WRONG = {  # what policies are told, and the truth
    "Unimodal": (am.Unimodal(5), [1.5, 0.2, 0.1, 1.3, 0.3]),
    "Categorised": (am.Categorised("aabb"), [0.9, 0.2, 0.7, 0.5]),
    "Sparse": (am.Sparse(5, 1, 0.2), [0.5, 0.2, 0.4, 0.2, 0.8]),
    "Linear": (am.Linear([[1.0, 0.0], [0.8, 0.2], [0.0, 1.0], [0.5, 0.5]]), [0.2, 0.9, 0.4, 0.1]),
    "Monotone": (am.Monotone(4), [0.3, 0.8, 0.4, 0.6]),
    "Box": (am.Box(3, high=0.2), [1.0, 0.1, 0.5]),
}
FAMILIES = (am.Gaussian(0.5), am.Bernoulli(), am.Poisson(), am.Exponential())


class GuardTwin:
    """The guard written from its docstring, in NumPy, around a bandit of the policy inside."""

    def __init__(self, guarded: am.Guarded, structure: am.Structure, family: am.Family) -> None:
        self.options, self.structure, self.family = guarded, structure, family
        self.inside = am.Bandit(guarded.policy, structure, family, seed=0)
        self.K = structure.n_arms
        self.N, self.sums = np.zeros(self.K), np.zeros(self.K)
        self.dropped = False
        self.reasons: list[str] = []

    def imed(self, mu: np.ndarray) -> int:
        best = int(np.argmax(mu))
        far = np.asarray(self.family.divergence(mu, np.full(self.K, mu[best])))
        far[best] = 0.0
        return int(np.argmin(self.N * far + np.log(self.N)))

    def guard(self) -> tuple[str, int]:
        mu = self.sums / self.N
        if self.dropped:
            return "dropped", self.imed(mu)
        fit = self.structure.project(mu, self.N, self.family)
        top = np.max(fit.means)
        level = fit.means >= top - 1e-12 * np.abs(fit.means).max()
        # Of several that are level, the one whose own rewards are furthest above it, summed up.
        j, half = int(np.argmax(np.where(level, self.N * (mu - top), -math.inf))), 0.5 * self.K
        if fit.cost > half:
            unlikely = math.exp(-(fit.cost - half - half * math.log(fit.cost / half)))
            if unlikely < self.options.doubt:
                return "doubt", self.imed(mu)
        log = math.log(self.N.sum() + 1.0)
        bar = self.family.upper(float(mu[j]), log / self.N[j])
        if mu.max() > bar:
            return "conflict", self.imed(mu)
        with_one_more = (self.sums + bar) / (self.N + 1.0)
        below = self.family.divergence(np.minimum(with_one_more, bar), np.full(self.K, bar))
        against = (self.N + 1.0) * np.asarray(below)
        against[j] = math.inf
        if against.min() < max(self.options.audit, 0.1 * log):
            return "audit", int(np.argmin(against))
        return "policy", -1

    def choose(self) -> int:
        if (self.N == 0.0).any():
            return int(np.argmin(self.N))
        reason, arm = self.guard()
        self.reasons.append(reason)
        if arm < 0:
            arm = self.inside.ask()
            self.inside.cancel(arm)
        return arm

    def tell(self, arm: int, reward: float) -> None:
        self.inside.tell(arm, reward)
        self.N[arm] += 1.0
        self.sums[arm] += reward
        if (self.N > 0.0).all():
            found = evidence(self.structure, self.family, self.N, self.sums)
            self.dropped |= found.log_e >= math.log(1.0 / self.options.delta)


def rewards_of(family: am.Family, means: list[float], rounds: int) -> np.ndarray:
    rng = np.random.default_rng(11)
    return np.array([family.sample(mean, rng, rounds) for mean in means], dtype=np.float64)


def compare(
    guarded: am.Guarded, twin: GuardTwin, means: list[float], rounds: int
) -> tuple[int, list[str]]:
    """In how many rounds the two differ, and the twin's reasons."""
    bandit = am.Bandit(guarded, twin.structure, twin.family, seed=0)
    rewards = rewards_of(twin.family, means, rounds)
    differences = 0
    for t in range(rounds):
        arm, other = bandit.ask(), twin.choose()
        differences += arm != other
        bandit.tell(arm, rewards[arm, t])
        twin.tell(arm, rewards[arm, t])
    differences += (bandit.evidence().dropped is not None) != twin.dropped
    return differences, twin.reasons


@pytest.mark.checks("Guarded", by="a slow twin, decision by decision")
def test_every_decision() -> None:
    """Over all of these, each reason decides at times, and the two differ nowhere.

    The first has the least audit, a tenth of ln t, which is 0.57 at the end.
    """
    reasons: set[str] = set()
    for n, (structure, means) in enumerate(WRONG.values()):
        family = FAMILIES[(0, 1, 2, 0, 3, 0)[n]]
        guarded = am.Guarded(am.Challenger(), audit=1.1 * n, delta=0.1)
        differences, found = compare(guarded, GuardTwin(guarded, structure, family), means, 300)
        assert differences == 0, (structure, family)
        reasons |= set(found)
    assert reasons == {"dropped", "doubt", "conflict", "audit", "policy"}


@pytest.mark.checks("Guarded", by="planted errors")
@pytest.mark.parametrize("name", ["audit", "doubt", "delta"])
def test_a_mistake_shows(name: str) -> None:
    """A twin with another option is told apart, so that agreement means something."""
    options = {"delta": 0.1, "audit": 1.5}
    guarded = am.Guarded(am.Challenger(), **options)
    other = am.Guarded(am.Challenger(), **{**options, name: {"audit": 3.0}.get(name, 1e-300)})
    structure, means = WRONG["Box" if name == "delta" else "Monotone"]
    twin = GuardTwin(other, structure, am.Gaussian(0.5))
    differences, _ = compare(guarded, twin, means, 300)
    assert differences > 0


def dropped_bandit() -> am.Bandit:
    """A bandit whose structure has just been dropped."""
    bandit = am.Bandit(am.Guarded(), am.Monotone(3), seed=3, labels=["x", "y", "z"])
    rng = np.random.default_rng(0)
    while bandit.evidence().dropped is None:
        arm = bandit.ask()
        bandit.tell(arm, float(rng.normal({"x": 2.5, "y": 0.0, "z": 0.4}[arm], 1.0)))
        assert bandit.pulls.sum() < 2000
    return bandit


@pytest.mark.checks("Guarded", by="decisions after the structure is dropped")
def test_a_dropped_structure() -> None:
    """All data stay, IMED goes on, and the bandit says when and because of which arms."""
    bandit = dropped_bandit()
    rounds = int(bandit.pulls.sum())
    found = bandit.evidence()
    assert found.dropped == rounds
    assert found.log_e >= found.threshold == math.log(100.0)
    assert found.carriers[0] == "xyz"[int(np.argmax(found.shares))]
    assert found.shares.sum() == pytest.approx(found.misfit)
    why = bandit.explain()
    assert "IMED goes on without it; x has the best mean so far." in why.summary
    assert f"The structure was dropped after round {rounds}, mostly because of" in str(why)
    assert json.loads(why.fit.to_json())["dropped"] == rounds
    resumed = am.Bandit.from_json(bandit.to_json())
    assert resumed.evidence().to_json() == found.to_json()
    free = am.Bandit(am.IMED(), am.Unconstrained(3), labels=["x", "y", "z"])
    for name, mean, n in zip("xyz", bandit.means, bandit.pulls, strict=True):
        free.tell([name] * int(n), [float(mean)] * int(n))
    for _ in range(60):
        arm = bandit.ask()
        assert resumed.ask() == free.ask() == arm
        for one in (bandit, resumed, free):
            one.tell(arm, 0.7)
    assert bandit.evidence().dropped == rounds  # the numbers of then
    assert bandit.evidence().log_e == found.log_e


def test_awaited_rewards_are_no_evidence() -> None:
    """A bandit decides as if awaited rewards had come at their means: the guard does not."""
    bandit = am.Bandit(am.Guarded(), am.Monotone(2))
    bandit.tell([0] * 6 + [1] * 6, [1.0] * 6 + [0.0] * 6)
    before = bandit.evidence()
    assert not before.refuted
    for _ in range(3):
        bandit.ask(200)
    bandit.tell(0, 1.0)
    assert bandit.evidence().dropped is None
    assert not bandit.evidence().refuted


def test_other_arms() -> None:
    """An arm that comes or goes leaves the evidence of the others: it drops the structure again."""
    bandit = dropped_bandit()
    bandit.tell(["x", "y"] * 20, [1.5, 0.0] * 20)
    bandit.add_arm("w", after="z")
    assert bandit.evidence().dropped is None
    assert bandit.evidence().refuted
    for _ in range(3):
        bandit.tell(bandit.ask(), 0.0)
    assert bandit.evidence().dropped is not None


def test_a_start_from_sums() -> None:
    """Counts and sums of the past are as good as its rewards, one by one, for the guard too."""
    past = [(0, 1.0), (0, 2.5), (1, 0.1), (1, -0.2), (2, 0.4), (2, 0.6)]
    sums = {"counts": [2, 2, 2], "sums": [3.5, -0.1, 1.0]}
    one, two = (am.Bandit(am.Guarded(), am.Monotone(3), seed=3, history=h) for h in (past, sums))
    rng = np.random.default_rng(0)
    for _ in range(200):
        arm = one.ask()
        assert two.ask() == arm
        reward = float(rng.normal((2.5, 0.0, 0.4)[arm]))
        one.tell(arm, reward)
        two.tell(arm, reward)
    assert one.evidence().dropped == two.evidence().dropped is not None


def test_evidence_of_any_bandit() -> None:
    bandit = am.Bandit(am.UCB(), am.Monotone(2), goal="min")
    bandit.tell([0, 1] * 50, [2.0, 0.0] * 50)  # the better arm comes last: costs fall
    assert bandit.evidence().refuted is False
    wrong = am.Bandit(am.UCB(), am.Monotone(2), goal="min")
    wrong.tell([0, 1] * 50, [0.0, 5.0] * 50)
    found = wrong.evidence(delta=0.05)
    assert found.refuted
    assert found.threshold == math.log(20.0)
    assert found.dropped is None
    bandit.tell([0, 1] * 50, [0.0, 5.0] * 50)  # a change: before and since are judged apart
    assert bandit.evidence(delta=0.05).refuted
    assert bandit.evidence(delta=0.05).threshold == math.log(40.0)
    assert "The structure is refuted" in str(bandit.explain())


def test_explanations() -> None:
    bandit = am.Bandit(am.Guarded(), am.Monotone(3))
    assert "Each arm is pulled once first" in bandit.explain().summary
    bandit.tell([0, 1, *[2] * 100], [0.1, 0.2, *[0.3] * 100])
    assert "Arm 1 is being audited: its own rewards, 1 of" in bandit.explain().summary
    assert "The data fit the structure" in str(bandit.explain())
    bandit.tell([0, 1, 2] * 40, [-1.0, 0.0, 1.0] * 40)
    assert bandit.explain().summary.startswith("Arm 2 is pulled")
    bandit = am.Bandit(am.Guarded(), am.Sparse(3, 1, 0.0))
    bandit.tell([0] * 100 + [1] * 3 + [2], [0.5] * 100 + [0.9] * 3 + [0.0])
    why = bandit.explain()
    assert "The mean of arm 1 is higher than the structure allows" in why.summary
    bandit.tell([1] * 17, [0.9] * 17)
    assert (
        "The data fit the structure badly, so in this round IMED chooses"
        in bandit.explain().summary
    )
    assert "The data fit the structure badly, mostly at arm 1, but" in str(bandit.explain())


class Plain(am.PythonPolicy):
    """Any arm."""

    def choose(self, state, problem, history, rng) -> int:
        return 0


def test_what_makes_no_sense_is_refused() -> None:
    for policy, complaint in (
        (am.UCB(), "UCB uses no structure"),
        (am.OSUB(), "OSUB is made for Unimodal structures"),
        (am.Guarded(), "is guarded already"),
        (Plain(), "Plain is written in plain Python"),
        ("SPk", "policy must be a policy such as Challenger"),
    ):
        with pytest.raises(am.ArmatureError, match=complaint):
            am.Guarded(policy)
    for options, complaint in (
        ({"delta": 0.0}, "delta must be a probability, above 0"),
        ({"audit": -1.0}, "audit must be a number, at least 0"),
        ({"doubt": 2.0}, "doubt must be a probability"),
    ):
        with pytest.raises(am.ArmatureError, match=complaint):
            am.Guarded(am.SPk(), **options)

    class Dumb(am.Gaussian):
        learning_cost = None

    for family in (Dumb(), am.Gaussian(sigma=None)):  # a sigma that is not known
        with pytest.raises(am.ArmatureError, match="there is no evidence for or against a"):
            am.Bandit(am.Guarded(), am.Unimodal(3), family)
        bandit = am.Bandit(am.SPk(), am.Unimodal(3), family)
        assert bandit.explain().fit is None
        with pytest.raises(am.ArmatureError, match="there is no evidence for or against a"):
            bandit.evidence()


def test_names_files_and_horizons() -> None:
    assert am.Guarded(am.SPk(epsilon=0.1), audit=2.0).name == "Guarded(SPk(epsilon=0.1), audit=2.0)"
    guarded = am.Guarded(am.OSSB()).with_horizon(500)
    assert isinstance(guarded, am.Guarded)
    assert guarded.policy == am.OSSB(horizon=500)
    assert guarded.name == "Guarded(OSSB)"
    text = """
        means = [0.9, 0.2, 0.5]
        strict = false
        horizon = 50
        repetitions = 2
        policies = ["guarded", { kind = "guarded", policy = { kind = "SPk" }, delta = 0.05 }]
        [structure]
        kind = "monotone"
    """
    (experiment,) = parse_experiments(text)
    names = [policy.name for policy in experiment.policies]
    assert names == ["Guarded(Challenger)", "Guarded(SPk, delta=0.05)"]
    assert not experiment.instance.fits


def test_less_regret_where_the_structure_is_wrong() -> None:
    """And the same results for any number of threads."""
    instance = am.Instance(am.Monotone(4), [0.9, 0.1, 0.2, 0.5], strict=False)
    policies = [am.Challenger(), am.Guarded()]
    one = am.simulate(instance, policies, horizon=2000, repetitions=12, seed=2, workers=1)
    two = am.simulate(instance, policies, horizon=2000, repetitions=12, seed=2, workers=2)
    name = am.Guarded().name
    assert np.array_equal(one.regret(name), two.regret(name))
    assert one.regret(name)[:, -1].mean() < 0.5 * one.regret("Challenger")[:, -1].mean()


def test_the_service_guards_what_may_be_wrong() -> None:
    """Unless a spec says otherwise; there is nothing to guard without structure or evidence."""
    from armature.service.domain.spec import read_spec

    def policy_of(structure: str, **more: object) -> am.Policy:
        return read_spec({"structure": {"kind": structure, "n_arms": 3}, **more}).policy

    unknown = {"kind": "gaussian", "sigma": 1.0, "known": False}
    assert policy_of("unimodal") == am.Guarded()
    assert policy_of("unimodal", policy="challenger") == am.Challenger()
    assert policy_of("unconstrained") == am.Challenger()
    assert policy_of("unimodal", family=unknown) == am.Challenger()
