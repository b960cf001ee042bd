"""What a worker does: play a block, in whichever process and on whichever machine it is.

A worker refuses a block whose key it would not have given itself: its code is another than that of
the program that asks. Its result goes to the folder, where the worker sees it, or else back.

Kernels are compiled once on a machine: whoever is first holds a lock, and the others wait and load
what it has kept.
"""

from __future__ import annotations

import hashlib
import platform
import threading
from dataclasses import dataclass
from pathlib import Path

from armature.errors import ArmatureError
from armature.experiments.engines.blocks import Found, Job, part_name
from armature.experiments.results import PolicyRuns
from armature.experiments.simulation import compile_policies, run_repetition
from armature.experiments.store.keys import code_of, package_code, package_version, run_key
from armature.experiments.store.part_arrays import recorded
from armature.experiments.store.run_store import pack, read_part
from armature.kernels.compiling.files import once_on_this_machine
from armature.rounds.record import checkpoints_up_to
from armature.storage.files import write_bytes

_READY: set[str] = set()  # what this process has compiled or loaded


@dataclass(frozen=True)
class Outcome:
    """What a worker says of a block."""

    seconds: float  # of play; 0 where the block was there already
    content: bytes | None  # the part, if it is not in the folder


def play_block(job: Job, first: int, past: int, code: str, mark: Path | None) -> Outcome:
    """Play a block and keep or return its part.

    `code` is that of the program that asks; `mark` is a file that it has made, by which a worker
    knows that it sees the same folders, and not others that have their names on its machine.
    """
    check_code(job, code)
    name = part_name(job.key, first, past)
    path = job.folder / name if job.folder and mark and mark.is_file() else None
    if path and path.is_file() and read_part(path, job) is not None:
        return Outcome(0.0, None)
    compile_once(job)
    content, seconds = play_part(job, first, past)
    if path is None:
        return Outcome(seconds, content)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, content)
    return Outcome(seconds, None)


def play_part(job: Job, first: int, past: int) -> tuple[bytes, float]:
    """The part with the repetitions first, ..., past - 1 of a job, and how long they took."""
    fields, seconds = (simulate if job.work is None else job.work.play)(job, first, past)
    return pack(part_name(job.key, first, past), job, fields), seconds


def simulate(job: Job, first: int, past: int) -> Found:
    """What is recorded of some repetitions of a simulation."""
    checkpoints = checkpoints_up_to(job.horizon)
    runs = PolicyRuns.empty(past - first, checkpoints.size, job.instance.n_arms)
    stop = threading.Event()
    for r in range(first, past):
        record, seconds = run_repetition(
            job.policy, job.instance, job.seed, r, checkpoints, stop, lambda *_: None
        )
        runs.write(r - first, record, seconds)
    fields = {field: getattr(runs, field) for field in recorded(runs)}
    return fields, float(runs.seconds.sum())


def check_code(job: Job, code: str) -> None:
    """Refuse to play with other code than that of the program that asks."""
    here = package_code()
    if here == code and not is_sent_along(job):
        here, code = run_key(job.instance, job.policy, job.horizon, job.seed, job.more), job.key
    if here != code:
        raise ArmatureError(
            f"the code on {platform.node()} is another version (Armature {package_version()}) than "
            "that of the program that asks: install the same on all machines."
        )


def is_sent_along(job: Job) -> bool:
    """Whether a class of the job is of a script or a notebook, so that its code comes with it."""
    objects = (job.policy, job.instance.structure, job.instance.family)
    return any(cls.__module__ == "__main__" for value in objects for cls in type(value).__mro__)


def compile_once(job: Job) -> None:
    """Compile or load what a job needs, on each machine only once."""
    kind = _compiled_kind(job)
    if kind in _READY:
        return
    once_on_this_machine(kind, lambda: _compile(job))
    _READY.add(kind)


def _compile(job: Job) -> None:
    if job.work is not None:
        job.work.compile(job)
        return
    compile_policies([job.policy], job.instance, job.seed, checkpoints_up_to(job.horizon))


def _compiled_kind(job: Job) -> str:
    """Names what is compiled for a job, on this machine."""
    objects = (job.policy, job.instance.structure, job.instance.family)
    names = [
        f"{type(value).__module__}.{type(value).__qualname__}" for value in (*objects, job.work)
    ]
    text = " ".join([platform.node(), platform.python_version(), code_of(*objects), *names])
    return hashlib.sha256(text.encode()).hexdigest()[:24]
