"""Blocks on a Ray cluster: https://www.ray.io, the extra `armature-bandits[ray]`.

Some more blocks are in flight than there are processors, so that none waits for the next; the rest
are not cut yet. A worker that is lost (killed, or with its machine) costs its block, which Ray
gives to another; an exception is a bug, is not tried again, and is named in the end, when all other
blocks are finished.

What is finished is in parts, so that an interruption costs no more than the blocks in flight, and
a run with threads can go on where one with Ray was, and the other way round.

A worker computes the key of its block and refuses the block if it gets another one: then its code
differs from that of the program that asks. The result goes to the output folder if the worker sees
it, and is sent back otherwise. Kernels are compiled once on a machine: the first worker holds a
lock, and the others wait and load what it has kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import platform
import secrets
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from armature.errors import ArmatureError, BlocksFailedError
from armature.experiments.blocks import Block, WaitingBlocks, part_name, recorded
from armature.experiments.keys import code_of, package_code, package_version, run_key
from armature.experiments.plan import Job, Plan, Progress
from armature.experiments.run_store import (
    by_folder,
    pack,
    read_part,
    say_of_other_code,
    unpack,
    wanted_of,
)
from armature.experiments.runs import Runs
from armature.kernels.compiling.files import once_on_this_machine
from armature.storage.files import PREFIX, write_bytes

if TYPE_CHECKING:
    from armature.experiments.run import PlacedPlan, Runner

# For a cluster that is started here: no usage reports, no warnings about unused accelerators.
QUIETLY = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
RETRIES = 3  # of a block whose worker was lost
IN_FLIGHT = 2  # blocks for each processor
LOOK_AGAIN = 5.0  # seconds after which the size of the cluster is asked for again

Keep = Callable[[Block, bytes], None]
Finished = Callable[[Block, float], None]  # seconds: 0 where it was there already


@dataclass(frozen=True)
class FailedBlock:
    """A block that failed, and why."""

    block: Block
    reason: str


@contextlib.contextmanager
def cluster(address: str | None, workers: int | None) -> Iterator[Any]:
    """Ray, connected: to an address, to what the program is connected to, or to this machine.

    A cluster that was started for this ends with it.
    """
    ray = import_ray()
    if ray.is_initialized():
        yield ray
        return
    options: dict[str, Any] = {"address": address} if address else {"num_cpus": workers}
    if address is None:
        options |= {"include_dashboard": False, "address": "local"}
        for name, value in QUIETLY.items():
            os.environ.setdefault(name, value)
    try:
        ray.init(**options, log_to_driver=False, logging_level=logging.ERROR)
    except ConnectionError as error:
        raise ArmatureError(f"there is no Ray cluster at {address!r}: {error}") from None
    try:
        yield ray
    finally:
        ray.shutdown()


@contextlib.contextmanager
def connected(engine: str, address: str | None, workers: int | None) -> Iterator[None]:
    """One cluster for everything that is played in the block, if the engine is Ray."""
    if engine != "ray":
        yield
        return
    with cluster(address, workers):
        yield


def import_ray() -> Any:
    """The module, or an error that says where to get it."""
    try:
        import ray
    except ImportError:
        raise ArmatureError(
            "the engine ray needs Ray: pip install 'armature-bandits[ray]'."
        ) from None
    return ray


class RayEngine:
    """Plays blocks on a cluster.

    Parts go to the folders of their jobs where workers see them; the content of others is handed to
    `keep`. All folders are in `root`; None: there are none. `finished` is called after each block.
    """

    def __init__(self, ray: Any, root: Path | None, keep: Keep, finished: Finished) -> None:
        self._ray, self._root = ray, root
        self._keep, self._finished = keep, finished
        self._play = ray.remote(num_cpus=1, max_retries=RETRIES, retry_exceptions=False)(play_block)
        self._flying: dict[Any, Block] = {}
        self._sent: tuple[Job, Any] | None = None  # the last job, and Ray's reference to it
        self._processors, self._looked = 1, 0.0

    def run(self, waiting: WaitingBlocks) -> list[FailedBlock]:
        """Play all blocks; those that failed."""
        failures: list[FailedBlock] = []
        with mark_in(self._root) as mark:
            try:
                while waiting or self._flying:
                    self._send(waiting, mark)
                    for block, outcome in self._landed(None):
                        if isinstance(outcome, FailedBlock):
                            failures.append(outcome)
                        elif outcome.seconds > 0.0:
                            waiting.took(block, outcome.seconds)
            except BaseException:
                self._stop()
                raise
        return failures

    def _send(self, waiting: WaitingBlocks, mark: Path | None) -> None:
        processors = self._count_processors()
        while waiting and len(self._flying) < IN_FLIGHT * processors:
            block = waiting.next(processors)
            if self._sent is None or self._sent[0] is not block.job:
                self._sent = block.job, self._ray.put(block.job)
            reference = self._play.options(name=str(block)).remote(
                self._sent[1], block.first, block.stop, package_code(), mark
            )
            self._flying[reference] = block

    def _landed(self, timeout: float | None) -> Iterator[tuple[Block, Played | FailedBlock]]:
        """The blocks that are back: one at least, unless there is no time."""
        ready, rest = self._ray.wait(list(self._flying), num_returns=1, timeout=timeout)
        if rest:
            ready += self._ray.wait(rest, num_returns=len(rest), timeout=0.0)[0]
        for reference in ready:
            block = self._flying.pop(reference)
            try:
                outcome: Played = self._ray.get(reference)
            except self._ray.exceptions.RayTaskError as error:
                yield block, FailedBlock(block, _reason(error.cause))
            except self._ray.exceptions.RayError as error:
                reason = f"its worker was lost {RETRIES + 1} times ({_reason(error)})"
                yield block, FailedBlock(block, reason)
            else:
                if outcome.content is not None:
                    self._keep(block, outcome.content)
                self._finished(block, outcome.seconds)
                yield block, outcome

    def _stop(self) -> None:
        """Keep what is finished and end the rest."""
        with contextlib.suppress(self._ray.exceptions.RayError):
            while self._flying and list(self._landed(0.0)):
                pass
            for reference in self._flying:
                self._ray.cancel(reference, force=True)
        self._flying.clear()

    def _count_processors(self) -> int:
        now = time.monotonic()
        if now >= self._looked + LOOK_AGAIN or self._looked == 0.0:
            self._processors = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
            self._looked = now
        return self._processors


@contextlib.contextmanager
def mark_in(root: Path | None) -> Iterator[Path | None]:
    """A file in `root`: a worker that finds it sees the output folder. None if there is no root."""
    if root is None:
        yield None
        return
    root.mkdir(parents=True, exist_ok=True)
    mark = root.resolve() / f"{PREFIX}{secrets.token_hex(8)}.tmp.seen"
    write_bytes(mark, b"")
    try:
        yield mark
    finally:
        mark.unlink(missing_ok=True)


def play_places(places: Sequence[PlacedPlan[Any]], root: Path, runner: Runner) -> None:
    """Play what is missing of some places, all of whose folders are in `root`.

    If blocks fail, the others are finished and kept, and the error names those.
    """
    from armature.experiments.progress import Dashboard

    parts = [place.parts for place in places]
    wanted = wanted_of(parts)
    for folder, jobs in by_folder(wanted).items():
        say_of_other_code(folder, jobs, runner.say)
    waiting = WaitingBlocks((one.job, one.missing()) for one in wanted.values())
    if not waiting:
        return

    def keep(block: Block, content: bytes) -> None:
        assert block.job.folder is not None
        block.job.folder.mkdir(parents=True, exist_ok=True)
        write_bytes(block.job.folder / block.name, content)

    unit = places[0].plan.unit
    total = waiting.rounds if unit == "rounds" else waiting.repetitions
    board = Dashboard(runner.console, runner.quiet, unit, total)
    with cluster(runner.address, runner.workers) as ray, board:
        failures = RayEngine(ray, root, keep, board.finished).run(waiting)
    for one in parts:
        one.look_again()
    if not runner.quiet:
        runner.say(board.last_word)
    if failures:
        raise BlocksFailedError(_failed(failures))


def fill_on_ray(
    plan: Plan[Any, Any],
    runs: Mapping[str, Runs],
    workers: int | None,
    address: str | None,
    progress: Progress | None,
) -> None:
    """Play a plan of which nothing goes to files: what is found is sent back, to `runs`."""

    def keep(block: Block, content: bytes) -> None:
        part = unpack(block.name, content, block.job)
        assert part is not None, "what a worker sends is whole"
        for name, values in part[2].items():
            getattr(runs[block.job.policy.name], name)[block.first : block.stop] = values

    def finished(block: Block, seconds: float) -> None:
        name, first, stop = block.job.policy.name, block.first, block.stop
        runs[name].seconds[first:stop] = seconds / (stop - first)
        if progress is not None:
            progress(name, stop - 1, plan.rounds_of(runs[name], first, stop))

    every = [(0, plan.repetitions)]
    waiting = WaitingBlocks((plan.job(policy), every) for policy in plan.policies)
    with cluster(address, workers) as ray:
        failures = RayEngine(ray, None, keep, finished).run(waiting)
    if failures:
        raise BlocksFailedError(_failed(failures))


def _failed(failures: Sequence[FailedBlock], most: int = 10) -> str:
    """A sentence on the blocks that failed, and why."""
    lines = [f"{failure.block}: {failure.reason}" for failure in failures[:most]]
    more = len(failures) - len(lines)
    if more:
        lines.append(f"and {more} more")
    count = "1 block failed" if len(failures) == 1 else f"{len(failures)} blocks failed"
    return "\n".join([f"{count}; all others are finished.", *lines])


def _reason(error: BaseException) -> str:
    first = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


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
    """True if a class of the job is from a script or a notebook, so that its code is sent along."""
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
