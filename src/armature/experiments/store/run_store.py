"""Runs that are finished, on disk: what an interruption leaves to resume from, or to extend.

A part holds a range of repetitions of a policy. Its name says what its content is a function of:
`<key>-<first>-<past>.part`, where the key is a hash of the problem, the policy with all of its
options, the horizon, the seed, and the code (`run_key`). So parts of several experiments can be in
one folder, be made by several programs at once, and be copied together; and what was made by other
code is not found. A part is there as a whole or not at all, and is checked before it is read.

A part is the result of a block (`blocks.py`), whatever its size: several may overlap.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from armature.experiments.engines.blocks import Job, Range, part_name, without
from armature.experiments.store.keys import package_version, problem_key, run_key
from armature.experiments.store.part_arrays import (
    Arrays,
    Runs,
    most_bytes,
    range_of,
    read_arrays,
    recorded,
    runs_like,
)
from armature.policies import Policy
from armature.storage.files import (
    first_line,
    read_regular,
    remove_leftovers,
    set_aside,
    write_bytes,
)
from armature.structures.instance import Instance

FORMAT = "armature part"
MOST_TITLE = 1 << 16  # bytes


class PartsFolder:
    """A folder with the parts of any number of jobs: it is listed once, when it is first asked."""

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
        """The same folder with the parts of some jobs alone: it need not be listed again."""
        names = {key: {path.name for path in self.of(key)} for key in keys}
        some = object.__new__(PartsFolder)
        some.path, some._names = self.path, names
        return some

    def add(self, name: str) -> None:
        """A part was written."""
        if self._names is not None:
            self._names.setdefault(name.partition("-")[0], set()).add(name)


class Parts:
    """The parts of an experiment in a folder, which may hold others' too.

    `say` is told, in a sentence, of a part that is damaged; `more` is what the numbers depend on
    besides, and `like` has the arrays of a part, where they are not a simulation's (see `Job`).
    """

    def __init__(
        self,
        folder: Path | PartsFolder,
        instance: Instance,
        horizon: int,
        seed: int,
        say: Callable[[str], None] | None = None,
        more: dict[str, Any] | None = None,
        like: Runs | None = None,
    ) -> None:
        self._folder = PartsFolder(folder) if isinstance(folder, Path) else folder
        self._say, self._more, self._like = say, more, like
        self._about = (instance, horizon, seed)
        self._keys: dict[str, str] = {}  # of each policy, by its name

    @property
    def folder(self) -> Path:
        """Where the parts are."""
        return self._folder.path

    def key(self, policy: Policy) -> str:
        """What the names of a policy's parts begin with."""
        if policy.name not in self._keys:
            instance, horizon, seed = self._about
            self._keys[policy.name] = run_key(instance, policy, horizon, seed, self._more)
        return self._keys[policy.name]

    def job(self, policy: Policy) -> Job:
        """What a policy's parts are of."""
        instance, horizon, seed = self._about
        folder = self._folder.path.resolve()
        key = self.key(policy)
        return Job(instance, policy, horizon, seed, key, folder, more=self._more, like=self._like)

    def load(self, policy: Policy, runs: Runs) -> set[int]:
        """Read what there is of a policy into `runs`; the repetitions that were found."""
        found: set[int] = set()
        for first, past, fields in self._whole_parts(policy):
            last = min(past, len(runs.seconds))
            for name, values in fields.items():
                getattr(runs, name)[first:last] = values[: max(0, last - first)]
            found.update(range(first, last))
        return found

    def missing(self, policy: Policy, repetitions: Range) -> list[Range]:
        """Which of the repetitions are not there; nothing is kept in memory."""
        return without(repetitions, ((first, past) for first, past, _ in self._whole_parts(policy)))

    def save(self, policy: Policy, runs: Runs, first: int, past: int) -> None:
        """Write some repetitions of a policy."""
        folder, job = self._folder.path, self.job(policy)
        folder.mkdir(parents=True, exist_ok=True)
        name = part_name(job.key, first, past)
        fields = {field: getattr(runs, field)[first:past] for field in recorded(runs)}
        write_bytes(folder / name, pack(name, job, fields))
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


def pack(name: str, job: Job, fields: Arrays) -> bytes:
    """The content of a part: a line of JSON with a checksum, then the arrays as an .npz file."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **fields)
    payload = buffer.getvalue()
    head = {
        "format": FORMAT,
        "name": name,
        "armature": package_version(),
        "policy": job.policy.name,
        "problem": problem_key(job.instance, job.policy, job.horizon, job.seed, job.more),
    }
    head["sha256"] = _checksum(head, payload)
    return json.dumps(head).encode() + b"\n" + payload


def read_part(path: Path, job: Job) -> tuple[int, int, Arrays] | None:
    """The range and the arrays of a part of a job; None where the file is none."""
    content = content_of(path, job)
    return None if content is None else unpack(path.name, content, job)


def content_of(path: Path, job: Job) -> bytes | None:
    """The content of what may be a part of a job; None where it can be none."""
    repetitions = range_of(path.name, job.key)
    if repetitions is None:
        return None
    return read_regular(path, most_bytes(runs_like(job), repetitions[1] - repetitions[0]))


def unpack(name: str, content: bytes, job: Job) -> tuple[int, int, Arrays] | None:
    """The range and the arrays of a part of a job; None where they are not what was written."""
    repetitions = range_of(name, job.key)
    if repetitions is None or read_head(name, content) is None:
        return None
    first, past = repetitions
    if not most_bytes(runs_like(job), past - first):
        return None
    arrays = read_arrays(content.partition(b"\n")[2], runs_like(job), past - first)
    return None if arrays is None else (first, past, arrays)


def read_head(name: str, content: bytes) -> dict[str, str] | None:
    """What a part says of itself; None where it is not as it was written."""
    line, _, payload = content.partition(b"\n")
    try:
        head = json.loads(line)
        checksum = head.pop("sha256")
        whole = checksum == _checksum(head, payload) and head["name"] == name
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return dict(head) if whole else None


def read_title(path: Path) -> dict[str, str]:
    """What a part says of itself in its first line, unchecked; nothing, where it can't be read."""
    try:
        title = json.loads(first_line(path, MOST_TITLE))
    except (OSError, ValueError, RecursionError):
        return {}
    return {k: v for k, v in title.items() if isinstance(v, str)} if isinstance(title, dict) else {}


def _checksum(head: dict[str, str], payload: bytes) -> str:
    return hashlib.sha256(json.dumps(head, sort_keys=True).encode() + payload).hexdigest()
