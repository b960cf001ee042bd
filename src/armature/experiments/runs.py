"""The common base of results: the runs, the code that made them, and their file.

The file is a tidy table that anything can read that reads Parquet. What it is about is JSON in the
metadata, with a checksum of both.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np

from armature.errors import ArmatureError, unknown
from armature.experiments.keys import means_of, package_version, run_key
from armature.kernels.arrays import Floats
from armature.policies import Policy
from armature.rounds.play import MOST_TRACED
from armature.storage.files import checked_path, checksum, replacing
from armature.storage.registry import FAMILIES, POLICIES, STRUCTURES, Allowed, build, describe
from armature.structures.changing import instance_of
from armature.structures.instance import Instance

if TYPE_CHECKING:
    import pandas as pd

    from armature.experiments.plan import Plan


class Runs(Protocol):
    """All repetitions of a policy: a dataclass of arrays whose first axis they are."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def pulls(self) -> Floats: ...
    @property
    def seconds(self) -> Floats: ...

    def write(self, repetition: int, record: Any, seconds: float) -> None:
        """Take over what was recorded of a repetition."""


FORMAT = "armature results"
VERSION = 2  # since 2, what JSON does not have is written as `armature.storage.tagged_json` says
READABLE = (1, 2)  # versions of the format
SIMULATION = "simulation"  # what a table is of, if it does not say; its columns, and their types
COLUMNS = {
    SIMULATION: {"repetition": int, "round": int, "regret": float, "explored": int},
    "identification": {
        "repetition": int,
        "delta": float,
        "rounds": int,
        "arm": int,
        "statistic": float,
    },
}

R = TypeVar("R")  # what is kept of a policy's runs


@dataclass(frozen=True)
class Origin:
    """The code that made results: a version of the package, and a key of each policy's runs.

    The key (`run_key`) changes with everything that the numbers depend on: the problem, the policy
    with all of its options, the seed, the package's code and that of users' classes.
    """

    version: str
    keys: dict[str, str]


def origin_of(
    instance: Instance,
    policies: Sequence[Policy],
    horizon: int,
    seed: int,
    more: dict[str, Any] | None = None,
) -> Origin:
    """The origin of what is run now; `more` is what the numbers depend on besides."""
    keys = {policy.name: run_key(instance, policy, horizon, seed, more) for policy in policies}
    return Origin(package_version(), keys)


def about_runs(
    instance: Instance,
    policies: Sequence[Policy],
    horizon: int,
    repetitions: int,
    seed: int,
    origin: Origin,
    settings: dict[str, Any],
) -> dict[str, Any]:
    """The problem and the policies of runs as plain data, from which they can be run again."""
    about = {
        "armature": origin.version,
        **as_data(instance, policies, horizon, repetitions, seed, defaults=True),
        "keys": list(origin.keys.values()),
    }
    return with_settings(about, settings)


def as_data(
    instance: Instance,
    policies: Sequence[Policy],
    horizon: int,
    repetitions: int,
    seed: int,
    defaults: bool = False,
) -> dict[str, Any]:
    """The problem and policies as plain data; on request with options that have their defaults."""
    return {
        "structure": describe(STRUCTURES, instance.structure, defaults),
        "family": describe(FAMILIES, instance.family, defaults),
        **means_of(instance),
        **({} if instance.strict else {"strict": False}),
        "policies": [describe(POLICIES, policy, defaults) for policy in policies],
        "horizon": int(horizon),
        "repetitions": int(repetitions),
        "seed": int(seed),
    }


def with_settings(about: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any]:
    """Both in one: settings are an identification's, whose horizon is called `max_rounds`."""
    if settings:
        about["max_rounds"] = about.pop("horizon")
    return {**about, **settings}


def objects_of(
    about: dict[str, Any], horizon: int, allow: Allowed
) -> tuple[Instance, tuple[Policy, ...]]:
    """The instance and the policies that `about_runs` describes."""
    instance = instance_of(
        build(STRUCTURES, "structure", about["structure"], allow),
        about["means"],
        about.get("changes"),
        build(FAMILIES, "family", about["family"], allow),
        about.get("strict", True),
        about.get("frequencies"),
    )
    policies = (build(POLICIES, "policy", one, allow) for one in about["policies"])
    return instance, tuple(policy.with_horizon(horizon) for policy in policies)


class AllRuns(Generic[R]):
    """The runs of policies on an instance, by the policies' names."""

    runs: dict[str, R]
    origin: Origin | None

    @property
    def made_by(self) -> Origin:
        """The code that made the results; for a file, the version that wrote it."""
        return self.origin or self._origin_now()

    @property
    def is_current(self) -> bool:
        """True if the running code would make the same numbers: it has the same key."""
        return self.made_by.keys == self._origin_now().keys

    def _origin_now(self) -> Origin:
        raise NotImplementedError

    @property
    def names(self) -> tuple[str, ...]:
        """The policies' names."""
        return tuple(self.runs)

    def _runs_of(self, policy: str | Policy) -> R:
        name = policy.name if isinstance(policy, Policy) else str(policy)
        if name not in self.runs:
            raise unknown("the policy", name, self.runs)
        return self.runs[name]

    def about(self) -> dict[str, Any]:
        """The problem and the settings, as plain data."""
        raise NotImplementedError

    def summary(self) -> pd.DataFrame:
        """The table: a row for each policy, or for each policy and delta."""
        raise NotImplementedError

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """A picture, written to a file if path is given."""
        raise NotImplementedError

    def to_frame(self) -> pd.DataFrame:
        """The numbers, one row for each moment that is kept of a run."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything but the timings to one Parquet file, which `load` reads."""
        write_file(path, self.about(), self.to_frame())


def standard_error(values: Floats) -> float:
    """The standard error of the mean; nan for a single value."""
    return float(values.std(ddof=1) / math.sqrt(values.size)) if values.size > 1 else math.nan


@dataclass(frozen=True, eq=False)
class PlanSummary:
    """The tables of a plan's results without its runs, which take memory."""

    plan: Plan[Any, Any]
    table: pd.DataFrame  # what `summary` of the results says


def n_traced(n_arms: int) -> int:
    """The number of arms whose pulls a file has: all, unless they are too many for columns."""
    return n_arms if n_arms <= MOST_TRACED else 0


def write_file(path: str | os.PathLike[str], about: dict[str, Any], frame: pd.DataFrame) -> None:
    """Write a table and what it is about."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    note = {"format": FORMAT, "version": VERSION, **about}
    note["checksum"] = _checksum(note, frame)
    table = pa.Table.from_pandas(frame, preserve_index=False)
    table = table.replace_schema_metadata({FORMAT: json.dumps(note)})
    with replacing(path) as beside:
        pq.write_table(table, beside, write_page_checksum=True)


def read_file(
    path: str | os.PathLike[str], kind: str = SIMULATION
) -> tuple[dict[str, Any], pd.DataFrame]:
    """The settings and the table of a file; an error if they are not as they were written.

    `kind` is what the results must be of. `version` in what it is about is that of the format.
    """
    import pyarrow.parquet as pq

    name = str(checked_path(path))
    if not Path(name).is_file():
        raise ArmatureError(f"there is no file {name!r}.")
    # A damaged file makes the reader fail in a dozen ways, so that every failure is taken for one.
    try:
        table = pq.ParquetFile(path, page_checksum_verification=True).read()
        text = (table.schema.metadata or {}).get(FORMAT.encode())
        note = None if text is None else dict(json.loads(text))
        frame = table.to_pandas()
    except PermissionError:
        raise ArmatureError(f"{name!r} can't be read: its permissions forbid it.") from None
    except Exception as error:
        raise _damaged(name, f"it can't be read ({' '.join(str(error).split())[:200]})") from None
    if note is None:
        raise ArmatureError(f"{name!r} is not a file of results.")
    if note.get("version") not in READABLE:
        raise ArmatureError(
            f"{name!r} has version {note.get('version')!r} of the format; this release of "
            f"Armature reads {' and '.join(map(str, READABLE))}."
        )
    found = note.get("kind", SIMULATION)
    if found != kind:
        raise ArmatureError(f"{name!r} has the results of another kind of runs: {found}.")
    if not _has_the_columns(note, frame):
        raise _damaged(name, "its columns are not those that were written")
    if note.pop("checksum", None) != _checksum(note, frame):
        raise _damaged(name, "its checksum does not match")
    return {key: note[key] for key in note if key != "format"}, frame


def _damaged(name: str, why: str) -> ArmatureError:
    return ArmatureError(
        f"{name!r} is damaged, it was cut off or changed: {why}. Simulate again, or restore it "
        "from a copy."
    )


def _has_the_columns(note: dict[str, Any], frame: pd.DataFrame) -> bool:
    means = note.get("means")
    kind = note.get("kind", SIMULATION)
    n_arms = np.size(means) if isinstance(means, list) else 0
    arms = [f"pulls_{k}" for k in range(n_traced(n_arms) if kind == SIMULATION else n_arms)]
    kinds = {**COLUMNS[kind], **dict.fromkeys(arms, int)}
    if list(frame.columns) != ["policy", *kinds]:
        return False
    if any(frame[column].dtype != np.dtype(of) for column, of in kinds.items()):
        return False
    return all(isinstance(name, str) for name in frame["policy"])


def _checksum(note: dict[str, Any], frame: pd.DataFrame) -> str:
    return checksum(note, *(_column(name, frame[name]) for name in frame.columns))


def _column(name: str, values: pd.Series) -> bytes:
    if name == "policy":
        return "\n".join(values).encode()
    return np.ascontiguousarray(values.to_numpy()).tobytes()
