"""Folders of experiments: resumed, extended, damaged, killed, shared; always the same bits."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from folders import SPEC, Runner, changed, content, plans_of, quietly

import armature as am
from armature.experiments import keys
from armature.experiments.folder import claim_folder
from armature.experiments.run import PlacedPlan

FILES = ["experiment.json", "parts", "regret.png", "results.parquet", "summary.csv"]


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> Runner:
    return Runner(monkeypatch)


def test_a_finished_folder_is_read_and_not_written(runner: Runner, tmp_path: Path) -> None:
    assert runner(tmp_path / "out") == ""
    assert len(runner.played) == 24
    assert sorted(os.listdir(tmp_path / "out")) == FILES
    before = content(tmp_path / "out")
    times = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")}
    assert runner(tmp_path / "out") == ""
    assert runner.played == []
    assert content(tmp_path / "out") == before
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")} == times


@pytest.mark.parametrize("lost", ["regret.png", "summary.csv", "results.parquet", "parts"])
def test_what_is_missing_is_made_again(runner: Runner, tmp_path: Path, lost: str) -> None:
    """As after a kill between the results and what is made from them."""
    out = tmp_path / "out"
    runner(out)
    before = content(out)
    if lost == "parts":
        for path in (out / lost).iterdir():
            path.unlink()
    else:
        (out / lost).unlink()
    runner(out)
    assert runner.played == []
    assert content(out) == before


@pytest.mark.parametrize("name", ["regret.png", "summary.csv"])
@pytest.mark.parametrize("keep", [0, 0.5, 2])
def test_a_table_or_picture_that_was_changed_is_made_again(
    runner: Runner, tmp_path: Path, name: str, keep: float
) -> None:
    """Emptied, cut off in the middle, or with something behind its end."""
    runner(tmp_path)
    before = content(tmp_path)
    whole = before[name]
    (tmp_path / name).write_bytes((whole + whole)[: int(keep * len(whole))])
    runner(tmp_path)
    assert runner.played == []
    assert content(tmp_path) == before


def test_a_picture_of_other_results_is_made_again(runner: Runner, tmp_path: Path) -> None:
    """The table and the picture are there, but of fewer repetitions: the program was killed."""
    out, fresh = tmp_path / "out", tmp_path / "fresh"
    longer = changed(SPEC, "repetitions = 12", "repetitions = 15")
    runner(out)
    runner(fresh, longer)
    for name in ("results.parquet",):
        (out / name).write_bytes((fresh / name).read_bytes())
    runner(out, longer)
    assert runner.played == []
    assert content(out) == content(fresh)


@pytest.mark.parametrize(
    ("old", "new", "played"),
    [
        ("repetitions = 12", "repetitions = 25", 26),
        ("repetitions = 12", "repetitions = 13", 2),
        ('["ucb", ', '["klucb", "ucb", ', 12),
        ("width = 0.5", "width = 0.25", 12),
        ("repetitions = 12", "repetitions = 7", 0),
        ('["ucb", ', "[", 0),
    ],
)
def test_a_finished_experiment_is_extended(
    runner: Runner, tmp_path: Path, old: str, new: str, played: int
) -> None:
    spec = changed(SPEC, old, new)
    runner(tmp_path / "fresh", spec)
    runner(tmp_path / "out")
    assert runner(tmp_path / "out", spec) == ""
    assert len(runner.played) == played
    assert content(tmp_path / "out") == content(tmp_path / "fresh")
    runner(tmp_path / "out")  # and back again: it is all there
    assert runner.played == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("seed = 5", "seed = 6"),
        ("horizon = 80", "horizon = 81"),
        ("0.9", "0.8"),
        ('"unconstrained"', '"unimodal"'),
    ],
)
def test_another_problem_is_another_experiment(
    runner: Runner, tmp_path: Path, old: str, new: str
) -> None:
    runner(tmp_path)
    before = content(tmp_path)
    with pytest.raises(am.ArmatureError, match="holds another experiment: choose another folder"):
        runner(tmp_path, changed(SPEC, old, new))
    assert content(tmp_path) == before


def test_other_code_is_run_again(runner: Runner, tmp_path: Path, monkeypatch) -> None:
    """Never silently old numbers: after an update, all is computed again, and that is said."""
    with monkeypatch.context() as patch:
        patch.setattr(keys, "package_code", lambda: "older code")
        runner(tmp_path)
        older = content(tmp_path)
    said = runner(tmp_path)
    assert "UCB, UCB(width=0.5): the code or a default has changed since" in said
    assert "run again" in said
    assert len(runner.played) == 24
    assert content(tmp_path)["results.parquet"] != older["results.parquet"]
    assert content(tmp_path)["summary.csv"] == older["summary.csv"]  # the same code, in truth
    assert runner(tmp_path) == ""
    assert runner.played == []


def test_a_users_policy_that_is_edited_is_run_again(
    runner: Runner, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    module = tmp_path / "edited_for_test.py"
    regret = []
    for arm in (0, 1):
        module.write_text(
            "import armature as am\nclass Always(am.PythonPolicy):\n"
            f"    def choose(self, state, problem, history, rng):\n        return {arm}\n"
        )
        sys.modules.pop("edited_for_test", None)
        from edited_for_test import Always

        (plan,) = plans_of(SPEC)
        plan = replace(plan, policies=(Always(), am.UCB()))
        results = PlacedPlan(plan, tmp_path / "out", quietly()).run(quietly(), picture=False)
        regret.append(results.regret("Always")[0, -1])
        played, runner.played = runner.played, []
        assert {name for name, _ in played} == ({"Always"} if arm else {"Always", "UCB"})
    sys.modules.pop("edited_for_test", None)
    assert regret[0] > 50.0 > regret[1]


def test_results_that_are_damaged_are_made_again(runner: Runner, tmp_path: Path) -> None:
    runner(tmp_path)
    before = content(tmp_path)
    path = tmp_path / "results.parquet"
    for damaged in (b"", before["results.parquet"][:500], b"nothing of the kind"):
        path.write_bytes(damaged)
        said = runner(tmp_path)
        assert "is damaged" in said
        assert "made again from the finished runs" in said
        assert runner.played == []
        assert content(tmp_path) == before


def test_an_empty_part_is_run_again(runner: Runner, tmp_path: Path) -> None:
    runner(tmp_path)
    before = content(tmp_path)
    (tmp_path / "results.parquet").unlink()
    path = max(tmp_path.glob("parts/*.part"))
    path.write_bytes(b"")
    assert "is damaged: it was set aside, and its runs are done again" in runner(tmp_path)
    assert len(runner.played) == 12  # of one policy: quick runs are all in one block
    assert len({name for name, _ in runner.played}) == 1
    aside = (tmp_path / "parts" / f"{path.name}.damaged").relative_to(tmp_path)
    assert {k: v for k, v in content(tmp_path).items() if k != str(aside)} == before


@pytest.mark.parametrize("note", ["", "{", '{"structure": {}}', "[1]", "null", "\xff"])
def test_a_damaged_note_is_written_anew(runner: Runner, tmp_path: Path, note: str) -> None:
    """Where results or nothing but parts are beside it; otherwise it is said what to do."""
    runner(tmp_path)
    before = content(tmp_path)
    path = tmp_path / "experiment.json"
    path.write_bytes(note.encode("latin-1"))
    assert "experiment.json' was damaged: it is written again" in runner(tmp_path)
    assert runner.played == []
    assert content(tmp_path) == before
    path.write_bytes(note.encode("latin-1"))
    with pytest.raises(am.ArmatureError, match="holds another experiment"):
        runner(tmp_path, changed(SPEC, "seed = 5", "seed = 6"))
    (tmp_path / "results.parquet").unlink()
    with pytest.raises(am.ArmatureError, match="is damaged, so it is unknown") as error:
        runner(tmp_path)
    for name in ("experiment.json", "summary.csv", "regret.png"):
        assert name in str(error.value)
        (tmp_path / name).unlink()
    runner(tmp_path)  # as the sentence says
    assert runner.played == []
    assert content(tmp_path) == before


def test_a_note_that_is_gone(runner: Runner, tmp_path: Path) -> None:
    runner(tmp_path)
    before = content(tmp_path)
    (tmp_path / "experiment.json").unlink()
    runner(tmp_path)
    assert content(tmp_path) == before
    (tmp_path / "experiment.json").unlink()
    with pytest.raises(am.ArmatureError, match="holds another experiment"):
        runner(tmp_path, changed(SPEC, "seed = 5", "seed = 6"))


def test_a_line_that_was_cut_off_is_completed(tmp_path: Path) -> None:
    """The word that `reproduce` leaves in its folder."""
    word, path = "armature reproduce linear --horizon 300\n", tmp_path / "command.txt"
    for found in (None, word, word[:-5], ""):
        if found is not None:
            path.write_text(found)
        claim_folder(tmp_path, "command.txt", word, ("table.csv",))
        assert path.read_text() == word
        (tmp_path / "table.csv").write_text("mine")
    path.write_text("armature reproduce\n")
    with pytest.raises(am.ArmatureError, match="holds another experiment"):
        claim_folder(tmp_path, "command.txt", word, ("table.csv",))
    path.unlink()
    with pytest.raises(am.ArmatureError, match="holds another experiment"):
        claim_folder(tmp_path, "command.txt", word, ("table.csv",))
    assert os.listdir(tmp_path) == ["table.csv"]


CHILD = """
import os, signal, sys
from pathlib import Path
from rich.console import Console
from armature.experiments.experiment import parse_experiments
from armature.experiments.run import Runner, run_all
from armature.experiments.simulation import SimulationPlan

last, rename, count = int(sys.argv[3]), os.replace, 0

def replace(*paths):
    global count
    count += 1
    if count == last % 100:
        if last > 100:
            rename(*paths)
        os.kill(os.getpid(), signal.SIGKILL)
    rename(*paths)

os.replace = replace
spec = Path(sys.argv[1]).read_text()
plans = [SimulationPlan.of(experiment) for experiment in parse_experiments(spec)]
run_all(plans, Path(sys.argv[2]), Runner(Console(quiet=True), quiet=True, workers=1))
"""


def run_child(spec: Path, out: Path, last: int) -> int:
    """Run in a process that kills itself just before (or, above 100, after) a file is in place."""
    return subprocess.run(
        [sys.executable, "-c", CHILD, str(spec), str(out), str(last)], check=False
    ).returncode


def test_killed_at_any_file_it_goes_on(tmp_path: Path) -> None:
    """Each process is killed at one of the files that it writes, until one has nothing to do."""
    spec, out = tmp_path / "spec.toml", tmp_path / "out"
    spec.write_text(SPEC)
    codes = []
    for last in (103, 2, 103, 102, 2, 101):
        codes.append(run_child(spec, out, last))
        if codes[-1] == 0:
            break
    assert codes.count(-signal.SIGKILL) >= 4
    assert set(codes) <= {0, -signal.SIGKILL}
    assert list(out.rglob(".armature-*"))  # what the killed ones were writing
    for path in out.rglob(".armature-*"):
        os.utime(path, (1.0, 1.0))
    assert run_child(spec, out, 0) == 0
    assert not list(out.rglob(".armature-*"))
    assert run_child(spec, tmp_path / "fresh", 0) == 0
    assert content(out) == content(tmp_path / "fresh")


def test_runs_at_the_same_time_both_succeed(tmp_path: Path) -> None:
    spec, out = tmp_path / "spec.toml", tmp_path / "out"
    spec.write_text(SPEC)
    command = [sys.executable, "-c", CHILD, str(spec), str(out), "0"]
    processes = [subprocess.Popen(command) for _ in range(3)]
    assert [process.wait() for process in processes] == [0, 0, 0]
    assert run_child(spec, tmp_path / "alone", 0) == 0
    assert content(out) == content(tmp_path / "alone")
    assert not list(out.rglob(".armature-*"))


def test_the_note_says_what_the_folder_is_for(runner: Runner, tmp_path: Path) -> None:
    runner(tmp_path)
    note = json.loads((tmp_path / "experiment.json").read_text())
    assert note["means"] == [0.2, 0.9, 0.4]
    assert (note["horizon"], note["repetitions"], note["seed"]) == (80, 12, 5)
    assert note["policies"] == [{"kind": "UCB"}, {"kind": "UCB", "width": 0.5}]
    assert set(note["made"]) == {"summary.csv", "regret.png"}
    results = am.Results.load(tmp_path / "results.parquet")
    instance = am.Instance(am.Unconstrained(3), [0.2, 0.9, 0.4])
    same = am.simulate(instance, [am.UCB(), am.UCB(width=0.5)], 80, 12, seed=5)
    for name in same.names:
        assert np.array_equal(results.regret(name), same.regret(name))
