"""The results of an identification: stopping times, errors, shares of the samples."""

from __future__ import annotations

import math
import os
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from armature.bounds import CharacteristicTime, characteristic_time
from armature.errors import ArmatureError
from armature.experiments.runs import (
    AllRuns,
    Origin,
    about_runs,
    objects_of,
    origin_of,
    read_file,
    standard_error,
)
from armature.kernels.arrays import Floats, Ints
from armature.policies import Policy
from armature.rounds.stopping import SamplingRuns
from armature.storage.registry import Allowed
from armature.structures.instance import Instance
from armature.structures.oracles.margin import Margin
from armature.words import Card, Shown, row_of

if TYPE_CHECKING:
    import pandas as pd

KIND = "identification"  # in a file of results
QUANTILES = (0.05, 0.5, 0.95)


def settings(
    deltas: tuple[float, ...], threshold: str, margin: float | str | None
) -> dict[str, Any]:
    """The settings of the runs besides instance, policy, rounds and seed."""
    content = {} if margin is None else {"margin": margin}
    return {"kind": KIND, "deltas": list(deltas), "threshold": threshold, **content}


@dataclass(frozen=True, eq=False, repr=False)
class Identification(AllRuns[SamplingRuns], Shown):
    """The stopping times of policies on an instance, over repetitions and probabilities of error.

    `deltas` are in falling order, and the second axis of all that is given by run. `origin` says
    which code has made the runs; None: the code that is running. With a margin, an arm is right if
    no other is better by more than that.
    """

    instance: Instance
    policies: tuple[Policy, ...]
    deltas: tuple[float, ...]
    threshold: str
    max_rounds: int
    seed: int
    runs: dict[str, SamplingRuns]
    origin: Origin | None = None
    margin: float | str | None = None

    def _origin_now(self) -> Origin:
        more = settings(self.deltas, self.threshold, self.margin)
        return origin_of(self.instance, self.policies, self.max_rounds, self.seed, more)

    @property
    def repetitions(self) -> int:
        """The number of runs of each policy."""
        return len(next(iter(self.runs.values())).rounds)

    def rounds(self, policy: str | Policy) -> Ints:
        """(repetitions, deltas): how many rounds there were when it stopped, or ended unsure."""
        return self._runs_of(policy).rounds

    def arms(self, policy: str | Policy) -> Ints:
        """(repetitions, deltas): the arm that was named; -1 where the run ended unsure."""
        return self._runs_of(policy).arms

    def pulls(self, policy: str | Policy) -> Floats:
        """(repetitions, deltas, arms): how often each arm was pulled until then."""
        return self._runs_of(policy).pulls

    def errors(self, policy: str | Policy) -> Floats:
        """(deltas,): the share of the runs that named a wrong arm."""
        arms, margin = self.arms(policy), Margin.of(self.margin)
        right = [self.instance.best_arm] if margin is None else margin.near(self.instance.means)
        wrong = (arms >= 0) & ~np.isin(arms, right)
        return np.asarray(wrong.mean(axis=0))

    def shares(self, policy: str | Policy) -> Floats:
        """(deltas, arms): the mean share of the samples that each arm got."""
        pulls = self.pulls(policy)
        return np.asarray((pulls / pulls.sum(axis=2, keepdims=True)).mean(axis=0))

    def card(self) -> Card:
        rows = []
        for name, runs in self.runs.items():
            for d, delta in enumerate(self.deltas):
                rounds = runs.rounds[:, d].astype(np.float64)
                numbers = rounds.mean(), standard_error(rounds), self.errors(name)[d]
                rows.append(row_of(name, f"{delta:g}", *numbers))
        return Card(
            f"Identification: {self.instance.structure!r}, {self.repetitions:,} repetitions",
            ("policy", "delta", "rounds", "error", "wrong"),
            tuple(rows),
        )

    def summary(self) -> pd.DataFrame:
        """One row for each policy and delta: stopping times beside T* ln(1 / delta), errors.

        `ratio` is the mean stopping time over T* ln(1 / delta), which no rule can have much below 1
        as delta falls (nan, with a warning, where T* can't be computed); `errors` the share of runs
        that named a wrong arm; `unsure` of those that ended at `max_rounds`, whose rounds count as
        they are, so that the mean is then too small.
        """
        import pandas as pd

        time = time_or_none(self.instance, self.margin)
        value = math.nan if time is None else time.value
        rows = []
        for policy in self.policies:
            runs = self.runs[policy.name]
            played = runs.rounds[:, -1].sum()
            speed = 1e6 * runs.seconds.sum() / played if runs.seconds.any() else math.nan
            for d, delta in enumerate(self.deltas):
                rounds = runs.rounds[:, d].astype(np.float64)
                least = value * math.log(1.0 / delta)
                rows.append(
                    {
                        "policy": policy.name,
                        "delta": delta,
                        "rounds": rounds.mean(),
                        "standard_error": standard_error(rounds),
                        **{f"q{q:.0%}": np.quantile(rounds, q) for q in QUANTILES},
                        "ratio": rounds.mean() / least if least > 0.0 else math.nan,
                        "errors": self.errors(policy)[d],
                        "unsure": float((runs.arms[:, d] < 0).mean()),
                        "T*": value,
                        "us_per_round": speed,
                    }
                )
        return pd.DataFrame(rows).set_index(["policy", "delta"])

    def to_frame(self) -> pd.DataFrame:
        """Tidy: one row for each policy, repetition and delta."""
        import pandas as pd

        frames = []
        R, D = self.repetitions, len(self.deltas)
        for name, runs in self.runs.items():
            columns: dict[str, Any] = {
                "policy": np.repeat(name, R * D),
                "repetition": np.repeat(np.arange(R), D),
                "delta": np.tile(np.array(self.deltas), R),
                "rounds": runs.rounds.ravel(),
                "arm": runs.arms.ravel(),
                "statistic": runs.statistics.ravel(),
            }
            for k in range(self.instance.n_arms):
                columns[f"pulls_{k}"] = runs.pulls[:, :, k].ravel().astype(np.int64)
            frames.append(pd.DataFrame(columns))
        return pd.concat(frames, ignore_index=True)

    def plot(self, path: str | os.PathLike[str] | None = None) -> Any:
        """The share of runs that have stopped, by round; written to a file if path is given."""
        from armature.views.experiment_charts import plot_stopping, stopping_charts

        rounds = {name: runs.rounds for name, runs in self.runs.items()}
        sure = {name: runs.arms >= 0 for name, runs in self.runs.items()}
        time = time_or_none(self.instance, self.margin)
        value = None if time is None else time.value
        charts = stopping_charts(self.deltas, rounds, sure, value)
        return plot_stopping(charts, () if path is None else [path])

    def about(self) -> dict[str, Any]:
        """The problem and the settings, as plain data."""
        return about_runs(
            self.instance,
            self.policies,
            self.max_rounds,
            self.repetitions,
            self.seed,
            self.made_by,
            settings(self.deltas, self.threshold, self.margin),
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, allow: Allowed = ()) -> Identification:
        """Load a file of `save`; one that was cut off or changed is refused.

        A file can name policies, structures and families of your own, and importing them runs their
        code: they are imported only from the modules and packages that `allow` names.
        """
        about, frame = read_file(path, KIND)
        instance, policies = objects_of(about, about["max_rounds"], allow)
        return cls.from_frame(instance, policies, about, frame)

    @classmethod
    def from_frame(
        cls,
        instance: Instance,
        policies: tuple[Policy, ...],
        about: dict[str, Any],
        frame: pd.DataFrame,
    ) -> Identification:
        """The results whose `about()` and `to_frame()` are given, for objects that are known."""
        R, deltas = about["repetitions"], tuple(about["deltas"])
        shape = (R, len(deltas))
        arms = [f"pulls_{k}" for k in range(instance.n_arms)]
        runs, rows = {}, R * len(deltas)
        for n, policy in enumerate(policies):
            part = frame.iloc[n * rows : (n + 1) * rows]
            runs[policy.name] = SamplingRuns(
                part["rounds"].to_numpy().reshape(shape).copy(),
                part["arm"].to_numpy().reshape(shape).copy(),
                part["statistic"].to_numpy().reshape(shape).copy(),
                part[arms].to_numpy(np.float64).reshape(*shape, instance.n_arms),
                np.zeros(R),
            )
        origin = Origin(about["armature"], dict(zip(runs, about["keys"], strict=True)))
        return cls(
            instance,
            policies,
            deltas,
            about["threshold"],
            about["max_rounds"],
            about["seed"],
            runs,
            origin,
            about.get("margin"),
        )


def time_or_none(
    instance: Instance, margin: float | str | None = None
) -> CharacteristicTime | None:
    """T*; None where the structure is wrong, and, with a warning, if it is not found."""
    if not instance.fits:
        return None
    try:
        return characteristic_time(instance, margin=margin)
    except ArmatureError as error:
        warnings.warn(f"no characteristic time is shown: {error}", stacklevel=2)
        return None
