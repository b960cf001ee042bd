"""The arrays of a part: read only if they are those that their job has, whoever wrote them.

A part may come from somebody else. Which arrays it must have follows from the job and from the
number of repetitions, so that names, types, shapes and sizes are compared before any array is made,
and no part makes more memory than its job needs.
"""

from __future__ import annotations

import dataclasses
import io
import math
import re
import zipfile
from collections.abc import Mapping
from typing import IO, Any, ClassVar, Protocol

import numpy as np

from armature.experiments.engines.blocks import LARGEST, MOST_BYTES, Job, Range
from armature.experiments.results import PolicyRuns
from armature.kernels.arrays import Floats
from armature.rounds.record import checkpoints_up_to

Arrays = dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]

MOST_HEADER = 1 << 16  # bytes: the line of JSON, the headers of arrays, the table of a zip file
ALWAYS = 16  # repetitions that a part may have, however large each of them is
MAY_BE_INFINITE = ("statistics",)  # of a run in which nothing can be mistaken
NAME = re.compile(r"([0-9a-z]+)-([0-9]{6,9})-([0-9]{6,9})\.part", re.ASCII)


class Runs(Protocol):
    """All repetitions of a policy: a dataclass of arrays whose first axis they are."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def pulls(self) -> Floats: ...
    @property
    def seconds(self) -> Floats: ...


def recorded(runs: Runs) -> list[str]:
    """The names of what a part keeps of runs: everything but how long they took."""
    return [field.name for field in dataclasses.fields(runs) if field.name != "seconds"]


def runs_like(job: Job) -> Runs:
    """Runs of no repetitions, whose arrays have the types and shapes of the job's."""
    like: Runs | None = job.like
    if like is not None:
        return like
    return PolicyRuns.empty(0, checkpoints_up_to(job.horizon).size, job.instance.n_arms)


def range_of(name: str, key: str) -> Range | None:
    """Which repetitions a part of a job has by its name; None where that is none of its names."""
    found = NAME.fullmatch(name)
    if found is None or found[1] != key:
        return None
    first, past = int(found[2]), int(found[3])
    return (first, past) if 0 < past - first <= LARGEST else None


def bytes_of_one(like: Runs) -> int:
    """How many bytes are kept of a repetition."""
    arrays = [getattr(like, name) for name in recorded(like)]
    return sum(int(array.itemsize) * math.prod(array.shape[1:]) for array in arrays)


def most_bytes(like: Runs, repetitions: int) -> int:
    """How large the file of a part can be; 0 where it would be larger than parts are made."""
    whole = bytes_of_one(like) * repetitions
    if whole > MOST_BYTES and repetitions > ALWAYS:
        return 0
    return whole + whole // 100 + 2 * MOST_HEADER


def read_arrays(payload: bytes, like: Runs, repetitions: int) -> Arrays | None:
    """The arrays of a part; None where they are not those that its job has."""
    # A wrong file makes the readers fail in a dozen ways, so that every failure is taken for one.
    try:
        with zipfile.ZipFile(io.BytesIO(payload)) as file:
            members = {member.filename: member for member in file.infolist()}
            if sorted(members) != sorted(f"{name}.npy" for name in recorded(like)):
                return None
            found: Arrays = {}
            for name in recorded(like):
                with file.open(name=members[f"{name}.npy"], mode="r") as stream:
                    found[name] = _read_array(stream, getattr(like, name), repetitions)
    except Exception:
        return None
    return found if _are_numbers(found) else None


def _read_array(stream: IO[bytes], like: Any, repetitions: int) -> Any:
    """An array of a type and a shape that are known; any error where it is another."""
    if np.lib.format.read_magic(stream) != (1, 0):
        raise ValueError("another format of arrays")
    header = np.lib.format.read_array_header_1_0(stream)
    shape = (repetitions, *like.shape[1:])
    if header != (shape, False, like.dtype):
        raise ValueError("another array")
    size = math.prod(shape) * like.dtype.itemsize
    content = stream.read(size)
    if len(content) != size or stream.read(1):
        raise ValueError("another size")
    return np.frombuffer(content, dtype=like.dtype).reshape(shape)


def _are_numbers(arrays: Mapping[str, Any]) -> bool:
    for name, values in arrays.items():
        if np.isnan(values).any() or not (name in MAY_BE_INFINITE or np.isfinite(values).all()):
            return False
    return bool((arrays["pulls"] >= 0.0).all())
