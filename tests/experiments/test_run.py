"""`armature run`: experiments in files, interruption, resumption."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from folders import content, plans_of, quietly
from processes import obeying
from typer.testing import CliRunner

import armature as am
from armature.cli.program import app
from armature.experiments.experiment import parse_experiments
from armature.experiments.plan import Interrupted, play_on_threads
from armature.experiments.run import run_missing
from armature.experiments.run_store import Parts
from armature.experiments.simulation import SimulationPlan

SPEC = """
title = "five prices"
means = [0.2, 0.4, 0.9, 0.7, 0.1]
horizon = 300
repetitions = 25
seed = 5
policies = ["ucb", { kind = "spk", test = "raw" }]

[structure]
kind = "unimodal"
"""


def invoke(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(arguments), terminal_width=200)
    return result.exit_code, result.output


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "spec.toml"
    path.write_text(SPEC)
    return path


def test_a_run_is_what_simulate_gives(spec: Path, tmp_path: Path) -> None:
    code, output = invoke("run", str(spec), "--out", str(tmp_path / "out"), "--quiet")
    assert code == 0, output
    assert "five prices: 25 runs of 300 rounds" in output
    assert sorted(os.listdir(tmp_path / "out")) == [
        "experiment.json",
        "parts",
        "regret.png",
        "results.parquet",
        "summary.csv",
    ]
    results = am.Results.load(tmp_path / "out" / "results.parquet")
    instance = am.Instance(am.Unimodal(5), [0.2, 0.4, 0.9, 0.7, 0.1])
    same = am.simulate(instance, [am.UCB(), am.SPk(test="raw")], 300, 25, seed=5)
    for name in same.names:
        assert np.array_equal(results.regret(name), same.regret(name))
    code, output = invoke("run", str(spec), "--json", "--quiet", "--workers", "1")
    assert code == 0
    regret = json.loads(output)["results"][0]["policies"]["UCB"]["regret"]
    assert regret == pytest.approx(same.regret("UCB")[:, -1].mean())


def test_a_folder_of_another_experiment_is_left_alone(spec: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert invoke("run", str(spec), "--out", str(out), "--quiet")[0] == 0
    before = content(out)
    spec.write_text(SPEC.replace("seed = 5", "seed = 6"))
    code, output = invoke("run", str(spec), "--out", str(out), "--quiet")
    assert code == 2
    assert "holds another experiment: choose another folder" in " ".join(output.split())
    assert content(out) == before
    spec.write_text(SPEC)
    assert invoke("run", str(spec), "--out", str(out), "--quiet")[0] == 0  # the same: read again
    assert content(out) == before
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "regret.png").write_text("my picture")
    assert invoke("run", str(spec), "--out", str(tmp_path / "mine"), "--quiet")[0] == 2
    assert (tmp_path / "mine" / "regret.png").read_text() == "my picture"


def test_a_sweep_makes_a_grid() -> None:
    text = SPEC + '\n[sweep]\n"family.sigma" = [0.5, 2.0]\n"policies.spk.epsilon" = [1.0, 0.1]\n'
    experiments = parse_experiments(text)
    points = [(e.instance.family.sigma, e.policies[1].epsilon) for e in experiments]
    assert points == [(0.5, 1.0), (0.5, 0.1), (2.0, 1.0), (2.0, 0.1)]
    assert all(e.policies[1].test == "raw" for e in experiments)
    start, _, end = SPEC.partition("means = [0.2, 0.4, 0.9, 0.7, 0.1]")
    made = start + "means = { n_arms = 4, best = 1.0, gap = 0.5 }" + end
    made += '\n[sweep]\n"means.n_arms" = [3, 5]\n"means.gap" = [0.1, 0.2]\n'
    points = [(e.instance.n_arms, e.instance.gaps.max()) for e in parse_experiments(made)]
    assert points == [(3, pytest.approx(0.1)), (3, pytest.approx(0.2)),
                      (5, pytest.approx(0.1)), (5, pytest.approx(0.2))]  # fmt: skip
    means = SPEC + "\n[sweep]\nmeans = [[0.0, 1.0, 0.5], [0.0, 1.0, 0.5, 0.2]]\n"
    assert [e.instance.n_arms for e in parse_experiments(means)] == [3, 4]


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('"ucb"', '"ubc"', "policies.kind 'ubc' is unknown: did you mean 'ucb'"),
        ('test = "raw"', 'tset = "raw"', "policies.tset: the key 'tset' is unknown: did you mean"),
        ('test = "raw"', 'test = "row"', "test must be 'glr' or 'raw'"),
        (
            "horizon = 300",
            "horizons = 300",
            "'horizons' is unknown: did you mean 'horizon'",
        ),
        ("horizon = 300", "horizon = 0", "horizon must be a whole number, at least 1; got 0"),
        ("horizon = 300", 'horizon = "long"', "horizon must be a whole number"),
        ('policies = ["ucb", { kind = "spk", test = "raw" }]', "", "there are no policies"),
        ('"ucb"', "3", "3 is neither a name nor a table"),
        ('"ucb"', '"catse"', "CATSE is for Categorised structures, not for Unimodal"),
        ('"ucb"', '"no_such_module:Policy"', "importing it runs its code. If you trust it, allow"),
        ("[structure]", "[sweep]\nx = [1]\n[structure]", "sweep.x: the key 'x' is unknown"),
        ("[structure]", "[sweep]\nseed = 1\n[structure]", "must have a list for each key"),
        ("title", "title title", "this is not TOML"),
        ("[0.2, 0.4, 0.9, 0.7, 0.1]", "{ n_arm = 3 }", "means.n_arm: the key 'n_arm' is unknown"),
        ("[0.2, 0.4, 0.9, 0.7, 0.1]", "{ n_arms = 3 }", "means needs the key 'best'"),
        ("[0.2, 0.4, 0.9, 0.7, 0.1]", "{ n_arms = 1, best = 1.0, gap = 0.1 }", "at least 2; got 1"),
    ],
)
def test_bad_specs(tmp_path: Path, old: str, new: str, complaint: str) -> None:
    assert old in SPEC
    path = tmp_path / "spec.toml"
    path.write_text(SPEC.replace(old, new, 1))
    code, output = invoke("run", str(path), "--quiet")
    assert code == 2
    assert complaint in " ".join(output.split())


def test_policies_and_structures_of_ones_own(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "mine_for_test.py").write_text(
        "import armature as am\n"
        "class Last(am.PythonPolicy):\n"
        "    def choose(self, state, problem, history, rng):\n"
        "        return problem.structure.n_arms - 1\n"
        "class Anything(am.Structure):\n"
        "    def __init__(self, n_arms):\n"
        "        self.n_arms = n_arms\n"
        "    def project(self, means, weights, family):\n"
        "        return am.Unconstrained(self.n_arms).project(means, weights, family)\n"
        "    def alt_min(self, means, weights, best, challenger, family):\n"
        "        free = am.Unconstrained(self.n_arms)\n"
        "        return free.alt_min(means, weights, best, challenger, family)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    path = tmp_path / "spec.toml"
    text = SPEC.replace('"ucb"', '"mine_for_test:Last"').replace("horizon = 300", "horizon = 50")
    text = text.replace('kind = "unimodal"', 'kind = "mine_for_test:Anything"\nn_arms = 5')
    path.write_text(text.replace("repetitions = 25", "repetitions = 2"))
    command = ("run", str(path), "--json", "--quiet", "--out", str(tmp_path / "out"))
    code, output = invoke(*command)
    assert code == 2
    assert "--allow mine_for_test" in " ".join(output.split())
    assert "mine_for_test" not in sys.modules
    for _ in range(2):  # the second time from the file of results
        code, output = invoke(*command, "--allow", "mine_for_test")
        assert code == 0, output
        last = json.loads(output)["results"][0]["policies"]["Last"]
        assert last["regret"] == pytest.approx(0.7 + 0.5 + 0.2 + 46 * 0.8)


def start(spec: Path, out: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        obeying([sys.executable, "-m", "armature", "run", str(spec), "--out", str(out)]),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_parts(out: Path, process: subprocess.Popen[str], least: int) -> None:
    while len(list(out.glob("parts/*.part"))) < least:
        assert process.poll() is None, "it was finished before it could be interrupted"
        time.sleep(0.01)


def test_killed_runs_resume_to_the_same_bits(tmp_path: Path) -> None:
    """Killed twice at random moments, then interrupted, then left alone."""
    spec, out, rng = tmp_path / "spec.toml", tmp_path / "out", np.random.default_rng(1)
    text = SPEC.replace("horizon = 300", "horizon = 100000")
    spec.write_text(text.replace("repetitions = 25", "repetitions = 100"))
    for n in (1, 2):
        process = start(spec, out)
        wait_for_parts(out, process, n)
        time.sleep(float(rng.uniform(0.0, 0.1)))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert not (out / "results.parquet").exists()
    process = start(spec, out)
    wait_for_parts(out, process, len(list(out.glob("parts/*.part"))) + 1)
    process.send_signal(signal.SIGINT)
    _, complaint = process.communicate()
    assert process.returncode == 130
    assert "interrupted: finished runs are kept in" in complaint
    assert not (out / "results.parquet").exists()
    assert not list(out.rglob(".armature-*.tmp.parquet"))
    process = start(spec, out)
    output, complaint = process.communicate()
    assert process.returncode == 0, complaint
    assert "100 runs of 100,000 rounds" in output
    code, _ = invoke("run", str(spec), "--out", str(tmp_path / "again"), "--quiet")
    assert code == 0
    for name in ("results.parquet", "summary.csv", "experiment.json", "regret.png"):
        assert (tmp_path / "again" / name).read_bytes() == (out / name).read_bytes(), name


def test_a_damaged_part_is_run_again(spec: Path, tmp_path: Path) -> None:
    """Whatever is in it, the command ends well: a part without a byte used to abort it."""
    out = tmp_path / "out"
    assert invoke("run", str(spec), "--out", str(out), "--quiet")[0] == 0
    whole = (out / "results.parquet").read_bytes()
    for damaged in (b"", b"PK", None):
        (out / "results.parquet").unlink()
        path = min(out.glob("parts/*.part"))
        path.write_bytes(path.read_bytes()[:100] if damaged is None else damaged)
        code, output = invoke("run", str(spec), "--out", str(out), "--quiet")
        assert code == 0, output
        assert "is damaged: it was set aside" in " ".join(output.split())
        assert (out / "results.parquet").read_bytes() == whole


@pytest.mark.parametrize(
    "words",
    ["run SPEC", "merge SPEC", "identify SPEC", "reproduce", "assess log --spec SPEC"],
)
def test_an_address_is_no_folder(
    tmp_path: Path, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "SPEC").write_text(SPEC)
    result = CliRunner().invoke(app, [*words.split(), "--out", "s3://bucket/results"])
    assert result.exit_code == 2
    said = " ".join(result.stderr.split())
    assert "is an address: give a folder of this machine" in said
    assert "aws s3 sync" in said
    assert os.listdir(tmp_path) == ["SPEC"]


def test_an_interruption_while_a_part_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was finished is written in the end: it is not played again."""
    (plan,) = plans_of(SPEC.replace("repetitions = 25", "repetitions = 4"))
    save, calls = Parts.save, []

    def interrupted(parts: Parts, policy: am.Policy, runs: Any, first: int, stop: int) -> None:
        calls.append((policy, set(range(first, stop))))
        if len(calls) == 1:
            raise KeyboardInterrupt
        save(parts, policy, runs, first, stop)

    monkeypatch.setattr(Parts, "save", interrupted)
    parts = Parts(tmp_path, plan)
    with pytest.raises(KeyboardInterrupt):
        run_missing(plan, parts, quietly(workers=1))
    policy, finished = calls[0]
    assert finished
    assert not finished & {r for gap in parts.missing(policy) for r in range(*gap)}


class CutOff(list):
    """Tasks that are handed out one by one, until Ctrl-C."""

    def __iter__(self):
        yield from self[:2]
        raise KeyboardInterrupt


def test_an_interruption_while_tasks_are_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that were handed out are stopped, and not played to their end first."""
    (plan,) = plans_of(SPEC)
    told: list[bool] = []

    def play(_: object, policy: am.Policy, repetition: int, stop: threading.Event, *__: object):
        told.append(stop.wait(10.0))
        raise Interrupted

    monkeypatch.setattr(SimulationPlan, "play", play)
    tasks = CutOff((policy, r) for r in range(4) for policy in plan.policies)
    with pytest.raises(KeyboardInterrupt):
        play_on_threads(plan, tasks, plan.room(), 1)
    assert told in ([], [True])
