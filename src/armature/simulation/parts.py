"""Runs that are finished, on disk: what an interruption leaves to resume from, or to extend.

A part holds a range of repetitions of a policy. Its name says what its content is a function of:
`<key>-<first>-<past>.part`, where the key is a hash of the problem, the policy with all of its
options, the horizon, the seed, and the code (`run_key`). So parts of several experiments can be in
one folder, be made by several programs at once, and be copied together; and what was made by other
code is not found. A part is there as a whole or not at all, and is checked before it is read.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from armature.arrays import Floats
from armature.files import remove_leftovers, set_aside, write_bytes
from armature.instance import Instance
from armature.policies import Policy
from armature.simulation.versions import package_version, run_key

BLOCK = 10  # repetitions in a part: of repetition r, those with the same r // BLOCK
FORMAT = "armature part"

Arrays = dict[str, np.ndarray[tuple[int, ...], np.dtype[np.float64]]]


class Runs(Protocol):
    """All repetitions of a policy: a dataclass of arrays whose first axis they are."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def pulls(self) -> Floats: ...
    @property
    def seconds(self) -> Floats: ...


class Parts:
    """The parts of an experiment in a folder, which may hold others' too.

    `say` is told, in a sentence, of a part that is damaged; `more` is what the numbers depend on
    besides, where they are not a simulation's (see `run_key`).
    """

    def __init__(
        self,
        folder: Path,
        instance: Instance,
        horizon: int,
        seed: int,
        say: Callable[[str], None] | None = None,
        more: dict[str, Any] | None = None,
    ) -> None:
        self._folder, self._say, self._more = folder, say, more
        self._about = (instance, horizon, seed)
        self._keys: dict[str, str] = {}  # of each policy, by its name
        remove_leftovers(folder)

    def key(self, policy: Policy) -> str:
        """What the names of a policy's parts begin with."""
        if policy.name not in self._keys:
            instance, horizon, seed = self._about
            self._keys[policy.name] = run_key(instance, policy, horizon, seed, self._more)
        return self._keys[policy.name]

    def load(self, policy: Policy, runs: Runs) -> set[int]:
        """Read what there is of a policy into `runs`; the repetitions that were found."""
        found: set[int] = set()
        for path in sorted(self._folder.glob(f"{self.key(policy)}-*.part")):
            try:
                content = path.read_bytes()
            except OSError:
                continue  # it is gone, or not ours to read: it is run again
            part = unpack(path.name, content)
            if part is None:
                self._set_aside(path)
                continue
            first, past, fields = part
            if fields["pulls"].shape[1:] != runs.pulls.shape[1:]:
                continue
            last = min(past, len(runs.seconds))
            for name, values in fields.items():
                getattr(runs, name)[first:last] = values[: max(0, last - first)]
            found.update(range(first, last))
        return found

    def save(self, policy: Policy, runs: Runs, repetitions: Iterable[int]) -> None:
        """Write some repetitions of a policy, in a part for each range of them."""
        self._folder.mkdir(parents=True, exist_ok=True)
        for first, past in ranges(repetitions):
            name = f"{self.key(policy)}-{first:06d}-{past:06d}.part"
            fields = {field: getattr(runs, field)[first:past] for field in recorded(runs)}
            write_bytes(self._folder / name, pack(name, fields))

    def _set_aside(self, path: Path) -> None:
        aside = set_aside(path)
        if self._say is not None and aside is not None:
            self._say(f"{str(path)!r} is damaged: it was set aside, and its runs are done again.")


def recorded(runs: Runs) -> list[str]:
    """The names of what a part keeps of runs: everything but how long they took."""
    return [field.name for field in dataclasses.fields(runs) if field.name != "seconds"]


def ranges(repetitions: Iterable[int]) -> list[tuple[int, int]]:
    """The blocks of consecutive repetitions, each as (first, one past the last).

    >>> ranges([3, 4, 5, 8, 9, 10, 11])
    [(3, 6), (8, 10), (10, 12)]
    """
    found: list[tuple[int, int]] = []
    for repetition in sorted(set(repetitions)):
        if found and found[-1][1] == repetition and repetition % BLOCK != 0:
            found[-1] = (found[-1][0], repetition + 1)
        else:
            found.append((repetition, repetition + 1))
    return found


def pack(name: str, fields: Arrays) -> bytes:
    """The content of a part: a line of JSON with a checksum, then the arrays as an .npz file."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **fields)
    payload = buffer.getvalue()
    head = {"format": FORMAT, "name": name, "armature": package_version()}
    head["sha256"] = _checksum(head, payload)
    return json.dumps(head).encode() + b"\n" + payload


def unpack(name: str, content: bytes) -> tuple[int, int, Arrays] | None:
    """The range and the arrays of a part; None where they are not what was written."""
    line, _, payload = content.partition(b"\n")
    try:
        head = json.loads(line)
        checksum = head.pop("sha256")
        whole = checksum == _checksum(head, payload) and head["name"] == name
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    if not whole:
        return None
    first, past = (int(number) for number in name.removesuffix(".part").split("-")[1:])
    with np.load(io.BytesIO(payload)) as arrays:
        return first, past, {field: arrays[field] for field in arrays.files}


def _checksum(head: dict[str, str], payload: bytes) -> str:
    return hashlib.sha256(json.dumps(head, sort_keys=True).encode() + payload).hexdigest()
