"""Runs that are finished, on disk: what an interruption leaves to resume from, or to extend.

A part holds a range of repetitions of a policy. Its name says what its content is a function of:
`<key>-<first>-<past>.part`, where the key is a hash of the problem, the policy with all of its
options, the horizon, the seed, and the code (`run_key`). So parts of several experiments can be in
one folder, be made by several programs at once, and be copied together; and what was made by other
code is not found. A part is there as a whole or not at all, and is checked before it is read.

A part is the result of a block (`blocks.py`), whatever its size: several may overlap.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from armature.experiments.engines.blocks import Job, Range, part_name, without
from armature.experiments.store.keys import package_version, problem_key, run_key
from armature.kernels.arrays import Floats
from armature.policies import Policy
from armature.storage.files import remove_leftovers, set_aside, write_bytes
from armature.structures.instance import Instance

FORMAT = "armature part"
MOST_TITLE = 1 << 16  # bytes

Arrays = dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]


class Runs(Protocol):
    """All repetitions of a policy: a dataclass of arrays whose first axis they are."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def pulls(self) -> Floats: ...
    @property
    def seconds(self) -> Floats: ...


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
    besides, where they are not a simulation's (see `run_key`).
    """

    def __init__(
        self,
        folder: Path | PartsFolder,
        instance: Instance,
        horizon: int,
        seed: int,
        say: Callable[[str], None] | None = None,
        more: dict[str, Any] | None = None,
    ) -> None:
        self._folder = PartsFolder(folder) if isinstance(folder, Path) else folder
        self._say, self._more = say, more
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
        return Job(instance, policy, horizon, seed, self.key(policy), folder, self._more)

    def load(self, policy: Policy, runs: Runs) -> set[int]:
        """Read what there is of a policy into `runs`; the repetitions that were found."""
        found: set[int] = set()
        for first, past, fields in self._whole_parts(policy):
            if fields["pulls"].shape[1:] != runs.pulls.shape[1:]:
                continue
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
        for path in self._folder.of(self.key(policy)):
            try:
                content = path.read_bytes()
            except OSError:
                continue  # it is gone, or not ours to read: it is run again
            part = unpack(path.name, content)
            if part is None:
                self._set_aside(path)
            else:
                yield part

    def _set_aside(self, path: Path) -> None:
        aside = set_aside(path)
        if self._say is not None and aside is not None:
            self._say(f"{str(path)!r} is damaged: it was set aside, and its runs are done again.")


def recorded(runs: Runs) -> list[str]:
    """The names of what a part keeps of runs: everything but how long they took."""
    return [field.name for field in dataclasses.fields(runs) if field.name != "seconds"]


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


def unpack(name: str, content: bytes) -> tuple[int, int, Arrays] | None:
    """The range and the arrays of a part; None where they are not what was written."""
    if read_head(name, content) is None:
        return None
    first, past = (int(number) for number in name.removesuffix(".part").split("-")[1:])
    with np.load(io.BytesIO(content.partition(b"\n")[2])) as arrays:
        return first, past, {field: arrays[field] for field in arrays.files}


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
        with path.open("rb") as file:
            title = json.loads(file.readline(MOST_TITLE))
    except (OSError, ValueError, RecursionError):
        return {}
    return {k: v for k, v in title.items() if isinstance(v, str)} if isinstance(title, dict) else {}


def _checksum(head: dict[str, str], payload: bytes) -> str:
    return hashlib.sha256(json.dumps(head, sort_keys=True).encode() + payload).hexdigest()
