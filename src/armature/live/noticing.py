"""Whether the rewards of a bandit changed: when its decisions were made, and the test of them.

A late reward counts where it was decided. Of a decision with an id that is known; of the others of
an arm, the reward of the oldest is taken to come first. A reward that no decision was made for is
a decision of its own.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from armature.bounds.change import FoundChange, arm_evidence, look_for_change
from armature.bounds.evidence import threshold_at
from armature.bounds.splits import (
    BLOCK,
    COUNTS,
    REFERENCES,
    SLOTS,
    SUMS,
    Splits,
    begin,
    copied_splits,
    count,
    decide,
    make_splits,
)
from armature.families import Family
from armature.families.kernels import learning_address
from armature.kernels.arrays import Floats
from armature.kernels.checks import LARGEST, MOST_COUNTED
from armature.live.awaited import Awaited
from armature.live.change import Change
from armature.live.rewards import Goal
from armature.storage import fields
from armature.storage.tagged_json import encoded

LEAST = math.log(2.0)  # evidence that is remembered
LONG_AGO = -1  # when a decision was made of which that is not known


class Found(NamedTuple):
    """The most evidence for a change so far."""

    evidence: float
    since: int
    before: Floats  # (2, K): counts and sums before it
    own: Floats  # (K,): of each arm by itself


class Noticing:
    """The test for changes of a bandit; for a family without evidence there is none."""

    def __init__(self, family: Family, n_arms: int) -> None:
        self.splits: Splits | None = None
        self.found: Found | None = None
        self.awaited: Awaited[int] = Awaited()  # the numbers of decisions
        self._use(family, n_arms)
        if family.has_evidence:
            self.splits = make_splits(n_arms)

    def _use(self, family: Family, n_arms: int) -> None:
        self._tested = family.has_evidence
        if self._tested:
            self._record, self._costs = family.record_for(n_arms), learning_address(family)

    # What happens.

    def decided(self) -> int:
        """A decision is made: its number."""
        if self.splits is None:
            return LONG_AGO
        clock = self.splits.clock
        number = int(clock[0])
        if (number + 1) % BLOCK:
            clock[0] = number + 1
        else:
            decide(self.splits)
        return number

    def expect(self, name: Hashable, id: int | None) -> None:
        """A decision is made of which a reward will come."""
        number = self.decided()
        if number != LONG_AGO:
            self.awaited.expect(name, id, number)

    def came(self, name: Hashable) -> int:
        """The reward of an arm is there, or will never come: when that was decided."""
        return self.awaited.came(name, LONG_AGO)

    def came_by_id(self, id: int) -> int:
        """The same of a decision with an id."""
        return self.awaited.came_by_id(id, LONG_AGO)

    def take_in(self, place: int, value: float, when: int) -> None:
        """Count a reward; at the end of each block of them, look whether there was a change."""
        splits = self.splits
        if splits is None:
            return
        if when >= splits.clock[0] - splits.clock[0] % BLOCK:
            splits.now[COUNTS, place] += 1.0
            splits.now[SUMS, place] += value
        else:
            count(splits, place, value, when)
        if self.found is not None and when < self.found.since:
            self.found.before[:, place] += 1.0, value
        if splits.now[COUNTS].sum() % BLOCK == 0.0:
            self.found = self._most()

    def known(self, counts: Floats, sums: Floats) -> None:
        """Rewards of the past of which the order is not known: what there is at the start."""
        if self.splits is not None:
            self.splits.now[COUNTS], self.splits.now[SUMS] = counts, sums
            begin(self.splits)

    def change_arms(self, family: Family, places: Sequence[int | None]) -> None:
        """Other arms than before: the place that each had, or None of a new one."""
        self._use(family, len(places))
        if self.splits is None:
            return
        kept = [k for k in places if k is not None]
        at = [i for i, k in enumerate(places) if k is not None]
        changed = make_splits(len(places))
        for name in ("now", "before", "reference"):
            getattr(changed, name)[..., at] = getattr(self.splits, name)[..., kept]
        changed.at[:], changed.clock[:] = self.splits.at, self.splits.clock
        changed.shares[:] = 0.5 / len(places)
        changed.shares[:, at] = self.splits.shares[:, kept] * min(1.0, len(kept) / len(places))
        self.splits = changed
        if self.found is not None:
            before, own = np.zeros((2, len(places))), np.full(len(places), -math.inf)
            before[:, at], own[at] = self.found.before[:, kept], self.found.own[kept]
            self.found = self.found._replace(before=before, own=own)

    # What was found.

    def _most(self) -> Found | None:
        """The most evidence so far, with a look at what there is now."""
        splits, most = self.splits, self.found
        if splits is None:
            return None
        finding: FoundChange = look_for_change(splits, self._record, self._costs)
        if finding.log_e < (LEAST if most is None else most.evidence):
            return most
        arms = range(splits.now.shape[1])
        own = [arm_evidence(splits, self._record, self._costs, finding.slot, k) for k in arms]
        slot = finding.slot
        return Found(
            float(finding.log_e), int(splits.at[slot]), splits.before[slot].copy(), np.array(own)
        )

    def change(self, names: Sequence[Hashable], goal: Goal, false_alarms: float) -> Change | None:
        """The change, if there is enough evidence for one."""
        threshold, found = threshold_at(false_alarms), self._most()
        if self.splits is None or found is None or found.evidence < threshold:
            return None
        showing = [int(k) for k in np.argsort(-found.own, kind="stable") if found.own[k] > LEAST]
        if not showing:
            showing = [int(np.argmax(found.own))]
        return Change(
            since=found.since,
            arms=tuple(names[k] for k in showing),
            evidence=found.evidence,
            threshold=threshold,
            before=goal.value(_means(found.before)),
            after=goal.value(_means(self.splits.now - found.before)),
            names=tuple(names),
            goal=goal.word,
        )

    def parts(self) -> tuple[Floats, Floats] | None:
        """(2, K) counts and sums before the change and since."""
        found = self._most()
        if self.splits is None or found is None:
            return None
        return found.before, self.splits.now - found.before

    # Undoing and saving.

    def moment(self) -> Any:
        """All that decisions change, to come back to before another reward is there."""
        copied = None if self.splits is None else copied_splits(self.splits)
        return copied, self.awaited.moment()

    def return_to(self, moment: Any) -> None:
        """Go back to such a moment."""
        self.splits, awaited = moment
        self.awaited.return_to(awaited)

    def saved(self) -> dict[str, Any] | None:
        """As plain data."""
        splits = self.splits
        if splits is None:
            return None
        kept = np.flatnonzero(splits.at).tolist()
        m = int(splits.clock[1])
        return {
            "decisions": int(splits.clock[0]),
            "now": splits.now.tolist(),
            "splits": [
                [slot, int(splits.at[slot]), *splits.before[slot].tolist()] for slot in kept
            ],
            "references": [
                [*splits.reference[i].tolist(), splits.shares[i].tolist()] for i in range(m)
            ],
            **self.awaited.saved(),
            "found": None if self.found is None else self.found_data(self.found),
        }

    @staticmethod
    def found_data(found: Found) -> list[Any]:
        """As plain data."""
        own = encoded(found.own.tolist())
        return [found.evidence, found.since, *found.before.tolist(), own]

    def restore(self, saved: Any) -> None:
        """Go back to what was saved; releases before saved nothing, and the test begins now."""
        splits = self.splits
        if saved is None or splits is None:
            return
        K, names = splits.now.shape[1], ("decisions", "now", "splits", "references", "waiting")
        clock, now, kept, known, waiting, open_, found = fields.table(
            saved, "noticing", (*names, "open", "found")
        )
        splits.clock[0] = fields.whole(clock, "noticing.decisions")
        splits.now[:] = _pair(now, "noticing.now", K)
        for slot, at, *before in fields.rows(kept, "noticing.splits", 4):
            slot = fields.whole(slot, "noticing.splits", SLOTS - 1)
            splits.at[slot] = fields.whole(at, "noticing.splits", int(splits.clock[0]), BLOCK)
            splits.before[slot] = _pair(before, "noticing.splits", K)
        rows = fields.rows(known, "noticing.references", 3)
        splits.clock[1] = fields.whole(len(rows), "noticing.references", REFERENCES, 1)
        for m, (*reference, shares) in enumerate(rows):
            splits.reference[m] = _pair(reference, "noticing.references", K)
            splits.shares[m] = fields.numbers(shares, "noticing.references", K, 0.99, 0.0)
        last = int(splits.clock[0]) - 1
        self.awaited.restore(
            waiting, open_, "noticing", lambda number, name: fields.whole(number, name, last)
        )
        self.found = None if found is None else _found(found, K, last + 1)


def _found(saved: Any, K: int, last: int) -> Found:
    """A change that was found before, checked."""
    ((evidence, since, *before, own),) = fields.rows([saved], "noticing.found", 5)
    return Found(
        fields.number(evidence, "noticing.found", sys.float_info.max),
        fields.whole(since, "noticing.found", last),
        _pair(before, "noticing.found", K),
        fields.array_like(own, "noticing.found", np.zeros(K)),
    )


def _pair(saved: Any, name: str, K: int) -> Floats:
    """Counts and sums."""
    if not (isinstance(saved, list) and len(saved) == 2):
        raise fields.wrong(name, "counts and sums", saved)
    counts = fields.counts(saved[0], name, K)
    return np.array([counts, fields.numbers(saved[1], name, K, LARGEST * MOST_COUNTED)])


def _means(pair: Floats) -> Floats:
    """Sums over counts; nan where there are none."""
    some = pair[COUNTS] > 0.0
    return np.where(some, pair[SUMS] / np.where(some, pair[COUNTS], 1.0), math.nan)
