"""Files that were cut off or changed: each is noticed, and each gets a sentence."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import armature as am
from armature.experiments.run_store import Parts, unpack
from armature.experiments.simulation import SimulationPlan
from armature.rounds.play import PolicyRuns

INSTANCE = am.Instance(am.Unconstrained(3), [0.0, 0.5, 1.0])
PLAN = SimulationPlan(instance=INSTANCE, policies=(am.UCB(),), horizon=60, repetitions=3, seed=1)


@pytest.fixture(scope="module")
def results() -> am.Results:
    return am.simulate(INSTANCE, [am.UCB(), am.UCB(width=0.5)], 60, 3, seed=1)


def damage(content: bytes, n: int, rng: np.random.Generator) -> bytes:
    """Cut off, with flipped bits, with a stretch of zeros or noise, or with bytes left out."""
    size = len(content)
    start, length = int(rng.integers(size)), int(rng.integers(1, 64))
    changed = bytearray(content)
    if n % 5 == 0:
        return content[:start]
    if n % 5 == 1:
        changed[start] ^= 1 << int(rng.integers(8))
    elif n % 5 == 2:
        tail = size - 1 - int(rng.integers(min(size, 3000)))  # the footer, where the names are
        changed[tail] ^= 1 << int(rng.integers(8))
    elif n % 5 == 3:
        stretch = len(changed[start : start + length])
        changed[start : start + length] = bytes(stretch) if n % 2 else rng.bytes(stretch)
    else:
        del changed[start : start + length]
    return bytes(changed)


def test_every_damaged_file_of_results_is_refused(results, tmp_path: Path) -> None:
    """Or, where only what nobody reads was changed (statistics, padding), it holds the same."""
    path = tmp_path / "results.parquet"
    results.save(path)
    content, rng = path.read_bytes(), np.random.default_rng(0)
    refused = harmless = 0
    for n in range(600):
        path.write_bytes(damage(content, n, rng))
        try:
            loaded = am.Results.load(path)
        except am.ArmatureError as error:
            refused += str(path) in str(error)
            continue
        assert loaded.about() == results.about()
        for name in results.names:
            assert np.array_equal(loaded.regret(name), results.regret(name))
            assert np.array_equal(loaded.pulls(name), results.pulls(name))
        harmless += 1
    assert refused + harmless == 600
    assert refused > 500
    for content in (b"", b"PAR1", b"PAR1PAR1", bytes(1000)):
        path.write_bytes(content)
        with pytest.raises(am.ArmatureError, match="damaged"):
            am.Results.load(path)


def test_every_damaged_part_is_set_aside(results, tmp_path: Path) -> None:
    said: list[str] = []
    parts = Parts(tmp_path, PLAN, said.append)
    runs = results.runs["UCB"]
    parts.save(am.UCB(), runs, 0, 3)
    (path,) = tmp_path.iterdir()
    content, rng = path.read_bytes(), np.random.default_rng(1)
    damaged = {damage(content, n, rng) for n in range(300)} - {content}
    for changed in [b"", *sorted(damaged)]:
        path.write_bytes(changed)
        empty = PolicyRuns.empty(3, results.checkpoints.size, 3)
        assert parts.load(am.UCB(), empty) == set()
        assert not empty.pulls.any()
        assert [p.name for p in tmp_path.iterdir()] == [f"{path.name}.damaged"]
    assert len(said) > 280
    assert "is damaged: it was set aside, and its runs are done again" in said[0]
    path.write_bytes(content)
    empty = PolicyRuns.empty(3, results.checkpoints.size, 3)
    assert parts.load(am.UCB(), empty) == {0, 1, 2}
    assert np.array_equal(empty.regret, runs.regret)
    assert np.array_equal(empty.pulls, runs.pulls)
    assert np.array_equal(empty.explored, runs.explored)


def test_a_part_is_what_its_name_says(results, tmp_path: Path) -> None:
    """A whole part under another name is another part: it is not read as that."""
    parts = Parts(tmp_path, PLAN)
    parts.save(am.UCB(), results.runs["UCB"], 0, 3)
    (path,) = tmp_path.iterdir()
    other = path.name.replace("000000-000003", "000003-000006")
    job = parts.job(am.UCB())
    assert unpack(path.name, path.read_bytes(), job) is not None
    assert unpack(other, path.read_bytes(), job) is None
    assert replace(PLAN, horizon=61).job(am.UCB()).key != job.key


def test_the_content_of_a_part_is_a_function_of_its_name(tmp_path: Path) -> None:
    contents = []
    for n, workers in enumerate((1, 2)):
        runs = am.simulate(INSTANCE, [am.UCB()], 60, 3, seed=1, workers=workers).runs["UCB"]
        Parts(tmp_path / str(n), PLAN).save(am.UCB(), runs, 0, 3)
        contents.append({p.name: p.read_bytes() for p in (tmp_path / str(n)).iterdir()})
    assert contents[0] == contents[1]
