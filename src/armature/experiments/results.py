"""The results of a simulation."""

from __future__ import annotations

import math
import os
from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armature.bounds import bound_or_none
from armature.errors import ArmatureError
from armature.experiments.runs import (
    AllRuns,
    Origin,
    about_runs,
    n_traced,
    objects_of,
    origin_of,
    read_file,
    standard_error,
)
from armature.kernels.arrays import Floats, Ints
from armature.kernels.checks import as_real
from armature.policies import Policy
from armature.rounds.play import PolicyRuns
from armature.storage.registry import Allowed, from_version_1
from armature.structures import Segments
from armature.structures.instance import Instance
from armature.words import Card, Shown, row_of

if TYPE_CHECKING:
    import pandas as pd

QUANTILES = (0.05, 0.5, 0.95)


@dataclass(frozen=True)
class Paired:
    """The difference of two policies' final regret on the same rewards."""

    difference: float
    standard_error: float
    low: float
    high: float
    wins: float  # the share of repetitions in which the first had less regret


@dataclass(frozen=True, eq=False, repr=False)
class Results(AllRuns[PolicyRuns], Shown):
    """The regret of policies on an instance, over repetitions and rounds.

    `origin` says which code has made them; None: the code that is running.
    """

    instance: Instance
    policies: tuple[Policy, ...]
    horizon: int
    seed: int
    checkpoints: Ints
    runs: dict[str, PolicyRuns]
    origin: Origin | None = None

    def _origin_now(self) -> Origin:
        return origin_of(self.instance, self.policies, self.horizon, self.seed)

    @property
    def repetitions(self) -> int:
        """The number of runs of each policy."""
        return len(next(iter(self.runs.values())).regret)

    def card(self) -> Card:
        final = {name: runs.regret[:, -1] for name, runs in self.runs.items()}
        rows = [
            row_of(name, regret.mean(), standard_error(regret), np.quantile(regret, 0.95))
            for name, regret in sorted(final.items(), key=lambda item: item[1].mean())
        ]
        return Card(
            f"Results: {self.instance.structure!r}, T = {self.horizon:,}, "
            f"{self.repetitions:,} repetitions, seed {self.seed}",
            ("policy", "regret", "error", "95 %"),
            tuple(rows),
        )

    def regret(self, policy: str | Policy, segment: Hashable = None) -> Floats:
        """(repetitions, checkpoints): the pseudo-regret of a policy; in one segment of a table.

        Paper: Section 1.1, regret.
        """
        runs, structure = self._runs_of(policy), self.instance.structure
        if segment is None:
            return runs.regret
        if not isinstance(structure, Segments):
            raise ArmatureError(f"there is no segment {segment!r}: {structure} has none.")
        start, stop = structure.segments[structure.place(segment)]
        if runs.pulls.shape[1] < self.checkpoints.size:
            raise ArmatureError("of a table so large, what each segment lost is not kept.")
        gaps = self.instance.gaps.reshape(-1)[start:stop]
        return np.asarray(runs.pulls[:, :, start:stop] @ gaps)

    def pulls(self, policy: str | Policy) -> Floats:
        """(repetitions, checkpoints, arms): how often each arm was pulled.

        Of more than 1000 arms, pulls are kept at the last checkpoint alone: (repetitions, 1, arms);
        and not in files of results.
        """
        return self._runs_of(policy).pulls

    def summary(self) -> pd.DataFrame:
        """One row for each policy: final regret, its growth beside V, exploration, speed.

        `slope` is the growth of the mean regret per unit of ln t over the last decade of rounds:
        compare it with `V`, the least that is possible as t grows (nan, with a warning, where that
        can't be computed).
        """
        import pandas as pd

        bound = bound_or_none(self.instance)
        value = math.nan if bound is None else bound.value
        rows = {}
        decade = int(np.searchsorted(self.checkpoints, self.horizon / 10.0))
        span = math.log(self.horizon / self.checkpoints[decade])
        for policy in self.policies:
            runs = self.runs[policy.name]
            final = runs.regret[:, -1]
            mean = runs.regret.mean(axis=0)
            explored = runs.explored[:, -1].mean() / self.horizon
            timed = runs.seconds[runs.seconds > 0.0]  # not those that were read from a file
            seconds = timed.mean() / self.horizon if timed.size else math.nan
            rows[policy.name] = {
                "regret": final.mean(),
                "standard_error": standard_error(final),
                **{f"q{q:.0%}": np.quantile(final, q) for q in QUANTILES},
                "slope": (mean[-1] - mean[decade]) / span if span > 0.0 else math.nan,
                "V": value,
                "explored": explored if policy.tells_exploration_apart else math.nan,
                "us_per_round": 1e6 * seconds,
            }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("policy")

    def to_frame(self) -> pd.DataFrame:
        """Tidy: one row for each policy, repetition and checkpoint.

        Pulls are columns, one for each arm, unless there are more than 1000.
        """
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
            for k in range(n_traced(self.instance.n_arms)):
                columns[f"pulls_{k}"] = runs.pulls[:, :, k].ravel().astype(np.int64)
            frames.append(pd.DataFrame(columns))
        return pd.concat(frames, ignore_index=True)

    def paired(self, a: str | Policy, b: str | Policy, level: float = 0.95) -> Paired:
        """The final regret of `a` less that of `b`, repetition by repetition."""
        from scipy.stats import norm

        if not 0.0 < as_real(level) < 1.0:
            raise ArmatureError(
                f"level must be a number between 0 and 1, such as 0.95; got {level!r}."
            )
        difference = self.regret(a)[:, -1] - self.regret(b)[:, -1]
        mean, error = float(difference.mean()), standard_error(difference)
        half = float(norm.ppf(0.5 + 0.5 * level)) * error
        wins = float((difference < 0.0).mean() + 0.5 * (difference == 0.0).mean())
        return Paired(mean, error, mean - half, mean + half, wins)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """Mean regret with a band, beside the lower bounds; written to a file if path is given.

        Of a table of segments, the regret in all and that in each segment.
        """
        from armature.views.experiment_charts import plot_regret
        from armature.views.side_by_side import plot_regret_of_segments

        regret = {name: runs.regret for name, runs in self.runs.items()}
        instance, paths = self.instance, () if path is None else [path]
        whole = all(runs.pulls.shape[1] == self.checkpoints.size for runs in self.runs.values())
        if not (instance.structure.is_table and whole):
            return plot_regret(instance, self.checkpoints, regret, paths)
        parts = {
            segment: {name: self.regret(name, segment) for name in regret}
            for segment in instance.structure.segment_names
        }
        return plot_regret_of_segments(instance, self.checkpoints, regret, parts, paths)

    def about(self) -> dict[str, Any]:
        """The problem and the settings, as plain data."""
        instance, policies, R = self.instance, self.policies, self.repetitions
        return about_runs(instance, policies, self.horizon, R, self.seed, self.made_by, {})

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, allow: Allowed = ()) -> Results:
        """Load a file of `save`; one that was cut off or changed is refused.

        A file can name policies, structures and families of your own, and importing them runs their
        code: they are imported only from the modules and packages that `allow` names. `made_by` of
        the results says which version has made them.
        """
        about, frame = read_file(path)
        if about["version"] == 1:
            about["structure"] = from_version_1(about["structure"])
        instance, policies = objects_of(about, about["horizon"], allow)
        return cls.from_frame(instance, policies, about, frame)

    @classmethod
    def from_frame(
        cls,
        instance: Instance,
        policies: tuple[Policy, ...],
        about: dict[str, Any],
        frame: pd.DataFrame,
    ) -> Results:
        """The results whose `about()` and `to_frame()` are given, for objects that are known."""
        R = about["repetitions"]
        checkpoints = frame["round"].to_numpy()[: len(frame) // (R * len(policies))].copy()
        shape = (R, checkpoints.size)
        arms = [f"pulls_{k}" for k in range(n_traced(instance.n_arms))]
        runs = {}
        for n, policy in enumerate(policies):
            part = frame.iloc[n * R * checkpoints.size : (n + 1) * R * checkpoints.size]
            runs[policy.name] = PolicyRuns(
                part["regret"].to_numpy().reshape(shape).copy(),
                part[arms].to_numpy(np.float64).reshape(*shape, len(arms)),
                part["explored"].to_numpy(np.float64).reshape(shape),
                np.zeros(R),
            )
        keys = dict(zip(runs, about.get("keys", ()), strict=False))
        origin = Origin(about["armature"], keys)
        return cls(instance, policies, about["horizon"], about["seed"], checkpoints, runs, origin)
