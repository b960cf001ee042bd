"""A real Ray cluster on this machine: workers, machines and programs are lost, and bits are not.

Two raylets of one processor each; each program that asks is a process of its own, or this one.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from folders import SPEC, changed, content, draw_quickly, plans_of, quietly, without_pictures
from processes import PATIENCE, obeying
from ray_policies import Dying, Failing, Steady
from test_sweep import SWEEP
from typer.testing import CliRunner

import armature as am
from armature.cli.program import app
from armature.errors import BlocksFailedError
from armature.experiments.cluster import RETRIES
from armature.experiments.run import run_all
from armature.experiments.runs import PlanSummary
from armature.experiments.simulation import SimulationPlan

ray = pytest.importorskip("ray", reason="the extra `ray` is not installed")
pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own

HELPERS = Path(__file__).parents[1] / "helpers"
OWN = "ray_policies"
ALLOW = (OWN,)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """Two nodes; this program is connected to them."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        paths = [str(HELPERS), os.environ.get("PYTHONPATH", "")]
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, paths)))
        patch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
        nodes = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
        nodes.add_node(num_cpus=1)
        ray.init(address=nodes.address, log_to_driver=False, logging_level="ERROR")
        yield nodes
        ray.shutdown()
        nodes.shutdown()


@pytest.fixture(autouse=True)
def quick_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(am.Results, "plot", draw_quickly)


def on_ray(out: Path, spec: str) -> list[PlanSummary]:
    """What the cluster plays is played there alone: not a single repetition here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SimulationPlan, "play", lambda *_: pytest.fail("played by the program"))
        return run_all(plans_of(spec, ALLOW), out, quietly(engine="ray"))


def on_threads(out: Path, spec: str) -> list[PlanSummary]:
    return run_all(plans_of(spec, ALLOW), out, quietly(workers=16))


def spec_of(*policies: str, repetitions: int = 12) -> str:
    spec = changed(SPEC, '["ucb", { kind = "ucb", width = 0.5 }]', f"[{', '.join(policies)}]")
    return changed(spec, "repetitions = 12", f"repetitions = {repetitions}")


def steady(seconds: float) -> str:
    return f'{{ kind = "{OWN}:Steady", seconds = {seconds} }}'


@pytest.mark.parametrize("spec", [SPEC, SWEEP], ids=["experiment", "sweep"])
def test_the_same_bits_as_on_threads(cluster: Any, tmp_path: Path, spec: str) -> None:
    """Of a sweep, workers make the files of each point."""
    on_ray(tmp_path / "ray", spec)
    on_threads(tmp_path / "threads", spec)
    seen = content if spec == SPEC else without_pictures
    assert seen(tmp_path / "ray") == seen(tmp_path / "threads")
    assert len(list(tmp_path.glob("ray/**/regret.png"))) == (1 if spec == SPEC else 5)


def test_simulate(cluster: Any) -> None:
    instance = am.Instance(am.Unconstrained(3), [0.2, 0.9, 0.4])
    policies, told = [am.UCB(), Steady()], []
    found = am.simulate(
        instance, policies, 80, 12, seed=5, engine="ray", progress=lambda *a: told.append(a)
    )
    same = am.simulate(instance, policies, 80, 12, seed=5)
    for name in same.names:
        for field in ("regret", "pulls", "explored"):
            there, here = getattr(found.runs[name], field), getattr(same.runs[name], field)
            assert np.array_equal(there, here)
        assert (found.runs[name].seconds > 0.0).all()
    assert sum(rounds for _, _, rounds in told) == 2 * 12 * 80


def test_identify(cluster: Any) -> None:
    instance = am.Instance(am.Unimodal(3), [0.2, 0.9, 0.4])
    found, same = (
        am.identify(
            instance,
            [am.TopTwo()],
            [0.2, 0.1],
            6,
            max_rounds=200,
            threshold="theory",  # whose kernel is elsewhere in every process
            engine=engine,
        )
        for engine in ("ray", "threads")
    )
    for field in ("rounds", "arms", "statistics", "pulls"):
        there, here = (getattr(one.runs["TopTwo"], field) for one in (found, same))
        assert np.array_equal(there, here)


def test_identification(cluster: Any, tmp_path: Path) -> None:
    spec = tmp_path / "spec.toml"
    spec.write_text(spec_of('"toptwo"', '"uniformsampling"', repetitions=20))
    words = ["identify", str(spec), "--delta", "0.2", "--max-rounds", "300", "--quiet"]
    for name, more in (("ray", ["--engine", "ray"]), ("threads", [])):
        out = str(tmp_path / name)
        result = CliRunner().invoke(app, [*words, *more, "--out", out])
        assert result.exit_code == 0, result.output
    assert content(tmp_path / "ray") == content(tmp_path / "threads")


def test_workers_that_are_killed(cluster: Any, tmp_path: Path) -> None:
    """While they compute, and while they write; Ray gives their blocks to others."""
    dying, graves = [], []
    for when in ("computing", "about to be written", "just written"):
        graves.append(tmp_path / when.split()[0] / when.split()[-1])
        graves[-1].mkdir(parents=True)
        dying.append(f'{{ kind = "{OWN}:Dying", folder = "{graves[-1]}", when = "{when}" }}')
    spec = spec_of(*dying, '"ucb"', repetitions=6)
    on_ray(tmp_path / "ray", spec)
    assert all(list(grave.iterdir()) for grave in graves)
    on_threads(tmp_path / "threads", spec)
    assert content(tmp_path / "ray") == content(tmp_path / "threads")


def test_a_block_that_fails_is_named_and_the_others_finish(cluster: Any, tmp_path: Path) -> None:
    """Once for each repetition, and not again: an exception is a bug."""
    traces = tmp_path / "traces"
    traces.mkdir()
    spec = tmp_path / "spec.toml"
    spec.write_text(
        spec_of(f'{{ kind = "{OWN}:Failing", folder = "{traces}" }}', '"ucb"', repetitions=3)
    )
    words = ["run", str(spec), "--engine", "ray", "--out", str(tmp_path / "out"), "--quiet"]
    result = CliRunner().invoke(app, [*words, "--allow", OWN])
    assert result.exit_code == 1
    assert "3 blocks failed; all others are finished" in result.stderr
    assert "Failing" in result.stderr
    assert "ZeroDivisionError: a mistake of the policy's" in result.stderr
    assert len(list(traces.iterdir())) == 3
    assert not (tmp_path / "out" / "results.parquet").exists()
    for path in traces.iterdir():
        path.unlink()
    traces.rmdir()  # the mistake is mended
    result = CliRunner().invoke(app, [*words, "--allow", OWN])
    assert result.exit_code == 0, result.stderr
    on_threads(tmp_path / "threads", spec.read_text())
    assert content(tmp_path / "out") == content(tmp_path / "threads")


def test_a_block_that_kills_every_worker_is_given_up(cluster: Any, tmp_path: Path) -> None:
    graves = tmp_path / "graves"
    graves.mkdir()
    dying = f'{{ kind = "{OWN}:Dying", folder = "{graves}", times = 100 }}'
    with pytest.raises(BlocksFailedError, match=r"1 block failed.*\n.*its worker was lost"):
        on_ray(tmp_path / "out", spec_of(dying, '"ucb"', repetitions=1))
    assert len(list(graves.iterdir())) == RETRIES + 1
    assert len(list(tmp_path.glob("out/parts/*.part"))) == 1


def program(spec: Path, out: Path, cluster: Any) -> subprocess.Popen[str]:
    """A program that asks the cluster, in a process of its own."""
    words = ["run", str(spec), "--engine", "ray", "--address", cluster.address, "--out", str(out)]
    code = (
        "import sys, armature as am\nfrom folders import draw_quickly\n"
        "am.Results.plot = draw_quickly\nfrom armature.cli import main\nmain()"
    )
    return subprocess.Popen(
        obeying([sys.executable, "-c", code, *words, "--allow", OWN]),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_parts(out: Path, count: int, process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + PATIENCE
    while len(list(out.glob("parts/*.part"))) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end, "no part was written"
        time.sleep(0.02)


def test_the_program_that_asks_is_interrupted(cluster: Any, tmp_path: Path) -> None:
    """What is finished is kept, the rest stops, and another goes on."""
    spec, out = tmp_path / "spec.toml", tmp_path / "out"
    spec.write_text(spec_of(steady(0.003), '"ucb"', repetitions=24))
    first = program(spec, out, cluster)
    wait_for_parts(out, 2, first)
    first.send_signal(signal.SIGINT)
    said = first.communicate(timeout=PATIENCE)[1]
    assert first.returncode == 130, said
    assert "interrupted: finished runs are kept in" in said
    kept = {path: path.stat().st_mtime_ns for path in out.glob("parts/*.part")}
    assert kept
    assert not (out / "results.parquet").exists()
    on_ray(out, spec.read_text())
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    on_threads(tmp_path / "threads", spec.read_text())
    assert content(out) == content(tmp_path / "threads")


def test_three_programs_on_one_folder_of_which_one_is_killed(cluster: Any, tmp_path: Path) -> None:
    """This one is the third."""
    spec, out = tmp_path / "spec.toml", tmp_path / "out"
    spec.write_text(spec_of(steady(0.003), '"ucb"', repetitions=16))
    killed, other = (program(spec, out, cluster) for _ in range(2))
    wait_for_parts(out, 2, killed)
    killed.kill()
    killed.communicate(timeout=PATIENCE)
    assert not (out / "results.parquet").exists()
    on_ray(out, spec.read_text())
    said = other.communicate(timeout=PATIENCE)
    assert other.returncode == 0, said
    assert "rounds/s; the slowest took" in said[1] or "finished before" in said[1], said
    on_threads(tmp_path / "threads", spec.read_text())
    assert content(out) == content(tmp_path / "threads")


def test_a_machine_that_is_lost(cluster: Any, tmp_path: Path) -> None:
    """Last: of two nodes, one goes while it computes."""
    (lost,), out = cluster.worker_nodes, tmp_path / "out"
    spec = spec_of(steady(0.003), '"ucb"', repetitions=16)
    taken = threading.Event()

    def take_away() -> None:
        end = time.monotonic() + PATIENCE
        while len(list(out.glob("parts/*.part"))) < 3 and time.monotonic() < end:
            time.sleep(0.02)
        cluster.remove_node(lost, allow_graceful=False)
        taken.set()

    thread = threading.Thread(target=take_away)
    thread.start()
    on_ray(out, spec)
    assert taken.is_set(), "the machine was still there when all was done"
    thread.join()
    on_threads(tmp_path / "threads", spec)
    assert content(out) == content(tmp_path / "threads")


def test_the_policies_of_this_test_choose_as_if_nothing_had_happened(tmp_path: Path) -> None:
    """Otherwise the comparisons above would compare nothing."""
    instance = am.Instance(am.Unconstrained(3), [0.2, 0.9, 0.4])
    policies = [Steady(), Dying(str(tmp_path), times=0), Failing(str(tmp_path / "none"))]
    results = am.simulate(instance, policies, 80, 2)
    assert all(results.regret(name)[0, -1] > 1.0 for name in results.names)
