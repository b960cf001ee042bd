"""The results of a replay: records, and how they are shown."""

from __future__ import annotations

import json
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from armature.assess.drift import Drift
from armature.assess.report import aligned
from armature.assess.resampling import Weighted
from armature.errors import unknown
from armature.kernels.arrays import Floats
from armature.storage.tagged_json import encoded
from armature.views.chart import number
from armature.words import Arm, Card, Sentence, Shown, row_of

RESTS_ON = {
    "queues": "Each arm's rewards are used in the order of the log. This assumes that rewards do "
    "not drift.",
    "rejection": "A row counts only if it shows the arm that the policy chooses. This assumes that "
    "the probabilities with which arms were shown are right.",
    "ips": "The policy learns from every row of the log, and its choices are valued by inverse "
    "propensity scores. This assumes that the probabilities with which arms were shown are right.",
}


@dataclass(frozen=True, eq=False)
class Replayed:
    """One policy on a log.

    Attributes
    ----------
        policy: its name.
        rounds: how far it got.
        reward: what it collected until then, in the order of the log.
        value: the mean reward of a round, over the first `compared` rounds; for "queues" the mean
            over several orders of each arm's rewards.
        low, high: an interval of that, by the bootstrap.
        compared: the number of rounds that `value` is over: those that all policies reached.
        exhausted: the arm that it chose when the log had no more of its rewards; None: the log or
            the horizon ended.
        shares: how often it chose each arm.
        weighted: IPS and SNIPS with the weights they rest on; None for other methods.
    """

    policy: str
    rounds: int
    reward: float
    value: float
    low: float
    high: float
    compared: int
    exhausted: Hashable | None
    shares: Floats
    weighted: Weighted | None

    def to_data(self) -> dict[str, Any]:
        """As plain data."""
        data = {name: value for name, value in vars(self).items() if name != "weighted"}
        data["shares"] = self.shares.tolist()
        data["weighted"] = None if self.weighted is None else self.weighted._asdict()
        return data


@dataclass(frozen=True, eq=False, repr=False)
class Replay(Shown):
    """Policies on a log; `str` gives it as a text, `replay[name]` is one of them.

    Attributes
    ----------
        method: "queues", "rejection" or "ips".
        policies: what each would have collected.
        logged: the mean reward of the log itself.
        rows: how many rewards the log has.
        horizon: after how many rounds it was to stop; None: where the data end.
        delta: one less the coverage of the intervals.
        drift: whether rewards changed over the log.
        uniform: whether logging was declared uniform.
        certain: how many rows were shown with probability 1; they count for "queues" alone.
    """

    method: str
    policies: tuple[Replayed, ...]
    logged: float
    rows: int
    horizon: int | None
    delta: float
    drift: Drift
    uniform: bool
    certain: int = 0

    def __getitem__(self, policy: str) -> Replayed:
        for one in self.policies:
            if one.policy == policy:
                return one
        raise unknown("the policy", str(policy), [one.policy for one in self.policies])

    def card(self) -> Card:
        ranked = sorted(self.policies, key=lambda one: -one.value)
        rows = [row_of(p.policy, float(p.rounds), p.value, p.low, p.high) for p in ranked]
        return Card(
            f"Replay by {self.method}: {self.rows:,} rewards, {self.logged:.4g} per round in the "
            "log itself",
            ("policy", "rounds", "per round", "from", "to"),
            tuple(rows),
            self.notes[0],
        )

    def __str__(self) -> str:
        share = f"{1.0 - self.delta:.0%} interval"
        titles = ["policy", "rounds", "collected", "per round", share]
        if self.method == "ips":
            titles += ["SNIPS", "effective rows", "largest weight"]
        rows = []
        for one in sorted(self.policies, key=lambda one: -one.value):
            interval = f"[{one.low:.4g}, {one.high:.4g}]"
            row = [
                one.policy,
                f"{one.rounds:,}",
                number(one.reward, 3),
                f"{one.value:.4g}",
                interval,
            ]
            if one.weighted is not None:
                row += [f"{one.weighted.snips:.4g}", f"{one.weighted.effective:,.0f}"]
                row += [number(one.weighted.largest, 3)]
            rows.append(row)
        lines = aligned(tuple(titles), rows)
        lines += ["", f"The log itself: {self.logged:.4g} per round, {self.rows:,} rewards."]
        return "\n".join([*lines, *self.notes])

    @property
    def notes(self) -> tuple[str, ...]:
        """The assumptions of the replay, and where it ended."""
        said = [Sentence(RESTS_ON[self.method])]
        for one in self.policies:
            about = {"policy": one.policy, "rounds": one.rounds}
            if one.exhausted is not None:
                text = "{policy} played {rounds} rounds, then chose {arm}: the log has no more of "
                about["arm"] = Arm(self.drift.arms.index(one.exhausted))
                said.append(Sentence(text + "its rewards.", **about))
            elif self.method == "rejection" and one.rounds < (self.horizon or self.rows):
                said.append(
                    Sentence("{policy} played {rounds} rounds, then the log ended.", **about)
                )
        if self.method == "queues" and self.policies:
            text = "Rewards per round are over the first {n} rounds, which all policies played."
            said.append(Sentence(text, n=self.policies[0].compared))
        if self.certain:
            text = "{n} rows do not count: their arms were shown with probability 1."
            said.append(Sentence(text, n=f"{self.certain:,}"))
        if self.method == "queues" or self.drift.found:
            said.append(self.drift.sentence())
        return tuple(sentence.shown(self.drift.arms) for sentence in said)

    def to_data(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {
            "method": self.method,
            "logged": self.logged,
            "rows": self.rows,
            "horizon": self.horizon,
            "delta": self.delta,
            "uniform": self.uniform,
            "certain": self.certain,
            "policies": [one.to_data() for one in self.policies],
            "drift": self.drift.to_data(),
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """The same as JSON; what JSON does not have is written as in all files of the library."""
        return json.dumps(encoded(self.to_data()), allow_nan=False)
