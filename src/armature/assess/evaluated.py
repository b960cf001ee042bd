"""The results of an evaluation: estimates with intervals, and how they are shown."""

from __future__ import annotations

import json
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

from armature.assess.drift import Drift
from armature.assess.report import aligned
from armature.errors import ArmatureError, unknown
from armature.kernels.arrays import Floats
from armature.storage.tagged_json import encoded
from armature.views.chart import number
from armature.words import Card, Sentence, Shown, row_of

FEW = 30.0  # rows that tell as much, below which intervals are not to be relied on


class Estimate(NamedTuple):
    """A mean reward of a round, and an interval of it; `rows` is how many rows it is from."""

    method: str
    value: float
    low: float
    high: float
    rows: int


@dataclass(frozen=True, eq=False, repr=False)
class Evaluation(Shown):
    """The value of a policy on a log; `str` gives it as a text, `evaluation[method]` an estimate.

    Attributes
    ----------
        policy: what was valued.
        method: the estimate that `value`, `low` and `high` are of.
        estimates: all that the log permits.
        gain: the doubly robust value less the mean reward of the same rows, with its interval.
        logged: that mean reward.
        rows: how many rows could have shown another arm, and count.
        certain: how many were shown with probability 1, and do not count.
        arms, shares: the arms, and how often each would have been chosen.
        mean_weight: about 1 if the log could show all that was to be valued.
        effective: the number of rows that would tell as much with equal weights.
        largest: the largest weight.
        delta: one less the coverage of the intervals.
        drift: whether rewards changed over the log.
        learns: whether it is a policy that learns from the rows.
    """

    policy: str
    method: str
    estimates: tuple[Estimate, ...]
    gain: Estimate
    logged: float
    rows: int
    certain: int
    arms: tuple[Hashable, ...]
    shares: Floats
    mean_weight: float
    effective: float
    largest: float
    delta: float
    drift: Drift
    learns: bool

    def __post_init__(self) -> None:
        if self.method not in [one.method for one in self.estimates]:
            raise ArmatureError(
                f"the log has no row that shows what {self.policy} chooses first: use another "
                "method."
            )

    def __getitem__(self, method: str) -> Estimate:
        for one in self.estimates:
            if one.method == method:
                return one
        raise unknown("the method", str(method), [one.method for one in self.estimates])

    @property
    def value(self) -> float:
        """The mean reward of a round, by `method`."""
        return self[self.method].value

    @property
    def low(self) -> float:
        """The lower end of its interval."""
        return self[self.method].low

    @property
    def high(self) -> float:
        """The upper end of its interval."""
        return self[self.method].high

    @property
    def _summary(self) -> tuple[str, str]:
        """The value, and how it compares with the log."""
        share = f"{1.0 - self.delta:.0%} interval"
        return (
            f"{self.policy}: {self.value:.4g} per round, {share} [{self.low:.4g}, {self.high:.4g}] "
            f"({self.method}).",
            f"The log's own arms: {self.logged:.4g} per round; the difference is "
            f"{self.gain.value:.4g} [{self.gain.low:.4g}, {self.gain.high:.4g}].",
        )

    def card(self) -> Card:
        rows = [row_of(e.method, e.value, e.low, e.high, float(e.rows)) for e in self.estimates]
        columns = ("method", "per round", "from", "to", "rows")
        return Card(" ".join(self._summary), columns, tuple(rows), self.notes[0])

    def __str__(self) -> str:
        share = f"{1.0 - self.delta:.0%} interval"
        rows = [
            [one.method, f"{one.value:.4g}", f"[{one.low:.4g}, {one.high:.4g}]", f"{one.rows:,}"]
            for one in self.estimates
        ]
        table = aligned(("method", "per round", share, "rows"), rows)
        return "\n".join([*self._summary, "", *table, "", *self.notes])

    @property
    def notes(self) -> tuple[str, ...]:
        """The rows that the estimates rest on."""
        said = [
            Sentence(
                "Weights: as much as {effective} equal rows would tell, the largest {largest}. "
                "This assumes that the probabilities with which arms were shown are right.",
                effective=f"{self.effective:,.0f}",
                largest=number(self.largest, 3),
            )
        ]
        if self.learns:
            text = "{policy} is valued while it learns from the rows of the log"
            own = any(one.method == "rejection" for one in self.estimates)
            text += "; in rejection it learns from rows of its own." if own else "."
            said.append(Sentence(text, policy=self.policy))
        if self.certain:
            text = "{n} rows do not count: their arms were shown with probability 1."
            said.append(Sentence(text, n=f"{self.certain:,}"))
        if self.effective < FEW:
            said.append(Sentence("So few rows carry the weight that the intervals may be short."))
        if self.drift.found:
            said.append(self.drift.sentence())
        return tuple(sentence.shown(self.arms) for sentence in said)

    def to_data(self) -> dict[str, Any]:
        """All of it as plain data."""
        data = dict(vars(self))
        data["estimates"] = [one._asdict() for one in self.estimates]
        data |= {"value": self.value, "low": self.low, "high": self.high}
        data["gain"], data["drift"] = self.gain._asdict(), self.drift.to_data()
        data["arms"], data["shares"] = list(self.arms), self.shares.tolist()
        return data | {"notes": list(self.notes)}

    def to_json(self) -> str:
        """The same as JSON; what JSON does not have is written as in all files of the library."""
        return json.dumps(encoded(self.to_data()), allow_nan=False)
