"""What a worker does with a block, and how blocks are handed out; without any cluster."""

from __future__ import annotations

import multiprocessing
import time
from pathlib import Path

import numpy as np
import pytest

import armature as am
from armature.experiments import cluster as worker
from armature.experiments.blocks import Block, WaitingBlocks
from armature.experiments.cluster import play_block
from armature.experiments.keys import package_code
from armature.experiments.plan import Job
from armature.experiments.run_store import Parts, unpack
from armature.experiments.simulation import SimulationPlan
from armature.rounds.play import PolicyRuns

INSTANCE = am.Instance(am.Unconstrained(3), [0.2, 0.9, 0.4])
POLICY = am.UCB()


def plan_of(policy: am.Policy = POLICY, horizon: int = 60, seed: int = 1) -> SimulationPlan:
    return SimulationPlan(
        instance=INSTANCE, policies=(policy,), horizon=horizon, repetitions=5, seed=seed
    )


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Parts(tmp_path / "parts", plan_of()).job(POLICY)


def test_a_part_is_written_where_the_folder_is_seen_and_else_returned(
    job: Job, tmp_path: Path
) -> None:
    returned = play_block(job, 2, 5, package_code(), tmp_path / "no mark")
    assert returned.content is not None
    assert not (tmp_path / "parts").exists()
    (tmp_path / "mark").touch()
    written = play_block(job, 2, 5, package_code(), tmp_path / "mark")
    assert written.content is None
    assert written.seconds > 0.0
    (path,) = (tmp_path / "parts").iterdir()
    assert path.read_bytes() == returned.content
    same = am.simulate(INSTANCE, [POLICY], 60, 5, seed=1, workers=1).runs["UCB"]
    found = PolicyRuns.empty(5, *same.pulls.shape[1:])
    assert Parts(tmp_path / "parts", plan_of()).load(POLICY, found) == {2, 3, 4}
    for name in ("regret", "pulls", "explored"):
        assert np.array_equal(getattr(found, name)[2:], getattr(same, name)[2:])
    assert play_block(job, 2, 5, package_code(), tmp_path / "mark").seconds == 0.0  # it is there
    path.write_bytes(b"damaged")
    assert play_block(job, 2, 5, package_code(), tmp_path / "mark").seconds > 0.0
    assert path.read_bytes() == returned.content


def test_a_worker_with_other_code_refuses(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(am.ArmatureError, match=r"is another version .* install the same on all"):
        play_block(job, 0, 1, "other code", None)
    asking = package_code()
    other = Job(plan_of(), POLICY, "0" * 24)  # as if a user's module were another
    with pytest.raises(am.ArmatureError, match="another version"):
        play_block(other, 0, 1, asking, None)


class Own(am.PythonPolicy):
    def choose(self, state, problem, history, rng):
        return 1


def test_a_class_of_a_notebook_brings_its_code_along(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its key is never the same twice, for nothing tells what its source is."""
    monkeypatch.setattr(Own, "__module__", "__main__")
    own = Own()
    job = Job(plan_of(own), own, "0" * 24)
    outcome = play_block(job, 0, 2, package_code(), None)
    assert outcome.content is not None
    part = unpack(f"{'0' * 24}-000000-000002.part", outcome.content, job)
    assert part is not None
    assert part[2]["pulls"][:, -1].tolist() == [[1.0, 58.0, 1.0]] * 2


def compile_and_tell(job: Job, log: str, gate: object) -> None:
    """In a process of its own: say when what would be compiling begins and ends."""

    def compile_slowly(*_: object) -> None:
        with open(log, "a") as file:
            file.write("begins\n")
        time.sleep(0.2)
        with open(log, "a") as file:
            file.write("ends\n")

    SimulationPlan.compile = compile_slowly  # type: ignore[method-assign]
    gate.wait()  # type: ignore[attr-defined]
    worker.compile_once(job)
    worker.compile_once(job)


def test_kernels_are_compiled_once_on_a_machine(
    job: Job, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first of four processes is alone; the others come when it has ended, and load."""
    monkeypatch.setenv("ARMATURE_CACHE_DIR", str(tmp_path / "cache"))
    log = tmp_path / "log"
    context = multiprocessing.get_context("spawn")
    gate = context.Barrier(4)
    processes = [
        context.Process(target=compile_and_tell, args=(job, str(log), gate)) for _ in range(4)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    words = log.read_text().split()
    assert words[:3] == ["begins", "ends", "begins"]
    assert words.count("begins") == 1 + 4  # by the first for all, and by each for itself
    assert words[2:6].count("begins") >= 2  # at the same time, without any lock


def test_waiting_blocks_are_cut_by_what_was_measured() -> None:
    """Single repetitions until one is back; then 20 to 40 s; in the end as many as workers."""
    jobs = [Job(plan_of(policy, 1000, 0), policy, policy.name) for policy in (POLICY, am.KLUCB())]
    waiting = WaitingBlocks([(jobs[0], [(0, 3), (7, 1000)]), (jobs[1], [(0, 500)])])
    assert waiting.rounds == 1000 * (3 + 993 + 500)
    seconds = {"UCB": 3.0, "KLUCB": 0.01}
    done: dict[str, list[int]] = {"UCB": [], "KLUCB": []}
    sizes: dict[str, list[int]] = {"UCB": [], "KLUCB": []}
    flying: list[Block] = []
    while waiting or flying:
        while waiting and len(flying) < 4:
            flying.append(waiting.next(workers=2))
        block = flying.pop(0)
        name, size = block.job.policy.name, block.stop - block.first
        sizes[name].append(size)
        done[name] += range(block.first, block.stop)
        waiting.took(block, size * seconds[name])
    assert sorted(done["UCB"]) == [*range(3), *range(7, 1000)]
    assert sorted(done["KLUCB"]) == list(range(500))
    assert sizes["UCB"][:4] == [1, 1, 1, 1]
    assert 8 in sizes["UCB"][4:8]
    assert max(sizes["UCB"]) == 8  # 24 s
    assert waiting.rounds == 0
    assert sizes["KLUCB"][:1] == [1]
    assert 64 <= max(sizes["KLUCB"]) <= 128  # little is left: a second or so each
