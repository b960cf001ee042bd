"""What a simulation found."""

from __future__ import annotations

import hashlib
import json
import math
import os
import tempfile
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from armature.arrays import Floats, Ints
from armature.bounds import lower_bound
from armature.descriptions import FAMILIES, POLICIES, STRUCTURES, build, describe, unknown
from armature.errors import ArmatureError
from armature.instance import Instance
from armature.policies import Policy
from armature.simulation.play import Record

if TYPE_CHECKING:
    import pandas as pd

FORMAT = "armature results"
VERSION = 1
QUANTILES = (0.05, 0.5, 0.95)


@dataclass(frozen=True, eq=False)
class PolicyRuns:
    """All repetitions of a policy: what was recorded at each checkpoint."""

    regret: Floats  # (repetitions, C)
    pulls: Floats  # (repetitions, C, K)
    explored: Floats  # (repetitions, C)
    seconds: Floats  # (repetitions,)

    @classmethod
    def empty(cls, repetitions: int, checkpoints: int, n_arms: int) -> PolicyRuns:
        """Room for the repetitions."""
        shape = (repetitions, checkpoints)
        return cls(
            np.zeros(shape), np.zeros((*shape, n_arms)), np.zeros(shape), np.zeros(repetitions)
        )

    def write(self, repetition: int, record: Record, seconds: float) -> None:
        """Take over the record of a repetition."""
        self.regret[repetition] = record.regret
        self.pulls[repetition] = record.pulls
        self.explored[repetition] = record.explored
        self.seconds[repetition] = seconds


@dataclass(frozen=True)
class Paired:
    """The difference of two policies' final regret on the same rewards."""

    difference: float
    standard_error: float
    low: float
    high: float
    wins: float  # the share of repetitions in which the first had less regret


@dataclass(frozen=True, eq=False)
class Results:
    """The regret of policies on an instance, over repetitions and rounds."""

    instance: Instance
    policies: tuple[Policy, ...]
    horizon: int
    seed: int
    checkpoints: Ints
    runs: dict[str, PolicyRuns]

    @property
    def names(self) -> tuple[str, ...]:
        """The policies' names."""
        return tuple(self.runs)

    @property
    def repetitions(self) -> int:
        """How often each policy was run."""
        return len(next(iter(self.runs.values())).regret)

    def regret(self, policy: str) -> Floats:
        """(repetitions, checkpoints): the pseudo-regret of a policy."""
        return self._runs_of(policy).regret

    def pulls(self, policy: str) -> Floats:
        """(repetitions, checkpoints, arms): how often each arm was pulled."""
        return self._runs_of(policy).pulls

    def _runs_of(self, policy: str) -> PolicyRuns:
        if policy not in self.runs:
            raise unknown("the policy", policy, self.runs)
        return self.runs[policy]

    def summary(self) -> pd.DataFrame:
        """One row for each policy: final regret, its growth beside V, exploration, speed.

        `slope` is the growth of the mean regret per unit of ln t over the last decade of rounds:
        compare it with `V`, the least that is possible as t grows.
        """
        import pandas as pd

        value = lower_bound(self.instance).value
        rows = {}
        decade = int(np.searchsorted(self.checkpoints, self.horizon / 10.0))
        span = math.log(self.horizon / self.checkpoints[decade])
        for policy in self.policies:
            runs = self.runs[policy.name]
            final = runs.regret[:, -1]
            mean = runs.regret.mean(axis=0)
            explored = runs.explored[:, -1].mean() / self.horizon
            seconds = runs.seconds.sum() / (self.horizon * len(final))
            rows[policy.name] = {
                "regret": final.mean(),
                "standard_error": _standard_error(final),
                **{f"q{q:.0%}": np.quantile(final, q) for q in QUANTILES},
                "slope": (mean[-1] - mean[decade]) / span if span > 0.0 else math.nan,
                "V": value,
                "explored": explored if policy.tells_exploration_apart else math.nan,
                "us_per_round": 1e6 * seconds if seconds > 0.0 else math.nan,
            }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("policy")

    def to_frame(self) -> pd.DataFrame:
        """Tidy: one row for each policy, repetition and checkpoint."""
        import pandas as pd

        R, C = self.repetitions, self.checkpoints.size
        frames = []
        for name, runs in self.runs.items():
            columns: dict[str, Any] = {
                "policy": np.repeat(name, R * C),
                "repetition": np.repeat(np.arange(R), C),
                "round": np.tile(self.checkpoints, R),
                "regret": runs.regret.ravel(),
                "explored": runs.explored.ravel().astype(np.int64),
            }
            for k in range(self.instance.n_arms):
                columns[f"pulls_{k}"] = runs.pulls[:, :, k].ravel().astype(np.int64)
            frames.append(pd.DataFrame(columns))
        return pd.concat(frames, ignore_index=True)

    def paired(self, a: str, b: str, level: float = 0.95) -> Paired:
        """The final regret of `a` less that of `b`, repetition by repetition."""
        from scipy.stats import norm

        difference = self.regret(a)[:, -1] - self.regret(b)[:, -1]
        mean, error = float(difference.mean()), _standard_error(difference)
        half = float(norm.ppf(0.5 + 0.5 * level)) * error
        wins = float((difference < 0.0).mean() + 0.5 * (difference == 0.0).mean())
        return Paired(mean, error, mean - half, mean + half, wins)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """Mean regret with a band, beside the lower bounds; written to a file if path is given."""
        from armature.plotting import plot_regret

        regret = {name: runs.regret for name, runs in self.runs.items()}
        return plot_regret(self.instance, self.checkpoints, regret, () if path is None else [path])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything but the timings to one Parquet file, which `load` reads."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        frame = self.to_frame()
        about = {
            "format": FORMAT,
            "version": VERSION,
            "armature": metadata.version("armature-bandits"),
            "structure": describe(STRUCTURES, self.instance.structure),
            "family": describe(FAMILIES, self.instance.family),
            "means": self.instance.means.tolist(),
            "policies": [describe(POLICIES, policy) for policy in self.policies],
            "horizon": self.horizon,
            "repetitions": self.repetitions,
            "seed": self.seed,
        }
        about["checksum"] = _checksum(about, frame)
        table = pa.Table.from_pandas(frame, preserve_index=False)
        table = table.replace_schema_metadata({FORMAT: json.dumps(about)})
        target = Path(path)
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        os.close(handle)
        try:
            pq.write_table(table, name)
            os.replace(name, target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Results:
        """What `save` wrote; a file that was cut off or changed is refused."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        if not Path(path).is_file():
            raise ArmatureError(f"there is no file {str(path)!r}.")
        try:
            table = pq.read_table(path)
        except (pa.ArrowInvalid, OSError) as error:
            raise ArmatureError(
                f"{str(path)!r} can't be read, it may be cut off: {error}"
            ) from None
        text = (table.schema.metadata or {}).get(FORMAT.encode())
        if text is None:
            raise ArmatureError(f"{str(path)!r} is not a file of results.")
        about = json.loads(text)
        if about["version"] != VERSION:
            raise ArmatureError(
                f"{str(path)!r} has version {about['version']!r} of the format; this release of "
                f"Armature reads version {VERSION}."
            )
        frame = table.to_pandas()
        if about.pop("checksum") != _checksum(about, frame):
            raise ArmatureError(f"{str(path)!r} was changed: its checksum does not match.")
        instance = Instance(
            build(STRUCTURES, "structure", about["structure"]),
            about["means"],
            build(FAMILIES, "family", about["family"]),
        )
        policies = tuple(build(POLICIES, "policy", p) for p in about["policies"])
        R = about["repetitions"]
        checkpoints = frame["round"].to_numpy()[: len(frame) // (R * len(policies))].copy()
        shape = (R, checkpoints.size)
        runs = {}
        for policy in policies:
            part = frame[frame["policy"] == policy.name]
            pulls = part[[f"pulls_{k}" for k in range(instance.n_arms)]].to_numpy(np.float64)
            runs[policy.name] = PolicyRuns(
                part["regret"].to_numpy().reshape(shape).copy(),
                pulls.reshape(*shape, instance.n_arms),
                part["explored"].to_numpy(np.float64).reshape(shape),
                np.zeros(R),
            )
        return cls(instance, policies, about["horizon"], about["seed"], checkpoints, runs)


def _standard_error(values: Floats) -> float:
    return float(values.std(ddof=1) / math.sqrt(values.size)) if values.size > 1 else math.nan


def _checksum(about: dict[str, Any], frame: pd.DataFrame) -> str:
    rest = {key: value for key, value in about.items() if key != "checksum"}
    digest = hashlib.sha256(json.dumps(rest, sort_keys=True).encode())
    for column in frame.columns:
        values = frame[column]
        if column == "policy":
            digest.update("\n".join(values).encode())
        else:
            digest.update(np.ascontiguousarray(values.to_numpy()).tobytes())
    return digest.hexdigest()
