"""Finished runs on disk, from which an interrupted run continues and a finished one is extended.

A part holds a range of repetitions of a policy. Its name says what its content is a function of:
`<key>-<first>-<stop>.part`, where the key is a hash of the problem, the policy with all of its
options, the horizon, the seed, and the code (`run_key`). So parts of several experiments can be in
one folder, be made by several programs at once, and be copied together; and what was made by other
code is not found. A part is there as a whole or not at all, and is checked before it is read.

A part is the result of a block (`blocks.py`), whatever its size: several may overlap. It may come
from another person. Which arrays it must have follows from its job and its name, so that names,
types, shapes and sizes are compared before any array is made, and no part makes more memory than
its job needs.
"""

from __future__ import annotations

import io
import json
import math
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from armature.experiments.blocks import (
    LARGEST,
    MOST_BYTES,
    Range,
    bytes_of_one,
    part_name,
    recorded,
    without,
)
from armature.experiments.keys import package_version
from armature.experiments.plan import Job, Plan
from armature.experiments.runs import Runs
from armature.policies import Policy
from armature.storage.files import (
    first_line,
    read_regular,
    remove_leftovers,
    sealed,
    set_aside,
    unsealed,
    write_bytes,
)
from armature.words import visible

Arrays = dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]

Where = tuple[Path, str]  # the folder of a job's parts, and its key

FORMAT = "armature part"
MOST_HEADER = 1 << 16  # bytes: the line of JSON, the headers of arrays, the table of a zip file
ALWAYS = 16  # repetitions that a part may have, however large each of them is
MAY_BE_INFINITE = ("statistics",)  # of a run in which nothing can be mistaken
NAME = re.compile(r"([0-9a-z]+)-([0-9]{6,9})-([0-9]{6,9})\.part", re.ASCII)


class PartsFolder:
    """A folder with the parts of any number of jobs: it is listed once, when it is first asked.

    `look_again` lists it again, after other programs have written to it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._names: dict[str, set[str]] | None = None  # by their keys
        remove_leftovers(path)

    def of(self, key: str) -> list[Path]:
        """The parts whose names begin with a key."""
        if self._names is None:
            self._names = {}
            for path in self.path.glob("*.part"):
                self.add(path.name)
        return [self.path / name for name in sorted(self._names.get(key, ()))]

    def only(self, keys: Iterable[str]) -> PartsFolder:
        """The folder with the parts of some jobs alone: it need not be listed again."""
        names = {key: {path.name for path in self.of(key)} for key in keys}
        some = object.__new__(PartsFolder)
        some.path, some._names = self.path.resolve(), names
        return some

    def look_again(self) -> None:
        """List the folder again: other programs have written parts."""
        self._names = None

    def add(self, name: str) -> None:
        """Take note of a part that was written."""
        if self._names is not None:
            self._names.setdefault(name.partition("-")[0], set()).add(name)


class Parts:
    """The parts of a plan in a folder, which may hold others' too.

    `say` gets a sentence about each damaged part.
    """

    def __init__(
        self,
        folder: Path | PartsFolder,
        plan: Plan[Any, Any],
        say: Callable[[str], None] | None = None,
    ) -> None:
        self._folder = PartsFolder(folder) if isinstance(folder, Path) else folder
        self.plan, self._say = plan, say

    @property
    def folder(self) -> Path:
        """The folder of the parts."""
        return self._folder.path

    def look_again(self) -> None:
        """List the folder again: other programs have written parts."""
        self._folder.look_again()

    def only_these(self) -> PartsFolder:
        """The folder with the parts of this plan alone."""
        return self._folder.only(self.plan.origin.keys.values())

    def job(self, policy: Policy) -> Job:
        """The job that a policy's parts belong to."""
        return self.plan.job(policy, self.folder.resolve())

    def load(self, policy: Policy, runs: Runs) -> set[int]:
        """Read what there is of a policy into `runs`; the repetitions that were found."""
        found: set[int] = set()
        for first, stop, fields in self._whole_parts(policy):
            last = min(stop, len(runs.seconds))
            for name, values in fields.items():
                getattr(runs, name)[first:last] = values[: max(0, last - first)]
            found.update(range(first, last))
        return found

    def missing(self, policy: Policy) -> list[Range]:
        """The missing repetitions of a policy; nothing is kept in memory."""
        there = ((first, stop) for first, stop, _ in self._whole_parts(policy))
        return without((0, self.plan.repetitions), there)

    def save(self, policy: Policy, runs: Runs, first: int, stop: int) -> None:
        """Write some repetitions of a policy."""
        self.folder.mkdir(parents=True, exist_ok=True)
        job = self.job(policy)
        name = part_name(job.key, first, stop)
        fields = {field: getattr(runs, field)[first:stop] for field in recorded(runs)}
        write_bytes(self.folder / name, pack(name, job, fields))
        self._folder.add(name)

    def _whole_parts(self, policy: Policy) -> Iterator[tuple[int, int, Arrays]]:
        job = self.job(policy)
        for path in self._folder.of(job.key):
            try:
                part = read_part(path, job)
            except OSError:
                continue  # it is gone, or not ours to read: it is run again
            if part is None:
                self._set_aside(path)
            else:
                yield part

    def _set_aside(self, path: Path) -> None:
        aside = set_aside(path)
        if self._say is not None and aside is not None:
            self._say(f"{str(path)!r} is damaged: it was set aside, and its runs are done again.")


class WantedRuns(NamedTuple):
    """A job that is to be played, and the plan's parts among which it looks for what is there."""

    job: Job
    parts: Parts

    def missing(self) -> list[Range]:
        """The repetitions that are in no part; damaged parts are set aside."""
        return self.parts.missing(self.job.policy)


def wanted_of(parts: Sequence[Parts]) -> dict[Where, WantedRuns]:
    """All jobs of some plans, each once in a folder: of the plan that wants most repetitions."""
    found: dict[Where, WantedRuns] = {}
    for one in parts:
        for policy in one.plan.policies:
            job = one.job(policy)
            before = found.get((one.folder, job.key))
            if before is None or before.job.plan.repetitions < job.plan.repetitions:
                found[one.folder, job.key] = WantedRuns(job, one)
    return found


def by_folder(wanted: Mapping[Where, WantedRuns]) -> dict[Path, dict[str, Job]]:
    """The jobs whose parts go to each folder, by their keys."""
    found: dict[Path, dict[str, Job]] = {}
    for (folder, key), (job, _) in wanted.items():
        found.setdefault(folder, {})[key] = job
    return found


def say_of_other_code(folder: Path, jobs: Mapping[str, Job], say: Callable[[str], None]) -> None:
    """Say which parts in a folder are of these jobs, but made by other code: they aren't used."""
    problems = {job.problem for job in jobs.values()}
    refused: Counter[tuple[str, str]] = Counter()
    for path in sorted(folder.glob("*.part")):
        if path.name.partition("-")[0] not in jobs:
            title = read_title(path)
            if title.get("problem") in problems:
                refused[title.get("policy", ""), title.get("armature", "")] += 1
    for (policy, version), count in refused.items():
        say(
            f"{visible(policy)}: {count} parts in {str(folder)!r} were made by another version of "
            f"the code (Armature {visible(version)}; this is {package_version()}): they are "
            "refused."
        )


def pack(name: str, job: Job, fields: Mapping[str, Any]) -> bytes:
    """The content of a part: the arrays as an .npz file, sealed."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **fields)
    head = {
        "format": FORMAT,
        "name": name,
        "armature": package_version(),
        "policy": job.policy.name,
        "problem": job.problem,
    }
    return sealed(head, buffer.getvalue())


def read_part(path: Path, job: Job) -> tuple[int, int, Arrays] | None:
    """The range and the arrays of a part; None if the file is not a whole part of this job."""
    content = content_of(path, job)
    return None if content is None else unpack(path.name, content, job)


def content_of(path: Path, job: Job) -> bytes | None:
    """The bytes of a file that may be a part of a job; None if its name or size rules that out."""
    repetitions = range_of(path.name, job.key)
    if repetitions is None:
        return None
    return read_regular(path, most_bytes(job.plan.empty(0), repetitions[1] - repetitions[0]))


def unpack(name: str, content: bytes, job: Job) -> tuple[int, int, Arrays] | None:
    """The range and the arrays in a part's bytes; None if they are damaged or another job's."""
    repetitions, whole = range_of(name, job.key), unsealed(content)
    if repetitions is None or whole is None or whole[0].get("name") != name:
        return None
    first, stop = repetitions
    like = job.plan.empty(0)
    if not most_bytes(like, stop - first):
        return None
    arrays = read_arrays(whole[1], like, stop - first)
    return None if arrays is None else (first, stop, arrays)


def read_title(path: Path) -> dict[str, str]:
    """The first line of a part, unchecked; empty if it can't be read."""
    try:
        title = json.loads(first_line(path, MOST_HEADER))
    except (OSError, ValueError, RecursionError):
        return {}
    return {k: v for k, v in title.items() if isinstance(v, str)} if isinstance(title, dict) else {}


def range_of(name: str, key: str) -> Range | None:
    """The repetitions that a part's name says; None if it is not the name of a part of this job."""
    found = NAME.fullmatch(name)
    if found is None or found[1] != key:
        return None
    first, stop = int(found[2]), int(found[3])
    return (first, stop) if 0 < stop - first <= LARGEST else None


def most_bytes(like: Runs, repetitions: int) -> int:
    """The largest size in bytes of a part's file; 0 if a part is never that large."""
    whole = bytes_of_one(like) * repetitions
    if whole > MOST_BYTES and repetitions > ALWAYS:
        return 0
    return whole + whole // 100 + 2 * MOST_HEADER


def read_arrays(payload: bytes, like: Runs, repetitions: int) -> Arrays | None:
    """The arrays of a part; None if their names, types, shapes or numbers are wrong."""
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
    """An array of the expected type and shape; raises any error if it is another."""
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
