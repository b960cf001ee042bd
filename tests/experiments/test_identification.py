"""Identification: when it stops, with what, the same for ever; files."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from folders import content, quietly
from typer.testing import CliRunner

import armature as am
from armature.cli.program import app
from armature.experiments import plan as plan_module
from armature.experiments.experiment import parse_experiments
from armature.experiments.identification import IdentificationPlan
from armature.experiments.run import PlacedPlan, run_all, run_missing
from armature.rounds.rewards import make_rewards, next_reward
from armature.views.experiment_charts import stopping_charts

RULES = [am.TopTwo(), am.GameSampling(), am.TrackAndStop(), am.UniformSampling()]
UNIMODAL = am.Instance(am.Unimodal(4), [0.0, 0.6, 1.6, 0.8])


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


@pytest.mark.checks("UniformSampling", "identify", by="`ask` and `tell`")
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


class InTurns(am.PythonPolicy):
    """`UniformSampling` in plain Python."""

    def choose(self, state: dict, problem: Any, history: Any, rng: np.random.Generator) -> int:
        return int(np.argmin(history.pulls))


@pytest.mark.parametrize("family", [am.Gaussian(), am.Gaussian(1.0, known=False), am.Bernoulli()])
def test_a_policy_in_plain_python_stops_when_its_compiled_twin_does(family: am.Family) -> None:
    instance = am.Instance(am.Unimodal(4), [0.0, 0.6, 0.95, 0.4], family)
    twins = am.identify(instance, [InTurns(), am.UniformSampling()], [0.3, 0.1], 3, seed=4)
    for name in ("rounds", "arms", "pulls"):
        one, other = (getattr(twins, name)(p) for p in ("InTurns", "UniformSampling"))
        assert np.array_equal(one, other)
    statistics = [twins.runs[p].statistics for p in ("InTurns", "UniformSampling")]
    assert np.array_equal(*statistics)
    assert (statistics[0] > 0.0).all()


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
    monkeypatch.setattr(plan_module, "CHUNK_SECONDS", 0.0)  # a round at a time
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


@pytest.mark.checks("UniformSampling", "identify", by="plain Python")
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
    (chart,) = stopping_charts([0.1], rounds, sure, 2.0)
    curve, least = chart.marks
    assert least.x == pytest.approx(2.0 * math.log(10.0))
    assert curve.x.tolist() == [1.0, 1.0, 3.0, 3.0, 9.0, 9.0]
    assert curve.y.tolist() == [0.0, 0.25, 0.25, 0.5, 0.5, 0.75]
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

    def plan_for(*deltas: float) -> IdentificationPlan:
        return IdentificationPlan.of(
            experiment, deltas=deltas, threshold="practical", horizon=10_000
        )

    runner = quietly(workers=1)
    whole = run_missing(plan_for(0.1), None, runner)
    true_run = IdentificationPlan.play

    def cut_off(self, policy, repetition, *rest):
        if repetition == 11:
            raise KeyboardInterrupt
        return true_run(self, policy, repetition, *rest)

    monkeypatch.setattr(IdentificationPlan, "play", cut_off)
    with pytest.raises(KeyboardInterrupt):
        run_all([plan_for(0.1)], tmp_path / "out", runner)
    calls = []

    def counted(self, policy, repetition, *rest):
        calls.append((policy.name, repetition))
        return true_run(self, policy, repetition, *rest)

    monkeypatch.setattr(IdentificationPlan, "play", counted)
    resumed = PlacedPlan(plan_for(0.1), tmp_path / "out", runner).run(runner)
    assert all(same(whole, resumed, policy) for policy in whole.policies)
    assert 2 <= len(calls) < 24
    calls.clear()
    run_all([plan_for(0.1)], tmp_path / "out", runner)
    assert calls == []
    loaded = am.Identification.load(tmp_path / "out" / "identification.parquet")
    assert all(same(whole, loaded, policy) for policy in whole.policies)
    with pytest.raises(am.ArmatureError, match="another experiment"):
        run_all([plan_for(0.2)], tmp_path / "out", runner)


def test_a_folder_of_an_earlier_release_is_gone_on_with(tmp_path: Path) -> None:
    """Its note says less, and only the parts are certain to be there."""
    (experiment,) = parse_experiments(SPEC, (), ("TopTwo",))
    settings = {"deltas": (0.1,), "threshold": "practical", "horizon": 10_000}
    plan, runner = IdentificationPlan.of(experiment, **settings), quietly(workers=1)
    run_all([plan], tmp_path, runner)
    before = content(tmp_path)
    note = tmp_path / "identification.json"
    left_out = ("policies", "repetitions", "made")
    table = json.loads(note.read_text())
    older = {key: value for key, value in table.items() if key not in left_out}
    assert len(older) == len(table) - 3
    note.write_text(json.dumps(older, indent=1) + "\n")
    for name in ("identification.parquet", "identification.csv"):
        (tmp_path / name).unlink()
    run_all([plan], tmp_path, runner)
    assert content(tmp_path) == before
    other = replace(plan, seed=1)
    note.write_text(json.dumps(older, indent=1) + "\n")
    with pytest.raises(am.ArmatureError, match="another experiment"):
        run_all([other], tmp_path, runner)


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


def test_policies_that_avoid_regret_are_pointed_out(tmp_path) -> None:
    spec = tmp_path / "four.toml"
    spec.write_text('policies = ["ucb", "toptwo", "imed"]\n' + SPEC)
    options = ["identify", str(spec), "--repetitions", "1", "--delta", "0.3"]
    said = CliRunner().invoke(app, options)
    assert said.exit_code == 0, said.output
    sentence = " ".join(said.stderr.split())
    assert "UCB, IMED: made to avoid regret" in sentence
    assert "Made to identify it: TopTwo, GameSampling, TrackAndStop, UniformSampling" in sentence
    for more in (["--policy", "toptwo"], ["--quiet"]):
        assert "made to avoid" not in CliRunner().invoke(app, [*options, *more]).stderr
