"""`simulate` and `identify` on a cluster, without any folder: what is found is sent back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from armature.errors import BlocksFailedError
from armature.experiments.engines.blocks import Block, Job
from armature.experiments.engines.ray_engine import Failure, RayEngine, cluster
from armature.experiments.engines.scheduler import WaitingBlocks
from armature.experiments.store.part_arrays import Runs
from armature.experiments.store.run_store import unpack


def fill_on_ray(
    jobs: Sequence[Job],
    runs: Mapping[str, Runs],
    workers: int | None,
    address: str | None,
    progress: Callable[[str, int, int], None] | None,
) -> None:
    """Play all repetitions for which there is room in `runs`, by the names of policies."""

    def keep(block: Block, content: bytes) -> None:
        part = unpack(block.name, content, block.job)
        assert part is not None, "what a worker sends is whole"
        for name, values in part[2].items():
            getattr(runs[block.job.policy.name], name)[block.first : block.past] = values

    def finished(block: Block, seconds: float) -> None:
        each = seconds / (block.past - block.first)
        runs[block.job.policy.name].seconds[block.first : block.past] = each
        if progress is not None:
            progress(block.job.policy.name, block.past - 1, block.rounds)

    waiting = WaitingBlocks((job, [(0, len(runs[job.policy.name].seconds))]) for job in jobs)
    with cluster(address, workers) as ray:
        failures = RayEngine(ray, None, keep, finished).run(waiting)
    if failures:
        raise BlocksFailedError(failed(failures))


def failed(failures: Sequence[Failure], most: int = 10) -> str:
    """Which blocks failed, and why."""
    lines = [f"{failure.block}: {failure.reason}" for failure in failures[:most]]
    more = len(failures) - len(lines)
    if more:
        lines.append(f"and {more} more")
    count = "1 block failed" if len(failures) == 1 else f"{len(failures)} blocks failed"
    return "\n".join([f"{count}; all others are finished.", *lines])
