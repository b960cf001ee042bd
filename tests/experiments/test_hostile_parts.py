"""A folder of parts from somebody else: what is no part is named and left, and costs nothing."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from folders import SPEC, plans_of, quietly

import armature as am
from armature.experiments.blocks import Shard, WaitingBlocks
from armature.experiments.identification import IdentificationPlan, load_identifications
from armature.experiments.merging import merge
from armature.experiments.run import run_shard
from armature.experiments.run_store import Parts, most_bytes, range_of, read_part, unpack
from armature.experiments.simulation import SimulationPlan
from armature.storage.files import first_line, read_regular, sealed, unsealed

INSTANCE = am.Instance(am.Unconstrained(3), [0.2, 0.9, 0.4])
PLAN = SimulationPlan(instance=INSTANCE, policies=(am.UCB(),), horizon=60, repetitions=3, seed=1)
Forge = Callable[[dict[str, np.ndarray]], dict[str, Any]]


def forged(name: str, like: bytes, payload: bytes) -> bytes:
    """Any payload with the head of a true part, and a checksum that fits both."""
    whole = unsealed(like)
    assert whole is not None
    assert whole[0]["name"] == name
    return sealed(whole[0], payload)


def npz(arrays: dict[str, Any]) -> bytes:
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


@pytest.fixture
def part(tmp_path: Path) -> tuple[Parts, Path]:
    """The parts of a policy in a folder, and the one that is there, of three repetitions."""
    parts = Parts(tmp_path / "true", PLAN)
    runs = am.simulate(INSTANCE, [am.UCB()], 60, 3, seed=1, workers=1).runs["UCB"]
    parts.save(am.UCB(), runs, 0, 3)
    (path,) = (tmp_path / "true").iterdir()
    return parts, path


def with_one(name: str, change: Callable[[np.ndarray], Any]) -> Forge:
    return lambda arrays: {**arrays, name: change(arrays[name])}


def set_first(array: np.ndarray, value: float) -> np.ndarray:
    array = array.copy()
    array.flat[0] = value
    return array


FORGERIES: dict[str, Forge] = {
    "text": with_one("regret", lambda a: a.astype(str)),
    "objects": with_one("regret", lambda a: a.astype(object)),
    "single precision": with_one("regret", lambda a: a.astype(np.float32)),
    "other byte order": with_one("regret", lambda a: a.astype(">f8")),
    "whole numbers": with_one("pulls", lambda a: a.astype(np.int64)),
    "complex": with_one("explored", lambda a: a.astype(complex)),
    "no axis": with_one("regret", lambda a: np.float64(1.0)),
    "no repetitions": with_one("regret", lambda a: a[:0]),
    "fewer repetitions": with_one("regret", lambda a: a[:2]),
    "fewer checkpoints": with_one("regret", lambda a: a[:, :-1]),
    "more arms": with_one("pulls", lambda a: np.concatenate([a, a], axis=2)),
    "columns first": with_one("pulls", np.asfortranarray),
    "nan": with_one("regret", lambda a: set_first(a, np.nan)),
    "infinite": with_one("explored", lambda a: set_first(a, np.inf)),
    "negative pulls": with_one("pulls", lambda a: set_first(a, -1.0)),
    "extra field": lambda arrays: {**arrays, "extra": np.zeros(3)},
    "a method": lambda arrays: {**arrays, "write": np.zeros(3)},
    "a dunder": lambda arrays: {**arrays, "__class__": np.zeros(3)},
    "seconds": lambda arrays: {**arrays, "seconds": np.zeros(3)},
    "missing field": lambda arrays: {k: v for k, v in arrays.items() if k != "explored"},
    "nothing": lambda arrays: {},
}


@pytest.mark.parametrize("forge", FORGERIES.values(), ids=FORGERIES)
def test_arrays_that_the_job_does_not_have(part: tuple[Parts, Path], forge: Forge) -> None:
    parts, path = part
    content, job = path.read_bytes(), parts.job(am.UCB())
    found = unpack(path.name, content, job)
    assert found is not None
    assert unpack(path.name, forged(path.name, content, npz(found[2])), job) is not None
    false = forged(path.name, content, npz(forge(found[2])))
    assert unsealed(false) is not None
    assert unpack(path.name, false, job) is None
    path.write_bytes(false)
    assert parts.missing(am.UCB()) == [(0, 3)]
    assert path.with_name(path.name + ".damaged").is_file()


@pytest.mark.parametrize(
    "payload", [b"", b"PK", b"\x93NUMPY", npz({})[:-3], b"PK\x05\x06" + bytes(18)]
)
def test_payloads_that_are_no_arrays(part: tuple[Parts, Path], payload: bytes) -> None:
    parts, path = part
    false = forged(path.name, path.read_bytes(), payload)
    assert unpack(path.name, false, parts.job(am.UCB())) is None


@pytest.mark.parametrize(
    "name",
    [
        "{}-a-b.part",
        "{}.part",
        "{}-000003-000000.part",
        "{}-0-3.part",
        "{}-000000-000000.part",
        "{}-000000-999999999.part",
        "x{}-000000-000003.part",
        "{}-00000\u0664-000009.part",
    ],
)
def test_names_that_are_no_ranges(part: tuple[Parts, Path], name: str) -> None:
    parts, path = part
    key = parts.job(am.UCB()).key
    assert range_of(path.name, key) == (0, 3)
    assert range_of(name.format(key), key) is None
    path.rename(path.with_name(name.format(key)))
    assert Parts(path.parent, PLAN).missing(am.UCB()) == [(0, 3)]


def test_a_small_file_that_unpacks_to_a_large_one(part: tuple[Parts, Path]) -> None:
    """Neither by its arrays, nor by a name of many repetitions, nor by a member that is larger."""
    parts, path = part
    content, job = path.read_bytes(), parts.job(am.UCB())
    found = unpack(path.name, content, job)
    assert found is not None
    zeros = io.BytesIO()
    with zipfile.ZipFile(zeros, "w", zipfile.ZIP_DEFLATED) as file:
        for name, values in found[2].items():
            with file.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array(member, values)
                for _ in range(64):
                    member.write(bytes(1 << 20))
    bomb = forged(path.name, content, zeros.getvalue())
    assert len(bomb) < 1_000_000
    unpacked = count_unpacked(lambda: unpack(path.name, bomb, job))
    assert unpacked < 1_000_000
    many = path.name.replace("000003", "1000000")
    assert most_bytes(job.plan.empty(0), 1_000_000) == 0
    path.rename(path.with_name(many))
    assert read_part(path.with_name(many), job) is None


def count_unpacked(call: Callable[[], object]) -> int:
    """How many bytes are read from the members of zip files."""
    total = 0
    read = zipfile.ZipExtFile.read

    def counted(self: zipfile.ZipExtFile, n: int = -1) -> bytes:
        nonlocal total
        content = read(self, n)
        total += len(content)
        return content

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(zipfile.ZipExtFile, "read", counted)
        assert call() is None
    assert total
    return total


def test_only_ordinary_files_are_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "device").symlink_to("/dev/zero")
    (tmp_path / "to a pipe").symlink_to(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("pipe", "device", "to a pipe", "folder"):
        assert read_regular(tmp_path / name, 100) is None
        assert first_line(tmp_path / name, 100) == b""
    (tmp_path / "file").write_bytes(b"one\ntwo")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    for name in ("file", "link"):
        assert read_regular(tmp_path / name, 7) == b"one\ntwo"
        assert read_regular(tmp_path / name, 6) is None
        assert first_line(tmp_path / name, 100) == b"one\n"


def test_merging_a_folder_of_traps(tmp_path: Path) -> None:
    """What is good is taken over, each trap is named, and nothing is played or waited for."""
    plans = plans_of(SPEC)
    run_shard(plans, Shard(1, 2), tmp_path / "out", quietly())
    run_shard(plans, Shard(2, 2), tmp_path / "theirs", quietly())
    theirs = tmp_path / "theirs" / "parts"
    key = min(theirs.iterdir()).name.partition("-")[0]
    traps = set_traps(theirs, [key, "0" * 24])
    said = io.StringIO()
    (found,) = merge(plans, [tmp_path / "theirs"], tmp_path / "out", quietly(said))
    assert len(found.table) == 2
    assert am.Results.load(tmp_path / "out" / "results.parquet").repetitions == 12
    for trap in traps:
        assert (f"{str(trap)!r} is damaged, or no part" in said.getvalue()) == (key in trap.name)
    assert "\x1b" not in said.getvalue()
    assert set_traps(tmp_path / "out" / "parts", [key])
    merge(plans, [], tmp_path / "out", quietly())


def set_traps(folder: Path, keys: list[str]) -> list[Path]:
    """A pipe, a link to a device, one to nothing that ends, and a folder, for each of the keys."""
    traps = [folder / f"{key}-{n:06d}-{n + 1:06d}.part" for key in keys for n in range(4)]
    for n, trap in enumerate(traps):
        if n % 4 == 0:
            os.mkfifo(trap)
        elif n % 4 == 3:
            trap.mkdir()
        else:
            trap.symlink_to(("/dev/zero", "/dev/tty")[n % 4 - 1])
    return traps


def test_what_a_part_says_of_itself_can_not_paint_the_terminal(tmp_path: Path) -> None:
    plans = plans_of(SPEC)
    run_shard(plans, Shard(1, 1), tmp_path / "out", quietly())
    path = min((tmp_path / "out" / "parts").iterdir())
    head = json.loads(path.read_bytes().partition(b"\n")[0])
    other = path.with_name("0" * 24 + "-000000-000001.part")
    other.write_text(json.dumps({**head, "policy": "\x1b[31mred", "armature": "\x1b[2J"}) + "\n")
    said = io.StringIO()
    merge(plans, [], tmp_path / "out", quietly(said))
    assert "\\x1b[31mred: 1 parts" in said.getvalue()
    assert "\x1b" not in said.getvalue()


@pytest.mark.parametrize("n_arms", [3, 5000])
def test_every_block_that_is_cut_is_a_part_that_is_read(n_arms: int) -> None:
    """However quick a repetition is, and however much is kept of it."""
    instance = am.Instance(am.Unconstrained(n_arms), np.arange(n_arms) / n_arms)
    deltas = tuple(0.1 / (1 + n) for n in range(20))
    common = {"instance": instance, "horizon": 10_000, "repetitions": 1, "seed": 0}
    plans = [
        SimulationPlan(policies=(am.UCB(),), **common),
        IdentificationPlan(policies=(am.TopTwo(),), deltas=deltas, threshold="practical", **common),
    ]
    for job in [plan.job(plan.policies[0]) for plan in plans]:
        waiting = WaitingBlocks([(job, [(0, 1 << 22)])])
        waiting.took(waiting.next(workers=1), 1e-9)
        block = [waiting.next(workers=1) for _ in range(30)][-1]
        assert most_bytes(job.plan.empty(0), block.stop - block.first) > 0
    assert block.stop - block.first > 1


def test_the_parts_of_an_identification(tmp_path: Path) -> None:
    spec = tmp_path / "spec.toml"
    spec.write_text(SPEC.replace("horizon = 80", "").replace("repetitions = 12", "repetitions = 2"))
    plans = load_identifications(spec, (0.2,), "practical", 10_000, (), ["toptwo"])
    run_shard(plans, Shard(1, 1), tmp_path / "theirs", quietly())
    (path,) = (tmp_path / "theirs" / "parts").iterdir()
    content = path.read_bytes()
    merge(plans, [tmp_path / "theirs"], tmp_path / "good", quietly())
    with np.load(io.BytesIO(content.partition(b"\n")[2])) as file:
        arrays = dict(file)
    infinite = {**arrays, "statistics": np.full_like(arrays["statistics"], np.inf)}
    path.write_bytes(forged(path.name, content, npz(infinite)))
    merge(plans, [tmp_path / "theirs"], tmp_path / "infinite", quietly())
    for n, wrong in enumerate(
        (
            {**arrays, "statistics": np.full_like(arrays["statistics"], np.nan)},
            {**arrays, "arms": arrays["arms"].astype(float)},
            {**arrays, "pulls": arrays["pulls"][..., :2]},
        )
    ):
        path.write_bytes(forged(path.name, content, npz(wrong)))
        with pytest.raises(am.ArmatureError, match="lacks the repetitions 0 to 1"):
            merge(plans, [tmp_path / "theirs"], tmp_path / f"bad-{n}", quietly())
