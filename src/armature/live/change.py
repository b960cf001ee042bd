"""A change of the rewards, as a bandit reports it."""

from __future__ import annotations

import json
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

from armature.kernels.arrays import Floats
from armature.storage.tagged_json import encoded
from armature.words import Arm, Card, Sentence, Shown, row_of


@dataclass(frozen=True, eq=False, repr=False)
class Change(Shown):
    """The time of a change of the rewards, and the arms at which it shows; `str` gives it in words.

    Attributes
    ----------
        since: how many decisions were made before the change, as far as can be told.
        arms: the arms that show it, the clearest first.
        evidence: the logarithm of the evidence for a change. If nothing changes, it ever reaches
            ln(1 / p) with probability at most p (`armature.bounds.change`).
        threshold: what it had to reach.
        before, after: the mean of each arm's rewards before and since; nan where there are none.
        names: what all arms are called, in the order of these means.
        goal: "max", or "min" where the numbers are costs.
    """

    since: int
    arms: tuple[Hashable, ...]
    evidence: float
    threshold: float
    before: Floats
    after: Floats
    names: tuple[Hashable, ...]
    goal: str = "max"

    def sentence(self) -> Sentence:
        """The same in words, about the arm that shows it best."""
        k = self.names.index(self.arms[0])
        others = [Arm(self.names.index(arm)) for arm in self.arms[1:]]
        said = Sentence(
            "{arm} {earned} {before:.3g} until about decision {since} and {after:.3g} since "
            "(log-evidence for a change {evidence:.3g}, {threshold:.3g} is enough).",
            arm=Arm(k),
            earned="earned" if self.goal == "max" else "cost",
            before=float(self.before[k]),
            after=float(self.after[k]),
            since=self.since,
            evidence=self.evidence,
            threshold=self.threshold,
        )
        return said + Sentence("So did {others} change.", others=others) if others else said

    def __str__(self) -> str:
        return self.sentence().shown(self.names)

    def card(self) -> Card:
        rows = [row_of(name, self.before[k], self.after[k]) for k, name in enumerate(self.names)]
        return Card(str(self), ("arm", "before", "since"), tuple(rows))

    def to_data(self) -> dict[str, Any]:
        """All of it as plain data."""
        return {
            "since": self.since,
            "arms": list(self.arms),
            "evidence": self.evidence,
            "threshold": self.threshold,
            "before": self.before.tolist(),
            "after": self.after.tolist(),
            "names": list(self.names),
            "words": str(self),
        }

    def to_json(self) -> str:
        """The same as JSON; what JSON does not have is written as in all files of the library."""
        return json.dumps(encoded(self.to_data()), allow_nan=False)
