"""Identification: when it stops, with what, the same for ever; thresholds; files."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from rich.console import Console
from scipy.integrate import quad
from scipy.special import betaln, xlogy
from scipy.stats import norm
from typer.testing import CliRunner

import armature as am
from armature.cli import app
from armature.experiments import identify as running
from armature.experiments import load_instance
from armature.experiments.experiment import parse_experiments
from armature.families.learning import learning_address, total_learning_cost
from armature.identification import engine
from armature.identification.picture import stopping_panels
from armature.learners import AdaHedge, Tracker
from armature.simulation.rewards import make_rewards, next_reward
from armature.verdict import Verdict, verdict

RULES = [am.TopTwo(), am.GameSampling(), am.TrackAndStop(), am.UniformSampling()]
UNIMODAL = am.Instance(am.Unimodal(4), [0.0, 0.6, 1.6, 0.8])


# Thresholds.


def log_marginal(family: am.Family, rewards: np.ndarray) -> float:
    """ln of the integral of the likelihood, over that at 0, for the priors of the two families.

    Gaussian: normal about 0, of a standard deviation 4^i with the weight 1 / ((i + 1) (i + 2));
    Bernoulli: Beta(1/2, 1/2). By quadrature.
    """
    n, total = rewards.size, rewards.sum()
    if isinstance(family, am.Bernoulli):
        return float(betaln(total + 0.5, n - total + 0.5) - betaln(0.5, 0.5))
    centre, width = total / n, 12.0 / math.sqrt(n)

    def density(x: float) -> float:
        prior = sum(norm.pdf(x, scale=4.0**i) / ((i + 1.0) * (i + 2.0)) for i in range(16))
        return float(prior * math.exp(-0.5 * n * (x - centre) ** 2))

    mass = quad(density, centre - width, centre + width, epsabs=0.0, epsrel=1e-10, limit=200)[0]
    return math.log(mass) - 0.5 * float(((rewards - centre) ** 2).sum())


@pytest.mark.parametrize("family", [am.Gaussian(), am.Bernoulli()], ids=str)
def test_the_theory_is_the_cost_of_not_knowing_the_means(family: am.Family) -> None:
    """ln(1 / delta) + (max over the own means - ln marginal - misfit)_+, from single rewards."""
    told = [np.repeat([1.0, 0.0], counts) for counts in ((7, 3), (12, 18), (12, 3))]
    bandit = am.Bandit(am.UCB(), am.Unimodal(3), family)
    own = 0.0
    for k, rewards in enumerate(told):
        bandit.tell([k] * rewards.size, list(rewards))
        mean = rewards.mean()
        if isinstance(family, am.Bernoulli):
            own += (xlogy(rewards, mean) + xlogy(1.0 - rewards, 1.0 - mean)).sum()
        else:
            own -= 0.5 * ((rewards - mean) ** 2).sum()
    learning = own - sum(log_marginal(family, rewards) for rewards in told)
    misfit = am.Unimodal(3).project(bandit.means, bandit.pulls.astype(float), family).cost
    assert 0.01 < misfit < learning
    found = bandit.verdict(0.02, "theory")
    assert found.threshold == pytest.approx(math.log(50.0) + learning - misfit, rel=1e-6)


def test_the_allowance_is_never_negative() -> None:
    """Where the misfit is larger than the learning cost, ln(1 / delta) is left."""
    pulls, means = np.full(3, 400.0), np.array([0.9, 0.1, 0.9])
    found = verdict(am.Unimodal(3), am.Gaussian(), pulls, means, 0.1, "theory")
    assert found.threshold == math.log(10.0)


def test_challengers_are_counted() -> None:
    """Gaussian arms without structure: pooled with the leader, N N' / (N + N') gap^2 / 2."""
    N, means = np.array([10.0, 20.0, 20.0, 5.0]), np.array([0.2, 1.0, 0.4, -1.0])
    costs = N * 20.0 / (N + 20.0) * (1.0 - means) ** 2 / 2.0
    others = np.delete(costs, 1)
    m = np.exp(others.min() - others).sum()
    assert 1.1 < m < 2.0
    found = verdict(am.Unconstrained(4), am.Gaussian(), N, means, 0.1)
    assert found.statistic == pytest.approx(others.min())
    assert found.threshold == pytest.approx(math.log((m + 0.5 * math.log(55.0)) / 0.1))


def test_all_arms_count_where_one_of_them_is_good() -> None:
    sparse = verdict(am.Sparse(10, 1, 0.0), am.Gaussian(), np.full(10, 4.0), np.eye(10)[3])
    assert sparse.threshold == pytest.approx(math.log((9.0 + 0.5 * math.log(40.0)) / 0.05))


def largest_ratios(paths: int = 1000, rounds: int = 500) -> tuple[np.ndarray, np.ndarray]:
    """Two arms without gap, sampled in turns: the largest deviation, net of two allowances."""
    rng = np.random.default_rng(3)
    n = np.arange(1, rounds + 1)
    sums = rng.normal(size=(paths, 2, rounds)).cumsum(axis=2)
    deviation = (sums**2 / (2.0 * n)).sum(axis=1)
    address, record = learning_address(am.Gaussian()), am.Gaussian().record_for(2)
    learning = np.array(
        [
            [total_learning_cost(address, record, np.full(2, float(m)), path[:, m - 1]) for m in n]
            for path in sums[:100]
        ]
    )
    return deviation.max(axis=1), (deviation[:100] - learning).max(axis=1)


def test_the_theory_holds_at_all_times() -> None:
    """The sum of deviations net of the learning cost exceeds ln(1 / delta) that rarely."""
    plain, net = largest_ratios()
    for delta in (0.5, 0.2, 0.1):
        assert (net > math.log(1.0 / delta)).mean() <= delta
    assert (plain > math.log(1.0 / 0.2)).mean() > 0.2  # which holds at one time only


# Stopping.


def stop_by_hand(
    policy: am.Policy,
    instance: am.Instance,
    delta: float,
    seed: int,
    r: int,
    threshold: str = "practical",
):
    """Ask and tell, and look at the verdict after every round."""
    bandit = am.Bandit(policy, instance.structure, instance.family, seed)
    family = instance.family.record_for(instance.n_arms)
    rewards = make_rewards(instance.means, seed, r)
    while True:
        arm = bandit.ask()
        bandit.tell(arm, next_reward(family, rewards, arm))
        found = bandit.verdict(delta, threshold)
        if found.sure:
            return bandit.pulls.sum(), found.arm, found.statistic, bandit.pulls


@pytest.mark.parametrize("policy", [*RULES, am.UCB()], ids=lambda p: p.name)
@pytest.mark.parametrize(
    "instance",
    [
        UNIMODAL,
        am.Instance(am.Unconstrained(3), [0.2, 0.5, 0.9], am.Bernoulli()),
        am.Instance(am.Sparse(4, 1, 0.3), [0.3, 0.3, 2.3, 0.3]),
    ],
    ids=["unimodal", "bernoulli", "sparse"],
)
def test_it_stops_at_the_first_round_in_which_it_is_sure(
    policy: am.Policy, instance: am.Instance
) -> None:
    found = am.identify(instance, [policy], delta=0.1, repetitions=1, seed=5)
    rounds, arm, statistic, pulls = stop_by_hand(policy, instance, 0.1, 5, 0)
    assert found.rounds(policy)[0, 0] == rounds
    assert found.arms(policy)[0, 0] == arm
    assert found.pulls(policy)[0, 0].tolist() == pulls.tolist()
    assert found.runs[policy.name].statistics[0, 0] == pytest.approx(statistic, rel=1e-9)


def test_it_stops_by_the_theory_too() -> None:
    """With arms that are nearly equal, so that the data do not fit the structure."""
    instance = am.Instance(am.Unimodal(6), [1.0, 1.2, 1.4, 4.0, 1.5, 1.0])
    rule = am.UniformSampling()
    found = am.identify(instance, [rule], delta=0.1, repetitions=3, seed=5, threshold="theory")
    for r in range(3):
        rounds, arm, statistic, _ = stop_by_hand(rule, instance, 0.1, 5, r, "theory")
        assert found.rounds(rule)[r, 0] == rounds
        assert found.arms(rule)[r, 0] == arm
        assert found.runs[rule.name].statistics[r, 0] == pytest.approx(statistic, rel=1e-9)


def same(one: am.Identification, other: am.Identification, policy: am.Policy) -> bool:
    a, b = one.runs[policy.name], other.runs[policy.name]
    fields = ("rounds", "arms", "statistics", "pulls")
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in fields)


def test_runs_are_the_same_in_any_company(monkeypatch: pytest.MonkeyPatch) -> None:
    first = am.identify(UNIMODAL, RULES, delta=[0.1, 0.01], repetitions=4, seed=2, workers=1)
    monkeypatch.setattr(engine, "CHUNK_SECONDS", 0.0)  # a round at a time
    second = am.identify(UNIMODAL, RULES[::-1], delta=[0.01, 0.1], repetitions=4, seed=2, workers=2)
    other = am.identify(UNIMODAL, RULES[:1], delta=[0.1, 0.01], repetitions=4, seed=3)
    assert all(same(first, second, policy) for policy in RULES)
    assert not same(first, other, RULES[0])


def test_several_deltas_are_each_alone() -> None:
    both = am.identify(UNIMODAL, [am.TopTwo()], delta=[0.2, 1e-3], repetitions=5)
    assert both.deltas == (0.2, 1e-3)
    for d, delta in enumerate(both.deltas):
        alone = am.identify(UNIMODAL, [am.TopTwo()], delta=delta, repetitions=5)
        assert np.array_equal(alone.rounds("TopTwo")[:, 0], both.rounds("TopTwo")[:, d])
        assert np.array_equal(alone.arms("TopTwo")[:, 0], both.arms("TopTwo")[:, d])
    assert (both.rounds("TopTwo")[:, 0] <= both.rounds("TopTwo")[:, 1]).all()


def test_a_run_that_does_not_stop_ends_unsure() -> None:
    hard = am.Instance(am.Unconstrained(2), [0.0, 0.001])
    found = am.identify(hard, [am.UniformSampling()], delta=1e-3, repetitions=3, max_rounds=51)
    assert (found.rounds("UniformSampling") == 51).all()
    assert (found.arms("UniformSampling") == -1).all()
    assert (found.pulls("UniformSampling").sum(axis=2) == 51).all()
    row = found.summary().iloc[0]
    assert row["unsure"] == 1.0
    assert row["errors"] == 0.0


def test_where_no_other_arm_can_be_best_one_round_is_enough() -> None:
    box = am.Instance(am.Box(2, low=[0.0, 2.0], high=[1.0, 3.0]), [0.5, 2.5])
    found = am.identify(box, [am.UniformSampling()], repetitions=2)
    assert (found.rounds("UniformSampling") == 1).all()
    assert (found.arms("UniformSampling") == 1).all()


class PlainTurns(am.PythonPolicy):
    """Uniform sampling in plain Python."""

    def choose(self, state, problem, history, rng):
        return int(np.argmin(history.pulls))


@pytest.mark.parametrize("family", [am.Gaussian(), am.Gaussian(None)], ids=str)
def test_a_policy_in_plain_python_and_an_unknown_sigma(family: am.Family) -> None:
    instance = am.Instance(am.Unimodal(3), [0.0, 2.0, 0.5], family.estimate(1.0))
    told = am.Instance(am.Unimodal(3), [0.0, 2.0, 0.5], family) if family.sigma else instance
    found = am.identify(told, [am.UniformSampling(), PlainTurns()], delta=0.1, repetitions=3)
    compiled, plain = (found.runs[name] for name in found.names)
    assert np.array_equal(compiled.rounds, plain.rounds)
    assert np.array_equal(compiled.pulls, plain.pulls)


def test_errors_are_counted_and_rare() -> None:
    """400 runs at delta = 0.2: more than 0.2 + 0.06 has a probability below 0.002 if it is 0.2."""
    instance = am.Instance(am.Unconstrained(3), [0.0, 0.3, 0.6])
    found = am.identify(instance, [am.TopTwo()], delta=0.2, repetitions=400)
    wrong = (found.arms("TopTwo")[:, 0] != 2).mean()
    assert found.errors("TopTwo")[0] == wrong
    assert 0.0 < wrong < 0.26
    proved = am.identify(
        instance, [am.TopTwo()], delta=0.2, repetitions=100, threshold="theory", seed=1
    )
    assert proved.rounds("TopTwo").mean() > found.rounds("TopTwo").mean()
    assert proved.errors("TopTwo")[0] < 0.05


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"delta": 0.0}, "delta must be a probability"),
        ({"delta": [0.1, 2.0]}, "delta must be a probability"),
        ({"delta": []}, "there is no delta"),
        ({"threshold": "loose"}, "threshold must be 'practical' or 'theory'"),
        ({"max_rounds": 0}, "max_rounds must be a whole number"),
        ({"repetitions": 0}, "repetitions must be a whole number"),
    ],
)
def test_what_is_refused(arguments: dict, message: str) -> None:
    with pytest.raises(am.ArmatureError, match=message):
        am.identify(UNIMODAL, [am.TopTwo()], **arguments)


# Sampling rules.


@pytest.mark.parametrize("panel", ["unconstrained", "unimodal-1", "linear", "sparse-2"])
@pytest.mark.parametrize(
    "policy", [am.TopTwo(), am.TrackAndStop(forced=0.0), am.GameSampling(confidence="none")],
    ids=lambda p: p.name,
)  # fmt: skip
def test_without_noise_the_shares_go_to_the_best_ones(panel: str, policy: am.Policy) -> None:
    """1 / T* is the most that shares can tell the nearest alternative apart by, per sample."""
    instance = load_instance(panel)
    bandit = am.Bandit(policy, instance.structure, instance.family)
    for _ in range(2000):
        arm = bandit.ask()
        bandit.tell(arm, instance.means[arm])
    shares = bandit.pulls / bandit.pulls.sum()
    nearest = instance.structure.nearest_alternative(
        instance.means, shares, instance.best_arm, instance.family
    )
    assert 0.9 < nearest.cost * am.characteristic_time(instance).value <= 1.0 + 1e-5


def test_uniform_shares_do_not() -> None:
    instance = load_instance("unimodal-1")
    even = np.full(5, 0.2)
    nearest = instance.structure.nearest_alternative(instance.means, even, 2, instance.family)
    assert nearest.cost * am.characteristic_time(instance).value < 0.7


def next_of_top_two(instance, pulls, means, owed) -> int:
    """TopTwo once more, from its docstring."""
    structure, family = instance.structure, instance.family
    fit = structure.project(means, pulls, family)
    fitted = np.asarray(fit.means)
    j = int(np.argmax(fitted))
    lam = np.asarray(structure.nearest_alternative(means, pulls, j, family).means)
    others = [k for k in range(instance.n_arms) if k != j]
    G = {i: structure.challenger_min(means, pulls, j, i, family).cost - fit.cost for i in others}
    waits = {i: max(G[i], 0.0) + math.log(pulls[i]) for i in others}
    first = min(waits, key=waits.__getitem__)
    if waits[first] + 1.0 < math.log(pulls[j]):
        return first
    told = np.asarray(family.divergence(fitted, lam))
    h = pulls * told
    if not 0.0 < h.sum() < math.inf:
        return int(np.argmin(pulls))
    owed[0] += h[j] / h.sum()
    if owed[0] >= 0.5:
        owed[0] -= 1.0
        return j
    return max(others, key=lambda k: told[k])


@pytest.mark.parametrize("panel", ["unconstrained", "categorised-2", "sparse-1", "linear"])
def test_every_decision_of_top_two(panel: str) -> None:
    instance = load_instance(panel)
    rng = np.random.default_rng(7)
    bandit = am.Bandit(am.TopTwo(), instance.structure, instance.family)
    owed = [0.0]
    for t in range(150):
        arm = bandit.ask()
        if t < instance.n_arms:
            assert arm == t
        else:
            pulls, means = bandit.pulls.astype(float), bandit.means.copy()
            assert arm == next_of_top_two(instance, pulls, means, owed)
        bandit.tell(arm, rng.normal(instance.means[arm]))


def step_of_the_game(instance, pulls, means, learners, played, tracker) -> int:
    """GameSampling once more, from its docstring."""
    structure, family = instance.structure, instance.family
    fitted = np.asarray(structure.project(means, pulls, family).means)
    j = int(np.argmax(fitted))
    played[j] += 1
    w = learners[j].weights()
    lam = np.asarray(structure.nearest_alternative(fitted, w, j, family).means)
    level = math.log(played[j]) / pulls
    ends = [fitted, family.lower(means, level), family.upper(means, level)]
    gains = np.max([family.divergence(np.asarray(x), lam) for x in ends], axis=0)
    learners[j].update(-gains)
    return tracker.pull(w)


@pytest.mark.parametrize("panel", ["unconstrained", "categorised-2", "sparse-2", "linear"])
def test_every_decision_of_the_game(panel: str) -> None:
    """Gaussian rewards, whose domain has no ends."""
    instance = load_instance(panel)
    K, rng = instance.n_arms, np.random.default_rng(7)
    bandit = am.Bandit(am.GameSampling(), instance.structure, instance.family)
    learners, played, tracker = [AdaHedge(K) for _ in range(K)], np.zeros(K), Tracker(K)
    for t in range(150):
        arm = bandit.ask()
        if t >= K:
            pulls, means = bandit.pulls.astype(float), bandit.means.copy()
            assert arm == step_of_the_game(instance, pulls, means, learners, played, tracker)
        bandit.tell(arm, rng.normal(instance.means[arm]))


def test_what_track_and_stop_forces() -> None:
    """Each arm has at least sqrt(t) - K/2 pulls, up to one; half and half of two arms."""
    bandit = am.Bandit(am.TrackAndStop(), am.Unconstrained(4))
    for t in range(1, 400):
        arm = bandit.ask()
        bandit.tell(arm, [0.0, 3.0, 0.0, 0.0][arm])
        assert bandit.pulls.min() >= math.sqrt(t) - 2.0 - 4.0
    assert bandit.pulls.min() >= 14
    free = am.Bandit(am.TrackAndStop(forced=0.0), am.Unconstrained(2))
    for _ in range(100):
        arm = free.ask()
        free.tell(arm, [0.0, 1.0][arm])
    assert free.pulls.tolist() == [50, 50]


# Verdicts.


def test_a_verdict_by_hand() -> None:
    """Two Gaussian arms: N1 N2 / (N1 + N2) gap^2 / 2, against ln((1 + ln(t) / 2) / delta)."""
    bandit = am.Bandit(am.UCB(), am.Unconstrained(2), labels=["red", "blue"])
    bandit.tell(["red"] * 10 + ["blue"] * 30, [0.0] * 10 + [1.0] * 30)
    found = bandit.verdict(0.05)
    assert found.arm == "blue"
    assert found.statistic == pytest.approx(300.0 / 40.0 / 2.0)
    assert found.threshold == pytest.approx(math.log((1.0 + 0.5 * math.log(40.0)) / 0.05))
    assert not found.sure

    def rounds(share: float) -> int:
        for m in range(1, 1000):
            a, b = 10.0 + m * share, 30.0 + m * (1.0 - share)
            if a * b / (a + b) / 2.0 > math.log((1.0 + 0.5 * math.log(40.0 + m)) / 0.05):
                return m
        raise AssertionError

    assert found.needed == rounds(0.25)
    assert found.needed_at_best == rounds(0.5)
    assert found.shares == pytest.approx([0.5, 0.5], abs=1e-6)
    assert bandit.verdict(0.3).sure
    assert bandit.verdict(0.3).needed == 0.0
    least = found.least_delta
    assert least == pytest.approx(bandit.verdict(0.3).least_delta)
    assert not bandit.verdict(0.999 * least).sure
    assert bandit.verdict(1.001 * least).sure


def test_what_the_theory_still_needs() -> None:
    """It is enough after so many more samples at the fitted means, and not after one less."""
    pulls, means = np.array([40.0, 60.0, 50.0]), np.array([0.2, 1.0, 0.5])

    def after(more: float) -> Verdict:
        share = pulls / pulls.sum()
        return verdict(am.Unimodal(3), am.Gaussian(), pulls + more * share, means, 0.1, "theory")

    needed = after(0.0).needed
    assert 10.0 < needed < 1000.0
    assert after(needed).sure
    assert not after(needed - 1.0).sure


def test_a_verdict_is_told_in_words_and_in_json() -> None:
    bandit = am.Bandit(am.Challenger(), am.Unimodal(3), labels=["a", "b", "c"])
    empty = bandit.verdict()
    assert not empty.sure
    assert json.loads(empty.to_json())["sure"] is False
    bandit.tell(["a", "b", "c"] * 40, [0.0, 2.0, 1.0] * 40)
    found = bandit.verdict()
    assert found.sure
    assert "Arm b is the best" in str(found)
    content = json.loads(found.to_json())
    assert content["arm"] == "b"
    assert content["words"] == str(found)
    explanation = bandit.explain()
    assert explanation.verdict.arm == "b"
    assert str(found) in str(explanation)
    unsure = am.Bandit(am.UCB(), am.Unimodal(3))
    unsure.tell([0, 1, 2] * 5, [0.0, 0.5, 0.2] * 5)
    words = str(unsure.verdict())
    assert "Arm 1 leads, but not surely" in words
    assert "at the best shares" in words


def test_a_verdict_on_costs_names_the_cheapest() -> None:
    bandit = am.Bandit(am.UCB(), am.Unimodal(3), goal="min")
    bandit.tell([0, 1, 2] * 60, [3.0, 1.0, 2.0] * 60)
    assert bandit.verdict().arm == 1
    assert bandit.verdict().sure


def test_two_leaders_are_never_told_apart() -> None:
    bandit = am.Bandit(am.UCB(), am.Unconstrained(2))
    bandit.tell([0, 1], [0.5, 0.5])
    found = bandit.verdict()
    assert (found.sure, found.needed, found.needed_at_best) == (False, math.inf, math.inf)
    assert found.shares is None


def test_a_verdict_without_the_structure_that_was_dropped() -> None:
    bandit = am.Bandit(am.Guarded(), am.Monotone(3), seed=3)
    rng = np.random.default_rng(0)
    for _ in range(500):
        arm = bandit.ask()
        bandit.tell(arm, rng.normal([2.5, 0.0, 0.4][arm]))
    assert bandit.evidence().dropped is not None
    own = verdict(am.Unconstrained(3), am.Gaussian(), bandit.pulls.astype(float), bandit.means)
    assert bandit.verdict().arm == own.arm == 0
    assert bandit.verdict().statistic == own.statistic > 0.0


def test_no_theory_for_an_unknown_sigma() -> None:
    bandit = am.Bandit(am.UCB(), am.Unconstrained(2), am.Gaussian(None))
    bandit.tell([0, 1] * 20, [0.0, 9.0, 1.0, 8.0] * 10)
    assert bandit.verdict().sure
    with pytest.raises(am.ArmatureError, match="sigma is not known"):
        bandit.verdict(threshold="theory")


# Files and pictures.


@pytest.fixture(scope="module")
def found() -> am.Identification:
    return am.identify(UNIMODAL, RULES[:1] + RULES[3:], delta=[0.1, 0.02], repetitions=6, seed=4)


def test_saved_and_loaded(found: am.Identification, tmp_path) -> None:
    found.save(tmp_path / "found.parquet")
    again = am.Identification.load(tmp_path / "found.parquet")
    assert all(same(found, again, policy) for policy in found.policies)
    assert again.about() == found.about()
    assert again.deltas == found.deltas
    with pytest.raises(am.ArmatureError, match="another kind of runs: identification"):
        am.Results.load(tmp_path / "found.parquet")
    am.simulate(UNIMODAL, [am.UCB()], 10, 1).save(tmp_path / "regret.parquet")
    with pytest.raises(am.ArmatureError, match="another kind of runs: simulation"):
        am.Identification.load(tmp_path / "regret.parquet")


def test_the_table(found: am.Identification) -> None:
    frame, summary = found.to_frame(), found.summary()
    assert len(frame) == 2 * 6 * 2
    part = frame[(frame["policy"] == "TopTwo") & (frame["delta"] == 0.02)]
    row = summary.loc[("TopTwo", 0.02)]
    assert row["rounds"] == part["rounds"].mean()
    time = am.characteristic_time(UNIMODAL).value
    assert row["ratio"] == pytest.approx(row["rounds"] / (time * math.log(50.0)))
    assert found.shares("TopTwo").sum(axis=1) == pytest.approx([1.0, 1.0])


def test_the_picture(found: am.Identification, tmp_path) -> None:
    rounds = {"TopTwo": np.array([[3], [1], [9], [9]])}
    sure = {"TopTwo": np.array([[True], [True], [True], [False]])}
    (panel,) = stopping_panels([0.1], rounds, sure, 2.0)
    assert panel.least == pytest.approx(2.0 * math.log(10.0))
    assert panel.curves[0].rounds.tolist() == [1.0, 3.0, 9.0]
    assert panel.curves[0].share.tolist() == [0.25, 0.5, 0.75]
    found.plot(tmp_path / "stopping.png")
    assert (tmp_path / "stopping.png").stat().st_size > 1000


SPEC = """
title = "four"
means = [0.0, 0.6, 1.6, 0.8]
repetitions = 12
structure = { kind = "unimodal" }
"""


def test_a_run_that_was_cut_off_goes_on(tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    (experiment,) = parse_experiments(SPEC, (), ("TopTwo", "UniformSampling"))
    asked = running.Asked((0.1,), "practical", 10_000)
    console = Console(quiet=True)
    whole = running.run_identification(experiment, asked, None, 1, console, True)
    true_run = engine.Sampling.run

    def cut_off(self, policy, repetition, *rest):
        if repetition == 11:
            raise KeyboardInterrupt
        true_run(self, policy, repetition, *rest)

    monkeypatch.setattr(engine.Sampling, "run", cut_off)
    with pytest.raises(KeyboardInterrupt):
        running.run_identification(experiment, asked, tmp_path / "out", 1, console, True)
    calls = []

    def counted(self, policy, repetition, *rest):
        calls.append((policy.name, repetition))
        true_run(self, policy, repetition, *rest)

    monkeypatch.setattr(engine.Sampling, "run", counted)
    resumed = running.run_identification(experiment, asked, tmp_path / "out", 1, console, True)
    assert all(same(whole, resumed, policy) for policy in whole.policies)
    assert 2 <= len(calls) < 24
    calls.clear()
    running.run_identification(experiment, asked, tmp_path / "out", 1, console, True)
    assert calls == []
    loaded = am.Identification.load(tmp_path / "out" / "identification.parquet")
    assert all(same(whole, loaded, policy) for policy in whole.policies)
    other = asked._replace(deltas=(0.2,))
    with pytest.raises(am.ArmatureError, match="another experiment"):
        running.run_identification(experiment, other, tmp_path / "out", 1, console, True)


def test_the_command(tmp_path) -> None:
    (tmp_path / "four.toml").write_text(SPEC)
    options = ["identify", str(tmp_path / "four.toml"), "--repetitions", "3", "--quiet"]
    table = CliRunner().invoke(app, [*options, "--delta", "0.1"])
    assert table.exit_code == 0, table.output
    assert "T* = " in table.output
    assert all(rule.name in table.output for rule in RULES)
    plain = CliRunner().invoke(app, [*options, "--policy", "toptwo", "--json"])
    rows = json.loads(plain.stdout)["results"][0]["rows"]
    direct = am.identify(UNIMODAL, [am.TopTwo()], delta=0.05, repetitions=3)
    assert [row["policy"] for row in rows] == ["TopTwo"]
    assert rows[0]["rounds"] == direct.rounds("TopTwo").mean()
    wrong = CliRunner().invoke(app, [*options, "--delta", "7"])
    assert wrong.exit_code == 2
