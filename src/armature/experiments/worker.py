"""A worker of a cluster plays a block.

A worker computes the key of its block and refuses the block if it gets another one: then its code
differs from that of the program that asks. The result goes to the output folder if the worker sees
it, and is sent back otherwise.

Kernels are compiled once on a machine: the first worker holds a lock, and the others wait and load
what it has kept.
"""

from __future__ import annotations

import hashlib
import platform
import threading
from dataclasses import dataclass
from pathlib import Path

from armature.errors import ArmatureError
from armature.experiments.blocks import part_name, recorded
from armature.experiments.keys import code_of, package_code, package_version, run_key
from armature.experiments.plan import Job
from armature.experiments.run_store import pack, read_part
from armature.kernels.compiling.files import once_on_this_machine
from armature.storage.files import write_bytes

_READY: set[str] = set()  # what this process has compiled or loaded


@dataclass(frozen=True)
class Played:
    """The answer of a worker that has played a block."""

    seconds: float  # of play; 0 where the block was there already
    content: bytes | None  # the part, if it is not in the folder


def play_block(job: Job, first: int, stop: int, code: str, mark: Path | None) -> Played:
    """Play a block and keep or return its part.

    `code` is that of the program that asks; `mark` is a file that it has made, by which a worker
    knows that it sees the same folders, and not others that have their names on its machine.
    """
    check_code(job, code)
    name = part_name(job.key, first, stop)
    path = job.folder / name if job.folder and mark and mark.is_file() else None
    if path and path.is_file() and read_part(path, job) is not None:
        return Played(0.0, None)
    compile_once(job)
    content, seconds = play_part(job, first, stop)
    if path is None:
        return Played(seconds, content)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(path, content)
    return Played(seconds, None)


def play_part(job: Job, first: int, stop: int) -> tuple[bytes, float]:
    """The part with the repetitions first, ..., stop - 1 of a job, and how long they took."""
    runs, never = job.plan.empty(stop - first), threading.Event()
    for r in range(first, stop):
        record, seconds = job.plan.play(job.policy, r, never, lambda *_: None)
        runs.write(r - first, record, seconds)
    fields = {field: getattr(runs, field) for field in recorded(runs)}
    return pack(part_name(job.key, first, stop), job, fields), float(runs.seconds.sum())


def check_code(job: Job, code: str) -> None:
    """Refuse to play with other code than that of the program that asks."""
    here = package_code()
    if here == code and not is_sent_along(job):
        plan = job.plan
        here = run_key(plan.instance, job.policy, plan.horizon, plan.seed, plan.settings)
        code = job.key
    if here != code:
        raise ArmatureError(
            f"the code on {platform.node()} is another version (Armature {package_version()}) than "
            "that of the program that asks: install the same on all machines."
        )


def is_sent_along(job: Job) -> bool:
    """Whether a class of the job is from a script or a notebook, so that its code is sent along."""
    objects = (job.policy, job.plan.instance.structure, job.plan.instance.family)
    return any(cls.__module__ == "__main__" for value in objects for cls in type(value).__mro__)


def compile_once(job: Job) -> None:
    """Compile or load what a job needs, on each machine only once."""
    kind = _compiled_kind(job)
    if kind in _READY:
        return
    once_on_this_machine(kind, lambda: job.plan.compile([job.policy]))
    _READY.add(kind)


def _compiled_kind(job: Job) -> str:
    """Names what is compiled for a job, on this machine."""
    objects = (job.policy, job.plan.instance.structure, job.plan.instance.family)
    names = [
        f"{type(value).__module__}.{type(value).__qualname__}" for value in (*objects, job.plan)
    ]
    text = " ".join([platform.node(), platform.python_version(), code_of(*objects), *names])
    return hashlib.sha256(text.encode()).hexdigest()[:24]
