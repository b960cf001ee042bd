"""Identification: when it stops, with what, the same for ever; thresholds; files."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from rich.console import Console
from scipy.special import lambertw, zeta
from typer.testing import CliRunner

import armature as am
from armature.cli import app
from armature.experiments import identify as running
from armature.experiments import load_instance
from armature.experiments.experiment import parse_experiments
from armature.identification import engine
from armature.identification.picture import stopping_panels
from armature.learners import AdaHedge, Tracker
from armature.simulation.rewards import make_rewards, next_reward
from armature.stopping import (
    bar_for,
    calibration,
    checked_threshold,
    gaussian_calibration,
    threshold_at,
)
from armature.verdict import verdict

RULES = [am.TopTwo(), am.GameSampling(), am.TrackAndStop(), am.UniformSampling()]
UNIMODAL = am.Instance(am.Unimodal(4), [0.0, 0.6, 1.6, 0.8])


# Thresholds.


def calibration_by_lambert(x: float) -> float:
    """C of Kaufmann and Koolen (2021), by Lambert's function."""

    def inverse(y: float) -> float:
        return float(-lambertw(-math.exp(-y), -1).real)

    y = (inverse(1.0 + x) + math.log(2.0 * zeta(2))) / 2.0
    if y >= inverse(1.0 / math.log(1.5)):
        return 2.0 * math.exp(1.0 / inverse(y)) * inverse(y)
    return 2.0 * 1.5 * (y - math.log(math.log(1.5)))


@pytest.mark.parametrize("x", [1e-3, 0.1, 1.0, 2.3, 3.0, 5.0, 10.0, 40.0, 300.0])
def test_calibration(x: float) -> None:
    assert calibration(x) == pytest.approx(calibration_by_lambert(x), rel=1e-9)
    if x >= 10.0:  # what it comes to
        assert calibration(x) == pytest.approx(x + 4.0 * math.log(1.0 + x + math.sqrt(2 * x)), 0.05)


def threshold(family: am.Family, word: str, N: np.ndarray, delta: float) -> float:
    return threshold_at(*bar_for(checked_threshold(word, family), N.size, delta), N)


def test_gaussian_calibration() -> None:
    """The least over a fine grid."""
    u = np.linspace(0.5, 1.0, 20_001)[1:-1]
    g = 2 * u - 2 * u * np.log(4 * u) + np.log(zeta(2 * u)) - 0.5 * np.log(1 - u)
    for x in (0.0, 0.3, 2.0, 30.0):
        assert gaussian_calibration(x) == pytest.approx(((g + x) / u).min(), rel=1e-6)


def test_thresholds_by_hand() -> None:
    N = np.array([1.0, math.e, 0.0])
    t = 1.0 + math.e
    assert threshold(am.Gaussian(), "practical", N, 0.1) == pytest.approx(
        math.log((1.0 + math.log(t)) / 0.1)
    )
    exact = 3.0 * math.log(2.0) + 3.0 * calibration_by_lambert(math.log(100.0) / 3.0)
    assert threshold(am.Bernoulli(), "theory", N, 0.01) == pytest.approx(exact)
    exact = 4.0 * math.log(4.0) + 2.0 * math.log(5.0)
    exact += 3.0 * gaussian_calibration(math.log(100.0) / 3.0)
    assert threshold(am.Gaussian(2.0), "theory", N, 0.01) == pytest.approx(exact)


def share_beyond(bar, paths: int = 1000, rounds: int = 500) -> float:
    """The share of paths on which two arms, sampled in turns, ever deviate by more than a bar."""
    rng = np.random.default_rng(3)
    n = np.arange(1, rounds + 1)
    sums = rng.normal(size=(paths, 2, rounds)).cumsum(axis=2)
    deviation = (sums**2 / (2.0 * n)).sum(axis=1)
    return float((deviation > np.array([bar(float(m)) for m in n])).any(axis=1).mean())


def test_the_theory_holds_at_all_times() -> None:
    def theory(family: am.Family):
        return lambda n: threshold(family, "theory", np.array([n, n]), 0.2)

    assert share_beyond(theory(am.Gaussian())) <= 0.2
    assert share_beyond(theory(am.Poisson())) <= 0.2
    assert share_beyond(lambda n: math.log(1.0 / 0.2)) > 0.2  # which holds at one time only


# Stopping.


def stop_by_hand(policy: am.Policy, instance: am.Instance, delta: float, seed: int, r: int):
    """Ask and tell, and look at the verdict after every round."""
    bandit = am.Bandit(policy, instance.structure, instance.family, seed)
    family = instance.family.record_for(instance.n_arms)
    rewards = make_rewards(instance.means, seed, r)
    while True:
        arm = bandit.ask()
        bandit.tell(arm, next_reward(family, rewards, arm))
        found = bandit.verdict(delta)
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


def next_of_top_two(instance, pulls, means, ahead) -> int:
    """TopTwo once more, from its docstring."""
    structure, family, K = instance.structure, instance.family, instance.n_arms
    least = int(np.argmin(pulls))
    fitted = np.asarray(structure.project(means, pulls, family).means)
    other = structure.nearest_alternative(fitted, pulls, int(np.argmax(fitted)), family)
    if pulls[least] < (math.sqrt(pulls.sum()) - K / 2) * math.exp(-other.cost):
        return least
    h = pulls * np.asarray(family.divergence(fitted, np.asarray(other.means)))
    if not 0.0 < h.sum() < math.inf:
        return least
    ahead -= h / h.sum()
    arm = int(np.argmin(ahead))
    ahead[arm] += 1.0
    return arm


@pytest.mark.parametrize("panel", ["unconstrained", "categorised-2", "sparse-1", "linear"])
def test_every_decision_of_top_two(panel: str) -> None:
    instance = load_instance(panel)
    rng = np.random.default_rng(7)
    bandit = am.Bandit(am.TopTwo(), instance.structure, instance.family)
    ahead = np.zeros(instance.n_arms)
    for t in range(150):
        arm = bandit.ask()
        if t < instance.n_arms:
            assert arm == t
        else:
            expected = next_of_top_two(
                instance, bandit.pulls.astype(float), bandit.means.copy(), ahead
            )
            assert arm == expected
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
    """Two Gaussian arms: N1 N2 / (N1 + N2) gap^2 / 2, against ln((1 + ln t) / delta)."""
    bandit = am.Bandit(am.UCB(), am.Unconstrained(2), labels=["red", "blue"])
    bandit.tell(["red"] * 10 + ["blue"] * 30, [0.0] * 10 + [1.0] * 30)
    found = bandit.verdict(0.05)
    assert found.arm == "blue"
    assert found.statistic == pytest.approx(300.0 / 40.0 / 2.0)
    assert found.threshold == pytest.approx(math.log((1.0 + math.log(40.0)) / 0.05))
    assert not found.sure

    def least(share: float) -> int:
        for m in range(1, 1000):
            a, b = 10.0 + m * share, 30.0 + m * (1.0 - share)
            if a * b / (a + b) / 2.0 > math.log((1.0 + math.log(40.0 + m)) / 0.05):
                return m
        raise AssertionError

    assert found.needed == least(0.25)
    assert found.needed_at_best == least(0.5)
    assert found.shares == pytest.approx([0.5, 0.5], abs=1e-6)
    assert bandit.verdict(0.3).sure
    assert bandit.verdict(0.3).needed == 0.0
    assert bandit.verdict(0.3, "theory").threshold > bandit.verdict(0.3).threshold


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
    with pytest.raises(am.ArmatureError, match="sigma that is not known"):
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
